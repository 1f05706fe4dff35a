package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindScheduled is the kind of the records of scheduled changes: Parent is the project, Sort the
// time of the next execution, and Other is pendingChanges until the change has been executed for
// the last time.
const kindScheduled = "scheduled_change"

// pendingChanges is the value of Other by which RunDue finds changes of all projects.
const pendingChanges = "pending"

// ScheduledChange is a change of a flag at a later time, as the API returns it (§5.1.3).
type ScheduledChange struct {
	// ID is the number of the change, and Team the project.
	ID   int64 `json:"id"`
	Team int64 `json:"team_id"`
	// RecordID is the flag's id, and ModelName always FeatureFlag.
	RecordID  string `json:"record_id"`
	ModelName string `json:"model_name"`
	// Payload is a scheduledPayload.
	Payload json.RawMessage `json:"payload"`
	// ScheduledAt is the time of the next execution.
	ScheduledAt management.Stamp `json:"scheduled_at"`
	// ExecutedAt is the time of the last execution, or of the failure; null while the change is
	// pending.
	ExecutedAt management.Stamp `json:"executed_at"`
	// FailureReason is a sentence for people; null if the change has not failed.
	FailureReason *string `json:"failure_reason"`
	Recurring     bool    `json:"is_recurring"`
	// Interval is a key of recurrences, and EndDate the end of the recurrence, which is optional.
	Interval *string          `json:"recurrence_interval"`
	EndDate  management.Stamp `json:"end_date"`
	// Note is the reason for the change, for the version and the log.
	Note string `json:"change_note"`
	// LastExecutedAt is the time of the last execution that succeeded.
	LastExecutedAt management.Stamp `json:"last_executed_at"`
	// CreatedBy is the user in whose name the change is executed.
	CreatedBy *management.UserView `json:"created_by"`
	CreatedAt management.Stamp     `json:"created_at"`
	UpdatedAt management.Stamp     `json:"updated_at"`
}

// storedChange is a scheduled change as stored. Creator is the id of a user. Begin is the first
// scheduled time, from which the times of a recurring change are computed.
type storedChange struct {
	ScheduledChange
	Creator int64            `json:"creator"`
	Begin   management.Stamp `json:"begin"`
	// Condition is the condition that update_rollout changes, without its percentage, in the state
	// when the change was scheduled; nil for other operations.
	Condition json.RawMessage `json:"condition,omitempty"`
}

// recurrences are the intervals of recurring changes.
var recurrences = map[string]struct{ months, days int }{
	"daily": {0, 1}, "weekly": {0, 7}, "monthly": {1, 0}, "yearly": {12, 0},
}

// ScheduledChangeFields are the writable fields of a scheduled change.
var ScheduledChangeFields = management.Fields{
	{Name: "record_id", Type: management.Int, Required: true, Custom: true, Help: "id of the flag"},
	{Name: "model_name", Type: management.Choice, Required: true, Choices: []string{"FeatureFlag"}},
	{Name: "payload", Type: management.Object, Required: true, Help: "object with operation (update_status, update_rollout, add_release_condition or update_variants) and value"},
	{Name: "scheduled_at", Type: management.Time, Required: true},
	{Name: "is_recurring", Type: management.Bool},
	{Name: "recurrence_interval", Type: management.Choice, Null: true, Choices: []string{"daily", "weekly", "monthly", "yearly"}},
	{Name: "end_date", Type: management.Time, Null: true, Help: "the change does not recur after this time"},
	{Name: "change_note", Type: management.Text, Blank: true, MaxLength: maxChangeNote, Help: changeNote.Help},
}

// ScheduledChanges manages changes of flags at a later time (§5.1.3). RunDue executes them; the
// server must call it regularly.
type ScheduledChanges struct {
	*core
	management.Resource[Tx, storedChange, ScheduledChange]
}

