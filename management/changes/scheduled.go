package changes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/records"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// newScheduled returns the resource of scheduled changes. A caller needs the same access to
// a change as to its flag.
func newScheduled(c *core) (s Scheduled) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[storeTx, storedChange, ScheduledChange]{
		Kind: kindScheduled, Fields: scheduledFields,
		Header: func(_ *management.Scope, x *storedChange) resource.RecordHeader {
			return resource.RecordHeader{ID: strconv.FormatInt(x.ID, 10)}
		},
		// Executed changes can be read but not changed.
		Load: func(v *view, id string, change *management.Body) (*storedChange, error) {
			x, err := resource.LoadRecord[storedChange](v.Tx, kindScheduled, v.Parent(), id)
			if err == nil && x != nil {
				err = s.checkAccess(v, management.Viewer, x)
			}
			if x != nil && change != nil && !x.ExecutedAt.IsZero() {
				err = management.Fault("", "Cannot modify a scheduled change that has already executed.")
			}
			return x, err
		},
		New: func(v *view) (*storedChange, error) {
			id, err := v.Tx.Next(kindScheduled)
			return &storedChange{ScheduledChange: ScheduledChange{ID: id, Team: v.Project.ID, CreatedAt: management.NewStamp(c.Env.Now())}, Creator: v.User.ID}, err
		},
		AuthorizeChange: func(v *view, x *storedChange) error {
			return s.checkAccess(v, management.Editor, x)
		},
		Rules: s.rules,
		Put:   func(v *view, x *storedChange) error { return putScheduled(v.Tx, x) },
		Show: func(v *view, x *storedChange) (_ *ScheduledChange, err error) {
			out := x.ScheduledChange
			out.CreatedBy, err = v.Author(x.Creator)
			return &out, err
		},
	})
	return s
}

// List returns a page of scheduled changes, in the order of their times. If record is not empty, it
// returns only changes of that flag; if model is not nil, only changes of that kind of object.
// Changes of flags that the caller may not see are omitted.
func (s Scheduled) List(ctx context.Context, scope *management.Scope, model *string, record string, p management.Page) (management.List[ScheduledChange], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	hidden, err := s.stored.HiddenIDs(ctx, scope)
	if err != nil {
		return management.List[ScheduledChange]{}, err
	}
	if record != "" || model != nil || len(hidden) > 0 {
		q.Match = func(r *management.Record) bool {
			c, err := management.Decode[storedChange](r)
			return err == nil && !hidden[c.RecordID] && (record == "" || c.RecordID == record) && (model == nil || c.ModelName == *model)
		}
	}
	return s.Query(ctx, scope, q)
}

// putScheduled stores a change. An executed change is no longer pending.
func putScheduled(tx storeTx, c *storedChange) error {
	r := management.Record{
		Kind: kindScheduled, Parent: management.ProjectParent(c.Team), ID: strconv.FormatInt(c.ID, 10), Sort: storage.SortTime(c.ScheduledAt.Time), Data: storage.Encode(c),
	}
	if c.ExecutedAt.IsZero() {
		r.Other = pendingChanges
	}
	return tx.Put(&r)
}

// rules checks a change. It applies the change to a copy of the flag, so that an invalid change is
// refused when it is scheduled.
func (s Scheduled) rules(e *resource.Edit[storeTx, storedChange]) error {
	c := e.After
	if e.Values.Has("record_id") || e.Values.Has("payload") {
		c.Condition = nil // the request may select another condition
	}
	if e.Values.Has("record_id") {
		c.RecordID = strconv.FormatInt(e.Values.Int("record_id"), 10)
	}
	if !c.ScheduledAt.Equal(e.Before.ScheduledAt.Time) { // a request that repeats the stored time does not change the first time of a recurring change
		c.Begin = c.ScheduledAt
	}
	c.UpdatedAt = management.NewStamp(s.Env.Now())
	switch {
	case c.Recurring && c.Interval == nil:
		return management.CodedFault(management.CodeRequired, "recurrence_interval", "A recurring change requires an interval: daily, weekly, monthly or yearly.")
	case !c.EndDate.IsZero() && !c.EndDate.After(c.ScheduledAt.Time):
		return management.Fault("end_date", "End date must be after the scheduled start date.")
	}
	f, err := s.loadFlag(e.Tx, e.Scope, c)
	if err == nil {
		err = e.RequireAccess(management.Editor, f.AccessObject())
	}
	if err != nil {
		return err
	}
	if err := c.apply(f); err != nil {
		return err
	}
	if err := s.stored.Check(e.Tx, e.Scope, f); err != nil {
		return err
	}
	return f.CheckApproval(e.Scope) // checked again when the change is executed
}

// checkAccess returns an error if the caller's access to the flag of a change is below level. If
// the flag was deleted permanently, there is no restriction.
func (s Scheduled) checkAccess(v *view, level management.AccessLevel, c *storedChange) error {
	if !v.IsRestricted() {
		return nil
	}
	id, _ := strconv.ParseInt(c.RecordID, 10, 64) // 0 is not the id of a flag
	f, err := s.stored.Load(v.Tx, v.Scope, id)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound { // the flag does not exist any more
		return nil
	}
	if err != nil {
		return err
	}
	return v.RequireAccess(level, f.AccessObject())
}

