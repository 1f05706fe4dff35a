package funnels

import (
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/flags/wire"
)

// suite runs the queries of this package in a project in UTC.
var suite = querytest.Suite{Kinds: Kinds}

// funnel returns a FunnelsQuery of the steps A, B and C over January 2020, with members of
// funnelsFilter and of the query.
func funnel(filter, query string) string {
	return funnelOf(`{"kind": "EventsNode", "event": "A"}, {"kind": "EventsNode", "event": "B"}, {"kind": "EventsNode", "event": "C"}`, filter, query)
}

func funnelOf(steps, filter, query string) string {
	return `{"kind": "FunnelsQuery", "series": [` + steps + `], "dateRange": {"date_from": "2020-01-01", "date_to": "2020-01-31"}, "funnelsFilter": {` + filter + `}` + query + `}`
}

// The events of each person are letters with their hour of 10 January. The counts follow from the
// rules of insights.md §2.5.2.
func TestFunnels_Orders(t *testing.T) {
	for _, c := range []struct{ of, events, filter, want string }{
		{"in order", "a A1 B2 C3", ``, "1 1 1"},
		{"the second step is missing", "a A1 C3", ``, "1 0 0"},
		{"no first step", "a B2 C3", ``, "0 0 0"},
		{"another event in between", "a A1 X2 B3 C4", ``, "1 1 1"},
		{"steps in another order", "a A1 C2 B3", ``, "1 1 0"},
		{"the first step again", "a A1 A2 B3 C4", ``, "1 1 1"},
		{"two people", "a A1 B2, b A1 B2 C3", ``, "2 2 1"},
		{"nobody", "a X1", ``, "0 0 0"},
		{"the window's end belongs to it", "a A1 B2 C4", `"funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour"`, "1 1 1"},
		{"one step after the window", "a A1 B2 C5", `"funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour"`, "1 1 0"},
		{"the window is that from the first step", "a A1 B3 C5", `"funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour"`, "1 1 0"},
		{"the most recent start counts", "a A1 A3 B5", `"funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour"`, "1 1 0"},
		{"a window in minutes", "a A1 B2", `"funnelWindowInterval": 60, "funnelWindowIntervalUnit": "minute"`, "1 1 0"},
		{"a window in seconds that is one too short", "a A1 B2", `"funnelWindowInterval": 3599, "funnelWindowIntervalUnit": "second"`, "1 0 0"},
		{"at one instant: steps in their order", "a B1 A1 C1", ``, "1 1 1"},
		{"strict: directly after each other", "a A1 B2 C3", `"funnelOrderType": "strict"`, "1 1 1"},
		{"strict: another event in between", "a A1 X2 B3 C4", `"funnelOrderType": "strict"`, "1 0 0"},
		{"strict: another event before", "a X1 A2 B3 C4", `"funnelOrderType": "strict"`, "1 1 1"},
		{"strict: the first step again", "a A1 A2 B3 C4", `"funnelOrderType": "strict"`, "1 1 1"},
		{"strict: a second attempt", "a A1 X2 A3 B4 C5", `"funnelOrderType": "strict"`, "1 1 1"},
		{"unordered: any order", "a C1 B2 A3", `"funnelOrderType": "unordered"`, "1 1 1"},
		{"unordered: two of three", "a C1 A3", `"funnelOrderType": "unordered"`, "1 1 0"},
		{"unordered: the same step twice is one", "a C1 C2 C3", `"funnelOrderType": "unordered"`, "1 0 0"},
		{"unordered: outside of the window", "a C1 B2 A5", `"funnelOrderType": "unordered", "funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour"`, "1 1 0"},
		{"unordered: a later start", "a C1 C4 B5 A6", `"funnelOrderType": "unordered", "funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour"`, "1 1 1"},
		{"an exclusion between two steps", "a A1 X2 B3 C4", exclusionOf("0", "1"), "0 0 0"},
		{"an exclusion after them", "a A1 B2 X3 C4", exclusionOf("0", "1"), "1 1 1"},
		{"an exclusion before them", "a X1 A2 B3", exclusionOf("0", "1"), "1 1 0"},
		{"an exclusion that did not end the attempt", "a A1 B2 X3 C4", exclusionOf("1", "2"), "0 0 0"},
		{"a new attempt after an exclusion", "a A1 X2 A3 B4 C5", exclusionOf("0", "1"), "1 1 1"},
		{"an exclusion at the end without the next step", "a A1 X2", exclusionOf("0", "1"), "0 0 0"},
		{"an exclusion after the window", "a A1 X9", exclusionOf("0", "1") + `, "funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour"`, "1 0 0"},
		{"an exclusion of another person", "a A1 B2, b X1", exclusionOf("0", "1"), "1 1 0"},
	} {
		if got := querytest.Member(suite.Results(t, letters(c.events), funnel(c.filter, "")), "count"); got != c.want {
			t.Errorf("%s: %s: got %s, want %s", c.of, c.events, got, c.want)
		}
	}
}

