package insights

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// ask runs a query over events in memory and returns its results as JSON.
func ask(t *testing.T, m *memory, query string) (string, *port.Result, error) {
	t.Helper()
	q, err := Parse(json.RawMessage(query), &port.Project{ID: 1, GroupTypes: []string{"org"}})
	if err != nil {
		return "", nil, err
	}
	result, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2020, 2, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		return "", nil, err
	}
	return string(wire.MustEncode(result.Results)), result, nil
}

const groupEvents = `[
	["a", "p1", "2020-01-01T01:00:00Z", {"$groups": {"org": "x"}}],
	["b", "p2", "2020-01-01T02:00:00Z", {"$groups": {"org": "x"}}],
	["a", "p2", "2020-01-01T03:00:00Z", {"$groups": {"org": "y"}}],
	["a", "p3", "2020-01-01T03:00:00Z"]]`

const groupFunnel = `{"kind": "FunnelsQuery", "series": [{"kind": "EventsNode", "event": "a"}, {"kind": "EventsNode", "event": "b"}],
	"dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-31"}, "aggregation_group_type_index": 0}`

// TestActors_Groups tests actors that are groups (§2.5.1, §2.9.2): x did a and b through two
// persons, y did a, and the group y was deleted afterwards.
func TestActors_Groups(t *testing.T) {
	m := eventsOf(t, json.RawMessage(groupEvents))
	created := time.Date(2020, 1, 1, 1, 0, 0, 0, time.UTC)
	acme, _ := capture.ParseObject(`{"name": "Acme"}`)
	m.groups = map[int][]capture.Group{0: {{GroupID: capture.GroupID{Key: "x"}, CreatedAt: created, Properties: acme}}}
	for source, want := range map[string]string{
		`{"kind": "FunnelsActorsQuery", "funnelStep": 2, "source": ` + groupFunnel + `}`:                                                                         `[[{"created_at":"2020-01-01T01:00:00Z","group_key":"x","group_properties":{"name":"Acme"},"group_type_index":0,"id":"x","properties":{"name":"Acme"},"type":"group"}]]`,
		`{"kind": "ActorsQuery", "select": ["id", "properties.name"], "source": {"kind": "FunnelsActorsQuery", "funnelStep": 1, "source": ` + groupFunnel + `}}`: `[["x","Acme"],["y",null]]`,
		`{"kind": "ActorsQuery", "select": ["id"], "search": "acM", "source": {"kind": "FunnelsActorsQuery", "funnelStep": 1, "source": ` + groupFunnel + `}}`:   `[["x"]]`,
		`{"kind": "ActorsQuery", "select": ["count()"], "source": {"kind": "FunnelsActorsQuery", "funnelStep": -2, "source": ` + groupFunnel + `}}`:              `[[1]]`,
	} {
		got, result, err := ask(t, m, source)
		if err != nil || got != want {
			t.Errorf("%s\n got %s %v\nwant %s", source, got, err, want)
			continue
		}
		if missing := result.Extra["missing_actors_count"]; want == `[["x","Acme"],["y",null]]` && missing != 1 {
			t.Errorf("missing: %v", missing)
		}
	}
}

