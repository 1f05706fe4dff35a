package insights

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/wire"
)

// FromFilters makes a query of the older form of an insight (§2.10); nil when there
// are no filters. The error is an [*Error].
func FromFilters(filters json.RawMessage) (json.RawMessage, error) {
	given := unpacked(wire.Value(filters))
	if list, ok := given.([]any); ok && len(list) == 1 {
		given = unpacked(list[0])
	}
	f, ok := given.(map[string]any)
	if !ok || len(f) == 0 {
		return nil, nil
	}
	name, text := f["insight"].(string)
	convert, ok := oldInsights[strings.ToUpper(name)]
	if !ok || !text && f["insight"] != nil {
		return nil, failure(notSupported, "filters__insight", "Insights of type %s are not supported.", describe(f["insight"]))
	}
	old := &oldFilters{members: f, query: map[string]any{}}
	old.common()
	if convert(old); old.fault != nil {
		return nil, old.fault
	}
	return wire.MustEncode(old.query), nil
}

// oldInsights convert filters by their "insight".
var oldInsights = map[string]func(*oldFilters){
	"": (*oldFilters).trends, "TRENDS": (*oldFilters).trends, "SESSIONS": (*oldFilters).trends,
	"FUNNELS": (*oldFilters).funnel, "RETENTION": (*oldFilters).retention,
	"LIFECYCLE": (*oldFilters).lifecycle, "STICKINESS": (*oldFilters).stickiness,
}

// oldFilters are an insight's filters, and the query that they become.
type oldFilters struct {
	members map[string]any
	query   map[string]any
	fault   error
}

// Members of filters by their names, and what they are called in queries.
var (
	oldCommon  = [][2]string{{"sampling_factor", "samplingFactor"}, {"aggregation_group_type_index", "aggregation_group_type_index"}}
	oldDates   = [][2]string{{"date_from", "date_from"}, {"date_to", "date_to"}, {"explicit_date", "explicitDate"}}
	oldTrends  = [][2]string{{"smoothing_intervals", "smoothingIntervals"}}
	oldCompare = [][2]string{{"compare", "compare"}, {"compare_to", "compare_to"}}
	oldFunnel  = [][2]string{
		{"funnel_viz_type", "funnelVizType"}, {"funnel_order_type", "funnelOrderType"}, {"funnel_window_interval", "funnelWindowInterval"},
		{"funnel_window_interval_unit", "funnelWindowIntervalUnit"}, {"funnel_from_step", "funnelFromStep"}, {"funnel_to_step", "funnelToStep"},
		{"breakdown_attribution_type", "breakdownAttributionType"}, {"breakdown_attribution_value", "breakdownAttributionValue"},
		{"bin_count", "binCount"}, {"funnel_aggregate_by_hogql", "funnelAggregateByHogQL"},
	}
	oldRetention = [][2]string{
		{"retention_type", "retentionType"}, {"period", "period"}, {"total_intervals", "totalIntervals"},
		{"retention_reference", "retentionReference"}, {"cumulative", "cumulative"},
	}
	oldBreakdown = [][2]string{
		{"breakdown_limit", "breakdown_limit"}, {"breakdown_group_type_index", "breakdown_group_type_index"},
		{"breakdown_normalize_url", "breakdown_normalize_url"}, {"breakdown_histogram_bin_count", "breakdown_histogram_bin_count"},
		{"breakdown_hide_other_aggregation", "breakdown_hide_other_aggregation"},
	}
	oldMath = [][2]string{{"math", "math"}, {"math_property", "math_property"}, {"math_hogql", "math_hogql"}, {"math_group_type_index", "math_group_type_index"}}
)

// oldMembers copies members that have a value under their new names.
func oldMembers(to, from map[string]any, names [][2]string) {
	for _, n := range names {
		if v := plain(from[n[0]]); v != nil {
			to[n[1]] = v
		}
	}
}

// plain is a value of filters as queries have it: numbers and booleans that stand in
// texts, as they came in addresses, are what they say; an empty text is nothing.
func plain(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	switch {
	case text == "":
		return nil
	case text == "true", text == "false":
		return text == "true"
	case len(text) < 16 && strings.Trim(text, "0123456789") == "":
		return json.Number(cmp.Or(strings.TrimLeft(text, "0"), "0"))
	}
	return v
}

