package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// insightEndpoints are those of insights: stored queries. What is read with results
// stands in results.go.
var insightEndpoints = resource(inProject, "insight", func(s *server) dashboards.Insights { return s.Management.Dashboards.Insights }, []row[dashboards.Insights]{
	create("/insights", "Make an insight", dashboards.InsightFields, dashboards.Insights.Create),
	patch("/insights/{id}", "Change an insight, delete it softly or bring it back", "Change an insight", dashboards.InsightFields, dashboards.Insights.Update),
	by(http.MethodDelete, "/insights/{id}", "Refused: insights are deleted softly, with PATCH", refuseDeletion[dashboards.Insights]).answering(http.StatusMethodNotAllowed),
	act(http.MethodPost, "/insights/{id}/duplicate", "Copy an insight", dashboards.Insights.Duplicate).created(),
})

func listInsights(of dashboards.Insights, c *call) (management.List[dashboards.Insight], error) {
	v := c.listed
	q := dashboards.InsightQuery{
		Page: c.page(), Saved: v.Either("saved"), Favorited: v.Bool("favorited"), Mine: v.Bool("user"), Creators: v.Ints("created_by"),
		Tags: v.Texts("tags"), Dashboards: v.Ints("dashboards"), Search: v.Text("search"), Kind: v.Text("insight"), Order: v.Text("order"),
		Changed: dashboards.Between{From: v.Time("date_from"), To: v.Time("date_to")},
		Made:    dashboards.Between{From: v.Time("created_date_from"), To: v.Time("created_date_to")},
	}
	management.SetNull(v, "short_id", &q.ShortID)
	return of.List(c.ctx, c.standing, q)
}
