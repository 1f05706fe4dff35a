package funnels

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
)

// Each fault of a FunnelsQuery has the code and the place of insights.md §1.7.
func TestFunnels_Faults(t *testing.T) {
	node := `{"kind": "EventsNode", "event": "A"}`
	list := func(one string, n int) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	exclusion := func(more string) string { return `"exclusions": [{"kind": "EventsNode", "event": "X", ` + more + `}]` }
	suite.CheckFaults(t, []querytest.Fault{
		{"no steps", `{"kind": "FunnelsQuery"}`, document.Required, "series", ""},
		{"20 steps", funnelOf(list(node, 20), "", ""), "", "", ""},
		{"21 steps", funnelOf(list(node, 21), "", ""), document.TooLarge, "series", "21"},
		{"one step", funnelOf(node, "", ""), "", "", ""},
		{"one step of trends", funnelOf(node, `"funnelVizType": "trends"`, ""), document.InvalidInput, "funnelsFilter__funnelVizType", "two steps"},
		{"one step of time_to_convert", funnelOf(node, `"funnelVizType": "time_to_convert"`, ""), document.InvalidInput, "funnelsFilter__funnelVizType", ""},
		{"flow", funnel(`"funnelVizType": "flow"`, ""), document.InvalidChoice, "funnelsFilter__funnelVizType", "flow"},
		{"an unknown order", funnel(`"funnelOrderType": "random"`, ""), document.InvalidChoice, "funnelsFilter__funnelOrderType", ""},
		{"no window", funnel(`"funnelWindowInterval": 0`, ""), document.InvalidInput, "funnelsFilter__funnelWindowInterval", ""},
		{"half a day", funnel(`"funnelWindowInterval": 0.5`, ""), document.InvalidInput, "funnelsFilter__funnelWindowInterval", "whole number"},
		{"a window of years", funnel(`"funnelWindowIntervalUnit": "year"`, ""), document.InvalidChoice, "funnelsFilter__funnelWindowIntervalUnit", ""},
		{"an unknown attribution", funnel(`"breakdownAttributionType": "any"`, ""), document.InvalidChoice, "funnelsFilter__breakdownAttributionType", ""},
		{"attribution to the last step", funnel(`"breakdownAttributionType": "step", "breakdownAttributionValue": 2`, ""), "", "", ""},
		{"attribution to a step beyond", funnel(`"breakdownAttributionType": "step", "breakdownAttributionValue": 3`, ""), document.InvalidInput, "funnelsFilter__breakdownAttributionValue", ""},
		{"attribution to a negative step", funnel(`"breakdownAttributionType": "step", "breakdownAttributionValue": -1`, ""), document.InvalidInput, "funnelsFilter__breakdownAttributionValue", ""},
		{"attribution to another step in any order", funnel(`"breakdownAttributionType": "step", "breakdownAttributionValue": 1, "funnelOrderType": "unordered"`, ""), document.InvalidInput, "funnelsFilter__breakdownAttributionValue", ""},
		{"attribution to the first step in any order", funnel(`"breakdownAttributionType": "step", "funnelOrderType": "unordered"`, ""), "", "", ""},
		{"from the last step", funnel(`"funnelFromStep": 2`, ""), document.InvalidInput, "funnelsFilter__funnelToStep", "before"},
		{"from a step beyond", funnel(`"funnelFromStep": 3`, ""), document.InvalidInput, "funnelsFilter__funnelFromStep", ""},
		{"to the first step", funnel(`"funnelToStep": 0`, ""), document.InvalidInput, "funnelsFilter__funnelToStep", ""},
		{"to a step beyond", funnel(`"funnelToStep": 3`, ""), document.InvalidInput, "funnelsFilter__funnelToStep", ""},
		{"bins are clamped", funnel(`"binCount": 1000`, ""), "", "", ""},
		{"bins that are a text", funnel(`"binCount": "3"`, ""), document.InvalidInput, "funnelsFilter__binCount", ""},
		{"10 exclusions", funnel(`"exclusions": [`+list(`{"kind": "EventsNode", "event": "X", "funnelFromStep": 0, "funnelToStep": 1}`, 10)+`]`, ""), "", "", ""},
		{"11 exclusions", funnel(`"exclusions": [`+list(`{"kind": "EventsNode", "event": "X", "funnelFromStep": 0, "funnelToStep": 1}`, 11)+`]`, ""), document.TooLarge, "funnelsFilter__exclusions", ""},
		{"an exclusion of no steps", funnel(exclusion(`"funnelFromStep": 1, "funnelToStep": 1`), ""), document.InvalidInput, "funnelsFilter__exclusions__0__funnelToStep", "Exclusion"},
		{"an exclusion to a step beyond", funnel(exclusion(`"funnelFromStep": 1, "funnelToStep": 3`), ""), document.InvalidInput, "funnelsFilter__exclusions__0__funnelToStep", "Exclusion"},
		{"an exclusion of some steps in any order", funnel(exclusion(`"funnelFromStep": 0, "funnelToStep": 1`)+`, "funnelOrderType": "unordered"`, ""), document.InvalidInput, "funnelsFilter__exclusions__0", "Exclusion"},
		{"an exclusion of all steps in any order", funnel(exclusion(`"funnelFromStep": 0, "funnelToStep": 2`)+`, "funnelOrderType": "unordered"`, ""), "", "", ""},
		{"an exclusion that is a step", funnel(`"exclusions": [{"kind": "EventsNode", "event": "B", "funnelFromStep": 0, "funnelToStep": 1}]`, ""), document.InvalidInput, "funnelsFilter__exclusions__0", "Exclusion"},
		{"an exclusion that is another step", funnel(`"exclusions": [{"kind": "EventsNode", "event": "C", "funnelFromStep": 0, "funnelToStep": 1}]`, ""), "", "", ""},
		{"an exclusion with other filters than the step", funnel(`"exclusions": [{"kind": "EventsNode", "event": "B", "properties": [{"key": "a", "value": 1}], "funnelFromStep": 0, "funnelToStep": 1}]`, ""), "", "", ""},
		{"an exclusion without a kind", funnel(`"exclusions": [{"event": "X", "funnelFromStep": 0, "funnelToStep": 1}]`, ""), document.InvalidInput, "funnelsFilter__exclusions__0", ""},
		{"an actor with an aggregate", funnel(`"funnelAggregateByHogQL": "count()"`, ""), "type_error", "funnelsFilter__funnelAggregateByHogQL", "column 1"},
		{"an empty actor", funnel(`"funnelAggregateByHogQL": ""`, ""), "", "", ""},
		{"a group type beyond", funnel("", `, "aggregation_group_type_index": 5`), document.InvalidInput, "aggregation_group_type_index", ""},
		{"a breakdown by session", funnel("", `, "breakdownFilter": {"breakdown": "$session_duration", "breakdown_type": "session"}`), document.InvalidChoice, "breakdownFilter__breakdown_type", ""},
		{"four properties", funnel("", `, "breakdownFilter": {"breakdown": ["a", "b", "c", "d"]}`), document.TooLarge, "breakdownFilter__breakdown", ""},
		{"breakdowns of two types", funnel("", `, "breakdownFilter": {"breakdowns": [{"property": "a"}, {"property": "b", "type": "person"}]}`), document.NotSupported, "breakdownFilter__breakdowns__1__type", ""},
		{"bins", funnel("", `, "breakdownFilter": {"breakdown": "a", "breakdown_histogram_bin_count": 3}`), document.NotSupported, "breakdownFilter__breakdown_histogram_bin_count", ""},
	})
}
