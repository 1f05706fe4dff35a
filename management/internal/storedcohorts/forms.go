package storedcohorts

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management/internal/definitions"
)

// The functions of this file convert the formats that a cohort may have, in definitions files, in
// older records and in requests of older clients, into the format that is stored (§5.2;
// spec/flags.md §1.6, §5.6): a tree in which every filter is complete.

// legacyTree converts the oldest format, a list of alternatives, into a tree (spec/flags.md
// §5.6). Alternatives that match no person are left out.
func legacyTree(groups []any) map[string]any {
	values := []any{}
	for _, g := range groups {
		if tree := legacyGroup(definitions.Object(g)); tree != nil {
			values = append(values, tree)
		}
	}
	return map[string]any{"type": "OR", "values": values}
}

// legacyGroup converts one alternative. If it has properties, they take precedence over an event
// or action in the same alternative. It returns nil if the alternative matches no person.
func legacyGroup(group map[string]any) map[string]any {
	switch properties := group["properties"].(type) {
	// A list of properties: all of them must match.
	case []any:
		values := []any{}
		for _, v := range properties {
			// Filters without a type, or with the type event, are about persons.
			leaf := definitions.Object(v)
			if leaf != nil && (leaf["type"] == nil || leaf["type"] == "event") {
				leaf["type"] = "person"
			}
			values = append(values, canonicalTree(v))
		}
		if len(values) > 0 {
			return map[string]any{"type": "AND", "values": values}
		}
	// Either a tree, or an object whose members are names and values of person properties.
	case map[string]any:
		if properties["type"] != nil || properties["values"] != nil {
			// An incomplete tree matches no person.
			if properties["type"] == nil || properties["values"] == nil {
				return nil
			}
			return definitions.Object(canonicalTree(properties))
		}
		values := []any{}
		for _, key := range slices.Sorted(maps.Keys(properties)) {
			values = append(values, map[string]any{"key": key, "type": "person", "operator": "exact", "value": properties[key]})
		}
		if len(values) > 0 {
			return map[string]any{"type": "AND", "values": values}
		}
	}
	return legacyEvent(group)
}

// defaultDays is the time range of an alternative about events without days.
const defaultDays = 365

// legacyEvent converts an alternative about events into a behavioral filter. It returns nil if
// the alternative names no event, action or time range. An action takes precedence over an event,
// and the default time range is defaultDays.
func legacyEvent(group map[string]any) map[string]any {
	key, kind := group["event_id"], "events"
	if group["action_id"] != nil {
		key, kind = group["action_id"], "actions"
	}
	if key == nil && group["days"] == nil {
		return nil
	}
	// The filter must have a key even if the alternative contains only days.
	if key == nil {
		key = ""
	}
	leaf := map[string]any{"type": "behavioral", "key": key, "event_type": kind, "value": "performed_event", "time_interval": "day", "time_value": group["days"]}
	if leaf["time_value"] == nil {
		leaf["time_value"] = defaultDays
	}
	// With a count, the event must have been performed that many times.
	if n, ok := group["count"].(json.Number); ok && n != "0" {
		leaf["value"], leaf["operator_value"] = "performed_event_multiple", n
		if operator := group["count_operator"]; operator != nil {
			leaf["operator"] = operator
		}
	}
	return map[string]any{"type": "AND", "values": []any{leaf}}
}

