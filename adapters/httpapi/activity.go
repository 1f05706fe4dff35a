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
	by(http.MethodGet, "/activity_log", "Read who changed what in a project", activityLog).asking(activityQuery...),
})

// flagActivityEndpoints are the logs of a project's flags and cohorts.
var flagActivityEndpoints = resource(inProject, "activity_log", managementOf, []row[*rooms.Rooms]{
	by(http.MethodGet, "/feature_flags/activity", "List changes of feature flags", activityOf("FeatureFlag")).asking(activityQuery...),
	by(http.MethodGet, "/feature_flags/{id}/activity", "List changes of a feature flag", flagActivity).asking(activityQuery...),
	by(http.MethodGet, "/cohorts/activity", "List changes of cohorts", activityOf("Cohort")).asking(activityQuery...),
	by(http.MethodGet, "/cohorts/{id}/activity", "List changes of a cohort", cohortActivity).asking(activityQuery...),
})

// insightActivityEndpoints are the logs of a project's insights.
var insightActivityEndpoints = resource(inProject, "activity_log", managementOf, []row[*rooms.Rooms]{
	by(http.MethodGet, "/insights/activity", "List changes of insights", activityOf("Insight")).asking(activityQuery...),
	by(http.MethodGet, "/insights/{id}/activity", "List changes of an insight", insightActivity).asking(activityQuery...),
})

// organizationActivityEndpoints are the log of an organization.
var organizationActivityEndpoints = resource(inOrganization, "activity_log", managementOf, []row[*rooms.Rooms]{
	by(http.MethodGet, "/activity_log", "Read who changed what in an organization", activityLog).asking(activityQuery...),
})

func managementOf(s *server) *rooms.Rooms { return s.Management }

// activityOf is the log of all things of a kind.
func activityOf(kind string) func(*rooms.Rooms, *call) (activityBody, error) {
	return func(of *rooms.Rooms, c *call) (activityBody, error) {
		return activityPage(of, c, management.ActivityQuery{Scopes: []string{kind}})
	}
}

func flagActivity(of *rooms.Rooms, c *call) (activityBody, error) {
	id := flagID(c.part("id"))
	if _, err := of.FeatureFlags.Get(c.ctx, c.standing, id); err != nil {
		return activityBody{}, flagHint(of.FeatureFlags.Flags, c, err)
	}
	return activityPage(of, c, management.ActivityQuery{Scopes: []string{"FeatureFlag"}, Item: strconv.FormatInt(id, 10), Allowed: true})
}

func cohortActivity(of *rooms.Rooms, c *call) (activityBody, error) {
	if _, err := of.FeatureFlags.Cohorts.Get(c.ctx, c.standing, c.part("id")); err != nil {
		return activityBody{}, err
	}
	return activityPage(of, c, management.ActivityQuery{Scopes: []string{"Cohort"}, Item: c.part("id"), Allowed: true})
}

func insightActivity(of *rooms.Rooms, c *call) (activityBody, error) {
	i, err := of.Dashboards.Insights.Get(c.ctx, c.standing, c.part("id"))
	if err != nil {
		return activityBody{}, err
	}
	return activityPage(of, c, management.ActivityQuery{Scopes: []string{"Insight"}, Item: strconv.FormatInt(i.ID, 10)})
}

// activityPage is a page of the log of what the call is in: the project or the
// organization.
func activityPage(of *rooms.Rooms, c *call, q management.ActivityQuery) (out activityBody, err error) {
	if q.Limit, err = c.counting("limit", defaultActivityPage, maxPage); err != nil {
		return out, err
	}
	if q.Page, err = c.counting("page", 1, maxActivityPage); err != nil {
		return out, err
	}
	q.User = c.listed.Text("user")
	log, err := of.ActivityLog(c.ctx, c.standing, q)
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

// counting reads a parameter that counts from 1: one that is absent is the
// default, one that is too large the largest, and all others are errors.
func (c *call) counting(name string, unless, largest int) (int, error) {
	text := c.query().Get(name)
	if text == "" {
		return unless, nil
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, management.Fault(name, "A valid integer is required.")
	case n < 1:
		return 0, management.Coded(management.CodeMinValue, name, "Ensure this value is greater than or equal to 1.")
	}
	return min(n, largest), nil
}

// activityLog is the log of a project or an organization.
func activityLog(of *rooms.Rooms, c *call) (activityBody, error) {
	q := management.ActivityQuery{Scopes: c.listed.Texts("scopes"), Item: c.listed.Text("item_id")}
	if scope := c.listed.Text("scope"); scope != "" {
		if q.Scopes != nil && !slices.Contains(q.Scopes, scope) {
			return activityBody{Results: []management.Activity{}}, nil
		}
		q.Scopes = []string{scope}
	}
	return activityPage(of, c, q)
}
