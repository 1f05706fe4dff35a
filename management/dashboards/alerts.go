package dashboards

import (
	"context"
	"encoding/json"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// Bounds of alerts.
const (
	maxAlerts      = 10_000 // of a project
	maxAlertName   = 255    // characters
	maxAlertJSON   = 4096   // bytes of threshold, condition and config, each
	maxSubscribers = 100
	// Checks are kept for checkLife, at most maxChecks of an alert; answers have
	// defaultChecks of them unless they are asked for more.
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

// Alerts look at an insight again and again and tell people when its value leaves the
// bounds of a threshold (clients.md §9).
type Alerts struct {
	*core
	management.Resource[management.Tx, storedAlert, Alert]
}

// AlertFields are the writable fields of an alert.
var AlertFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, Blank: true, MaxLength: maxAlertName},
	{Name: "insight", Type: management.Any, Required: true, Custom: true, Help: "the id of an insight whose query is of trends"},
	{Name: "subscribed_users", Type: management.IntList, Required: true, Custom: true, Help: "the numbers of members who are told"},
	{Name: "threshold", Type: management.Object, Required: true, Custom: true, Help: "configuration: type absolute or percentage (0.2 is 20 %), bounds with lower and upper"},
	{Name: "condition", Type: management.Object, Custom: true, Help: "type: absolute_value, relative_increase or relative_decrease"},
	{Name: "config", Type: management.Object, Custom: true, Help: "type TrendsAlertConfig, series_index from 0 on, check_ongoing_interval"},
	{Name: "calculation_interval", Type: management.Choice, Choices: []string{"hourly", "daily", "weekly", "monthly"}},
	{Name: "enabled", Type: management.Bool},
	{Name: "skip_weekend", Type: management.Bool, Null: true, Help: "what would be checked on Saturday or Sunday waits for Monday"},
	{Name: "snoozed_until", Type: management.Text, Null: true, Custom: true, Help: "2h, 1d, 1w or a time; null: no longer"},
	{Name: "detector_config", Type: management.Any, Custom: true, Help: "null: there are no detectors of anomalies"},
}

// Alert is an alert as it is shown. Only one that is asked for has its checks.
type Alert struct {
	alertSettings
	Insight     *Insight               `json:"insight"`
	Subscribers []*management.UserView `json:"subscribed_users"`
	Checks      []alertCheck           `json:"checks,omitzero"`
	CreatedBy   *management.UserView   `json:"created_by"`
}

// alertCheck is what one check has found.
type alertCheck struct {
	ID       string           `json:"id"`
	Created  management.Stamp `json:"created_at"`
	Value    *float64         `json:"calculated_value"`
	State    string           `json:"state"`
	Notified bool             `json:"targets_notified"`
	Error    *string          `json:"error"`
}

type alertEdit = management.Edit[management.Tx, storedAlert]

func newAlerts(c *core) (s Alerts) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[management.Tx, storedAlert, Alert]{
		Kind: kindAlert, ActivityScope: alertScope, Fields: AlertFields, NewestFirst: true,
		Header: func(scope *management.Scope, a *storedAlert) management.RecordHeader {
			return management.RecordHeader{ID: a.ID, Title: a.Name, Other: alertsOf(scope.Project.ID, a.Insight), Sort: management.SortTime(a.Created.Time)}
		},
		New:   s.newAlert,
		Rules: s.rules,
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

func (s Alerts) newAlert(v *view) (*storedAlert, error) {
	_, count, err := v.Tx.List(management.Query{Kind: kindAlert, Parent: v.Parent(), Limit: 1})
	if err == nil && count >= maxAlerts {
		err = management.Fault("", "A project may have %d alerts.", maxAlerts)
	}
	now, no := management.NewStamp(s.Env.Now()), false
	return &storedAlert{Author: v.User.ID, alertSettings: alertSettings{
		ID: s.Env.NewID(), Interval: "daily", Enabled: true, SkipWeekend: &no, State: alertQuiet, Created: now,
		Threshold: alertThreshold{ID: s.Env.NewID(), Created: now},
		Condition: json.RawMessage(`{"type":"absolute_value"}`), Config: json.RawMessage(`{"type":"TrendsAlertConfig","series_index":0}`),
	}}, err
}

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

// List returns a page of alerts, newest first; of one insight when that is not empty.
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

// CheckQuery says which checks of an alert are asked for: of a time, at most Limit of
// them, 5 when it is zero.
type CheckQuery struct {
	Limit int64
	Between
}

// Get returns an alert with its newest checks.
func (s Alerts) Get(ctx context.Context, scope *management.Scope, id string, q CheckQuery) (*Alert, error) {
	return management.ReadOne(ctx, s.Resource, scope, id, func(v *view, a *storedAlert) (*Alert, error) {
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
			find.From = management.SortTime(q.From)
		}
		if !q.To.IsZero() {
			find.To = management.SortTime(q.To)
		}
		list, err := management.ListRecords[alertCheck](v.Tx, find)
		out.Checks = list.Results
		return out, err
	})
}

// addCheck keeps a check, and takes the old ones away.
func (s *core) addCheck(tx management.Tx, a *storedAlert, c alertCheck) error {
	c.ID, c.Created, c.State = s.Env.NewID(), management.NewStamp(s.Env.Now()), a.State
	if err := tx.Put(&management.Record{Kind: kindAlertCheck, Parent: a.ID, ID: c.ID, Sort: management.SortTime(c.Created.Time), Data: management.Encode(c)}); err != nil {
		return err
	}
	oldest, count, err := tx.List(management.Query{Kind: kindAlertCheck, Parent: a.ID, Limit: 20})
	if err != nil {
		return err
	}
	old := management.SortTime(c.Created.Add(-checkLife))
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