// canonicalTree makes explicit the defaults that /flags applies to a tree of filters. Values that
// cannot be interpreted are returned unchanged, so that the later check reports them.
func canonicalTree(v any) any {
	node := definitions.Object(v)
	if node == nil {
		return v
	}
	values, isGroup := node["values"].([]any)
	if isGroup {
		if node["type"] == "property" {
			node["type"] = "AND"
		}
		for i := range values {
			values[i] = canonicalTree(values[i])
		}
		return node
	}
	switch kind := node["type"]; kind {
	case nil:
	case "group", "flag": // filters of cohorts always apply to persons (spec/flags.md §4.1)
		if node["operator"] != "flag_evaluates_to" {
			node["type"] = "person"
			setDefault(node, "operator", "exact")
			delete(node, "group_type_index")
		}
	case "person", "person_metadata":
		setDefault(node, "operator", "exact")
	case "cohort":
		canonicalMembership(node)
	default: // filters on events, or of an unknown kind that cannot be evaluated
		node["type"] = "behavioral"
		setDefault(node, "key", "")
		setDefault(node, "value", "performed_event")
		setDefault(node, "event_type", "events")
	}
	return node
}

// canonicalMembership converts a filter on another cohort that uses an operator, which the API's
// format does not have there, into one with the member negation.
func canonicalMembership(leaf map[string]any) {
	if leaf["key"] != "name" && leaf["key"] != nil {
		leaf["key"] = "id"
	}
	switch leaf["operator"] {
	case nil, "in":
	case "not_in":
		// "not_in" inverts a negation that may already be there.
		negated, _ := leaf["negation"].(bool)
		leaf["negation"] = !negated
	default: // an invalid operator matches no person and is reported by the check
		return
	}
	delete(leaf, "operator")
}

// setDefault sets a member of an object that is absent or null.
func setDefault(o map[string]any, name string, value any) {
	if o[name] == nil {
		o[name] = value
	}
}

// Canonical converts a cohort into the format of a definitions document.
func Canonical(o map[string]any) {
	static, _ := o["is_static"].(bool)
	static = static || o["cohort_type"] == "static"
	o["is_static"] = static
	setDefault(o, "description", "")
	if !static {
		filters := definitions.Object(o["filters"])
		groups := definitions.List(o["groups"])
		switch {
		case filters["properties"] != nil:
			filters["properties"] = canonicalTree(filters["properties"])
		case len(groups) > 0:
			o["filters"] = map[string]any{"properties": legacyTree(groups)}
		}
		delete(o, "members")
	}
	// Behavioral cohorts without filters on events are computed by another system, too.
	elsewhere := o["cohort_type"] == Realtime || o["cohort_type"] == "behavioral"
	delete(o, "cohort_type")
	if elsewhere && !static && !PartsOf(wire.MustEncode(o["filters"])).Behavioral {
		o["cohort_type"] = Realtime
	}
	delete(o, "groups")
}

// defaultKinds are the types of properties without a type, as in definitions files. The key is
// whether the condition applies to groups.
var defaultKinds = map[bool]string{false: "person", true: "group"}

// CanonicalConditions makes explicit the defaults that /flags applies to the conditions of a
// flag.
func CanonicalConditions(filters map[string]any) {
	if filters["groups"] == nil {
		filters["groups"] = []any{}
	}
	for _, g := range definitions.List(filters["groups"]) {
		group := definitions.Object(g)
		aggregation := filters["aggregation_group_type_index"]
		// A condition may override the group type of the flag, also with null.
		if own, ok := group["aggregation_group_type_index"]; ok {
			aggregation = own
		}
		for _, v := range definitions.List(group["properties"]) {
			if p := definitions.Object(v); p != nil {
				setDefault(p, "type", defaultKinds[aggregation != nil])
				canonicalValue(p)
			}
		}
	}
}

// canonicalValue converts numbers and booleans into strings for operators that compare strings,
// and single strings into lists for operators that expect lists.
func canonicalValue(p map[string]any) {
	operator, _ := p["operator"].(string)
	op, _ := flags.Operator(operator).Info()
	text := op.Operand == flags.TextOperand || op.Operand == flags.ScalarOperand
	switch value := p["value"].(type) {
	case json.Number:
		if text {
			p["value"] = value.String()
		}
	case bool:
		if text {
			p["value"] = strconv.FormatBool(value)
		}
	case string:
		if op.Operand == flags.ListOperand {
			p["value"] = []any{value}
		}
	}
}