// unpacked is a value that may stand in a JSON text.
func unpacked(v any) any {
	if text, ok := v.(string); ok {
		return wire.Value([]byte(text))
	}
	return v
}

// section makes an object of the query, if there is something to put in.
func (o *oldFilters) section(name string, fill map[string]any) {
	if len(fill) > 0 {
		o.query[name] = fill
	}
}

func (o *oldFilters) common() {
	dates := map[string]any{}
	oldMembers(dates, o.members, oldDates)
	o.section("dateRange", dates)
	oldMembers(o.query, o.members, oldCommon)
	if plain(o.members["filter_test_accounts"]) == true {
		o.query["filterTestAccounts"] = true
	}
	if properties := oldProperties(o.members["properties"]); properties != nil {
		o.query["properties"] = properties
	}
}

func (o *oldFilters) interval() {
	oldMembers(o.query, o.members, [][2]string{{"interval", "interval"}})
	if o.query["interval"] == "minute" {
		o.query["interval"] = "hour"
	}
}

func (o *oldFilters) trends() {
	o.query["kind"] = "TrendsQuery"
	o.interval()
	o.query["series"] = o.series(func(node, entity map[string]any) { oldMembers(node, entity, oldMath) })
	filter := map[string]any{}
	oldMembers(filter, o.members, oldTrends)
	if formula, _ := o.members["formula"].(string); formula != "" {
		filter["formula"] = formula
	}
	if name, _ := o.members["display"].(string); name != "" {
		if _, known := displays[name]; known {
			filter["display"] = name
		}
	}
	o.section("trendsFilter", filter)
	o.compare()
	o.breakdown()
}

func (o *oldFilters) compare() {
	compare := map[string]any{}
	oldMembers(compare, o.members, oldCompare)
	o.section("compareFilter", compare)
}

func (o *oldFilters) lifecycle() {
	o.query["kind"] = "LifecycleQuery"
	o.interval()
	o.query["series"] = o.series(nil)
}

// stickyMaths are those that stickiness keeps.
var stickyMaths = []any{nil, "dau", "weekly_active", "monthly_active", "unique_group", "hogql"}

func (o *oldFilters) stickiness() {
	o.query["kind"] = "StickinessQuery"
	o.interval()
	o.query["series"] = o.series(func(node, entity map[string]any) {
		if oldMembers(node, entity, oldMath); !slices.Contains(stickyMaths, node["math"]) {
			node["math"] = "dau"
		}
	})
	o.compare()
}

func (o *oldFilters) funnel() {
	o.query["kind"] = "FunnelsQuery"
	o.interval()
	o.query["series"] = o.series(nil)
	filter := map[string]any{}
	oldMembers(filter, o.members, oldFunnel)
	if days := plain(o.members["funnel_window_days"]); days != nil && filter["funnelWindowInterval"] == nil {
		filter["funnelWindowInterval"], filter["funnelWindowIntervalUnit"] = days, "day"
	}
	if filter["funnelVizType"] == nil && o.members["display"] == "ActionsLineGraph" {
		filter["funnelVizType"] = funnelTrends
	}
	exclusions := []any{}
	for _, v := range oldList(o.members["exclusions"]) {
		x, ok := v.(map[string]any)
		if !ok {
			continue
		}
		node := oldNode(x, x["type"] == "actions")
		oldMembers(node, x, [][2]string{{"funnel_from_step", "funnelFromStep"}, {"funnel_to_step", "funnelToStep"}})
		exclusions = append(exclusions, node)
	}
	if len(exclusions) > 0 {
		filter["exclusions"] = exclusions
	}
	o.section("funnelsFilter", filter)
	o.breakdown()
}

