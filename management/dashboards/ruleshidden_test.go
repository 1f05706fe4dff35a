package dashboards_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Access rules apply to every path to an object and to everything that shows it (clients.md §11.3).
func TestAccessRules(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"a hidden dashboard": hiddenDashboardRows, "a hidden insight": hiddenInsightRows, "what refers to it": hiddenReferenceRows,
		"a viewer of a dashboard": viewedDashboardRows, "a viewer of insights": viewedInsightRows, "a viewer of the kind": viewedKindRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, accessCalls(t, w), rows)
		})
	}
}

// accessCalls are the calls for dashboards and insights, for the objects that refer to them, and for
// access rules. "rule insight 1 cyd viewer" sets the rule of a member for an object, and "rule insight
// - - viewer" the default for all insights.
func accessCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	calls, r, ctx := dashboardCalls(t, w), w.Dashboards, t.Context()
	body := func(text string) management.Body { return ruletest.Body(t, text) }
	type callScope = *management.Scope
	add := func(name string, call func(scope callScope, path, b string) (any, error)) { calls[name] = call }
	members := map[string]string{} // read here, since the store of TestFaults fails during a call
	for _, name := range []string{"bob", "cyd"} {
		members[name] = w.Scope(t, name).Memberships[0].ID
	}
	add("rule", func(scope callScope, path, _ string) (any, error) {
		part := strings.Fields(path)
		kind, id, member, rule := part[0], part[1], part[2], `{"access_level":"`+part[3]+`"`
		if member != "-" {
			rule += `,"organization_member":"` + members[member] + `"`
		}
		if id == "-" {
			rule += `,"resource":"` + kind + `"`
			kind, id = "", ""
		}
		return w.SetControl(ctx, scope, kind, id, body(rule+"}"))
	})
	add("reorder", func(scope callScope, path, b string) (any, error) { return r.ReorderTiles(ctx, scope, path, body(b)) })
	add("view", func(scope callScope, path, _ string) (any, error) { return nil, r.Insights.View(ctx, scope, path) })
	add("viewed", func(scope callScope, _, _ string) (any, error) {
		list, err := r.Insights.Viewed(ctx, scope)
		names := []string{}
		for _, i := range list {
			names = append(names, *i.Name)
		}
		return names, err
	})
	add("trending", func(scope callScope, _, b string) (any, error) {
		q := struct {
			Days int64
			management.Page
		}{Page: management.Page{Limit: ruletest.DefaultPage}}
		ruletest.Read(t, b, &q)
		return ruletest.List(r.Insights.Trending(ctx, scope, q.Days, q.Page))
	})
	add("sharingofinsight", func(scope callScope, path, _ string) (any, error) {
		return r.Insights.Links().Sharing(ctx, scope, path)
	})
	add("shareinsight", func(scope callScope, path, b string) (any, error) {
		return r.Insights.Links().UpdateSharing(ctx, scope, path, body(b))
	})
	add("annotate", func(scope callScope, _, b string) (any, error) { return r.Annotations.Create(ctx, scope, body(b)) })
	add("annotation", func(scope callScope, path, _ string) (any, error) { return r.Annotations.Get(ctx, scope, path) })
	add("alert", func(scope callScope, _, b string) (any, error) { return r.Alerts.Create(ctx, scope, body(b)) })
	add("getalert", func(scope callScope, path, _ string) (any, error) {
		return r.Alerts.Get(ctx, scope, path, dashboards.CheckQuery{})
	})
	add("changealert", func(scope callScope, path, b string) (any, error) {
		return r.Alerts.Update(ctx, scope, path, body(b), false)
	})
	add("action", func(scope callScope, _, b string) (any, error) { return r.Actions.Create(ctx, scope, body(b)) })
	add("changeaction", func(scope callScope, path, b string) (any, error) {
		return r.Actions.Update(ctx, scope, path, body(b), false)
	})
	add("references", func(scope callScope, path, _ string) (any, error) { return r.Actions.References(ctx, scope, path) })
	return calls
}

const (
	noView      = `403 permission_denied - You do not have viewer access to this resource.`
	noEditor    = `403 permission_denied - You do not have editor access to this resource.`
	denied      = `403 permission_denied -`
	rulesHidden = "clients.md §11.3 none: missing from lists, 403 in paths"
)

