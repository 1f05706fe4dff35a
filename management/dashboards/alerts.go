package dashboards

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Bounds of alerts.
const (
	maxAlerts      = 10_000 // in a project
	maxAlertName   = 255    // characters
	maxAlertJSON   = 4096   // bytes of threshold, condition and config, each
	maxSubscribers = 100
	// Checks are stored for checkLife, and at most maxChecks for an alert. Responses have
	// defaultChecks of them, unless the request has another limit.
	checkLife     = 14 * 24 * time.Hour
	maxChecks     = 1000
	defaultChecks = 5
)

// The states of alerts.
const (
	alertQuiet   = "Not firing"
	alertFiring  = "Firing"
	alertErrored = "Errored"
	alertSnoozed = "Snoozed"
)

// Alerts manages alerts. An alert checks the value of an insight at intervals, and sends a mail to
// its subscribers when the value is outside the bounds of a threshold (clients.md §9).
type Alerts struct {
	*core
	resource.Resource[management.Tx, storedAlert, Alert]
}

// alertFields are the writable fields of an alert.
var alertFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, Blank: true, MaxLength: maxAlertName},
	{Name: "insight", Type: management.Any, Required: true, Custom: true, Help: "id of an insight with a trends query"},
	{Name: "subscribed_users", Type: management.IntList, Required: true, Custom: true, Help: "ids of the users who are notified; they must be members"},
	{Name: "threshold", Type: management.Object, Required: true, Custom: true, Help: "object with configuration: type absolute or percentage (0.2 is 20 %), and bounds with lower and upper"},
	{Name: "condition", Type: management.Object, Custom: true, Help: "object with type absolute_value, relative_increase or relative_decrease"},
	{Name: "config", Type: management.Object, Custom: true, Help: "object with type TrendsAlertConfig, series_index (from 0) and check_ongoing_interval"},
	{Name: "calculation_interval", Type: management.Choice, Choices: []string{"hourly", "daily", "weekly", "monthly"}},
	{Name: "enabled", Type: management.Bool},
	{Name: "skip_weekend", Type: management.Bool, Null: true, Help: "true: postpone checks from Saturday and Sunday to Monday"},
	{Name: "snoozed_until", Type: management.Text, Null: true, Custom: true, Help: "2h, 1d, 1w or a time until which the alert is snoozed; null ends the snooze"},
	{Name: "detector_config", Type: management.Any, Custom: true, Help: "must be null: anomaly detection is not supported"},
}

// Alert is the form of an alert in responses. Only Get sets Checks. Insight is nil if the caller
// may not view the insight.
type Alert struct {
	alertSettings
	Insight     *Insight               `json:"insight"`
	Subscribers []*management.UserView `json:"subscribed_users"`
	Checks      []alertCheck           `json:"checks,omitzero"`
	CreatedBy   *management.UserView   `json:"created_by"`
}

// alertCheck is the result of one check.
type alertCheck struct {
	ID       string           `json:"id"`
	Created  management.Stamp `json:"created_at"`
	Value    *float64         `json:"calculated_value"` // nil if there is none, or if it is infinite
	State    string           `json:"state"`
	Notified bool             `json:"targets_notified"` // a mail was queued
	Error    *string          `json:"error"`            // nil if the check succeeded
}

// alertEdit is an operation that creates, changes or deletes an alert.
type alertEdit = resource.Edit[management.Tx, storedAlert]

// newAlerts returns the resource of alerts. Deleting an alert deletes its checks and its task.
func newAlerts(c *core) (s Alerts) {
	s.core = c
	s.Resource = resource.NewResource(&c.Env, resource.Spec[management.Tx, storedAlert, Alert]{
		Kind: kindAlert, ActivityScope: alertScope, Fields: alertFields, NewestFirst: true,
		Header: func(scope *management.Scope, a *storedAlert) resource.RecordHeader {
			return resource.RecordHeader{ID: a.ID, Title: a.Name, Other: alertsOf(scope.Project.ID, a.Insight), Sort: storage.SortTime(a.Created.Time)}
		},
		New:   s.newAlert,
		Rules: s.rules,
		// Checks and the task are records of their own.
		BeforeDelete: func(e *alertEdit) error {
			if err := e.Tx.DeleteUnder(kindAlertCheck, e.After.ID); err != nil {
				return err
			}
			return e.Tx.Delete(kindAlertTask, "", e.After.ID)
		},
		AfterSave: s.plan,
		Show:      showAlert,
		Audit:     func(a *storedAlert) any { return a.auditView() },
	})
	return s
}

// newAlert returns an alert with the default values, unless the project has maxAlerts.
func (s Alerts) newAlert(v *view) (*storedAlert, error) {
	_, count, err := v.Tx.List(management.Query{Kind: kindAlert, Parent: v.Parent(), Limit: 1})
	if err == nil && count >= maxAlerts {
		err = management.Fault("", "A project may have at most %d alerts.", maxAlerts)
	}
	now, no := management.NewStamp(s.Env.Now()), false
	return &storedAlert{Author: v.User.ID, alertSettings: alertSettings{
		ID: s.Env.NewID(), Interval: "daily", Enabled: true, SkipWeekend: &no, State: alertQuiet, Created: now,
		Threshold: alertThreshold{ID: s.Env.NewID(), Created: now},
		Condition: json.RawMessage(`{"type":"absolute_value"}`), Config: json.RawMessage(`{"type":"TrendsAlertConfig","series_index":0}`),
	}}, err
}

