package flags

import (
	"slices"
	"sort"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// This file determines the facts that an evaluation needs beyond the request, and whether it
// is counted.

// finishNeeds fills in the needs of the set.
func (c *compiler) finishNeeds() {
	needs := &c.set.needs
	groups := map[string]bool{}
	for i := range c.set.slots {
		s := &c.set.slots[i]
		if s.uses == 0 {
			continue
		}
		switch s.kind {
		case slotPerson:
			needs.Located = needs.Located || s.located
			if !s.distinct {
				needs.requested = append(needs.requested, s.key)
				needs.Person = append(needs.Person, s.key)
			}
			if s.initial != "" {
				needs.Person = append(needs.Person, s.initial)
			}
		case slotGroup:
			if s.groupType != "" && s.key != "$group_key" {
				groups[s.groupType] = true
			}
		case slotCreatedAt:
			needs.CreatedAt = true
		}
	}
	for i := range c.set.cohorts {
		if co := &c.set.cohorts[i]; co.static && !co.carried && co.failure == NoReason {
			needs.Cohorts = append(needs.Cohorts, co.id)
		}
	}
	for i := range c.set.flags {
		f := &c.set.flags[i]
		if !f.has(bitActive) || !f.has(bitContinuity) {
			continue
		}
		needs.Continuity = append(needs.Continuity, f.key())
		needs.ContinuityMatters = needs.ContinuityMatters || f.hasPersonBucket()
	}
	sort.Strings(needs.Person)
	needs.Person = slices.Compact(needs.Person)
	slices.Sort(needs.Cohorts)
	needs.GroupTypes = values.SortedKeys(groups)
}

// hasPersonBucket reports whether some condition about persons can depend on a bucket. This
// includes a rollout of 0 per cent, since an empty identifier is in it.
func (f *compiledFlag) hasPersonBucket() bool {
	for i := range f.conditions {
		cond := &f.conditions[i]
		if !cond.grouped && (!cond.all || f.hasHashedVariant(cond)) {
			return true
		}
	}
	return false
}

// needsBucket reports whether an SDK must compute a hash for some result of the flag. SDKs do
// not have empty identifiers.
func (f *compiledFlag) needsBucket() bool {
	for i := range f.conditions {
		cond := &f.conditions[i]
		if cond.share > 0 && cond.share < 1 || f.hasHashedVariant(cond) {
			return true
		}
	}
	return false
}

// UsesContinuity reports whether a selected flag with continuity depends on a bucket. Only then
// must identifiers be read and stored (§8.6), see [Needs].Continuity. A nil selection is empty.
func (s *Set) UsesContinuity(sel *Selection) bool {
	if s = s.orEmpty(); sel == nil {
		sel = &Selection{}
	}
	if !s.needs.ContinuityMatters {
		return false
	}
	sel = s.narrow(sel)
	return s.anySelected(sel, func(i int32) bool {
		f := &s.flags[i]
		return f.has(bitOrdered) && f.has(bitContinuity) && f.isSelected(sel) && f.hasPersonBucket()
	})
}

// IsBillable reports whether a selection evaluates a flag that PostHog counts as a request
// (§10.1). A nil selection is empty.
func (s *Set) IsBillable(sel *Selection) bool {
	if s = s.orEmpty(); sel == nil {
		sel = &Selection{}
	}
	sel = s.narrow(sel)
	return s.anySelected(sel, func(i int32) bool {
		f := &s.flags[i]
		return f.has(bitOrdered) && isBillable(f.key()) && f.isSelected(sel)
	})
}

// anySelected reports whether match returns true for a selected flag or for one of its
// dependencies. match is not called twice for a flag.
func (s *Set) anySelected(sel *Selection, match func(i int32) bool) bool {
	if sel.Keys == nil {
		return slices.ContainsFunc(s.order, match)
	}
	seen := map[int32]bool{}
	var visit func(i int32) bool
	visit = func(i int32) bool {
		if seen[i] {
			return false
		}
		seen[i] = true
		return match(i) || slices.ContainsFunc(s.flags[i].deps, visit)
	}
	return slices.ContainsFunc(sel.Keys, func(key string) bool {
		i, ok := s.byKey[key]
		return ok && visit(i)
	})
}

// hasHashedVariant reports whether a hash selects the variant of a match of the condition.
func (f *compiledFlag) hasHashedVariant(cond *compiledCondition) bool {
	return f.matchVariant(cond) == hashedVariant
}
