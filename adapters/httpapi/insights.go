package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// insightEndpoints are those of insights: stored queries that are never run
// (decision 18).
var insightEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/insights", scope: "insight:read", summary: "List insights",
		gives: management.List[management.Insight]{}, do: listInsights,
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
		method: "DELETE", area: inProject, path: "/insights/{id}", scope: "insight:write", summary: "Refused: insights are deleted softly, with PATCH",
		status: http.StatusMethodNotAllowed, do: refuseDeletion,
	},
	{
		method: "POST", area: inProject, path: "/insights/{id}/duplicate", scope: "insight:write", summary: "Copy an insight",
		status: 201, gives: management.Insight{},
		do: func(c *call) (any, error) { return c.service.Insights.Duplicate(c.ctx, c.standing, c.part("id")) },
	},
}

func listInsights(c *call) (any, error) {
	v := c.listed
	q := management.InsightQuery{
		Page: c.page(), Saved: v.Either("saved"), Favorited: v.Bool("favorited"), Mine: v.Bool("user"), Creators: v.Ints("created_by"),
		Tags: v.Texts("tags"), Dashboards: v.Ints("dashboards"), Search: v.Text("search"), Kind: v.Text("insight"), Order: v.Text("order"),
		Changed: management.Between{From: v.Time("date_from"), To: v.Time("date_to")},
		Made:    management.Between{From: v.Time("created_date_from"), To: v.Time("created_date_to")},
	}
	management.SetNull(v, "short_id", &q.ShortID)
	return c.service.Insights.List(c.ctx, c.standing, q)
}

func updateInsight(c *call) (any, error) {
	return c.service.Insights.Update(c.ctx, c.standing, c.part("id"), c.body)
}
