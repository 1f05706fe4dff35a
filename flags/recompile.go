package flags

import (
	"fmt"
	"slices"
)

// This file compiles definitions of which most are as they were.

// Recompile is [Compile] for definitions that are mostly those of s, such as the
// next revision of a project: what was prepared for a flag that has not changed is
// used again. Both give the same answers. s may be nil.
func (s *Set) Recompile(d Definitions) *Set { return compile(d, s) }

// maxAge is after how many recompilations all is compiled: till then a set may hold
// facts that no flag asks for any more, and the memory of flags that are gone.
const maxAge = 64

// kept is what the next compilation needs to know of one.
type kept struct {
	surroundings string   // what flags depend on besides themselves
	sums         []uint64 // of the flags; 0: has to be compiled again
	cohorts      uint64   // the sum of all; 0: have to be compiled again
	age          int      // since all was compiled
}

// reuse is a compiler's use of the set before.
type reuse struct {
	old    *Set   // nil: nothing is used again
	reused []bool // by flag
	used   []bool // by slot: some flag or cohort asks for it; nil: all
	same   bool   // the flags have the keys and ids of those before
	// reached are the cohorts that are asked for, of those before, which are the first of
	// the set; nil: none of those before is used.
	reached []bool
}

func (d *Definitions) surroundings() string {
	return fmt.Sprintf("%d %q %q %q", max(d.PropertyMatchingVersion, 1), d.BucketingHash, d.Timezone, d.GroupTypes)
}

// reuseFrom takes the slots of a set, whose flags may then be taken, unless it is of no use.
func (c *compiler) reuseFrom(old *Set) {
	c.reused = make([]bool, len(c.d.Flags))
	c.set.kept = kept{surroundings: c.d.surroundings(), sums: make([]uint64, len(c.d.Flags))}
	var s sums
	for i := range c.d.Flags {
		c.set.kept.sums[i] = s.flag(&c.d.Flags[i])
		yield(i)
	}
	c.set.kept.cohorts = s.cohorts(c.d)
	if old == nil || old.kept.age == maxAge || old.kept.surroundings != c.set.kept.surroundings {
		return
	}
	c.old, c.set.kept.age = old, old.kept.age+1
	c.set.slots = slices.Clone(old.slots)
	c.used = make([]bool, len(old.slots), len(old.slots)+8)
	for i := range old.slots {
		s := &old.slots[i]
		c.slotIndex[slotKey{s.kind, s.groupType, s.key}] = int32(i)
	}
}

// reuseCohorts takes the cohorts of the set before, if they are the same and none fails.
func (c *compiler) reuseCohorts() {
	if c.old == nil || c.old.kept.cohorts == 0 || c.old.kept.cohorts != c.set.kept.cohorts ||
		slices.ContainsFunc(c.old.cohorts, func(co compiledCohort) bool { return co.failure != NoReason }) {
		return
	}
	c.set.cohorts = slices.Clip(c.old.cohorts)
	c.reached = make([]bool, len(c.old.cohorts))
	for i := range c.set.cohorts {
		c.cohortIndex[c.set.cohorts[i].id] = int32(i)
	}
}

// reach notes what a cohort asks for that was compiled before.
func (c *compiler) reach(i int32) {
	if int(i) >= len(c.reached) || c.reached[i] {
		return
	}
	c.reached[i] = true
	if tree := c.set.cohorts[i].tree; tree != nil {
		c.reachFrom(tree)
	}
}

func (c *compiler) reachFrom(n *compiledNode) {
	if n.leaf != nil {
		c.asks(n.leaf)
	}
	for i := range n.children {
		c.reachFrom(&n.children[i])
	}
}

// asks notes what a requirement asks for that was compiled before.
func (c *compiler) asks(f *filter) {
	switch f.kind {
	case filterProperty:
		c.used[f.target] = true
		if _, isDate := f.matcher.(*dated); isDate {
			c.dated = true
		}
	case filterCohort:
		c.reach(f.target)
	case filterFlag:
		c.direct[c.flag] = append(c.direct[c.flag], f.target)
	}
}

// sameNames reports whether the flags have the keys and ids of those before, each its
// own, in the same order.
func (c *compiler) sameNames() bool {
	n := len(c.d.Flags)
	if c.old == nil || len(c.old.flags) != n || len(c.old.byKey) != n || len(c.old.byID) != n {
		return false
	}
	for i := range c.d.Flags {
		if f := &c.old.flags[i]; f.id != c.d.Flags[i].ID || f.key() != c.d.Flags[i].Key {
			return false
		}
	}
	return true
}

// take uses what was prepared for the flag that is being compiled, if there is that.
func (c *compiler) take(f *Flag, out *compiledFlag) bool {
	sum := c.set.kept.sums[c.flag]
	if c.old == nil || sum == 0 {
		return false
	}
	was := int32(c.flag)
	if c.flag >= len(c.old.flags) || c.old.flags[c.flag].id != f.ID {
		var ok bool
		if was, ok = c.old.byKey[f.Key]; !ok {
			return false
		}
	}
	if c.old.kept.sums[was] != sum {
		return false
	}
	old := &c.old.flags[was]
	if old.is(bitDepends) && !c.same || old.is(bitCohorts) && c.reached == nil {
		return false
	}
	*out = *old
	out.bits &^= bitDependedOn | bitOrdered | bitMissingDependency | bitSurelyMissing
	out.deps, out.absent = nil, nil
	return true
}

// again notes what a flag that was compiled before asks for.
func (c *compiler) again(f *compiledFlag) {
	for _, context := range f.contexts {
		c.set.contexts[context] = true
	}
	c.set.devices = c.set.devices || f.is(bitDevice)
	if f.enrollment >= 0 {
		c.used[f.enrollment] = true
	}
	for i := range f.conditions {
		filters := f.conditions[i].filters
		for j := range filters {
			c.asks(&filters[j])
		}
	}
}

// asked reports whether some flag or cohort asks for what is in a slot.
func (c *compiler) asked(slot int) bool { return c.used == nil || c.used[slot] }

// settle notes whether a flag may be taken next time: not one about which there is
// something to report. One that asks for other flags or cohorts may if those are the same.
func (c *compiler) settle(f *compiledFlag, faults int) {
	asksCohort := func(cond compiledCondition) bool {
		return slices.ContainsFunc(cond.filters, func(p filter) bool { return p.kind == filterCohort })
	}
	if len(c.set.faults) > faults {
		c.set.kept.sums[c.flag] = 0
	}
	if c.direct[c.flag] != nil {
		f.bits |= bitDepends
	}
	if slices.ContainsFunc(f.conditions, asksCohort) {
		f.bits |= bitCohorts
	}
}
