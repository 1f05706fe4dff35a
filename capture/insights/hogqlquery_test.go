package insights

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// shop has three persons, two groups and two sessions.
const shop = `[
	["$groupidentify", "a", "2020-01-01T00:00:00Z", {"$group_key": "x", "$group_set": {"size": "big", "n": 7}}],
	["view", "a", "2020-01-02T10:00:00Z", {"$session_id": "s1", "$current_url": "https://s.com/in", "$groups": {"org": "x"}, "$set": {"email": "a@x.com", "plan": "free"}}],
	["buy", "a", "2020-01-02T10:05:00Z", {"$session_id": "s1", "$current_url": "https://s.com/out", "amount": 10, "$set": {"plan": "paid"}}],
	["view", "b", "2020-01-03T10:00:00Z", {"$session_id": "s2", "amount": "5", "o": {"p": [1, 2]}}],
	["buy", "b", "2020-01-04T23:30:00Z", {"amount": 2.5, "$groups": {"org": "y"}}],
	["view", "c", "2020-01-05T00:30:00Z", {"amount": null}]]`

func sql(query string) string {
	return string(wire.MustEncode(map[string]string{"kind": "HogQLQuery", "query": query}))
}

// The fields of the tables of §2.9.6, with expected values computed by hand.
func TestHogQL_Tables(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT person.properties.plan, properties.amount FROM events WHERE distinct_id = 'a' AND event != '$groupidentify' ORDER BY timestamp":                                                                   `[["free",null],["paid",10]]`,
		"SELECT distinct_id, person.created_at, person.id = person_id FROM events WHERE event = 'buy' ORDER BY distinct_id":                                                                                       `[["a","2020-01-01T00:00:00Z",1],["b","2020-01-03T10:00:00Z",1]]`,
		"SELECT group_0.key, group_0.properties.size, group_0.properties.n + 1, group_0.index, $group_0 FROM events WHERE event IN ('view', 'buy') AND $group_0 IS NOT NULL ORDER BY timestamp":                   `[["x","big",8,0,"x"],[null,null,null,null,"y"]]`,
		"SELECT session.id, session.$session_duration, session.$entry_current_url, session.$exit_current_url, session.$entry_pathname, session.$end_timestamp FROM events WHERE event = 'buy' ORDER BY timestamp": `[["s1",300,"https://s.com/in","https://s.com/out","/in","2020-01-02T10:05:00Z"],[null,null,null,null,null,null]]`,
		"SELECT properties.o.p, properties.o['p'], properties.o FROM events WHERE distinct_id = 'b' ORDER BY timestamp LIMIT 1":                                                                                   `[["[1,2]","[1,2]","{\"p\":[1,2]}"]]`,
		"SELECT team_id, person_mode, elements_chain, $session_id FROM events WHERE distinct_id = 'c'":                                                                                                            `[[1,"full","",null]]`,
		"SELECT count(), countIf(properties.email IS NOT NULL), max(length(distinct_ids)) FROM persons":                                                                                                           `[[3,1,1]]`,
		"SELECT properties.email, distinct_ids, is_identified, created_at FROM persons ORDER BY created_at LIMIT 1":                                                                                               `[["a@x.com",["a"],false,"2020-01-01T00:00:00Z"]]`,
		"SELECT index, key, properties.size, created_at FROM groups":                                                                                                                                              `[[0,"x","big","2020-01-01T00:00:00Z"]]`,
		"SELECT toDate(timestamp) AS d, sum(properties.amount) FROM events WHERE event != '$groupidentify' GROUP BY d ORDER BY d":                                                                                 `[["2020-01-02",10],["2020-01-03",5],["2020-01-04",2.5],["2020-01-05",null]]`,
		"SELECT event FROM events WHERE timestamp > '2020-01-03' AND event = 'view' ORDER BY timestamp":                                                                                                           `[["view"],["view"]]`,
		"SELECT event FROM events WHERE event = 'view' AND event = 'buy'":                                                                                                                                         `[]`,
		"SELECT 1 + 1, now()": `[[2,"2020-02-01T00:00:00Z"]]`,
	} {
		got, _, err := ask(t, eventsOf(t, json.RawMessage(shop)), sql(query))
		if err != nil || got != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", query, got, err, want)
		}
	}
}

