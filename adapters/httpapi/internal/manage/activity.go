package manage

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// defaultActivityPage is the number of entries on a page of the activity log if the request has no
// limit (§5.11).
const defaultActivityPage = 10

// maxActivityPage is the largest page number; all pages beyond it are empty.
const maxActivityPage = management.MaxScan

// activityQuery documents the query parameters of activity logs.
var activityQuery = []frame.Parameter{
	frame.Param("limit", "integer", "entries per page, 10 by default, at most 1000"),
	frame.Param("page", "integer", "page number, 1 by default"),
}

// activityBody is the response with a page of the activity log (§5.11).
type activityBody struct {
	Results  []management.Activity `json:"results"`
	Next     *string               `json:"next"`
	Previous *string               `json:"previous"`
	Total    int                   `json:"total_count"`
}

// activityEndpoints are the endpoints for the activity log of a project.
var activityEndpoints = frame.Resource(frame.InProject, "activity_log", managementOf, []frame.Row[*rooms.Rooms]{
	frame.Handle(http.MethodGet, "/activity_log", "Read the activity log of a project", activityLog).WithQuery(activityQuery...),
})

// flagActivityEndpoints are the endpoints for the activity logs of flags of a project.
var flagActivityEndpoints = frame.Resource(frame.InProject, "activity_log", managementOf, []frame.Row[*rooms.Rooms]{
	frame.Handle(http.MethodGet, "/feature_flags/activity", "List changes to feature flags", activityOf("FeatureFlag")).WithQuery(activityQuery...),
	frame.Handle(http.MethodGet, "/feature_flags/{id}/activity", "List changes to a feature flag", flagActivity).WithQuery(activityQuery...),
})

// cohortActivityEndpoints are the endpoints for the activity logs of cohorts of a project.
var cohortActivityEndpoints = frame.Resource(frame.InProject, "activity_log", managementOf, []frame.Row[*rooms.Rooms]{
	frame.Handle(http.MethodGet, "/cohorts/activity", "List changes to cohorts", activityOf("Cohort")).WithQuery(activityQuery...),
	frame.Handle(http.MethodGet, "/cohorts/{id}/activity", "List changes to a cohort", cohortActivity).WithQuery(activityQuery...),
})

// insightActivityEndpoints are the endpoints for the activity logs of insights of a project.
var insightActivityEndpoints = frame.Resource(frame.InProject, "activity_log", managementOf, []frame.Row[*rooms.Rooms]{
	frame.Handle(http.MethodGet, "/insights/activity", "List changes to insights", activityOf("Insight")).WithQuery(activityQuery...),
	frame.Handle(http.MethodGet, "/insights/{id}/activity", "List changes to an insight", insightActivity).WithQuery(activityQuery...),
})

// organizationActivityEndpoints are the endpoints for the activity log of an organization.
var organizationActivityEndpoints = frame.Resource(frame.InOrganization, "activity_log", managementOf, []frame.Row[*rooms.Rooms]{
	frame.Handle(http.MethodGet, "/activity_log", "Read the activity log of an organization", activityLog).WithQuery(activityQuery...),
})

func managementOf(s *frame.Server) *rooms.Rooms { return s.Management }

// activityOf returns a handler for the activity log of all objects of a kind.
func activityOf(kind string) func(*rooms.Rooms, *frame.Call) (activityBody, error) {
	return func(svc *rooms.Rooms, c *frame.Call) (activityBody, error) {
		return activityPage(svc, c, management.ActivityQuery{Scopes: []string{kind}})
	}
}

func flagActivity(svc *rooms.Rooms, c *frame.Call) (activityBody, error) {
	id := flagID(c.Part("id"))
	if _, err := svc.FeatureFlags.Get(c.Ctx, c.Scope, id); err != nil {
		return activityBody{}, flagHint(*svc.FeatureFlags, c, err)
	}
	return activityPage(svc, c, management.ActivityQuery{Scopes: []string{"FeatureFlag"}, Item: strconv.FormatInt(id, 10), AccessChecked: true})
}

func cohortActivity(svc *rooms.Rooms, c *frame.Call) (activityBody, error) {
	if _, err := svc.Cohorts.Get(c.Ctx, c.Scope, c.Part("id")); err != nil {
		return activityBody{}, err
	}
	return activityPage(svc, c, management.ActivityQuery{Scopes: []string{"Cohort"}, Item: c.Part("id"), AccessChecked: true})
}

func insightActivity(svc *rooms.Rooms, c *frame.Call) (activityBody, error) {
	i, err := svc.Dashboards.Insights.Get(c.Ctx, c.Scope, c.Part("id"))
	if err != nil {
		return activityBody{}, err
	}
	return activityPage(svc, c, management.ActivityQuery{Scopes: []string{"Insight"}, Item: strconv.FormatInt(i.ID, 10)})
}

// activityPage returns the requested page of the activity log of the project or organization in
// c.scope.
func activityPage(svc *rooms.Rooms, c *frame.Call, q management.ActivityQuery) (out activityBody, err error) {
	if q.Limit, err = countParameter(c, "limit", defaultActivityPage, frame.MaxPage); err != nil {
		return out, err
	}
	if q.Page, err = countParameter(c, "page", 1, maxActivityPage); err != nil {
		return out, err
	}
	q.User = c.ListValues.Text("user")
	log, err := svc.ActivityLog(c.Ctx, c.Scope, q)
	if err != nil {
		return out, err
	}
	limit, page := q.Limit, q.Page
	link := func(to int) *string {
		return c.Link(map[string]string{"limit": strconv.Itoa(limit), "page": strconv.Itoa(to)})
	}
	out = activityBody{Results: log.Results, Total: log.Total}
	if page*limit < log.Total {
		out.Next = link(page + 1)
	}
	if page > 1 {
		out.Previous = link(page - 1)
	}
	return out, nil
}

// countParameter reads the query parameter name as an integer that counts from 1. It returns
// fallback if the parameter is absent or empty, largest if the value is larger than that, and an
// error for all other values.
func countParameter(c *frame.Call, name string, fallback, largest int) (int, error) {
	text := c.Query().Get(name)
	if text == "" {
		return fallback, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, management.Fault(name, "A valid integer is required.")
	case n < 1:
		return 0, management.CodedFault(management.CodeMinValue, name, "Ensure this value is greater than or equal to 1.")
	}
	return min(n, largest), nil
}

// activityLog returns the activity log of the project or organization in c.scope, filtered by the
// query parameters scope, scopes and item_id.
func activityLog(svc *rooms.Rooms, c *frame.Call) (activityBody, error) {
	q := management.ActivityQuery{Scopes: c.ListValues.Texts("scopes"), Item: c.ListValues.Text("item_id")}
	if scope := c.ListValues.Text("scope"); scope != "" {
		if q.Scopes != nil && !slices.Contains(q.Scopes, scope) {
			return activityBody{Results: []management.Activity{}}, nil
		}
		q.Scopes = []string{scope}
	}
	return activityPage(svc, c, q)
}
