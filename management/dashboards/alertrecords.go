package dashboards

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindAlert is the kind of the records of alerts. Parent is the project, ID the alert's UUID, Other
// its insight (alertsOf), Sort the time of creation.
const kindAlert = "alert"

// alertScope is the Activity.Scope of alerts in the log.
const alertScope = "AlertConfiguration"

// kindAlertCheck is the kind of the records of checks: the results, and the times at which an alert
// was snoozed. Parent is the alert, Sort the time.
const kindAlertCheck = "alert_check"

// kindAlertTask is the kind of the records of planned checks. ID is the alert's, Sort the time at
// which the check is due.
const kindAlertTask = "alert_task"

// alertSettings are the fields of an alert that are stored and returned unchanged.
type alertSettings struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Threshold alertThreshold  `json:"threshold"`
	Condition json.RawMessage `json:"condition"`
	// Config selects the series that is evaluated. Condition selects whether its value or its
	// change is.
	Config json.RawMessage `json:"config"`
	// Interval is the time between checks: hourly, daily, weekly or monthly.
	Interval string `json:"calculation_interval"`
	Enabled  bool   `json:"enabled"`
	// SkipWeekend postpones checks on Saturday and Sunday to Monday.
	SkipWeekend *bool   `json:"skip_weekend"`
	Detector    *string `json:"detector_config"` // always null
	// Snoozed is the time until which the alert is not checked, or zero.
	Snoozed management.Stamp `json:"snoozed_until"`
	// State is one of alertQuiet, alertFiring, alertErrored and alertSnoozed.
	State string `json:"state"`
	// Notified and Checked are the times of the last mail and of the last check, or zero.
	Notified management.Stamp `json:"last_notified_at"`
	Checked  management.Stamp `json:"last_checked_at"`
	// Next is the time of the next check. If it is zero, the alert is checked as soon as possible.
	Next management.Stamp `json:"next_check_at"`
	// LastValue is the value that the last check has compared with the bounds. It is nil if there
	// is none.
	LastValue *float64         `json:"last_value"`
	Created   management.Stamp `json:"created_at"`
}

// alertThreshold has the bounds of an alert. Configuration is a JSON object, which limits reads.
type alertThreshold struct {
	ID            string           `json:"id"`
	Name          string           `json:"name"`
	Created       management.Stamp `json:"created_at"`
	Configuration json.RawMessage  `json:"configuration"`
}

// storedAlert is the stored form of an alert.
type storedAlert struct {
	alertSettings
	Insight     string  `json:"insight"` // the insight's number
	Subscribers []int64 `json:"subscribed_users"`
	Author      int64   `json:"created_by"` // the user's number

	// rescheduled reports that the task must be planned again after this change, whatever was
	// planned before. justSnoozed reports that this change has snoozed the alert. Neither is
	// stored.
	rescheduled bool
	justSnoozed bool
}

// alertsOf returns the Record.Other of the alerts of an insight.
func alertsOf(project int64, insight string) string {
	return management.ProjectParent(project) + "/insight/" + insight
}

// auditView returns the alert without the fields that checks change, for the log.
func (a *storedAlert) auditView() any {
	out := *a
	out.State, out.Notified, out.Checked, out.Next, out.LastValue = "", management.Stamp{}, management.Stamp{}, management.Stamp{}, nil
	return out
}

// showAlerts returns the alerts of an insight, newest first.
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

// people returns the subscribers and the creator of an alert. Subscribers who no longer exist are
// omitted.
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

// deleteAlerts deletes the alerts of an insight if query, its new query, is not a trends query.
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

// wrappers are the kinds of nodes that contain a query in their member source.
var wrappers = []string{"InsightVizNode", "DataVisualizationNode", "DataTableNode"}

// maxSources is the greatest number of nodes around the query of an insight.
const maxSources = 8

// trendsOf returns the members of the TrendsQuery inside an insight's query. It returns an error
// for every other kind of query, and for an insight without a query.
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
		return nil, management.Fault("insight", "Alert's insight query kind '%s' is not supported (only TrendsQuery)", plain.ShortText(kind))
	}
	return node, nil
}

// alertBounds are the bounds of a threshold. A nil bound does not exist.
type alertBounds struct{ Lower, Upper *float64 }

// limits reads and validates the threshold and the condition of an alert.
func (a *storedAlert) limits() (b alertBounds, percentage bool, condition string, err error) {
	var t struct {
		Type   string
		Bounds alertBounds
	}
	if json.Unmarshal(a.Threshold.Configuration, &t) != nil {
		return b, false, "", management.Fault("threshold__configuration__bounds", "lower and upper must be numbers or null.")
	}
	if kinds := []string{"absolute", "percentage"}; !slices.Contains(kinds, t.Type) {
		return b, false, "", management.NotAChoice("threshold__configuration__type", t.Type, kinds)
	}
	b, percentage = t.Bounds, t.Type == "percentage"
	condition = management.JSONText(management.JSONObject(a.Condition)["type"])
	switch {
	case !slices.Contains([]string{absoluteValue, relativeIncrease, relativeDecrease}, condition):
		err = management.NotAChoice("condition__type", condition, []string{absoluteValue, relativeIncrease, relativeDecrease})
	case b.Lower != nil && b.Upper != nil && *b.Lower >= *b.Upper:
		err = management.Fault("threshold", "Lower threshold must be less than upper threshold")
	case percentage && condition == absoluteValue:
		err = management.Fault("threshold", "Absolute value alerts require an absolute threshold, but a percentage threshold was configured")
	}
	return b, percentage, condition, err
}

// alertTask is the record from which CheckDue finds alerts that are due. It exists while the alert
// is enabled.
type alertTask struct {
	Project int64  `json:"project"`
	Alert   string `json:"alert"`
	// Run is the id of the check in progress, or empty. A server may store its result only while
	// Run is the id of its check. Tries is the number of checks that began and have not finished.
	Run   string `json:"run,omitempty"`
	Tries int    `json:"tries,omitempty"`
}

const (
	// maxTaskWait is the longest time for which the task of a snoozed alert waits before it is
	// examined. deletedPause is that time for an alert whose insight is deleted.
	maxTaskWait  = 24 * time.Hour
	deletedPause = time.Hour
	// maxPlannedWait is longer than any interval. A task that is due later was planned while the
	// clock was wrong, and is therefore treated as due.
	maxPlannedWait = 40 * 24 * time.Hour
)

// put stores the task so that CheckDue finds it at the time due.
func (t *alertTask) put(tx management.Tx, due time.Time) error {
	return tx.Put(&management.Record{Kind: kindAlertTask, ID: t.Alert, Sort: storage.SortTime(due), Data: storage.Encode(t)})
}

// due returns the time at which the task of an enabled alert should be examined: the time of the
// next check, or the end of snoozing if that is later.
func (a *storedAlert) due(now time.Time) time.Time {
	due := now
	if a.Next.After(now) {
		due = a.Next.Time
	}
	if a.Snoozed.After(due) {
		due = a.Snoozed.Time
		if latest := now.Add(maxTaskWait); due.After(latest) {
			due = latest
		}
	}
	return due
}
