package insights

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Bounds of filters (§3.2.1, §5.4).
const (
	maxFilters = 200
	maxDepth   = 10
)

// condition is what must hold of an event. It is checked when the query is read,
// and made ready for each run.
type condition interface {
	bind(b *binder) func(*row) bool
}

// allOf and anyOf join conditions; without any, both hold.
type (
	allOf []condition
	anyOf []condition
)

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

// bindOrNil is bind, nil where nothing is asked: then no event need be asked either.
func (c allOf) bindOrNil(b *binder) func(*row) bool {
	if !slices.ContainsFunc(c, func(c condition) bool { return !isAlwaysTrue(c) }) {
		return nil
	}
	return c.bind(b)
}

func isAlwaysTrue(c condition) bool {
	list, ok := c.(allOf)
	return ok && !slices.ContainsFunc(list, func(c condition) bool { return !isAlwaysTrue(c) })
}

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

func bindAll(b *binder, conditions []condition) []func(*row) bool {
	tests := make([]func(*row) bool, len(conditions))
	for i, c := range conditions {
		tests[i] = c.bind(b)
	}
	return tests
}

// filters reads a list or a tree of property filters (§3.2.1).
func (n node) filters(p *Project) allOf {
	f := filterReader{project: p}
	if _, list := n.value.([]any); list {
		return f.each(n, -1) // the list itself is no group
	}
	return allOf{f.read(n, 0)}
}

// filterReader counts what it reads.
type filterReader struct {
	project *Project
	count   int
}

func (f *filterReader) read(n node, depth int) condition {
	switch v := n.value.(type) {
	case nil:
		return allOf{}
	case []any:
		return allOf(f.each(n, depth))
	case map[string]any:
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

func (f *filterReader) each(n node, depth int) []condition {
	if depth >= maxDepth {
		n.fail(tooLarge, "Groups of filters may be nested %d deep.", maxDepth)
		return nil
	}
	var out []condition
	for _, n := range n.list(maxFilters) {
		out = append(out, f.read(n, depth+1))
	}
	return out
}

// leaf reads one filter. An empty object holds.
func (f *filterReader) leaf(n node) condition {
	if f.count++; f.count > maxFilters {
		n.fail(tooLarge, "A query may have %d filters.", maxFilters)
	}
	if m, _ := n.value.(map[string]any); len(m) == 0 {
		return allOf{}
	}
	name := n.get("type").text("event")
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

// filterTypes are the types of filters by name. Add one here.
var filterTypes map[string]func(n node, p *Project) condition

func init() {
	filterTypes = map[string]func(n node, p *Project) condition{
		"event": eventFilter, "feature": eventFilter, "person": personFilter, "group": groupFilter,
		"cohort": cohortFilter, "static-cohort": cohortFilter, "precalculated-cohort": cohortFilter,
		"session": sessionFilter, "element": elementFilter, "event_metadata": columnFilter,
	}
}

// valueCondition is a filter that compares a value with an operator.
type valueCondition struct {
	comparison
	bindValue func(b *binder) getter
}

// key is the filter's key, which must be there.
func (n node) key() string {
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

func (c *valueCondition) bind(b *binder) func(*row) bool {
	test, value := c.bindTest(b.run), c.bindValue(b)
	return func(r *row) bool { return test(value(r)) }
}

func eventFilter(n node, p *Project) condition {
	key := n.key()
	return &valueCondition{n.comparison(p, eventFilterSettings(key)), func(b *binder) getter {
		if key == "$elements_chain" {
			return b.elementsChain()
		}
		return b.eventProperty(key)
	}}
}

// columnFilter compares a column of the event (event_metadata).
func columnFilter(n node, p *Project) condition {
	key := n.key()
	if _, ok := columnGetters[key]; !ok && !n.hasFailed() {
		n.get("key").fail(invalidInput, "Events have no column %q for event_metadata.", wire.Shorten(key, 100))
	}
	return &valueCondition{n.comparison(p, eventFilterSettings(key)), func(b *binder) getter { return columnGetters[key](b) }}
}

// columnGetters give columns of events as JSON texts.
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

func (b *binder) column(c Columns, g getter) getter {
	b.needs.columns |= c
	return g
}

func (b *binder) elementsChain() getter {
	return b.column(Elements, func(r *row) string {
		if chain := r.b.Elements[r.i]; chain != "" {
			return wire.Quote(chain)
		}
		return ""
	})
}

// groupKey is the key of the event's group of a type as JSON text, "" for none.
func (b *binder) groupKey(groupType int) getter {
	value := b.eventProperty("$group_" + strconv.Itoa(groupType))
	return func(r *row) string {
		if key, _ := textOf(value(r)); key == "" {
			return ""
		}
		return value(r)
	}
}

// maxGroupTypes is how many types of groups there are.
const maxGroupTypes = 5

// groupFilter compares a property of the event's group as it is now.
func groupFilter(n node, p *Project) condition {
	index := n.get("group_type_index")
	if index.isAbsent() {
		index.fail(required, "A filter of type group needs group_type_index.")
	}
	return &groupPropertyCondition{n.comparison(p, flags.FilterSettings{}), int(index.intInRange(0, maxGroupTypes-1, 0)), n.key()}
}

type groupPropertyCondition struct {
	comparison
	groupType int
	key       string
}

func (c *groupPropertyCondition) bind(b *binder) func(*row) bool {
	test := c.bindTest(b.run)
	absent := test("")
	differing := map[string]bool{} // keys of groups for which the answer is another one
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

// testAccounts are the project's filters against its own people.
func testAccounts(n node, p *Project) condition {
	if !n.get("filterTestAccounts").boolean() || len(p.TestAccountFilters) == 0 {
		return allOf{}
	}
	own := node{value: wire.Value(p.TestAccountFilters), attr: "query__filterTestAccounts", fault: n.fault}
	return own.filters(p)
}

// queryConditions are those of a query that hold for all its series.
func queryConditions(n node, p *Project) allOf {
	return slices.Concat(n.get("properties").filters(p), allOf{testAccounts(n, p)})
}
