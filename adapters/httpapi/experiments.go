package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// experimentEndpoints are those of §5.7, and the counts of exposures.
var experimentEndpoints = resource(inProject, "experiment", func(s *server) management.Experiments { return s.Management.Experiments }, []row[management.Experiments]{
	by(http.MethodGet, "/experiments", "List experiments", listExperiments),
	create("/experiments", "Make an experiment and its flag", management.ExperimentFields, management.Experiments.Create),
	get("/experiments/{id}", "Read an experiment", management.Experiments.Get),
	update("/experiments/{id}", "Change an experiment", "Replace an experiment", management.ExperimentFields, management.Experiments.Update),
	remove("/experiments/{id}", "Remove an experiment; its flag stays", management.Experiments.Delete),
	get("/experiments/{id}/exposures", "Count the calls of an experiment's flag by variant", management.Experiments.Exposures),
})

func listExperiments(of management.Experiments, c *call) (management.List[management.Experiment], error) {
	v := c.listed
	return of.List(c.ctx, c.standing, management.ExperimentQuery{
		Page: c.page(), Search: v.Text("search"), Status: v.Text("status"), Archived: v.Bool("archived"),
		Creators: v.Ints("created_by_id"), Flag: v.Int("feature_flag_id"), Order: v.Text("order"),
	})
}
