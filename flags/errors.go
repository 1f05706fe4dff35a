package flags

import (
	"errors"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Why a typed read (see [Reader]) gives the fallback, besides [ErrNoDistinctID], a
// *[Undecided], and of a [Decider] [ErrUnknownKey] and [ErrUnavailable].
var (
	// ErrUnknownFlag says that the project has no such flag, or it is not active; then
	// the reason is FlagDisabled.
	ErrUnknownFlag = errors.New("flags: the project has no active flag of this key")
	// ErrFailed says that the flag's definition cannot be evaluated, or a store not be
	// read; the reason says which.
	ErrFailed = errors.New("flags: the flag could not be computed")
	// ErrWrongKind says that the flag is on, and its answer has no value of the type
	// asked for. With JSON it comes with the error of encoding/json, which has the place.
	ErrWrongKind = errors.New("flags: the flag's answer has no value of this type")
	// ErrQuotaLimited says that no flags are answered, since the organization's quota is
	// used up or the resource is paused (decision 11).
	ErrQuotaLimited = errors.New("flags: the quota of flag requests is used up")
	// ErrNotReady says that there are no definitions yet.
	ErrNotReady = errors.New("flags: there are no definitions yet")
	// ErrClosed says that what the flags were read from is closed.
	ErrClosed = errors.New("flags: what the flags are read from is closed")
)

// ErrUnknownKey says that nobody has the given key: no project, and of secret and
// personal keys no one. It is the same error in every package.
var ErrUnknownKey = wire.ErrUnknownKey

// ErrUnavailable says that a project could not be looked up: its source cannot be
// asked, and nothing is known from before. Other ports that cannot be asked fail
// single flags only.
var ErrUnavailable = errors.New("flags: source unavailable")

// ErrNoDistinctID says that a request or a subject has no distinct id. Over HTTP and in a [Set]
// the empty id is decided as PostHog does, in every rollout, of 0 per cent too
// (§2.4); a service that forgot it gets an error: typed reads ([Reader], the OpenFeature
// provider) give the fallback and this error. So they do without a subject.
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
	// Path is the place, such as "flags[3].filters.groups[0].properties[1].value", or
	// "line 2 column 13" of a text that is no JSON.
	Path string
	// Code is the reason code that the flag is answered with, NoReason when the
	// fault only deserves a report.
	Code ReasonCode
	// Problem is what is wrong and, where that is known, what is allowed.
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
