package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// experimentEndpoints are the endpoints of §5.7, and the counts of exposures.
var experimentEndpoints = resource(inProject, "experiment", experimentsOf, []row[featureflags.Experiments]{
	handle(http.MethodGet, "/experiments", "List experiments", listExperiments),
	create("/experiments", "Create an experiment and its flag", featureflags.ExperimentFields, featureflags.Experiments.Create).withCheck(checksOf(experimentQuestions)),
	handle(http.MethodPost, "/experiments/calculate_running_time", "Calculate the recommended sample size and running time of an experiment", runningTime).withScope("experiment:read").withBody(featureflags.RunningTimeFields),
	handle(http.MethodGet, "/experiments/eligible_feature_flags", "List the flags that experiments can use", eligibleFlags),
	paged("/experiments/requires_flag_implementation", "List running experiments whose flags have not been called", featureflags.Experiments.ListWithoutCalls),
	read("/experiments/stats", "Count the experiments of the last 60 days", featureflags.Experiments.Stats),
	get("/experiments/{id}", "Read an experiment", featureflags.Experiments.Get),
	update("/experiments/{id}", "Change an experiment", "Replace an experiment", featureflags.ExperimentFields, featureflags.Experiments.Update).withCheck(checksOf(experimentQuestions)),
	handle(http.MethodDelete, "/experiments/{id}", "Not allowed: use PATCH with deleted: true to delete an experiment", refuseDeletion[featureflags.Experiments]).withStatus(http.StatusMethodNotAllowed),
	add("/experiments/{id}/duplicate", "Duplicate an experiment as a draft", featureflags.DuplicateFields, featureflags.Experiments.Duplicate),
	add("/experiments/{id}/copy_to_project", "Duplicate an experiment as a draft in another project", featureflags.CopyExperimentFields, featureflags.Experiments.CopyToProject),
	get("/experiments/{id}/exposures", "Count the calls of an experiment's flag by variant", featureflags.Experiments.Exposures),
})

// savedMetricEndpoints are the endpoints for metrics that experiments share (experiments.md §3.9).
var savedMetricEndpoints = resource(inProject, "experiment_saved_metric", func(s *server) featureflags.SavedMetrics { return s.Management.FeatureFlags.SavedMetrics }, []row[featureflags.SavedMetrics]{
	paged("/experiment_saved_metrics", "List shared metrics of experiments", featureflags.SavedMetrics.List),
	create("/experiment_saved_metrics", "Create a shared metric of experiments", featureflags.SavedMetricFields, featureflags.SavedMetrics.Create).withCheck(checksOf(savedMetricQuestions)),
	get("/experiment_saved_metrics/{id}", "Read a shared metric of experiments", featureflags.SavedMetrics.Get),
	update("/experiment_saved_metrics/{id}", "Change a shared metric of experiments", "Replace a shared metric of experiments", featureflags.SavedMetricFields, featureflags.SavedMetrics.Update).withCheck(checksOf(savedMetricQuestions)),
	remove("/experiment_saved_metrics/{id}", "Delete a shared metric and remove it from its experiments", featureflags.SavedMetrics.Delete),
})

// holdoutEndpoints are the endpoints for holdouts: groups of users who are excluded from
// experiments (experiments.md §3.10).
var holdoutEndpoints = resource(inProject, "experiment", func(s *server) featureflags.Holdouts { return s.Management.FeatureFlags.Holdouts }, []row[featureflags.Holdouts]{
	paged("/experiment_holdouts", "List holdouts", featureflags.Holdouts.List),
	create("/experiment_holdouts", "Create a holdout", featureflags.HoldoutFields, featureflags.Holdouts.Create),
	get("/experiment_holdouts/{id}", "Read a holdout", featureflags.Holdouts.Get),
	update("/experiment_holdouts/{id}", "Change a holdout and the flags of its experiments", "Replace a holdout and change the flags of its experiments", featureflags.HoldoutFields, featureflags.Holdouts.Update),
	remove("/experiment_holdouts/{id}", "Delete a holdout and remove it from its experiments and their flags", featureflags.Holdouts.Delete),
})

func listExperiments(svc featureflags.Experiments, c *call) (management.List[featureflags.Experiment], error) {
	v := c.listValues
	return svc.List(c.ctx, c.scope, featureflags.ExperimentQuery{
		Page: c.page(), Search: v.Text("search"), Status: v.Text("status"), Archived: v.Bool("archived"),
		Creators: v.Ints("created_by_id"), Flag: v.Int("feature_flag_id"), Order: v.Text("order"),
	})
}

func eligibleFlags(svc featureflags.Experiments, c *call) (management.List[featureflags.Flag], error) {
	return svc.ListEligibleFlags(c.ctx, c.scope, c.listValues.Text("search"), c.page())
}

func runningTime(svc featureflags.Experiments, c *call) (*featureflags.RunningTime, error) {
	return svc.RunningTime(c.ctx, c.scope, c.body)
}
