package sqlquery

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/internal/trends"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// rowsSuite runs the queries of this package, and trends as their sources, in a project with two
// group types, an action and a filter of test accounts.
func rowsSuite() *querytest.Suite {
	s := &querytest.Suite{Project: port.Project{
		GroupTypes:         []string{"company", "team"},
		TestAccountFilters: json.RawMessage(`[{"key": "email", "type": "person", "value": "@x.io", "operator": "not_icontains"}]`),
		Actions:            map[int64]port.Action{1: {Name: "Page a", Steps: json.RawMessage(`[{"event": "view", "properties": [{"key": "page", "value": "/a"}]}]`)}},
	}}
	s.Kinds = append(Kinds(func(name string) (scan.Kind, bool) {
		i := slices.IndexFunc(s.Kinds, func(k scan.Kind) bool { return k.Name == name })
		if i < 0 {
			return scan.Kind{}, false
		}
		return s.Kinds[i], true
	}), trends.Kinds...)
	return s
}

// visits are events around noon of 21 and 22 January: n is their number in the order of recording.
// The default range of an EventsQuery begins after the second one and ends before the last one.
func visits() *querytest.Store {
	const ann, bob, cy = `{"email": "ann@x.io", "name": "Ann"}`, `{"name": "Bob", "plan": "pro"}`, `{}`
	s := querytest.Events(`[
		["view", "ann", "2020-01-20T10:00:00Z", {"n": 1, "page": "/a", "$group_0": "acme"}, ` + ann + `],
		["view", "bob", "2020-01-21T12:00:00Z", {"n": 2, "page": "/b"}, ` + bob + `],
		["buy", "ann", "2020-01-21T12:00:00.000001Z", {"n": 3, "price": 30}, ` + ann + `],
		["view", "cy", "2020-01-22T11:00:00Z", {"n": 4, "page": "/a", "$group_0": "gone"}, ` + cy + `],
		["view", "bob", "2020-01-22T11:00:00Z", {"n": 5, "page": "/b", "price": 5}, ` + bob + `],
		["buy", "bob", "2020-01-22T12:00:04.999999Z", {"n": 6, "price": 10}, ` + bob + `],
		["view", "ann", "2020-01-22T12:00:05Z", {"n": 7, "page": "/a"}, ` + ann + `]]`)
	created := time.Date(2020, 1, 5, 0, 0, 0, 0, time.UTC)
	s.Groups = map[int][]capture.Group{0: {companyOf("acme", `{"name": "Acme Ltd", "size": 7}`, created), companyOf("beta", `{"size": 2}`, created.AddDate(0, 0, 1))}}
	return s
}

// companyOf returns a group of the type with index 0.
func companyOf(key, properties string, created time.Time) capture.Group {
	p, err := capture.ParseObject(properties)
	if err != nil {
		panic(err)
	}
	return capture.Group{GroupID: capture.GroupID{Key: key}, CreatedAt: created, Properties: p}
}

// listOf returns an EventsQuery of the numbers of events since 1 January, with more members.
func listOf(members string) string {
	return `{"kind": "EventsQuery", "select": ["properties.n"], "after": "2020-01-01", "orderBy": ["properties.n"]` + members + `}`
}

// rowsRow is a query, and its rows as JSON with sorted members. Of is the clause.
type rowsRow struct{ of, query, want string }

// checkRows runs the queries over the visits.
func checkRows(t *testing.T, rows []rowsRow) {
	t.Helper()
	s, events := rowsSuite(), visits()
	for _, row := range rows {
		if got := string(wire.MustEncode(s.Results(t, events, row.query))); got != row.want {
			t.Errorf("%s: %s\n got %s\nwant %s", row.of, row.query, got, row.want)
		}
	}
}

