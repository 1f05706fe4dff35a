package sqlquery

import (
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// actorsOf returns an ActorsQuery with more members.
func actorsOf(members string) string { return `{"kind": "ActorsQuery"` + members + `}` }

// pointOf returns the member source of a point of a trend of page views from 20 to 22 January: math
// has more members of its series, trend of the trend, and point of the point.
func pointOf(math, trend, point string) string {
	return `, "source": {"kind": "InsightActorsQuery", "source": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view"` + math + `}], "dateRange": {"date_from": "2020-01-20", "date_to": "2020-01-22"}` + trend + `}` + point + `}`
}

// personID returns the UUID of the person of a distinct id.
func personID(distinctID string) string { return capture.PersonID(1, distinctID).String() }

// Which persons an ActorsQuery lists, and in which order (§2.9.2).
func TestActors_Persons(t *testing.T) {
	t.Parallel()
	ids := func(members string) string {
		return actorsOf(`, "select": ["distinct_ids[1]"], "orderBy": ["created_at"]` + members)
	}
	byID := []string{personID("ann"), personID("bob"), personID("cy")}
	slices.Sort(byID)
	checkRows(t, []rowsRow{
		{"all persons", ids(""), `[["ann"],["bob"],["cy"]]`},
		{"search in the email, in any case", ids(`, "search": "X.IO"`), `[["ann"]]`},
		{"search in the name", ids(`, "search": "bo"`), `[["bob"]]`},
		{"search in a distinct id", ids(`, "search": "CY"`), `[["cy"]]`},
		{"search in the id", ids(`, "search": "` + strings.ToUpper(personID("bob")[3:30]) + `"`), `[["bob"]]`},
		{"no search in other properties", ids(`, "search": "pro"`), `[]`},
		{"an empty search", ids(`, "search": ""`), `[["ann"],["bob"],["cy"]]`},
		{"filters", ids(`, "properties": [{"type": "person", "key": "plan", "value": "pro"}]`), `[["bob"]]`},
		{"filters as a tree", ids(`, "properties": {"type": "OR", "values": [{"type": "person", "key": "plan", "value": "pro"}, {"type": "person", "key": "email", "operator": "is_set"}]}`), `[["ann"],["bob"]]`},
		{"fixed filters in addition", ids(`, "properties": [{"type": "person", "key": "name", "operator": "is_set"}], "fixedProperties": [{"type": "person", "key": "email", "operator": "is_set"}]`), `[["ann"]]`},
		{"search and filters", ids(`, "search": "ann", "properties": [{"type": "person", "key": "plan", "value": "pro"}]`), `[]`},
		{"a limit", ids(`, "limit": 1`), `[["ann"]]`},
		{"an offset", ids(`, "limit": 1, "offset": 2`), `[["cy"]]`},
		{"created_at descending if selected", actorsOf(`, "select": ["distinct_ids[1]", "created_at"]`), `[["cy","2020-01-22T11:00:00Z"],["bob","2020-01-21T12:00:00Z"],["ann","2020-01-20T10:00:00Z"]]`},
		{"else the first column", actorsOf(`, "select": ["distinct_ids[1]", "properties.name"]`), `[["ann","Ann"],["bob","Bob"],["cy",null]]`},
		{"by id", actorsOf(`, "select": ["id"]`), `[["` + strings.Join(byID, `"],["`) + `"]]`},
		{"equal rows by id", actorsOf(`, "select": ["matched_recordings", "id"]`), `[[[],"` + strings.Join(byID, `"],[[],"`) + `"]]`},
		{"count() descending", actorsOf(`, "select": ["properties.name IS NULL", "count()"]`), `[[0,2],[1,1]]`},
		{"else an aggregate descending", actorsOf(`, "select": ["properties.plan", "max(created_at)"]`), `[[null,"2020-01-22T11:00:00Z"],["pro","2020-01-21T12:00:00Z"]]`},
		{"by the display property", actorsOf(`, "select": ["distinct_ids[1]"], "orderBy": ["person"]`), `[["bob"],["ann"],["cy"]]`},
		{"descending", actorsOf(`, "select": ["distinct_ids[1]"], "orderBy": [" Actor DESC"]`), `[["cy"],["ann"],["bob"]]`},
		{"columns of persons with a prefix", actorsOf(`, "select": ["person.properties.name", "actor.is_identified", "person.$delete"], "search": "bob"`), `[["Bob",false,1]]`},
		{"a person", actorsOf(`, "select": ["person"], "search": "bob"`), `[[{"created_at":"2020-01-21T12:00:00Z","distinct_ids":["bob"],"id":"` + personID("bob") + `","is_identified":false,"properties":{"name":"Bob","plan":"pro"},"uuid":"` + personID("bob") + `"}]]`},
	})
}

// The columns of an ActorsQuery without select depend on its source (§2.9.2).
func TestActors_DefaultColumns(t *testing.T) {
	t.Parallel()
	s := rowsSuite()
	for _, c := range []struct{ of, query, columns string }{
		{"persons", actorsOf(""), `["person","id","person.$delete"]`},
		{"of a trend", actorsOf(pointOf("", "", `, "day": "2020-01-22"`)), `["person","id","person.$delete","event_distinct_ids"]`},
		{"groups", actorsOf(pointOf(`, "math": "unique_group", "math_group_type_index": 0`, "", `, "day": "2020-01-20"`)), `["group"]`},
		{"a list of persons", `{"kind": "PersonsNode"}`, `["person"]`},
		{"given", actorsOf(`, "select": ["id -- Person"]`), `["id -- Person"]`},
	} {
		got, err := s.Run(t, visits(), c.query, port.Options{})
		if err != nil {
			t.Fatal(c.of, err)
		}
		if columns := string(wire.MustEncode(got.Columns)); columns != c.columns {
			t.Errorf("%s: got %s, want %s", c.of, columns, c.columns)
		}
	}
}

// The actors behind a point of a trend (§2.9.3).
func TestActors_OfTrend(t *testing.T) {
	t.Parallel()
	point := func(more, trend, members string) string {
		return actorsOf(`, "select": ["distinct_ids[1]", "event_count", "event_distinct_ids"], "orderBy": ["created_at"]` + pointOf("", trend, more) + members)
	}
	const plans = `, "breakdownFilter": {"breakdown": "page", "breakdown_limit": 1}`
	checkRows(t, []rowsRow{
		{"a day", point(`, "day": "2020-01-22"`, "", ""), `[["ann",1,["ann"]],["bob",1,["bob"]],["cy",1,["cy"]]]`},
		{"another day", point(`, "day": "2020-01-21"`, "", ""), `[["bob",1,["bob"]]]`},
		{"a day as an instant", point(`, "day": "2020-01-21T00:00:00Z"`, "", ""), `[["bob",1,["bob"]]]`},
		{"the whole range", point("", `, "trendsFilter": {"display": "BoldNumber"}`, ""), `[["ann",2,["ann"]],["bob",2,["bob"]],["cy",1,["cy"]]]`},
		{"the most events first", strings.Replace(point("", `, "trendsFilter": {"display": "BoldNumber"}`, `, "limit": 2`), `["created_at"]`, `["event_count DESC", "created_at DESC"]`, 1), `[["bob",2,["bob"]],["ann",2,["ann"]]]`},
		{"a value of a breakdown", point(`, "day": "2020-01-22", "breakdown": "/a"`, plans, ""), `[["ann",1,["ann"]],["cy",1,["cy"]]]`},
		{"the values without a row", point(`, "day": "2020-01-22", "breakdown": "$$_posthog_breakdown_other_$$"`, plans, ""), `[["bob",1,["bob"]]]`},
		{"events without a value", point(`, "day": "2020-01-22", "breakdown": "$$_posthog_breakdown_null_$$"`, `, "breakdownFilter": {"breakdown": "price"}`, ""), `[["ann",1,["ann"]],["cy",1,["cy"]]]`},
		{"search among them", point(`, "day": "2020-01-22"`, "", `, "search": "bob"`), `[["bob",1,["bob"]]]`},
		{"without an ActorsQuery around it", strings.TrimSuffix(strings.TrimPrefix(pointOf("", "", `, "day": "2020-01-21"`), `, "source": `), ""), `[[{"created_at":"2020-01-21T12:00:00Z","distinct_ids":["bob"],"id":"` + personID("bob") + `","is_identified":false,"properties":{"name":"Bob","plan":"pro"},"uuid":"` + personID("bob") + `"},"` + personID("bob") + `",1,["bob"]]]`},
	})
}

// Groups, persons that a HogQLQuery names, and actors that no longer exist, which have only an id
// (§2.9.2).
func TestActors_GroupsAndDeleted(t *testing.T) {
	t.Parallel()
	groups := pointOf(`, "math": "unique_group", "math_group_type_index": 0`, `, "trendsFilter": {"display": "BoldNumber"}`, "")
	hogql := func(query string) string {
		return `, "source": ` + hogqlOf(query, "")
	}
	deleted := personID("dan")
	s := rowsSuite()
	for _, c := range []struct {
		of, query, want string
		missing         int
	}{
		{"groups", actorsOf(`, "orderBy": ["id"]` + groups), `[[{"created_at":"2020-01-05T00:00:00Z","group_key":"acme","group_properties":{"name":"Acme Ltd","size":7},"group_type_index":0,"id":"acme","properties":{"name":"Acme Ltd","size":7},"type":"group"}],[{"id":"gone"}]]`, 1},
		{"columns of groups", actorsOf(`, "select": ["id", "properties.size", "created_at"], "orderBy": ["id"]` + groups), `[["acme",7,"2020-01-05T00:00:00Z"],["gone",null,null]]`, 1},
		{"search in the name of groups", actorsOf(`, "select": ["id"], "search": "ltd"` + groups), `[["acme"]]`, 1},
		{"search in the key", actorsOf(`, "select": ["id"], "search": "GON"` + groups), `[["gone"]]`, 1},
		{"groups by their names", actorsOf(`, "select": ["id"], "orderBy": ["person DESC"]` + groups), `[["gone"],["acme"]]`, 1},
		{"persons of events", actorsOf(`, "select": ["distinct_ids"], "orderBy": ["created_at"]` + hogql("SELECT event, person_id FROM events WHERE event = 'buy'")), `[[["ann"]],[["bob"]]]`, 0},
		{"a person that no longer exists", actorsOf(`, "select": ["person", "created_at", "distinct_ids"]` + hogql("SELECT '"+deleted+"' AS ID")), `[[{"id":"` + deleted + `"},null,[]]]`, 1},
		{"one that exists twice", actorsOf(`, "select": ["id"]` + hogql("SELECT person_id FROM events WHERE distinct_id = 'ann'")), `[["` + personID("ann") + `"]]`, 0},
		{"texts that are no UUID", actorsOf(`, "select": ["id"]` + hogql("SELECT distinct_id FROM events")), `[]`, 0},
		{"the first column with id in its name", actorsOf(`, "select": ["distinct_ids[1]"]` + hogql("SELECT person_id AS liD, '"+deleted+"' AS id FROM events WHERE event = 'buy' AND distinct_id = 'bob'")), `[["bob"]]`, 0},
		{"a filter on persons that no longer exist", actorsOf(`, "select": ["id"], "properties": [{"type": "person", "key": "plan", "operator": "is_not_set"}]` + hogql("SELECT '"+deleted+"' AS id")), `[["` + deleted + `"]]`, 1},
	} {
		got, err := s.Run(t, visits(), c.query, port.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
			continue
		}
		var rows any
		if err := wire.Decode(wire.MustEncode(got.Results), &rows); err != nil {
			t.Fatal(err)
		}
		if text := string(wire.MustEncode(rows)); text != c.want || got.Extra["missing_actors_count"] != c.missing {
			t.Errorf("%s: missing %v of %d\n got %s\nwant %s", c.of, got.Extra["missing_actors_count"], c.missing, text, c.want)
		}
	}
	if _, err := s.Run(t, visits(), actorsOf(hogql("SELECT event FROM events")), port.Options{}); codeOf(err) != "invalid_input" {
		t.Errorf("no column of ids: got %v", err)
	}
}

// A PersonsNode lists the persons of a cohort; cohorts are those of flags.
func TestActors_Cohort(t *testing.T) {
	t.Parallel()
	s := rowsSuite()
	d, err := flags.ParseDefinitions([]byte(`{"flags": [], "cohorts": {"4": {"type": "AND", "values": [{"type": "person", "key": "plan", "value": ["pro"]}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s.Project.Definitions = &d
	for members, want := range map[string]string{
		`, "cohort": 4`: "bob", `, "cohort": 4, "search": "ann"`: "", `, "search": "ann"`: "ann",
		`, "properties": [{"type": "cohort", "key": "id", "value": 4, "operator": "not_in"}]`: "ann cy",
		`, "limit": 1, "offset": 5`: "",
	} {
		var got []string
		for _, row := range s.Results(t, visits(), `{"kind": "PersonsNode"`+members+`}`).([]any) {
			got = append(got, row.([]any)[0].(map[string]any)["distinct_ids"].([]any)[0].(string))
		}
		slices.Sort(got)
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: got %q, want %q", members, text, want)
		}
	}
	for query, want := range map[string]string{"SELECT distinct_ids[1] FROM persons WHERE id IN COHORT 4": `[["bob"]]`, "SELECT distinct_ids[1] FROM persons WHERE id NOT IN COHORT 4 ORDER BY 1": `[["ann"],["cy"]]`} {
		if got := string(wire.MustEncode(s.Results(t, visits(), hogqlOf(query, "")))); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

// The values with which a point of a trend can be selected (§2.9.4).
func TestActors_Options(t *testing.T) {
	t.Parallel()
	s := rowsSuite()
	trend := func(more string) string {
		return `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view"}, {"kind": "EventsNode", "event": "buy"}], "dateRange": {"date_from": "2020-01-21", "date_to": "2020-01-22"}` + more + `}`
	}
	const days = `"day":[{"label":"21-Jan-2020","value":"2020-01-21T00:00:00Z"},{"label":"22-Jan-2020","value":"2020-01-22T00:00:00Z"}]`
	const series = `"series":[{"label":"view","value":0},{"label":"buy","value":1}]`
	for _, c := range []struct{ of, source, want string }{
		{"days and series", trend(""), `{"breakdown":null,"breakdowns":null,"compare":null,` + days + `,` + series + `}`},
		{"of an actors query", `{"kind": "InsightActorsQuery", "source": ` + trend("") + `}`, `{"breakdown":null,"breakdowns":null,"compare":null,` + days + `,` + series + `}`},
		{"a comparison", trend(`, "compareFilter": {"compare": true}`), `{"breakdown":null,"breakdowns":null,"compare":[{"label":"Current","value":"current"},{"label":"Previous","value":"previous"}],` + days + `,` + series + `}`},
		{"a total has no days", trend(`, "trendsFilter": {"display": "BoldNumber"}`), `{"breakdown":null,"breakdowns":null,"compare":null,` + series + `}`},
		{"values of all series", trend(`, "breakdownFilter": {"breakdown": "page", "breakdown_limit": 1}`), `{"breakdown":[{"label":"/a","value":"/a"},{"label":"Other (i.e. all remaining values)","value":"$$_posthog_breakdown_other_$$"},{"label":"None (i.e. no value)","value":"$$_posthog_breakdown_null_$$"}],"breakdowns":null,"compare":null,` + days + `,` + series + `}`},
		{"values of each property", trend(`, "breakdownFilter": {"breakdowns": [{"property": "page"}, {"type": "event_metadata", "property": "event"}]}`), `{"breakdown":null,"breakdowns":[{"values":[{"label":"/a","value":"/a"},{"label":"/b","value":"/b"},{"label":"None (i.e. no value)","value":"$$_posthog_breakdown_null_$$"}]},{"values":[{"label":"view","value":"view"},{"label":"buy","value":"buy"}]}],"compare":null,` + days + `,` + series + `}`},
	} {
		got, err := s.Run(t, visits(), `{"kind": "InsightActorsQueryOptions", "source": `+c.source+`}`, port.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
			continue
		}
		if text := string(wire.MustEncode(got.Extra)); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.of, text, c.want)
		}
	}
}