// showAlert returns the form of an alert in responses, without its checks.
func showAlert(v *view, a *storedAlert) (out *Alert, err error) {
	out = &Alert{alertSettings: a.alertSettings}
	if out.Subscribers, out.CreatedBy, err = a.people(v); err != nil {
		return nil, err
	}
	i, err := insightOf(v.Tx, v.Project.ID, a.Insight)
	if err != nil || i == nil || !v.CanSee(i.accessObject()) {
		return out, err
	}
	out.Insight, err = i.show(v)
	return out, err
}

// List returns a page of alerts, newest first. If insight is not empty, only those of that insight,
// which is named by its number or its short id.
func (s Alerts) List(ctx context.Context, scope *management.Scope, insight string, p management.Page) (management.List[Alert], error) {
	q := management.Query{Offset: p.Offset, Limit: p.Limit}
	if insight != "" {
		i, err := management.Read(ctx, &s.Env, func(tx management.Tx) (*insightRecord, error) {
			return findInsight(&view{Tx: tx, Scope: scope}, insight, true)
		})
		if err != nil || i == nil {
			return management.List[Alert]{}, err
		}
		q.Other = alertsOf(scope.Project.ID, i.id())
	}
	return s.Query(ctx, scope, q)
}

// CheckQuery selects the checks that Get returns: those of a range of time, at most Limit of them.
// A Limit of 0 means 5.
type CheckQuery struct {
	Limit int64
	TimeRange
}

// Get returns an alert with its newest checks, in descending order of time.
func (s Alerts) Get(ctx context.Context, scope *management.Scope, id string, q CheckQuery) (*Alert, error) {
	return resource.ReadOne(ctx, s.Resource, scope, id, func(v *view, a *storedAlert) (*Alert, error) {
		out, err := showAlert(v, a)
		if err != nil {
			return nil, err
		}
		limit := defaultChecks
		if q.Limit > 0 {
			limit = int(min(q.Limit, maxChecks))
		}
		find := management.Query{Kind: kindAlertCheck, Parent: a.ID, Descending: true, Limit: limit}
		if !q.From.IsZero() {
			find.From = storage.SortTime(q.From)
		}
		if !q.To.IsZero() {
			find.To = storage.SortTime(q.To)
		}
		list, err := management.ListRecords[alertCheck](v.Tx, find)
		out.Checks = list.Results
		return out, err
	})
}

// addCheck stores a check and deletes the checks that are too old or too many.
func (s *core) addCheck(tx management.Tx, a *storedAlert, c alertCheck) error {
	c.ID, c.Created, c.State = s.Env.NewID(), management.NewStamp(s.Env.Now()), a.State
	if err := tx.Put(&management.Record{Kind: kindAlertCheck, Parent: a.ID, ID: c.ID, Sort: storage.SortTime(c.Created.Time), Data: storage.Encode(c)}); err != nil {
		return err
	}
	// One check is added at a time, so deleting up to 20 old ones keeps up.
	oldest, count, err := tx.List(management.Query{Kind: kindAlertCheck, Parent: a.ID, Limit: 20})
	if err != nil {
		return err
	}
	old := storage.SortTime(c.Created.Add(-checkLife))
	for i := range oldest {
		if oldest[i].Sort >= old && count <= maxChecks {
			break
		}
		if err := tx.Delete(kindAlertCheck, a.ID, oldest[i].ID); err != nil {
			return err
		}
		count--
	}
	return nil
}

// nextCheck returns the time of the first check after now (§9.3): in the next hour, tomorrow at
// 1:00, next Monday at 3:00, or on the 1st of the next month at 4:00, in local time. The minute is
// the one at which the alert was created, which distributes the checks of many alerts. The result
// is always after now, even on days on which the clocks change.
func (a *storedAlert) nextCheck(now time.Time, zone *time.Location) time.Time {
	now = now.In(zone)
	minute := a.Created.In(zone).Minute()
	year, month, day := now.Date()
	var next time.Time
	switch a.Interval {
	case "hourly": // hours are added as durations, since a local day may have 23 or 25
		begun := time.Duration(now.Minute())*time.Minute + time.Duration(now.Second())*time.Second + time.Duration(now.Nanosecond())
		next = now.Add(time.Hour - begun + time.Duration(minute)*time.Minute)
	case "weekly":
		next = time.Date(year, month, day+daysToMonday(now), 3, minute, 0, 0, zone)
	case "monthly":
		next = time.Date(year, month+1, 1, 4, minute, 0, 0, zone)
	default:
		for ; !next.After(now); day++ { // a time zone may have skipped a day
			next = time.Date(year, month, day+1, 1, minute, 0, 0, zone)
		}
	}
	return a.afterWeekend(next)
}

// daysToMonday returns the number of days until the next Monday, which is 7 if t is a Monday.
func daysToMonday(t time.Time) int { return (7+int(time.Monday)-int(t.Weekday())+6)%7 + 1 }

// afterWeekend returns t, or the following Monday if t is on a weekend and the alert skips
// weekends. An hourly alert continues on Monday at 0:00, the others at their usual time. t must be
// in local time.
func (a *storedAlert) afterWeekend(t time.Time) time.Time {
	weekend := t.Weekday() == time.Saturday || t.Weekday() == time.Sunday
	if a.SkipWeekend == nil || !*a.SkipWeekend || !weekend {
		return t
	}
	year, month, day := t.Date()
	// The weekend ends at 0:00, which is the first check of an hourly alert after it.
	hour := t.Hour()
	if a.Interval == "hourly" {
		hour = 0
	}
	return time.Date(year, month, day+daysToMonday(t), hour, t.Minute(), 0, 0, t.Location())
}
