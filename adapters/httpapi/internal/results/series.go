package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/experiments"
)

// experimentSeriesEndpoints return the results of a metric day by day (experiments.md §3.8).
var experimentSeriesEndpoints = frame.Resource(frame.InProject, "experiment", Of, []frame.Row[*Service]{
	{Do: timeseriesOf, Endpoint: frame.Endpoint{
		Method: http.MethodGet, Path: "/experiments/{id}/timeseries_results", KeyScope: "experiment:read", SecondScope: "query:read", NoTimeout: true,
		Summary: "Read the daily results of a metric of an experiment",
		Query: []frame.Parameter{
			frame.Param("metric_uuid", "string", "uuid of the metric; required"),
			frame.Param("fingerprint", "string", "fingerprint of the metric; required"),
		},
		Response: experimentSeries{},
	}},
	{Do: recalculateTimeseries, Endpoint: frame.Endpoint{
		Method: http.MethodPost, Path: "/experiments/{id}/recalculate_timeseries", KeyScope: "experiment:write", SecondScope: "query:read",
		Summary: "Recalculate the daily results of a metric of an experiment", Status: http.StatusCreated, BodyFields: recalculationFields, Response: recalculation{},
	}},
	{Do: recalculateMetrics, Endpoint: frame.Endpoint{
		Method: http.MethodPost, Path: "/experiments/{id}/metrics_recalculation", KeyScope: "experiment:write", SecondScope: "query:read",
		Summary: "Start recalculating the results of an experiment in the background", Status: http.StatusCreated, BodyFields: triggerFields, Response: metricsRun{},
	}},
	metricsRunAt("/experiments/{id}/metrics_recalculation/latest", "Read the status of the latest recalculation of an experiment's results"),
	metricsRunAt("/experiments/{id}/metrics_recalculation/{run}", "Read the status of a recalculation of an experiment's results"),
})

// recalculationFields are the body of a request to recompute the days of a metric.
var recalculationFields = management.Fields{
	{Name: "metric", Type: management.Object, Required: true, Help: "a metric of the experiment; only its uuid is used"},
	{Name: "fingerprint", Type: management.Text, Required: true},
}

// seriesInCall is the maximum number of days that are computed within the request. Longer series
// are computed asynchronously.
const seriesInCall = 60

// experimentSeries is the response with the daily results of a metric.
type experimentSeries struct {
	Experiment int64                      `json:"experiment_id"`
	Metric     string                     `json:"metric_uuid"`
	Status     string                     `json:"status"` // pending, completed, partial, failed
	Days       map[string]json.RawMessage `json:"timeseries"`
	// By day; null without errors. A day with an error is null in Days.
	Errors             map[string]string `json:"errors"`
	Computed           *string           `json:"computed_at"`
	Created            *string           `json:"created_at"`
	Updated            *string           `json:"updated_at"`
	Recalculation      *string           `json:"recalculation_status"` // in_progress, or null
	RecalculationSince *string           `json:"recalculation_created_at"`
	Fingerprint        string            `json:"fingerprint"`
}

// recalculation is a run that recomputes the days of a metric.
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

// seriesRequest identifies the metric of a request.
type seriesRequest struct {
	experiment        *experiments.Experiment
	uuid, fingerprint string
}

// runName returns the ID of the run that recomputes the days.
func (a *seriesRequest) runName() string {
	return fmt.Sprintf("timeseries-%d-%s", a.experiment.ID, a.uuid)
}

// series validates the parameters of a request, and returns the metric with the query for its days.
func (svc *Service) series(c *frame.Call, uuid, fingerprint string) (*seriesRequest, queries.Request, error) {
	var request queries.Request
	experiment, err := svc.experiments.Get(c.Ctx, c.Scope, c.Part("id"))
	if err != nil {
		return nil, request, err
	}
	switch {
	case uuid == "":
		return nil, request, problem.Invalid("metric_uuid", "metric_uuid query parameter is required")
	case fingerprint == "":
		return nil, request, problem.Invalid("fingerprint", "fingerprint query parameter is required")
	case experiment.Start.IsZero():
		return nil, request, problem.Invalid("", "Experiment has not been started yet")
	}
	current, exists := fingerprintOf(experiment, uuid)
	switch {
	case !exists:
		return nil, request, problem.Invalid("metric_uuid", "The experiment has no metric %q.", problem.Shorten(uuid))
	case current != fingerprint:
		return nil, request, problem.Invalid("fingerprint", "The metric or the experiment has changed: the fingerprint is %s now.", current)
	}
	request, err = svc.request(c, wire.MustEncode(map[string]any{"kind": "ExperimentTimeseriesQuery", "experiment_id": experiment.ID, "metric_uuid": uuid}), queries.Overrides{})
	return &seriesRequest{experiment, uuid, fingerprint}, request, err
}

