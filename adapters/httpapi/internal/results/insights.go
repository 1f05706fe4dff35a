package results

import (
	"context"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// insightEndpoints are the endpoints for insights: stored queries. The endpoints that also return
// results are in results.go.
var insightEndpoints = frame.Resource(frame.InProject, "insight", func(s *frame.Server) dashboards.Insights { return s.Management.Dashboards.Insights }, []frame.Row[dashboards.Insights]{
	frame.Create("/insights", "Create an insight", dashboards.Bodies.Insight, dashboards.Insights.Create).WithCheck(checksOf(insightQuestions)),
	frame.Patch("/insights/{id}", "Change, soft-delete or restore an insight", "Change an insight", dashboards.Bodies.Insight, dashboards.Insights.Update).WithCheck(checksOf(insightQuestions)),
	frame.Handle(http.MethodDelete, "/insights/{id}", "Not allowed: use PATCH with deleted: true to delete an insight", frame.RefuseDeletion[dashboards.Insights]).WithStatus(http.StatusMethodNotAllowed),
	frame.Read("/insights/my_last_viewed", "List the insights that the calling user viewed most recently", dashboards.Insights.Viewed),
	trendingInsights(dashboards.Insights.Trending),
	frame.Handle(http.MethodPost, "/insights/{id}/viewed", "Record that the calling user views an insight", viewInsight).WithScope("insight:read").Created(),
	frame.Act(http.MethodPost, "/insights/{id}/duplicate", "Copy an insight", dashboards.Insights.Duplicate).Created(),
})

func listInsights(svc dashboards.Insights, c *frame.Call) (management.List[dashboards.Insight], error) {
	v := c.ListValues
	q := dashboards.InsightQuery{
		Page: c.Page(), Saved: v.OptionalBool("saved"), Favorited: v.Bool("favorited"), Mine: v.Bool("user"), NotOfFlags: v.Bool("hide_feature_flag_insights"), Creators: v.Ints("created_by"),
		Tags: v.Texts("tags"), Dashboards: v.Ints("dashboards"), Search: v.Text("search"), Kind: v.Text("insight"), Order: v.Text("order"),
		Changed: dashboards.TimeRange{From: v.Time("date_from"), To: v.Time("date_to")},
		Made:    dashboards.TimeRange{From: v.Time("created_date_from"), To: v.Time("created_date_to")},
		Viewed:  dashboards.TimeRange{From: v.Time("last_viewed_date_from"), To: v.Time("last_viewed_date_to")},
	}
	management.SetNull(v, "short_id", &q.ShortID)
	return svc.List(c.Ctx, c.Scope, q)
}

func trendingInsights[T any](do func(dashboards.Insights, context.Context, *management.Scope, int64, management.Page) (T, error)) frame.Row[dashboards.Insights] {
	return frame.Handle(http.MethodGet, "/insights/trending", "List the insights with the most viewers", func(svc dashboards.Insights, c *frame.Call) (T, error) {
		return do(svc, c.Ctx, c.Scope, c.ListValues.Int("days"), c.Page())
	})
}

func viewInsight(svc dashboards.Insights, c *frame.Call) (any, error) {
	return nil, svc.View(c.Ctx, c.Scope, c.Part("id"))
}
