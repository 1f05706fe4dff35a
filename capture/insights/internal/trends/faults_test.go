package trends

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
)

// Each fault of a TrendsQuery has the code and the place of insights.md §1.7.
func TestTrends_Faults(t *testing.T) {
	list := func(one string, n int) string { return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]" }
	node := `{"kind": "EventsNode", "event": "view"}`
	series := func(text string) string { return `{"kind": "TrendsQuery", "series": ` + text + `}` }
	filter := func(text string) string { return views("", `, "trendsFilter": {`+text+`}`) }
	split := func(text string) string { return views("", `, "breakdownFilter": {`+text+`}`) }
	suite.CheckFaults(t, []querytest.Fault{
		{"no series", `{"kind": "TrendsQuery"}`, document.Required, "series", "at least one series"},
		{"an empty series", series(`[]`), document.Required, "series", ""},
		{"26 series", series(list(node, 26)), "", "", ""},
		{"27 series", series(list(node, 27)), document.TooLarge, "series", "27"},
		{"a series that is no list", series(node), document.InvalidInput, "series", "Expected a list, not an object"},
		{"a series that is no object", series(`["view"]`), document.InvalidInput, "series__0", `not "view"`},
		{"a legacy event", series(`[{"id": "view", "type": "events"}]`), document.InvalidInput, "series__0", `needs a "kind"`},
		{"another kind of series", series(`[` + node + `, {"kind": "DataWarehouseNode"}]`), document.NotSupported, "series__1__kind", "DataWarehouseNode"},
		{"an action without an id", series(`[{"kind": "ActionsNode"}]`), document.Required, "series__0__id", ""},
		{"an action's id that is a text", series(`[{"kind": "ActionsNode", "id": "5"}]`), document.InvalidInput, "series__0__id", ""},
		{"an event's name that is a number", series(`[{"kind": "EventsNode", "event": 5}]`), document.InvalidInput, "series__0__event", ""},
		{"revenue", series(`[{"kind": "EventsNode", "math_property_revenue_currency": {}}]`), document.NotSupported, "series__0__math_property_revenue_currency", ""},
		{"an optional step", series(`[{"kind": "EventsNode", "optionalInFunnel": true}]`), document.NotSupported, "series__0__optionalInFunnel", ""},
		{"a step that is not optional", series(`[{"kind": "EventsNode", "optionalInFunnel": false}]`), "", "", ""},
		{"a filter of a series", series(`[{"kind": "EventsNode", "properties": [{"key": "a", "operator": "near", "value": 1}]}]`), document.InvalidChoice, "series__0__properties__0__operator", "near"},
		{"a fixed filter", series(`[{"kind": "EventsNode", "fixedProperties": [{"type": "recording", "key": "a", "value": 1}]}]`), document.NotSupported, "series__0__fixedProperties__0__type", "recording"},
		{"an unknown math", views(`, "math": "mode"`, ""), document.InvalidChoice, "series__0__math", "mode"},
		{"a sum without a property", views(`, "math": "sum"`, ""), document.Required, "series__0__math_property", ""},
		{"a quantile without a property", views(`, "math": "p99"`, ""), document.Required, "series__0__math_property", ""},
		{"a sum for each actor", views(`, "math": "sum_count_per_actor"`, ""), document.InvalidChoice, "series__0__math", ""},
		{"groups without an index", views(`, "math": "unique_group"`, ""), document.Required, "series__0__math_group_type_index", ""},
		{"the last index", views(`, "math": "unique_group", "math_group_type_index": 4`, ""), "", "", ""},
		{"an index beyond", views(`, "math": "unique_group", "math_group_type_index": 5`, ""), document.InvalidInput, "series__0__math_group_type_index", "5 is not between 0 and 4"},
		{"a property of another type", views(`, "math": "sum", "math_property": "a", "math_property_type": "group_properties"`, ""), document.InvalidChoice, "series__0__math_property_type", ""},
		{"a multiplier that is a text", views(`, "math": "sum", "math_property": "a", "math_multiplier": "2"`, ""), document.InvalidInput, "series__0__math_multiplier", ""},
		{"an expression without an aggregate", views(`, "math": "hogql", "math_hogql": "1 + 1"`, ""), "type_error", "series__0__math_hogql", ""},
		{"an unknown function", views(`, "math": "hogql", "math_hogql": "frob()"`, ""), "unknown_function", "series__0__math_hogql", "column 1"},
		{"interval second", views("", `, "interval": "second"`), document.InvalidChoice, "interval", ""},
		{"interval quarter", views("", `, "interval": "quarter"`), document.InvalidChoice, "interval", ""},
		{"a date that is none", `{"kind": "TrendsQuery", "series": [` + node + `], "dateRange": {"date_from": "soon"}}`, document.InvalidInput, "dateRange__date_from", "soon"},
		{"all as date_to", `{"kind": "TrendsQuery", "series": [` + node + `], "dateRange": {"date_to": "all"}}`, document.InvalidInput, "dateRange__date_to", ""},
		{"a conversion goal", views("", `, "conversionGoal": {}`), document.NotSupported, "conversionGoal", ""},
		{"no conversion goal", views("", `, "conversionGoal": null`), "", "", ""},
		{"an absolute date to compare with", views("", `, "compareFilter": {"compare": true, "compare_to": "2020-01-01"}`), document.InvalidInput, "compareFilter__compare_to", ""},
		{"a compareFilter that is a boolean", views("", `, "compareFilter": true`), document.InvalidInput, "compareFilter", "Expected an object, not true"},
		{"a display that is not supported", filter(`"display": "BoxPlot"`), document.InvalidChoice, "trendsFilter__display", "BoxPlot"},
		{"smoothing over nothing", filter(`"smoothingIntervals": 0`), document.InvalidInput, "trendsFilter__smoothingIntervals", ""},
		{"smoothing over half a bucket", filter(`"smoothingIntervals": 1.5`), document.InvalidInput, "trendsFilter__smoothingIntervals", "whole number"},
		{"a test account filter that is a number", views("", `, "filterTestAccounts": 1`), document.InvalidInput, "filterTestAccounts", ""},
		{"an unknown letter", filter(`"formula": "A+B"`), document.InvalidInput, "trendsFilter__formula", `"B"`},
		{"a function", filter(`"formula": "sqrt(A)"`), document.InvalidInput, "trendsFilter__formula", `"sqrt"`},
		{"another sign", filter(`"formula": "A^2"`), document.InvalidInput, "trendsFilter__formula", `"^"`},
		{"an end too soon", filter(`"formula": "A+"`), document.InvalidInput, "trendsFilter__formula", "ends too soon"},
		{"an open parenthesis", filter(`"formula": "(A"`), document.InvalidInput, "trendsFilter__formula", "closing parenthesis"},
		{"two points", filter(`"formula": "1.2.3"`), document.InvalidInput, "trendsFilter__formula", ""},
		{"a formula of 500 characters", filter(`"formula": "` + strings.Repeat("A+", 249) + `AA"`), document.InvalidInput, "trendsFilter__formula", `"AA"`},
		{"one more", filter(`"formula": "` + strings.Repeat("A+", 250) + `A"`), document.TooLarge, "trendsFilter__formula", "500"},
		{"10 formulas", filter(`"formulas": ` + list(`"A"`, 10)), "", "", ""},
		{"11 formulas", filter(`"formulas": ` + list(`"A"`, 11)), document.TooLarge, "trendsFilter__formulas", ""},
		{"the second formula", filter(`"formulas": ["A", "Z"]`), document.InvalidInput, "trendsFilter__formulas__1", `"Z"`},
		{"the formula of a node", filter(`"formulaNodes": [{"formula": "Z"}]`), document.InvalidInput, "trendsFilter__formulaNodes__0__formula", `"Z"`},
		{"no values of a breakdown", split(`"breakdown": "a", "breakdown_limit": 0`), document.InvalidInput, "breakdownFilter__breakdown_limit", ""},
		{"1,000 values", split(`"breakdown": "a", "breakdown_limit": 1000`), "", "", ""},
		{"1,001 values", split(`"breakdown": "a", "breakdown_limit": 1001`), document.InvalidInput, "breakdownFilter__breakdown_limit", ""},
		{"three breakdowns", split(`"breakdowns": ` + list(`{"property": "a"}`, 3)), "", "", ""},
		{"four breakdowns", split(`"breakdowns": ` + list(`{"property": "a"}`, 4)), document.TooLarge, "breakdownFilter__breakdowns", ""},
		{"a cohort among several", split(`"breakdowns": [{"property": "a"}, {"property": 1, "type": "cohort"}]`), document.NotSupported, "breakdownFilter__breakdowns__1__type", ""},
		{"a breakdown without a property", split(`"breakdowns": [{"type": "event"}]`), document.Required, "breakdownFilter__breakdowns__0__property", ""},
		{"an unknown cohort", split(`"breakdown": 7, "breakdown_type": "cohort"`), document.InvalidInput, "breakdownFilter__breakdown", "7"},
		{"all people and nothing else", split(`"breakdown": ["all", 0], "breakdown_type": "cohort"`), "", "", ""},
		{"a type that is not supported", split(`"breakdown": "a", "breakdown_type": "data_warehouse"`), document.NotSupported, "breakdownFilter__breakdown_type", "data_warehouse"},
		{"a group without an index", split(`"breakdown": "a", "breakdown_type": "group"`), document.Required, "breakdownFilter__breakdown_group_type_index", ""},
		{"an unknown column", split(`"breakdown": "secret", "breakdown_type": "event_metadata"`), document.InvalidInput, "breakdownFilter__breakdown", "secret"},
		{"an unknown member of a session", split(`"breakdown": "$channel_type", "breakdown_type": "session"`), document.NotSupported, "breakdownFilter__breakdown", "$channel_type"},
		{"a bad expression", split(`"breakdown": "1 +", "breakdown_type": "hogql"`), "syntax_error", "breakdownFilter__breakdown", ""},
		{"100 bins", split(`"breakdown": "a", "breakdown_histogram_bin_count": 100`), "", "", ""},
		{"101 bins", split(`"breakdown": "a", "breakdown_histogram_bin_count": 101`), document.InvalidInput, "breakdownFilter__breakdown_histogram_bin_count", ""},
		{"no bins", split(`"breakdown": "a", "breakdown_histogram_bin_count": 0`), document.InvalidInput, "breakdownFilter__breakdown_histogram_bin_count", ""},
	})
}
