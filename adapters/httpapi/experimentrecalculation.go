package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

var triggerFields = management.Fields{
	{Name: "trigger", Type: management.Text, Null: true, Max: 100, Help: "what has asked for it, such as manual; it has no effect"},
}

// metricsRun is a run that computes the results of an experiment again (experiments.md
// §3.8). There is one of an experiment at a time; it is forgotten as other runs of queries
// are.
type metricsRun struct {
	ID         string  `json:"id"`
	Experiment int64   `json:"experiment_id"`
	Status     string  `json:"status"` // pending, completed, failed
	Created    *string `json:"created_at"`
	Completed  *string `json:"completed_at"`
	Error      *string `json:"error"`
}

func metricsRunAt(path, summary string) row[*asker] {
	return row[*asker]{do: readMetricsRun, endpoint: endpoint{
		method: http.MethodGet, path: path, scope: "experiment:read", also: "query:read", summary: summary, gives: metricsRun{},
	}}
}

// metricsRunName names the run of an experiment.
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

func recalculateMetrics(of *asker, c *call) (any, error) {
	if _, err := triggerFields.Create(c.body); err != nil {
		return nil, err
	}
	shown, err := of.experiments.Get(c.ctx, c.standing, c.part("id"))
	if err != nil {
		return nil, err
	}
	if shown.Start.IsZero() {
		return nil, invalid("", "Experiment has not been started yet")
	}
	status, err := of.desk.Status(c.ctx, c.standing.Project.ID, metricsRunName(shown.ID), false)
	var none *queries.Error
	if err != nil && !(errors.As(err, &none) && none.Kind == queries.NotFound) {
		return nil, queryProblem(err)
	}
	if status != nil && !status.Complete {
		return answer{status: http.StatusOK, body: metricsRunOf(shown.ID, status)}, nil
	}
	request, err := of.request(c, wire.MustEncode(map[string]any{"kind": "ExperimentResultsQuery", "experiment_id": shown.ID}), queries.Overrides{})
	if err != nil {
		return nil, err
	}
	request.Mode, request.ID = queries.ForceAsync, metricsRunName(shown.ID)
	found, err := of.desk.Ask(c.ctx, request)
	if err != nil {
		return nil, queryProblem(err)
	}
	return metricsRunOf(shown.ID, found.Status), nil
}

func readMetricsRun(of *asker, c *call) (any, error) {
	shown, err := of.experiments.Get(c.ctx, c.standing, c.part("id"))
	if err != nil {
		return nil, err
	}
	if run := c.part("run"); run != "" && run != metricsRunName(shown.ID) {
		return nil, management.ErrNotFound()
	}
	status, err := of.desk.Status(c.ctx, c.standing.Project.ID, metricsRunName(shown.ID), false)
	if err != nil {
		return nil, queryProblem(err)
	}
	return metricsRunOf(shown.ID, status), nil
}
