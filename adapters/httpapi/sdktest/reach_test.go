package sdktest

import (
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
)

// This file says what a flag rests on, for the table of known disagreements.

// flags are the flag itself and all it depends on.
func (at pair) flags() []*flags.Flag {
	all := []*flags.Flag{at.Flag}
	for i := 0; i < len(all); i++ {
		for _, c := range all[i].Conditions {
			for j := range c.Properties {
				if p := &c.Properties[j]; p.Type == flags.FlagProperty {
					if f := at.target(p.Key); f != nil && !slices.Contains(all, f) {
						all = append(all, f)
					}
				}
			}
		}
	}
	return all
}

func (at pair) target(key string) *flags.Flag {
	for i := range at.Project.Definitions.Flags {
		f := &at.Project.Definitions.Flags[i]
		if strconv.FormatInt(f.ID, 10) == key || f.Key == key {
			return f
		}
	}
	return nil
}

func (at pair) anyFlag(match func(*flags.Flag) bool) bool {
	return slices.ContainsFunc(at.flags(), match)
}

// properties are all filters of the flags, those of their cohorts included.
func (at pair) properties() []*flags.Property {
	var all []*flags.Property
	seen := map[int64]bool{}
	var add func(p *flags.Property)
	var tree func(n *flags.CohortNode)
	add = func(p *flags.Property) {
		all = append(all, p)
		if id, ok := cohortID(p); ok && !seen[id] {
			seen[id] = true
			tree(at.Project.Definitions.Cohorts[id].Tree)
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
	for _, f := range at.flags() {
		for i := range f.Conditions {
			for j := range f.Conditions[i].Properties {
				add(&f.Conditions[i].Properties[j])
			}
		}
	}
	return all
}

func (at pair) anyProperty(match func(*flags.Property) bool) bool {
	return slices.ContainsFunc(at.properties(), match)
}

// cohortID is the cohort that a filter names, as a number or as text.
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

func (at pair) anyCohort(match func(flags.Cohort) bool) bool {
	return at.anyProperty(func(p *flags.Property) bool {
		id, ok := cohortID(p)
		c, found := at.Project.Definitions.Cohorts[id]
		return ok && found && match(c)
	})
}

func (at pair) cohortOperator(op flags.Operator) bool {
	return at.anyProperty(func(p *flags.Property) bool { return p.Type == flags.CohortProperty && p.Operator == op })
}

// grouped: some condition of the flags is about a group.
func (at pair) grouped() bool {
	return at.anyFlag(func(f *flags.Flag) bool {
		return f.Group != nil || slices.ContainsFunc(f.Conditions, func(c flags.Condition) bool { return c.Aggregation.Group != nil })
	})
}

// personCondition: the flag is about a group and has a condition that says it
// is about persons.
func (at pair) personCondition() bool {
	return at.Flag.Group != nil && slices.ContainsFunc(at.Flag.Conditions, func(c flags.Condition) bool {
		return c.Aggregation.Set && c.Aggregation.Group == nil
	})
}

// hashed: a bucket can decide.
func (at pair) hashed() bool {
	return at.anyFlag(func(f *flags.Flag) bool {
		return len(f.Variants) > 0 || f.Holdout != nil ||
			slices.ContainsFunc(f.Conditions, func(c flags.Condition) bool { return c.Rollout != nil && *c.Rollout > 0 && *c.Rollout < 100 })
	})
}

// value is what the subject has for a filter on a person's property.
func (at pair) value(p *flags.Property) (any, bool) {
	v, ok := at.Subject.Person[p.Key]
	return v, ok
}

func (at pair) text(p *flags.Property) string { return asText(at.Subject.Person[p.Key]) }

func (at pair) has(key string) bool {
	_, ok := at.Subject.Person[key]
	return ok
}

// filtered: the flag's contexts let it through.
func (at pair) filtered(sel flags.Selection) bool {
	return len(sel.Contexts) == 0 || len(at.Flag.Contexts) == 0 ||
		slices.ContainsFunc(sel.Contexts, func(c string) bool { return slices.Contains(at.Flag.Contexts, c) })
}

// given: the subject has the groups that the flag is about, and a value for
// every property that it asks for.
func (at pair) given() bool {
	groups := at.Project.Definitions.GroupTypes
	complete := func(g *int) bool {
		return at.Subject.Groups[groups[*g]] != nil && at.Subject.GroupProperties[groups[*g]] != nil
	}
	for _, f := range at.flags() {
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
	return !at.anyProperty(func(p *flags.Property) bool {
		switch p.Type {
		case flags.CohortProperty, flags.FlagProperty:
			return false
		case flags.GroupProperty:
			return p.Key != "$group_key" && at.Subject.GroupProperties[groups[*p.GroupType]][p.Key] == nil
		}
		return p.Key != "distinct_id" && !at.has(p.Key)
	})
}
