package httpapi

import (
	"context"
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// insightEndpoints are the endpoints for insights: stored queries. The endpoints that also return
// results are in results.go.
var insightEndpoints = resource(inProject, "insight", func(s *server) dashboards.Insights { return s.Management.Dashboards.Insights }, []row[dashboards.Insights]{
	create("/insights", "Create an insight", dashboards.InsightFields, dashboards.Insights.Create).withCheck(checksOf(insightQuestions)),
	patch("/insights/{id}", "Change, soft-delete or restore an insight", "Change an insight", dashboards.InsightFields, dashboards.Insights.Update).withCheck(checksOf(insightQuestions)),
	handle(http.MethodDelete, "/insights/{id}", "Not allowed: use PATCH with deleted: true to delete an insight", refuseDeletion[dashboards.Insights]).withStatus(http.StatusMethodNotAllowed),
	read("/insights/my_last_viewed", "List the insights that the calling user viewed most recently", dashboards.Insights.Viewed),
	trendingInsights(dashboards.Insights.Trending),
	handle(http.MethodPost, "/insights/{id}/viewed", "Record that the calling user views an insight", viewInsight).withScope("insight:read").created(),
	act(http.MethodPost, "/insights/{id}/duplicate", "Copy an insight", dashboards.Insights.Duplicate).created(),
})

func listInsights(svc dashboards.Insights, c *call) (management.List[dashboards.Insight], error) {
	v := c.listValues
	q := dashboards.InsightQuery{
		Page: c.page(), Saved: v.OptionalBool("saved"), Favorited: v.Bool("favorited"), Mine: v.Bool("user"), NotOfFlags: v.Bool("hide_feature_flag_insights"), Creators: v.Ints("created_by"),
		Tags: v.Texts("tags"), Dashboards: v.Ints("dashboards"), Search: v.Text("search"), Kind: v.Text("insight"), Order: v.Text("order"),
		Changed: dashboards.TimeRange{From: v.Time("date_from"), To: v.Time("date_to")},
		Made:    dashboards.TimeRange{From: v.Time("created_date_from"), To: v.Time("created_date_to")},
		Viewed:  dashboards.TimeRange{From: v.Time("last_viewed_date_from"), To: v.Time("last_viewed_date_to")},
	}
	management.SetNull(v, "short_id", &q.ShortID)
	return svc.List(c.ctx, c.scope, q)
}

func trendingInsights[T any](do func(dashboards.Insights, context.Context, *management.Scope, int64, management.Page) (T, error)) row[dashboards.Insights] {
	return handle(http.MethodGet, "/insights/trending", "List the insights with the most viewers", func(svc dashboards.Insights, c *call) (T, error) {
		return do(svc, c.ctx, c.scope, c.listValues.Int("days"), c.page())
	})
}

func viewInsight(svc dashboards.Insights, c *call) (any, error) {
	return nil, svc.View(c.ctx, c.scope, c.part("id"))
}
