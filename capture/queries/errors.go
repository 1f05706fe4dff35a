package queries

import (
	"fmt"
	"time"
)

// Error is the error for a valid query that could not be answered (§1.7).
type Error struct {
	Kind   Kind
	Detail string
	// RetryAfter is the time after which the client should retry. If zero, there is no
	// advice.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return "queries: " + e.Detail }

// Kind is the class of an Error.
type Kind uint8

// These are the kinds of errors.
const (
	TimedOut Kind = iota
	Cancelled
	Busy
	Conflict
	NotFound
)

// errCancelled is the error of runs that Service.Cancel has ended.
var errCancelled = &Error{Kind: Cancelled, Detail: "Query was cancelled"}

func errConflict(id string) *Error {
	return &Error{Kind: Conflict, Detail: fmt.Sprintf("A query with the id %q is running.", id)}
}

// errTimeout is the error of computations that took longer than the limit.
func errTimeout(after time.Duration) *Error {
	return &Error{Kind: TimedOut, Detail: fmt.Sprintf(`Query took longer than %g s. Request a shorter range or fewer breakdowns, or use refresh: "async".`, after.Seconds())}
}

// errBusy is the error of runs that are rejected or give up because of too many other
// queries.
func errBusy(format string, args ...any) *Error {
	return &Error{Kind: Busy, Detail: fmt.Sprintf(format, args...), RetryAfter: 5 * time.Second}
}
