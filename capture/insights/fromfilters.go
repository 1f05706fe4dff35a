package insights

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/funnels"
	"github.com/bunting-flags/bunting/capture/insights/internal/trends"
	"github.com/bunting-flags/bunting/flags/wire"
)

// FromFilters converts filters, the older form of an insight, to a query (§2.10). It returns nil if
// filters is empty. The error is an [*port.Error].
func FromFilters(filters json.RawMessage) (json.RawMessage, error) {
	n, fault := document.Decode(filters, "filters")
	n.Tracker.What, n.Tracker.Known = document.AFilters, document.OlderMembers
	query := older(n)
	if misspelt := n.Tracker.FindMisspelled(); misspelt != nil {
		return nil, misspelt
	}
	switch {
	case *fault != nil:
		return nil, *fault
	case query == nil:
		return nil, nil
	}
	return wire.MustEncode(query), nil
}

// older converts filters; it returns nil if there are none.
func older(n document.Node) map[string]any {
	filters := unpacked(n)
	if list, ok := filters.Value.([]any); ok && len(list) == 1 {
		filters = unpacked(with(filters, list[0]))
	}
	if f, ok := filters.Value.(map[string]any); !ok || len(f) == 0 {
		return nil
	}
	kind := filters.Get("insight")
	name, text := kind.Value.(string)
	convert, ok := oldInsights[strings.ToUpper(name)]
	if !ok || !text && !kind.IsAbsent() {
		kind.Fail(document.NotSupported, "Insights of type %s are not supported.", document.Describe(kind.Value))
		return nil
	}
	old := &oldFilters{Node: filters, query: map[string]any{}}
	old.common()
	convert(old)
	return old.query
}

// oldInsights are the converters of filters by the member "insight".
var oldInsights = map[string]func(*oldFilters){
	"": (*oldFilters).trends, "TRENDS": (*oldFilters).trends, "SESSIONS": (*oldFilters).trends,
	"FUNNELS": (*oldFilters).funnel, "RETENTION": (*oldFilters).retention,
	"LIFECYCLE": (*oldFilters).lifecycle, "STICKINESS": (*oldFilters).stickiness,
}

// oldFilters are the filters of an insight and the query to which they are converted.
type oldFilters struct {
	document.Node
	query map[string]any
}

// Names of members in filters and in queries.
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

// oldMembers copies members that have a value, under their new names.
func oldMembers(to map[string]any, from document.Node, names [][2]string) {
	for _, n := range names {
		if v := typedValue(from.Get(n[0]).Value); v != nil {
			to[n[1]] = v
		}
	}
}

// typedValue converts numbers and booleans in strings, the form that they have in URLs, to values.
// An empty string becomes nil.
func typedValue(v any) any {
	switch text, ok := v.(string); {
	case !ok:
		return v
	case text == "":
		return nil
	case text == "true", text == "false":
		return text == "true"
	case len(text) < 16 && strings.Trim(text, "0123456789") == "":
		return json.Number(cmp.Or(strings.TrimLeft(text, "0"), "0"))
	}
	return v
}

// unpacked decodes a value that may be JSON in a string.
func unpacked(n document.Node) document.Node {
	if text, ok := n.Value.(string); ok {
		return with(n, wire.Value([]byte(text)))
	}
	return n
}

// with returns the node with another value.
func with(n document.Node, value any) document.Node {
	return document.Node{Value: value, Attr: n.Attr, Fault: n.Fault, Tracker: n.Tracker}
}

// section adds an object to the query, unless it is empty.
func (o *oldFilters) section(name string, fill map[string]any) {
	if len(fill) > 0 {
		o.query[name] = fill
	}
}

// common converts the members that all kinds of insights have.
func (o *oldFilters) common() {
	dates := map[string]any{}
	oldMembers(dates, o.Node, oldDates)
	o.section("dateRange", dates)
	oldMembers(o.query, o.Node, oldCommon)
	if typedValue(o.Get("filter_test_accounts").Value) == true {
		o.query["filterTestAccounts"] = true
	}
	if properties := oldProperties(o.Get("properties")); properties != nil {
		o.query["properties"] = properties
	}
}

// interval converts the interval; minutes become hours.
func (o *oldFilters) interval() {
	oldMembers(o.query, o.Node, [][2]string{{"interval", "interval"}})
	if o.query["interval"] == "minute" {
		o.query["interval"] = "hour"
	}
}

// trends converts trends.
func (o *oldFilters) trends() {
	o.query["kind"] = "TrendsQuery"
	o.interval()
	o.query["series"] = o.series(func(to map[string]any, entity document.Node) { oldMembers(to, entity, oldMath) })
	filter := map[string]any{}
	oldMembers(filter, o.Node, oldTrends)
	if formula, _ := o.Get("formula").Value.(string); formula != "" {
		filter["formula"] = formula
	}
	if name, _ := o.Get("display").Value.(string); name != "" {
		if _, supported := trends.Displays[name]; supported {
			filter["display"] = name
		}
	}
	o.section("trendsFilter", filter)
	o.compare()
	o.breakdown()
}

func (o *oldFilters) compare() {
	compare := map[string]any{}
	oldMembers(compare, o.Node, oldCompare)
	o.section("compareFilter", compare)
}

func (o *oldFilters) lifecycle() {
	o.query["kind"] = "LifecycleQuery"
	o.interval()
	o.query["series"] = o.series(nil)
}