var hiddenDashboardRows = rows(
	[]ruletest.Row{
		{"clients.md §11.3", "bob", "create", `{"name":"Secret","restriction_level":37}`, `{"id":1}`},
		{"clients.md §11.3", "bob", "create", `{"name":"Open"}`, `{"id":2}`},
		{"clients.md §11.3", "bob", "insight", `{"name":"I","dashboards":[2]}`, `{"dashboard_tiles":[{"id":1,"dashboard_id":2}]}`},
		{"clients.md §11.3", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `{"level":37}`},
		{"clients.md §11.3", "bob", "share 1", `{"enabled":true}`, `{"enabled":true}`},
		{"clients.md §11.3", "bob", "keep link 1", ``, `{"enabled":true}`},
		{"clients.md §11.3", "ann", "rule dashboard 1 cyd none", ``, `{"access_level":"none"}`},
		{rulesHidden, "cyd", "list", ``, `{"count":1,"results":[{"name":"Open"}]}`},
		{rulesHidden, "cyd", "get 1", ``, noView},
		{"§4.1.8 the token of its link opens it", "cyd", "sharing 1", ``, noView},
		{"§4.1.7 who edits it", "cyd", "collaborators 1", ``, noView},
		{rulesHidden, "cyd", "change 1", `{"name":"x"}`, denied},
		{rulesHidden, "cyd", "change 1", `{"deleted":false}`, denied},
		{rulesHidden, "cyd", "add 1", `{"user_uuid":"` + ruletest.UUID("gus") + `","level":37}`, denied},
		{rulesHidden, "cyd", "remove 1 " + cyd, ``, denied},
		{rulesHidden, "cyd", "share 1", `{"enabled":false}`, denied},
		{rulesHidden, "cyd", "refresh 1", ``, denied},
		{rulesHidden, "cyd", "password 1", `{"raw_password":"12345678"}`, denied},
		{rulesHidden, "cyd", "droppassword 1 " + cyd, ``, denied},
		{rulesHidden, "cyd", "reorder 1", `{"tile_order":[]}`, denied},
		{rulesHidden, "cyd", "move 1", `{"tile":{"id":1},"toDashboard":2}`, denied},
		{"§4.1.6 edit permission on both dashboards", "cyd", "move 2", `{"tile":{"id":1},"toDashboard":1}`, noEditor},
		{"clients.md §3.2", "cyd", "changeinsight <I>", `{"dashboards":[1,2]}`, `403 permission_denied - You don't have permission to add insights to dashboard: 1`},
		{"§4.1.3 as one that is not there", "cyd", "create", `{"use_dashboard":1}`, `400 invalid_input use_dashboard Invalid value provided`},
		{"clients.md §11.3 another project's: 404", "dan", "sharing 1", ``, `404 not_found - Dashboard not found.`},
		{"clients.md §11.3 another project's: 404", "dan", "collaborators 1", ``, `404 not_found - Dashboard not found.`},
		{"clients.md §11.2 its creator", "bob", "get 1", ``, `{"name":"Secret","is_shared":true,"user_access_level":"manager","tiles":[]}`},
		{"clients.md §11.2 an administrator", "gus", "collaborators 1", ``, `[{"user":{"first_name":"cyd"}}]`},
		{"§4.1.8 rules are about members; who has the link is none", "-", "open link", ``, `{"dashboard":{"name":"Secret"}}`},
	},
)

var hiddenInsightRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "create", `{"name":"D"}`, `{"id":1}`},
	{"clients.md §11.3", "bob", "insight => it", `{"name":"Inside","query":{"kind":"TrendsQuery"},"tags":["t"],"saved":true,"dashboards":[1]}`, `{"dashboards":[1]}`},
	{"clients.md §11.3", "cyd", "view <it>", ``, `null`},
	{"clients.md §11.3", "cyd", "viewed", ``, `["Inside"]`},
	{"clients.md §11.3", "ann", "rule insight <it> cyd none", ``, `{"access_level":"none"}`},
	{rulesHidden, "cyd", "getinsight <it>", ``, noView},
	{rulesHidden, "cyd", "getinsight <it.short_id>", ``, noView},
	{rulesHidden, "cyd", "names", ``, `[]`},
	{rulesHidden, "cyd", "names", `{"ShortID":"<it.short_id>"}`, `[]`},
	{rulesHidden, "cyd", "names", `{"Dashboards":[1]}`, `[]`},
	{rulesHidden, "cyd", "changeinsight <it>", `{"name":"x"}`, noEditor},
	{rulesHidden, "cyd", "view <it>", ``, noView},
	{"a copy would show its query", "cyd", "duplicate <it>", ``, noView},
	{"a copy would show its query", "cyd", "duplicate <it.short_id>", ``, noView},
	{"a copy would show its query", "cyd", "create", `{"use_dashboard":1,"duplicate_tiles":true}`, `{"id":2,"tiles":[]}`},
	{"a copy would show its query", "cyd", "change 1", `{"duplicate_tiles":[{"id":1}]}`, `{"tiles":[]}`},
	{"nothing was copied", "bob", "insights", ``, `{"count":1,"results":[{"id":<it>,"dashboards":[1]}]}`},
	{"its link would show it", "cyd", "sharingofinsight <it>", ``, noView},
	{"its link would show it", "cyd", "shareinsight <it>", `{"enabled":true}`, denied},
	{"of those that were viewed", "cyd", "viewed", ``, `[]`},
	{"of those that many view", "cyd", "trending", ``, `{"count":0}`},
	{"of those that many view", "bob", "trending", ``, `{"count":1,"results":[{"name":"Inside","view_count":1}]}`},
	{"its tile", "cyd", "get 1", ``, `{"tiles":[]}`},
	{"its tile", "bob", "get 1", ``, `{"tiles":[{"id":1,"insight":{"name":"Inside"}}]}`},
	{"clients.md §11.3 a kind at none with rows for single objects: only these are visible", "ann", "rule insight - - none", ``, `{"access_level":"none"}`},
	{"only these are visible", "ann", "rule insight <it> cyd viewer", ``, `{"access_level":"viewer"}`},
	{"only these are visible", "bob", "insight", `{"name":"Other"}`, noEditor},
	{"only these are visible", "gus", "insight", `{"name":"Other"}`, `{"name":"Other"}`},
	{"only these are visible", "cyd", "names", ``, `["Inside"]`},
	{"only these are visible", "cyd", "getinsight <Other>", ``, noView},
}

// hiddenReferenceRows are about objects that show the name or the id of an insight or a dashboard.
var hiddenReferenceRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "create", `{"name":"Board"}`, `{"id":1}`},
	{"clients.md §11.3", "bob", "action", `{"name":"A"}`, `{"id":1}`},
	{"clients.md §11.3", "bob", "insight => it", `{"name":"Inside","derived_name":"Clicks","query":{"kind":"TrendsQuery","series":[{"kind":"ActionsNode","id":1}]}}`, `{"name":"Inside"}`},
	{"clients.md §11.3", "bob", "annotate", `{"dashboard_item":<it>,"dashboard_id":1}`, `{"id":1}`},
	{"clients.md §6 names of what it is on", "cyd", "annotation 1", ``, `{"dashboard_item":<it>,"insight_short_id":"<it.short_id>","insight_name":"Inside","insight_derived_name":"Clicks","dashboard_name":"Board"}`},
	{"clients.md §9.1", "bob", "alert => alarm", `{"name":"N","insight":"<it.short_id>","subscribed_users":[],"threshold":{"configuration":{"type":"absolute","bounds":{}}}}`, `{"insight":{"name":"Inside"}}`},
	{"clients.md §5.1 references", "cyd", "references 1", ``, `[{"type":"insight","id":<it>,"name":"Inside"}]`},
	{"clients.md §11.3", "ann", "rule insight <it> cyd none", ``, `{"access_level":"none"}`},
	{"clients.md §11.3", "ann", "rule dashboard 1 cyd none", ``, `{"access_level":"none"}`},
	{"an annotation", "cyd", "annotation 1", ``, `{"id":1,"dashboard_item":null,"insight_short_id":null,"insight_name":null,"insight_derived_name":null,"dashboard_name":null}`},
	{"an alert", "cyd", "getalert <alarm>", ``, `{"name":"N","insight":null}`},
	{"clients.md §9.2 an alert on it, as on another project's", "cyd", "changealert <alarm>", `{"insight":<it>}`, `400 invalid_input insight This insight does not belong to your team.`},
	{"clients.md §9.2 an alert on it, as on another project's", "cyd", "alert", `{"name":"M","insight":<it>,"subscribed_users":[],"threshold":{"configuration":{"type":"absolute","bounds":{}}}}`, `400 invalid_input insight This insight does not belong to your team.`},
	{"an action's references", "cyd", "references 1", ``, `[]`},
	{"an action's references", "bob", "references 1", ``, `[{"type":"insight","id":<it>,"name":"Inside"}]`},
	{"others still see it all", "bob", "annotation 1", ``, `{"insight_name":"Inside","dashboard_name":"Board"}`},
	{"others still see it all", "bob", "getalert <alarm>", ``, `{"insight":{"name":"Inside"}}`},
}

var viewedDashboardRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "create", `{"name":"Board"}`, `{"id":1}`},
	{"clients.md §11.3", "bob", "insight => it", `{"name":"I","dashboards":[1]}`, `{"dashboards":[1]}`},
	{"clients.md §11.3", "ann", "rule dashboard 1 - viewer", ``, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewer: reads; effective_privilege_level follows", "cyd", "get 1", ``, `{"user_access_level":"viewer","restriction_level":21,"effective_restriction_level":21,"effective_privilege_level":21}`},
	{"clients.md §11.3 viewer: reads", "cyd", "sharing 1", ``, `{"enabled":false}`},
	{"clients.md §11.3 viewer: reads", "cyd", "collaborators 1", ``, `[]`},
	{"clients.md §11.3 403 on writes", "cyd", "change 1", `{"name":"x"}`, noEditor},
	{"clients.md §11.3 403 on writes", "cyd", "reorder 1", `{"tile_order":[1]}`, noEditor},
	{"clients.md §11.3 403 on writes", "cyd", "password 1", `{"raw_password":"12345678"}`, noEditor},
	{"clients.md §11.3 403 on writes", "cyd", "remove 1 " + cyd, ``, noEditor},
	{"clients.md §11.3 a copy is one's own", "cyd", "create", `{"use_dashboard":1}`, `{"id":2,"user_access_level":"manager","tiles":[{"insight":{"name":"I"}}]}`},
	{"clients.md §11.2 the creator", "bob", "change 1", `{"restriction_level":37}`, `{"effective_privilege_level":37}`},
	{"clients.md §11.3 editor and what restriction_level asks", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `{"level":37}`},
	{"clients.md §11.3 a collaborator who may only view", "cyd", "change 1", `{"name":"x"}`, noEditor},
	{"clients.md §11.3 a collaborator who may only view", "cyd", "get 1", ``, `{"effective_privilege_level":21}`},
	{"clients.md §11.3 a manager who is no collaborator", "bob", "remove 1 " + cyd, ``, `null`},
	{"clients.md §11.3 a manager who is no collaborator", "ann", "rule dashboard 1 cyd manager", ``, `{"access_level":"manager"}`},
	{"clients.md §11.3 a manager who is no collaborator", "cyd", "change 1", `{"name":"x"}`, noEdit},
	{"clients.md §11.3 a manager who is no collaborator", "cyd", "get 1", ``, `{"user_access_level":"manager","effective_privilege_level":21}`},
}

var viewedInsightRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "create", `{"name":"Board"}`, `{"id":1}`},
	{"clients.md §11.3", "bob", "insight => it", `{"name":"I","query":{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}]},"dashboards":[1]}`, `{"dashboards":[1]}`},
	{"clients.md §11.3", "ann", "rule insight <it> cyd viewer", ``, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewer: reads", "cyd", "getinsight <it>", ``, `{"user_access_level":"viewer","effective_restriction_level":21,"effective_privilege_level":21}`},
	{"clients.md §11.3 viewer: reads", "cyd", "view <it>", ``, `null`},
	{"clients.md §11.3 viewer: reads", "cyd", "sharingofinsight <it>", ``, `{"enabled":false}`},
	{"clients.md §11.3 a copy is one's own", "cyd", "duplicate <it>", ``, `{"name":"I (Copy)","user_access_level":"manager","effective_privilege_level":37}`},
	{"clients.md §11.3 403 on writes", "cyd", "changeinsight <it>", `{"favorited":true}`, noEditor},
	{"clients.md §11.3 403 on writes", "cyd", "changeinsight <it>", `{"deleted":true}`, noEditor},
	{"clients.md §11.3 403 on writes", "cyd", "changeinsight <it>", `{"dashboards":[]}`, noEditor},
	{"clients.md §11.3 403 on writes", "cyd", "shareinsight <it>", `{"enabled":true}`, noEditor},
	{"§4.1.5 nor with its dashboard", "cyd", "change 1", `{"deleted":true,"delete_insights":true}`, noEditor},
	{"§4.1.5 and the dashboard stays too", "cyd", "get 1", ``, `{"deleted":false,"tiles":[{"insight":{"name":"I"}}]}`},
	{"§4.1.5 without the insight", "cyd", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.1.5 nor brought back with it", "bob", "changeinsight <it>", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.1.5 nor brought back with it", "cyd", "change 1", `{"deleted":false}`, noEditor},
	{"§4.1.5 nor brought back with it", "bob", "change 1", `{"deleted":false}`, `{"tiles":[{"insight":{"name":"I"}}]}`},
	{"clients.md §9.1 an alert does not change it", "cyd", "alert", `{"name":"N","insight":<it>,"subscribed_users":[],"threshold":{"configuration":{"type":"absolute","bounds":{}}}}`, `{"insight":{"name":"I"}}`},
}

// To create an object, a user must be editor of its kind (clients.md §11.2, README).
var viewedKindRows = rows(
	[]ruletest.Row{
		{"clients.md §11.2", "bob", "create", `{"name":"Board"}`, `{"id":1}`},
		{"clients.md §11.2", "bob", "insight => it", `{"name":"I","dashboards":[1]}`, `{"dashboards":[1]}`},
		{"clients.md §11.2", "ann", "rule insight - - viewer", ``, `{"access_level":"viewer"}`},
		{"clients.md §11.2 a new one", "cyd", "insight", `{"name":"x"}`, noEditor},
		{"clients.md §11.2 a copy", "cyd", "duplicate <it>", ``, noEditor},
		{"clients.md §11.2 a copy of a tile", "cyd", "change 1", `{"duplicate_tiles":[{"id":1}]}`, noEditor},
		{"clients.md §11.2 of a template", "cyd", "create", `{"use_template":"WEBSITE_TRAFFIC"}`, noEditor},
		{"clients.md §11.2 of a template", "cyd", "template", `{"template":` + template + `}`, noEditor},
		{"clients.md §11.2 a template of texts has none", "cyd", "template", templated(`"tags":[]`), `{"name":"T"}`},
		{"§4.1.3 any failure leaves nothing", "bob", "list", ``, `{"count":2,"results":[{"name":"Board"},{"name":"T"}]}`},
		{"§4.1.3 any failure leaves nothing", "bob", "get 1", ``, `{"tiles":[{"id":1}]}`},
		{"clients.md §11.2", "ann", "rule dashboard - - viewer", ``, `{"access_level":"viewer"}`},
		{"clients.md §11.2 a dashboard", "cyd", "create", `{"name":"x"}`, noEditor},
		{"clients.md §11.2 a dashboard", "cyd", "template", templated(`"tags":[]`), noEditor},
		{"clients.md §11.2 a dashboard", "cyd", "template", `{"name":"plain"}`, noEditor},
		{"clients.md §11.2 an action", "ann", "rule action - - viewer", ``, `{"access_level":"viewer"}`},
		{"clients.md §11.2 an action", "cyd", "action", `{"name":"A"}`, noEditor},
		{"clients.md §11.2 an action", "gus", "action", `{"name":"A"}`, `{"id":1,"user_access_level":"manager"}`},
		{"clients.md §11.3 403 on writes", "cyd", "changeaction 1", `{"name":"B"}`, noEditor},
		{"clients.md §11.3 reads", "cyd", "references 1", ``, `[]`},
	},
)