// TestActors_OfResults tests the actors of funnels, with a breakdown and over time, and of
// retention (§2.9.3).
func TestActors_OfResults(t *testing.T) {
	m := eventsOf(t, json.RawMessage(`[
		["a", "p1", "2020-01-01T01:00:00Z", {"os": "Mac", "$set": {"name": "p1"}}], ["b", "p1", "2020-01-02T01:00:00Z", {"os": "Mac"}],
		["a", "p2", "2020-01-01T02:00:00Z", {"os": "Mac", "$set": {"name": "p2"}}],
		["a", "p3", "2020-01-02T02:00:00Z", {"os": "Win", "$set": {"name": "p3"}}], ["b", "p3", "2020-01-02T03:00:00Z", {"os": "Win"}],
		["a", "p4", "2020-01-02T02:00:00Z", {"$set": {"name": "p4"}}]]`))
	funnel := func(more string) string {
		return `{"kind": "FunnelsQuery", "series": [{"kind": "EventsNode", "event": "a"}, {"kind": "EventsNode", "event": "b"}], "interval": "day",
			"dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-03"}, "breakdownFilter": {"breakdown": "os", "breakdown_limit": 1}` + more + `}`
	}
	over := `, "funnelsFilter": {"funnelVizType": "trends"}`
	retention := `{"kind": "RetentionQuery", "dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-03"},
		"retentionFilter": {"totalIntervals": 3, "targetEntity": {"id": "a", "type": "events"}, "returningEntity": {"id": "b", "type": "events"}}}`
	for _, c := range []struct{ name, source, columns, want string }{
		{"reached, of a value", `{"kind": "FunnelsActorsQuery", "funnelStep": 1, "funnelStepBreakdown": ["Mac"], "source": ` + funnel("") + `}`, `"properties.name"`, `[["p1"],["p2"]]`},
		{"a text for a list of one", `{"kind": "FunnelsActorsQuery", "funnelStep": -2, "funnelStepBreakdown": "Mac", "source": ` + funnel("") + `}`, `"properties.name"`, `[["p2"]]`},
		{"without a value", `{"kind": "FunnelsActorsQuery", "funnelStep": 1, "funnelStepBreakdown": [""], "source": ` + funnel("") + `}`, `"properties.name"`, `[["p4"]]`},
		{"the rest of the values: not Mac, which has one conversion as Win has, and more entered", `{"kind": "FunnelsActorsQuery", "funnelStep": 1, "funnelStepBreakdown": "Other", "source": ` + funnel("") + `}`, `"properties.name"`, `[["p3"],["p4"]]`},
		{"all values", `{"kind": "FunnelsActorsQuery", "funnelStep": 2, "source": ` + funnel("") + `}`, `"properties.name"`, `[["p1"],["p3"]]`},
		{"entered on a day and converted", `{"kind": "FunnelsActorsQuery", "funnelTrendsEntrancePeriodStart": "2020-01-01", "funnelTrendsDropOff": false, "source": ` + funnel(over) + `}`, `"properties.name"`, `[["p1"]]`},
		{"entered on a day and did not", `{"kind": "FunnelsActorsQuery", "funnelTrendsEntrancePeriodStart": "2020-01-01T00:00:00Z", "funnelTrendsDropOff": true, "source": ` + funnel(over) + `}`, `"properties.name"`, `[["p2"]]`},
		{"a row of retention", `{"kind": "InsightActorsQuery", "interval": 0, "source": ` + retention + `}`, `"properties.name", "appearances"`, `[["p1",[0,1]],["p2",[0]]]`},
		{"by the display property", `{"kind": "InsightActorsQuery", "interval": 1, "source": ` + retention + `}`, `"properties.name"`, `[["p3"],["p4"]]`},
	} {
		got, _, err := ask(t, m, `{"kind": "ActorsQuery", "select": [`+c.columns+`], "orderBy": ["person"], "source": `+c.source+`}`)
		if err != nil || got != c.want {
			t.Errorf("%s: got %s %v, want %s", c.name, got, err, c.want)
		}
	}
}

// The actors of a stickiness series whose math is an expression (§2.8) are persons if the
// expression returns their ids. Other strings, also digits, do not identify a person.
func TestActors_OfStickinessByExpression(t *testing.T) {
	m := eventsOf(t, json.RawMessage(`[
		["a", "p1", "2020-01-01T01:00:00Z", {"n": 1, "$set": {"name": "p1"}}], ["a", "p1", "2020-01-02T01:00:00Z", {"n": 1}],
		["a", "p2", "2020-01-01T02:00:00Z", {"n": 0, "$set": {"name": "p2"}}]]`))
	query := func(math string, day int) string {
		return fmt.Sprintf(`{"kind": "ActorsQuery", "select": ["properties.name"], "source": {"kind": "StickinessActorsQuery", "day": %d, "series": 0, "source": {"kind": "StickinessQuery",
			"series": [{"kind": "EventsNode", "event": "a", "math": "hogql", "math_hogql": %q}], "dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-03"}}}}`, day, math)
	}
	for day, want := range map[int]string{1: `[["p2"]]`, 2: `[["p1"]]`, 3: `[]`} {
		if got, _, err := ask(t, m, query("person_id", day)); err != nil || got != want {
			t.Errorf("active on %d days: got %s %v, want %s", day, got, err, want)
		}
	}
	for _, math := range []string{"properties.n", "toString(properties.n)", "distinct_id"} {
		_, _, err := ask(t, m, query(math, 1))
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Code != document.NotSupported || fault.Attr != "query__source__source__series__0__math_hogql" {
			t.Errorf("%s: %v, want it refused", math, err)
		}
	}
}

