package httpapi

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// defaultActivityPage is how many lines a page of a log of changes has when nobody
// says (§5.11).
const defaultActivityPage = 10

// maxActivityPage bounds the number of a page: beyond it there is nothing.
const maxActivityPage = management.MaxScan

// activityQuery are the parameters of a log of changes.
var activityQuery = []parameterDoc{
	{"limit", "integer", "lines a page, 10 by default, at most 1000"},
	{"page", "integer", "number of the page, 1 by default"},
}

// activityBody is the form of a log of changes (§5.11).
type activityBody struct {
	Results  []management.Activity `json:"results"`
	Next     *string               `json:"next"`
	Previous *string               `json:"previous"`
	Total    int                   `json:"total_count"`
}

// activityEndpoints are the log of changes of a project.
var activityEndpoints = resource(inProject, "activity_log", managementOf, []row[*rooms.Rooms]{
	handle(http.MethodGet, "/activity_log", "Read who changed what in a project", activityLog).withQuery(activityQuery...),
})

// flagActivityEndpoints are the logs of a project's flags and cohorts.
var flagActivityEndpoints = resource(inProject, "activity_log", managementOf, []row[*rooms.Rooms]{
	handle(http.MethodGet, "/feature_flags/activity", "List changes of feature flags", activityOf("FeatureFlag")).withQuery(activityQuery...),
	handle(http.MethodGet, "/feature_flags/{id}/activity", "List changes of a feature flag", flagActivity).withQuery(activityQuery...),
	handle(http.MethodGet, "/cohorts/activity", "List changes of cohorts", activityOf("Cohort")).withQuery(activityQuery...),
	handle(http.MethodGet, "/cohorts/{id}/activity", "List changes of a cohort", cohortActivity).withQuery(activityQuery...),
})

// insightActivityEndpoints are the logs of a project's insights.
var insightActivityEndpoints = resource(inProject, "activity_log", managementOf, []row[*rooms.Rooms]{
	handle(http.MethodGet, "/insights/activity", "List changes of insights", activityOf("Insight")).withQuery(activityQuery...),
	handle(http.MethodGet, "/insights/{id}/activity", "List changes of an insight", insightActivity).withQuery(activityQuery...),
})

// organizationActivityEndpoints are the log of an organization.
var organizationActivityEndpoints = resource(inOrganization, "activity_log", managementOf, []row[*rooms.Rooms]{
	handle(http.MethodGet, "/activity_log", "Read who changed what in an organization", activityLog).withQuery(activityQuery...),
})

func managementOf(s *server) *rooms.Rooms { return s.Management }

// activityOf is the log of all things of a kind.
func activityOf(kind string) func(*rooms.Rooms, *call) (activityBody, error) {
	return func(svc *rooms.Rooms, c *call) (activityBody, error) {
		return activityPage(svc, c, management.ActivityQuery{Scopes: []string{kind}})
	}
}

func flagActivity(svc *rooms.Rooms, c *call) (activityBody, error) {
	id := flagID(c.part("id"))
	if _, err := svc.FeatureFlags.Get(c.ctx, c.scope, id); err != nil {
		return activityBody{}, flagHint(svc.FeatureFlags.Flags, c, err)
	}
	return activityPage(svc, c, management.ActivityQuery{Scopes: []string{"FeatureFlag"}, Item: strconv.FormatInt(id, 10), AccessChecked: true})
}

func cohortActivity(svc *rooms.Rooms, c *call) (activityBody, error) {
	if _, err := svc.FeatureFlags.Cohorts.Get(c.ctx, c.scope, c.part("id")); err != nil {
		return activityBody{}, err
	}
	return activityPage(svc, c, management.ActivityQuery{Scopes: []string{"Cohort"}, Item: c.part("id"), AccessChecked: true})
}

func insightActivity(svc *rooms.Rooms, c *call) (activityBody, error) {
	i, err := svc.Dashboards.Insights.Get(c.ctx, c.scope, c.part("id"))
	if err != nil {
		return activityBody{}, err
	}
	return activityPage(svc, c, management.ActivityQuery{Scopes: []string{"Insight"}, Item: strconv.FormatInt(i.ID, 10)})
}

// activityPage is a page of the log of what the call is in: the project or the
// organization.
func activityPage(svc *rooms.Rooms, c *call, q management.ActivityQuery) (out activityBody, err error) {
	if q.Limit, err = c.countParameter("limit", defaultActivityPage, maxPage); err != nil {
		return out, err
	}
	if q.Page, err = c.countParameter("page", 1, maxActivityPage); err != nil {
		return out, err
	}
	q.User = c.listValues.Text("user")
	log, err := svc.ActivityLog(c.ctx, c.scope, q)
	if err != nil {
		return out, err
	}
	limit, page := q.Limit, q.Page
	link := func(to int) *string {
		return c.link(map[string]string{"limit": strconv.Itoa(limit), "page": strconv.Itoa(to)})
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

// countParameter reads a parameter that counts from 1: one that is absent is the
// default, one that is too large the largest, and all others are errors.
func (c *call) countParameter(name string, fallback, largest int) (int, error) {
	text := c.query().Get(name)
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

// activityLog is the log of a project or an organization.
func activityLog(svc *rooms.Rooms, c *call) (activityBody, error) {
	q := management.ActivityQuery{Scopes: c.listValues.Texts("scopes"), Item: c.listValues.Text("item_id")}
	if scope := c.listValues.Text("scope"); scope != "" {
		if q.Scopes != nil && !slices.Contains(q.Scopes, scope) {
			return activityBody{Results: []management.Activity{}}, nil
		}
		q.Scopes = []string{scope}
	}
	return activityPage(svc, c, q)
}