// {filters}, values and variables (§2.9.5).
func TestHogQL_Parameters(t *testing.T) {
	for _, c := range []struct{ members, want string }{
		{`"query": "SELECT count() FROM events WHERE {filters}"`, `[[6]]`},
		{`"query": "SELECT count() FROM events WHERE {filters}", "filters": {"properties": [{"key": "amount", "value": 3, "operator": "gt"}]}`, `[[2]]`},
		{`"query": "SELECT count() FROM events WHERE {filters}", "filters": {"dateRange": {"date_from": "2020-01-02T10:05:00Z", "date_to": "2020-01-05T00:30:00Z"}}`, `[[3]]`},
		{`"query": "SELECT count() FROM events WHERE event = 'view' OR {filters}", "filters": {"dateRange": {"date_from": "2020-01-04"}}`, `[[4]]`},
		{`"query": "SELECT count() FROM events WHERE {filters}", "filters": {"dateRange": {"date_from": "-29d"}}`, `[[3]]`},
		{`"query": "SELECT count() FROM persons WHERE {filters}", "filters": {"properties": [{"type": "person", "key": "plan", "value": "paid"}]}`, `[[1]]`},
		{`"query": "SELECT count() FROM groups WHERE {filters}", "filters": {"properties": [{"type": "group", "group_type_index": 0, "key": "size", "value": "small"}]}`, `[[0]]`},
		{`"query": "SELECT count() FROM events WHERE distinct_id IN {ids}", "values": {"ids": ["a", "c"]}`, `[[4]]`},
		{`"query": "SELECT countIf(event = {variables.of}) FROM events", "variables": {"1": {"code_name": "of", "value": "buy"}}`, `[[2]]`},
		{`"query": "SELECT {variables.of} IS NULL", "variables": {"1": {"code_name": "of", "value": "buy", "isNull": true}}`, `[[1]]`},
	} {
		got, _, err := ask(t, eventsOf(t, json.RawMessage(shop)), `{"kind": "HogQLQuery", `+c.members+`}`)
		if err != nil || got != c.want {
			t.Errorf("%s:\n got %s, %v\nwant %s", c.members, got, err, c.want)
		}
	}
}

// Errors have the place in the query and the place in the text (§1.7).
func TestHogQL_Rejected(t *testing.T) {
	for _, c := range []struct {
		query, code, attr, detail string
		line, column              int
	}{
		{sql("SELECT\n  nothing FROM events"), "unknown_field", "query__query", `"nothing"`, 2, 3},
		{sql("SELECT person FROM events"), "unknown_field", "query__query", `"person"`, 1, 8},
		{sql("SELECT event FROM events JOIN x"), "not_supported", "query__query", `"JOIN"`, 1, 26},
		{sql("SELECT count() FROM events WHERE person_id IN COHORT 77"), "invalid_input", "query__query", `Cohort "77" does not exist`, 1, 34},
		{sql("SELECT intDiv(1, length(event) - 3) FROM events"), "type_error", "query__query", "Division by zero", 1, 8},
		{`{"kind": "HogQLQuery"}`, "required", "query__query", "required", 0, 0},
		{`{"kind": "HogQLQuery", "query": "SELECT 1 FROM persons WHERE {filters}", "filters": {"properties": [{"key": "a", "value": 1}]}}`, "not_supported", "query__filters__properties", "person and cohort", 0, 0},
		{`{"kind": "EventsQuery", "select": ["event", "x +"]}`, "syntax_error", "query__select__1", "Unexpected end of query", 1, 4},
		{`{"kind": "EventsQuery", "select": ["event", "toInt(nothing)"]}`, "unknown_field", "query__select__1", `"nothing"`, 1, 7},
		{`{"kind": "EventsQuery", "select": ["event"], "where": ["1 = 1", "nope = 1"]}`, "unknown_field", "query__where__1", `"nope"`, 1, 1},
		{`{"kind": "EventsQuery", "orderBy": ["nope DESC"]}`, "unknown_field", "query__orderBy__0", `"nope"`, 1, 1},
		{`{"kind": "EventsQuery", "source": {"kind": "HogQLQuery"}}`, "not_supported", "query__source", "source", 0, 0},
		{`{"kind": "EventsQuery", "limit": 50001}`, "invalid_input", "query__limit", "50001", 0, 0},
		{`{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "math": "hogql", "math_hogql": "1 + 1"}]}`, "type_error", "query__series__0__math_hogql", "no aggregate", 1, 1},
		{`{"kind": "TrendsQuery", "series": [{"kind": "EventsNode"}], "properties": [{"type": "hogql", "key": "count() > 1"}]}`, "type_error", "query__properties__0__key", `"count"`, 1, 1},
	} {
		_, _, err := ask(t, eventsOf(t, json.RawMessage(shop)), c.query)
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Code != c.code || fault.Attr != c.attr || !strings.Contains(fault.Detail, c.detail) || fault.Line != c.line || fault.Column != c.column {
			t.Errorf("%s:\n got %#v\nwant %+v", c.query, err, c)
		}
	}
}

