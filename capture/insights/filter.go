package insights

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

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

// readFilters parses a list or a tree of property filters (§3.2.1).
func readFilters(n node, p *Project) allOf {
	f := filterReader{project: p}
	if _, list := n.value.([]any); list {
		return f.each(n, -1) // the list itself does not count as a level
	}
	return allOf{f.read(n, 0)}
}

// filterReader parses a tree of filters and counts them.
type filterReader struct {
	project *Project
	count   int
}

// read parses a filter, a list, or a group of filters. Groups are objects with "values"; a list is
// an AND.
func (f *filterReader) read(n node, depth int) condition {
	switch v := n.value.(type) {
	case nil:
		return allOf{}
	case []any:
		return allOf(f.each(n, depth))
	case map[string]any:
		// An object with values is a group.
		if _, tree := v["values"]; !tree {
			return f.leaf(n)
		}
		switch n.get("type").choice("AND", "AND", "OR") {
		case "OR":
			return anyOf(f.each(n.get("values"), depth))
		default:
			return allOf(f.each(n.get("values"), depth))
		}
	}
	n.fail(invalidInput, "Expected a list of filters or a group of them, not %s.", describe(n.value))
	return allOf{}
}

// each parses the elements of a list or group at a depth.
func (f *filterReader) each(n node, depth int) []condition {
	if depth >= maxDepth {
		n.fail(tooLarge, "Groups of filters may be nested at most %d levels deep.", maxDepth)
		return nil
	}
	var out []condition
	for _, n := range n.list(maxFilters) {
		out = append(out, f.read(n, depth+1))
	}
	return out
}

// leaf parses one filter. An empty object is a filter that is always true.
func (f *filterReader) leaf(n node) condition {
	// The limit applies to the whole tree.
	if f.count++; f.count > maxFilters {
		n.fail(tooLarge, "A query may have at most %d filters.", maxFilters)
	}
	if m, _ := n.value.(map[string]any); len(m) == 0 {
		return allOf{}
	}
	name := n.get("type").text("event")
	// A filter of type empty is always true.
	if name == "empty" || n.hasFailed() {
		return allOf{}
	}
	newCondition, ok := filterTypes[name]
	if !ok {
		n.get("type").fail(notSupported, "Filters of type %q are not supported in queries.", wire.Shorten(name, 100))
		return allOf{}
	}
	return newCondition(n, f.project)
}

// filterTypes are the parsers of filters by type. Add new types here.
var filterTypes map[string]func(n node, p *Project) condition

func init() {
	filterTypes = map[string]func(n node, p *Project) condition{
		"event": eventFilter, "feature": eventFilter, "person": personFilter, "group": groupFilter,
		"cohort": cohortFilter, "static-cohort": cohortFilter, "precalculated-cohort": cohortFilter,
		"session": sessionFilter, "element": elementFilter, "event_metadata": columnFilter, "hogql": hogqlFilter,
	}
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

// columnGetters are the columns of events that filters and breakdowns can use, as JSON text.
var columnGetters = map[string]func(b *binder) getter{
	"event": func(b *binder) getter {
		return b.column(Names, func(r *row) string { return wire.Quote(r.b.Name[r.i]) })
	},
	"distinct_id": func(b *binder) getter {
		return b.column(DistinctIDs, func(r *row) string { return wire.Quote(r.b.DistinctID[r.i]) })
	},
	"uuid": func(b *binder) getter {
		return b.column(UUIDs, func(r *row) string { return `"` + r.b.UUID[r.i].String() + `"` })
	},
	"person_id": func(b *binder) getter {
		actor := b.people()
		return func(r *row) string { return `"` + b.personID(actor(r)).String() + `"` }
	},
	"timestamp": func(b *binder) getter {
		return b.column(0, func(r *row) string { return `"` + time.UnixMicro(r.b.Time[r.i]).UTC().Format(time.RFC3339Nano) + `"` })
	},
	"elements_chain": func(b *binder) getter { return b.elementsChain() },
	"$session_id":    func(b *binder) getter { return b.eventProperty("$session_id") },
	"$window_id":     func(b *binder) getter { return b.eventProperty("$window_id") },
	"$group_0":       func(b *binder) getter { return b.groupKey(0) },
	"$group_1":       func(b *binder) getter { return b.groupKey(1) },
	"$group_2":       func(b *binder) getter { return b.groupKey(2) },
	"$group_3":       func(b *binder) getter { return b.groupKey(3) },
	"$group_4":       func(b *binder) getter { return b.groupKey(4) },
}

// column requests a column for the scan and returns g.
func (b *binder) column(c Columns, g getter) getter {
	b.needs.columns |= c
	return g
}

// elementsChain returns the elements chain as JSON text, "" if the event has no chain.
func (b *binder) elementsChain() getter {
	return b.column(Elements, func(r *row) string {
		if chain := r.b.Elements[r.i]; chain != "" {
			return wire.Quote(chain)
		}
		return ""
	})
}

// groupKey returns the key of the event's group of a type as JSON text, "" if there is no such
// group.
func (b *binder) groupKey(groupType int) getter {
	value := b.eventProperty("$group_" + strconv.Itoa(groupType))
	return func(r *row) string {
		if key, _ := textOf(value(r)); key == "" {
			return ""
		}
		return value(r)
	}
}

// maxGroupTypes is the number of group types that a project may have.
const maxGroupTypes = 5

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

// testAccounts returns the project's filters that exclude its own team, if the query requests them
// with filterTestAccounts.
func testAccounts(n node, p *Project) condition {
	if !n.get("filterTestAccounts").boolean() || len(p.TestAccountFilters) == 0 {
		return allOf{}
	}
	own := node{value: wire.Value(p.TestAccountFilters), attr: "query__filterTestAccounts", fault: n.fault}
	return readFilters(own, p)
}

// queryConditions returns the conditions that apply to all series of a query.
func queryConditions(n node, p *Project) allOf {
	return slices.Concat(readFilters(n.get("properties"), p), allOf{testAccounts(n, p)})
}
