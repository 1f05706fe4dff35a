package flags

import (
	"maps"
	"slices"
	"strconv"
)

// ChangedKeys are the keys, in order, of the flags that may be answered otherwise than by the
// definitions before: flags that are others, new or gone; those that ask a cohort, when any
// has changed; those that depend on such a flag; all, when something about all has. For
// whom an answer is another, if for anybody, it does not say. Either may be nil: no flags.
func (d *Definitions) ChangedKeys(before *Definitions) []string {
	beforeSums, afterSums := before.contents(), d.contents()
	changed := map[string]bool{}
	for key, sum := range afterSums.flags {
		if old, found := beforeSums.flags[key]; !found || old != sum || beforeSums.common != afterSums.common {
			changed[key] = true
		}
	}
	for key := range beforeSums.flags {
		if _, still := afterSums.flags[key]; !still {
			changed[key] = true
		}
	}
	if beforeSums.cohorts != afterSums.cohorts {
		for key := range afterSums.usesCohorts {
			changed[key] = true
		}
	}
	maps.Copy(afterSums.keys, beforeSums.keys) // of flags that are gone
	work := slices.Collect(maps.Keys(changed))
	dependents := map[string][]string{}
	for _, dep := range afterSums.dependencies {
		on := dep.on
		if key, byID := afterSums.keys[on]; byID {
			on = key
		}
		dependents[on] = append(dependents[on], dep.key)
	}
	for len(work) > 0 {
		key := work[len(work)-1]
		work = work[:len(work)-1]
		for _, dependent := range dependents[key] {
			if !changed[dependent] {
				changed[dependent] = true
				work = append(work, dependent)
			}
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// contents are hashes of what definitions say, good within this process, and which flags
// ask for what.
type contents struct {
	flags           map[string]uint64 // by key
	cohorts, common uint64
	usesCohorts     map[string]bool
	keys            map[string]string // by id
	dependencies    []dependencyName
}

// dependencyName is that the flag key depends on another, which is named by id or key.
type dependencyName struct{ key, on string }

func (d *Definitions) contents() *contents {
	c := &contents{flags: map[string]uint64{}, usesCohorts: map[string]bool{}, keys: map[string]string{}}
	if d == nil {
		d = &Definitions{}
	}
	var s sums
	for i := range d.Flags {
		f := &d.Flags[i]
		sum := s.flag(f)
		if sum == 0 { // not all of it can be summed
			sum = contentOfAny(f)
		}
		c.flags[f.Key] += sum
		c.keys[strconv.FormatInt(f.ID, 10)] = f.Key
		for _, condition := range f.Conditions {
			for _, p := range condition.Properties {
				switch p.Type {
				case CohortProperty:
					c.usesCohorts[f.Key] = true
				case FlagProperty:
					c.dependencies = append(c.dependencies, dependencyName{f.Key, p.Key})
				}
			}
		}
	}
	common := *d
	c.cohorts = contentOfAny(&Definitions{Cohorts: d.Cohorts, StaticCohorts: d.StaticCohorts})
	common.Flags, common.Cohorts, common.StaticCohorts, common.faults, common.Revision, common.MinimalFlagCalledEvents = nil, nil, nil, nil, 0, false
	c.common = contentOfAny(&common)
	return c
}
