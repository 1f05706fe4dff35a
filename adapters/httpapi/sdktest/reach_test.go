package sdktest

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
)

// This file determines the dependencies of a flag, for the table of known disagreements.

// flags returns the flag itself and all flags that it depends on.
func (pr pair) flags() []*flags.Flag {
	all := []*flags.Flag{pr.Flag}
	for i := 0; i < len(all); i++ {
		for _, c := range all[i].Conditions {
			for j := range c.Properties {
				if p := &c.Properties[j]; p.Type == flags.FlagProperty {
					if f := pr.target(p.Key); f != nil && !slices.Contains(all, f) {
						all = append(all, f)
					}
				}
			}
		}
	}
	return all
}

func (pr pair) target(key string) *flags.Flag {
	for i := range pr.Project.Definitions.Flags {
		f := &pr.Project.Definitions.Flags[i]
		if strconv.FormatInt(f.ID, 10) == key || f.Key == key {
			return f
		}
	}
	return nil
}

func (pr pair) anyFlag(match func(*flags.Flag) bool) bool {
	return slices.ContainsFunc(pr.flags(), match)
}

// properties returns all filters of the flags, including the filters of their cohorts.
func (pr pair) properties() []*flags.Property {
	var all []*flags.Property
	seen := map[int64]bool{}
	var add func(p *flags.Property)
	var tree func(n *flags.CohortNode)
	add = func(p *flags.Property) {
		all = append(all, p)
		if id, ok := cohortID(p); ok && !seen[id] {
			seen[id] = true
			tree(pr.Project.Definitions.Cohorts[id].Tree)
		}
	}
	tree = func(n *flags.CohortNode) {
		if n == nil {
			return
		}
		if n.Leaf != nil {
			add(n.Leaf)
		}
		for i := range n.Children {
			tree(&n.Children[i])
		}
	}
	for _, f := range pr.flags() {
		for i := range f.Conditions {
			for j := range f.Conditions[i].Properties {
				add(&f.Conditions[i].Properties[j])
			}
		}
	}
	return all
}

func (pr pair) anyProperty(match func(*flags.Property) bool) bool {
	return slices.ContainsFunc(pr.properties(), match)
}

// cohortID returns the cohort that a filter refers to, as a number or as a string.
func cohortID(p *flags.Property) (int64, bool) {
	if p.Type != flags.CohortProperty {
		return 0, false
	}
	switch id := p.Value.(type) {
	case int64:
		return id, true
	case string:
		n, err := strconv.ParseInt(id, 10, 64)
		return n, err == nil
	}
	return 0, false
}

func (pr pair) anyCohort(match func(flags.Cohort) bool) bool {
	return pr.anyProperty(func(p *flags.Property) bool {
		id, ok := cohortID(p)
		c, found := pr.Project.Definitions.Cohorts[id]
		return ok && found && match(c)
	})
}

func (pr pair) cohortOperator(op flags.Operator) bool {
	return pr.anyProperty(func(p *flags.Property) bool { return p.Type == flags.CohortProperty && p.Operator == op })
}

// grouped reports whether some condition of the flags applies to a group.
func (pr pair) grouped() bool {
	return pr.anyFlag(func(f *flags.Flag) bool {
		return f.Group != nil || slices.ContainsFunc(f.Conditions, func(c flags.Condition) bool { return c.Aggregation.Group != nil })
	})
}

// personCondition reports whether the flag applies to a group and has a condition that applies to
// persons.
func (pr pair) personCondition() bool {
	return pr.Flag.Group != nil && slices.ContainsFunc(pr.Flag.Conditions, func(c flags.Condition) bool {
		return c.Aggregation.Set && c.Aggregation.Group == nil
	})
}

// hashed reports whether the result may depend on a bucket.
func (pr pair) hashed() bool {
	return pr.anyFlag(func(f *flags.Flag) bool {
		return len(f.Variants) > 0 || f.Holdout != nil ||
			slices.ContainsFunc(f.Conditions, func(c flags.Condition) bool { return c.Rollout != nil && *c.Rollout > 0 && *c.Rollout < 100 })
	})
}

// value returns the subject's value for a filter of a person's property.
func (pr pair) value(p *flags.Property) (any, bool) {
	v, ok := pr.Subject.Person[p.Key]
	return v, ok
}

func (pr pair) text(p *flags.Property) string { return asText(pr.Subject.Person[p.Key]) }

func (pr pair) has(key string) bool {
	_, ok := pr.Subject.Person[key]
	return ok
}

// filtered reports whether the flag's contexts match the selection.
func (pr pair) filtered(sel flags.Selection) bool {
	return len(sel.Contexts) == 0 || len(pr.Flag.Contexts) == 0 ||
		slices.ContainsFunc(sel.Contexts, func(c string) bool { return slices.Contains(pr.Flag.Contexts, c) })
}

// withSubject reports whether the subject has the groups of the flag, and a value for every
// property in its conditions.
func (pr pair) withSubject() bool {
	groups := pr.Project.Definitions.GroupTypes
	complete := func(g *int) bool {
		return pr.Subject.Groups[groups[*g]] != nil && pr.Subject.GroupProperties[groups[*g]] != nil
	}
	for _, f := range pr.flags() {
		group := f.Group
		for _, c := range f.Conditions {
			if c.Aggregation.Group != nil {
				group = c.Aggregation.Group
			}
		}
		if group != nil && !complete(group) {
			return false
		}
	}
	return !pr.anyProperty(func(p *flags.Property) bool {
		switch p.Type {
		case flags.CohortProperty, flags.FlagProperty:
			return false
		case flags.GroupProperty:
			return p.Key != "$group_key" && pr.Subject.GroupProperties[groups[*p.GroupType]][p.Key] == nil
		}
		return p.Key != "distinct_id" && !pr.has(p.Key)
	})
}