// Which events an EventsQuery lists (§2.9.1).
func TestEvents_Conditions(t *testing.T) {
	t.Parallel()
	const none, all = "[]", "[[1],[2],[3],[4],[5],[6]]"
	trend := func(more string) string {
		return `, "source": {"kind": "InsightActorsQuery"` + more + `, "source": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view"}], "dateRange": {"date_from": "2020-01-20", "date_to": "2020-01-22"}}}`
	}
	checkRows(t, []rowsRow{
		{"the last 24 hours up to now and 5 s, both exclusive", `{"kind": "EventsQuery", "select": ["properties.n"], "orderBy": ["properties.n"]}`, "[[3],[4],[5],[6]]"},
		{"after is exclusive", listOf(`, "after": "2020-01-20T10:00:00Z"`), "[[2],[3],[4],[5],[6]]"},
		{"one microsecond before", listOf(`, "after": "2020-01-20T09:59:59.999999Z"`), all},
		{"after of all time", listOf(`, "after": "all"`), all},
		{"a relative form keeps its hour", listOf(`, "after": "-2d"`), "[[2],[3],[4],[5],[6]]"},
		{"before is exclusive", listOf(`, "before": "2020-01-22T11:00:00Z"`), "[[1],[2],[3]]"},
		{"one microsecond later", listOf(`, "before": "2020-01-22T11:00:00.000001Z"`), "[[1],[2],[3],[4],[5]]"},
		{"before in the future", listOf(`, "before": "2020-01-23"`), "[[1],[2],[3],[4],[5],[6],[7]]"},
		{"before ahead of after", listOf(`, "before": "2019-01-01"`), none},
		{"one name", listOf(`, "event": "buy"`), "[[3],[6]]"},
		{"no name in event means any", listOf(`, "event": ""`), all},
		{"names", listOf(`, "events": ["buy", "leave"]`), "[[3],[6]]"},
		{"an empty list of names means any", listOf(`, "events": []`), all},
		{"a name among the names", listOf(`, "events": ["buy", "view"], "event": "view"`), "[[1],[2],[4],[5]]"},
		{"a name that is not among the names", listOf(`, "events": ["buy"], "event": "view"`), none},
		{"names by a condition as well", listOf(`, "events": ["buy", "view"], "where": ["event = 'view'"]`), "[[1],[2],[4],[5]]"},
		{"names that exclude each other", listOf(`, "events": ["buy"], "where": ["event = 'view'"]`), none},
		{"an action", listOf(`, "actionId": 1`), "[[1],[4]]"},
		{"an action and a name that it has not", listOf(`, "actionId": 1, "event": "buy"`), none},
		{"filters", listOf(`, "properties": [{"key": "price", "value": 5, "operator": "gt"}]`), "[[3],[6]]"},
		{"fixed filters in addition", listOf(`, "properties": [{"key": "price", "value": 5, "operator": "gt"}], "fixedProperties": [{"key": "price", "value": 30, "operator": "lt"}]`), "[[6]]"},
		{"test accounts", listOf(`, "filterTestAccounts": true`), "[[2],[4],[5],[6]]"},
		{"conditions are combined by and", listOf(`, "where": ["properties.n > 1", "properties.n < 4"]`), "[[2],[3]]"},
		{"a null condition is false", listOf(`, "where": ["properties.price"]`), "[[3],[5],[6]]"},
		{"a person by uuid", listOf(`, "personId": "` + capture.PersonID(1, "bob").String() + `"`), "[[2],[5],[6]]"},
		{"a person by number", listOf(`, "personId": 3`), "[[4]]"},
		{"a person by a number in a text", listOf(`, "personId": "3"`), "[[4]]"},
		{"an unknown person", listOf(`, "personId": "` + capture.PersonID(1, "dan").String() + `"`), none},
		{"an unknown number", listOf(`, "personId": 4`), none},
		{"a text that is neither", listOf(`, "personId": "bob"`), none},
		{"number 0 is nobody", listOf(`, "personId": 0`), none},
		{"the events behind a point", listOf(trend(`, "day": "2020-01-22"`)), "[[4],[5]]"},
		{"after cuts the events behind a point", listOf(trend(`, "day": "2020-01-20"`) + `, "after": "2020-01-21"`), none},
		{"without after: all of the point", `{"kind": "EventsQuery", "select": ["properties.n"]` + trend(`, "day": "2020-01-20"`) + `}`, "[[1]]"},
	})
}

