package convert

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// judge leaves out flags whose answers need what the files do not have, and those
// with faults, and then those that depend on them.
func (p *postHog) judge(d *flags.Definitions) {
	for i := range d.Flags {
		f := &d.Flags[i]
		switch {
		case f.Deleted:
			p.leave(f.Key, "deleted", "is deleted")
		case f.HasEncryptedPayloads:
			p.leave(f.Key, "has_encrypted_payloads", "has payloads that only PostHog can read")
		}
		if f.Continuity {
			p.b.left = append(p.b.left, Left{Flag: f.Key, Place: "ensure_experience_continuity", Reason: "the values that PostHog keeps for people over a sign-in are not in a file: they are found anew"})
		}
		p.group(d, f, "filters.aggregation_group_type_index", f.Group)
		for j := range f.Conditions {
			c := &f.Conditions[j]
			place := "filters.groups[" + strconv.Itoa(j) + "]"
			p.group(d, f, place+".aggregation_group_type_index", c.Aggregation.Group)
			for k := range c.Properties {
				p.property(d, f, place+".properties["+strconv.Itoa(k)+"]", &c.Properties[k])
			}
		}
	}
	for _, f := range flags.Compile(*d).Faults() {
		switch {
		case f.Code != flags.NoReason && f.Flag != "":
			p.leave(f.Flag, f.Path, f.Problem)
		default:
			if name, of, _ := strings.Cut(f.Path, "."); name == "cohorts" && f.Code != flags.NoReason {
				id, _, _ := strings.Cut(of, ".")
				p.badCohorts = append(p.badCohorts, id)
			}
			p.b.left = append(p.b.left, Left{Flag: f.Flag, Place: f.Path, Reason: f.Problem})
		}
	}
	p.spread()
}

func (p *postHog) group(d *flags.Definitions, f *flags.Flag, place string, index *int) {
	if index == nil {
		return
	}
	if _, ok := d.GroupTypes[*index]; !ok {
		p.leave(f.Key, place, "the group type "+strconv.Itoa(*index)+" is not in these files: add the list of group types")
	}
}

func (p *postHog) property(d *flags.Definitions, f *flags.Flag, place string, r *flags.Property) {
	p.group(d, f, place+".group_type_index", r.GroupType)
	switch r.Type {
	case flags.CohortProperty:
		if id, ok := r.Value.(int64); ok {
			if problem := p.cohortProblem(d, id, map[int64]bool{}); problem != "" {
				p.leave(f.Key, place, problem)
			}
		}
	case flags.FlagProperty:
		on := r.Key
		if id, err := strconv.ParseInt(r.Key, 10, 64); err == nil && r.Chain == nil && p.keys[id] != "" {
			on = p.keys[id]
		}
		p.dependants[on] = append(p.dependants[on], f.Key)
	}
}

// spread leaves out what depends on what is left out.
func (p *postHog) spread() {
	spread(slices.Sorted(maps.Keys(p.dropped)), p.dependants, func(key, on string) bool {
		if p.dropped[key] {
			return false
		}
		p.leave(key, "", "depends on the flag "+strconv.Quote(on)+", which is left out")
		return true
	})
}

// cohortProblem says what of a cohort, or of those it is made of, is not in the
// files.
func (p *postHog) cohortProblem(d *flags.Definitions, id int64, seen map[int64]bool) string {
	if seen[id] {
		return "" // a cycle is a fault, and reported as one
	}
	seen[id] = true
	c, ok := d.Cohorts[id]
	name := "the cohort " + strconv.FormatInt(id, 10)
	switch {
	case !ok:
		return name + " is not in these files: add the list of cohorts"
	case c.Static && c.Members == nil:
		return name + " (" + cmp.Or(short(c.Name), "without a name") + ") is static, and its members are not in these files"
	}
	for leaf := range leaves(c.Tree) {
		if id, ok := leaf.Value.(int64); ok && leaf.Type == flags.CohortProperty {
			if problem := p.cohortProblem(d, id, seen); problem != "" {
				return problem
			}
		}
	}
	return ""
}
