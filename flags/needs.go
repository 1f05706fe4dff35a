package flags

import (
	"slices"
	"sort"
)

// This file is what an evaluation needs beyond the request, and what it costs.

// Needs says which facts beyond the request could change an answer: what is
// not needed does not have to be looked up.
type Needs struct {
	// Person are the person properties that conditions ask for, and those that
	// stand in for a missing $initial_ one (§8.2), sorted.
	Person []string
	// CreatedAt: some condition asks when the person was first seen.
	CreatedAt bool
	// Located: some condition asks for a $geoip_ property.
	Located bool
	// GroupTypes are the group types whose stored properties matter, sorted.
	GroupTypes []string
	// Cohorts are the static cohorts that the definitions do not carry.
	Cohorts []int64
	// Continuity are the keys of active flags with experience continuity;
	// ContinuityMatters says that the bucket of one of them decides (§8.6).
	Continuity        []string
	ContinuityMatters bool

	requested []string // Person without the stand-ins
}

// IsPersonCovered reports whether the request's properties alone answer all that
// is asked of the person, so that no stored person has to be read (§8.1).
func (n *Needs) IsPersonCovered(request Properties) bool {
	if n.CreatedAt || len(n.Cohorts) > 0 || n.ContinuityMatters {
		return false
	}
	for _, key := range n.requested {
		if v, ok := request[key]; !ok || v == nil && locatedKeys[key] {
			return false
		}
	}
	return true
}

// finishNeeds gathers what evaluations ask for beyond the request.
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
	needs.GroupTypes = sortedKeys(groups)
}

// hasPersonBucket reports whether some condition about a person can depend on a
// bucket. At 0 per cent it can: an empty identifier is in.
func (f *compiledFlag) hasPersonBucket() bool {
	for i := range f.conditions {
		cond := &f.conditions[i]
		if !cond.grouped && (!cond.all || f.hasHashedVariant(cond)) {
			return true
		}
	}
	return false
}

// needsBucket reports whether an SDK, whose identifiers are not empty, has to
// hash for some answer of the flag.
func (f *compiledFlag) needsBucket() bool {
	for i := range f.conditions {
		cond := &f.conditions[i]
		if cond.share > 0 && cond.share < 1 || f.hasHashedVariant(cond) {
			return true
		}
	}
	return false
}

// continuityMatters reports whether the bucket of a continuity flag decides
// something that is asked for. Only then are identifiers read and kept (§8.6).
func (s *Set) continuityMatters(sel *Selection) bool {
	if !s.needs.ContinuityMatters {
		return false
	}
	sel = s.narrow(sel)
	return s.anySelected(sel, func(i int32) bool {
		f := &s.flags[i]
		return f.has(bitOrdered) && f.has(bitContinuity) && f.isSelected(sel) && f.hasPersonBucket()
	})
}

// hasBillable reports whether a selection evaluates a flag that is counted (§10.1).
func (s *Set) hasBillable(sel *Selection) bool {
	sel = s.narrow(sel)
	return s.anySelected(sel, func(i int32) bool {
		f := &s.flags[i]
		return f.has(bitOrdered) && isBillable(f.key()) && f.isSelected(sel)
	})
}

// anySelected looks among the flags that a selection names, and those they depend
// on, each once.
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

// hasHashedVariant reports whether a match of the condition needs a hash to
// choose its variant.
func (f *compiledFlag) hasHashedVariant(cond *compiledCondition) bool {
	return f.matchVariant(cond) == hashedVariant
}