// TestActors_Filters tests filters of persons, trees of them, expressions and searches (§2.9.2).
func TestActors_Filters(t *testing.T) {
	m := eventsOf(t, json.RawMessage(`[
		["a", "p1", "2020-01-01T01:00:00Z", {"$set": {"name": "Ann", "age": 30}}], ["a", "p2", "2020-01-01T02:00:00Z", {"$set": {"name": "Bob", "age": 40}}],
		["a", "p3", "2020-01-01T02:00:00Z", {"$set": {"name": "Cid", "email": "c@bob.example"}}]]`))
	for members, want := range map[string]string{
		`"properties": [{"type": "person", "key": "age", "operator": "gt", "value": 35}]`:                                                                         `[["Bob"]]`,
		`"properties": {"type": "OR", "values": [{"type": "person", "key": "name", "value": "Ann"}, {"type": "person", "key": "age", "operator": "is_not_set"}]}`: `[["Ann"],["Cid"]]`,
		`"properties": [{"type": "person", "key": "distinct_id", "value": "p2"}]`:                                                                                 `[["Bob"]]`,
		`"properties": [{"type": "hogql", "key": "properties.age < 35 or person.properties.name = 'Cid'"}]`:                                                       `[["Ann"],["Cid"]]`,
		`"search": "BOB"`: `[["Bob"],["Cid"]]`,
		`"search": "bob", "fixedProperties": [{"type": "person", "key": "age", "operator": "is_set"}]`: `[["Bob"]]`,
	} {
		query := `{"kind": "ActorsQuery", "select": ["properties.name"], ` + members + `}`
		if got, _, err := ask(t, m, query); err != nil || got != want {
			t.Errorf("%s: got %s %v, want %s", query, got, err, want)
		}
	}
}

// TestActors_Rejected tests queries that are errors (§1.7, §2.9.3).
func TestActors_Rejected(t *testing.T) {
	for query, attr := range map[string]string{
		`{"kind": "FunnelsActorsQuery", "funnelStep": 0, "source": ` + groupFunnel + `}`:                                     "query__funnelStep",
		`{"kind": "FunnelsActorsQuery", "funnelStep": 3, "source": ` + groupFunnel + `}`:                                     "query__funnelStep",
		`{"kind": "ActorsQuery", "source": {"kind": "FunnelsActorsQuery", "funnelStep": -1, "source": ` + groupFunnel + `}}`: "query__source__funnelStep",
		`{"kind": "ActorsQuery", "source": {"kind": "EventsQuery"}}`:                                                         "query__source__kind",
		`{"kind": "ActorsQuery", "select": ["person", "nothing"]}`:                                                           "query__select__1",
		`{"kind": "ActorsQuery", "orderBy": ["nothing DESC"]}`:                                                               "query__orderBy__0",
		`{"kind": "ActorsQuery", "select": ["person", "1 +"]}`:                                                               "query__select__1",
		`{"kind": "ActorsQuery", "properties": [{"type": "event", "key": "a", "value": 1}]}`:                                 "query__properties",
		`{"kind": "ActorsQuery", "limit": 60000}`:                                                                            "query__limit",
		`{"kind": "InsightActorsQuery", "source": {"kind": "RetentionQuery"}}`:                                               "query__interval",
	} {
		_, _, err := ask(t, &memory{}, query)
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Attr != attr {
			t.Errorf("%s: %v, want a fault at %s", query, err, attr)
		}
	}
}
