package dashboards_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Insights are shared like dashboards (clients.md §3.2, management.md §4.1.8).
func TestInsights_Links(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"sharing": insightLinkRows, "what visitors see": insightVisitorRows, "tokens": insightTokenRows} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, linkCalls(t, w), rows)
		})
	}
}

// linkCalls are accessCalls with the calls for links of insights. keepinsight stores a token under a
// name, and visit opens a link with it.
func linkCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	calls, links, ctx := accessCalls(t, w), w.Dashboards.Insights.Links(), t.Context()
	tokens := map[string]string{}
	calls["keepinsight"] = func(scope *management.Scope, path, _ string) (any, error) {
		name, insight, _ := strings.Cut(path, " ")
		s, err := links.Sharing(ctx, scope, insight)
		if err == nil {
			tokens[name] = s.AccessToken
		}
		return s, err
	}
	calls["refreshinsight"] = func(scope *management.Scope, path, _ string) (any, error) {
		return links.RefreshSharing(ctx, scope, path)
	}
	calls["passwordofinsight"] = func(scope *management.Scope, path, b string) (any, error) {
		return links.AddSharePassword(ctx, scope, path, ruletest.Body(t, b))
	}
	calls["visit"] = func(_ *management.Scope, name, _ string) (any, error) {
		shared, err := w.Dashboards.Shared(ctx, tokens[name], "", nil)
		if err != nil {
			return nil, err
		}
		return map[string]any{"dashboard": shared.Dashboard, "settings": shared.Settings, "insight": shared.Insight(), "project": shared.Project().ID}, nil
	}
	return calls
}

const notFound = `404 not_found - Not found.`

