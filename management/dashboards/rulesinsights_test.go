package dashboards_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/dashboards"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestInsights(t *testing.T) {
	runTables(t, map[string][]ruletest.Row{
		"fields": insightFieldRows, "round trip": queryRows, "places": placeRows, "places and rights": placeRightRows, "deleted": insightDeletedRows,
		"short ids": shortIDRows, "copies": insightCopyRows, "lists": insightListRows, "kinds": kindRows, "orders": insightOrderRows, "the log": insightLogRows, "who": insightWhoRows,
	})
}

var anInsight = ruletest.Row{"clients.md §3.2", "bob", "insight", `{"name":"I"}`, `{"name":"I"}`}

var insightFieldRows = rows(
	[]ruletest.Row{
		{"clients.md §3.1 nothing is required", "bob", "insight", ``, `{"id":1,"short_id":"(like) ^[0-9A-Za-z]{8}$","name":null,"description":"","query":null,"filters":{},"dashboards":[],"tags":[],
			"favorited":false,"saved":false,"deleted":false,"created_at":"2026-01-02T12:00:01Z","created_by":{"first_name":"bob"},"last_modified_at":"2026-01-02T12:00:01Z","last_modified_by":{"first_name":"bob"}}`},
		anInsight,
	},
	each("clients.md §3.1 name: at most 400, null; \"\" clears", "bob", "changeinsight <I>",
		[2]string{`{"name":` + text(400) + `}`, `{"name":` + text(400) + `}`},
		[2]string{`{"name":` + text(401) + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":""}`, `{"name":""}`},
		[2]string{`{"name":null}`, `{"name":null}`},
		[2]string{`{"name":["x"]}`, `400 invalid_input name Not a valid string.`},
		[2]string{`{"name":"I"}`, `{"name":"I"}`},
	),
	each("clients.md §3.1 fields", "bob", "changeinsight <I>",
		[2]string{`{"description":"about"}`, `{"description":"about"}`},
		[2]string{`{"description":""}`, `{"description":""}`},
		[2]string{`{"favorited":true}`, `{"favorited":true}`},
		[2]string{`{"favorited":"maybe"}`, `400 invalid_input favorited Must be a valid boolean.`},
		[2]string{`{"saved":true}`, `{"saved":true}`},
		[2]string{`{"saved":null}`, `400 null saved This field may not be null.`},
		[2]string{`{"tags":[" B ","a","b"]}`, `{"tags":["b","a"]}`},
		[2]string{`{"tags":"x"}`, `400 not_a_list tags Expected a list of items but got type "str".`},
		[2]string{`{"tags":[]}`, `{"tags":[]}`},
		[2]string{`{"filters":{"insight":"TRENDS"}}`, `{"filters":{"insight":"TRENDS"}}`},
		[2]string{`{"filters":[]}`, `400 not_a_dict filters Expected a dictionary of items but got type "list".`},
		[2]string{`{"filters":{}}`, `{"filters":{}}`},
		[2]string{`{"dashboards":"1"}`, `400 not_a_list dashboards Expected a list of items but got type "str".`},
		[2]string{`{"dashboards":["one"]}`, `400 invalid_input dashboards__0 A valid integer is required.`},
		[2]string{`{"deleted":"perhaps"}`, `400 invalid_input deleted Must be a valid boolean.`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	[]ruletest.Row{
		{"clients.md §3.1 read-only", "cyd", "changeinsight <I>", `{"id":7,"short_id":"abcdefgh","created_at":"2000-01-01T00:00:00Z","created_by":null,"last_modified_by":null}`,
			`{"id":<I>,"created_at":"2026-01-02T12:00:02Z","created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"cyd"},"last_modified_at":"2026-01-02T12:00:25Z"}`},
		{"clients.md §3.1 what a change does not name stays", "bob", "changeinsight <I>", `{"description":"x"}`, `{"name":"I","favorited":true,"saved":true}`},
		{"clients.md §3.2 unknown", "bob", "getinsight 0191f0a2-5b1c-7d3e-8f40-0000000000ff", ``, `404 not_found - Not found.`},
		{"clients.md §1.1 no id", "bob", "getinsight x", ``, `404 not_found - Not found.`},
		{"clients.md §1.1 no id", "bob", "changeinsight 12345678", `{}`, `404 not_found - Not found.`},
	},
)

// queryRows check that a query is returned as it was sent, with the order of its members and its
// numbers unchanged (clients.md §1.4).
var queryRows = rows(
	[]ruletest.Row{anInsight},
	each("clients.md §1.4", "bob", "changeinsight <I>",
		[2]string{`{"query":{"kind":"InsightVizNode","source":{"kind":"TrendsQuery","series":[{"event":"b"},{"event":"a"}],"dateRange":{"date_from":"-7d","date_to":null},"samplingFactor":0.10}}}`,
			`{"query":{"kind":"InsightVizNode","source":{"kind":"TrendsQuery","series":[{"event":"b"},{"event":"a"}],"dateRange":{"date_from":"-7d","date_to":null},"samplingFactor":0.1}}}`},
		[2]string{`{"query":{"version":2,"result":[1],"hogql":"x","is_cached":false}}`, `{"query":{"version":2,"result":[1],"hogql":"x","is_cached":false}}`},
		[2]string{`{"query":null}`, `{"query":null}`},
	),
)

var placeRows = []ruletest.Row{
	{"clients.md §3.1", "bob", "create", `{"name":"one"}`, `{"id":1}`},
	{"clients.md §3.1", "bob", "create", `{"name":"two"}`, `{"id":2}`},
	{"clients.md §3.1", "dan", "create", `{"name":"theirs"}`, `{"id":3}`},
	{"clients.md §3.1 on two", "bob", "insight", `{"name":"I","dashboards":[2,1]}`, `{"dashboards":[1,2]}`},
	{"clients.md §3.1 a tile on each", "bob", "get 1", ``, `{"tiles":[{"insight":{"id":<I>,"name":"I","dashboards":"(absent)"},"text":null}]}`},
	{"clients.md §3.1 once on each", "bob", "changeinsight <I>", `{"dashboards":[1,1,2]}`, `{"dashboards":[1,2]}`},
	{"clients.md §3.1 once on each", "bob", "get 1", ``, `{"tiles":[{"order":0}]}`},
	{"clients.md §3.2 the others are lost", "bob", "changeinsight <I>", `{"dashboards":[2]}`, `{"dashboards":[2]}`},
	{"clients.md §3.2 the others are lost", "bob", "get 1", ``, `{"tiles":[]}`},
	{"clients.md §1.4 absent is unchanged", "bob", "changeinsight <I>", `{"name":"I"}`, `{"dashboards":[2]}`},
	{"clients.md §3.1 back: the tile that it had", "bob", "change 2", `{"tiles":[{"id":1,"color":"blue"}]}`, `{"tiles":[{"id":1,"color":"blue"}]}`},
	{"clients.md §3.1 back: the tile that it had", "bob", "changeinsight <I>", `{"dashboards":[]}`, `{"dashboards":[]}`},
	{"clients.md §3.1 back: the tile that it had", "bob", "changeinsight <I>", `{"dashboards":[2]}`, `{"dashboards":[2]}`},
	{"clients.md §3.1 back: the tile that it had", "bob", "get 2", ``, `{"tiles":[{"id":1,"color":"blue"}]}`},
	{"clients.md §3.2 unknown", "bob", "changeinsight <I>", `{"dashboards":[9]}`, `400 * dashboards`},
	{"clients.md §3.2 foreign", "bob", "changeinsight <I>", `{"dashboards":[2,3]}`, `400 * dashboards`},
	{"clients.md §3.2 nothing was changed", "bob", "getinsight <I>", ``, `{"dashboards":[2]}`},
	{"clients.md §4 taken off the dashboard", "bob", "change 2", `{"tiles":[{"id":1,"deleted":true}]}`, `{"tiles":[]}`},
	{"clients.md §4 the insight stays, its dashboards no longer has the id", "bob", "getinsight <I>", ``, `{"name":"I","dashboards":[]}`},
	{"§4.1.5 a dashboard that is deleted is none of them", "bob", "changeinsight <I>", `{"dashboards":[1,2]}`, `{"dashboards":[1,2]}`},
	{"§4.1.5 a dashboard that is deleted is none of them", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.1.5 a dashboard that is deleted is none of them", "bob", "getinsight <I>", ``, `{"dashboards":[2],"deleted":false}`},
}

var placeRightRows = []ruletest.Row{
	{"clients.md §3.2", "bob", "create", `{"name":"closed","restriction_level":37}`, `{"id":1}`},
	{"clients.md §3.2", "bob", "create", `{"name":"open"}`, `{"id":2}`},
	{"clients.md §3.2", "bob", "insight", `{"name":"I","dashboards":[1,2]}`, `{"dashboards":[1,2]}`},
	{"clients.md §3.2 the insight itself is everybody's", "cyd", "changeinsight <I>", `{"description":"x"}`, `{"description":"x","dashboards":[1,2]}`},
	{"clients.md §3.2 no right to take it away", "cyd", "changeinsight <I>", `{"dashboards":[2]}`, `403 permission_denied -`},
	{"clients.md §3.2 nor to put it there", "cyd", "insight", `{"name":"J","dashboards":[2,1]}`, `403 permission_denied -`},
	{"clients.md §3.2 nothing of it stays", "bob", "names", ``, `["I"]`},
	{"clients.md §3.2 what is not touched needs no right", "cyd", "changeinsight <I>", `{"dashboards":[1]}`, `{"dashboards":[1]}`},
	{"§4.1.7 a collaborator may", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `{"level":37}`},
	{"§4.1.7 a collaborator may", "cyd", "changeinsight <I>", `{"dashboards":[]}`, `{"dashboards":[]}`},
}

var insightDeletedRows = []ruletest.Row{
	{"clients.md §3.2", "bob", "create", `{}`, `{"id":1}`},
	{"clients.md §3.2", "bob", "insight", `{"name":"I","dashboards":[1]}`, `{"dashboards":[1]}`},
	{"clients.md §3.2", "cyd", "changeinsight <I>", `{"deleted":true}`, `{"deleted":true,"name":"I"}`},
	{"clients.md §3.2 its tile is hidden", "bob", "get 1", ``, `{"tiles":[]}`},
	{"clients.md §3.2", "bob", "getinsight <I>", ``, `404 not_found - Not found.`},
	{"clients.md §3.2 anything else", "bob", "changeinsight <I>", `{"name":"x"}`, `404 not_found - Not found.`},
	{"clients.md §3.2 anything else", "bob", "changeinsight <I>", `{"deleted":false,"name":"x"}`, `404 not_found - Not found.`},
	{"clients.md §3.2 anything else", "bob", "changeinsight <I>", `{"deleted":true}`, `404 not_found - Not found.`},
	{"clients.md §3.2", "bob", "insights", ``, `{"count":0,"results":[]}`},
	{"clients.md §3.2", "bob", "duplicate <I>", ``, `404 not_found - Not found.`},
	{"clients.md §3.2 back, with its tiles", "bob", "changeinsight <I>", `{"deleted":false}`, `{"deleted":false,"name":"I","dashboards":[1]}`},
	{"clients.md §3.2 back, with its tiles", "bob", "get 1", ``, `{"tiles":[{"insight":{"name":"I"}}]}`},
	{"clients.md §3.2 of one that is there", "bob", "changeinsight <I>", `{"deleted":false}`, `{"deleted":false}`},
}

var shortIDRows = []ruletest.Row{
	anInsight,
	{"clients.md §1.1 both forms work", "bob", "short <I>", ``, `{"id":<I>}`},
	{"clients.md §1.1 both forms work", "cyd", "short <I>", `{"name":"J"}`, `{"id":<I>,"name":"J","last_modified_by":{"first_name":"cyd"}}`},
	{"clients.md §1.1 of a deleted one", "bob", "changeinsight <J>", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §1.1 of none", "bob", "getinsight AAAAAAAA", ``, `404 not_found - Not found.`},
	{"clients.md §1.1 of none", "bob", "getinsight abc-defg", ``, `404 not_found - Not found.`},
}

var insightCopyRows = []ruletest.Row{
	{"clients.md §3", "bob", "create", `{}`, `{"id":1}`},
	{"clients.md §3", "bob", "insight", `{"name":"I","description":"about","query":{"kind":"TrendsQuery"},"filters":{"a":1},"tags":["x"],"favorited":true,"saved":true,"dashboards":[1]}`, `{"name":"I"}`},
	{"§4.1.3 the name says it", "cyd", "duplicate <I>", ``, `{"name":"I (Copy)","description":"about","query":{"kind":"TrendsQuery"},"filters":{"a":1},"tags":["x"],"favorited":false,"saved":false,"dashboards":[],
		"created_by":{"first_name":"cyd"},"last_modified_by":{"first_name":"cyd"}}`},
	{"§4.1.3 the first stays", "bob", "getinsight <I>", ``, `{"dashboards":[1],"created_by":{"first_name":"bob"}}`},
	{"clients.md §3.1 no longer than a name may be", "bob", "insight", `{"name":` + text(400) + `}`, `{"description":""}`},
	{"clients.md §3.1 no longer than a name may be", "bob", "duplicate <" + strings.Repeat("x", 400) + ">", ``, `{"name":"` + strings.Repeat("x", 393) + ` (Copy)"}`},
	{"§1.5 of another project", "dan", "duplicate <I>", ``, `404 not_found - Not found.`},
}

var insightListRows = rows(
	[]ruletest.Row{
		{"clients.md §2.2", "bob", "create", `{"name":"one"}`, `{"id":1}`},
		{"clients.md §2.2", "bob", "create", `{"name":"two"}`, `{"id":2}`},
		{"clients.md §2.2", "bob", "insight", `{"name":"Signups","description":"of a day","tags":["growth"],"saved":true,"favorited":true}`, `{"name":"Signups"}`},
		{"clients.md §2.2", "cyd", "insight", `{"name":"Funnel","dashboards":[1,2],"tags":["growth","money"]}`, `{"name":"Funnel"}`},
		{"clients.md §2.2", "bob", "insight", `{"name":"Draft","dashboards":[2]}`, `{"name":"Draft"}`},
		{"clients.md §2.2", "bob", "insight", `{"name":"Loose"}`, `{"name":"Loose"}`},
		{"clients.md §2.2", "dan", "insight", `{"name":"Theirs","saved":true}`, `{"name":"Theirs"}`},
		{"clients.md §2.2", "ann", "changeinsight <Signups>", `{"description":"of a day"}`, `{"last_modified_at":"2026-01-02T12:00:08Z"}`},
	},
	each("clients.md §2.2", "bob", "names",
		[2]string{`{}`, `["Signups","Loose","Draft","Funnel"]`}, // newest change first
		[2]string{`{"Order":"created_at"}`, `["Signups","Funnel","Draft","Loose"]`},
		[2]string{`{"Order":"created_at","Saved":true}`, `["Signups","Funnel","Draft"]`},
		[2]string{`{"Order":"created_at","Saved":false}`, `["Funnel","Draft","Loose"]`},
		[2]string{`{"Favorited":true}`, `["Signups"]`},
		[2]string{`{"Mine":true,"Order":"created_at"}`, `["Signups","Draft","Loose"]`},
		[2]string{`{"Creators":[3]}`, `["Funnel"]`},
		[2]string{`{"Creators":[2,3],"Order":"created_at"}`, `["Signups","Funnel","Draft","Loose"]`},
		[2]string{`{"Tags":["money"]}`, `["Funnel"]`},
		[2]string{`{"Tags":["MONEY","growth"],"Order":"created_at"}`, `["Signups","Funnel"]`},
		[2]string{`{"Dashboards":[2],"Order":"created_at"}`, `["Funnel","Draft"]`},
		[2]string{`{"Dashboards":[1,2]}`, `["Funnel"]`},
		[2]string{`{"Dashboards":[9]}`, `[]`},
		[2]string{`{"Search":"SIGN"}`, `["Signups"]`},
		[2]string{`{"Search":"of a day"}`, `["Signups"]`},
		[2]string{`{"Search":"growth","Order":"created_at"}`, `["Signups","Funnel"]`},
		[2]string{`{"Search":"nothing"}`, `[]`},
		[2]string{`{"ShortID":"AAAAAAAA"}`, `[]`},
		[2]string{`{"Changed":{"From":"2026-01-02T12:00:07Z"}}`, `["Signups"]`},
		[2]string{`{"Changed":{"To":"2026-01-02T12:00:05Z"}}`, `["Funnel"]`},
		[2]string{`{"Made":{"From":"2026-01-02T12:00:03Z","To":"2026-01-02T12:00:06Z"},"Order":"created_at"}`, `["Funnel","Draft"]`},
		[2]string{`{"Saved":true,"Creators":[2],"Search":"d","Dashboards":[2]}`, `["Draft"]`},
	),
	each("§3 pages", "bob", "insights",
		[2]string{`{"Order":"created_at","Limit":1,"Offset":1}`, `{"count":4,"results":[{"name":"Funnel","dashboards":[1,2]}]}`},
		[2]string{`{"Offset":9}`, `{"count":4,"results":[]}`},
		[2]string{`{"Search":` + text(201) + `}`, `400 max_length search`},
	),
	[]ruletest.Row{{"§1.5 another project", "dan", "names", ``, `["Theirs"]`}},
)

// query returns the body of an insight with a query.
func query(name, q string) string { return `{"name":"` + name + `","query":` + q + `}` }

var kindRows = rows(
	each("clients.md §2.2", "bob", "insight",
		[2]string{query("trends", `{"kind":"InsightVizNode","source":{"kind":"TrendsQuery"}}`), `{"name":"trends"}`},
		[2]string{query("bare", `{"kind":"FunnelsQuery"}`), `{"name":"bare"}`},
		[2]string{query("retention", `{"kind":"InsightVizNode","source":{"kind":"RetentionQuery"}}`), `{"name":"retention"}`},
		[2]string{query("paths", `{"kind":"InsightVizNode","source":{"kind":"PathsQuery"}}`), `{"name":"paths"}`},
		[2]string{query("stickiness", `{"kind":"InsightVizNode","source":{"kind":"StickinessQuery"}}`), `{"name":"stickiness"}`},
		[2]string{query("lifecycle", `{"kind":"InsightVizNode","source":{"kind":"LifecycleQuery"}}`), `{"name":"lifecycle"}`},
		[2]string{query("sql", `{"kind":"DataVisualizationNode","source":{"kind":"HogQLQuery","query":"SELECT 1"}}`), `{"name":"sql"}`},
		[2]string{query("table", `{"kind":"DataTableNode","source":{"kind":"EventsQuery"}}`), `{"name":"table"}`},
		[2]string{`{"name":"old","filters":{"insight":"TRENDS"}}`, `{"name":"old"}`},
		[2]string{`{"name":"none"}`, `{"name":"none"}`},
	),
	each("clients.md §2.2 insight", "bob", "names",
		[2]string{`{"Kind":"TRENDS","Order":"created_at"}`, `["trends","old"]`},
		[2]string{`{"Kind":"FUNNELS"}`, `["bare"]`},
		[2]string{`{"Kind":"RETENTION"}`, `["retention"]`},
		[2]string{`{"Kind":"PATHS"}`, `["paths"]`},
		[2]string{`{"Kind":"STICKINESS"}`, `["stickiness"]`},
		[2]string{`{"Kind":"LIFECYCLE"}`, `["lifecycle"]`},
		[2]string{`{"Kind":"SQL"}`, `["sql"]`},
		[2]string{`{"Kind":"JSON","Order":"created_at"}`, `["trends","bare","retention","paths","stickiness","lifecycle","table"]`},
	),
)

var insightOrderRows = rows(
	[]ruletest.Row{
		{"clients.md §2.2", "bob", "insight", `{"name":"b"}`, `{"name":"b"}`},
		{"clients.md §2.2", "bob", "insight", `{"name":"C"}`, `{"name":"C"}`},
		{"clients.md §2.2", "bob", "insight", `{"name":"a"}`, `{"name":"a"}`},
		{"clients.md §2.2", "bob", "changeinsight <b>", `{"saved":true}`, `{"saved":true}`},
	},
	each("clients.md §2.2 order", "bob", "names",
		[2]string{`{"Order":"name"}`, `["a","b","C"]`},
		[2]string{`{"Order":"-name"}`, `["C","b","a"]`},
		[2]string{`{"Order":"created_at"}`, `["b","C","a"]`},
		[2]string{`{"Order":"-created_at"}`, `["a","C","b"]`},
		[2]string{`{"Order":"last_modified_at"}`, `["C","a","b"]`},
		[2]string{`{"Order":"-last_modified_at"}`, `["b","a","C"]`},
		[2]string{`{"Order":"name","Limit":1,"Offset":2}`, `["C"]`},
	),
)

var insightLogRows = []ruletest.Row{
	anInsight,
	{"§5.11 created", "bob", "log Insight <I>", ``, `{"activity":"created","scope":"Insight","item_id":"<I>","user":{"first_name":"bob"},"detail":{"name":"I"}}`},
	{"§5.11", "cyd", "changeinsight <I>", `{"description":"about","favorited":true}`, `{"name":"I"}`},
	{"§5.11 updated", "bob", "log Insight <I>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"description","action":"created","after":"about"},{"field":"favorited","after":true}]}}`},
	{"§5.11", "ann", "changeinsight <I>", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.11 deleted", "bob", "log Insight <I>", ``, `{"user":{"first_name":"ann"},"detail":{"changes":[{"field":"deleted","before":false,"after":true}]}}`},
	{"§5.11 with its dashboard", "bob", "create", `{}`, `{"id":1}`},
	{"§5.11 with its dashboard", "bob", "insight", `{"name":"J","dashboards":[1]}`, `{"name":"J"}`},
	{"§5.11 with its dashboard", "gus", "change 1", `{"deleted":true,"delete_insights":true}`, `{"deleted":true}`},
	{"§5.11 with its dashboard", "bob", "log Insight <J>", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"deleted","after":true}]}}`},
}

var insightWhoRows = []ruletest.Row{
	anInsight,
	{"§1.8 another member", "cyd", "changeinsight <I>", `{"name":"I","description":"x"}`, `{"description":"x"}`},
	{"§1.5 of another project: not there", "dan", "getinsight <I>", ``, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "changeinsight <I>", `{"name":"x"}`, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "names", ``, `[]`},
}

// Exists reports whether a project has a dashboard. Package featureflags uses it.
func TestExists(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	w.Run(t, dashboardCalls(t, w), []ruletest.Row{aDashboard, {"§4.1.5", "bob", "create", `{"deleted":true}`, `{"id":2}`}})
	err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
		for _, c := range []struct {
			project, id int64
			want        bool
		}{{ruletest.Project, 1, true}, {ruletest.Project, 2, false}, {ruletest.Project, 3, false}, {ruletest.TheirProject, 1, false}} {
			if got, err := dashboards.Exists(tx, c.project, c.id); got != c.want || err != nil {
				t.Errorf("dashboard %d of %d: %v, %v, want %v", c.id, c.project, got, err, c.want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
