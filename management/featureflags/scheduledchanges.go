package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// kindScheduled is a change that is to come: Parent is the project, Other is
// pendingChanges until it is done, Sort when it is to come.
const kindScheduled = "scheduled_change"

const pendingChanges = "pending"

// ScheduledChange is a change of a flag at a later time (§5.1.3).
type ScheduledChange struct {
	ID             int64                `json:"id"`
	Team           int64                `json:"team_id"`
	RecordID       string               `json:"record_id"`
	ModelName      string               `json:"model_name"`
	Payload        json.RawMessage      `json:"payload"`
	ScheduledAt    management.Stamp     `json:"scheduled_at"`
	ExecutedAt     management.Stamp     `json:"executed_at"`
	FailureReason  *string              `json:"failure_reason"`
	Recurring      bool                 `json:"is_recurring"`
	Interval       *string              `json:"recurrence_interval"`
	EndDate        management.Stamp     `json:"end_date"`
	Note           string               `json:"change_note"`
	LastExecutedAt management.Stamp     `json:"last_executed_at"`
	CreatedBy      *management.UserView `json:"created_by"`
	CreatedAt      management.Stamp     `json:"created_at"`
	UpdatedAt      management.Stamp     `json:"updated_at"`
}

// storedChange is a scheduled change as it is kept: who made it by number, and
// when it was to come first, from which it comes again.
type storedChange struct {
	ScheduledChange
	Creator int64            `json:"creator"`
	Begin   management.Stamp `json:"begin"`
	// Condition is the condition that update_rollout names, without its share, as it
	// stood when the change was scheduled; nil for other operations.
	Condition json.RawMessage `json:"condition,omitempty"`
}

// recurrences are the steps of changes that come again.
var recurrences = map[string]struct{ months, days int }{
	"daily": {0, 1}, "weekly": {0, 7}, "monthly": {1, 0}, "yearly": {12, 0},
}

// ScheduledChangeFields are the writable fields of a scheduled change.
var ScheduledChangeFields = management.Fields{
	{Name: "record_id", Type: management.Int, Required: true, Custom: true, Help: "the flag's id"},
	{Name: "model_name", Type: management.Choice, Required: true, Choices: []string{"FeatureFlag"}},
	{Name: "payload", Type: management.Object, Required: true, Help: "operation: update_status, update_rollout, add_release_condition or update_variants; value"},
	{Name: "scheduled_at", Type: management.Time, Required: true},
	{Name: "is_recurring", Type: management.Bool},
	{Name: "recurrence_interval", Type: management.Choice, Null: true, Choices: []string{"daily", "weekly", "monthly", "yearly"}},
	{Name: "end_date", Type: management.Time, Null: true, Help: "after this time it does not come again"},
	{Name: "change_note", Type: management.Text, Blank: true, MaxLength: maxChangeNote, Help: changeNote.Help},
}

// ScheduledChanges are changes of flags at a later time (§5.1.3).
type ScheduledChanges struct {
	*core
	management.Resource[Tx, storedChange, ScheduledChange]
}

