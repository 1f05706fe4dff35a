package flags

import (
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// ChangedKeys returns the sorted keys of the flags that may evaluate to another value than
// under the definitions before. These are the flags that were changed, added or removed; if
// any cohort changed, all flags that refer to a cohort; the flags that depend on such a flag;
// and all flags if a setting of the whole project changed. It does not report for which
// subjects the value differs, if for any. Both d and before may be nil, which means no flags.
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
	maps.Copy(afterSums.keys, beforeSums.keys) // includes the ids of removed flags
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

// contents contains hashes of the parts of definitions and the dependencies between them. The
// hashes are only comparable within this process.
type contents struct {
	flags           map[string]uint64 // hashes by flag key
	cohorts, common uint64
	usesCohorts     map[string]bool
	keys            map[string]string // flag keys by id
	dependencies    []dependencyName
}

// dependencyName records that the flag key depends on another flag, which on names by its id
// or its key.
type dependencyName struct{ key, on string }

// contents hashes the flags, the cohorts and the settings that all flags share. The revision
// and MinimalFlagCalledEvents are excluded, since they do not affect values.
func (d *Definitions) contents() *contents {
	c := &contents{flags: map[string]uint64{}, usesCohorts: map[string]bool{}, keys: map[string]string{}}
	if d == nil {
		d = &Definitions{}
	}
	var s sums
	for i := range d.Flags {
		f := &d.Flags[i]
		sum := s.flag(f)
		if sum == 0 { // some part of it has no cheap sum
			sum = values.Content(f)
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
	c.cohorts = values.Content(&Definitions{Cohorts: d.Cohorts, StaticCohorts: d.StaticCohorts})
	common.Flags, common.Cohorts, common.StaticCohorts, common.faults, common.Revision, common.MinimalFlagCalledEvents = nil, nil, nil, nil, 0, false
	c.common = values.Content(&common)
	return c
}