// exclusionOf returns the exclusion of X between two steps.
func exclusionOf(from, to string) string {
	return `"exclusions": [{"kind": "EventsNode", "event": "X", "funnelFromStep": ` + from + `, "funnelToStep": ` + to + `}]`
}

// letters returns the events of a text such as "a A1 B2, b A1": persons, and events with their hour.
func letters(text string) *querytest.Store {
	list, person := "[", ""
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z':
			person = text[i : i+1]
		case c >= 'A' && c <= 'Z':
			if len(list) > 1 {
				list += ","
			}
			list += `["` + text[i:i+1] + `", "` + person + `", "2020-01-10T0` + text[i+1:i+2] + `:00:00Z", {"plan": "` + person + `"}]`
		}
	}
	return querytest.Events(list + "]")
}

// Times of conversion, names, breakdowns and the other kinds of results of §2.5.3 to §2.5.5.
func TestFunnels_Results(t *testing.T) {
	events := letters("a A1 B2 C3, b A1 B3, c A1 B4, d A1, e A1 B1")
	for _, c := range []struct{ of, query, member, want string }{
		{"counts", funnel("", ""), "count", "5 4 1"},
		{"the mean of 1, 2 and 3 hours; no time is left out", funnel("", ""), "average_conversion_time", "null 7200 3600"},
		{"the median", funnel("", ""), "median_conversion_time", "null 7200 3600"},
		{"names", funnel("", ""), "name", `"A" "B" "C"`},
		{"ids", funnel("", ""), "action_id", `"A" "B" "C"`},
		{"the order", funnel("", ""), "order", "0 1 2"},
		{"types", funnel("", ""), "type", `"events" "events" "events"`},
		{"unordered steps have names of their own", funnel(`"funnelOrderType": "unordered"`, ""), "name", `"Completed 1 step" "Completed 2 steps" "Completed 3 steps"`},
		{"and no ids", funnel(`"funnelOrderType": "unordered"`, ""), "action_id", "null null null"},
		{"every event", funnelOf(`{"kind": "EventsNode", "event": null}`, "", ""), "action_id", "null"},
		{"its count", funnelOf(`{"kind": "EventsNode", "event": null}`, "", ""), "count", "5"},
		{"a custom name", funnelOf(`{"kind": "EventsNode", "event": "A", "custom_name": "Start"}`, "", ""), "custom_name", `"Start"`},
		{"a filter of a step", funnelOf(`{"kind": "EventsNode", "event": "A"}, {"kind": "EventsNode", "event": "B", "properties": [{"key": "plan", "value": ["a", "b"]}]}`, "", ""), "count", "5 2"},
		{"a filter of all steps", funnel("", `, "properties": [{"key": "plan", "value": "a"}]`), "count", "1 1 1"},
		{"an actor by an expression", funnel(`"funnelAggregateByHogQL": "properties.plan = 'a'"`, ""), "count", "2 2 1"},
		{"an actor that is missing", funnel(`"funnelAggregateByHogQL": "properties.none"`, ""), "count", "0 0 0"},
		{"bins of the number of actors: two of 80,580 / 2 seconds", funnelOf(`{"kind": "EventsNode", "event": "S"}, {"kind": "EventsNode", "event": "E"}`, `"funnelVizType": "time_to_convert"`, ""), "", `{"average_conversion_time":29540,"bins":[[2220,2],[42510,0],[82800,1]]}`},
		{"three bins", funnelOf(`{"kind": "EventsNode", "event": "S"}, {"kind": "EventsNode", "event": "E"}`, `"funnelVizType": "time_to_convert", "binCount": 3`, ""), "", `{"average_conversion_time":29540,"bins":[[2220,2],[29080,0],[55940,0],[82800,1]]}`},
		{"bins of no actors", funnelOf(`{"kind": "EventsNode", "event": "none"}, {"kind": "EventsNode", "event": "E"}`, `"funnelVizType": "time_to_convert"`, ""), "", `{"average_conversion_time":null,"bins":[[0,0],[60,0]]}`},
	} {
		store := events
		if c.member == "" {
			store = conversions
		}
		results := suite.Results(t, store, c.query)
		got := querytest.Member(results, c.member)
		if c.member == "" {
			got = string(wire.MustEncode(results))
		}
		if got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.member, got, c.want)
		}
	}
}

