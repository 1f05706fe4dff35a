package flags

import (
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/flags/internal/values"
)

// order sorts the flags so that each follows the flags that it depends on (§6). The
// dependencies of an inactive flag are ignored, since it is false in any case. Flags on a
// cycle, and all flags that depend on them, are left out.
func (c *compiler) order() {
	if c.keepOrder() {
		c.set.order = c.old.order
	} else {
		c.computeOrder()
	}
	c.markPlain()
}

// keepOrder reports whether the dependencies are the same as in the old set, so that its
// order is still valid. If so, the recompiled flags take over their positions.
func (c *compiler) keepOrder() bool {
	if !c.same || c.old.cyclic {
		return false
	}
	for i := range c.set.flags {
		if c.reused[i] {
			continue
		}
		before, after := &c.old.flags[i], &c.set.flags[i]
		c.resolve(after)
		if (before.bits|after.bits)&bitMissingDependency != 0 || before.has(bitActive) != after.has(bitActive) || !slices.Equal(before.deps, after.deps) {
			return false
		}
		after.bits |= before.bits & (bitDependedOn | bitOrdered)
	}
	return true
}

// resolve reduces the dependencies of an active flag to active flags without duplicates, and
// notes whether a flag is missing.
func (c *compiler) resolve(f *compiledFlag) {
	if !f.has(bitActive) {
		return
	}
	slices.Sort(f.deps)
	deps := slices.Compact(f.deps)
	f.deps = deps[:0]
	for _, d := range deps {
		switch {
		case d < 0:
			f.bits |= bitMissingDependency
		case c.set.flags[d].has(bitActive):
			f.deps = append(f.deps, d)
		}
	}
}

// dependencies resolves the dependencies of all flags. For reused flags, which have no
// missing dependencies, they are collected from the filters.
func (c *compiler) dependencies() {
	var room []int32
	for i := range c.set.flags {
		f := &c.set.flags[i]
		f.bits &^= bitDependedOn | bitOrdered
		if c.reused[i] {
			f.bits &^= bitMissingDependency | bitSurelyMissing
			f.deps, f.absent = nil, nil
			if f.has(bitDepends) {
				from := len(room)
				room = f.appendFlagTargets(room)
				f.deps = room[from:len(room):len(room)]
			}
		}
		c.resolve(f)
	}
}

// appendFlagTargets appends the indexes of the flags that the filters refer to.
func (f *compiledFlag) appendFlagTargets(to []int32) []int32 {
	for i := range f.conditions {
		filters := f.conditions[i].filters
		for j := range filters {
			if filters[j].kind == filterFlag {
				to = append(to, filters[j].target)
			}
		}
	}
	return to
}

// computeOrder sorts the active flags topologically (Kahn's algorithm). A missing dependency
// is passed on to all dependants.
func (c *compiler) computeOrder() {
	c.dependencies()
	waiting, dependants := c.dependants()
	queue := make([]int32, 0, len(c.set.flags))
	active := 0
	for i := range c.set.flags {
		if c.set.flags[i].has(bitActive) {
			active++
			if waiting[i] == 0 {
				queue = append(queue, int32(i))
			}
		}
	}
	for next := 0; next < len(queue); next++ {
		i := queue[next]
		f := &c.set.flags[i]
		f.bits |= bitOrdered
		for _, d := range dependants(i) {
			if f.has(bitMissingDependency) {
				c.set.flags[d].bits |= f.bits & (bitMissingDependency | bitSurelyMissing)
				if c.set.flags[d].absent == nil {
					c.set.flags[d].absent = f.absent
				}
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

// dependants returns the number of dependencies of each active flag, and a function that
// returns the flags that depend on a flag.
func (c *compiler) dependants() (waiting []int32, dependantsOf func(i int32) []int32) {
	n := len(c.set.flags)
	waiting = make([]int32, n)
	ends := make([]int32, n+2) // first end offsets at i+1, then start offsets, in all
	for i := range c.set.flags {
		f := &c.set.flags[i]
		if !f.has(bitActive) {
			continue
		}
		waiting[i] = int32(len(f.deps))
		for _, d := range f.deps {
			ends[d+1]++
			c.set.flags[d].bits |= bitDependedOn
		}
	}
	for i := range n + 1 {
		ends[i+1] += ends[i]
	}
	all := make([]int32, ends[n+1])
	for i := n - 1; i >= 0; i-- {
		if c.set.flags[i].has(bitActive) {
			for _, d := range c.set.flags[i].deps {
				ends[d+1]--
				all[ends[d+1]] = int32(i)
			}
		}
	}
	return waiting, func(i int32) []int32 { return all[ends[i+1]:ends[i+2]] }
}

// cycles reports the flags that could not be sorted.
func (c *compiler) cycles(waiting []int32) {
	c.set.cyclic = true
	for i := range c.set.flags {
		if !c.set.flags[i].has(bitActive) || waiting[i] == 0 {
			continue
		}
		var on []string
		for _, d := range c.set.flags[i].deps {
			if waiting[d] > 0 {
				on = append(on, values.Quote(c.set.flags[d].key()))
			}
		}
		c.flag = i
		c.report(FlagCycle, ".filters", "is in, or depends on, a cycle of flags through "+strings.Join(on, ", ")+": it is left out of every answer")
	}
}
