package errortracking

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// Bounds of the filters of a rule.
const (
	// maxRuleDepth is the greatest depth of nested groups of filters.
	maxRuleDepth = 10
	// maxRuleValues is the greatest number of filters and groups of a rule, and of values of one
	// filter.
	maxRuleValues = 1000
)

// ruleTypes are the supported types of filters. The values are prefixes of keys, which say where
// the compared property is: in the event, in the person after the event, or in the issue.
var ruleTypes = map[string]string{
	"event":                "event:",
	"feature":              "event:", // its key is $feature/<flag>
	"person":               "person:",
	"error_tracking_issue": "issue:",
}

// issueKeys are the properties of an issue that rules can compare (§4.2).
var issueKeys = []string{"status", "name", "description"}

// errPayload returns the error for a value that is not a property group (§4.2).
func errPayload() error { return management.Fault("filters", "Invalid filters payload.") }

// ruleFilters are the compiled filters of a rule. They must not be used concurrently.
type ruleFilters struct {
	root   ruleNode
	leaves []ruleLeaf
}

// ruleLeaf is a filter of one property. key is the name of the property after its prefix
// (ruleTypes).
type ruleLeaf struct {
	key    string
	filter *flags.Filter
}

// ruleNode is a group of nodes, or a filter.
type ruleNode struct {
	leaf     int  // index of the filter; -1 for a group
	any      bool // the group is an OR and has values
	children []ruleNode
}

// compileRule compiles a property group: {"type": "AND" or "OR", "values": [groups and filters]}. A
// group without values matches every issue. Its errors are for the author of the rule. settings are
// those of the project.
func compileRule(raw json.RawMessage, settings flags.FilterSettings) (*ruleFilters, error) {
	r := &ruleReader{settings: settings}
	r.settings.Elements = true // spec/clients.md §17: lists are compared by their elements
	root, err := r.group(raw, 1)
	if err != nil {
		return nil, err
	}
	return &ruleFilters{root: *root, leaves: r.leaves}, nil
}

// ruleReader compiles the filters of a rule, and counts its values.
type ruleReader struct {
	settings flags.FilterSettings
	leaves   []ruleLeaf
	values   int
}

// group compiles a group at a depth, which is 1 for the outermost group.
func (r *ruleReader) group(raw json.RawMessage, depth int) (*ruleNode, error) {
	if depth > maxRuleDepth {
		return nil, management.Fault("filters", "Filters cannot be nested more than %d deep.", maxRuleDepth)
	}
	var g struct {
		Type   *string            `json:"type"`
		Values *[]json.RawMessage `json:"values"`
	}
	if json.Unmarshal(raw, &g) != nil || g.Type == nil || g.Values == nil || *g.Type != "AND" && *g.Type != "OR" {
		return nil, errPayload()
	}
	out := &ruleNode{leaf: -1, any: *g.Type == "OR" && len(*g.Values) > 0}
	for _, value := range *g.Values {
		if r.values++; r.values > maxRuleValues {
			return nil, management.Fault("filters", "Filters cannot contain more than %d values.", maxRuleValues)
		}
		child, err := r.value(value, depth)
		if err != nil {
			return nil, err
		}
		out.children = append(out.children, *child)
	}
	return out, nil
}

// value compiles a group or a filter inside a group.
func (r *ruleReader) value(raw json.RawMessage, depth int) (*ruleNode, error) {
	var f map[string]json.RawMessage
	if management.JSONKind(raw) != "dict" || json.Unmarshal(raw, &f) != nil {
		return nil, errPayload()
	}
	if _, nested := f["values"]; nested {
		return r.group(raw, depth+1)
	}
	kind, hasType := wire.Value(f["type"]).(string)
	key, hasKey := wire.Value(f["key"]).(string)
	if !hasType || !hasKey {
		return nil, errPayload()
	}
	source, supported := ruleTypes[kind]
	switch {
	case !supported:
		return nil, management.Fault("filters", "Filters of type %q cannot be evaluated here: use event, feature, person or error_tracking_issue.", kind)
	case source == "issue:" && !slices.Contains(issueKeys, key):
		return nil, management.Fault("filters", "An issue has no property %q: use %s.", key, strings.Join(issueKeys, ", "))
	}
	var p flags.Property
	switch operator := wire.Value(f["operator"]).(type) {
	case nil:
	case string:
		p.Operator = ruleOperator(operator)
	default:
		return nil, errPayload()
	}
	if value, present := f["value"]; present {
		p.Value, p.HasValue = wire.Value(value), true
		if list, ok := p.Value.([]any); ok && len(list) > maxRuleValues {
			return nil, management.Fault("filters", "The filter of %q cannot have more than %d values.", key, maxRuleValues)
		}
	}
	filter, err := flags.NewFilter(p, r.settings)
	if err != nil {
		var fault *flags.DefinitionError
		errors.As(err, &fault)
		return nil, management.Fault("filters", "The filter of %q cannot be evaluated: %s.", key, fault.Problem)
	}
	r.leaves = append(r.leaves, ruleLeaf{source + key, filter})
	return &ruleNode{leaf: len(r.leaves) - 1}, nil
}

// ruleOperator converts an operator of a rule to one of flags. Rules have in and not_in for lists
// in addition to the operators of flags.
func ruleOperator(name string) flags.Operator {
	switch name {
	case "in":
		return flags.Exact
	case "not_in":
		return flags.IsNot
	}
	return flags.Operator(name)
}

// ruleFacts has the values that filters compare. now is the time to which relative dates refer.
type ruleFacts struct {
	event, person map[string]json.RawMessage
	issue         *Issue
	now           time.Time
}

// match reports whether the filters match an issue and the event that has created or reopened it.
func (r *ruleFilters) match(f *ruleFacts) bool { return r.node(&r.root, f) }

// node evaluates a node. An OR group stops at the first node that matches, an AND group at the
// first that does not.
func (r *ruleFilters) node(n *ruleNode, f *ruleFacts) bool {
	if n.leaf >= 0 {
		value, exists := f.property(r.leaves[n.leaf].key)
		return r.leaves[n.leaf].filter.Holds(value, exists, f.now)
	}
	for i := range n.children {
		if r.node(&n.children[i], f) == n.any {
			return n.any
		}
	}
	return !n.any
}

// property returns the value of a property by its key with prefix, and whether it exists.
func (f *ruleFacts) property(key string) (value any, exists bool) {
	source, name, _ := strings.Cut(key, ":")
	properties := f.event
	switch source {
	case "issue":
		return map[string]string{"status": f.issue.Status, "name": f.issue.Name, "description": f.issue.Description}[name], true
	case "person":
		properties = f.person
	}
	raw, exists := properties[name]
	return wire.Value(raw), exists
}
