package results

import (
	"maps"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// experimentCallEndpoints are the steps in the life of an experiment, such as launching it
// (experiments.md §3.7).
var experimentCallEndpoints = func() []frame.Endpoint {
	var rows []frame.Row[featureflags.Experiments]
	for _, name := range slices.Sorted(maps.Keys(featureflags.ExperimentCalls)) {
		step := featureflags.ExperimentCalls[name]
		rows = append(rows, frame.Handle(http.MethodPost, "/experiments/{id}/"+name, step.Title, func(svc featureflags.Experiments, c *frame.Call) (*featureflags.Experiment, error) {
			return svc.Call(c.Ctx, c.Scope, c.Part("id"), name, c.Body)
		}).WithBody(step.Fields))
	}
	return frame.Resource(frame.InProject, "experiment", experimentsOf, rows)
}()

func experimentsOf(s *frame.Server) featureflags.Experiments {
	return s.Management.FeatureFlags.Experiments
}

// experimentResultEndpoints return the results of an experiment's metrics (experiments.md §3.5).
// Results are derived from events, so the key also needs the scope query:read.
var experimentResultEndpoints = frame.Resource(frame.InProject, "experiment", Of, []frame.Row[*Service]{{Do: experimentResults, Endpoint: frame.Endpoint{
	Method: http.MethodGet, Path: "/experiments/{id}/results", KeyScope: "experiment:read", SecondScope: "query:read", NoTimeout: true,
	Summary: "Compute the results of an experiment for all of its metrics",
	Query: []frame.Parameter{
		frame.Param("refresh", "string", "blocking (default), force_blocking"),
		frame.Param("metric", "string", "uuid of a metric; may be repeated; all metrics by default"),
		frame.Param("format", "string", "json (default), or csv with one row for each metric and variant"),
	},
	Response: experimentResult{},
}}})

// experimentResult documents the response. Its other members are documented with the query
// (capture/insights).
type experimentResult struct {
	ID      int64            `json:"experiment_id"`
	Status  string           `json:"status"`
	Start   management.Stamp `json:"start_date"`
	End     management.Stamp `json:"end_date"`
	Primary []any            `json:"primary"`
}

// experimentResults computes the results of the requested metrics, all by default, and returns them
// as JSON or CSV.
func experimentResults(svc *Service, c *frame.Call) (any, error) {
	experiment, err := svc.experiments.Get(c.Ctx, c.Scope, c.Part("id"))
	if err != nil {
		return nil, err
	}
	params := c.Query()
	format := params.Get("format")
	if format != "" && format != "json" && format != "csv" {
		return nil, management.NotAChoice("format", problem.Shorten(format), []string{"json", "csv"})
	}
	query := map[string]any{"kind": "ExperimentResultsQuery", "experiment_id": experiment.ID}
	if only := params["metric"]; len(only) > 0 {
		query["metrics"] = only
	}
	request, err := svc.request(c, wire.MustEncode(query), queries.Overrides{})
	if err != nil {
		return nil, err
	}
	request.Mode = queries.Blocking
	if text := params.Get("refresh"); text != "" {
		if request.Mode, err = modeOfText(text); err != nil {
			return nil, err
		}
		if request.Mode != queries.Blocking && request.Mode != queries.ForceBlocking {
			return nil, problem.Invalid("refresh", "Must be blocking or force_blocking: the request waits for the results.")
		}
	}
	found, err := svc.Runner.Execute(c.Ctx, request)
	if err != nil {
		return nil, Problem(err)
	}
	if format == "csv" {
		return frame.Answer{Status: http.StatusOK, Raw: resultsCSV(found.Result), Kind: "text/csv; charset=utf-8"}, nil
	}
	out := maps.Clone(found.Result)
	for name, value := range map[string]any{"experiment_id": experiment.ID, "status": experiment.Status, "start_date": experiment.Start, "end_date": experiment.End} {
		out[name] = value
	}
	return out, nil
}