func newScheduledChanges(c *core) (s ScheduledChanges) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedChange, ScheduledChange]{
		Kind: kindScheduled, Fields: ScheduledChangeFields,
		Header: func(_ *management.Scope, x *storedChange) management.RecordHeader {
			return management.RecordHeader{ID: strconv.FormatInt(x.ID, 10)}
		},
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

// List returns a page of scheduled changes, the next ones first; of one flag when
// record is not empty, of one kind of thing when model is not nil.
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

func putScheduled(tx Tx, c *storedChange) error {
	r := management.Record{
		Kind: kindScheduled, Parent: management.ProjectParent(c.Team), ID: strconv.FormatInt(c.ID, 10), Sort: management.SortTime(c.ScheduledAt.Time), Data: management.Encode(c),
	}
	if c.ExecutedAt.IsZero() {
		r.Other = pendingChanges
	}
	return tx.Put(&r)
}

// rules check a change, and try it on a copy of its flag, so that a bad one is told now.
func (s ScheduledChanges) rules(e *management.Edit[Tx, storedChange]) error {
	c := e.After
	if e.Values.Has("record_id") || e.Values.Has("payload") {
		c.Condition = nil // another one may be meant
	}
	if e.Values.Has("record_id") {
		c.RecordID = strconv.FormatInt(e.Values.Int("record_id"), 10)
	}
	if !c.ScheduledAt.Equal(e.Before.ScheduledAt.Time) { // who sends the time back that it has does not move the first one
		c.Begin = c.ScheduledAt
	}
	c.UpdatedAt = management.NewStamp(s.Env.Now())
	switch {
	case c.Recurring && c.Interval == nil:
		return management.CodedFault(management.CodeRequired, "recurrence_interval", "A recurring change needs an interval: daily, weekly, monthly or yearly.")
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
	return f.checkApproval(e.Scope) // it is looked at again when its time has come
}

// checkAccess refuses a caller who may do less with the flag that a change is about.
func (s ScheduledChanges) checkAccess(v *view, level management.AccessLevel, c *storedChange) error {
	if !v.IsRestricted() {
		return nil
	}
	id, _ := strconv.ParseInt(c.RecordID, 10, 64) // 0 is no flag's
	f, err := Flags{s.core}.loadFlag(v.Tx, v.Scope, id)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound { // it is gone
		return nil
	}
	if err != nil {
		return err
	}
	return v.RequireAccess(level, f.accessObject())
}

// loadFlag is the flag that a change is about.
func (s ScheduledChanges) loadFlag(tx Tx, scope *management.Scope, c *storedChange) (*storedFlag, error) {
	id, _ := strconv.ParseInt(c.RecordID, 10, 64) // 0 is no flag's
	f, err := Flags{s.core}.loadFlag(tx, scope, id)
	var fault *management.Error
	if errors.As(err, &fault) && fault.Kind == management.NotFound || err == nil && f.Deleted {
		return nil, management.Fault("record_id", "Feature flag not found")
	}
	return f, err
}

// maxDueChanges is how many changes one call of RunDue makes.
const maxDueChanges = 50

// RunDue makes the changes whose time has come, each in a transaction of its own,
// and returns how many. A change that cannot be made is not tried again: it says
// why.
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

// Overdue is how many changes should have been made longer ago than that.
func (s ScheduledChanges) Overdue(ctx context.Context, age time.Duration) (int, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (int, error) {
		_, count, err := tx.List(management.Query{Kind: kindScheduled, Other: pendingChanges, To: management.SortTime(s.Env.Now().Add(-age)), Limit: 1})
		return count, err
	})
}

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
		c.FailureReason, c.ExecutedAt, done.Failure = &reason, now, reason
	case err != nil:
		return nil, err
	default:
		c.LastExecutedAt = now
		c.advance(now, p.Zone())
	}
	return done, putScheduled(tx, c)
}

// advance puts a recurring change off to its next time, or ends it. Times that
// were missed are left out. Each is computed from the first one, at its time of day by the
// clock of zone; days that a month lacks are its last day.
func (c *storedChange) advance(now management.Stamp, zone *time.Location) {
	if !c.Recurring || c.Interval == nil {
		c.ExecutedAt = now
		return
	}
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

// execute makes a change in the name of who has scheduled it, who has to be able to make it
// now. p is nil for a project that is gone.
func (s ScheduledChanges) execute(tx Tx, p *management.ProjectRecord, c *storedChange) error {
	if p == nil {
		return management.Fault("", "The project is deleted.")
	}
	scope, err := management.NewUserScope(tx, c.Creator, p)
	if err == nil && scope == nil {
		err = management.Denied("Who has scheduled this change may not work in the project any more.")
	}
	if err != nil {
		return err
	}
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
