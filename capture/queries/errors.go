package queries

import (
	"fmt"
	"time"
)

// Error says why a query was not answered although it can be (§1.7).
type Error struct {
	Kind   Kind
	Detail string
	// RetryAfter is when to ask again, zero for no advice.
	RetryAfter time.Duration
}

func (e *Error) Error() string { return "queries: " + e.Detail }

// Kind is what went wrong.
type Kind uint8

// The kinds.
const (
	TimedOut Kind = iota
	Cancelled
	Busy
	Conflict
	NotFound
)

var errCancelled = &Error{Kind: Cancelled, Detail: "Query was cancelled"}

func errConflict(id string) *Error {
	return &Error{Kind: Conflict, Detail: fmt.Sprintf("A query with the id %q is running.", id)}
}

func errTimeout(after time.Duration) *Error {
	return &Error{Kind: TimedOut, Detail: fmt.Sprintf(`Query took longer than %g s. Ask for a shorter range or fewer breakdowns, or with refresh: "async".`, after.Seconds())}
}

func errBusy(format string, args ...any) *Error {
	return &Error{Kind: Busy, Detail: fmt.Sprintf(format, args...), RetryAfter: 5 * time.Second}
}
