package featureflags

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// This file brings the forms that a cohort may have, in files, in older records and
// in what older programs write, into the one that is kept (§5.2; spec/flags.md
// §1.6, §5.6): a tree whose filters say everything.

// realtime is the type of cohorts that are computed elsewhere. It is the only one
// that does not follow from what a cohort consists of.
const realtime = "realtime"

// legacyTree is the tree of the oldest form, a list of alternatives (spec/flags.md
// §5.6). Alternatives that match nobody are left out.
func legacyTree(groups []any) map[string]any {
	values := []any{}
	for _, g := range groups {
		if tree := legacyGroup(anyObject(g)); tree != nil {
			values = append(values, tree)
		}
	}
	return map[string]any{"type": "OR", "values": values}
}

// legacyGroup is one alternative. Its properties go before the event or action that
// it may name as well.
func legacyGroup(group map[string]any) map[string]any {
	switch properties := group["properties"].(type) {
	case []any:
		values := []any{}
		for _, v := range properties {
			leaf := anyObject(v)
			if leaf != nil && (leaf["type"] == nil || leaf["type"] == "event") {
				leaf["type"] = "person"
			}
			values = append(values, canonicalTree(v))
		}
		if len(values) > 0 {
			return map[string]any{"type": "AND", "values": values}
		}
	case map[string]any:
		if properties["type"] != nil || properties["values"] != nil {
			if properties["type"] == nil || properties["values"] == nil {
				return nil
			}
			return anyObject(canonicalTree(properties))
		}
		values := []any{}
		for _, key := range sortedNames(properties) {
			values = append(values, map[string]any{"key": key, "type": "person", "operator": "exact", "value": properties[key]})
		}
		if len(values) > 0 {
			return map[string]any{"type": "AND", "values": values}
		}
	}
	return legacyEvent(group)
}

// defaultDays is how far back an alternative about events looks that does not say.
const defaultDays = 365

// legacyEvent is an alternative about what persons have done, nil for none.
func legacyEvent(group map[string]any) map[string]any {
	key, kind := group["event_id"], "events"
	if group["action_id"] != nil {
		key, kind = group["action_id"], "actions"
	}
	if key == nil && group["days"] == nil {
		return nil
	}
	if key == nil {
		key = ""
	}
	leaf := map[string]any{"type": "behavioral", "key": key, "event_type": kind, "value": "performed_event", "time_interval": "day", "time_value": group["days"]}
	if leaf["time_value"] == nil {
		leaf["time_value"] = defaultDays
	}
	if n, ok := group["count"].(json.Number); ok && n != "0" {
		leaf["value"], leaf["operator_value"] = "performed_event_multiple", n
		if operator := group["count_operator"]; operator != nil {
			leaf["operator"] = operator
		}
	}
	return map[string]any{"type": "AND", "values": []any{leaf}}
}

// canonicalTree says in a tree what /flags reads into it; what cannot be read stays
// as it is, for the check to name it.
func canonicalTree(v any) any {
	node := anyObject(v)
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
	case "group", "flag": // cohorts are about persons whatever a filter says (spec/flags.md §4.1)
		if node["operator"] != "flag_evaluates_to" {
			node["type"] = "person"
			setDefault(node, "operator", "exact")
			delete(node, "group_type_index")
		}
	case "person", "person_metadata":
		setDefault(node, "operator", "exact")
	case "cohort":
		canonicalMembership(node)
	default: // about events, or of a kind that nobody can evaluate
		node["type"] = "behavioral"
		setDefault(node, "key", "")
		setDefault(node, "value", "performed_event")
		setDefault(node, "event_type", "events")
	}
	return node
}

// canonicalMembership is a filter for another cohort without an operator, which the
// API does not have there.
func canonicalMembership(leaf map[string]any) {
	if leaf["key"] != "name" && leaf["key"] != nil {
		leaf["key"] = "id"
	}
	switch leaf["operator"] {
	case nil, "in":
	case "not_in":
		negated, _ := leaf["negation"].(bool)
		leaf["negation"] = !negated
	default: // matches nobody, and is named
		return
	}
	delete(leaf, "operator")
}

// setDefault fills a member in that is not there.
func setDefault(o map[string]any, name string, value any) {
	if o[name] == nil {
		o[name] = value
	}
}

func sortedNames(o map[string]any) (out []string) {
	for name := range o {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// canonicalCohort brings the members of a cohort into the form of a document.
func canonicalCohort(o entry) {
	static, _ := o["is_static"].(bool)
	static = static || o["cohort_type"] == "static"
	o["is_static"] = static
	setDefault(o, "description", "")
	if !static {
		filters := anyObject(o["filters"])
		groups := anyList(o["groups"])
		switch {
		case filters["properties"] != nil:
			filters["properties"] = canonicalTree(filters["properties"])
		case len(groups) > 0:
			o["filters"] = map[string]any{"properties": legacyTree(groups)}
		}
		delete(o, "members")
	}
	elsewhere := o["cohort_type"] == realtime || o["cohort_type"] == "behavioral"
	delete(o, "cohort_type")
	if elsewhere && !static && !partsOf(wire.MustEncode(o["filters"])).behavioral {
		o["cohort_type"] = realtime
	}
	delete(o, "groups")
}

// defaultKinds are the types of properties that name none, as in files: by whether
// their condition is about groups.
var defaultKinds = map[bool]string{false: "person", true: "group"}

// canonicalConditions says in a flag's conditions what /flags reads into them.
func canonicalConditions(filters map[string]any) {
	if filters["groups"] == nil {
		filters["groups"] = []any{}
	}
	for _, g := range anyList(filters["groups"]) {
		group := anyObject(g)
		aggregation := filters["aggregation_group_type_index"]
		if own, ok := group["aggregation_group_type_index"]; ok {
			aggregation = own
		}
		for _, v := range anyList(group["properties"]) {
			if p := anyObject(v); p != nil {
				setDefault(p, "type", defaultKinds[aggregation != nil])
				canonicalValue(p)
			}
		}
	}
}

// canonicalValue makes texts of numbers where an operator compares texts, and lists
// where it has several.
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
