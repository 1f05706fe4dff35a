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
				f.deps = append(f.deps, d)
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
		f.bits |= bitOrdered
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
	if len(s.needs.hashed) == 0 {
		return false
	}
	return s.anyAsked(sel, func(i int32) bool {
		f := &s.flags[i]
		return f.is(bitContinuity) && f.selected(sel) && f.hashMatters()
	})
}

// billed reports whether a selection evaluates a flag that is counted (§10.1).
func (s *Set) billed(sel *Selection) bool {
	return s.anyAsked(sel, func(i int32) bool {
		f := &s.flags[i]
		return f.is(bitOrdered) && billable(f.key()) && f.selected(sel)
	})
}

// anyAsked looks among the flags that a selection names, and those they depend
// on, each once.
func (s *Set) anyAsked(sel *Selection, match func(i int32) bool) bool {
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

// variantHashed reports whether a match of the condition needs a hash to
// choose its variant.
func (f *compiledFlag) variantHashed(cond *compiledCondition) bool {
	return cond.variant == noVariant && f.fixed == hashedVariant
}
