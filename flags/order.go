package flags

import (
	"slices"
	"sort"
	"strings"
)

// order sorts the flags so that each comes after those it depends on (§6). An
// inactive flag is false whatever it depends on, so nothing is followed beyond
// it. Flags on a cycle and all behind them are left out.
func (c *compiler) order() {
	n := len(c.set.flags)
	waiting := make([]int, n)        // dependencies not yet placed
	dependants := make([][]int32, n) // the other direction
	queue := make([]int32, 0, n)
	active := 0
	for i := range c.set.flags {
		f := &c.set.flags[i]
		if !f.is(bitActive) {
			continue
		}
		active++
		deps := c.direct[i]
		slices.Sort(deps)
		deps = slices.Compact(deps)
		c.direct[i] = deps
		for _, d := range deps {
			switch {
			case d < 0:
				f.bits |= bitMissingDependency
			case c.set.flags[d].is(bitActive):
				waiting[i]++
				dependants[d] = append(dependants[d], int32(i))
				c.set.flags[d].bits |= bitDependedOn
			}
		}
		if waiting[i] == 0 {
			queue = append(queue, int32(i))
		}
	}
	for next := 0; next < len(queue); next++ {
		i := queue[next]
		f := &c.set.flags[i]
		c.closure(i)
		for _, d := range dependants[i] {
			if f.is(bitMissingDependency) {
				c.set.flags[d].bits |= bitMissingDependency
			}
			if waiting[d]--; waiting[d] == 0 {
				queue = append(queue, d)
			}
		}
	}
	c.set.order = slices.Clip(queue)
	if len(queue) < active {
		c.cycles(waiting)
	}
}

// closure gathers all that a flag depends on, dependencies first.
func (c *compiler) closure(i int32) {
	var deps []int32
	for _, d := range c.direct[i] {
		if d < 0 || !c.set.flags[d].is(bitActive) {
			continue
		}
		for _, dd := range append(c.set.flags[d].deps, d) {
			if !slices.Contains(deps, dd) {
				deps = append(deps, dd)
			}
		}
	}
	c.set.flags[i].deps = slices.Clip(deps)
}

// cycles reports the flags that could not be placed.
func (c *compiler) cycles(waiting []int) {
	c.set.cyclic = true
	for i := range c.set.flags {
		if !c.set.flags[i].is(bitActive) || waiting[i] == 0 {
			continue
		}
		var on []string
		for _, d := range c.direct[i] {
			if d >= 0 && waiting[d] > 0 {
				on = append(on, quote(c.set.flags[d].key()))
			}
		}
		c.flag = i
		c.report(FlagCycle, ".filters", "is on or behind a cycle of flags through "+strings.Join(on, ", ")+": it is left out of every answer")
	}
}

// finishNeeds gathers what evaluations ask for beyond the request.
func (c *compiler) finishNeeds() {
	needs := &c.set.needs
	groups := map[string]bool{}
	for i := range c.set.slots {
		switch s := &c.set.slots[i]; s.kind {
		case slotPerson:
			needs.Located = needs.Located || s.located
			if !s.distinct {
				needs.asked = append(needs.asked, s.key)
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
		if !f.is(bitActive) || !f.is(bitContinuity) {
			continue
		}
		needs.Continuity = append(needs.Continuity, f.key())
		if f.hashMatters() {
			needs.ContinuityMatters = true
			needs.hashed = append(needs.hashed, int32(i))
		}
	}
	sort.Strings(needs.Person)
	needs.Person = slices.Compact(needs.Person)
	slices.Sort(needs.Cohorts)
	needs.GroupTypes = sortedKeys(groups)
}

// hashMatters reports whether some person condition can depend on a bucket.
func (f *compiledFlag) hashMatters() bool {
	for i := range f.conditions {
		cond := &f.conditions[i]
		if !cond.grouped && (!cond.all || f.variantHashed(cond)) {
			return true
		}
	}
	return false
}

// continuityMatters reports whether the bucket of a continuity flag decides
// something that is asked for. Only then are identifiers read and kept (§8.6).
func (s *Set) continuityMatters(sel *Selection) bool {
	return slices.ContainsFunc(s.needs.hashed, func(i int32) bool {
		return s.flags[i].selected(sel) && s.asks(sel, i)
	})
}

// billed reports whether a selection evaluates a flag that is counted (§10.1).
func (s *Set) billed(sel *Selection) bool {
	return slices.ContainsFunc(s.order, func(i int32) bool {
		return billable(s.flags[i].key()) && s.flags[i].selected(sel) && s.asks(sel, i)
	})
}

// asks reports whether a selection includes a flag, itself or as a dependency.
func (s *Set) asks(sel *Selection, i int32) bool {
	return sel.Keys == nil || slices.ContainsFunc(sel.Keys, func(key string) bool {
		k, ok := s.byKey[key]
		return ok && (k == i || slices.Contains(s.flags[k].deps, i))
	})
}

// variantHashed reports whether a match of the condition needs a hash to
// choose its variant.
func (f *compiledFlag) variantHashed(cond *compiledCondition) bool {
	return cond.variant == noVariant && f.fixed == hashedVariant
}
