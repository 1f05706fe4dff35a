package queries

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags/wire"
)

// wrappers only say how their source is shown (§1.3).
var wrappers = []string{"InsightVizNode", "DataTableNode", "DataVisualizationNode"}

// Overrides are what a request, a tile and a dashboard put in the place of a query's
// own dates and filters: each is a JSON object or empty.
type Overrides struct {
	// Filters are from the strongest to the weakest.
	Filters []json.RawMessage
	// Variables are by id, {"code_name", "value", "isNull"}.
	Variables json.RawMessage
}

// Prepare takes the wrappers off a query, puts the query of a saved insight in its
// place, which saved finds by its short id, and lays overrides over it (§1.3, §1.9).
// What cannot be read stays as it is: Ask says what is wrong.
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

// maxWrapped is how many wrappers may be around a query.
const maxWrapped = 10

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

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// rangedInsights are the kinds that the first column of the table of §1.9 is about.
func isInsight(kind string) bool { return rangedKinds[kind] || kind == "PathsQuery" }

// override lays filters over a query.
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

// replace puts a member of overrides in the place of one of a query.
func replace(q, by map[string]any, from, to string) {
	if v, ok := by[from]; ok {
		q[to] = v
	}
}

func isGroup(v any) bool { _, ok := v.(map[string]any); return ok }

// asGroup is a list of filters as a group.
func asGroup(v any) any {
	if list, ok := v.([]any); ok {
		return map[string]any{"type": "AND", "values": list}
	}
	return v
}

// flatFilters is a list of filters, nil of what is none.
func flatFilters(v any) []any {
	list, _ := v.([]any)
	return slices.Clone(list)
}
