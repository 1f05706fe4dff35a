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
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// experimentEndpoints are the endpoints of §5.7, and the counts of exposures.
var experimentEndpoints = frame.Resource(frame.InProject, "experiment", experimentsOf, []frame.Row[experiments.Service]{
	frame.Handle(http.MethodGet, "/experiments", "List experiments", listExperiments),
	frame.Create("/experiments", "Create an experiment and its flag", experiments.Bodies.Experiment, experiments.Service.Create).WithCheck(checksOf(experimentQuestions)),
	frame.Handle(http.MethodPost, "/experiments/calculate_running_time", "Calculate the recommended sample size and running time of an experiment", runningTime).WithScope("experiment:read").WithBody(experiments.Bodies.RunningTime),
	frame.Handle(http.MethodGet, "/experiments/eligible_feature_flags", "List the flags that experiments can use", eligibleFlags),
	frame.Paged("/experiments/requires_flag_implementation", "List running experiments whose flags have not been called", experiments.Service.ListWithoutCalls),
	frame.Read("/experiments/stats", "Count the experiments of the last 60 days", experiments.Service.Stats),
	frame.Get("/experiments/{id}", "Read an experiment", experiments.Service.Get),
	frame.Update("/experiments/{id}", "Change an experiment", "Replace an experiment", experiments.Bodies.Experiment, experiments.Service.Update).WithCheck(checksOf(experimentQuestions)),
	frame.Handle(http.MethodDelete, "/experiments/{id}", "Not allowed: use PATCH with deleted: true to delete an experiment", frame.RefuseDeletion[experiments.Service]).WithStatus(http.StatusMethodNotAllowed),
	frame.Add("/experiments/{id}/duplicate", "Duplicate an experiment as a draft", experiments.Bodies.Duplicate, experiments.Service.Duplicate),
	frame.Add("/experiments/{id}/copy_to_project", "Duplicate an experiment as a draft in another project", experiments.Bodies.Copy, experiments.Service.CopyToProject),
	frame.Act(http.MethodPost, "/experiments/{id}/create_exposure_cohort_for_experiment", "Create a static cohort of the people who have been exposed to an experiment", experiments.Service.CreateExposureCohort).Created().WithoutTimeout(),
	frame.Get("/experiments/{id}/exposures", "Count the calls of an experiment's flag by variant", experiments.Service.Exposures),
})

// savedMetricEndpoints are the endpoints for metrics that experiments share (experiments.md §3.9).
var savedMetricEndpoints = frame.Resource(frame.InProject, "experiment_saved_metric", func(s *frame.Server) experiments.SavedMetrics { return s.Management.Experiments.SavedMetrics }, []frame.Row[experiments.SavedMetrics]{
	frame.Paged("/experiment_saved_metrics", "List shared metrics of experiments", experiments.SavedMetrics.List),
	frame.Create("/experiment_saved_metrics", "Create a shared metric of experiments", experiments.Bodies.SavedMetric, experiments.SavedMetrics.Create).WithCheck(checksOf(savedMetricQuestions)),
	frame.Get("/experiment_saved_metrics/{id}", "Read a shared metric of experiments", experiments.SavedMetrics.Get),
	frame.Update("/experiment_saved_metrics/{id}", "Change a shared metric of experiments", "Replace a shared metric of experiments", experiments.Bodies.SavedMetric, experiments.SavedMetrics.Update).WithCheck(checksOf(savedMetricQuestions)),
	frame.Remove("/experiment_saved_metrics/{id}", "Delete a shared metric and remove it from its experiments", experiments.SavedMetrics.Delete),
})

// holdoutEndpoints are the endpoints for holdouts: groups of users who are excluded from
// experiments (experiments.md §3.10).
var holdoutEndpoints = frame.Resource(frame.InProject, "experiment", func(s *frame.Server) experiments.Holdouts { return s.Management.Experiments.Holdouts }, []frame.Row[experiments.Holdouts]{
	frame.Paged("/experiment_holdouts", "List holdouts", experiments.Holdouts.List),
	frame.Create("/experiment_holdouts", "Create a holdout", experiments.Bodies.Holdout, experiments.Holdouts.Create),
	frame.Get("/experiment_holdouts/{id}", "Read a holdout", experiments.Holdouts.Get),
	frame.Update("/experiment_holdouts/{id}", "Change a holdout and the flags of its experiments", "Replace a holdout and change the flags of its experiments", experiments.Bodies.Holdout, experiments.Holdouts.Update),
	frame.Remove("/experiment_holdouts/{id}", "Delete a holdout and remove it from its experiments and their flags", experiments.Holdouts.Delete),
})

func listExperiments(svc experiments.Service, c *frame.Call) (management.List[experiments.Experiment], error) {
	v := c.ListValues
	return svc.List(c.Ctx, c.Scope, experiments.Query{
		Page: c.Page(), Search: v.Text("search"), Status: v.Text("status"), Archived: v.Bool("archived"),
		Creators: v.Ints("created_by_id"), Flag: v.Int("feature_flag_id"), Order: v.Text("order"),
	})
}

func eligibleFlags(svc experiments.Service, c *frame.Call) (management.List[featureflags.Flag], error) {
	return svc.ListEligibleFlags(c.Ctx, c.Scope, c.ListValues.Text("search"), c.Page())
}

func runningTime(svc experiments.Service, c *frame.Call) (*experiments.RunningTime, error) {
	return svc.RunningTime(c.Ctx, c.Scope, c.Body)
}

// experimentCallEndpoints are the steps in the life of an experiment, such as launching it
// (experiments.md §3.7).
var experimentCallEndpoints = func() []frame.Endpoint {
	var rows []frame.Row[experiments.Service]
	for _, name := range slices.Sorted(maps.Keys(experiments.Calls)) {
		step := experiments.Calls[name]
		row := frame.Handle(http.MethodPost, "/experiments/{id}/"+name, step.Title, func(svc experiments.Service, c *frame.Call) (*experiments.Experiment, error) {
			return svc.Call(c.Ctx, c.Scope, c.Part("id"), name, c.Body)
		}).WithBody(step.Fields)
		row.NoTimeout = step.Queries() // queries have a time limit of their own
		rows = append(rows, row)
	}
	return frame.Resource(frame.InProject, "experiment", experimentsOf, rows)
}()

func experimentsOf(s *frame.Server) experiments.Service {
	return *s.Management.Experiments
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
