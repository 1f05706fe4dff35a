package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// experimentSeriesEndpoints say what a metric came to day by day (experiments.md §3.8).
var experimentSeriesEndpoints = resource(inProject, "experiment", askerOf, []row[*asker]{
	{do: timeseriesOf, endpoint: endpoint{
		method: http.MethodGet, path: "/experiments/{id}/timeseries_results", scope: "experiment:read", also: "query:read", long: true,
		summary: "Say what a metric of an experiment was at the end of each day",
		query: []parameterDoc{
			{"metric_uuid", "string", "the uuid of the metric"},
			{"fingerprint", "string", "the fingerprint of the metric"},
		},
		gives: experimentSeries{},
	}},
	{do: recalculateTimeseries, endpoint: endpoint{
		method: http.MethodPost, path: "/experiments/{id}/recalculate_timeseries", scope: "experiment:write", also: "query:read",
		summary: "Compute the days of a metric of an experiment again", status: http.StatusCreated, takes: recalculationFields, gives: recalculation{},
	}},
	{do: recalculateMetrics, endpoint: endpoint{
		method: http.MethodPost, path: "/experiments/{id}/metrics_recalculation", scope: "experiment:write", also: "query:read",
		summary: "Compute the results of an experiment again, behind the request", status: http.StatusCreated, takes: triggerFields, gives: metricsRun{},
	}},
	metricsRunAt("/experiments/{id}/metrics_recalculation/latest", "Say how far the last run is that computes the results of an experiment"),
	metricsRunAt("/experiments/{id}/metrics_recalculation/{run}", "Say how far a run is that computes the results of an experiment"),
})

var recalculationFields = management.Fields{
	{Name: "metric", Type: management.Object, Required: true, Help: "a metric of the experiment: its uuid counts"},
	{Name: "fingerprint", Type: management.Text, Required: true},
}

// seriesInCall is how many days are computed while the caller waits; more are computed
// behind the request.
const seriesInCall = 60

// experimentSeries are the days of a metric.
type experimentSeries struct {
	Experiment  int64                      `json:"experiment_id"`
	Metric      string                     `json:"metric_uuid"`
	Status      string                     `json:"status"` // pending, completed, failed
	Days        map[string]json.RawMessage `json:"timeseries"`
	Errors      map[string]string          `json:"errors"` // by day, null for none: one that fails fails the whole answer
	Computed    *string                    `json:"computed_at"`
	Created     *string                    `json:"created_at"`
	Updated     *string                    `json:"updated_at"`
	Again       *string                    `json:"recalculation_status"` // in_progress, or null
	AgainSince  *string                    `json:"recalculation_created_at"`
	Fingerprint string                     `json:"fingerprint"`
}

// recalculation is a run that computes the days again.
type recalculation struct {
	ID          string  `json:"id"`
	Experiment  int64   `json:"experiment_id"`
	Metric      string  `json:"metric_uuid"`
	Fingerprint string  `json:"fingerprint"`
	Status      string  `json:"status"` // pending
	Created     *string `json:"created_at"`

	ended bool
	fault *string
}

// seriesAsked is a metric whose days are asked for.
type seriesAsked struct {
	shown             *featureflags.Experiment
	uuid, fingerprint string
}

// run is the name of the run that computes the days again.
func (a *seriesAsked) run() string { return fmt.Sprintf("timeseries-%d-%s", a.shown.ID, a.uuid) }

func (of *asker) series(c *call, uuid, fingerprint string) (*seriesAsked, queries.Request, error) {
	var request queries.Request
	shown, err := of.experiments.Get(c.ctx, c.standing, c.part("id"))
	if err != nil {
		return nil, request, err
	}
	switch {
	case uuid == "":
		return nil, request, invalid("metric_uuid", "metric_uuid query parameter is required")
	case fingerprint == "":
		return nil, request, invalid("fingerprint", "fingerprint query parameter is required")
	case shown.Start.IsZero():
		return nil, request, invalid("", "Experiment has not been started yet")
	}
	is, there := fingerprintOf(shown, uuid)
	switch {
	case !there:
		return nil, request, invalid("metric_uuid", "The experiment has no metric %q.", shorten(uuid))
	case is != fingerprint:
		return nil, request, invalid("fingerprint", "The metric or the experiment has changed: the fingerprint is %s now.", is)
	}
	request, err = of.request(c, wire.MustEncode(map[string]any{"kind": "ExperimentTimeseriesQuery", "experiment_id": shown.ID, "metric_uuid": uuid}), queries.Overrides{})
	return &seriesAsked{shown, uuid, fingerprint}, request, err
}