// newScheduledChanges returns the resource of scheduled changes. A caller needs the same access to
// a change as to its flag.
func newScheduledChanges(c *core) (s ScheduledChanges) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedChange, ScheduledChange]{
		Kind: kindScheduled, Fields: ScheduledChangeFields,
		Header: func(_ *management.Scope, x *storedChange) management.RecordHeader {
			return management.RecordHeader{ID: strconv.FormatInt(x.ID, 10)}
		},
		// Executed changes can be read but not changed.
		Load: func(v *view, id string, change *management.Body) (*storedChange, error) {
			x, err := management.LoadRecord[storedChange](v.Tx, kindScheduled, v.Parent(), id)
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
		AuthorizeChange: func(v *view, x *storedChange) error { return s.checkAccess(v, management.Editor, x) },
		Rules:           s.rules,
		Put:             func(v *view, x *storedChange) error { return putScheduled(v.Tx, x) },
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
func (s ScheduledChanges) List(ctx context.Context, scope *management.Scope, model *string, record string, p management.Page) (management.List[ScheduledChange], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	hidden, err := Flags{s.core}.hiddenIDs(ctx, scope)
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
func putScheduled(tx Tx, c *storedChange) error {
	r := management.Record{
		Kind: kindScheduled, Parent: management.ProjectParent(c.Team), ID: strconv.FormatInt(c.ID, 10), Sort: management.SortTime(c.ScheduledAt.Time), Data: management.Encode(c),
	}
	if c.ExecutedAt.IsZero() {
		r.Other = pendingChanges
	}
	return tx.Put(&r)
}

// rules checks a change. It applies the change to a copy of the flag, so that an invalid change is
// refused when it is scheduled.
func (s ScheduledChanges) rules(e *management.Edit[Tx, storedChange]) error {
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
		err = e.RequireAccess(management.Editor, f.accessObject())
	}
	if err != nil {
		return err
	}
	if err := c.apply(f); err != nil {
		return err
	}
	if err := (Flags{s.core}).check(e.Tx, e.Scope, f); err != nil {
		return err
	}
	return f.checkApproval(e.Scope) // checked again when the change is executed
}

// checkAccess returns an error if the caller's access to the flag of a change is below level. If
// the flag was deleted permanently, there is no restriction.
func (s ScheduledChanges) checkAccess(v *view, level management.AccessLevel, c *storedChange) error {
	if !v.IsRestricted() {
		return nil
	}
	id, _ := strconv.ParseInt(c.RecordID, 10, 64) // 0 is not the id of a flag
	f, err := Flags{s.core}.loadFlag(v.Tx, v.Scope, id)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound { // the flag does not exist any more
		return nil
	}
	if err != nil {
		return err
	}
	return v.RequireAccess(level, f.accessObject())
}

// loadFlag returns the flag of a change. It returns an error if the flag was deleted.
func (s ScheduledChanges) loadFlag(tx Tx, scope *management.Scope, c *storedChange) (*storedFlag, error) {
	id, _ := strconv.ParseInt(c.RecordID, 10, 64) // 0 is not the id of a flag
	f, err := Flags{s.core}.loadFlag(tx, scope, id)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound || err == nil && f.Deleted {
		return nil, management.Fault("record_id", "Feature flag not found")
	}
	return f, err
}

// maxDueChanges limits the changes that one call of RunDue executes.
const maxDueChanges = 50

// RunDue executes the changes that are due, each in its own transaction, and returns their number.
// A change that cannot be executed gets a FailureReason and is not tried again. Several servers may
// call RunDue concurrently.
func (s ScheduledChanges) RunDue(ctx context.Context) (done int, err error) {
	for done < maxDueChanges {
		job, err := management.Write(ctx, &s.Env, s.runNext)
		if err != nil || job == nil {
			return done, err
		}
		job.ReportTo(s.JobDone)
		done++
	}
	return done, nil
}

// Overdue returns the number of pending changes that have been due for longer than age.
func (s ScheduledChanges) Overdue(ctx context.Context, age time.Duration) (int, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (int, error) {
		_, count, err := tx.List(management.Query{Kind: kindScheduled, Other: pendingChanges, To: management.SortTime(s.Env.Now().Add(-age)), Limit: 1})
		return count, err
	})
}

// runNext executes the change that has been due for the longest time. It returns nil if no change
// is due. A fault of the change is stored with it; any other error rolls the transaction back, and
// the change stays due.
func (s ScheduledChanges) runNext(tx Tx) (*management.JobDone, error) {
	due, _, err := tx.List(management.Query{Kind: kindScheduled, Other: pendingChanges, To: management.SortTime(s.Env.Now().Add(time.Microsecond)), Limit: 1})
	if err != nil || len(due) == 0 {
		return nil, err
	}
	c, err := management.Decode[storedChange](&due[0])
	if err != nil {
		return nil, err
	}
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
func (s ScheduledChanges) execute(tx Tx, p *management.ProjectRecord, c *storedChange) error {
	if p == nil {
		return management.Fault("", "The project is deleted.")
	}
	scope, err := management.NewUserScope(tx, c.Creator, p)
	if err == nil && scope == nil {
		err = management.Denied("The user who scheduled this change no longer has access to the project.")
	}
	if err != nil {
		return err
	}
	// The flag may have changed since: the change is applied to its current state.
	f, err := s.loadFlag(tx, scope, c)
	if err == nil {
		err = scope.RequireAccess(management.Editor, f.accessObject())
	}
	if err != nil {
		return err
	}
	f.note = c.Note
	if err := c.apply(f); err != nil {
		return err
	}
	return Flags{s.core}.saveFlag(tx, scope, f)
}
