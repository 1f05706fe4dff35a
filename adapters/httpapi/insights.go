package httpapi

import "github.com/bunting-flags/bunting/management"

// insightEndpoints are those of insights: stored queries that are never run
// (decision 18).
var insightEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/insights", scope: "insight:read", summary: "List insights",
		query: []parameterDoc{{"search", "string", "a part of name or description"}},
		gives: management.List[management.Insight]{},
		do: func(c *call) (any, error) {
			return c.service.Insights.List(c.ctx, c.standing, c.query().Get("search"), c.page())
		},
	},
	{
		method: "POST", area: inProject, path: "/insights", scope: "insight:write", summary: "Make an insight",
		takes: management.InsightFields, status: 201, gives: management.Insight{},
		do: func(c *call) (any, error) { return c.service.Insights.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inProject, path: "/insights/{id}", scope: "insight:read", summary: "Read an insight",
		gives: management.Insight{},
		do:    func(c *call) (any, error) { return c.service.Insights.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/insights/{id}", scope: "insight:write", summary: "Change an insight, delete it softly or bring it back",
		takes: management.InsightFields, gives: management.Insight{}, do: updateInsight,
	},
	{
		method: "PUT", area: inProject, path: "/insights/{id}", scope: "insight:write", summary: "Change an insight",
		takes: management.InsightFields, gives: management.Insight{}, do: updateInsight,
	},
	{
		method: "DELETE", area: inProject, path: "/insights/{id}", scope: "insight:write", summary: "Delete an insight softly",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.Insights.Delete(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "POST", area: inProject, path: "/insights/{id}/duplicate", scope: "insight:write", summary: "Copy an insight",
		status: 201, gives: management.Insight{},
		do: func(c *call) (any, error) { return c.service.Insights.Duplicate(c.ctx, c.standing, c.part("id")) },
	},
}

func updateInsight(c *call) (any, error) {
	return c.service.Insights.Update(c.ctx, c.standing, c.part("id"), c.body)
}
