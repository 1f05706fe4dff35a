package queries

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
)

// wrappers are the kinds of nodes that only determine how their source is displayed (§1.3).
var wrappers = []string{"InsightVizNode", "DataTableNode", "DataVisualizationNode"}

// Overrides replace the date range and the filters of a query. They come from the request, a
// tile and a dashboard.
type Overrides struct {
	// Filters are JSON objects, from the highest to the lowest precedence. They may be empty.
	Filters []json.RawMessage
	// Variables is a JSON object of {"code_name", "value", "isNull"} objects by the ID of the
	// variable. It may be empty.
	Variables json.RawMessage
}

// Prepare removes the wrappers of a query, replaces a reference to a saved insight by the
// query of the insight, and applies overrides (§1.3, §1.9). saved returns the query of an
// insight by its short ID. Parts that are invalid are not changed, because Execute returns
// the error for them.
func Prepare(query json.RawMessage, o Overrides, saved func(shortID string) (json.RawMessage, error)) (json.RawMessage, error) {
	q, err := unwrap(query, saved, 0)
	if q == nil || err != nil {
		return query, err
	}
	strong := map[string]any{}
	for _, filters := range o.Filters {
		members, _ := wire.Value(filters).(map[string]any)
		for name, v := range members {
			if _, exists := strong[name]; !exists && !isEmpty(v) {
				strong[name] = v
			}
		}
	}
	override(q, strong)
	if variables, ok := wire.Value(o.Variables).(map[string]any); ok && q["kind"] == "HogQLQuery" {
		existing, _ := q["variables"].(map[string]any)
		if existing == nil {
			existing = map[string]any{}
		}
		for id, v := range variables {
			existing[id] = v
		}
		q["variables"] = existing
	}
	return wire.MustEncode(q), nil
}

// maxWrapped is the greatest number of wrappers around a query.
const maxWrapped = 10

// unwrap removes wrappers and resolves at most one reference to a saved insight.
func unwrap(query json.RawMessage, saved func(string) (json.RawMessage, error), depth int) (map[string]any, error) {
	value := wire.Value(query)
	if text, ok := value.(string); ok {
		value = wire.Value([]byte(text))
	}
	q, _ := value.(map[string]any)
	for ; q != nil && depth < maxWrapped; depth++ {
		kind, _ := q["kind"].(string)
		switch inner, _ := q["source"].(map[string]any); {
		case slices.Contains(wrappers, kind):
			q = inner
		case kind == "SavedInsightNode" && saved != nil:
			short, _ := q["shortId"].(string)
			found, err := saved(short)
			if err != nil {
				return nil, err
			}
			return unwrap(found, nil, depth+1)
		default:
			return q, nil
		}
	}
	return q, nil
}

// isEmpty reports whether an override is absent, null or an empty object.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// isInsight reports whether a kind belongs to the first column of the table of §1.9.
func isInsight(kind string) bool { return rangedKinds[kind] || kind == "PathsQuery" }

// override applies the filters of overrides to a query, depending on its kind.
func override(q, overrides map[string]any) {
	kind, _ := q["kind"].(string)
	from, to := overrides["date_from"], overrides["date_to"]
	dated := from != nil || to != nil
	switch {
	case isInsight(kind):
		overrideInsight(q, overrides, dated)
	case kind == "EventsQuery":
		if dated {
			q["after"], q["before"] = from, to
		}
		replace(q, overrides, "filterTestAccounts", "filterTestAccounts")
		if list := flatFilters(overrides["properties"]); len(list) > 0 {
			q["properties"] = append(flatFilters(q["properties"]), list...)
		}
	case kind == "HogQLQuery":
		filters, _ := q["filters"].(map[string]any)
		if filters == nil {
			filters = map[string]any{}
		}
		if dated {
			filters["dateRange"] = map[string]any{"date_from": from, "date_to": to}
		}
		replace(filters, overrides, "filterTestAccounts", "filterTestAccounts")
		if list := flatFilters(overrides["properties"]); len(list) > 0 {
			filters["properties"] = append(flatFilters(filters["properties"]), list...)
		}
		if len(filters) > 0 {
			q["filters"] = filters
		}
	}
}

// overrideInsight applies the filters of overrides to the query of an insight. Property
// filters are combined with those of the query by AND.
func overrideInsight(q, overrides map[string]any, dated bool) {
	if dated {
		dates := map[string]any{"date_from": overrides["date_from"], "date_to": overrides["date_to"]}
		if v, ok := overrides["explicitDate"]; ok {
			dates["explicitDate"] = v
		}
		q["dateRange"] = dates
		if overrides["date_from"] == "all" {
			delete(q, "compareFilter")
		}
	}
	for from, to := range map[string]string{"breakdown_filter": "breakdownFilter", "interval": "interval", "filterTestAccounts": "filterTestAccounts"} {
		replace(q, overrides, from, to)
	}
	properties := overrides["properties"]
	if isEmpty(properties) || len(flatFilters(properties)) == 0 && !isGroup(properties) {
		return
	}
	existing := q["properties"]
	if isEmpty(existing) {
		existing = []any{}
	}
	q["properties"] = map[string]any{"type": "AND", "values": []any{asGroup(existing), asGroup(properties)}}
}

// replace copies the member from of by, if present, to the member to of q.
func replace(q, by map[string]any, from, to string) {
	if v, ok := by[from]; ok {
		q[to] = v
	}
}

func isGroup(v any) bool { _, ok := v.(map[string]any); return ok }

// asGroup converts a list of filters to a filter group.
func asGroup(v any) any {
	if list, ok := v.([]any); ok {
		return map[string]any{"type": "AND", "values": list}
	}
	return v
}

// flatFilters returns a copy of a list of filters, or nil if v is not a list.
func flatFilters(v any) []any {
	list, _ := v.([]any)
	return slices.Clone(list)
}
