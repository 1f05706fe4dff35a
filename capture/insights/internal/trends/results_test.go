package trends

import (
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
)

// suite runs the queries of this package in a project in UTC whose weeks begin on Sunday.
var suite = querytest.Suite{Kinds: Kinds}

// pageViews is the fixture F1 of insights.md §4.
var pageViews = querytest.Events(`[
	["view", "p1", "2020-01-11T12:00:00Z", {"$browser": "Chrome", "prop": 10, "bool": true}], ["view", "p1", "2020-01-12T12:00:00Z", {"$browser": "Chrome", "prop": 10, "bool": true}],
	["view", "p1", "2020-01-13T12:00:00Z", {"$browser": "Chrome", "prop": 10, "bool": true}], ["view", "p1", "2020-01-15T12:00:00Z", {"$browser": "Chrome", "prop": 10, "bool": true}],
	["view", "p1", "2020-01-17T12:00:00Z", {"$browser": "Chrome", "prop": 10, "bool": true}], ["view", "p1", "2020-01-19T12:00:00Z", {"$browser": "Chrome", "prop": 10, "bool": true}],
	["view", "p2", "2020-01-09T12:00:00Z", {"$browser": "Firefox", "prop": 20, "bool": false}], ["view", "p2", "2020-01-12T12:00:00Z", {"$browser": "Firefox", "prop": 20, "bool": false}],
	["view", "p3", "2020-01-12T12:00:00Z", {"$browser": "Edge", "prop": 30, "bool": true}], ["view", "p4", "2020-01-15T12:00:00Z", {"$browser": "Safari", "prop": 40, "bool": false}],
	["leave", "p1", "2020-01-11T12:00:00Z"], ["leave", "p1", "2020-01-12T12:00:00Z"], ["leave", "p1", "2020-01-13T12:00:00Z"],
	["leave", "p2", "2020-01-13T12:00:00Z"], ["leave", "p3", "2020-01-13T12:00:00Z"], ["leave", "p4", "2020-01-16T12:00:00Z"]]`)

// views returns a TrendsQuery of page views from 9 to 19 January, with more members of the series
// and of the query.
func views(series, query string) string {
	return `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view"` + series + `}], "dateRange": {"date_from": "2020-01-09", "date_to": "2020-01-19"}` + query + `}`
}

// both is like views, with page leaves as the second series.
func both(from, to, query string) string {
	return `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view"}, {"kind": "EventsNode", "event": "leave"}], "dateRange": {"date_from": "` + from + `", "date_to": "` + to + `"}` + query + `}`
}

