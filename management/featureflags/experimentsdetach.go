package featureflags

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// leftBehind are the things of a project that metrics are about, by number.
type leftBehind struct{ cohorts, actions map[string]bool }

// without is a JSON value without filters on cohorts.
func (l *leftBehind) without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v["kind"] == "ActionsNode" {
			l.actions[fmt.Sprint(v["id"])] = true
		}
		for name, member := range v {
			v[name] = l.without(member)
		}
	case []any:
		v = slices.DeleteFunc(v, l.isCohort)
		for i := range v {
			v[i] = l.without(v[i])
		}
		return v
	}
	return v
}

// isCohort reports whether a value is a filter on a cohort, and keeps that.
func (l *leftBehind) isCohort(v any) bool {
	filter, ok := v.(map[string]any)
	if !ok || filter["type"] != "cohort" {
		return false
	}
	l.cohorts[fmt.Sprint(filter["value"])] = true
	return true
}

// decoded is a JSON value with its numbers as they stand.
func decoded(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // what was stored as JSON
	return v
}

func inOrderOf(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
