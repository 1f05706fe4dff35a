package convert

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/flags"
)

// Renamed is a flag whose key differs from the source's.
type Renamed struct{ From, To string }

// Rename gives flags the keys that propose returns; a flag for which it returns the same key or ""
// keeps its key. If a key is already used, a number is appended. A flag with a share of users is
// renamed only with [Options].Rebucket, since the share depends on its key.
func (r *Result) Rename(propose func(key string) string) []Renamed {
	d := &r.File.Projects[0].Definitions
	usedKeys := map[string]bool{}
	for _, f := range d.Flags {
		usedKeys[f.Key] = true
	}
	var out []Renamed
	for i := range d.Flags {
		f := &d.Flags[i]
		to := propose(f.Key)
		if to == "" || to == f.Key {
			continue
		}
		if shared(f) {
			reason := "is split by its key: with another key other people get it"
			if !r.rebucket {
				r.note(Omission{Flag: f.Key, Place: "key", Reason: reason + " (--rebucket renames it so)"})
				continue
			}
			r.note(Omission{Flag: f.Key, Place: "key", Reason: reason})
		}
		unique := to
		for n := 2; usedKeys[unique]; n++ {
			unique = to + "-" + strconv.Itoa(n)
		}
		usedKeys[unique] = true
		out = append(out, Renamed{f.Key, unique})
		f.Key = unique
	}
	slices.SortFunc(d.Flags, func(a, b flags.Flag) int { return cmp.Compare(a.Key, b.Key) })
	r.updateLists()
	return out
}

// shared reports whether the hash of the flag's key affects the value of any user.
func shared(f *flags.Flag) bool {
	part := func(percent float64) bool { return percent > 0 && percent < 100 }
	split := slices.ContainsFunc(f.Variants, func(v flags.Variant) bool { return part(v.Rollout) })
	return f.Holdout != nil || slices.ContainsFunc(f.Conditions, func(c flags.Condition) bool {
		return c.Rollout != nil && part(*c.Rollout) || split && c.Variant == ""
	})
}

// Omit removes flags and cohorts from the result, together with the flags that depend on them, and
// with the cohorts that are not used any more.
func (r *Result) Omit(list []Omission, cohorts []int64) {
	d := &r.File.Projects[0].Definitions
	keys, dependants, used := map[string]string{}, map[string][]string{}, r.used()
	for _, f := range d.Flags {
		keys[strconv.FormatInt(f.ID, 10)] = f.Key
	}
	for _, f := range d.Flags {
		for on := range dependencies(f) {
			dependants[keys[on]] = append(dependants[keys[on]], f.Key)
		}
	}
	omitted := map[string]bool{}
	var first []string
	for _, l := range list {
		l.IsFlagOmitted = true
		omitted[l.Flag] = true
		first = append(first, l.Flag)
		r.Omissions = append(r.Omissions, l)
	}
	dropTransitively(first, dependants, func(key, on string) bool {
		if omitted[key] {
			return false
		}
		omitted[key] = true
		r.Omissions = append(r.Omissions, Omission{Flag: key, Reason: "depends on the flag " + strconv.Quote(on) + ", which is left out", IsFlagOmitted: true})
		return true
	})
	d.Flags = slices.DeleteFunc(d.Flags, func(f flags.Flag) bool { return omitted[f.Key] })
	r.Omissions = slices.DeleteFunc(r.Omissions, func(l Omission) bool { return omitted[l.Flag] && !l.IsFlagOmitted })
	still := r.used()
	maps.DeleteFunc(d.Cohorts, func(id int64, _ flags.Cohort) bool {
		return slices.Contains(cohorts, id) || used[id] && !still[id]
	})
	r.updateLists()
}

// used returns the cohorts that the flags of the result use.
func (r *Result) used() map[int64]bool {
	d := &r.File.Projects[0].Definitions
	b, used := &builder{cohorts: d.Cohorts}, map[int64]bool{}
	for _, f := range d.Flags {
		for p := range requirements(f) {
			b.use(p, used)
		}
	}
	return used
}

func (r *Result) note(l Omission) { r.Omissions = append(r.Omissions, l) }

// updateLists updates the list of converted keys, and sorts the omissions.
func (r *Result) updateLists() {
	r.Converted = nil
	for _, f := range r.File.Projects[0].Definitions.Flags {
		r.Converted = append(r.Converted, f.Key)
	}
	slices.SortStableFunc(r.Omissions, byPlace)
}