// The table of insights.md §4, and sums of the same fixture for the other maths of §2.4.2.
func TestTrends_Results(t *testing.T) {
	for _, c := range []struct{ of, query, member, want string }{
		{"number of events", views("", ""), "data", "[1,0,1,3,1,0,2,0,1,0,1]"},
		{"their sum", views("", ""), "count", "10"},
		{"days are local dates", views("", `, "interval": "week"`), "days", `["2020-01-05","2020-01-12","2020-01-19"]`},
		{"weeks from Sunday", views("", `, "interval": "week"`), "data", "[2,7,1]"},
		{"a month counts from its first day", views("", `, "interval": "month"`), "data", "[10]"},
		{"labels of days", both("2020-01-09", "2020-01-10", ""), "labels", `["9-Jan-2020","10-Jan-2020"] ["9-Jan-2020","10-Jan-2020"]`},
		{"labels of months", views("", `, "interval": "month"`), "labels", `["Jan 2020"]`},
		{"labels of weeks inside of the range", views("", `, "interval": "week"`), "labels", `["9–11 Jan","12–18 Jan","19-Jan-2020"]`},
		{"the label is the event", views("", ""), "label", `"view"`},
		{"every event", `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": null}], "dateRange": {"date_from": "2020-01-12", "date_to": "2020-01-13"}}`, "label", `"All events"`},
		{"every event counts", `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": null}], "dateRange": {"date_from": "2020-01-12", "date_to": "2020-01-13"}}`, "data", "[4,4]"},
		{"a series without events", `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "none"}], "dateRange": {"date_from": "2020-01-12", "date_to": "2020-01-13"}}`, "data", "[0,0]"},
		{"date_from after date_to", both("2020-01-13", "2020-01-12", ""), "data", "[] []"},
		{"a formula", both("2020-01-09", "2020-01-19", `, "trendsFilter": {"formula": "A+2*B"}`), "data", "[1,0,3,5,7,0,2,2,1,0,1]"},
		{"its sum", both("2020-01-09", "2020-01-19", `, "trendsFilter": {"formula": "A+2*B"}`), "count", "22"},
		{"its label", both("2020-01-09", "2020-01-19", `, "trendsFilter": {"formula": "A+2*B"}`), "label", `"Formula (A+2*B)"`},
		{"a formula compared", both("2020-01-15", "2020-01-19", `, "trendsFilter": {"formula": "A+2*B"}, "compareFilter": {"compare": true}`), "data", "[2,2,1,0,1] [0,3,5,7,0]"},
		{"its periods", both("2020-01-15", "2020-01-19", `, "trendsFilter": {"formula": "A+2*B"}, "compareFilter": {"compare": true}`), "compare_label", `"current" "previous"`},
		{"a formula compared to a week before", both("2020-01-15", "2020-01-19", `, "trendsFilter": {"formula": "A+2*B"}, "compareFilter": {"compare": true, "compare_to": "-1w"}`), "count", "6 9"},
		{"formulas in their order", both("2020-01-12", "2020-01-12", `, "trendsFilter": {"formulas": ["A/B", "B"]}`), "data", "[3] [1]"},
		{"nodes go before formulas", both("2020-01-12", "2020-01-12", `, "trendsFilter": {"formulaNodes": [{"formula": "A*10", "custom_name": "tens"}], "formulas": ["B"], "formula": "A"}`), "label", `"tens"`},
		{"division by zero is 0", both("2020-01-15", "2020-01-15", `, "trendsFilter": {"formula": "A/B"}`), "data", "[0]"},
		{"distinct people", views(`, "math": "dau"`, ""), "data", "[1,0,1,3,1,0,2,0,1,0,1]"},
		{"distinct people of weeks", views(`, "math": "dau"`, `, "interval": "week"`), "data", "[2,4,1]"},
		{"weekly active with weeks are the people", views(`, "math": "weekly_active"`, `, "interval": "week"`), "data", "[2,4,1]"},
		{"weekly active", views(`, "math": "weekly_active"`, ""), "data", "[1,1,2,3,3,3,4,4,4,4,2]"},
		{"monthly active", views(`, "math": "monthly_active"`, ""), "data", "[1,1,2,3,3,3,4,4,4,4,4]"},
		{"sum", views(`, "math": "sum", "math_property": "prop"`, ""), "data", "[20,0,10,60,10,0,50,0,10,0,10]"},
		{"a multiplier goes before the aggregate", views(`, "math": "sum", "math_property": "prop", "math_multiplier": 0.5`, ""), "count", "85"}, // half of 170
		{"avg; no values are 0", views(`, "math": "avg", "math_property": "prop"`, ""), "data", "[20,0,10,20,10,0,25,0,10,0,10]"},
		{"min", views(`, "math": "min", "math_property": "prop"`, ""), "data", "[20,0,10,10,10,0,10,0,10,0,10]"},
		{"max", views(`, "math": "max", "math_property": "prop"`, ""), "data", "[20,0,10,30,10,0,40,0,10,0,10]"},
		{"median between two values", views(`, "math": "median", "math_property": "prop"`, ""), "data", "[20,0,10,20,10,0,25,0,10,0,10]"},
		{"p90 of 10 and 40 is at 0.9", views(`, "math": "p90", "math_property": "prop"`, ""), "data", "[20,0,10,28,10,0,37,0,10,0,10]"}, // 20 + 0.8·10; 10 + 0.9·30
		{"values that are no numbers are left out", views(`, "math": "sum", "math_property": "$browser"`, ""), "count", "0"},
		{"the mean of events for each person", views(`, "math": "avg_count_per_actor"`, `, "interval": "month"`), "data", "[2.5]"}, // 6, 2, 1, 1
		{"the greatest number of events for a person", views(`, "math": "max_count_per_actor"`, `, "interval": "month"`), "data", "[6]"},
		{"the median of 6, 2, 1, 1", views(`, "math": "median_count_per_actor"`, `, "interval": "month"`), "data", "[1.5]"},
		{"first time", views(`, "math": "first_time_for_user"`, ""), "data", "[1,0,1,1,0,0,1,0,0,0,0]"},
		{"first time ever, even before the range", `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "view", "math": "first_time_for_user"}], "dateRange": {"date_from": "2020-01-12", "date_to": "2020-01-15"}}`, "data", "[1,0,0,1]"},
		{"the first one must pass the filters", views(`, "math": "first_time_for_user", "properties": [{"key": "prop", "value": 10}]`, ""), "data", "[0,0,1,0,0,0,0,0,0,0,0]"},
		{"an aggregate of SQL", views(`, "math": "hogql", "math_hogql": "sum(properties.prop) / count()"`, ""), "data", "[20,0,10,20,10,0,25,0,10,0,10]"},
		{"cumulative", views("", `, "trendsFilter": {"display": "ActionsLineGraphCumulative"}`), "data", "[1,1,2,5,6,6,8,8,9,9,10]"},
		{"its count is the last point", views("", `, "trendsFilter": {"display": "ActionsLineGraphCumulative"}`), "count", "10"},
		{"cumulative people count once", views(`, "math": "dau"`, `, "trendsFilter": {"display": "ActionsLineGraphCumulative"}`), "data", "[1,1,2,3,3,3,4,4,4,4,4]"},
		{"smoothing rounds down", views("", `, "trendsFilter": {"smoothingIntervals": 3}`), "data", "[1,0,0,1,1,1,1,0,1,0,0]"}, // of 1 0 1 3 1 0 2 0 1 0 1
		{"a number", views("", `, "trendsFilter": {"display": "BoldNumber"}`), "aggregated_value", "10"},
		{"a number has no data", views("", `, "trendsFilter": {"display": "BoldNumber"}`), "data", "[]"},
		{"a number has the count 0", views("", `, "trendsFilter": {"display": "BoldNumber"}`), "count", "0"},
		{"a number of a formula has null data", both("2020-01-09", "2020-01-19", `, "trendsFilter": {"display": "BoldNumber", "formula": "A-B"}`), "data", "null"},
		{"a number of a formula", both("2020-01-09", "2020-01-19", `, "trendsFilter": {"display": "BoldNumber", "formula": "A-B"}`), "aggregated_value", "4"},
		{"filters of the query are of all series", both("2020-01-11", "2020-01-11", `, "properties": [{"key": "prop", "operator": "is_set"}]`), "data", "[1] [0]"},
		{"filters of the series", views(`, "properties": [{"key": "prop", "value": 20, "operator": "gt"}]`, ""), "count", "2"},
		{"fixed properties are combined with them", views(`, "properties": [{"key": "prop", "value": 20, "operator": "gt"}], "fixedProperties": [{"key": "$browser", "value": "Edge"}]`, ""), "count", "1"},
		{"hours have a time", both("2020-01-11T11:00:00", "2020-01-11T13:00:00", `, "interval": "hour"`), "days", `["2020-01-11 11:00:00","2020-01-11 12:00:00","2020-01-11 13:00:00"] ["2020-01-11 11:00:00","2020-01-11 12:00:00","2020-01-11 13:00:00"]`},
		{"hours", both("2020-01-11T11:00:00", "2020-01-11T13:00:00", `, "interval": "hour"`), "data", "[0,1,0] [0,1,0]"},
	} {
		if got := querytest.Member(suite.Results(t, pageViews, c.query), c.member); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.member, got, c.want)
		}
	}
}

