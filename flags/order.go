package flags

import (
	"slices"
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
		f.deps = deps[:0]
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
	c.markPlain()
}

// cycles reports the flags that could not be placed.
func (c *compiler) cycles(waiting []int) {
	c.set.cyclic = true
	for i := range c.set.flags {
		if !c.set.flags[i].is(bitActive) || waiting[i] == 0 {
			continue
		}
		var on []string
		for _, d := range c.set.flags[i].deps {
			if waiting[d] > 0 {
				on = append(on, quote(c.set.flags[d].key()))
			}
		}
		c.flag = i
		c.report(FlagCycle, ".filters", "is on or behind a cycle of flags through "+strings.Join(on, ", ")+": it is left out of every answer")
	}
}
