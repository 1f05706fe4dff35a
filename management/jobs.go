package management

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// The kinds of background jobs.
const (
	JobScheduledChange = "scheduled_change"
	JobBatchExport     = "batch_export"
	JobMail            = "mail"    // only mails that will not be sent; DeliverMail reports the sent mails
	JobSurvey          = "survey"  // a recurring survey starts its next iteration
	JobWebhook         = "webhook" // only webhooks that will not be sent; DeliverWebhooks reports the others
)

// JobDone reports the result of one piece of a job, after the result is durable.
type JobDone struct {
	// Job is one of the constants above.
	Job string
	// Project is the project of the piece of work. ID is the id of the scheduled change, of the
	// run, of the survey, or of the accepted invitation.
	Project int64
	ID      string
	// Export and ExportName are the id and the name of the batch export of a run.
	Export, ExportName string
	// Status is the status of the run, such as Completed; empty for other jobs.
	Status string
	// Rows is the number of exported rows.
	Rows int64
	// Failure is the reason of a failure, empty on success. It contains no secrets.
	Failure string
	// Again reports whether the work will be retried.
	Again bool
}

// ReportTo calls report with d. It does nothing if d or report is nil.
func (d *JobDone) ReportTo(report func(JobDone)) {
	if d != nil && report != nil {
		report(*d)
	}
}

// dueBatch is the largest number of pieces of work that one call of RunDue handles.
const dueBatch = 100

// NextDue returns the value of the record that has been due for the longest time, or nil if none is
// due. Sort of the records is the time at which they are due, see SortTime. Records that cannot be
// decoded do not block the others: if only such records are due, NextDue returns an UnreadableError.
func NextDue[T any](tx Tx, q Query, now time.Time) (*T, error) {
	q.To = SortTime(now.Add(time.Microsecond))
	next, err := First[T](tx, q)
	var unreadable *UnreadableError
	if !errors.As(err, &unreadable) {
		return next, err
	}
	match := q.Match
	q.Match = func(r *Record) bool {
		_, fault := Decode[T](r)
		return fault == nil && (match == nil || match(r))
	}
	if next, fault := First[T](tx, q); fault != nil || next != nil {
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
