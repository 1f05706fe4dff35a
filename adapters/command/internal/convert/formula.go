package convert

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
)

// formula is a condition on a user: a leaf, or the conjunction or disjunction (any) of its parts.
// The zero value, a conjunction without parts, is always true; a disjunction without parts is never
// true.
type formula struct {
	any   bool
	parts []formula
	leaf  *flags.Property // its field Negated inverts it
}

var (
	always = formula{}
	never  = formula{any: true}
)

func isTrue(f *formula) bool  { return f.leaf == nil && !f.any && len(f.parts) == 0 }
func isFalse(f *formula) bool { return f.leaf == nil && f.any && len(f.parts) == 0 }

// leaf returns the formula of a single property filter.
func leaf(p flags.Property) formula { return formula{leaf: &p} }

// flagIs returns a condition on the value of another flag, by key: true, false or a variant.
func flagIs(key string, value any) formula {
	return leaf(flags.Property{Key: key, Type: flags.FlagProperty, Operator: flags.FlagEvaluatesTo, Value: value, HasValue: true})
}

// mapFormulas converts each element of a list.
func mapFormulas[T any](list []T, convert func(T) formula) []formula {
	out := make([]formula, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

func allOf(parts ...formula) formula { return join(false, parts) }
func anyOf(parts ...formula) formula { return join(true, parts) }

// join flattens nested formulas, and removes constants that do not affect the result.
func join(isAny bool, parts []formula) formula {
	out := formula{any: isAny}
	for _, f := range parts {
		switch {
		case f.leaf == nil && f.any == isAny: // includes the neutral element
			out.parts = append(out.parts, f.parts...)
		case f.leaf == nil && len(f.parts) == 0: // the other constant determines the result
			return f
		default:
			out.parts = append(out.parts, f)
		}
	}
	if len(out.parts) == 1 {
		return out.parts[0]
	}
	return out
}

// not is true if f is false. Patterns in f must be valid, since an invalid pattern makes both f and
// its negation false.
func not(f formula) formula {
	if f.leaf == nil {
		out := formula{any: !f.any, parts: make([]formula, len(f.parts))}
		for i := range f.parts {
			out.parts[i] = not(f.parts[i])
		}
		return out
	}
	p := *f.leaf
	if p.Type == flags.FlagProperty {
		if v, ok := p.Value.(bool); ok {
			p.Value = !v
			return leaf(p)
		}
	} else if op, _ := p.Operator.Info(); op.Opposite != "" {
		p.Operator = op.Opposite
		return leaf(p)
	}
	p.Negated = !p.Negated
	return leaf(p)
}

const (
	// maxConditions is the maximum number of conditions of a flag, maxLeaves that of property
	// filters in a formula.
	maxConditions = 1_000
	maxLeaves     = 5_000
)

func (f *formula) leaves() int {
	if f.leaf != nil {
		return 1
	}
	n := 0
	for i := range f.parts {
		n += f.parts[i].leaves()
	}
	return n
}

// hasFlag reports whether f depends on another flag, which is not allowed in a cohort.
func (f *formula) hasFlag() bool {
	return f.leaf != nil && f.leaf.Type == flags.FlagProperty || slices.ContainsFunc(f.parts, func(g formula) bool { return g.hasFlag() })
}

// conditions converts a formula into conditions of which any is sufficient. Parts that a list of
// property filters cannot express become a cohort with the given name.
func (b *builder) conditions(src *node, name string, f formula) []flags.Condition {
	if f.leaves() > maxLeaves {
		src.refuse("is too large: more than %d requirements", maxLeaves)
	}
	var out []flags.Condition
	for _, f := range alternatives(src, f) {
		out = append(out, flags.Condition{Properties: b.properties(src, name, f)})
	}
	return out
}

// alternatives splits a disjunction into its parts, and distributes conjunctions over disjunctions
// that depend on flags.
func alternatives(src *node, f formula) []formula {
	if f.leaf != nil || !f.hasFlag() && !f.any {
		return []formula{f}
	}
	var out []formula
	if f.any {
		for i := range f.parts {
			out = append(out, alternatives(src, f.parts[i])...)
		}
	} else {
		out = []formula{always}
		for i := range f.parts {
			var next []formula
			for _, right := range alternatives(src, f.parts[i]) {
				for _, prefix := range out {
					next = append(next, allOf(prefix, right))
				}
			}
			if out = next; len(out) > maxConditions {
				break
			}
		}
	}
	if len(out) > maxConditions {
		src.refuse("needs more than %d conditions", maxConditions)
	}
	return out
}

// properties returns the property filters of one condition.
func (b *builder) properties(src *node, name string, f formula) []flags.Property {
	if f.leaf != nil || f.any {
		f = formula{parts: []formula{f}}
	}
	out := []flags.Property{}
	var remaining []formula
	for _, g := range f.parts {
		switch {
		case g.leaf == nil || g.leaf.Negated && g.leaf.Type != flags.FlagProperty:
			remaining = append(remaining, g)
		case g.leaf.Negated:
			src.refuse("requires that a flag does not have a certain value")
		default:
			out = append(out, *g.leaf)
		}
	}
	for _, g := range remaining {
		id := b.cohort(b.cohortName(name), g.tree(src, 1))
		out = append(out, flags.Property{Key: "id", Type: flags.CohortProperty, Operator: flags.In, Value: id, HasValue: true})
	}
	return out
}

// cohortName returns a name of at most 400 characters that is unique among the flag's cohorts.
func (b *builder) cohortName(name string) string {
	const longestKey = 300
	key := []rune(b.key)
	base := string(key[:min(len(key), longestKey)]) + ": " + short(name)
	unique := base
	for n := 2; slices.ContainsFunc(b.madeCohorts, func(id int64) bool { return b.cohorts[id].Name == unique }); n++ {
		unique = base + " (" + strconv.Itoa(n) + ")"
	}
	return unique
}

// tree converts the formula into a cohort's tree.
func (f *formula) tree(src *node, depth int) flags.CohortNode {
	if depth >= maxDepth {
		src.refuse("is nested deeper than %d levels, the limit of a cohort", maxDepth)
	}
	if f.leaf != nil {
		return flags.CohortNode{Children: []flags.CohortNode{{Leaf: f.leaf}}}
	}
	out := flags.CohortNode{Any: f.any, Children: []flags.CohortNode{}}
	for i := range f.parts {
		if f.parts[i].leaf != nil {
			out.Children = append(out.Children, flags.CohortNode{Leaf: f.parts[i].leaf})
		} else {
			out.Children = append(out.Children, f.parts[i].tree(src, depth+1))
		}
	}
	return out
}
