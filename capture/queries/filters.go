package queries

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/flags/wire"
)

// older is an insight's filters in their older form.
type older map[string]any

// olderKinds are the kinds of queries by filters.insight.
var olderKinds = map[string]string{
	"": "TrendsQuery", "TRENDS": "TrendsQuery", "SESSIONS": "TrendsQuery", "FUNNELS": "FunnelsQuery",
	"RETENTION": "RetentionQuery", "LIFECYCLE": "LifecycleQuery", "STICKINESS": "StickinessQuery",
}

// FromFilters makes a query of the older form of an insight (§2.10). The error is an
// *insights.Error.
func FromFilters(filters json.RawMessage) (json.RawMessage, error) {
	f := older(objectOf(wire.Value(filters)))
	name, _ := f["insight"].(string)
	kind := olderKinds[strings.ToUpper(name)]
	if kind == "" {
		return nil, &insights.Error{Code: "not_supported", Attr: "filters__insight", Detail: "Insights of the kind " + wire.Quote(wire.Shorten(name, 50)) + " are not run."}
	}
	q := map[string]any{"kind": kind}
	f.common(q)
	if kind != "RetentionQuery" {
		q["series"] = f.series(kind)
	}
	if kind == "TrendsQuery" || kind == "FunnelsQuery" {
		if err := f.breakdown(q); err != nil {
			return nil, err
		}
	}
	switch kind {
	case "TrendsQuery":
		f.trends(q)
	case "FunnelsQuery":
		f.funnel(q)
	case "RetentionQuery":
		f.retention(q)
	}
	return wire.MustEncode(q), nil
}

// objectOf unpacks a JSON text, or a list of one object.
func objectOf(v any) map[string]any {
	for range 3 {
		switch of := v.(type) {
		case map[string]any:
			return of
		case string:
			v = wire.Value([]byte(of))
		case []any:
			if len(of) != 1 {
				return nil
			}
			v = of[0]
		}
	}
	return nil
}

// listOf is a list, or a JSON text of one.
func listOf(v any) []any {
	if text, ok := v.(string); ok {
		v = wire.Value([]byte(text))
	}
	list, _ := v.([]any)
	return list
}

// take copies members under other names, those that are there.
func (f older) take(to map[string]any, names ...string) {
	for i := 0; i < len(names); i += 2 {
		if v := f[names[i]]; v != nil && v != "" {
			to[names[i+1]] = v
		}
	}
}

func (f older) common(q map[string]any) {
	dates := map[string]any{}
	f.take(dates, "date_from", "date_from", "date_to", "date_to", "explicit_date", "explicitDate")
	if len(dates) > 0 {
		q["dateRange"] = dates
	}
	f.take(q, "interval", "interval", "filter_test_accounts", "filterTestAccounts", "sampling_factor", "samplingFactor",
		"aggregation_group_type_index", "aggregation_group_type_index")
	if q["interval"] == "minute" {
		q["interval"] = "hour"
	}
	if p := olderProperties(f["properties"]); p != nil {
		q["properties"] = p
	}
}

// olderProperties are property filters: a tree, a list, or {"key__operator": value}.
func olderProperties(v any) any {
	if text, ok := v.(string); ok {
		v = wire.Value([]byte(text))
	}
	switch of := v.(type) {
	case []any:
		return slices.DeleteFunc(slices.Clone(of), func(e any) bool { _, filter := e.(map[string]any); return !filter })
	case map[string]any:
		if of["type"] != nil && of["values"] != nil {
			return of
		}
		out := []any{}
		for key, value := range of {
			operator := "exact"
			if i := strings.LastIndex(key, "__"); i > 0 {
				key, operator = key[:i], key[i+2:]
			}
			out = append(out, map[string]any{"type": "event", "key": key, "operator": operator, "value": value})
		}
		slices.SortFunc(out, func(a, b any) int {
			return strings.Compare(a.(map[string]any)["key"].(string), b.(map[string]any)["key"].(string))
		})
		return out
	}
	return nil
}

// peopleMaths are the maths that stickiness keeps.
var peopleMaths = []any{"dau", "weekly_active", "monthly_active", "unique_group", "hogql"}

// series are actions and events in their order.
func (f older) series(kind string) []any {
	type placed struct {
		order float64
		node  map[string]any
	}
	var all []placed
	for _, from := range []struct{ name, kind, id string }{{"actions", "ActionsNode", "id"}, {"events", "EventsNode", "event"}} {
		for _, v := range listOf(f[from.name]) {
			e, ok := v.(map[string]any)
			if !ok {
				continue
			}
			of, node := older(e), map[string]any{"kind": from.kind, from.id: e["id"]}
			of.take(node, "name", "name", "custom_name", "custom_name")
			if p := olderProperties(e["properties"]); p != nil {
				node["properties"] = p
			}
			switch kind {
			case "TrendsQuery":
				of.take(node, "math", "math", "math_property", "math_property", "math_hogql", "math_hogql", "math_group_type_index", "math_group_type_index")
			case "StickinessQuery":
				if node["math"] = e["math"]; !slices.Contains(peopleMaths, e["math"]) {
					node["math"] = "dau"
				}
				of.take(node, "math_hogql", "math_hogql", "math_group_type_index", "math_group_type_index")
			}
			order := -1.0
			if n, ok := e["order"].(json.Number); ok {
				order, _ = n.Float64()
			}
			all = append(all, placed{order, node})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.order, b.order) })
	out := make([]any, len(all))
	for i := range all {
		out[i] = all[i].node
	}
	return out
}

