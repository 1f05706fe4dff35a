package storedcohorts

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// cohortLeaf lists the members of one kind of filter. Errors name missing required members in the
// order of required. optional only needs entries for kinds whose members the package flags does
// not check.
type cohortLeaf struct{ required, optional []string }

// cohortLeaves are the kinds of filters in a cohort (§5.2).
var cohortLeaves = map[string]cohortLeaf{
	"person":          {required: []string{"key", "value", "operator"}},
	"person_metadata": {required: []string{"key", "value", "operator"}},
	"cohort":          {required: []string{"key", "value"}},
	"behavioral": {[]string{"key", "value", "event_type"}, []string{
		"time_value", "time_interval", "negation", "operator", "operator_value", "total_periods", "min_periods", "event_filters", "explicit_datetime",
	}},
}

// behavioralPrefix is the prefix of the members of behavioral filters about sequences of events.
const behavioralPrefix = "seq_"

// CheckFilters checks that the filters of a cohort have the form that §5.2 describes: an object
// with the member properties, which is a tree of groups (AND, OR) and filters.
func CheckFilters(raw json.RawMessage) error {
	top := management.JSONObject(raw)
	tree := management.JSONObject(top["properties"])
	if tree == nil || tree["type"] == nil || tree["values"] == nil {
		return management.Fault("filters__detail", "Must contain a 'properties' key with type and values")
	}
	return checkTree(top["properties"])
}

// checkNames returns an error for the first member of an object, in alphabetical order, that is
// not in names.
func checkNames(what string, object map[string]json.RawMessage, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(names, name) {
			return management.Fault("filters", "Unknown key in %s: %s", what, name)
		}
	}
	return nil
}

// checkTree checks a node of the tree of filters, and all nodes below it.
func checkTree(raw json.RawMessage) error {
	node := management.JSONObject(raw)
	if node == nil {
		return management.Fault("filters", "A filter must be an object.")
	}
	kind := management.JSONText(node["type"])
	if leaf, ok := cohortLeaves[kind]; ok {
		return checkLeaf(kind, node, leaf)
	}
	if kind != "AND" && kind != "OR" {
		return management.Fault("filters", "Unknown filter type %q: it must be AND, OR, person, cohort or behavioral.", kind)
	}
	var values []json.RawMessage
	if json.Unmarshal(node["values"], &values) != nil || node["values"] == nil || string(node["values"]) == "null" {
		return management.Fault("filters", "The values of a group must be a list of filters.")
	}
	for _, value := range values {
		if err := checkTree(value); err != nil {
			return err
		}
	}
	return nil
}

// checkLeaf checks a single filter: that its required members are present, and the member names
// of behavioral and the values of cohort filters. Operators and values of property filters are
// checked later by the evaluation engine (checkEvaluable).
func checkLeaf(kind string, node map[string]json.RawMessage, leaf cohortLeaf) error {
	var missing []string
	for _, name := range leaf.required {
		// The operators is_set and is_not_set need no value.
		bare := kind != "behavioral" && kind != "cohort" && name == "value" && slices.Contains([]string{"is_set", "is_not_set"}, management.JSONText(node["operator"]))
		if raw := node[name]; !bare && (raw == nil || string(raw) == "null") {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return management.Fault("filters", "Missing required keys for %s filter: %s", kind, strings.Join(missing, ", "))
	}
	if kind == "behavioral" { // the members of all other kinds are checked by package flags
		node = maps.Clone(node)
		maps.DeleteFunc(node, func(name string, _ json.RawMessage) bool { return strings.HasPrefix(name, behavioralPrefix) })
		return checkNames("behavioral filter", node, slices.Concat([]string{"type"}, leaf.required, leaf.optional)...)
	}
	if kind != "cohort" {
		return nil
	}
	if _, ok := parseInteger(node["value"]); !ok || management.JSONText(node["key"]) != "id" {
		return management.Fault("filters", "Invalid Cohort ID in filter")
	}
	if operator := management.JSONText(node["operator"]); operator != "" && operator != "in" && operator != "not_in" {
		return management.Fault("filters", "Cohort filters must use the 'in' or 'not_in' operator")
	}
	return nil
}

// parseInteger reads a JSON integer. The second result is false for any other value.
func parseInteger(raw json.RawMessage) (int64, bool) {
	n, err := strconv.ParseInt(string(bytes.TrimSpace(raw)), 10, 64)
	return n, err == nil
}