// Load returns the flag of a change. It returns an error if the flag was deleted.
func (s Scheduled) loadFlag(tx storeTx, scope *management.Scope, c *storedChange) (*storedflags.Flag, error) {
	id, _ := strconv.ParseInt(c.RecordID, 10, 64) // 0 is not the id of a flag
	f, err := s.stored.Load(tx, scope, id)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound || err == nil && f.Deleted {
		return nil, management.Fault("record_id", "Feature flag not found")
	}
	return f, err
}

// maxDueChanges limits the changes that one call of RunDue executes.
const maxDueChanges = 50

// RunDue executes the changes that are due, each in its own transaction, and returns their number.
// A change that cannot be executed gets a FailureReason and is not tried again. A change that cannot
// be decoded, or whose flag cannot be decoded, stays due and does not block the others; the error
// names it. Several servers may call RunDue concurrently.
func (s Scheduled) RunDue(ctx context.Context) (done int, err error) {
	var skipped []string // ids
	for done+len(skipped) < maxDueChanges {
		next := ""
		job, fault := management.Write(ctx, &s.Env, func(tx storeTx) (job *management.JobDone, err error) {
			job, next, err = s.runNext(tx, skipped)
			return job, err
		})
		var unreadable *storage.UnreadableError
		if errors.As(fault, &unreadable) && next != "" {
			err, skipped = errors.Join(err, fmt.Errorf("scheduled change %s: %w", next, fault)), append(skipped, next)
			continue
		}
		if fault != nil || job == nil {
			return done, errors.Join(err, fault)
		}
		job.ReportTo(s.JobDone)
		done++
	}
	return done, err
}

// Overdue returns the number of pending changes that have been due for longer than age.
func (s Scheduled) Overdue(ctx context.Context, age time.Duration) (int, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (int, error) {
		_, count, err := tx.List(management.Query{Kind: kindScheduled, Other: pendingChanges, To: storage.SortTime(s.Env.Now().Add(-age)), Limit: 1})
		return count, err
	})
}

// runNext executes the change that has been due for the longest time and is not in skipped, and
// returns its id. It returns nil if no change is due. A fault of the change is stored with it; any
// other error rolls the transaction back, and the change stays due.
func (s Scheduled) runNext(tx storeTx, skipped []string) (done *management.JobDone, id string, err error) {
	q := management.Query{Kind: kindScheduled, Other: pendingChanges}
	if len(skipped) > 0 {
		q.Match = func(r *management.Record) bool { return !slices.Contains(skipped, r.ID) }
	}
	c, err := records.NextDue[storedChange](tx, q, s.Env.Now())
	if err != nil || c == nil {
		return nil, "", err
	}
	id = strconv.FormatInt(c.ID, 10)
	done, err = s.run(tx, c)
	return done, id, err
}

// run executes a change.
func (s Scheduled) run(tx storeTx, c *storedChange) (*management.JobDone, error) {
	now, done := management.NewStamp(s.Env.Now()), &management.JobDone{Job: management.JobScheduledChange, ID: strconv.FormatInt(c.ID, 10), Project: c.Team}
	p, err := tx.Project(c.Team)
	if err != nil {
		return nil, err
	}
	err = s.execute(tx, p, c)
	var fault *management.Error
	switch {
	case errors.As(err, &fault):
		reason := fault.Error()
		// A fault is final: the change is not tried again.
		c.FailureReason, c.ExecutedAt, done.Failure = &reason, now, reason
	case err != nil:
		return nil, err
	default:
		c.LastExecutedAt = now
		c.advance(now, p.Zone())
	}
	return done, putScheduled(tx, c)
}

// advance sets the time of the next execution of a recurring change, or ends it. Missed times are
// skipped. Each time is computed from the first one and has its time of day in zone; a day that a
// month lacks is replaced by the last day of the month.
func (c *storedChange) advance(now management.Stamp, zone *time.Location) {
	if !c.Recurring || c.Interval == nil {
		c.ExecutedAt = now
		return
	}
	// Compute from the first time in each round, so that the day of the month does not drift.
	step := recurrences[*c.Interval]
	for n := 1; !c.ScheduledAt.After(now.Time); n++ {
		next := management.AddMonths(c.Begin.In(zone), n*step.months).AddDate(0, 0, n*step.days)
		if !c.EndDate.IsZero() && next.After(c.EndDate.Time) {
			c.ExecutedAt = now
			return
		}
		c.ScheduledAt = management.NewStamp(next)
	}
}

// execute applies a change in the name of the user who has scheduled it. The user must still have
// the necessary access. p is nil if the project was deleted.
func (s Scheduled) execute(tx storeTx, p *management.ProjectRecord, c *storedChange) error {
	if p == nil {
		return management.Fault("", "The project is deleted.")
	}
	scope, err := records.NewUserScope(tx, c.Creator, p)
	if err == nil && scope == nil {
		err = management.Denied("The user who scheduled this change no longer has access to the project.")
	}
	if err != nil {
		return err
	}
	// The flag may have changed since: the change is applied to its current state.
	f, err := s.loadFlag(tx, scope, c)
	if err == nil {
		err = scope.RequireAccess(management.Editor, f.AccessObject())
	}
	if err != nil {
		return err
	}
	f.Note = c.Note
	if err := c.apply(f); err != nil {
		return err
	}
	return s.stored.Save(tx, scope, f)
}