func (f older) breakdown(q map[string]any) error {
	to := map[string]any{}
	kind, _ := f["breakdown_type"].(string)
	if f["breakdown"] != nil && kind != "undefined" {
		f.take(to, "breakdown", "breakdown", "breakdown_limit", "breakdown_limit", "breakdown_group_type_index", "breakdown_group_type_index",
			"breakdown_normalize_url", "breakdown_normalize_url", "breakdown_histogram_bin_count", "breakdown_histogram_bin_count",
			"breakdown_hide_other_aggregation", "breakdown_hide_other_aggregation")
		to["breakdown_type"] = olderType(kind)
	} else if list := listOf(f["breakdowns"]); len(list) > 0 {
		one, _ := list[0].(map[string]any)
		if len(list) > 1 || one == nil {
			return &insights.Error{Code: "not_supported", Attr: "filters__breakdowns", Detail: "Of breakdowns in the older form exactly one is run."}
		}
		kind, _ = one["type"].(string)
		to["breakdown_type"] = olderType(kind)
		older(one).take(to, "property", "breakdown", "normalize_url", "breakdown_normalize_url")
	}
	if len(to) > 0 {
		q["breakdownFilter"] = to
	}
	return nil
}

func olderType(kind string) string {
	if kind == "" || kind == "events" {
		return "event"
	}
	return kind
}

// displays are those that trends know.
var displays = []any{
	"ActionsLineGraph", "ActionsBar", "ActionsUnstackedBar", "ActionsStackedBar", "ActionsAreaGraph", "ActionsLineGraphCumulative",
	"BoldNumber", "ActionsPie", "ActionsBarValue", "ActionsTable", "WorldMap",
}

func (f older) trends(q map[string]any) {
	to, compare := map[string]any{}, map[string]any{}
	if slices.Contains(displays, f["display"]) {
		to["display"] = f["display"]
	}
	f.take(to, "formula", "formula", "smoothing_intervals", "smoothingIntervals")
	f.take(compare, "compare", "compare", "compare_to", "compare_to")
	q["trendsFilter"] = to
	if len(compare) > 0 {
		q["compareFilter"] = compare
	}
}

func (f older) funnel(q map[string]any) {
	to := map[string]any{}
	f.take(to, "funnel_viz_type", "funnelVizType", "funnel_order_type", "funnelOrderType",
		"funnel_window_days", "funnelWindowInterval", "funnel_window_interval", "funnelWindowInterval", "funnel_window_interval_unit", "funnelWindowIntervalUnit",
		"funnel_from_step", "funnelFromStep", "funnel_to_step", "funnelToStep", "breakdown_attribution_type", "breakdownAttributionType",
		"breakdown_attribution_value", "breakdownAttributionValue", "bin_count", "binCount", "funnel_aggregate_by_hogql", "funnelAggregateByHogQL")
	if f["funnel_window_days"] != nil && f["funnel_window_interval"] == nil {
		to["funnelWindowIntervalUnit"] = "day"
	}
	if to["funnelVizType"] == nil && f["display"] == "ActionsLineGraph" {
		to["funnelVizType"] = "trends"
	}
	var exclusions []any
	for _, v := range listOf(f["exclusions"]) {
		e, ok := v.(map[string]any)
		if !ok {
			continue
		}
		node := map[string]any{"kind": "EventsNode", "event": e["id"]}
		if e["type"] == "actions" {
			node = map[string]any{"kind": "ActionsNode", "id": e["id"]}
		}
		older(e).take(node, "funnel_from_step", "funnelFromStep", "funnel_to_step", "funnelToStep", "name", "name")
		exclusions = append(exclusions, node)
	}
	if exclusions != nil {
		to["exclusions"] = exclusions
	}
	q["funnelsFilter"] = to
}

func (f older) retention(q map[string]any) {
	to := map[string]any{}
	f.take(to, "retention_type", "retentionType", "period", "period", "total_intervals", "totalIntervals",
		"retention_reference", "retentionReference", "cumulative", "cumulative")
	for from, name := range map[string]string{"target_entity": "targetEntity", "returning_entity": "returningEntity"} {
		if entity := objectOf(f[from]); entity != nil {
			to[name] = entity
		}
	}
	q["retentionFilter"] = to
}
