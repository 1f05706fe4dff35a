package results

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// triggerFields are the body of a request to recompute results. The trigger has no effect.
var triggerFields = management.Fields{
	{Name: "trigger", Type: management.Text, Null: true, MaxLength: 100, Help: "the cause of the recalculation, such as manual; has no effect"},
}

// metricsRun is a run that recomputes the results of an experiment (experiments.md §3.8). Each
// experiment has at most one run at a time. It expires like other query runs.
type metricsRun struct {
	ID         string  `json:"id"`
	Experiment int64   `json:"experiment_id"`
	Status     string  `json:"status"` // pending, completed, failed
	Created    *string `json:"created_at"`
	Completed  *string `json:"completed_at"`
	Error      *string `json:"error"`
}

func metricsRunAt(path, summary string) frame.Row[*Service] {
	return frame.Row[*Service]{Do: readMetricsRun, Endpoint: frame.Endpoint{
		Method: http.MethodGet, Path: path, KeyScope: "experiment:read", SecondScope: "query:read", Summary: summary, Response: metricsRun{},
	}}
}

// metricsRunName returns the ID of the run of an experiment.
func metricsRunName(experiment int64) string { return fmt.Sprintf("metrics-%d", experiment) }

func metricsRunOf(experiment int64, s *queries.Status) *metricsRun {
	out := &metricsRun{ID: metricsRunName(experiment), Experiment: experiment, Status: "pending"}
	if s == nil {
		return out
	}
	out.Created, out.Error = s.Start, s.ErrorMessage
	switch {
	case s.Failed:
		out.Status, out.Completed = "failed", s.End
	case s.Complete:
		out.Status, out.Completed = "completed", s.End
	}
	return out
}

// recalculateMetrics starts a run, or returns the one that is in progress.
func recalculateMetrics(svc *Service, c *frame.Call) (any, error) {
	if _, err := triggerFields.Create(c.Body); err != nil {
		return nil, err
	}
	experiment, err := svc.experiments.Get(c.Ctx, c.Scope, c.Part("id"))
	if err != nil {
		return nil, err
	}
	if experiment.Start.IsZero() {
		return nil, problem.Invalid("", "Experiment has not been started yet")
	}
	status, err := svc.Runner.Status(c.Ctx, c.Scope.Project.ID, metricsRunName(experiment.ID), false)
	var queryErr *queries.Error
	if err != nil && !(errors.As(err, &queryErr) && queryErr.Kind == queries.NotFound) {
		return nil, Problem(err)
	}
	if status != nil && !status.Complete {
		return frame.Answer{Status: http.StatusOK, Body: metricsRunOf(experiment.ID, status)}, nil
	}
	request, err := svc.request(c, wire.MustEncode(map[string]any{"kind": "ExperimentResultsQuery", "experiment_id": experiment.ID}), queries.Overrides{})
	if err != nil {
		return nil, err
	}
	request.Mode, request.ID = queries.ForceAsync, metricsRunName(experiment.ID)
	found, err := svc.Runner.Execute(c.Ctx, request)
	if err != nil {
		return nil, Problem(err)
	}
	return metricsRunOf(experiment.ID, found.Status), nil
}

// readMetricsRun returns the run with the ID in the path, or the latest run if the path has no ID.
func readMetricsRun(svc *Service, c *frame.Call) (any, error) {
	experiment, err := svc.experiments.Get(c.Ctx, c.Scope, c.Part("id"))
	if err != nil {
		return nil, err
	}
	if run := c.Part("run"); run != "" && run != metricsRunName(experiment.ID) {
		return nil, management.ErrNotFound()
	}
	status, err := svc.Runner.Status(c.Ctx, c.Scope.Project.ID, metricsRunName(experiment.ID), false)
	if err != nil {
		return nil, Problem(err)
	}
	return metricsRunOf(experiment.ID, status), nil
}
