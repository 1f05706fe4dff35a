package insights

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// TestFromFilters tests each row of the table of §2.10.
func TestFromFilters(t *testing.T) {
	const a = `"series": [{"kind": "EventsNode", "event": "a"}]`
	const oldA = `"events": [{"id": "a", "type": "events"}]`
	const abc = `"series": [{"kind": "EventsNode", "event": "a"}, {"kind": "EventsNode", "event": "b"}, {"kind": "EventsNode", "event": "c"}]`
	const oldABC = `"events": [{"id": "a"}, {"id": "b"}, {"id": "c"}]`
	for _, c := range []struct{ name, filters, want string }{
		{"without an insight: trends", `{` + oldA + `}`, `{"kind": "TrendsQuery", ` + a + `}`},
		{"sessions are trends", `{"insight": "SESSIONS", ` + oldA + `}`, `{"kind": "TrendsQuery", ` + a + `}`},
		{"a JSON text", `"{\"insight\": \"TRENDS\", \"events\": [{\"id\": \"a\"}]}"`, `{"kind": "TrendsQuery", ` + a + `}`},
		{"a list of one object", `[{` + oldA + `}]`, `{"kind": "TrendsQuery", ` + a + `}`},
		{"by order, absent first, actions before events when equal; texts among them dropped",
			`{"events": [{"id": "c", "order": 2}, "x", {"id": null, "order": 1}, {"id": "first"}], "actions": "[{\"id\": 7, \"order\": 1, \"name\": \"n\"}, {\"id\": \"8\", \"custom_name\": \"mine\", \"order\": 3}]"}`,
			`{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "first"}, {"kind": "ActionsNode", "id": 7, "name": "n"}, {"kind": "EventsNode", "event": null},
				{"kind": "EventsNode", "event": "c"}, {"kind": "ActionsNode", "id": 8, "custom_name": "mine"}]}`},
		{"maths of trends", `{"events": [{"id": "a", "math": "sum", "math_property": "p", "math_hogql": "h", "math_group_type_index": 1}]}`,
			`{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "a", "math": "sum", "math_property": "p", "math_hogql": "h", "math_group_type_index": 1}]}`},
		{"of stickiness: people", `{"insight": "STICKINESS", "events": [{"id": "a", "math": "sum"}, {"id": "b", "math": "unique_group", "math_group_type_index": 0}]}`,
			`{"kind": "StickinessQuery", "series": [{"kind": "EventsNode", "event": "a", "math": "dau"}, {"kind": "EventsNode", "event": "b", "math": "unique_group", "math_group_type_index": 0}]}`},
		{"not of funnels", `{"insight": "FUNNELS", "events": [{"id": "a", "math": "sum"}]}`, `{"kind": "FunnelsQuery", ` + a + `}`},
		{"dates", `{"date_from": "-7d", "date_to": "", "explicit_date": "true", ` + oldA + `}`, `{"kind": "TrendsQuery", "dateRange": {"date_from": "-7d", "explicitDate": true}, ` + a + `}`},
		{"minutes become hours", `{"interval": "minute", ` + oldA + `}`, `{"kind": "TrendsQuery", "interval": "hour", ` + a + `}`},
		{"properties as a list; what is no filter is dropped", `{"properties": [{"key": "k", "value": "v", "operator": "exact", "type": "person"}, {}, "x"], ` + oldA + `}`,
			`{"kind": "TrendsQuery", "properties": [{"key": "k", "value": "v", "operator": "exact", "type": "person"}], ` + a + `}`},
		{"as a tree", `{"properties": {"type": "OR", "values": [{"type": "AND", "values": [{"key": "k", "value": 1}, {}]}]}, ` + oldA + `}`,
			`{"kind": "TrendsQuery", "properties": {"type": "OR", "values": [{"type": "AND", "values": [{"key": "k", "value": 1}]}]}, ` + a + `}`},
		{"in the oldest form", `{"properties": {"k": "v", "url__path__icontains": "x"}, ` + oldA + `}`,
			`{"kind": "TrendsQuery", "properties": [{"type": "event", "key": "k", "operator": "exact", "value": "v"}, {"type": "event", "key": "url__path", "operator": "icontains", "value": "x"}], ` + a + `}`},
		{"of an event", `{"events": [{"id": "a", "properties": {"k__gt": 3}}]}`,
			`{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "a", "properties": [{"type": "event", "key": "k", "operator": "gt", "value": 3}]}]}`},
		{"of all kinds", `{"filter_test_accounts": true, "sampling_factor": 0.1, "aggregation_group_type_index": 0, ` + oldA + `}`,
			`{"kind": "TrendsQuery", "filterTestAccounts": true, "samplingFactor": 0.1, "aggregation_group_type_index": 0, ` + a + `}`},
		{"breakdown", `{"breakdown": "b", "breakdown_limit": 5, "breakdown_normalize_url": true, "breakdown_histogram_bin_count": 4, "breakdown_hide_other_aggregation": true, ` + oldA + `}`,
			`{"kind": "TrendsQuery", "breakdownFilter": {"breakdown": "b", "breakdown_type": "event", "breakdown_limit": 5, "breakdown_normalize_url": true, "breakdown_histogram_bin_count": 4, "breakdown_hide_other_aggregation": true}, ` + a + `}`},
		{"its type", `{"breakdown": "b", "breakdown_type": "events", "insight": "FUNNELS", ` + oldA + `}`, `{"kind": "FunnelsQuery", "breakdownFilter": {"breakdown": "b", "breakdown_type": "event"}, ` + a + `}`},
		{"undefined: none", `{"breakdown": "b", "breakdown_type": "undefined", ` + oldA + `}`, `{"kind": "TrendsQuery", ` + a + `}`},
		{"of a group", `{"breakdown": "b", "breakdown_type": "group", "breakdown_group_type_index": 1, ` + oldA + `}`,
			`{"kind": "TrendsQuery", "breakdownFilter": {"breakdown": "b", "breakdown_type": "group", "breakdown_group_type_index": 1}, ` + a + `}`},
		{"one of several", `{"breakdowns": [{"property": "b", "type": "person"}], ` + oldA + `}`, `{"kind": "TrendsQuery", "breakdownFilter": {"breakdown": "b", "breakdown_type": "person"}, ` + a + `}`},
		{"how it is shown", `{"display": "BoldNumber", "formula": "A", "smoothing_intervals": "7", "compare": true, "compare_to": "-1w", ` + oldA + `}`,
			`{"kind": "TrendsQuery", "trendsFilter": {"display": "BoldNumber", "formula": "A", "smoothingIntervals": 7}, "compareFilter": {"compare": true, "compare_to": "-1w"}, ` + a + `}`},
		{"an unknown display", `{"display": "Hologram", ` + oldA + `}`, `{"kind": "TrendsQuery", ` + a + `}`},
		{"funnel", `{"insight": "FUNNELS", "funnel_viz_type": "steps", "funnel_order_type": "strict", "funnel_window_interval": "3", "funnel_window_interval_unit": "hour", "funnel_from_step": 0, "funnel_to_step": 1,
				"breakdown_attribution_type": "step", "breakdown_attribution_value": 1, "bin_count": "5", "funnel_aggregate_by_hogql": "",
				"exclusions": [{"id": "x", "type": "events", "funnel_from_step": 0, "funnel_to_step": 1}, {"id": 3, "type": "actions", "funnel_from_step": 1, "funnel_to_step": 2}], ` + oldABC + `}`,
			`{"kind": "FunnelsQuery", "funnelsFilter": {"funnelVizType": "steps", "funnelOrderType": "strict", "funnelWindowInterval": 3, "funnelWindowIntervalUnit": "hour", "funnelFromStep": 0, "funnelToStep": 1,
				"breakdownAttributionType": "step", "breakdownAttributionValue": 1, "binCount": 5,
				"exclusions": [{"kind": "EventsNode", "event": "x", "funnelFromStep": 0, "funnelToStep": 1}, {"kind": "ActionsNode", "id": 3, "funnelFromStep": 1, "funnelToStep": 2}]}, ` + abc + `}`},
		{"funnel over time, by its display", `{"insight": "FUNNELS", "display": "ActionsLineGraph", "funnel_window_days": 7, ` + oldABC + `}`,
			`{"kind": "FunnelsQuery", "funnelsFilter": {"funnelVizType": "trends", "funnelWindowInterval": 7, "funnelWindowIntervalUnit": "day"}, ` + abc + `}`},
		{"retention", `{"insight": "RETENTION", "retention_type": "retention_first_time", "period": "Week", "total_intervals": "11", "target_entity": {"id": "a", "type": "events"},
				"returning_entity": "{\"id\": 4, \"type\": \"actions\"}", "retention_reference": "total", "cumulative": true}`,
			`{"kind": "RetentionQuery", "retentionFilter": {"retentionType": "retention_first_time", "period": "Week", "totalIntervals": 11, "targetEntity": {"id": "a", "type": "events"},
				"returningEntity": {"id": 4, "type": "actions"}, "retentionReference": "total", "cumulative": true}}`},
		{"lifecycle", `{"insight": "LIFECYCLE", "interval": "week", ` + oldA + `}`, `{"kind": "LifecycleQuery", "interval": "week", ` + a + `}`},
		{"none", `{}`, `null`},
		{"nothing", ``, `null`},
	} {
		got, err := FromFilters(json.RawMessage(c.filters))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if want := wire.Value([]byte(c.want)); !reflect.DeepEqual(wire.Value(got), want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, wire.MustEncode(want))
		}
		if got == nil {
			continue
		}
		project := &port.Project{ID: 1, GroupTypes: []string{"org", "team"}}
		var fault *port.Error
		if _, err := Parse(got, project); errors.As(err, &fault) && fault.Code != document.NotSupported {
			t.Errorf("%s: the query cannot be read: %v", c.name, err)
		}
	}
}