var insightLinkRows = []ruletest.Row{
	{"clients.md §3.2", "bob", "insight => it", `{"name":"I"}`, `{"name":"I"}`},
	{"§4.1.8 stored at the first read", "cyd", "sharingofinsight <it>", ``, `{"enabled":false,"created_at":"2026-01-02T12:00:02Z","access_token":"(like) ^[A-Za-z0-9_-]{30}$","settings":null,"password_required":false,"share_passwords":[]}`},
	{"clients.md §1.1 by its short id", "bob", "shareinsight <it.short_id>", `{"enabled":true}`, `{"enabled":true,"created_at":"2026-01-02T12:00:02Z"}`},
	{"§5.11 without the token", "bob", "log Insight <it>", ``, `{"activity":"updated","user":{"first_name":"bob"},"detail":{"name":"I","changes":[{"type":"Insight","field":"sharing_enabled","before":false,"after":true}]}}`},
	{"§4.1.8 another member", "cyd", "shareinsight <it>", `{"settings":{"legend":true}}`, `{"enabled":true,"settings":{"legend":true}}`},
	{"§4.1.8 fields", "bob", "shareinsight <it>", `{"settings":7}`, `400 invalid_input settings Invalid settings format`},
	{"§4.1.8 fields", "bob", "shareinsight <it>", `{"enabled":"maybe"}`, `400 invalid_input enabled Must be a valid boolean.`},
	{"§4.1.8 needs password_required", "bob", "passwordofinsight <it>", `{"raw_password":"12345678"}`, `400 invalid_input -`},
	{"§4.1.8 unknown", "bob", "sharingofinsight 99", ``, notFound},
	{"§4.1.8 unknown", "bob", "shareinsight x", `{}`, notFound},
	{"§1.5 another project's", "dan", "sharingofinsight <it>", ``, notFound},
	{"§1.5 another project's", "dan", "shareinsight <it>", `{"enabled":false}`, notFound},
	{"§1.5 another project's", "dan", "refreshinsight <it>", ``, notFound},
	{"§4.1.8 a link of its own: a dashboard with the same number", "bob", "create", `{"name":"D"}`, `{"id":1}`},
	{"§4.1.8 a link of its own: a dashboard with the same number", "bob", "sharing 1", ``, `{"enabled":false,"settings":null}`},
	{"§4.1.1 is_shared is of the dashboard's link", "bob", "changeinsight <it>", `{"dashboards":[1]}`, `{"dashboards":[1]}`},
	{"§4.1.1 is_shared is of the dashboard's link", "bob", "get 1", ``, `{"is_shared":false}`},
	{"clients.md §3.2 deleted", "bob", "changeinsight <it>", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §3.2 deleted", "bob", "sharingofinsight <it>", ``, notFound},
	{"clients.md §3.2 deleted", "bob", "shareinsight <it>", `{"enabled":false}`, notFound},
	{"clients.md §3.2 and back, shared as before", "bob", "changeinsight <it>", `{"deleted":false}`, `{"deleted":false}`},
	{"clients.md §3.2 and back, shared as before", "bob", "sharingofinsight <it>", ``, `{"enabled":true,"settings":{"legend":true}}`},
}

// A visitor sees an insight as a dashboard with one tile, without the names of users.
var insightVisitorRows = []ruletest.Row{
	{"clients.md §3.2", "bob", "create", `{"name":"D","description":"secret"}`, `{"id":1}`},
	{"clients.md §3.2", "bob", "insight => it", `{"name":"I","description":"about","query":{"kind":"TrendsQuery"},"filters":{"a":1},"tags":["t"],"dashboards":[1]}`, `{"name":"I"}`},
	{"clients.md §3.2", "bob", "keepinsight link <it>", ``, `{"enabled":false}`},
	{"§4.1.8 disabled", "-", "visit link", ``, notFound},
	{"§4.1.8", "bob", "shareinsight <it>", `{"enabled":true}`, `{"enabled":true}`},
	{"§4.1.8 without the inspector", "-", "visit link", ``, `{"project":1,"settings":null,"dashboard":{"name":"I","description":"","created_by":null,"tiles":[{"text":null,"insight":{"name":"I"}}]},
		"insight":{"name":"I","description":"about","query":null,"filters":null,"created_by":null,"last_modified_by":null,"last_viewed_at":null,"dashboards":"(absent)","dashboard_tiles":"(absent)","alerts":"(absent)","effective_privilege_level":21,"user_access_level":"viewer"}}`},
	{"§4.1.8 showInspector", "bob", "shareinsight <it>", `{"settings":{"showInspector":true}}`, `{"enabled":true}`},
	{"§4.1.8 showInspector", "-", "visit link", ``, `{"settings":{"showInspector":true},"insight":{"description":"about","query":{"kind":"TrendsQuery"},"filters":{"a":1}}}`},
	{"§4.1.8 hideExtraDetails", "bob", "shareinsight <it>", `{"settings":{"hideExtraDetails":true}}`, `{"enabled":true}`},
	{"§4.1.8 hideExtraDetails", "-", "visit link", ``, `{"insight":{"name":"I","description":"","query":null}}`},
	{"§4.1.8 as it is now", "bob", "changeinsight <it>", `{"name":"Renamed"}`, `{"name":"Renamed"}`},
	{"§4.1.8 as it is now", "-", "visit link", ``, `{"dashboard":{"name":"Renamed"},"insight":{"name":"Renamed"}}`},
	{"§4.1.8 password_required", "bob", "shareinsight <it>", `{"password_required":true}`, `{"password_required":true}`},
	{"§4.1.8 password_required", "-", "visit link", ``, `401 password_required -`},
	{"§4.1.8 not any more", "bob", "shareinsight <it>", `{"password_required":false}`, `{"password_required":false}`},
	{"clients.md §3.2 deleted", "bob", "changeinsight <it>", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §3.2 deleted", "-", "visit link", ``, notFound},
	{"clients.md §3.2 and back", "bob", "changeinsight <it>", `{"deleted":false}`, `{"deleted":false}`},
	{"clients.md §3.2 its dashboard is deleted", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §3.2 its dashboard is deleted", "-", "visit link", ``, `{"dashboard":{"name":"Renamed"}}`},
	{"§4.1.8 unknown", "-", "visit nothing", ``, notFound},
}

var insightTokenRows = []ruletest.Row{
	{"§4.1.8", "bob", "insight => it", `{"name":"I"}`, `{"name":"I"}`},
	{"§4.1.8", "bob", "shareinsight <it>", `{"enabled":true}`, `{"enabled":true}`},
	{"§4.1.8", "bob", "keepinsight first <it>", ``, `{"enabled":true}`},
	{"§4.1.8 refresh", "cyd", "refreshinsight <it>", ``, `{"enabled":true,"created_at":"2026-01-02T12:00:02Z"}`},
	{"§5.11 which has no token", "bob", "log Insight <it>", ``, `{"user":{"first_name":"cyd"},"detail":{"name":"I","changes":[]}}`},
	{"§4.1.8 the old one dies after a short grace period", "-", "visit first", ``, `{"insight":{"name":"I"}}`},
	{"§4.1.8", "bob", "keepinsight second <it>", ``, `{"enabled":true}`},
	{"§4.1.8 the new one", "-", "visit second", ``, `{"insight":{"name":"I"}}`},
	{"§4.1.8 one hour later", "-", "wait 1h", ``, `null`},
	{"§4.1.8 one hour later", "-", "visit first", ``, notFound},
	{"§4.1.8 one hour later", "-", "visit second", ``, `{"insight":{"name":"I"}}`},
	{"§4.1.8 disabled", "bob", "shareinsight <it>", `{"enabled":false}`, `{"enabled":false}`},
	{"§4.1.8 disabled", "-", "visit second", ``, notFound},
}