// conversions are those of insights.md §4: they take 2,220, 3,600 and 82,800 seconds.
var conversions = querytest.Events(`[
	["S", "a", "2020-01-10T00:00:00Z"], ["E", "a", "2020-01-10T00:37:00Z"], ["S", "b", "2020-01-10T00:00:00Z"], ["E", "b", "2020-01-10T01:00:00Z"],
	["S", "c", "2020-01-10T00:00:00Z"], ["E", "c", "2020-01-10T23:00:00Z"], ["S", "d", "2020-01-10T00:00:00Z"]]`)

// The percentage of a day of trends is that of the actors who entered on it, with two places.
func TestFunnels_Trends(t *testing.T) {
	store := querytest.Events(`[["S", "a", "2020-01-10T10:00:00Z"], ["E", "a", "2020-01-11T09:00:00Z"], ["S", "b", "2020-01-10T10:00:00Z"], ["S", "c", "2020-01-10T23:00:00Z"], ["E", "c", "2020-01-13T00:00:00Z"],
		["S", "a", "2020-01-12T10:00:00Z"], ["E", "a", "2020-01-12T11:00:00Z"], ["S", "d", "2020-01-10T01:00:00Z"], ["S", "d", "2020-01-10T02:00:00Z"], ["E", "d", "2020-01-10T03:00:00Z"]]`)
	query := func(filter, more string) string {
		return `{"kind": "FunnelsQuery", "series": [{"kind": "EventsNode", "event": "S"}, {"kind": "EventsNode", "event": "E"}], "dateRange": {"date_from": "2020-01-10", "date_to": "2020-01-12"}, "funnelsFilter": {"funnelVizType": "trends"` + filter + `}` + more + `}`
	}
	for _, c := range []struct{ of, query, member, want string }{
		{"a and d of four on the 10th, nobody on the 11th, a on the 12th", query("", ""), "data", "[50,0,100]"},
		{"the days", query("", ""), "days", `["2020-01-10","2020-01-11","2020-01-12"]`},
		{"the count is that of the days", query("", ""), "count", "3"},
		{"a window of an hour: d of four, a", query(`, "funnelWindowInterval": 1, "funnelWindowIntervalUnit": "hour"`, ""), "data", "[25,0,100]"},
		{"weeks: a and d of four", query("", `, "interval": "week"`), "data", "[50,100]"},
		{"hours have 24 buckets a day", query("", `, "interval": "hour"`), "count", "49"},
	} {
		if got := querytest.Member(suite.Results(t, store, c.query), c.member); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.member, got, c.want)
		}
	}
}

// Attribution of a breakdown (§2.5.3). Person a has plan x at A and y at B; b has y at both.
func TestFunnels_Breakdowns(t *testing.T) {
	store := querytest.Events(`[["A", "a", "2020-01-10T01:00:00Z", {"plan": "x"}], ["B", "a", "2020-01-10T02:00:00Z", {"plan": "y"}],
		["A", "b", "2020-01-10T01:00:00Z", {"plan": "y"}], ["B", "b", "2020-01-10T02:00:00Z", {"plan": "y"}], ["A", "c", "2020-01-10T01:00:00Z"]]`)
	steps := `{"kind": "EventsNode", "event": "A"}, {"kind": "EventsNode", "event": "B"}`
	for _, c := range []struct{ of, filter, breakdown, want string }{
		{"the first value", `"breakdownAttributionType": "first_touch"`, `"breakdown": "plan"`, `["x"] 1 1, ["y"] 1 1, [""] 1 0`},
		{"the last value", `"breakdownAttributionType": "last_touch"`, `"breakdown": "plan"`, `["y"] 2 2, [""] 1 0`},
		{"the value of all events", `"breakdownAttributionType": "all_events"`, `"breakdown": "plan"`, `["y"] 1 1, [""] 1 0, ["x"] 1 0`},
		{"the value of the first step", `"breakdownAttributionType": "step"`, `"breakdown": "plan"`, `["x"] 1 1, ["y"] 1 1, [""] 1 0`},
		{"the value of the second step", `"breakdownAttributionType": "step", "breakdownAttributionValue": 1`, `"breakdown": "plan"`, `["y"] 2 2`},
		{"one value and the rest", ``, `"breakdown": "plan", "breakdown_limit": 1`, `["Other"] 2 1, ["x"] 1 1`},
		{"two properties", ``, `"breakdown": ["plan", "none"]`, `["x",""] 1 1, ["y",""] 1 1, ["",""] 1 0`},
	} {
		got := ""
		groups, _ := suite.Results(t, store, funnelOf(steps, c.filter, `, "breakdownFilter": {`+c.breakdown+`}`)).([]any)
		for i, g := range groups {
			if i > 0 {
				got += ", "
			}
			got += string(wire.MustEncode(g.([]any)[0].(map[string]any)["breakdown_value"])) + " " + querytest.Member(g, "count")
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.of, got, c.want)
		}
	}
}
