package flags

import (
	"errors"

	"github.com/bunting-flags/bunting/flags/internal/values"
	"github.com/bunting-flags/bunting/flags/wire"
)

// These errors describe why a typed read (see [Reader]) returned the fallback. Other reasons
// are [ErrNoDistinctID], an *[Undecided] and, for a serving.Decider, [ErrUnknownKey] and
// [ErrUnavailable].
var (
	// ErrUnknownFlag means that the project has no such flag, or that the flag is not active;
	// in that case the reason is FlagDisabled.
	ErrUnknownFlag = errors.New("flags: the project has no active flag with this key")
	// ErrFailed means that the flag's definition cannot be evaluated or that a store could
	// not be read. The reason distinguishes them.
	ErrFailed = errors.New("flags: the flag could not be computed")
	// ErrWrongKind means that the flag is on, but has no value of the requested type. For
	// JSON it wraps the error of encoding/json, which contains the position.
	ErrWrongKind = errors.New("flags: the flag's answer has no value of this type")
	// ErrQuotaLimited means that no flags were evaluated, because the organization's quota is
	// used up or the resource is paused (decision 11).
	ErrQuotaLimited = errors.New("flags: the quota of flag requests is used up")
	// ErrNotReady means that there are no definitions yet.
	ErrNotReady = errors.New("flags: there are no definitions yet")
	// ErrClosed means that the source of the flags is closed.
	ErrClosed = errors.New("flags: the source of the flags is closed")
)

// ErrUnknownKey means that a key does not exist: no project has it, and for secret and
// personal keys, no project and no user. It is the same error in every package.
var ErrUnknownKey = wire.ErrUnknownKey

// ErrUnavailable means that a project could not be looked up: its source failed and there are
// no earlier definitions. Failures of the other ports fail single flags only.
var ErrUnavailable = errors.New("flags: source unavailable")

// ErrNoDistinctID means that a request or a subject has no distinct id. Over HTTP and in a
// [Set] the empty id is evaluated as in PostHog: it is in every rollout, even in one of 0 per
// cent (§2.4). Typed reads ([Reader], the OpenFeature provider) return the fallback and this
// error instead, since an empty id is most likely a mistake of the caller. They also do so
// without a subject.
var ErrNoDistinctID = errors.New("flags: there is no distinct id")

// ErrNoJSONForm means that the value of a property cannot be represented in JSON: a function,
// a channel, NaN, an infinity, a time beyond the year 9999, a value that refers to itself, or
// one that fails to marshal. Flags that depend on it are undecided: their [Undecided] is this
// error and names the property.
var ErrNoJSONForm = errors.New("flags: the value cannot be encoded as JSON")

// DefinitionError is a fault in a definition and its position. Only the faulty flag fails
// (§1.9).
type DefinitionError struct {
	// FlagID and Flag are the id and key of the flag. They are zero and empty if they could
	// not be read or the fault is not about a flag.
	FlagID int64
	Flag   string
	// Path is the position, such as "flags[3].filters.groups[0].properties[1].value", or
	// "line 2 column 13" in text that is not JSON.
	Path string
	// Code is the reason code of the flag's result. It is NoReason if the fault does not
	// affect the result.
	Code ReasonCode
	// Problem describes the fault and, if possible, the valid values.
	Problem string
	// Suggestion is the valid member name that is most similar to a misspelt one. It is empty
	// for all other faults.
	Suggestion string
}

// Error returns the position, the flag and the problem in one line.
func (e *DefinitionError) Error() string {
	s := e.Path
	if s == "" {
		s = "definitions"
	}
	if e.Flag != "" {
		s += " (flag " + values.Quote(e.Flag) + ")"
	}
	return s + ": " + e.Problem
}

// ReasonCode is the machine-readable part of a Reason.
type ReasonCode uint8
