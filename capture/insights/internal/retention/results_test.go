package retention

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/flags/wire"
)

// suite runs the queries of this package in a project in UTC whose weeks begin on Sunday.
var suite = querytest.Suite{Kinds: Kinds}

// returns are those of insights.md §4: person1 on 10, 11, 12, 15 and 16 June, person2 on 11, 12, 13
// and 16 June.
var returns = querytest.Events(`[
	["$pageview", "1", "2020-06-10T12:00:00Z", {"plan": "x"}], ["$pageview", "1", "2020-06-11T12:00:00Z", {"plan": "x"}], ["$pageview", "1", "2020-06-12T12:00:00Z", {"plan": "x"}],
	["$pageview", "1", "2020-06-15T12:00:00Z", {"plan": "y"}], ["$pageview", "1", "2020-06-16T12:00:00Z", {"plan": "y"}],
	["$pageview", "2", "2020-06-11T12:00:00Z"], ["$pageview", "2", "2020-06-12T12:00:00Z"], ["$pageview", "2", "2020-06-13T12:00:00Z"], ["$pageview", "2", "2020-06-16T12:00:00Z"],
	["buy", "1", "2020-06-12T12:00:00Z"], ["buy", "1", "2020-06-12T13:00:00Z"], ["buy", "2", "2020-06-16T13:00:00Z"]]`)

// cells returns the counts of the rows of a RetentionQuery, rows separated by slashes.
func cells(t *testing.T, filter, query string) string {
	t.Helper()
	var out []string
	rows, _ := suite.Results(t, returns, retentionOf(filter, query)).([]any)
	for _, row := range rows {
		out = append(out, querytest.Member(row.(map[string]any)["values"], "count"))
	}
	return strings.Join(out, " / ")
}

func retentionOf(filter, query string) string {
	return `{"kind": "RetentionQuery", "retentionFilter": {` + filter + `}` + query + `}`
}

// Rows and cells of insights.md §2.6. Each sum can be read from the days of the two persons.
func TestRetention_Cells(t *testing.T) {
	const week = `, "dateRange": {"date_from": "2020-06-10", "date_to": "2020-06-16"}`
	const buys = `"returningEntity": {"id": "buy", "type": "events"}, "totalIntervals": 3`
	for _, c := range []struct{ of, filter, query, want string }{
		{"the worked example", `"totalIntervals": 7`, week, "1 1 1 0 0 1 1 / 2 2 1 0 1 2 0 / 2 1 0 1 2 0 0 / 1 0 0 1 0 0 0 / 0 0 0 0 0 0 0 / 1 1 0 0 0 0 0 / 2 0 0 0 0 0 0"},
		{"two columns", `"totalIntervals": 2`, week, "1 1 / 2 2 / 2 1 / 1 0 / 0 0 / 1 1 / 2 0"},
		{"first time", `"totalIntervals": 3, "retentionType": "retention_first_time"`, week, "1 1 1 / 1 1 1 / 0 0 0 / 0 0 0 / 0 0 0 / 0 0 0 / 0 0 0"},
		{"first time ever", `"totalIntervals": 2, "retentionType": "retention_first_time"`, `, "dateRange": {"date_from": "2020-06-11", "date_to": "2020-06-12"}`, "1 1 / 0 0"},
		{"on or after", `"totalIntervals": 3, "cumulative": true`, week, "1 1 1 / 2 2 1 / 2 1 0 / 1 0 0 / 0 0 0 / 1 1 0 / 2 0 0"},
		{"another event returns", buys, week, "1 0 1 / 2 1 0 / 2 0 0 / 1 0 0 / 0 0 0 / 1 0 0 / 2 0 0"},
		{"twice in an interval", buys + `, "minimumOccurrences": 2`, week, "1 0 1 / 2 1 0 / 2 0 0 / 1 0 0 / 0 0 0 / 1 0 0 / 2 0 0"},
		{"three times", buys + `, "minimumOccurrences": 3`, `, "dateRange": {"date_from": "2020-06-11", "date_to": "2020-06-12"}`, "2 0 0 / 2 0 0"},
		{"weeks from Sunday", `"period": "Week", "totalIntervals": 2`, week, "2 2 / 2 0"}, // 7 and 14 June
		{"a month", `"period": "Month", "totalIntervals": 2`, week, "2 0"},
		{"a filter of the query", `"totalIntervals": 2`, week + `, "properties": [{"key": "plan", "value": "y"}]`, "0 0 / 0 0 / 0 0 / 0 0 / 0 0 / 1 1 / 1 0"},
		{"a filter of the target", `"totalIntervals": 2, "targetEntity": {"id": "$pageview", "type": "events", "properties": [{"key": "plan", "value": "x"}]}`, week, "1 1 / 1 1 / 1 0 / 0 0 / 0 0 / 0 0 / 0 0"},
		{"every event", `"totalIntervals": 1, "targetEntity": {"id": null, "type": "events"}`, week, "1 / 2 / 2 / 1 / 0 / 1 / 2"},
		{"no days", `"totalIntervals": 2`, `, "dateRange": {"date_from": "2020-06-12", "date_to": "2020-06-11"}`, ""},
	} {
		if got := cells(t, c.filter, c.query); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.of, got, c.want)
		}
	}
}

