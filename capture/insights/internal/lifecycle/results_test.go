package lifecycle

import (
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
)

// suite runs the queries of this package in a project in UTC whose weeks begin on Sunday.
var suite = querytest.Suite{Kinds: Kinds}

// pageViews are those of the fixture F1 of insights.md §4.
var pageViews = querytest.Events(`[
	["view", "p1", "2020-01-11T12:00:00Z"], ["view", "p1", "2020-01-12T12:00:00Z"], ["view", "p1", "2020-01-13T12:00:00Z"], ["view", "p1", "2020-01-15T12:00:00Z"],
	["view", "p1", "2020-01-17T12:00:00Z"], ["view", "p1", "2020-01-19T12:00:00Z"], ["view", "p2", "2020-01-09T12:00:00Z"], ["view", "p2", "2020-01-12T12:00:00Z"],
	["view", "p3", "2020-01-12T12:00:00Z"], ["view", "p4", "2020-01-15T12:00:00Z"]]`)

// over returns a query of page views over a range, with more members.
func over(kind, from, to, more string) string {
	return `{"kind": "` + kind + `", "series": [{"kind": "EventsNode", "event": "view"}], "dateRange": {"date_from": "` + from + `", "date_to": "` + to + `"}` + more + `}`
}

// The rows of insights.md §4, and sums of the same ten events (§2.7, §2.8).
func TestLifecycle_Results(t *testing.T) {
	cycle := func(more string) string { return over("LifecycleQuery", "2020-01-12", "2020-01-19", more) }
	sticky := func(more string) string { return over("StickinessQuery", "2020-01-09", "2020-01-19", more) }
	for _, c := range []struct{ of, query, member, want string }{
		{"new, returning, resurrecting, dormant", cycle(""), "data", "[1,0,0,1,0,0,0,0] [1,1,0,0,0,0,0,0] [1,0,0,1,0,1,0,1] [0,-2,-1,0,-2,0,-1,0]"},
		{"their order", cycle(""), "status", `"new" "returning" "resurrecting" "dormant"`},
		{"their sums", cycle(""), "count", "2 2 4 -6"},
		{"their labels", cycle(""), "label", `"view - new" "view - returning" "view - resurrecting" "view - dormant"`},
		{"toggled rows are only hidden by the console", cycle(`, "lifecycleFilter": {"toggledLifecycles": ["new"]}`), "count", "2 2 4 -6"},
		{"weeks", over("LifecycleQuery", "2020-01-05", "2020-01-18", `, "interval": "week"`), "data", "[2,2] [0,2] [0,0] [0,0]"},
		{"a filter", cycle(`, "properties": [{"key": "none", "operator": "is_set"}]`), "count", "0 0 0 0"},
		{"people by the number of days", sticky(""), "data", "[2,1,0,0,0,1,0,0,0,0,0]"},
		{"the number of people", sticky(""), "count", "4"},
		{"at least so many days", sticky(`, "stickinessFilter": {"computedAs": "cumulative"}`), "data", "[4,2,1,1,1,1,0,0,0,0,0]"},
		{"the number of people stays", sticky(`, "stickinessFilter": {"computedAs": "cumulative"}`), "count", "4"},
		{"days that have at least two events", sticky(`, "stickinessFilter": {"stickinessCriteria": {"operator": "gte", "value": 2}}`), "count", "0"},
		{"days that have at most one", sticky(`, "stickinessFilter": {"stickinessCriteria": {"operator": "lte", "value": 1}}`), "count", "4"},
		{"days that have exactly one", sticky(`, "stickinessFilter": {"stickinessCriteria": {"operator": "exact", "value": 1}}`), "data", "[2,1,0,0,0,1,0,0,0,0,0]"},
		{"weeks: p1 in three, p2 in two, p3 and p4 in one", sticky(`, "interval": "week"`), "data", "[2,1,1]"},
		{"labels", over("StickinessQuery", "2020-01-09", "2020-01-10", ""), "labels", `["1 day","2 days"]`},
		{"labels of weeks", over("StickinessQuery", "2020-01-09", "2020-01-19", `, "interval": "week"`), "labels", `["1 week","2 weeks","3 weeks"]`},
		{"labels of at least so many", over("StickinessQuery", "2020-01-09", "2020-01-10", `, "stickinessFilter": {"computedAs": "cumulative"}`), "labels", `["1 day or more","2 days or more"]`},
		{"days are numbers", over("StickinessQuery", "2020-01-09", "2020-01-10", ""), "days", "[1,2]"},
	} {
		if got := querytest.Member(suite.Results(t, pageViews, c.query), c.member); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.member, got, c.want)
		}
	}
}

// Faults of §2.7 and §2.8 with their places.
func TestLifecycle_Faults(t *testing.T) {
	node := `{"kind": "EventsNode", "event": "view"}`
	suite.CheckFaults(t, []querytest.Fault{
		{"no series", `{"kind": "LifecycleQuery"}`, document.Required, "series", ""},
		{"one series", `{"kind": "LifecycleQuery", "series": [` + node + `]}`, "", "", ""},
		{"two series", `{"kind": "LifecycleQuery", "series": [` + node + `, ` + node + `]}`, document.InvalidInput, "series", "one series"},
		{"minutes", over("LifecycleQuery", "2020-01-01", "2020-01-02", `, "interval": "minute"`), document.InvalidChoice, "interval", ""},
		{"groups", over("LifecycleQuery", "2020-01-01", "2020-01-02", `, "aggregation_group_type_index": 0`), document.NotSupported, "aggregation_group_type_index", ""},
		{"no groups", over("LifecycleQuery", "2020-01-01", "2020-01-02", `, "aggregation_group_type_index": null`), "", "", ""},
		{"stickiness of minutes", over("StickinessQuery", "2020-01-01", "2020-01-02", `, "interval": "minute"`), document.InvalidChoice, "interval", ""},
		{"an unknown criterion", over("StickinessQuery", "2020-01-01", "2020-01-02", `, "stickinessFilter": {"stickinessCriteria": {"operator": "gt", "value": 1}}`), document.InvalidChoice, "stickinessFilter__stickinessCriteria__operator", ""},
		{"another form of counting", over("StickinessQuery", "2020-01-01", "2020-01-02", `, "stickinessFilter": {"computedAs": "both"}`), document.InvalidChoice, "stickinessFilter__computedAs", ""},
	})
}
