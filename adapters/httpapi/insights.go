package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// insightEndpoints are those of insights: stored queries that are never run
// (decision 18).
var insightEndpoints = resource(inProject, "insight", func(s *server) management.Insights { return s.Management.Insights }, []row[management.Insights]{
	by(http.MethodGet, "/insights", "List insights", listInsights),
	create("/insights", "Make an insight", management.InsightFields, management.Insights.Create),
	get("/insights/{id}", "Read an insight", management.Insights.Get),
	patch("/insights/{id}", "Change an insight, delete it softly or bring it back", "Change an insight", management.InsightFields, management.Insights.Update),
	by(http.MethodDelete, "/insights/{id}", "Refused: insights are deleted softly, with PATCH", refuseDeletion[management.Insights]).answering(http.StatusMethodNotAllowed),
	act(http.MethodPost, "/insights/{id}/duplicate", "Copy an insight", management.Insights.Duplicate).created(),
})

func listInsights(of management.Insights, c *call) (management.List[management.Insight], error) {
	v := c.listed
	q := management.InsightQuery{
		Page: c.page(), Saved: v.Either("saved"), Favorited: v.Bool("favorited"), Mine: v.Bool("user"), Creators: v.Ints("created_by"),
		Tags: v.Texts("tags"), Dashboards: v.Ints("dashboards"), Search: v.Text("search"), Kind: v.Text("insight"), Order: v.Text("order"),
		Changed: management.Between{From: v.Time("date_from"), To: v.Time("date_to")},
		Made:    management.Between{From: v.Time("created_date_from"), To: v.Time("created_date_to")},
	}
	management.SetNull(v, "short_id", &q.ShortID)
	return of.List(c.ctx, c.standing, q)
}
