package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// dueBatch is the largest number of pieces of work that one call of RunDue handles.
const dueBatch = 100

// NextDue returns the value of the record that has been due for the longest time, or nil if none is
// due. Sort of the records is the time at which they are due, see SortTime. Records that cannot be
// decoded do not block the others: if only such records are due, NextDue returns an UnreadableError.
func NextDue[T any](tx management.Tx, q management.Query, now time.Time) (*T, error) {
	q.To = storage.SortTime(now.Add(time.Microsecond))
	next, err := management.First[T](tx, q)
	var unreadable *storage.UnreadableError
	if !errors.As(err, &unreadable) {
		return next, err
	}
	match := q.Match
	q.Match = func(r *management.Record) bool {
		_, fault := management.Decode[T](r)
		return fault == nil && (match == nil || match(r))
	}
	if next, fault := management.First[T](tx, q); fault != nil || next != nil {
		return next, fault
	}
	return nil, err
}

// RunDue handles work that is due, one piece after the other, and reports whether more may be due.
// what names the work in errors, such as "alert", and id one piece of it.
//
// claim reserves the piece that has been due for the longest time, so that other servers do not
// select it. If it returns nil, there is no work; more then reports that a piece was handled without
// work, and another one may be due. Errors of claim end the call; after errors of do, the next piece
// follows.
func RunDue[C any](ctx context.Context, what string, claim func(context.Context) (c *C, more bool, err error), do func(context.Context, *C) error, id func(*C) string) (more bool, err error) {
	var failed []error
	for range dueBatch {
		c, more, err := claim(ctx)
		switch {
		case err != nil:
			return false, errors.Join(append(failed, fmt.Errorf("finding due %ss: %w", what, err))...)
		case c == nil && !more:
			return false, errors.Join(failed...)
		case c == nil:
			continue
		}
		if err := do(ctx, c); err != nil {
			failed = append(failed, fmt.Errorf("%s %s: %w", what, id(c), err))
		}
		if ctx.Err() != nil {
			return false, errors.Join(failed...)
		}
	}
	return true, errors.Join(failed...)
}
