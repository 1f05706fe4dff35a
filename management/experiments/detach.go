package experiments

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// projectReferences collects the ids of the cohorts and actions that metrics reference.
type projectReferences struct{ cohorts, actions map[string]bool }

// strip returns a decoded JSON value without filters on cohorts, and records the cohorts and
// actions that it references. Actions are recorded but not removed, because a metric cannot be
// computed without its source.
func (l *projectReferences) strip(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v["kind"] == "ActionsNode" {
			l.actions[fmt.Sprint(v["id"])] = true
		}
		for name, member := range v {
			v[name] = l.strip(member)
		}
	case []any:
		// Filters are members of lists, so a filter is removed from its list.
		v = slices.DeleteFunc(v, l.recordCohort)
		for i := range v {
			v[i] = l.strip(v[i])
		}
		return v
	}
	return v
}

// recordCohort reports whether a value is a filter on a cohort, and if so records the cohort.
func (l *projectReferences) recordCohort(v any) bool {
	filter, ok := v.(map[string]any)
	if !ok || filter["type"] != "cohort" {
		return false
	}
	l.cohorts[fmt.Sprint(filter["value"])] = true
	return true
}

// decodeJSON decodes a JSON value and preserves the digits of its numbers.
func decodeJSON(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // stored values are valid JSON
	return v
}

// sortedKeys returns the members of a set in order.
func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
