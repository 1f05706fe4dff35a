package featureflags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// projectReferences are the things of a project that metrics are about, by number.
type projectReferences struct{ cohorts, actions map[string]bool }

// strip is a JSON value without filters on cohorts.
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
		v = slices.DeleteFunc(v, l.recordCohort)
		for i := range v {
			v[i] = l.strip(v[i])
		}
		return v
	}
	return v
}

// recordCohort reports whether a value is a filter on a cohort, and keeps that.
func (l *projectReferences) recordCohort(v any) bool {
	filter, ok := v.(map[string]any)
	if !ok || filter["type"] != "cohort" {
		return false
	}
	l.cohorts[fmt.Sprint(filter["value"])] = true
	return true
}

// decodeJSON is a JSON value with its numbers as they stand.
func decodeJSON(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // what was stored as JSON
	return v
}

func sortedKeys(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