// fingerprintOf returns the fingerprint of a metric of an experiment, and whether the experiment
// has the metric.
func fingerprintOf(x *experiments.Experiment, uuid string) (string, bool) {
	var all []json.RawMessage
	for _, list := range []json.RawMessage{x.Metrics, x.MetricsSecondary} {
		var metrics []json.RawMessage
		_ = json.Unmarshal(list, &metrics) // validated when they were stored
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

// timeseriesOf returns the days of a metric. It computes short series at once, and starts a run for
// long ones.
func timeseriesOf(svc *Service, c *frame.Call) (any, error) {
	params := c.Query()
	series, request, err := svc.series(c, params.Get("metric_uuid"), params.Get("fingerprint"))
	if err != nil {
		return nil, err
	}
	out := &experimentSeries{Experiment: series.experiment.ID, Metric: series.uuid, Fingerprint: series.fingerprint, Status: "pending", Days: map[string]json.RawMessage{}}
	rerun, err := svc.findRecalculation(c, series)
	if err != nil {
		return nil, err
	}
	running := rerun != nil && !rerun.ended
	if running {
		word := "in_progress"
		out.Recalculation, out.RecalculationSince = &word, rerun.Created
	}
	end := series.experiment.End.Time
	if now := svc.Runner.Now(); end.IsZero() || end.After(now) {
		end = now
	}
	request.Mode = queries.Blocking
	if end.Sub(series.experiment.Start.Time) > seriesInCall*24*time.Hour {
		switch {
		case running:
			request.Mode = queries.CacheOnly
		case rerun != nil && rerun.fault != nil:
			out.Status, out.Errors = "failed", map[string]string{end.UTC().Format(time.DateOnly): *rerun.fault}
			return out, nil
		default:
			request.Mode, request.ID = queries.Async, series.runName()
		}
	}
	found, err := svc.Runner.Execute(c.Ctx, request)
	if err != nil {
		return nil, Problem(err)
	}
	return out, out.fill(found.Result)
}

// fill sets the days from the result of the query. It does nothing if the result is not available
// yet.
func (out *experimentSeries) fill(result map[string]any) error {
	days := result["timeseries"]
	if days == nil {
		return nil
	}
	out.Status = "completed"
	if failed, ok := result["errors"]; ok {
		out.Status = "partial"
		if err := json.Unmarshal(wire.MustEncode(failed), &out.Errors); err != nil {
			return err
		}
	}
	if refreshed, ok := result["last_refresh"].(string); ok {
		out.Computed, out.Created, out.Updated = &refreshed, &refreshed, &refreshed
	}
	return json.Unmarshal(wire.MustEncode(days), &out.Days)
}

// findRecalculation returns the run that recomputes the days asynchronously, if it is in progress
// or has ended recently, and nil otherwise.
func (svc *Service) findRecalculation(c *frame.Call, series *seriesRequest) (*recalculation, error) {
	status, err := svc.Runner.Status(c.Ctx, c.Scope.Project.ID, series.runName(), false)
	var queryErr *queries.Error
	if errors.As(err, &queryErr) && queryErr.Kind == queries.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, Problem(err)
	}
	return series.recalculation(status), nil
}

// recalculateTimeseries starts a run, or returns the one that is in progress.
func recalculateTimeseries(svc *Service, c *frame.Call) (any, error) {
	v, err := recalculationFields.Create(c.Body)
	if err != nil {
		return nil, err
	}
	series, request, err := svc.series(c, management.JSONText(management.JSONObject(v.Raw("metric"))["uuid"]), v.Text("fingerprint"))
	if err != nil {
		return nil, err
	}
	running, err := svc.findRecalculation(c, series)
	if err != nil {
		return nil, err
	}
	if running != nil && !running.ended {
		return frame.Answer{Status: http.StatusOK, Body: running}, nil
	}
	request.Mode, request.ID = queries.ForceAsync, series.runName()
	found, err := svc.Runner.Execute(c.Ctx, request)
	if err != nil {
		return nil, Problem(err)
	}
	return series.recalculation(found.Status), nil
}

// recalculation returns the response for a run. s is nil for a run that has not started.
func (a *seriesRequest) recalculation(s *queries.Status) *recalculation {
	out := &recalculation{ID: a.runName(), Experiment: a.experiment.ID, Metric: a.uuid, Fingerprint: a.fingerprint, Status: "pending"}
	if s != nil {
		out.Created, out.ended, out.fault = s.Start, s.Complete, s.ErrorMessage
	}
	return out
}
