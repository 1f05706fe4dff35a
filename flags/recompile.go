package flags

import (
	"fmt"
	"maps"
	"slices"
)

// This file compiles definitions that differ little from the previous definitions. Per flag
// it compares a sum of everything that compilation depends on, and reuses the compiled flag
// if the sum is the same.

// Recompile is [Compile] for definitions that share most flags with s, such as the next
// revision of a project. It reuses the compiled form of unchanged flags, with the same
// results as Compile. s may be nil.
func (s *Set) Recompile(d Definitions) *Set { return compile(d, s) }

// maxAge is the number of recompilations before a full compilation. Until then a set may
// contain slots that no flag uses, and the memory of removed flags.
const maxAge = 64

// reuse is the part of a compiler that reuses the previous set.
type reuse struct {
	old           *Set    // nil for a full compilation
	oldUsed       []bool  // by flag of old: it was reused
	newIndex      []int32 // by flag of old: index of the flag with its key and id now, or -1
	shift         int     // difference of index of the previous flag
	reused        []bool  // by flag: it is reused
	same          bool    // the flags have the same keys and ids as in old
	cohortsReused bool    // the set starts with the cohorts of old
}

// compileContext returns the settings that all flags depend on.
func (d *Definitions) compileContext() string {
	return fmt.Sprintf("%d %q %q %q", max(d.PropertyMatchingVersion, 1), d.BucketingHash, d.Timezone, d.GroupTypes)
}

// fingerprint computes the sums of the definitions.
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

// reuseFrom copies the slots of the old set, and its cohorts if cohorts is true and they are
// unchanged, so that its flags can be reused. It does nothing if the old set cannot be
// reused.
func (c *compiler) reuseFrom(old *Set, cohorts bool) {
	fp := &c.set.fingerprint
	if old == nil || old.fingerprint.age == maxAge || old.fingerprint.context != fp.context {
		return
	}
	c.old, fp.age = old, old.fingerprint.age+1
	c.oldUsed, c.newIndex = make([]bool, len(old.flags)), slices.Repeat([]int32{-1}, len(old.flags))
	c.set.slots, c.set.contexts = slices.Clone(old.slots), maps.Clone(old.contexts)
	c.set.devices, c.set.dated = old.devices, old.dated
	for i := range old.slots {
		s := &old.slots[i]
		c.slotIndex[slotKey{s.kind, s.groupType, s.key}] = int32(i)
	}
	fails := func(co compiledCohort) bool { return co.failure != NoReason }
	if cohorts && fp.cohorts != 0 && fp.cohorts == old.fingerprint.cohorts && !slices.ContainsFunc(old.cohorts, fails) {
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

// countUses adds delta to the use counts of everything that a flag uses. delta is -1 for a
// removed flag.
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

// countNodeUses is countUses for the requirements in a cohort's tree.
func (c *compiler) countNodeUses(n *compiledNode, delta int32) {
	if n.leaf != nil {
		c.countFilterUses(n.leaf, delta)
	}
	for i := range n.children {
		c.countNodeUses(&n.children[i], delta)
	}
}

// countFilterUses is countUses for one requirement.
func (c *compiler) countFilterUses(f *filter, delta int32) {
	switch f.kind {
	case filterProperty:
		c.set.slots[f.target].uses += delta
		if _, isDate := f.matcher.(*dateMatcher); isDate {
			c.set.dated += delta
		}
	case filterCohort:
		if delta > 0 || c.cohortsReused { // otherwise an index of the old set
			c.set.cohorts[f.target].uses += delta
		}
	}
}

// isUnchanged reports whether flag i is the same as the one at oldIndex in the old set.
func (c *compiler) isUnchanged(i, oldIndex int) bool {
	sum := c.set.fingerprint.sums[i]
	return sum != 0 && oldIndex < len(c.old.flags) && c.old.fingerprint.sums[oldIndex] == sum
}

// hasSameNames reports whether the flags have the same keys and ids as before, all unique and
// in the same order.
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

// oldIndex returns the index in the old set of the flag that is being compiled, or -1 if it
// is new. It first tries the index that results from the previous flag's shift, which is
// mostly right.
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

// hasUniqueNames reports whether all keys and all ids are unique.
func (s *Set) hasUniqueNames() bool {
	return len(s.byKey) == len(s.flags) && (s.byID == nil || len(s.byID) == len(s.flags))
}

// reuseFlag reuses the compiled form of the flag that is being compiled, and returns false if
// that is not possible.
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

// discardReused undoes the reuse of a flag, so that it is compiled.
func (c *compiler) discardReused(f *Flag, out *compiledFlag) {
	c.reused[c.flag] = false
	c.countUses(out, -1)
	c.begin(f, out, out.prefix)
}

// relink updates the indexes of dependencies in reused flags. A flag is not reused if one of
// its dependencies was removed. If a key or id is duplicate, no flag with dependencies is
// reused, since a name may then refer to another flag.
func (c *compiler) relink() {
	unique, room := c.set.hasUniqueNames(), compiledMemory{}
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

// findMoved reports whether a dependency of f has another index than before, and whether all
// dependencies exist.
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

// copyMoved copies the conditions of f and updates the indexes of its dependencies. The old
// set retains its conditions.
func (c *compiler) copyMoved(f *compiledFlag, room *compiledMemory) {
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

// copyInto appends a copy of a list to a block of memory that many lists share, and returns
// the copy.
func copyInto[T any](room *[]T, list []T) []T {
	if len(list) > cap(*room)-len(*room) {
		*room = make([]T, 0, max(256, len(list)))
	}
	from := len(*room)
	*room = append(*room, list...)
	return (*room)[from:len(*room):len(*room)]
}

// finishFlag counts the uses of a compiled flag and records whether it may be reused: not if
// a fault was reported for it. A flag that depends on other flags or cohorts may be reused if
// these are unchanged.
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

// countUses counts the slots and cohorts that a pin uses, see [compiler.countUses].
func (p *compiledPin) countUses(c *compiler, delta int32) {
	c.countFilterUses(&p.member, delta)
	if !p.until.IsZero() {
		c.set.dated += delta
	}
}