// TestFromFilters_Rejected tests filters that cannot be converted (§2.10).
func TestFromFilters_Rejected(t *testing.T) {
	for filters, attr := range map[string]string{
		`{"insight": "PATHS"}`: "filters__insight",
		`{"insight": 5}`:       "filters__insight",
		`{"events": [{"id": "a"}], "breakdowns": [{"property": "a"}, {"property": "b"}]}`: "filters__breakdowns",
	} {
		_, err := FromFilters(json.RawMessage(filters))
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Code != "not_supported" || fault.Attr != attr {
			t.Errorf("%s: %v", filters, err)
		}
	}
}

// A misspelled member of filters is an error with its place and the likely name (decision 30), also
// in entities, their filters, breakdowns and JSON strings.
func TestFromFilters_Misspelt(t *testing.T) {
	for filters, want := range map[string][2]string{
		`{"insigt": "TRENDS", "events": [{"id": "a"}]}`:                                                    {"filters__insigt", "insight"},
		`{"event": "x", "evnts": [{"id": "a"}]}`:                                                           {"filters__evnts", "events"},
		`{"date_fro": "-7d"}`:                                                                              {"filters__date_fro", "date_from"},
		`{"filter_test_acounts": true}`:                                                                    {"filters__filter_test_acounts", "filter_test_accounts"},
		`{"propertys": []}`:                                                                                {"filters__propertys", "properties"},
		`{"events": [{"id": "a", "mat": "dau"}]}`:                                                          {"filters__events__0__mat", "math"},
		`{"events": "[{\"id\": \"a\"}, {\"id\": \"b\", \"propertie\": []}]"}`:                              {"filters__events__1__propertie", "properties"},
		`{"actions": [{"id": 1, "properties": [{"key": "a", "operater": "gt", "value": 1}]}]}`:             {"filters__actions__0__properties__0__operater", "operator"},
		`{"properties": {"type": "OR", "values": [{"type": "AND", "values": [{"ky": "a", "value": 1}]}]}}`: {"filters__properties__values__0__values__0__ky", "key"},
		`{"breakdown": "a", "breakdown_tpe": "person"}`:                                                    {"filters__breakdown_tpe", "breakdown_type"},
		`{"insight": "FUNNELS", "funnel_window_intervl": 3}`:                                               {"filters__funnel_window_intervl", "funnel_window_interval"},
		`{"insight": "FUNNELS", "exclusions": [{"id": "x", "funel_from_step": 0}]}`:                        {"filters__exclusions__0__funel_from_step", "funnel_from_step"},
		`{"insight": "RETENTION", "total_interval": 3}`:                                                    {"filters__total_interval", "total_intervals"},
		`{"insight": "RETENTION", "target_entity": {"id": "a", "tpye": "events"}}`:                         {"filters__target_entity__tpye", "type"},
	} {
		_, err := FromFilters(json.RawMessage(filters))
		var fault *port.Error
		if !errors.As(err, &fault) || fault.Code != "unknown_key" || fault.Attr != want[0] || !strings.Contains(fault.Detail, `"`+want[1]+`" is most likely meant`) {
			t.Errorf("%s: %v, want unknown_key at %s with %s", filters, err, want[0], want[1])
		}
		if _, err := UnknownMembers("filters", []byte(filters), "filters", &port.Project{}); !errors.As(err, &fault) || fault.Attr != want[0] {
			t.Errorf("%s, saved: %v", filters, err)
		}
	}
}

