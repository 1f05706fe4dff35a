package convert

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
)

// formula is what must hold of a user: a leaf, or all or any of others. The
// zero value, all of none, always holds; any of none never does.
type formula struct {
	any  bool
	of   []formula
	leaf *flags.Property // its Negated turns it round
}

var (
	always = formula{}
	never  = formula{any: true}
)

func isTrue(f *formula) bool  { return f.leaf == nil && !f.any && len(f.of) == 0 }
func isFalse(f *formula) bool { return f.leaf == nil && f.any && len(f.of) == 0 }

// one is a single requirement.
func one(p flags.Property) formula { return formula{leaf: &p} }

// flagIs is a requirement on another flag, by key: true, false or a variant.
func flagIs(key string, value any) formula {
	return one(flags.Property{Key: key, Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: value, HasValue: true})
}

// each are the formulas of several things.
func each[T any](list []T, say func(T) formula) []formula {
	out := make([]formula, len(list))
	for i, v := range list {
		out[i] = say(v)
	}
	return out
}

func allOf(of ...formula) formula { return join(false, of) }
func anyOf(of ...formula) formula { return join(true, of) }

// join flattens, and removes what decides nothing.
func join(isAny bool, of []formula) formula {
	out := formula{any: isAny}
	for _, f := range of {
		switch {
		case f.leaf == nil && f.any == isAny: // includes the neutral element
			out.of = append(out.of, f.of...)
		case f.leaf == nil && len(f.of) == 0: // the other constant decides
			return f
		default:
			out.of = append(out.of, f)
		}
	}
	if len(out.of) == 1 {
		return out.of[0]
	}
	return out
}

// not holds when f does not. Patterns in f must be valid: an invalid one matches
// neither way.
func not(f formula) formula {
	if f.leaf == nil {
		out := formula{any: !f.any, of: make([]formula, len(f.of))}
		for i := range f.of {
			out.of[i] = not(f.of[i])
		}
		return out
	}
	p := *f.leaf
	if p.Type == flags.FlagProperty {
		if v, ok := p.Value.(bool); ok {
			p.Value = !v
			return one(p)
		}
	} else if op, _ := p.Operator.Info(); op.Opposite != "" {
		p.Operator = op.Opposite
		return one(p)
	}
	p.Negated = !p.Negated
	return one(p)
}

const (
	// maxConditions bounds the conditions of a flag, maxLeaves the requirements
	// in one formula.
	maxConditions = 1_000
	maxLeaves     = 5_000
)

func (f *formula) leaves() int {
	if f.leaf != nil {
		return 1
	}
	n := 0
	for i := range f.of {
		n += f.of[i].leaves()
	}
	return n
}

// hasFlag reports whether it asks for a flag, which a cohort cannot.
func (f *formula) hasFlag() bool {
	return f.leaf != nil && f.leaf.Type == flags.FlagProperty || slices.ContainsFunc(f.of, func(g formula) bool { return g.hasFlag() })
}

// conditions says a formula as conditions, any of which is enough. What a list
// of requirements cannot say goes into a cohort with the given name.
func (b *builder) conditions(at *node, name string, f formula) []flags.Condition {
	if f.leaves() > maxLeaves {
		at.refuse("is too large: more than %d requirements", maxLeaves)
	}
	var out []flags.Condition
	for _, f := range alternatives(at, f) {
		out = append(out, flags.Condition{Properties: b.properties(at, name, f)})
	}
	return out
}

// alternatives splits a formula at its top, and multiplies out what asks for
// flags below.
func alternatives(at *node, f formula) []formula {
	if f.leaf != nil || !f.hasFlag() && !f.any {
		return []formula{f}
	}
	var out []formula
	if f.any {
		for i := range f.of {
			out = append(out, alternatives(at, f.of[i])...)
		}
	} else {
		out = []formula{always}
		for i := range f.of {
			var next []formula
			for _, right := range alternatives(at, f.of[i]) {
				for _, left := range out {
					next = append(next, allOf(left, right))
				}
			}
			if out = next; len(out) > maxConditions {
				break
			}
		}
	}
	if len(out) > maxConditions {
		at.refuse("needs more than %d conditions", maxConditions)
	}
	return out
}

// properties are the requirements of one condition.
func (b *builder) properties(at *node, name string, f formula) []flags.Property {
	if f.leaf != nil || f.any {
		f = formula{of: []formula{f}}
	}
	out := []flags.Property{}
	var rest []formula
	for _, g := range f.of {
		switch {
		case g.leaf == nil || g.leaf.Negated && g.leaf.Type != flags.FlagProperty:
			rest = append(rest, g)
		case g.leaf.Negated:
			at.refuse("asks that a flag has not one certain value")
		default:
			out = append(out, *g.leaf)
		}
	}
	for _, g := range rest {
		id := b.cohort(b.cohortName(name), g.tree(at, 1))
		out = append(out, flags.Property{Key: "id", Type: flags.CohortProperty, Operator: flags.In, Value: id, HasValue: true})
	}
	return out
}

// cohortName makes a name that no cohort of the flag has, of at most 400 characters.
func (b *builder) cohortName(name string) string {
	const longestKey = 300
	key := []rune(b.key)
	base := string(key[:min(len(key), longestKey)]) + ": " + short(name)
	unique := base
	for n := 2; slices.ContainsFunc(b.made, func(id int64) bool { return b.cohorts[id].Name == unique }); n++ {
		unique = base + " (" + strconv.Itoa(n) + ")"
	}
	return unique
}

// tree is the formula as a cohort's tree.
func (f *formula) tree(at *node, depth int) flags.CohortNode {
	if depth >= maxDepth {
		at.refuse("is nested deeper than a cohort may be, %d levels", maxDepth)
	}
	if f.leaf != nil {
		return flags.CohortNode{Children: []flags.CohortNode{{Leaf: f.leaf}}}
	}
	out := flags.CohortNode{Any: f.any, Children: []flags.CohortNode{}}
	for i := range f.of {
		if f.of[i].leaf != nil {
			out.Children = append(out.Children, flags.CohortNode{Leaf: f.of[i].leaf})
		} else {
			out.Children = append(out.Children, f.of[i].tree(at, depth+1))
		}
	}
	return out
}
