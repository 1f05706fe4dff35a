package filter

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Limits of filters (§3.2.1, §5.4).
const (
	MaxFilters = 200
	maxDepth   = 10
)

// Condition is a condition on events. It is validated when the query is parsed, and bound for each
// run: bind records which columns and properties are needed and returns a function that reports
// whether an event satisfies the condition.
type Condition interface {
	Bind(b *scan.Binder) func(*scan.Row) bool
}

// AllOf and anyOf combine conditions by AND and OR. Without conditions, both are true.
type (
	AllOf []Condition
	anyOf []Condition
)

// Bind returns the conjunction of the conditions.
func (c AllOf) Bind(b *scan.Binder) func(*scan.Row) bool {
	tests := bindAll(b, c)
	switch len(tests) {
	case 0:
		return func(*scan.Row) bool { return true }
	case 1:
		return tests[0]
	}
	return func(r *scan.Row) bool {
		for _, holds := range tests {
			if !holds(r) {
				return false
			}
		}
		return true
	}
}

// BindMatcher is like Bind, but returns a matcher for events of all names. If the condition is always true,
// its Holds is nil, and the caller can skip the call for every event.
func (c AllOf) BindMatcher(b *scan.Binder) *Matcher {
	if isAlwaysTrue(c) {
		return &Matcher{}
	}
	list, ok := c.propertyConditions(nil)
	if !ok {
		return &Matcher{Holds: c.Bind(b)}
	}
	m := &Matcher{}
	for _, c := range list {
		m.tests = append(m.tests, c.bindProperty(b))
	}
	if m.Holds = m.passesAll; len(m.tests) == 1 {
		m.Holds = m.tests[0].Holds
	}
	return m
}

// propertyConditions appends the conditions of a conjunction. ok is false if one of them is not about a property
// of events.
func (c AllOf) propertyConditions(list []*valueCondition) (_ []*valueCondition, ok bool) {
	for _, condition := range c {
		switch x := condition.(type) {
		case AllOf:
			if list, ok = x.propertyConditions(list); !ok {
				return nil, false
			}
		case *valueCondition:
			if x.eventProperty == "" {
				return nil, false
			}
			list = append(list, x)
		default:
			return nil, false
		}
	}
	return list, true
}

// isAlwaysTrue reports whether a condition is an AND without any leaf.
func isAlwaysTrue(c Condition) bool {
	list, ok := c.(AllOf)
	return ok && !slices.ContainsFunc(list, func(c Condition) bool { return !isAlwaysTrue(c) })
}

// Bind returns the disjunction of the conditions.
func (c anyOf) Bind(b *scan.Binder) func(*scan.Row) bool {
	tests := bindAll(b, c)
	return func(r *scan.Row) bool {
		for _, holds := range tests {
			if holds(r) {
				return true
			}
		}
		return len(tests) == 0
	}
}

// bindAll binds several conditions.
func bindAll(b *scan.Binder, conditions []Condition) []func(*scan.Row) bool {
	tests := make([]func(*scan.Row) bool, len(conditions))
	for i, c := range conditions {
		tests[i] = c.Bind(b)
	}
	return tests
}

// valueCondition compares a value of an event by an operator.
type valueCondition struct {
	comparison
	bindValue func(b *scan.Binder) scan.Getter
	// eventProperty is the name of the property of events that is compared, empty for other values.
	eventProperty string
}

// readKey returns the key of a filter, which is required. A number is accepted and converted to a
// string.
func readKey(n document.Node) string {
	k := n.Get("key")
	if number, ok := k.Value.(json.Number); ok {
		return number.String()
	}
	name := k.Text("")
	if name == "" {
		k.Fail(document.Required, "A filter needs a key.")
	}
	return name
}

// Bind returns the comparison with the value of an event.
func (c *valueCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	if c.eventProperty != "" {
		return c.bindProperty(b).Holds
	}
	test, value := c.bindTest(b.Run), c.bindValue(b)
	return func(r *scan.Row) bool { return test(value(r)) }
}

// bindProperty returns the comparison with a property of an event.
func (c *valueCondition) bindProperty(b *scan.Binder) *scan.PropertyTest {
	return b.PropertyTest(c.eventProperty, c.bindTest(b.Run))
}

// eventFilter parses a filter on a property of the event, or on its elements chain.
func eventFilter(n document.Node, p *port.Project) Condition {
	key := readKey(n)
	c := &valueCondition{comparison: readComparison(n, p, eventFilterSettings(key)), bindValue: (*scan.Binder).ElementsChain}
	if key != "$elements_chain" {
		c.eventProperty = key
	}
	return c
}

// columnFilter parses a filter on a column of the event (event_metadata).
func columnFilter(n document.Node, p *port.Project) Condition {
	key := readKey(n)
	if _, ok := scan.ColumnGetters[key]; !ok && !n.HasFailed() {
		n.Get("key").Fail(document.InvalidInput, "Events have no column %q for event_metadata.", wire.Shorten(key, 100))
	}
	return &valueCondition{comparison: readComparison(n, p, eventFilterSettings(key)), bindValue: func(b *scan.Binder) scan.Getter { return scan.ColumnGetters[key](b) }}
}

// groupFilter parses a filter on a property of the event's group, with its current value.
func groupFilter(n document.Node, p *port.Project) Condition {
	index := n.Get("group_type_index")
	if index.IsAbsent() {
		index.Fail(document.Required, "A filter of type group needs group_type_index.")
	}
	return &GroupPropertyCondition{readComparison(n, p, flags.FilterSettings{}), int(index.IntInRange(0, scan.MaxGroupTypes-1, 0)), readKey(n)}
}

// GroupPropertyCondition compares a property of groups.
type GroupPropertyCondition struct {
	comparison
	groupType int
	key       string
}

// Bind evaluates the filter for all groups of the type, and stores the keys of the groups whose
// result differs from that of an absent property. This way the map stays small, and events with
// unknown groups get the result for an absent property.
func (c *GroupPropertyCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	test := c.bindTest(b.Run)
	absent := test("")
	differing := map[string]bool{} // keys of groups with the other result
	one := scan.Keys{Names: []string{c.key}}
	value := make([]string, 1)
	b.ReadGroups(c.groupType, func(key, properties string) error {
		one.Extract(properties, value)
		if test(value[0]) == absent {
			return nil
		}
		differing[key] = true
		return b.Reserve(int64(len(key)) + 64)
	})
	key := b.GroupKey(c.groupType)
	return func(r *scan.Row) bool {
		k, _ := scan.Text(key(r))
		return differing[k] != absent
	}
}
