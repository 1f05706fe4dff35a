package flags

import (
	"errors"
	"strconv"
)

// ErrUnknownKey says that no project has the given API key.
var ErrUnknownKey = errors.New("flags: unknown project API key")

// ErrUnavailable says that a store or another source of facts could not be
// asked. Flags that could depend on it are answered as failed.
var ErrUnavailable = errors.New("flags: source unavailable")

// DefinitionError is a fault in a definition and its place. A faulty flag
// fails alone; everything else is still decided (§1.9).
type DefinitionError struct {
	// FlagID and Flag name the flag, zero and empty when unreadable or when the
	// fault is not about a flag.
	FlagID int64
	Flag   string
	// Path is the place, such as "flags[3].filters.groups[0].properties[1].value".
	Path string
	// Code is the reason code that the flag is answered with, empty when the
	// fault only deserves a report.
	Code ReasonCode
	// Problem is what is wrong and, where it can be said, what is allowed.
	Problem string
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

func quote(s string) string {
	if len(s) > 100 {
		s = s[:100] + "…"
	}
	return strconv.Quote(s)
}