// fingerprintOf is that of a metric of an experiment.
func fingerprintOf(x *featureflags.Experiment, uuid string) (string, bool) {
	var all []json.RawMessage
	for _, list := range []json.RawMessage{x.Metrics, x.MetricsSecondary} {
		var metrics []json.RawMessage
		_ = json.Unmarshal(list, &metrics) // lists, which were checked
		all = append(all, metrics...)
	}
	for i := range x.SavedMetrics {
		all = append(all, x.SavedMetrics[i].Query)
	}
	for _, raw := range all {
		if metric := management.JSONObject(raw); management.JSONText(metric["uuid"]) == uuid {
			return management.JSONText(metric["fingerprint"]), true
		}
	}
	return "", false
}

func timeseriesOf(of *asker, c *call) (any, error) {
	params := c.query()
	asked, request, err := of.series(c, params.Get("metric_uuid"), params.Get("fingerprint"))
	if err != nil {
		return nil, err
	}
	out := &experimentSeries{Experiment: asked.shown.ID, Metric: asked.uuid, Fingerprint: asked.fingerprint, Status: "pending", Days: map[string]json.RawMessage{}}
	again, err := of.recalculating(c, asked)
	if err != nil {
		return nil, err
	}
	going := again != nil && !again.ended
	if going {
		word := "in_progress"
		out.Again, out.AgainSince = &word, again.Created
	}
	end := asked.shown.End.Time
	if now := of.desk.Now(); end.IsZero() || end.After(now) {
		end = now
	}
	request.Mode = queries.Blocking
	if end.Sub(asked.shown.Start.Time) > seriesInCall*24*time.Hour {
		switch {
		case going:
			request.Mode = queries.CacheOnly
		case again != nil && again.fault != nil:
			out.Status, out.Errors = "failed", map[string]string{end.UTC().Format(time.DateOnly): *again.fault}
			return out, nil
		default:
			request.Mode, request.ID = queries.Async, asked.run()
		}
	}
	found, err := of.desk.Ask(c.ctx, request)
	if err != nil {
		return nil, queryProblem(err)
	}
	return out, out.fill(found.Result)
}

// fill takes the days of an answer, if there is one.
func (out *experimentSeries) fill(result map[string]any) error {
	days := result["timeseries"]
	if days == nil {
		return nil
	}
	out.Status = "completed"
	if at, ok := result["last_refresh"].(string); ok {
		out.Computed, out.Created, out.Updated = &at, &at, &at
	}
	return json.Unmarshal(wire.MustEncode(days), &out.Days)
}

// recalculating is the run that computes the days behind the request, or has done so
// lately; nil: there is none.
func (of *asker) recalculating(c *call, asked *seriesAsked) (*recalculation, error) {
	status, err := of.desk.Status(c.ctx, c.standing.Project.ID, asked.run(), false)
	var none *queries.Error
	if errors.As(err, &none) && none.Kind == queries.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, queryProblem(err)
	}
	return asked.recalculation(status), nil
}

func recalculateTimeseries(of *asker, c *call) (any, error) {
	v, err := recalculationFields.Create(c.body)
	if err != nil {
		return nil, err
	}
	asked, request, err := of.series(c, management.JSONText(management.JSONObject(v.Raw("metric"))["uuid"]), v.Text("fingerprint"))
	if err != nil {
		return nil, err
	}
	going, err := of.recalculating(c, asked)
	if err != nil {
		return nil, err
	}
	if going != nil && !going.ended {
		return answer{status: http.StatusOK, body: going}, nil
	}
	request.Mode, request.ID = queries.ForceAsync, asked.run()
	found, err := of.desk.Ask(c.ctx, request)
	if err != nil {
		return nil, queryProblem(err)
	}
	return asked.recalculation(found.Status), nil
}

// recalculation is a run as it is told, nil for one that has not begun.
func (a *seriesAsked) recalculation(s *queries.Status) *recalculation {
	out := &recalculation{ID: a.run(), Experiment: a.shown.ID, Metric: a.uuid, Fingerprint: a.fingerprint, Status: "pending"}
	if s != nil {
		out.Created, out.ended, out.fault = s.Start, s.Complete, s.ErrorMessage
	}
	return out
}
