package insights

import (
	"cmp"
	"math/bits"
	"slices"
)

// occurrence is an event as a funnel sees it.
type occurrence struct {
	time, id int64
	// match has a bit for each step that the event is (from bit 0), for each exclusion
	// (from bit firstExclusion), and cannotBegin.
	match uint32
	// value is the number of the event's breakdown value, 0 for the empty one.
	value uint32
}

const (
	firstExclusion = 20 // §5.4: 20 steps, 10 exclusions
	stepBits       = 1<<firstExclusion - 1
	exclusionBits  = 1<<30 - 1 - stepBits
	cannotBegin    = 1 << 31 // the event is not the first of an attempt in any order
)

// occurrenceSize is the bytes of an occurrence in chains.
const occurrenceSize = 32

// compareOccurrences orders what an actor did: by time, then by order of recording.
func compareOccurrences(a, b occurrence) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id))
}

// walker finds how far an actor came (§2.5.2).
type walker interface {
	// walk gives how many steps were reached and when each was. The events are in
	// chronological order; the times may be used until the next walk.
	walk(events []occurrence) (reached int, times []int64)
}

// exclusion is an event that must not come after a step from from on and before
// step to, both from 0.
type exclusion struct{ from, to int }

// attempts is the walker of ordered and strict funnels.
type attempts struct {
	window int64 // microseconds
	strict bool
	spoils []uint32 // by exclusion: bit k: it spoils an attempt that waits for step k
	open   []attempt
	best   attempt // times[:len] of the furthest
}

// attempt is what an actor has done from one start.
type attempt struct {
	start   int64
	reached int // steps; 0: there is no attempt
	spoiled bool
	times   []int64
	events  []int // their numbers in the walk
}

func newAttempts(steps int, window int64, strict bool, exclusions []exclusion) *attempts {
	a := &attempts{window: window, strict: strict, open: make([]attempt, steps), spoils: spoiledSteps(exclusions)}
	for k := range a.open {
		a.open[k] = attempt{times: make([]int64, steps), events: make([]int, steps)}
	}
	a.best = attempt{times: make([]int64, steps), events: make([]int, steps)}
	return a
}

// spoiledSteps has, for each exclusion, a bit for each step that it keeps from being reached.
func spoiledSteps(exclusions []exclusion) []uint32 {
	out := make([]uint32, len(exclusions))
	for i, e := range exclusions {
		for k := e.from + 1; k <= e.to; k++ {
			out[i] |= 1 << k
		}
	}
	return out
}

func (a *attempts) walk(events []occurrence) (int, []int64) {
	for k := range a.open {
		a.open[k].reached = 0
	}
	a.best.reached, a.best.spoiled = 0, false
	for i := 0; i < len(events) && !a.isComplete(); {
		end := i + 1
		for end < len(events) && events[end].time == events[i].time {
			end++
		}
		if end-i == 1 || a.isUniform(events[i:end]) {
			for ; i < end && !a.isComplete(); i++ {
				a.processEvent(i, &events[i])
			}
		} else {
			a.processSimultaneous(i, events[i:end])
		}
		i = end
	}
	if a.best.spoiled {
		return 0, nil
	}
	return a.best.reached, a.best.times[:a.best.reached]
}

// isComplete says whether the last step was reached.
func (a *attempts) isComplete() bool { return a.open[len(a.open)-1].reached > 0 }

// isUniform says whether events match the same steps and exclude the same.
func (a *attempts) isUniform(events []occurrence) bool {
	first := events[0].match
	return !slices.ContainsFunc(events[1:], func(e occurrence) bool {
		return e.match != first && (e.match&stepBits != first&stepBits || a.spoiledBy(e.match) != a.spoiledBy(first))
	})
}

// spoiledBy is the steps that are kept from being reached by an event's exclusions.
func (a *attempts) spoiledBy(match uint32) (steps uint32) {
	for x := match & exclusionBits; x != 0; x &= x - 1 {
		steps |= a.spoils[bits.TrailingZeros32(x)-firstExclusion]
	}
	return steps
}

// processEvent takes one event: what it matches from the highest to the lowest.
func (a *attempts) processEvent(number int, e *occurrence) {
	steps, spoils := e.match&stepBits, a.spoiledBy(e.match)
	for rest := steps | spoils; rest != 0; {
		k := bits.Len32(rest) - 1
		rest &^= 1 << k
		if spoils>>k&1 != 0 {
			a.spoil(k, e.time)
		}
		if steps>>k&1 != 0 {
			a.reach(k, number, e.time)
		}
	}
	if !a.strict {
		return
	}
	for k := range a.open {
		if steps>>k&1 == 0 {
			a.open[k].reached = 0
		}
	}
}

// processSimultaneous takes different events of one instant step by step, each event at most
// once in an attempt; exclusions have no part.
func (a *attempts) processSimultaneous(number int, events []occurrence) {
	for k := range a.open {
		for i := range events {
			if events[i].match>>k&1 == 0 || k > 0 && a.hasUsed(k-1, number+i) {
				continue
			}
			if a.reach(k, number+i, events[i].time); a.isComplete() {
				return
			}
		}
	}
}

// hasUsed says whether an event is part of the attempt that is kept for a step.
func (a *attempts) hasUsed(k, event int) bool {
	return slices.Contains(a.open[k].events[:a.open[k].reached], event)
}

// isWaiting says whether the attempt kept for step k - 1 waits for step k at a time.
func (a *attempts) isWaiting(k int, now int64) bool {
	before := &a.open[k-1]
	return before.reached > 0 && now-before.start <= a.window &&
		(a.open[k].reached == 0 || a.open[k].start != before.start)
}

func (a *attempts) reach(k, event int, now int64) {
	current, from := &a.open[k], &a.open[max(k-1, 0)]
	switch {
	case k > 0 && !a.isWaiting(k, now), k == 0 && current.reached > 0 && current.start == now:
		return
	case k == 0:
		current.begin(now, event)
	case !from.spoiled:
		current.extend(from, now, event)
	}
	if k+1 > a.best.reached || k+1 == a.best.reached && a.best.spoiled {
		if k == 0 {
			a.best.begin(now, event)
		} else {
			a.best.extend(from, now, event)
		}
	}
}

// spoil takes an exclusion before step k.
func (a *attempts) spoil(k int, now int64) {
	if !a.isWaiting(k, now) {
		return
	}
	a.open[k-1].spoiled = true
	if a.best.reached == k && now-a.best.start <= a.window {
		a.best.spoiled = true
	}
}

func (t *attempt) begin(now int64, event int) {
	t.start, t.reached, t.spoiled = now, 1, false
	t.times[0], t.events[0] = now, event
}

func (t *attempt) extend(from *attempt, now int64, event int) {
	n := from.reached
	copy(t.times[:n], from.times)
	copy(t.events[:n], from.events)
	t.times[n], t.events[n] = now, event
	t.start, t.reached, t.spoiled = from.start, n+1, from.spoiled
}
