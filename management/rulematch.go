package management

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Bounds of the filters of a rule.
const (
	// MaxRuleDepth is how deep groups of filters may be nested.
	MaxRuleDepth = 10
	// MaxRuleValues is how many filters a rule may have, and how many values one
	// filter.
	MaxRuleValues = 1000
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
func errPayload() error { return Fault("filters", "Invalid filters payload.") }

// ruleKey is the flag whose condition holds the filters of a rule: operators mean
// the same here as in flags.
const ruleKey = "rule"

// ruleFilters are the filters of a rule, made ready. They are for one goroutine.
type ruleFilters struct {
	set *flags.Set
	// keys are the properties that are compared, each behind its place.
	keys map[string]bool
	out  flags.Decisions
}

// compileRule reads a property group: {"type": "AND" or "OR", "values": [groups
// and filters]}. A group without values holds for every issue. Its errors are
// told to whoever has written it.
func compileRule(raw json.RawMessage) (*ruleFilters, error) {
	r := &ruleReader{keys: map[string]bool{}}
	root, err := r.group(raw, 1)
	if err != nil {
		return nil, err
	}
	// A condition tells what is wrong with its requirements, a cohort does not.
	checked := flags.Compile(flags.Definitions{Flags: []flags.Flag{{
		ID: 1, Key: ruleKey, Active: true, Conditions: []flags.Condition{{Properties: r.leaves}},
	}}})
	if faults := checked.Faults(); len(faults) > 0 {
		return nil, r.fault(faults[0])
	}
	set := flags.Compile(flags.Definitions{
		Flags: []flags.Flag{{ID: 1, Key: ruleKey, Active: true, Conditions: []flags.Condition{{
			Properties: []flags.Property{{Key: "id", Type: flags.CohortProperty, Operator: flags.In, Value: int64(1), HasValue: true}},
		}}}},
		Cohorts: map[int64]flags.Cohort{1: {Tree: root}},
	})
	if faults := set.Faults(); len(faults) > 0 {
		return nil, Fault("filters", "The filters cannot be evaluated: %s.", faults[0].Problem)
	}
	return &ruleFilters{set: set, keys: r.keys}, nil
}

// ruleReader reads the filters of a rule.
type ruleReader struct {
	leaves []flags.Property
	values int
	keys   map[string]bool
}

// fault names the filter that a fault is about.
func (r *ruleReader) fault(f *flags.DefinitionError) error {
	for i := range r.leaves {
		if strings.Contains(f.Path, fmt.Sprintf(".properties[%d]", i)) {
			_, key, _ := strings.Cut(r.leaves[i].Key, ":")
			return Fault("filters", "The filter of %q cannot be evaluated: %s.", key, f.Problem)
		}
	}
	return Fault("filters", "The filters cannot be evaluated: %s.", f.Problem)
}

func (r *ruleReader) group(raw json.RawMessage, depth int) (*flags.CohortNode, error) {
	if depth > MaxRuleDepth {
		return nil, Fault("filters", "Filters cannot be nested more than %d deep.", MaxRuleDepth)
	}
	var g struct {
		Type   *string            `json:"type"`
		Values *[]json.RawMessage `json:"values"`
	}
	if json.Unmarshal(raw, &g) != nil || g.Type == nil || g.Values == nil || *g.Type != "AND" && *g.Type != "OR" {
		return nil, errPayload()
	}
	out := &flags.CohortNode{Any: *g.Type == "OR" && len(*g.Values) > 0}
	for _, value := range *g.Values {
		if r.values++; r.values > MaxRuleValues {
			return nil, Fault("filters", "Filters cannot contain more than %d values.", MaxRuleValues)
		}
		child, err := r.value(value, depth)
		if err != nil {
			return nil, err
		}
		out.Children = append(out.Children, *child)
	}
	return out, nil
}

// value reads a group, or a filter.
func (r *ruleReader) value(raw json.RawMessage, depth int) (*flags.CohortNode, error) {
	var f map[string]json.RawMessage
	if kindOf(raw) != "dict" || json.Unmarshal(raw, &f) != nil {
		return nil, errPayload()
	}
	if _, nested := f["values"]; nested {
		return r.group(raw, depth+1)
	}
	kind, hasType := ruleValue(f["type"]).(string)
	key, hasKey := ruleValue(f["key"]).(string)
	if !hasType || !hasKey {
		return nil, errPayload()
	}
	place, known := ruleTypes[kind]
	switch {
	case !known:
		return nil, Fault("filters", "Filters of type %q cannot be evaluated here: use event, feature, person or error_tracking_issue.", kind)
	case place == "issue:" && !slices.Contains(issueKeys, key):
		return nil, Fault("filters", "An issue has no property %q: use %s.", key, strings.Join(issueKeys, ", "))
	}
	p := flags.Property{Key: place + key, Type: flags.PersonProperty}
	switch operator := ruleValue(f["operator"]).(type) {
	case nil:
	case string:
		p.Operator = ruleOperator(operator)
	default:
		return nil, errPayload()
	}
	if value, there := f["value"]; there {
		p.Value, p.HasValue = ruleValue(value), true
		if list, ok := p.Value.([]any); ok && len(list) > MaxRuleValues {
			return nil, Fault("filters", "The filter of %q cannot have more than %d values.", key, MaxRuleValues)
		}
	}
	r.leaves = append(r.leaves, p)
	r.keys[p.Key] = true
	return &flags.CohortNode{Leaf: &p}, nil
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

// ruleValue is a JSON text as flags want it: 5 and 5.0 are different texts. nil
// stands for null and for no text.
func ruleValue(raw json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // it is part of what has been read
	return v
}

// ruleFacts are what rules look at.
type ruleFacts struct {
	event, person map[string]json.RawMessage
	issue         *Issue
	at            time.Time
}

// match tries the filters on an issue and the event that it was made of.
func (r *ruleFilters) match(f *ruleFacts) (bool, error) {
	properties := make(flags.Properties, len(r.keys))
	for key := range r.keys {
		place, name, _ := strings.Cut(key, ":")
		from := f.event
		switch place {
		case "issue":
			properties[key] = map[string]string{"status": f.issue.Status, "name": f.issue.Name, "description": f.issue.Description}[name]
			continue
		case "person":
			from = f.person
		}
		if raw, ok := from[name]; ok {
			properties[key] = ruleValue(raw)
		}
	}
	decision, ok := r.set.EvaluateFlag(ruleKey, &flags.Subject{Person: properties}, f.at, &r.out)
	if !ok || decision.Failed() {
		return false, fmt.Errorf("the filters cannot be evaluated: %s", decision.Reason.Description())
	}
	return decision.Enabled, nil
}
