package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestInsights_Views(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"views": viewRows, "the last five": lastViewRows, "by when they were viewed": viewFilterRows, "trending": trendingRows, "search": insightSearchRows, "times": insightTimeRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
			w.Run(t, accessCalls(t, w), rows)
		})
	}
}

// abc creates the insights A, B and C in the seconds 1, 2 and 3 after 12:00.
var abc = []ruletest.Row{
	{"clients.md §3.1", "bob", "insight", `{"name":"A"}`, `{"last_viewed_at":null}`},
	{"clients.md §3.1", "bob", "insight", `{"name":"B"}`, `{"name":"B"}`},
	{"clients.md §3.1", "bob", "insight => c", `{"name":"C"}`, `{"name":"C"}`},
}

var viewRows = rows(abc, []ruletest.Row{
	{"clients.md §3.2 nothing was viewed", "cyd", "viewed", ``, `[]`},
	{"clients.md §3.2 viewed, in second 5", "cyd", "view <A>", ``, `null`},
	{"clients.md §3.2 sets last_viewed_at", "cyd", "getinsight <A>", ``, `{"last_viewed_at":"2026-01-02T12:00:05Z"}`},
	{"clients.md §3.2 for the caller", "bob", "getinsight <A>", ``, `{"last_viewed_at":null,"last_modified_at":"2026-01-02T12:00:01Z"}`},
	{"clients.md §3.2 for the caller", "bob", "viewed", ``, `[]`},
	{"clients.md §3.2 by its short id, in second 9", "cyd", "view <c.short_id>", ``, `null`},
	{"clients.md §3.2 newest view first", "cyd", "viewed", ``, `["C","A"]`},
	{"clients.md §3.2 again, in second 11", "cyd", "view <A>", ``, `null`},
	{"clients.md §3.2 each once", "cyd", "viewed", ``, `["A","C"]`},
	{"clients.md §3.2 the last time", "cyd", "getinsight <A>", ``, `{"last_viewed_at":"2026-01-02T12:00:11Z"}`},
	{"clients.md §3.2 a change is no view", "cyd", "changeinsight <B>", `{"saved":true}`, `{"last_viewed_at":null}`},
	{"clients.md §3.2 a deleted one", "bob", "changeinsight <A>", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §3.2 a deleted one", "cyd", "viewed", ``, `["C"]`},
	{"clients.md §3.2 a deleted one", "cyd", "view <A>", ``, `404 not_found - Not found.`},
	{"clients.md §3.2 which comes back", "bob", "changeinsight <A>", `{"deleted":false}`, `{"deleted":false}`},
	{"clients.md §3.2 which comes back", "cyd", "viewed", ``, `["A","C"]`},
	{"clients.md §1.1 unknown", "cyd", "view 99", ``, `404 not_found - Not found.`},
	{"clients.md §1.1 no id", "cyd", "view x", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "view <A>", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "viewed", ``, `[]`},
})

var lastViewRows = rows(
	abc,
	each("clients.md §3.1", "bob", "insight", [2]string{`{"name":"D"}`, `{"name":"D"}`}, [2]string{`{"name":"E"}`, `{"name":"E"}`}, [2]string{`{"name":"F"}`, `{"name":"F"}`}, [2]string{`{"name":"G"}`, `{"name":"G"}`}),
	[]ruletest.Row{
		{"", "bob", "view <A>", ``, `null`}, {"", "bob", "view <B>", ``, `null`}, {"", "bob", "view <C>", ``, `null`}, {"", "bob", "view <D>", ``, `null`},
		{"clients.md §3.2 four", "bob", "viewed", ``, `["D","C","B","A"]`},
		{"", "bob", "view <E>", ``, `null`},
		{"clients.md §3.2 at most five", "bob", "viewed", ``, `["E","D","C","B","A"]`},
		{"", "bob", "view <F>", ``, `null`}, {"", "bob", "view <G>", ``, `null`},
		{"clients.md §3.2 at most five", "bob", "viewed", ``, `["G","F","E","D","C"]`},
		{"clients.md §3.2 a deleted one makes room", "bob", "changeinsight <E>", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §3.2 a deleted one makes room", "bob", "viewed", ``, `["G","F","D","C","B"]`},
	},
)

// viewFilterRows are about last_viewed_date_from and last_viewed_date_to, which are no part of the
// period themselves, as PostHog compares them.
var viewFilterRows = rows(
	abc,
	[]ruletest.Row{
		{"second 4", "cyd", "view <A>", ``, `null`},
		{"second 5", "cyd", "view <B>", ``, `null`},
		{"second 6, of another user", "bob", "view <C>", ``, `null`},
		{"second 7", "cyd", "view <A>", ``, `null`},
	},
	each("clients.md §2.2 last_viewed_date_from, _to", "cyd", "names",
		[2]string{`{"Order":"name","Viewed":{"From":"2026-01-02T12:00:00Z"}}`, `["A","B"]`},
		[2]string{`{"Viewed":{"From":"2026-01-02T12:00:05Z"}}`, `["A"]`},
		[2]string{`{"Viewed":{"From":"2026-01-02T12:00:07Z"}}`, `[]`},
		[2]string{`{"Viewed":{"To":"2026-01-02T12:00:07Z"}}`, `["B"]`}, // the last view of A counts
		[2]string{`{"Viewed":{"To":"2026-01-02T12:00:05Z"}}`, `[]`},
		[2]string{`{"Viewed":{"From":"2026-01-02T12:00:04Z","To":"2026-01-02T12:00:06Z"}}`, `["B"]`},
	),
	[]ruletest.Row{{"clients.md §2.2 the caller's own views", "bob", "names", `{"Viewed":{"From":"2026-01-02T12:00:00Z"}}`, `["C"]`}},
)

var trendingRows = rows(
	abc,
	[]ruletest.Row{
		{"clients.md §3.2 nothing was viewed", "bob", "trending", ``, `{"count":0,"results":[]}`},
		{"second 5", "bob", "view <B>", ``, `null`},
		{"second 6", "cyd", "view <B>", ``, `null`},
		{"second 7", "bob", "view <A>", ``, `null`},
		{"second 8, the same user again", "bob", "view <A>", ``, `null`},
		{"another project", "dan", "insight", `{"name":"Theirs"}`, `{"name":"Theirs"}`},
		{"another project", "dan", "view <Theirs>", ``, `null`},
		{"clients.md §3.2 most viewers first, not views; the latest viewer first", "gus", "trending", ``, `{"count":2,"results":[
			{"name":"B","view_count":2,"viewers":[{"first_name":"cyd"},{"first_name":"bob"}],"dashboards":[],"last_viewed_at":null},{"name":"A","view_count":1,"viewers":[{"first_name":"bob"}]}]}`},
		{"§3 pages", "gus", "trending", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"name":"A"}]}`},
		{"§1.5 another project", "dan", "trending", ``, `{"count":1,"results":[{"name":"Theirs"}]}`},
		{"clients.md §3.2 a deleted one", "bob", "changeinsight <B>", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §3.2 a deleted one", "bob", "trending", ``, `{"count":1,"results":[{"name":"A"}]}`},
		{"clients.md §3.2 which comes back", "bob", "changeinsight <B>", `{"deleted":false}`, `{"deleted":false}`},
		{"a week is the default: on 9 January, 12:00:07", "bob", "wait 167h59m50s", ``, `null`},
		{"second 6 is more than a week ago", "bob", "trending", ``, `{"count":1,"results":[{"name":"A","view_count":1}]}`},
		{"second 8 is, too", "bob", "trending", ``, `{"count":0}`},
		{"days", "bob", "trending", `{"Days":8}`, `{"count":2}`},
	},
	each("days", "bob", "trending",
		[2]string{`{"Days":1}`, `{"count":0}`},
		[2]string{`{"Days":90}`, `{"count":2}`},
		[2]string{`{"Days":91}`, `400 invalid_input days`},
		[2]string{`{"Days":-1}`, `400 invalid_input days`},
	),
)

// insightSearchRows are about search, which compares four members (clients.md §2.2).
var insightSearchRows = rows(
	each("clients.md §2.2", "bob", "insight",
		[2]string{`{"name":"Named","derived_name":"Pageview count","description":"of a day"}`, `{"derived_name":"Pageview count"}`},
		[2]string{`{"name":"","derived_name":"Signup rate"}`, `{"name":""}`},
		[2]string{`{"name":"Told","description":"counts every page"}`, `{"derived_name":null}`},
		[2]string{`{"name":"Tagged","tags":["pager"]}`, `{"tags":["pager"]}`},
		[2]string{`{"name":"Feature Flag Called Total Volume"}`, `{"derived_name":null}`},
		[2]string{`{"name":"Feature Flag Called"}`, `{"derived_name":null}`},
	),
	each("clients.md §2.2 search: name, derived name, description, tags", "bob", "names",
		[2]string{`{"Search":"PAGE","Order":"created_at"}`, `["Named","Told","Tagged"]`},
		[2]string{`{"Search":"pageview"}`, `["Named"]`},
		[2]string{`{"Search":"signup"}`, `[""]`},
		[2]string{`{"Search":"name"}`, `["Named"]`},
		[2]string{`{"Search":` + text(200) + `}`, `[]`},
	),
	each("hide_feature_flag_insights: those that a flag's dashboard was made with", "bob", "names",
		[2]string{`{"Search":"feature","Order":"created_at"}`, `["Feature Flag Called Total Volume","Feature Flag Called"]`},
		[2]string{`{"Search":"feature","NotOfFlags":true}`, `["Feature Flag Called"]`},
	),
)

// insightTimeRows are about date_from and created_date_from. PostHog leaves out an insight of exactly
// that time.
var insightTimeRows = rows(
	abc,
	[]ruletest.Row{{"second 4", "cyd", "changeinsight <A>", `{"saved":true}`, `{"last_modified_at":"2026-01-02T12:00:04Z","updated_at":"2026-01-02T12:00:04Z"}`}},
	each("clients.md §2.2 date_from, date_to", "bob", "names",
		[2]string{`{"Changed":{"From":"2026-01-02T12:00:02Z"},"Order":"name"}`, `["A","C"]`},
		[2]string{`{"Changed":{"From":"2026-01-02T12:00:04Z"}}`, `[]`},
		[2]string{`{"Changed":{"To":"2026-01-02T12:00:03Z"}}`, `["B"]`},
		[2]string{`{"Changed":{"From":"2026-01-02T12:00:02Z","To":"2026-01-02T12:00:04Z"}}`, `["C"]`},
	),
	each("clients.md §2.2 created_date_from, _to", "bob", "names",
		[2]string{`{"Made":{"From":"2026-01-02T12:00:01Z"},"Order":"name"}`, `["B","C"]`},
		[2]string{`{"Made":{"From":"2026-01-02T12:00:03Z"}}`, `[]`},
		[2]string{`{"Made":{"To":"2026-01-02T12:00:02Z"}}`, `["A"]`},
	),
)