// Labels, dates and breakdowns of §2.6.
func TestRetention_Rows(t *testing.T) {
	const days = `, "dateRange": {"date_from": "2020-06-11", "date_to": "2020-06-12"}`
	for _, c := range []struct{ of, filter, query, member, want string }{
		{"labels", `"totalIntervals": 1`, days, "label", `"Day 0" "Day 1"`},
		{"labels of weeks", `"totalIntervals": 1, "period": "Week"`, days, "label", `"Week 0"`},
		{"dates are instants", `"totalIntervals": 1`, days, "date", `"2020-06-11T00:00:00Z" "2020-06-12T00:00:00Z"`},
		{"without date_from there are as many rows as columns", `"totalIntervals": 3`, `, "dateRange": {"date_to": "2020-06-12"}`, "date", `"2020-06-10T00:00:00Z" "2020-06-11T00:00:00Z" "2020-06-12T00:00:00Z"`},
		{"values of a breakdown by their cells 0, then by value", `"totalIntervals": 1`, days + `, "breakdownFilter": {"breakdown": "plan"}`, "breakdown_value", `"" "" "x" "x"`},
		{"a limit sums the rest", `"totalIntervals": 1`, days + `, "breakdownFilter": {"breakdown": "plan", "breakdown_limit": 1}`, "breakdown_value", `"" "" "$$_posthog_breakdown_other_$$" "$$_posthog_breakdown_other_$$"`},
	} {
		if got := querytest.Member(suite.Results(t, returns, retentionOf(c.filter, c.query)), c.member); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.of, got, c.want)
		}
	}
	first := suite.Results(t, returns, retentionOf(`"totalIntervals": 2`, days)).([]any)[0].(map[string]any)["values"]
	if got, want := string(wire.MustEncode(first)), `[{"count":2,"label":"Day 0"},{"count":2,"label":"Day 1"}]`; got != want {
		t.Errorf("cells: got %s, want %s", got, want)
	}
}

// Each fault of a RetentionQuery has the code and the place of insights.md §1.7.
func TestRetention_Faults(t *testing.T) {
	suite.CheckFaults(t, []querytest.Fault{
		{"nothing is required", `{"kind": "RetentionQuery"}`, "", "", ""},
		{"an unknown period", retentionOf(`"period": "Quarter"`, ""), document.InvalidChoice, "retentionFilter__period", "Quarter"},
		{"a period in another case", retentionOf(`"period": "day"`, ""), document.InvalidChoice, "retentionFilter__period", ""},
		{"no columns", retentionOf(`"totalIntervals": 0`, ""), document.InvalidInput, "retentionFilter__totalIntervals", ""},
		{"100 columns", retentionOf(`"totalIntervals": 100`, ""), "", "", ""},
		{"101 columns", retentionOf(`"totalIntervals": 101`, ""), document.InvalidInput, "retentionFilter__totalIntervals", "101"},
		{"an unknown type", retentionOf(`"retentionType": "retention_last_time"`, ""), document.InvalidChoice, "retentionFilter__retentionType", ""},
		{"no occurrences", retentionOf(`"minimumOccurrences": 0`, ""), document.InvalidInput, "retentionFilter__minimumOccurrences", ""},
		{"windows of 24 hours", retentionOf(`"timeWindowMode": "24_hour_windows"`, ""), document.NotSupported, "retentionFilter__timeWindowMode", ""},
		{"an unknown mode of windows", retentionOf(`"timeWindowMode": "lunar"`, ""), document.InvalidChoice, "retentionFilter__timeWindowMode", ""},
		{"an entity that is a text", retentionOf(`"targetEntity": "view"`, ""), document.InvalidInput, "retentionFilter__targetEntity", ""},
		{"an entity of another type", retentionOf(`"returningEntity": {"id": "a", "type": "data_warehouse"}`, ""), document.InvalidChoice, "retentionFilter__returningEntity__type", ""},
		{"a filter of an entity", retentionOf(`"targetEntity": {"id": "a", "properties": [{"key": "b", "operator": "near", "value": 1}]}`, ""), document.InvalidChoice, "retentionFilter__targetEntity__properties__0__operator", ""},
		{"two properties of a breakdown", retentionOf("", `, "breakdownFilter": {"breakdown": ["a", "b"]}`), document.TooLarge, "breakdownFilter__breakdown", ""},
		{"a breakdown by an expression", retentionOf("", `, "breakdownFilter": {"breakdown": "1", "breakdown_type": "hogql"}`), document.InvalidChoice, "breakdownFilter__breakdown_type", ""},
		{"a cumulative that is a number", retentionOf(`"cumulative": 1`, ""), document.InvalidInput, "retentionFilter__cumulative", ""},
	})
}
