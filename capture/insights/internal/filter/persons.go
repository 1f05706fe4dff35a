package filter

import (
	"slices"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// personCondition is a condition that can be evaluated for a stored person without an event.
type personCondition interface {
	bindPerson(b *scan.Binder) func(*capture.StoredPerson) bool
}

// ReadForPersons reads filters that must be evaluable without events.
func ReadForPersons(n document.Node, p *port.Project) AllOf {
	return ReadTyped(n, p, "person and cohort", func(c Condition) bool {
		_, ok := c.(personCondition)
		return ok
	})
}

// ReadTyped reads filters for each of which the function one must be true; kinds names the
// permitted types in the error.
func ReadTyped(n document.Node, p *port.Project, kinds string, one func(Condition) bool) AllOf {
	filters := Read(n, p)
	if !n.HasFailed() && !everyCondition(filters, one) {
		n.Fail(document.NotSupported, "Only filters of type %s are possible here.", kinds)
	}
	return filters
}

// everyCondition reports whether a function is true for all leaves of a tree of conditions.
func everyCondition(c Condition, one func(Condition) bool) bool {
	var list []Condition
	switch c := c.(type) {
	case AllOf:
		list = c
	case anyOf:
		list = c
	default:
		return one(c)
	}
	return !slices.ContainsFunc(list, func(c Condition) bool { return !everyCondition(c, one) })
}

// BindPersons returns a tree of conditions, all of which are personConditions, as a test
// of stored persons.
func BindPersons(b *scan.Binder, c Condition) func(*capture.StoredPerson) bool {
	return combineConditions(c, func(c Condition) func(*capture.StoredPerson) bool { return c.(personCondition).bindPerson(b) })
}

// combineConditions converts a tree of conditions to a test of values of type T; one converts each
// leaf.
func combineConditions[T any](c Condition, one func(Condition) func(T) bool) func(T) bool {
	var tests []func(T) bool
	switch c := c.(type) {
	case AllOf:
		for _, c := range c {
			tests = append(tests, combineConditions(c, one))
		}
		return func(value T) bool {
			return !slices.ContainsFunc(tests, func(holds func(T) bool) bool { return !holds(value) })
		}
	case anyOf:
		for _, c := range c {
			tests = append(tests, combineConditions(c, one))
		}
		return func(value T) bool {
			return len(tests) == 0 || slices.ContainsFunc(tests, func(holds func(T) bool) bool { return holds(value) })
		}
	}
	return one(c)
}

// BindGroups returns filters on groups as a test. A group of another type than that of a
// filter has no properties for it.
func BindGroups(b *scan.Binder, filters AllOf) func(*capture.Group) bool {
	return combineConditions(filters, func(c Condition) func(*capture.Group) bool {
		cond := c.(*GroupPropertyCondition)
		test := cond.bindTest(b.Run)
		return func(g *capture.Group) bool {
			raw := ""
			if g.Type == cond.groupType {
				raw, _ = g.Properties.Get(cond.key)
			}
			return test(raw)
		}
	})
}
