package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// experimentEndpoints are those of §5.7, and the counts of exposures.
var experimentEndpoints = resource(inProject, "experiment", experimentsOf, []row[featureflags.Experiments]{
	by(http.MethodGet, "/experiments", "List experiments", listExperiments),
	create("/experiments", "Make an experiment and its flag", featureflags.ExperimentFields, featureflags.Experiments.Create),
	by(http.MethodPost, "/experiments/calculate_running_time", "Say how many people an experiment needs, and for how long", runningTime).needs("experiment:read").taking(featureflags.RunningTimeFields),
	get("/experiments/{id}", "Read an experiment", featureflags.Experiments.Get),
	update("/experiments/{id}", "Change an experiment", "Replace an experiment", featureflags.ExperimentFields, featureflags.Experiments.Update),
	by(http.MethodDelete, "/experiments/{id}", "Refused: experiments are deleted softly, with PATCH", refuseDeletion[featureflags.Experiments]).answering(http.StatusMethodNotAllowed),
	get("/experiments/{id}/exposures", "Count the calls of an experiment's flag by variant", featureflags.Experiments.Exposures),
})

func listExperiments(of featureflags.Experiments, c *call) (management.List[featureflags.Experiment], error) {
	v := c.listed
	return of.List(c.ctx, c.standing, featureflags.ExperimentQuery{
		Page: c.page(), Search: v.Text("search"), Status: v.Text("status"), Archived: v.Bool("archived"),
		Creators: v.Ints("created_by_id"), Flag: v.Int("feature_flag_id"), Order: v.Text("order"),
	})
}

func runningTime(of featureflags.Experiments, c *call) (*featureflags.RunningTime, error) {
	return of.RunningTime(c.ctx, c.standing, c.body)
}
