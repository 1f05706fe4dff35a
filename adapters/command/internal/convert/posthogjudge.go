package convert

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/flags"
)

// omitInvalid leaves out flags that need data which the files do not contain, flags with faults, and then
// the flags that depend on them.
func (p *postHog) omitInvalid(d *flags.Definitions) {
	for i := range d.Flags {
		f := &d.Flags[i]
		switch {
		case f.Deleted:
			p.omit(f.Key, "deleted", "is deleted")
		case f.HasEncryptedPayloads:
			p.omit(f.Key, "has_encrypted_payloads", "has payloads that only PostHog can read")
		}
		if f.Continuity {
			p.b.omissions = append(p.b.omissions, Omission{Flag: f.Key, Place: "ensure_experience_continuity", Reason: "the values that PostHog keeps for people across a sign-in are not in the file: they are computed again"})
		}
		p.group(d, f, "filters.aggregation_group_type_index", f.Group)
		for j := range f.Conditions {
			c := &f.Conditions[j]
			path := "filters.groups[" + strconv.Itoa(j) + "]"
			p.group(d, f, path+".aggregation_group_type_index", c.Aggregation.Group)
			for k := range c.Properties {
				p.property(d, f, path+".properties["+strconv.Itoa(k)+"]", &c.Properties[k])
			}
		}
	}
	for _, f := range flags.Compile(*d).Faults() {
		switch {
		case f.Code != flags.NoReason && f.Flag != "":
			p.omit(f.Flag, f.Path, f.Problem)
		default:
			if name, suffix, _ := strings.Cut(f.Path, "."); name == "cohorts" && f.Code != flags.NoReason {
				id, _, _ := strings.Cut(suffix, ".")
				p.badCohorts = append(p.badCohorts, id)
			}
			p.b.omissions = append(p.b.omissions, Omission{Flag: f.Flag, Place: f.Path, Reason: f.Problem})
		}
	}
	p.omitDependants()
}

func (p *postHog) group(d *flags.Definitions, f *flags.Flag, path string, index *int) {
	if index == nil {
		return
	}
	if _, ok := d.GroupTypes[*index]; !ok {
		p.omit(f.Key, path, "the group type "+strconv.Itoa(*index)+" is not in these files: add the list of group types")
	}
}

// property checks the group type and the cohort of a property filter, and records the dependency on
// another flag.
func (p *postHog) property(d *flags.Definitions, f *flags.Flag, path string, r *flags.Property) {
	p.group(d, f, path+".group_type_index", r.GroupType)
	switch r.Type {
	case flags.CohortProperty:
		if id, ok := r.Value.(int64); ok {
			if problem := p.cohortProblem(d, id, map[int64]bool{}); problem != "" {
				p.omit(f.Key, path, problem)
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

// omitDependants leaves out flags that depend on omitted flags.
func (p *postHog) omitDependants() {
	dropTransitively(slices.Sorted(maps.Keys(p.omitted)), p.dependants, func(key, on string) bool {
		if p.omitted[key] {
			return false
		}
		p.omit(key, "", "depends on the flag "+strconv.Quote(on)+", which is left out")
		return true
	})
}

// cohortProblem returns the reason why a cohort, or one that it refers to, cannot be evaluated with
// the files, or "" if there is none.
func (p *postHog) cohortProblem(d *flags.Definitions, id int64, visited map[int64]bool) string {
	if visited[id] {
		return "" // a cycle is reported as a fault
	}
	visited[id] = true
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
			if problem := p.cohortProblem(d, id, visited); problem != "" {
				return problem
			}
		}
	}
	return ""
}