// The order and the page of an EventsQuery (§2.9.1).
func TestEvents_OrderAndPage(t *testing.T) {
	t.Parallel()
	plain := func(members string) string { return `{"kind": "EventsQuery", "after": "2020-01-01"` + members + `}` }
	checkRows(t, []rowsRow{
		{"count() descending", plain(`, "select": ["event", "count()"]`), `[["view",4],["buy",2]]`},
		{"an aggregate before count(): still count()", plain(`, "select": ["event", "sum(properties.price)", "count()"]`), `[["view",5,4],["buy",40,2]]`},
		{"the first aggregate descending", plain(`, "select": ["event", "max(properties.price)", "min(properties.n)"]`), `[["buy",30,3],["view",5,1]]`},
		{"time descending, newest recorded first", plain(`, "select": ["timestamp", "properties.n"], "after": "2020-01-22"`), `[["2020-01-22T12:00:04.999999Z",6],["2020-01-22T11:00:00Z",5],["2020-01-22T11:00:00Z",4]]`},
		{"the first column ascending", plain(`, "select": ["distinct_id", "properties.n"], "event": "buy"`), `[["ann",3],["bob",6]]`},
		{"equal rows: newest recorded first", plain(`, "select": ["event", "properties.n"]`), `[["buy",6],["buy",3],["view",5],["view",4],["view",2],["view",1]]`},
		{"an order", plain(`, "select": ["properties.n"], "orderBy": ["event DESC", "properties.n DESC"]`), `[[5],[4],[2],[1],[6],[3]]`},
		{"by something that is not selected", plain(`, "select": ["properties.n"], "orderBy": ["properties.price"]`), `[[5],[6],[3],[4],[2],[1]]`},
		{"groups that a condition selects", plain(`, "select": ["distinct_id", "count()"], "where": ["count() > 1"]`), `[["bob",3],["ann",2]]`},
		{"a condition before grouping as well", plain(`, "select": ["distinct_id", "count()"], "where": ["count() > 1", "event = 'view'"]`), `[["bob",2]]`},
		{"a limit", plain(`, "select": ["properties.n"], "limit": 2`), `[[1],[2]]`},
		{"an offset", plain(`, "select": ["properties.n"], "limit": 2, "offset": 5`), `[[6]]`},
		{"an offset behind the end", plain(`, "select": ["properties.n"], "offset": 6`), `[]`},
	})
}

// The columns, types and page that an answer names (§2.9.1): texts as given, types alone.
func TestEvents_Answer(t *testing.T) {
	t.Parallel()
	s := rowsSuite()
	for _, c := range []struct {
		of, query, columns, types string
		more                      bool
		limit, offset             int
	}{
		{"the default", `{"kind": "EventsQuery"}`, `["*"]`, "", false, 100, 0},
		{"a title stays in the name", `{"kind": "EventsQuery", "select": ["properties.n -- Number"]}`, `["properties.n -- Number"]`, "", false, 100, 0},
		{"blanks stay", `{"kind": "EventsQuery", "select": ["count( )"], "limit": 50000}`, `["count( )"]`, `["UInt64"]`, false, 50000, 0},
		{"more rows", listOf(`, "limit": 5`), `["properties.n"]`, "", true, 5, 0},
		{"exactly as many rows", listOf(`, "limit": 6`), `["properties.n"]`, "", false, 6, 0},
		{"the rest", listOf(`, "limit": 5, "offset": 1`), `["properties.n"]`, "", false, 5, 1},
		{"types", `{"kind": "EventsQuery", "select": ["event", "timestamp", "uuid"]}`, `["event","timestamp","uuid"]`, `["String","DateTime64(6, 'UTC')","UUID"]`, false, 100, 0},
	} {
		got, err := s.Run(t, visits(), c.query, port.Options{})
		if err != nil {
			t.Fatal(c.of, err)
		}
		columns, types := string(wire.MustEncode(got.Columns)), string(wire.MustEncode(got.Types))
		if columns != c.columns || c.types != "" && types != c.types || *got.HasMore != c.more || *got.Limit != c.limit || *got.Offset != c.offset {
			t.Errorf("%s: got %s %s, hasMore %v, limit %d, offset %d", c.of, columns, types, *got.HasMore, *got.Limit, *got.Offset)
		}
	}
}