// HogQLMetadata returns where a text is wrong, in characters (§2.1).
func TestHogQL_Metadata(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT event FROM events WHERE {filters}": `{"errors":[],"isValid":true,"notices":[],"warnings":[]}`,
		"SELECT 'ä', nope FROM events":             `{"errors":[{"start":12,"end":16,"message":"Unknown field \"nope\" at line 1, column 13"}],"isValid":false,"notices":[],"warnings":[]}`,
	} {
		text := wire.MustEncode(map[string]string{"kind": "HogQLMetadata", "language": "hogQL", "query": query})
		_, result, err := ask(t, &memory{}, string(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(wire.MustEncode(result.Extra)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", query, got, want)
		}
	}
}

// IN COHORT tests current membership in dynamic and static cohorts (§3.2.4).
func TestHogQL_Cohorts(t *testing.T) {
	m := eventsOf(t, json.RawMessage(shop))
	m.members = map[int64][]capture.UUID{2: {capture.PersonID(1, "c")}}
	definitions, err := flags.ParseDefinitions([]byte(`{"flags": [], "cohorts": {"1": {"type": "AND", "values": [{"type": "person", "key": "plan", "operator": "exact", "value": ["paid"]}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	definitions.StaticCohorts = []int64{2}
	for query, want := range map[string]string{
		"SELECT count() FROM events WHERE person_id IN COHORT 1":                           `[[3]]`,
		"SELECT count() FROM events WHERE person_id NOT IN COHORT '1' AND event != 'none'": `[[3]]`,
		"SELECT count() FROM events WHERE person.id IN COHORT 2":                           `[[1]]`,
		"SELECT count() FROM persons WHERE id IN COHORT 1 OR id IN COHORT 2":               `[[2]]`,
	} {
		q, err := Parse(json.RawMessage(sql(query)), &port.Project{ID: 1, Definitions: &definitions})
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		result, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2020, 2, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil || string(wire.MustEncode(result.Results)) != want {
			t.Errorf("%s: got %s, %v, want %s", query, wire.MustEncode(result), err, want)
		}
	}
}

// A cohort with a condition about events is a not_supported error that names the cohort and the
// condition (§3.2.4).
func TestCohorts_AboutEvents(t *testing.T) {
	definitions, err := flags.ParseDefinitions([]byte(`{"flags": [], "cohorts": {
		"1": {"type": "OR", "values": [{"type": "AND", "values": [{"type": "behavioral", "key": "buy", "value": "performed_event"}]}]},
		"2": {"type": "AND", "values": [{"type": "cohort", "key": "id", "value": 1}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for query, attr := range map[string]string{
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode"}],"properties":[{"type":"cohort","key":"id","value":1}]}`:               "query__properties__0__value",
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode"}],"properties":[{"type":"cohort","key":"id","value":2}]}`:               "query__properties__0__value",
		`{"kind":"TrendsQuery","series":[{"kind":"EventsNode"}],"breakdownFilter":{"breakdown_type":"cohort","breakdown":["all",1]}}`: "query__breakdownFilter__breakdown__1",
		sql("SELECT count() FROM events WHERE person_id IN COHORT 2"):                                                                 "query__query",
	} {
		_, err := Parse(json.RawMessage(query), &port.Project{ID: 1, Definitions: &definitions})
		var e *port.Error
		if !errors.As(err, &e) || e.Code != document.NotSupported || e.Attr != attr || !strings.Contains(e.Detail, "Cohort 1") || !strings.Contains(e.Detail, "behavioral") {
			t.Errorf("%s: %+v", query, err)
		}
	}
}

// HogQL as a math, a filter, a breakdown and an actor.
func TestHogQL_InInsights(t *testing.T) {
	const series = `"series": [{"kind": "EventsNode", "event": "buy"}]`
	const dates = `"dateRange": {"date_from": "2020-01-02", "date_to": "2020-01-05"}`
	for query, want := range map[string]string{
		`{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "math": "hogql", "math_hogql": "sum(properties.amount) * 2 + count()"}], ` + dates + `}`:                  `[22,11,6,0]`,
		`{"kind": "TrendsQuery", ` + series + `, ` + dates + `, "properties": [{"type": "hogql", "key": "properties.amount > 3 and distinct_id = 'a'"}]}`:                    `[1,0,0,0]`,
		`{"kind": "TrendsQuery", ` + series + `, ` + dates + `, "breakdownFilter": {"breakdown_type": "hogql", "breakdown": "if(properties.amount > 5, 'much', 'little')"}}`: `[0,0,1,0],[1,0,0,0]`,
	} {
		got, _, err := ask(t, eventsOf(t, json.RawMessage(shop)), query)
		var rows []struct{ Data json.RawMessage }
		if err == nil {
			err = json.Unmarshal([]byte(got), &rows)
		}
		var data []string
		for _, r := range rows {
			data = append(data, string(r.Data))
		}
		if err != nil || strings.Join(data, ",") != want {
			t.Errorf("%s:\n got %s, %v\nwant %s", query, got, err, want)
		}
	}
	got, _, err := ask(t, eventsOf(t, json.RawMessage(shop)), `{"kind": "FunnelsQuery", "series": [{"kind": "EventsNode", "event": "view"}, {"kind": "EventsNode", "event": "buy"}], `+dates+`, "funnelsFilter": {"funnelAggregateByHogQL": "properties.$session_id"}}`)
	if err != nil || !strings.Contains(got, `"count":2`) || !strings.Contains(got, `"count":1`) {
		t.Errorf("sessions: %s, %v, want 2 that view and 1 that buys", got, err)
	}
	got, _, err = ask(t, eventsOf(t, json.RawMessage(shop)), `{"kind": "StickinessQuery", "series": [{"kind": "EventsNode", "math": "hogql", "math_hogql": "properties.$session_id"}], `+dates+`}`)
	if err != nil || !strings.Contains(got, `"data":[2,0,0,0]`) {
		t.Errorf("sessions: %s, %v, want two of one day", got, err)
	}
}
