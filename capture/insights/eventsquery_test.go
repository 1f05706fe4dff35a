package insights

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// EventsQuery (§2.9.1) over the shop, with expected values computed by hand.
func TestEvents_Rows(t *testing.T) {
	c := capture.PersonID(1, "c").String()
	for _, q := range []struct{ of, members, want string }{
		{"newest first", `"select": ["event", "distinct_id", "timestamp"], "after": "2020-01-04"`, `[["view","c","2020-01-05T00:30:00Z"],["buy","b","2020-01-04T23:30:00Z"]]`},
		{"after and before do not include their instants", `"select": ["distinct_id", "timestamp"], "after": "2020-01-02T10:00:00Z", "before": "2020-01-04T23:30:00Z"`, `[["b","2020-01-03T10:00:00Z"],["a","2020-01-02T10:05:00Z"]]`},
		{"relative forms are not cut to an hour: 00:29", `"select": ["distinct_id", "timestamp"], "after": "-38851M"`, `[["c","2020-01-05T00:30:00Z"]]`},
		{"and 00:31", `"select": ["distinct_id", "timestamp"], "after": "-38849M"`, `[]`},
		{"24 hours without after", `"select": ["event", "timestamp"]`, `[]`},
		{"the first column, ascending", `"select": ["distinct_id"], "after": "all", "event": "view"`, `[["a"],["b"],["c"]]`},
		{"equal rows: the newest recorded first", `"select": ["event", "distinct_id"], "after": "all", "orderBy": ["event"]`, `[["$groupidentify","a"],["buy","b"],["buy","a"],["view","c"],["view","b"],["view","a"]]`},
		{"count() descending, the others are groups", `"select": ["distinct_id", "count()"], "after": "all"`, `[["a",3],["b",2],["c",1]]`},
		{"the first aggregate descending", `"select": ["distinct_id", "max(timestamp)"], "after": "all", "limit": 1`, `[["c","2020-01-05T00:30:00Z"]]`},
		{"where with an aggregate applies after grouping", `"select": ["distinct_id", "count()"], "after": "all", "where": ["count() < 3", "event != 'none'"]`, `[["b",2],["c",1]]`},
		{"where is AND-ed", `"select": ["distinct_id"], "after": "all", "where": ["event = 'buy'", "properties.amount > 5"]`, `[["a"]]`},
		{"events", `"select": ["count()"], "after": "all", "events": ["buy", "view"]`, `[[5]]`},
		{"event and events", `"select": ["count()"], "after": "all", "events": ["buy"], "event": "view"`, `[[0]]`},
		{"filters", `"select": ["distinct_id"], "after": "all", "properties": [{"key": "amount", "value": "5"}], "fixedProperties": [{"key": "amount", "operator": "is_set"}]`, `[["b"]]`},
		{"a person", `"select": ["distinct_id"], "after": "all", "personId": "` + c + `"`, `[["c"]]`},
		{"a person by number", `"select": ["count()"], "after": "all", "personId": 2`, `[[2]]`},
		{"nobody", `"select": ["distinct_id"], "after": "all", "personId": "01890000-0000-7000-8000-000000000000"`, `[]`},
		{"offset", `"select": ["distinct_id", "timestamp"], "after": "all", "offset": 5`, `[["a","2020-01-01T00:00:00Z"]]`},
		{"names of people", `"select": ["person_display_name"], "after": "all", "event": "buy", "orderBy": ["timestamp"]`,
			`[[{"display_name":"a@x.com","distinct_id":"a","id":"` + capture.PersonID(1, "a").String() + `"}],[{"display_name":"b","distinct_id":"b","id":"` + capture.PersonID(1, "b").String() + `"}]]`},
		{"people are those of now, events as they were", `"select": ["person", "person.properties.plan"], "after": "all", "event": "view", "orderBy": ["timestamp"], "limit": 1`,
			`[[{"created_at":"2020-01-01T00:00:00Z","distinct_id":"a","properties":{"email":"a@x.com","plan":"paid"},"uuid":"` + capture.PersonID(1, "a").String() + `"},"free"]]`},
		{"whole events", `"select": ["*"], "after": "2020-01-05", "orderBy": ["timestamp"]`,
			`[[{"uuid":"00000000-0000-0000-0000-000000000006","event":"view","properties":{"amount":null},"timestamp":"2020-01-05T00:30:00Z","team_id":1,"distinct_id":"c","elements_chain":"","created_at":"2020-01-05T00:30:00Z","person_mode":"full"}]]`},
		{"behind a point", `"select": ["distinct_id", "timestamp"], "source": {"kind": "InsightActorsQuery", "day": "2020-01-02", "source": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode"}], "dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-05"}}}`,
			`[["a","2020-01-02T10:05:00Z"],["a","2020-01-02T10:00:00Z"]]`},
		{"behind a first time", `"select": ["event", "timestamp"], "source": {"kind": "InsightActorsQuery", "day": "2020-01-03", "source": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view", "math": "first_time_for_user"}], "dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-05"}}}`,
			`[["view","2020-01-03T10:00:00Z"]]`},
	} {
		t.Run(q.of, func(t *testing.T) {
			got, _, err := ask(t, eventsOf(t, json.RawMessage(shop)), `{"kind": "EventsQuery", `+q.members+`}`)
			if err != nil || got != q.want {
				t.Errorf("%s:\n got %s, %v\nwant %s", q.members, got, err, q.want)
			}
		})
	}
}

// A person that no longer exists is shown by the distinct id; columns are the expressions as sent,
// with their titles; types are only names (§2.9.1, §2.9.7).
func TestEvents_Columns(t *testing.T) {
	m := eventsOf(t, json.RawMessage(shop))
	m.profiles = nil
	m.events[5].elements = `a.btn.big:attr_id="go"href="/x"nth-child="2"nth-of-type="1"text="Go"data-x="1";div`
	got, result, err := ask(t, m, `{"kind": "EventsQuery", "select": ["person", "person_display_name", "properties.amount -- Amount", "count() "], "after": "2020-01-05", "limit": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	id := capture.PersonID(1, "c").String()
	if want := `[[{"distinct_id":"c"},{"display_name":"c","distinct_id":"c","id":"` + id + `"},null,1]]`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if diff := cmp.Diff([]string{"person", "person_display_name", "properties.amount -- Amount", "count() "}, result.Columns); diff != "" {
		t.Error(diff)
	}
	if types := string(wire.MustEncode(result.Types)); types != `["String","String","Nullable(String)","UInt64"]` {
		t.Errorf("types are %s", types)
	}
	if *result.HasMore || *result.Limit != 1 || *result.Offset != 0 {
		t.Errorf("more %t, limit %d, offset %d", *result.HasMore, *result.Limit, *result.Offset)
	}
	got, _, err = ask(t, m, `{"kind": "EventsQuery", "after": "2020-01-05"}`)
	var rows [][]struct{ Elements json.RawMessage }
	if err == nil {
		err = json.Unmarshal([]byte(got), &rows)
	}
	want := `[{"text":"Go","tag_name":"a","attr_class":["btn","big"],"href":"/x","attr_id":"go","nth_child":2,"nth_of_type":1,"attributes":{"data-x":"1"},"order":0},` +
		`{"text":null,"tag_name":"div","attr_class":[],"href":null,"attr_id":null,"nth_child":null,"nth_of_type":null,"attributes":{},"order":1}]`
	if err != nil || len(rows) != 1 || string(rows[0][0].Elements) != want {
		t.Errorf("elements: %s, %v\nwant %s", got, err, want)
	}
}