// The columns *, person and person_display_name (§2.9.1).
func TestEvents_SpecialColumns(t *testing.T) {
	t.Parallel()
	one := func(column, number string) string {
		return `{"kind": "EventsQuery", "after": "2020-01-01", "before": "2020-02-01", "select": ["` + column + `"], "where": ["properties.n = ` + number + `"]}`
	}
	id := func(distinctID string) string { return capture.PersonID(1, distinctID).String() }
	checkRows(t, []rowsRow{
		{"an event", one("*", "3"), `[[{"created_at":"2020-01-21T12:00:00.000001Z","distinct_id":"ann","elements_chain":"","event":"buy","person_mode":"full","properties":{"n":3,"price":30},"team_id":1,"timestamp":"2020-01-21T12:00:00.000001Z","uuid":"00000000-0000-0000-0000-000000000003"}]]`},
		{"a person", one("person", "5"), `[[{"created_at":"2020-01-21T12:00:00Z","distinct_id":"bob","properties":{"name":"Bob","plan":"pro"},"uuid":"` + id("bob") + `"}]]`},
		{"the email is the name", one("person_display_name", "1"), `[[{"display_name":"ann@x.io","distinct_id":"ann","id":"` + id("ann") + `"}]]`},
		{"else the name", one("person_display_name", "2"), `[[{"display_name":"Bob","distinct_id":"bob","id":"` + id("bob") + `"}]]`},
		{"else the distinct id", one("person_display_name", "4"), `[[{"display_name":"cy","distinct_id":"cy","id":"` + id("cy") + `"}]]`},
	})
	s := rowsSuite()
	s.Project.PersonDisplay = []string{"none", "plan", "name"}
	const want = `[[{"display_name":"pro","distinct_id":"bob","id":`
	if got := string(wire.MustEncode(s.Results(t, visits(), one("person_display_name", "2")))); got[:len(want)] != want {
		t.Errorf("the properties of the project: got %s, want %s", got, want)
	}
	s.Project.Location = time.FixedZone("", 2*3600)
	if got := string(wire.MustEncode(s.Results(t, visits(), one("timestamp", "4")))); got != `[["2020-01-22T13:00:00+02:00"]]` {
		t.Errorf("the zone of the project: got %s", got)
	}
}

// Elements are part of * only if the event has a chain; members of their own are not repeated in
// attributes.
func TestEvents_Elements(t *testing.T) {
	t.Parallel()
	const chain = `a.big.red:attr__href="/x"attr_id="go"href="/x"nth-child="2"nth-of-type="1"text="Go";div:nth-child="x"`
	const want = `[{"text":"Go","tag_name":"a","attr_class":["big","red"],"href":"/x","attr_id":"go","nth_child":2,"nth_of_type":1,"attributes":{"attr__href":"/x"},"order":0},` +
		`{"text":null,"tag_name":"div","attr_class":[],"href":null,"attr_id":null,"nth_child":null,"nth_of_type":null,"attributes":{"nth-child":"x"},"order":1}]`
	if got := string(elementsJSON(chain)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
