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
	// maxRuleDepth is how deep groups of filters may be nested.
	maxRuleDepth = 10
	// maxRuleValues is how many filters a rule may have, and how many values one
	// filter.
	maxRuleValues = 1000
)

// ruleTypes are the types of filters that can be evaluated, and where the
// property stands that they compare: in the event, in the person as it was after
// the event, or in the issue.
var ruleTypes = map[string]string{
	"event":                "event:",
	"feature":              "event:", // its key is $feature/<flag>
	"person":               "person:",
	"error_tracking_issue": "issue:",
}

// issueKeys are the properties that an issue has for rules (§4.2).
var issueKeys = []string{"status", "name", "description"}

// errPayload refuses what is no property group at all (§4.2).
func errPayload() error { return management.Fault("filters", "Invalid filters payload.") }

// ruleFilters are the filters of a rule, made ready. They are for one goroutine.
type ruleFilters struct {
	root   ruleNode
	leaves []ruleLeaf
}

// ruleLeaf compares one property, whose key is behind its place.
type ruleLeaf struct {
	key    string
	filter *flags.Filter
}

// ruleNode is a filter, by its number, or a group of nodes.
type ruleNode struct {
	leaf     int // -1: a group
	any      bool
	children []ruleNode
}

// compileRule reads a property group: {"type": "AND" or "OR", "values": [groups
// and filters]}. A group without values holds for every issue. Its errors are
// told to whoever has written it. settings are those of the project.
func compileRule(raw json.RawMessage, settings flags.FilterSettings) (*ruleFilters, error) {
	r := &ruleReader{settings: settings}
	r.settings.Elements = true // spec/clients.md §17: of any list the elements are compared
	root, err := r.group(raw, 1)
	if err != nil {
		return nil, err
	}
	return &ruleFilters{root: *root, leaves: r.leaves}, nil
}

// ruleReader reads the filters of a rule.
type ruleReader struct {
	settings flags.FilterSettings
	leaves   []ruleLeaf
	values   int
}

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

// value reads a group, or a filter.
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

// ruleOperator is the operator of flags for one of rules: here lists may also be
// compared with in and not_in.
func ruleOperator(name string) flags.Operator {
	switch name {
	case "in":
		return flags.Exact
	case "not_in":
		return flags.IsNot
	}
	return flags.Operator(name)
}

// ruleFacts are what rules look at.
type ruleFacts struct {
	event, person map[string]json.RawMessage
	issue         *Issue
	now           time.Time
}

// match tries the filters on an issue and the event that it was made of.
func (r *ruleFilters) match(f *ruleFacts) bool { return r.node(&r.root, f) }

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

// property is what a filter compares, by its key behind its place.
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
