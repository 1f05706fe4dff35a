package flags

import (
	"errors"
)

// ErrUnknownKey says that no project has the given API key.
var ErrUnknownKey = errors.New("flags: unknown project API key")

// ErrUnavailable says that a project could not be looked up: its source cannot be
// asked, and nothing is known from before. Other ports that cannot be asked fail
// single flags only.
var ErrUnavailable = errors.New("flags: source unavailable")

// ErrNoDistinctID says that a request or a subject has no distinct id. Over HTTP and in a [Set]
// the empty id is decided as PostHog does, in every rollout, of 0 per cent too
// (§2.4); a service that forgot it is told so: reads of values (package remote, the
// OpenFeature provider) give the fallback and this error.
var ErrNoDistinctID = errors.New("flags: there is no distinct id")

// ErrNoJSONForm says that a property has a value that encoding/json has no form
// for: a function, a channel, NaN, an infinity, a time beyond the year 9999, what
// leads back to itself, or what fails to marshal. Flags that it could change are
// not decided: their [Undecided] is this error and names the property.
var ErrNoJSONForm = errors.New("flags: the value has no form in JSON")

// DefinitionError is a fault in a definition and its place. A faulty flag
// fails alone; everything else is still decided (§1.9).
type DefinitionError struct {
	// FlagID and Flag name the flag, zero and empty when unreadable or when the
	// fault is not about a flag.
	FlagID int64
	Flag   string
	// Path is the place, such as "flags[3].filters.groups[0].properties[1].value".
	Path string
	// Code is the reason code that the flag is answered with, NoReason when the
	// fault only deserves a report.
	Code ReasonCode
	// Problem is what is wrong and, where it can be said, what is allowed.
	Problem string
	// Suggestion is the known member that a misspelt one is most likely meant to be;
	// empty for every other fault.
	Suggestion string
}

// Error gives place, flag and problem in one line.
func (e *DefinitionError) Error() string {
	s := e.Path
	if s == "" {
		s = "definitions"
	}
	if e.Flag != "" {
		s += " (flag " + quote(e.Flag) + ")"
	}
	return s + ": " + e.Problem
}