// Members of PostHog's filters that have no effect are listed, except those that affect only the
// display. Names of properties in the oldest form are never misspelled.
func TestFromFilters_Unread(t *testing.T) {
	for filters, want := range map[string][]string{
		`{"insight": "TRENDS", "display": "ActionsBar", "events": [{"id": "a", "name": "a", "type": "events", "order": 0, "math": "total"}], "show_legend": true, "hidden_legend_keys": {}, "aggregation_axis_format": "numeric", "interval": "day"}`: nil,
		`{"properties": {"valeu": 1, "typ": 2}}`:                                                     nil,
		`{"insight": "FUNNELS", "funnel_viz_type": "steps", "new_entity": [], "shown_as": "Volume"}`: {"filters.new_entity is not supported and has no effect", "filters.shown_as is not supported and has no effect"},
		`{"insight": "PATHS", "step_limit": 5}`:                                                      {"filters.step_limit is not supported and has no effect"},
		`{"colour_of_all": 1}`:                                                                       {"filters.colour_of_all is unknown and has no effect"},
	} {
		got, err := UnknownMembers("filters", []byte(filters), "filters", &port.Project{})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %q, want %q", filters, err, got, want)
		}
	}
}

// FuzzFromFilters checks that every document results in a query or an error.
func FuzzFromFilters(f *testing.F) {
	for _, seed := range []string{`{"insight": "FUNNELS", "events": [{"id": "a", "properties": {"a__gt": [1]}}], "breakdowns": [5]}`, `[[]]`, `"[{}]"`, `{"target_entity": 5, "insight": "retention"}`, `{"properties": {"type": "AND", "values": "x"}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, filters []byte) {
		query, err := FromFilters(filters)
		if err == nil && query != nil && !json.Valid(query) {
			t.Errorf("%s is no JSON", query)
		}
	})
}