func (o *oldFilters) retention() {
	o.query["kind"] = "RetentionQuery"
	filter := map[string]any{}
	oldMembers(filter, o.members, oldRetention)
	for from, to := range map[string]string{"target_entity": "targetEntity", "returning_entity": "returningEntity"} {
		e, ok := unpacked(o.members[from]).(map[string]any)
		if !ok || len(e) == 0 {
			continue
		}
		entity := map[string]any{"id": e["id"]}
		for _, name := range []string{"type", "name", "custom_name"} {
			if e[name] != nil {
				entity[name] = e[name]
			}
		}
		if properties := oldProperties(e["properties"]); properties != nil {
			entity["properties"] = properties
		}
		filter[to] = entity
	}
	o.query["retentionFilter"] = filter
}

// oldList is a list, or the list in a JSON text.
func oldList(v any) []any {
	list, _ := unpacked(v).([]any)
	return list
}

// series are events and actions in their order; more adds to a node what the kind of
// insight knows of it.
func (o *oldFilters) series(more func(node, entity map[string]any)) []any {
	type placed struct {
		order  float64
		entity map[string]any
		action bool
	}
	var all []placed
	for _, kind := range []string{"actions", "events"} {
		for _, v := range oldList(o.members[kind]) {
			entity, ok := v.(map[string]any)
			if !ok {
				continue
			}
			order := -1.0
			if n, ok := plain(entity["order"]).(json.Number); ok {
				order, _ = n.Float64()
			}
			all = append(all, placed{order, entity, kind == "actions"})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.order, b.order) })
	out := []any{}
	for _, p := range all {
		node := oldNode(p.entity, p.action)
		if more != nil {
			more(node, p.entity)
		}
		out = append(out, node)
	}
	return out
}

// oldNode is an event or an action as a node.
func oldNode(entity map[string]any, action bool) map[string]any {
	node := map[string]any{"kind": "EventsNode", "event": entity["id"]}
	if action {
		node = map[string]any{"kind": "ActionsNode", "id": plain(entity["id"])}
	}
	for _, name := range []string{"name", "custom_name"} {
		if text, ok := entity[name].(string); ok && text != "" {
			node[name] = text
		}
	}
	if properties := oldProperties(entity["properties"]); properties != nil {
		node["properties"] = properties
	}
	return node
}

// breakdown makes breakdownFilter.
func (o *oldFilters) breakdown() {
	filter := map[string]any{}
	of, kind := o.members["breakdown"], o.members["breakdown_type"]
	if several := oldList(o.members["breakdowns"]); len(several) > 1 {
		o.fault = failure(notSupported, "filters__breakdowns", "Filters with %d breakdowns are not supported, one is.", len(several))
	} else if len(several) == 1 {
		one, _ := several[0].(map[string]any)
		of, kind = one["property"], cmp.Or[any](one["type"], kind)
		oldMembers(filter, one, [][2]string{{"normalize_url", "breakdown_normalize_url"}})
	}
	if of == nil || of == "" || kind == "undefined" {
		return
	}
	if kind == nil || kind == "" || kind == "events" {
		kind = "event"
	}
	oldMembers(filter, o.members, oldBreakdown)
	filter["breakdown"], filter["breakdown_type"] = of, kind
	o.query["breakdownFilter"] = filter
}

// oldProperties are filters: a list, a tree, or the oldest form of names with
// operators; nil for none. What is no filter is dropped.
func oldProperties(v any) any {
	switch v := unpacked(v).(type) {
	case []any:
		if list := oldFilterList(v); len(list) > 0 {
			return list
		}
	case map[string]any:
		if values, tree := v["values"].([]any); tree {
			return map[string]any{"type": cmp.Or[any](v["type"], "AND"), "values": oldFilterList(values)}
		}
		if v["key"] != nil || v["type"] == "AND" || v["type"] == "OR" {
			return oldProperties([]any{v})
		}
		list := []any{}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			key, operator := name, "exact"
			if at := strings.LastIndex(name, "__"); at > 0 {
				key, operator = name[:at], name[at+2:]
			}
			list = append(list, map[string]any{"type": "event", "key": key, "operator": operator, "value": v[name]})
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

func oldFilterList(list []any) []any {
	out := []any{}
	for _, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if _, tree := m["values"]; tree {
			out = append(out, oldProperties(m))
		} else if m["key"] != nil {
			out = append(out, m)
		}
	}
	return out
}
