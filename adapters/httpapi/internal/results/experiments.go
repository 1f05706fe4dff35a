package results

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// experimentEndpoints are the endpoints of §5.7, and the counts of exposures.
var experimentEndpoints = frame.Resource(frame.InProject, "experiment", experimentsOf, []frame.Row[featureflags.Experiments]{
	frame.Handle(http.MethodGet, "/experiments", "List experiments", listExperiments),
	frame.Create("/experiments", "Create an experiment and its flag", featureflags.ExperimentFields, featureflags.Experiments.Create).WithCheck(checksOf(experimentQuestions)),
	frame.Handle(http.MethodPost, "/experiments/calculate_running_time", "Calculate the recommended sample size and running time of an experiment", runningTime).WithScope("experiment:read").WithBody(featureflags.RunningTimeFields),
	frame.Handle(http.MethodGet, "/experiments/eligible_feature_flags", "List the flags that experiments can use", eligibleFlags),
	frame.Paged("/experiments/requires_flag_implementation", "List running experiments whose flags have not been called", featureflags.Experiments.ListWithoutCalls),
	frame.Read("/experiments/stats", "Count the experiments of the last 60 days", featureflags.Experiments.Stats),
	frame.Get("/experiments/{id}", "Read an experiment", featureflags.Experiments.Get),
	frame.Update("/experiments/{id}", "Change an experiment", "Replace an experiment", featureflags.ExperimentFields, featureflags.Experiments.Update).WithCheck(checksOf(experimentQuestions)),
	frame.Handle(http.MethodDelete, "/experiments/{id}", "Not allowed: use PATCH with deleted: true to delete an experiment", frame.RefuseDeletion[featureflags.Experiments]).WithStatus(http.StatusMethodNotAllowed),
	frame.Add("/experiments/{id}/duplicate", "Duplicate an experiment as a draft", featureflags.DuplicateFields, featureflags.Experiments.Duplicate),
	frame.Add("/experiments/{id}/copy_to_project", "Duplicate an experiment as a draft in another project", featureflags.CopyExperimentFields, featureflags.Experiments.CopyToProject),
	frame.Get("/experiments/{id}/exposures", "Count the calls of an experiment's flag by variant", featureflags.Experiments.Exposures),
})

// savedMetricEndpoints are the endpoints for metrics that experiments share (experiments.md §3.9).
var savedMetricEndpoints = frame.Resource(frame.InProject, "experiment_saved_metric", func(s *frame.Server) featureflags.SavedMetrics { return s.Management.FeatureFlags.SavedMetrics }, []frame.Row[featureflags.SavedMetrics]{
	frame.Paged("/experiment_saved_metrics", "List shared metrics of experiments", featureflags.SavedMetrics.List),
	frame.Create("/experiment_saved_metrics", "Create a shared metric of experiments", featureflags.SavedMetricFields, featureflags.SavedMetrics.Create).WithCheck(checksOf(savedMetricQuestions)),
	frame.Get("/experiment_saved_metrics/{id}", "Read a shared metric of experiments", featureflags.SavedMetrics.Get),
	frame.Update("/experiment_saved_metrics/{id}", "Change a shared metric of experiments", "Replace a shared metric of experiments", featureflags.SavedMetricFields, featureflags.SavedMetrics.Update).WithCheck(checksOf(savedMetricQuestions)),
	frame.Remove("/experiment_saved_metrics/{id}", "Delete a shared metric and remove it from its experiments", featureflags.SavedMetrics.Delete),
})

// holdoutEndpoints are the endpoints for holdouts: groups of users who are excluded from
// experiments (experiments.md §3.10).
var holdoutEndpoints = frame.Resource(frame.InProject, "experiment", func(s *frame.Server) featureflags.Holdouts { return s.Management.FeatureFlags.Holdouts }, []frame.Row[featureflags.Holdouts]{
	frame.Paged("/experiment_holdouts", "List holdouts", featureflags.Holdouts.List),
	frame.Create("/experiment_holdouts", "Create a holdout", featureflags.HoldoutFields, featureflags.Holdouts.Create),
	frame.Get("/experiment_holdouts/{id}", "Read a holdout", featureflags.Holdouts.Get),
	frame.Update("/experiment_holdouts/{id}", "Change a holdout and the flags of its experiments", "Replace a holdout and change the flags of its experiments", featureflags.HoldoutFields, featureflags.Holdouts.Update),
	frame.Remove("/experiment_holdouts/{id}", "Delete a holdout and remove it from its experiments and their flags", featureflags.Holdouts.Delete),
})

func listExperiments(svc featureflags.Experiments, c *frame.Call) (management.List[featureflags.Experiment], error) {
	v := c.ListValues
	return svc.List(c.Ctx, c.Scope, featureflags.ExperimentQuery{
		Page: c.Page(), Search: v.Text("search"), Status: v.Text("status"), Archived: v.Bool("archived"),
		Creators: v.Ints("created_by_id"), Flag: v.Int("feature_flag_id"), Order: v.Text("order"),
	})
}

func eligibleFlags(svc featureflags.Experiments, c *frame.Call) (management.List[featureflags.Flag], error) {
	return svc.ListEligibleFlags(c.Ctx, c.Scope, c.ListValues.Text("search"), c.Page())
}

func runningTime(svc featureflags.Experiments, c *frame.Call) (*featureflags.RunningTime, error) {
	return svc.RunningTime(c.Ctx, c.Scope, c.Body)
}