// Breakdowns of §2.4.4 over the same fixture.
func TestTrends_Breakdowns(t *testing.T) {
	const null, other = `"$$_posthog_breakdown_null_$$"`, `"$$_posthog_breakdown_other_$$"`
	browsers := func(more string) string { return views("", `, "breakdownFilter": {"breakdown": "$browser"`+more+`}`) }
	for _, c := range []struct{ of, query, member, want string }{
		{"values by their sum, then by bytes", browsers(""), "breakdown_value", `"Chrome" "Firefox" "Edge" "Safari"`},
		{"their sums", browsers(""), "count", "6 2 1 1"},
		{"labels", browsers(""), "label", `"Chrome" "Firefox" "Edge" "Safari"`},
		{"a limit sums the rest", browsers(`, "breakdown_limit": 2`), "breakdown_value", `"Chrome" "Firefox" ` + other},
		{"the rest bucket by bucket", browsers(`, "breakdown_limit": 2`), "count", "6 2 2"},
		{"the rest is hidden", browsers(`, "breakdown_limit": 2, "breakdown_hide_other_aggregation": true`), "count", "6 2"},
		{"sums of values", views(`, "math": "sum", "math_property": "prop"`, `, "breakdownFilter": {"breakdown": "$browser"}`), "count", "60 40 40 30"},
		{"equal sums by bytes", views(`, "math": "sum", "math_property": "prop"`, `, "breakdownFilter": {"breakdown": "$browser"}`), "breakdown_value", `"Chrome" "Firefox" "Safari" "Edge"`},
		{"a number of each", views("", `, "breakdownFilter": {"breakdown": "bool"}, "trendsFilter": {"display": "ActionsPie"}`), "aggregated_value", "7 3"},
		{"booleans are their text", views("", `, "breakdownFilter": {"breakdown": "bool"}`), "breakdown_value", `"true" "false"`},
		{"a missing value", views("", `, "breakdownFilter": {"breakdown": "none"}`), "breakdown_value", null},
		{"bins", views("", `, "breakdownFilter": {"breakdown": "prop", "breakdown_histogram_bin_count": 4}`), "breakdown_value", `"[10,17.5]" "[17.5,25]" "[25,32.5]" "[32.5,40.01]"`},
		{"their counts", views("", `, "breakdownFilter": {"breakdown": "prop", "breakdown_histogram_bin_count": 4}`), "count", "6 2 1 1"},
		{"two properties are a list", views("", `, "breakdownFilter": {"breakdowns": [{"property": "bool"}, {"property": "$browser"}]}`), "breakdown_value", `["true","Chrome"] ["false","Firefox"] ["false","Safari"] ["true","Edge"]`},
		{"their labels", views("", `, "breakdownFilter": {"breakdowns": [{"property": "bool"}, {"property": "$browser"}], "breakdown_limit": 1}`), "label", `"true::Chrome" "$$_posthog_breakdown_other_$$::$$_posthog_breakdown_other_$$"`},
		{"an empty list is no breakdown", views("", `, "breakdownFilter": {"breakdowns": []}`), "breakdown_value", ""},
		{"two series: the label begins with the series", both("2020-01-12", "2020-01-12", `, "breakdownFilter": {"breakdown": "$browser"}`), "label", `"view - Chrome" "view - Edge" "view - Firefox" "leave - $$_posthog_breakdown_null_$$"`},
		{"an expression", views("", `, "breakdownFilter": {"breakdown_type": "hogql", "breakdown": "properties.prop > 15"}`), "count", "6 4"},
		{"a column", views("", `, "breakdownFilter": {"breakdown_type": "event_metadata", "breakdown": "distinct_id"}`), "breakdown_value", `"p1" "p2" "p3" "p4"`},
		{"no events, no rows", `{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "none"}], "dateRange": {"date_from": "2020-01-12", "date_to": "2020-01-13"}, "breakdownFilter": {"breakdown": "$browser"}}`, "count", ""},
		{"a formula over the union of values", both("2020-01-12", "2020-01-12", `, "trendsFilter": {"formula": "A-B"}, "breakdownFilter": {"breakdown": "$browser"}`), "data", "[1] [1] [1] [-1]"},
		{"of equal values the greatest first, null last", both("2020-01-12", "2020-01-12", `, "trendsFilter": {"formula": "A-B"}, "breakdownFilter": {"breakdown": "$browser"}`), "breakdown_value", `"Firefox" "Edge" "Chrome" ` + null},
	} {
		if got := querytest.Member(suite.Results(t, pageViews, c.query), c.member); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.member, got, c.want)
		}
	}
}
