package dashboards

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
)

// kindAlert is an alert: Parent is the project, ID its uuid, Other its insight, Sort
// the time it was made.
const kindAlert = "alert"

const alertScope = "AlertConfiguration" // what the log calls an alert

// kindAlertCheck is what a check of an alert has found, and when it was snoozed: Parent
// is the alert, Sort the time.
const kindAlertCheck = "alert_check"

// kindAlertTask is an alert that is to be checked: ID is the alert's, Sort the time when
// it is due.
const kindAlertTask = "alert_task"

// alertSettings are what is kept of an alert and shown as it is.
type alertSettings struct {
	ID          string           `json:"id"`
	Name        string           `json:"name"`
	Threshold   alertThreshold   `json:"threshold"`
	Condition   json.RawMessage  `json:"condition"`
	Config      json.RawMessage  `json:"config"`
	Interval    string           `json:"calculation_interval"`
	Enabled     bool             `json:"enabled"`
	SkipWeekend *bool            `json:"skip_weekend"`
	Detector    *string          `json:"detector_config"` // always null
	Snoozed     management.Stamp `json:"snoozed_until"`
	State       string           `json:"state"`
	Notified    management.Stamp `json:"last_notified_at"`
	Checked     management.Stamp `json:"last_checked_at"`
	Next        management.Stamp `json:"next_check_at"`
	LastValue   *float64         `json:"last_value"`
	Created     management.Stamp `json:"created_at"`
}

type alertThreshold struct {
	ID            string           `json:"id"`
	Name          string           `json:"name"`
	Created       management.Stamp `json:"created_at"`
	Configuration json.RawMessage  `json:"configuration"`
}

type storedAlert struct {
	alertSettings
	Insight     string  `json:"insight"`
	Subscribers []int64 `json:"subscribed_users"`
	Author      int64   `json:"created_by"` // a user's number

	rescheduled bool // it is to be looked at when it is due, whatever was planned
	justSnoozed bool // it has just been snoozed
}

// alertsOf is Other of the alerts of an insight.
func alertsOf(project int64, insight string) string {
	return management.ProjectParent(project) + "/insight/" + insight
}

// auditView is what people change of an alert.
func (a *storedAlert) auditView() any {
	out := *a
	out.State, out.Notified, out.Checked, out.Next, out.LastValue = "", management.Stamp{}, management.Stamp{}, management.Stamp{}, nil
	return out
}

// insightAlert is an alert as its insight shows it.
type insightAlert struct {
	alertSettings
	Insight     int64                  `json:"insight"`
	Subscribers []*management.UserView `json:"subscribed_users"`
	CreatedBy   *management.UserView   `json:"created_by"`
}

// showAlerts are the alerts of an insight, newest first.
func showAlerts(v *view, insight int64) ([]insightAlert, error) {
	other := alertsOf(v.Project.ID, strconv.FormatInt(insight, 10))
	list, err := management.ListRecords[storedAlert](v.Tx, management.Query{Kind: kindAlert, Other: other, Descending: true})
	out := []insightAlert{}
	for i := 0; i < len(list.Results) && err == nil; i++ {
		a := insightAlert{alertSettings: list.Results[i].alertSettings, Insight: insight}
		a.Subscribers, a.CreatedBy, err = list.Results[i].people(v)
		out = append(out, a)
	}
	return out, err
}

// people are the subscribers of an alert, and who made it.
func (a *storedAlert) people(v *view) (subscribers []*management.UserView, author *management.UserView, err error) {
	subscribers = []*management.UserView{}
	for _, id := range a.Subscribers {
		u, err := v.Author(id)
		if err != nil {
			return nil, nil, err
		}
		if u != nil {
			subscribers = append(subscribers, u)
		}
	}
	author, err = v.Author(a.Author)
	return subscribers, author, err
}

// deleteAlerts takes the alerts of an insight away whose query is no longer one of trends.
func (s *core) deleteAlerts(v *view, insight string, query json.RawMessage) error {
	if _, err := trendsOf(query); err == nil {
		return nil
	}
	list, err := management.ListRecords[storedAlert](v.Tx, management.Query{Kind: kindAlert, Other: alertsOf(v.Project.ID, insight)})
	if err != nil {
		return err
	}
	for n := range list.Results {
		a := &list.Results[n]
		err := errors.Join(
			v.Tx.DeleteUnder(kindAlertCheck, a.ID), v.Tx.Delete(kindAlertTask, "", a.ID), v.Tx.Delete(kindAlert, v.Parent(), a.ID),
			s.Env.LogActivity(v.Tx, v.Caller, v.Parent(), alertScope, a.ID, a.Name, a.auditView(), nil))
		if err != nil {
			return err
		}
	}
	return nil
}

// wrappers are nodes around a query.
var wrappers = []string{"InsightVizNode", "DataVisualizationNode", "DataTableNode"}

// maxSources is how deep the query of an insight may stand in others.
const maxSources = 8

// trendsOf is the TrendsQuery of an insight's query.
func trendsOf(query json.RawMessage) (map[string]json.RawMessage, error) {
	node := management.JSONObject(query)
	for range maxSources {
		if !slices.Contains(wrappers, management.JSONText(node["kind"])) {
			break
		}
		node = management.JSONObject(node["source"])
	}
	switch kind := management.JSONText(node["kind"]); {
	case len(node) == 0:
		return nil, management.Fault("insight", "Alerts are not supported for this insight.")
	case kind != "TrendsQuery":
		return nil, management.Fault("insight", "Alert's insight query kind '%s' is not supported (only TrendsQuery)", management.ShortText(kind))
	}
	return node, nil
}
