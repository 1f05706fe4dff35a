package httpapi

import "github.com/bunting-flags/bunting/management"

// experimentEndpoints are those of §5.7, and the counts of exposures.
var experimentEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/experiments", scope: "experiment:read", summary: "List experiments",
		gives: management.List[management.Experiment]{},
		do: func(c *call) (any, error) {
			return c.service.Experiments.List(c.ctx, c.standing, management.ExperimentQuery{
				Page: c.page(), Search: c.listed.Text("search"), Status: c.listed.Text("status"), Archived: c.listed.Bool("archived"),
				Creators: c.listed.Ints("created_by_id"), Flag: c.listed.Int("feature_flag_id"), Order: c.listed.Text("order"),
			})
		},
	},
	{
		method: "POST", area: inProject, path: "/experiments", scope: "experiment:write", summary: "Make an experiment and its flag",
		takes: management.ExperimentFields, status: 201, gives: management.Experiment{},
		do: func(c *call) (any, error) { return c.service.Experiments.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inProject, path: "/experiments/{id}", scope: "experiment:read", summary: "Read an experiment",
		gives: management.Experiment{},
		do:    func(c *call) (any, error) { return c.service.Experiments.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/experiments/{id}", scope: "experiment:write", summary: "Change an experiment",
		takes: management.ExperimentFields, gives: management.Experiment{}, do: updateExperiment,
	},
	{
		method: "PUT", area: inProject, path: "/experiments/{id}", scope: "experiment:write", summary: "Replace an experiment",
		takes: management.ExperimentFields, gives: management.Experiment{}, do: updateExperiment,
	},
	{
		method: "DELETE", area: inProject, path: "/experiments/{id}", scope: "experiment:write", summary: "Remove an experiment; its flag stays",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.Experiments.Delete(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "GET", area: inProject, path: "/experiments/{id}/exposures", scope: "experiment:read", summary: "Count the calls of an experiment's flag by variant",
		gives: management.Exposures{},
		do:    func(c *call) (any, error) { return c.service.Experiments.Exposures(c.ctx, c.standing, c.part("id")) },
	},
}

func updateExperiment(c *call) (any, error) {
	return c.service.Experiments.Update(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}
