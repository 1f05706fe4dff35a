package insights

import (
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Limits of filters (§3.2.1, §5.4).
const (
	maxFilters = 200
	maxDepth   = 10
)

// condition is a condition on events. It is validated when the query is parsed, and bound for each
// run: bind records which columns and properties are needed and returns a function that reports
// whether an event satisfies the condition.
type condition interface {
	bind(b *binder) func(*row) bool
}

// allOf and anyOf combine conditions by AND and OR. Without conditions, both are true.
type (
	allOf []condition
	anyOf []condition
)

// bind returns the conjunction of the conditions.
func (c allOf) bind(b *binder) func(*row) bool {
	tests := bindAll(b, c)
	switch len(tests) {
	case 0:
		return func(*row) bool { return true }
	case 1:
		return tests[0]
	}
	return func(r *row) bool {
		for _, holds := range tests {
			if !holds(r) {
				return false
			}
		}
		return true
	}
}

// bindOrNil is like bind, but returns nil if the condition is always true. The caller can then skip
// the call for every event.
func (c allOf) bindOrNil(b *binder) func(*row) bool {
	if !slices.ContainsFunc(c, func(c condition) bool { return !isAlwaysTrue(c) }) {
		return nil
	}
	return c.bind(b)
}

// isAlwaysTrue reports whether a condition is an AND without any leaf.
func isAlwaysTrue(c condition) bool {
	list, ok := c.(allOf)
	return ok && !slices.ContainsFunc(list, func(c condition) bool { return !isAlwaysTrue(c) })
}

// bind returns the disjunction of the conditions.
func (c anyOf) bind(b *binder) func(*row) bool {
	tests := bindAll(b, c)
	return func(r *row) bool {
		for _, holds := range tests {
			if holds(r) {
				return true
			}
		}
		return len(tests) == 0
	}
}

// bindAll binds several conditions.
func bindAll(b *binder, conditions []condition) []func(*row) bool {
	tests := make([]func(*row) bool, len(conditions))
	for i, c := range conditions {
		tests[i] = c.bind(b)
	}
	return tests
}

// valueCondition compares a value of an event by an operator.
type valueCondition struct {
	comparison
	bindValue func(b *binder) getter
}

// readKey returns the key of a filter, which is required. A number is accepted and converted to a
// string.
func readKey(n node) string {
	k := n.get("key")
	if number, ok := k.value.(json.Number); ok {
		return number.String()
	}
	name := k.text("")
	if name == "" {
		k.fail(required, "A filter needs a key.")
	}
	return name
}

// bind returns the comparison with the value of an event.
func (c *valueCondition) bind(b *binder) func(*row) bool {
	test, value := c.bindTest(b.run), c.bindValue(b)
	return func(r *row) bool { return test(value(r)) }
}

// eventFilter parses a filter on a property of the event, or on its elements chain.
func eventFilter(n node, p *Project) condition {
	key := readKey(n)
	return &valueCondition{readComparison(n, p, eventFilterSettings(key)), func(b *binder) getter {
		if key == "$elements_chain" {
			return b.elementsChain()
		}
		return b.eventProperty(key)
	}}
}

// columnFilter parses a filter on a column of the event (event_metadata).
func columnFilter(n node, p *Project) condition {
	key := readKey(n)
	if _, ok := columnGetters[key]; !ok && !n.hasFailed() {
		n.get("key").fail(invalidInput, "Events have no column %q for event_metadata.", wire.Shorten(key, 100))
	}
	return &valueCondition{readComparison(n, p, eventFilterSettings(key)), func(b *binder) getter { return columnGetters[key](b) }}
}

// groupFilter parses a filter on a property of the event's group, with its current value.
func groupFilter(n node, p *Project) condition {
	index := n.get("group_type_index")
	if index.isAbsent() {
		index.fail(required, "A filter of type group needs group_type_index.")
	}
	return &groupPropertyCondition{readComparison(n, p, flags.FilterSettings{}), int(index.intInRange(0, maxGroupTypes-1, 0)), readKey(n)}
}

// groupPropertyCondition compares a property of groups.
type groupPropertyCondition struct {
	comparison
	groupType int
	key       string
}

// bind evaluates the filter for all groups of the type, and stores the keys of the groups whose
// result differs from that of an absent property. This way the map stays small, and events with
// unknown groups get the result for an absent property.
func (c *groupPropertyCondition) bind(b *binder) func(*row) bool {
	test := c.bindTest(b.run)
	absent := test("")
	differing := map[string]bool{} // keys of groups with the other result
	one := keys{names: []string{c.key}}
	value := make([]string, 1)
	b.readGroups(c.groupType, func(key, properties string) error {
		one.extract(properties, value)
		if test(value[0]) == absent {
			return nil
		}
		differing[key] = true
		return b.reserve(int64(len(key)) + 64)
	})
	key := b.groupKey(c.groupType)
	return func(r *row) bool {
		k, _ := textOf(key(r))
		return differing[k] != absent
	}
}
