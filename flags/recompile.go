package flags

import (
	"fmt"
	"maps"
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

// fingerprint is what the next compilation needs to know of one.
type fingerprint struct {
	context string   // what flags depend on besides themselves
	sums    []uint64 // of the flags; 0: has to be compiled again
	cohorts uint64   // the sum of all; 0: have to be compiled again
	age     int      // since all was compiled
}

// reuse is a compiler's use of the set before.
type reuse struct {
	old           *Set    // nil: nothing is used again
	oldUsed       []bool  // by flag of old
	newIndex      []int32 // by flag of old, where the one of its key and id is now; -1: nowhere
	shift         int     // how far the flag before this one has moved
	reused        []bool  // by flag
	same          bool    // the flags have the keys and ids of those before
	cohortsReused bool    // the cohorts of old are the first of the set
}

func (d *Definitions) compileContext() string {
	return fmt.Sprintf("%d %q %q %q", max(d.PropertyMatchingVersion, 1), d.BucketingHash, d.Timezone, d.GroupTypes)
}

// fingerprint is what the next compilation will need to know of these definitions.
func (d *Definitions) fingerprint() fingerprint {
	k := fingerprint{context: d.compileContext(), sums: make([]uint64, len(d.Flags))}
	var s sums
	for i := range d.Flags {
		k.sums[i] = s.flag(&d.Flags[i])
		yield(i)
	}
	k.cohorts = s.cohorts(d)
	return k
}

// reuseFrom takes the slots of a set, and its cohorts if that is wanted and they are the
// same, unless it is of no use. Its flags may be taken then.
func (c *compiler) reuseFrom(old *Set, cohorts bool) {
	is := &c.set.fingerprint
	if old == nil || old.fingerprint.age == maxAge || old.fingerprint.context != is.context {
		return
	}
	c.old, is.age = old, old.fingerprint.age+1
	c.oldUsed, c.newIndex = make([]bool, len(old.flags)), slices.Repeat([]int32{-1}, len(old.flags))
	c.set.slots, c.set.contexts = slices.Clone(old.slots), maps.Clone(old.contexts)
	c.set.devices, c.set.dated = old.devices, old.dated
	for i := range old.slots {
		s := &old.slots[i]
		c.slotIndex[slotKey{s.kind, s.groupType, s.key}] = int32(i)
	}
	fails := func(co compiledCohort) bool { return co.failure != NoReason }
	if cohorts && is.cohorts != 0 && is.cohorts == old.fingerprint.cohorts && !slices.ContainsFunc(old.cohorts, fails) {
		c.cohortsReused, c.set.cohorts = true, slices.Clone(old.cohorts)
	}
	for i := range old.cohorts {
		if co := &old.cohorts[i]; c.cohortsReused {
			c.cohortIndex[co.id] = int32(i)
		} else if co.tree != nil {
			c.countNodeUses(co.tree, -1)
		}
	}
}

// countUses counts what a flag asks for; by is -1 for one that is gone.
func (c *compiler) countUses(f *compiledFlag, delta int32) {
	for _, context := range f.contexts {
		c.set.contexts[context] += delta
	}
	if f.has(bitDevice) {
		c.set.devices += delta
	}
	if f.enrollment >= 0 {
		c.set.slots[f.enrollment].uses += delta
	}
	for i := range f.pins {
		f.pins[i].countUses(c, delta)
	}
	for i := range f.conditions {
		filters := f.conditions[i].filters
		for j := range filters {
			c.countFilterUses(&filters[j], delta)
		}
	}
}

func (c *compiler) countNodeUses(n *compiledNode, delta int32) {
	if n.leaf != nil {
		c.countFilterUses(n.leaf, delta)
	}
	for i := range n.children {
		c.countNodeUses(&n.children[i], delta)
	}
}

func (c *compiler) countFilterUses(f *filter, delta int32) {
	switch f.kind {
	case filterProperty:
		c.set.slots[f.target].uses += delta
		if _, isDate := f.matcher.(*dateMatcher); isDate {
			c.set.dated += delta
		}
	case filterCohort:
		if delta > 0 || c.cohortsReused { // else those before have no place here
			c.set.cohorts[f.target].uses += delta
		}
	}
}

// isUnchanged reports whether flag i is the one that was there before.
func (c *compiler) isUnchanged(i, oldIndex int) bool {
	sum := c.set.fingerprint.sums[i]
	return sum != 0 && oldIndex < len(c.old.flags) && c.old.fingerprint.sums[oldIndex] == sum
}

// hasSameNames reports whether the flags have the keys and ids of those before, each its
// own, in the same order.
func (c *compiler) hasSameNames() bool {
	n := len(c.d.Flags)
	if c.old == nil || len(c.old.flags) != n || !c.old.hasUniqueNames() {
		return false
	}
	for i := range c.d.Flags {
		if c.isUnchanged(i, i) {
			continue
		}
		if f := &c.old.flags[i]; f.id != c.d.Flags[i].ID || f.key() != c.d.Flags[i].Key {
			return false
		}
	}
	return true
}

// oldIndex finds the flag that is being compiled among those before, -1 for a new one. Most
// have moved as far as their neighbours.
func (c *compiler) oldIndex(f *Flag) int {
	if c.same {
		return c.flag
	}
	if was := c.flag + c.shift; was >= 0 && was < len(c.old.flags) && c.old.flags[was].id == f.ID && c.old.flags[was].key() == f.Key {
		return was
	}
	was, ok := c.old.byKey[f.Key]
	if !ok {
		return -1
	}
	c.shift = int(was) - c.flag
	return int(was)
}

// hasUniqueNames reports whether every flag has a key and an id of its own.
func (s *Set) hasUniqueNames() bool {
	return len(s.byKey) == len(s.flags) && (s.byID == nil || len(s.byID) == len(s.flags))
}

// reuseFlag uses what was prepared for the flag that is being compiled, if there is that.
func (c *compiler) reuseFlag(f *Flag, out *compiledFlag) bool {
	if c.old == nil {
		return false
	}
	was := c.oldIndex(f)
	if was < 0 || c.oldUsed[was] {
		return false
	}
	old := &c.old.flags[was]
	if old.id == f.ID {
		c.newIndex[was] = int32(c.flag)
	}
	if !c.isUnchanged(c.flag, was) || old.has(bitCohorts) && !c.cohortsReused {
		return false
	}
	c.oldUsed[was] = true
	if !c.same {
		*out = *old
	}
	return true
}

// discardReused has a flag that was taken compiled after all.
func (c *compiler) discardReused(f *Flag, out *compiledFlag) {
	c.reused[c.flag] = false
	c.countUses(out, -1)
	c.begin(f, out, out.prefix)
}

// relink leads the flags that were taken to the places of those that they ask for. One is
// dropped if it asks for a flag that is gone; all are if a key or an id is there twice,
// which may mean another flag than before.
func (c *compiler) relink() {
	unique, room := c.set.hasUniqueNames(), compiledRoom{}
	for i := range c.set.flags {
		out := &c.set.flags[i]
		if !c.reused[i] || !out.has(bitDepends) {
			continue
		}
		c.flag = i
		if moved, found := c.findMoved(out); !found || !unique {
			c.discardReused(&c.d.Flags[i], out)
		} else if moved {
			c.copyMoved(out, &room)
		}
	}
}

// findMoved reports whether a flag that f asks for is at another place, and whether all are
// anywhere.
func (c *compiler) findMoved(f *compiledFlag) (moved, found bool) {
	for i := range f.conditions {
		filters := f.conditions[i].filters
		for j := range filters {
			if was := filters[j].target; filters[j].kind == filterFlag {
				if c.newIndex[was] < 0 {
					return false, false
				}
				moved = moved || c.newIndex[was] != was
			}
		}
	}
	return moved, true
}

// copyMoved gives f conditions of its own, that ask for the flags where they are now.
func (c *compiler) copyMoved(f *compiledFlag, room *compiledRoom) {
	f.conditions = copyInto(&room.conditions, f.conditions)
	for i := range f.conditions {
		filters := copyInto(&room.filters, f.conditions[i].filters)
		f.conditions[i].filters = filters
		for j := range filters {
			if filters[j].kind == filterFlag {
				filters[j].target = c.newIndex[filters[j].target]
			}
		}
	}
}

// copyInto copies a list to the end of a piece of memory that many share.
func copyInto[T any](room *[]T, list []T) []T {
	if len(list) > cap(*room)-len(*room) {
		*room = make([]T, 0, max(256, len(list)))
	}
	from := len(*room)
	*room = append(*room, list...)
	return (*room)[from:len(*room):len(*room)]
}

// finishFlag notes what a flag asks for, and whether it may be taken next time: not one about
// which there is something to report. One that asks for other flags or cohorts may if
// those are the same.
func (c *compiler) finishFlag(f *compiledFlag, faults int) {
	if len(c.set.faults) > faults {
		c.set.fingerprint.sums[c.flag] = 0
	}
	if f.deps != nil {
		f.bits |= bitDepends
	}
	if f.has(bitPinned) {
		f.bits |= bitCohorts
	}
	c.countUses(f, 1)
}