// stickyMaths are the maths that a StickinessQuery supports; others are replaced by dau.
var stickyMaths = []any{nil, "dau", "weekly_active", "monthly_active", "unique_group", "hogql"}

// stickiness converts stickiness.
func (o *oldFilters) stickiness() {
	o.query["kind"] = "StickinessQuery"
	o.interval()
	o.query["series"] = o.series(func(to map[string]any, entity document.Node) {
		if oldMembers(to, entity, oldMath); !slices.Contains(stickyMaths, to["math"]) {
			to["math"] = "dau"
		}
	})
	o.compare()
}

// funnel converts a funnel.
func (o *oldFilters) funnel() {
	o.query["kind"] = "FunnelsQuery"
	o.interval()
	o.query["series"] = o.series(nil)
	filter := map[string]any{}
	oldMembers(filter, o.Node, oldFunnel)
	if days := typedValue(o.Get("funnel_window_days").Value); days != nil && filter["funnelWindowInterval"] == nil {
		filter["funnelWindowInterval"], filter["funnelWindowIntervalUnit"] = days, "day"
	}
	if filter["funnelVizType"] == nil && o.Get("display").Value == "ActionsLineGraph" {
		filter["funnelVizType"] = funnels.TrendsView
	}
	exclusions := []any{}
	for _, x := range oldObjects(o.Get("exclusions")) {
		step := oldNode(x, x.Get("type").Value == "actions")
		oldMembers(step, x, [][2]string{{"funnel_from_step", "funnelFromStep"}, {"funnel_to_step", "funnelToStep"}})
		exclusions = append(exclusions, step)
	}
	if len(exclusions) > 0 {
		filter["exclusions"] = exclusions
	}
	o.section("funnelsFilter", filter)
	o.breakdown()
}

// retention converts retention.
func (o *oldFilters) retention() {
	o.query["kind"] = "RetentionQuery"
	filter := map[string]any{}
	oldMembers(filter, o.Node, oldRetention)
	for from, to := range map[string]string{"target_entity": "targetEntity", "returning_entity": "returningEntity"} {
		e := unpacked(o.Get(from))
		if m, ok := e.Value.(map[string]any); !ok || len(m) == 0 {
			continue
		}
		entity := map[string]any{"id": e.Get("id").Value}
		for _, name := range []string{"type", "name", "custom_name"} {
			if m := e.Get(name); !m.IsAbsent() {
				entity[name] = m.Value
			}
		}
		if properties := oldProperties(e.Get("properties")); properties != nil {
			entity["properties"] = properties
		}
		filter[to] = entity
	}
	o.query["retentionFilter"] = filter
}

// oldObjects returns the objects of a list, or of a list in a JSON string.
func oldObjects(n document.Node) (out []document.Node) {
	list, _ := unpacked(n).Value.([]any)
	for i, v := range list {
		if _, ok := v.(map[string]any); ok {
			out = append(out, document.Node{Value: v, Attr: n.Attr + "__" + strconv.Itoa(i), Fault: n.Fault, Tracker: n.Tracker})
		}
	}
	return out
}

// series returns the events and actions in their order. more, if not nil, adds the members that are
// particular to the kind of insight.
func (o *oldFilters) series(more func(to map[string]any, entity document.Node)) []any {
	type placed struct {
		order  float64
		entity document.Node
		action bool
	}
	var all []placed
	for _, kind := range []string{"actions", "events"} {
		for _, entity := range oldObjects(o.Get(kind)) {
			entity.Get("type") // read, because the list implies the type
			order := -1.0
			if n, ok := typedValue(entity.Get("order").Value).(json.Number); ok {
				order, _ = n.Float64()
			}
			all = append(all, placed{order, entity, kind == "actions"})
		}
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(a.order, b.order) })
	out := []any{}
	for _, p := range all {
		to := oldNode(p.entity, p.action)
		if more != nil {
			more(to, p.entity)
		}
		out = append(out, to)
	}
	return out
}

// oldNode converts an event or an action to a node of a series.
func oldNode(n document.Node, action bool) map[string]any {
	to := map[string]any{"kind": "EventsNode", "event": n.Get("id").Value}
	if action {
		to = map[string]any{"kind": "ActionsNode", "id": typedValue(n.Get("id").Value)}
	}
	for _, name := range []string{"name", "custom_name"} {
		if text, ok := n.Get(name).Value.(string); ok && text != "" {
			to[name] = text
		}
	}
	if properties := oldProperties(n.Get("properties")); properties != nil {
		to["properties"] = properties
	}
	return to
}

// breakdown adds the breakdownFilter.
func (o *oldFilters) breakdown() {
	filter := map[string]any{}
	property, kind := o.Get("breakdown").Value, o.Get("breakdown_type").Value
	if several := oldObjects(o.Get("breakdowns")); len(several) > 1 {
		o.Get("breakdowns").Fail(document.NotSupported, "Filters with %d breakdowns are not supported: use one.", len(several))
	} else if len(several) == 1 {
		one := several[0]
		property, kind = one.Get("property").Value, cmp.Or[any](one.Get("type").Value, kind)
		oldMembers(filter, one, [][2]string{{"normalize_url", "breakdown_normalize_url"}})
	}
	if property == nil || property == "" || kind == "undefined" {
		return
	}
	if kind == nil || kind == "" || kind == "events" {
		kind = "event"
	}
	oldMembers(filter, o.Node, oldBreakdown)
	filter["breakdown"], filter["breakdown_type"] = property, kind
	o.query["breakdownFilter"] = filter
}
