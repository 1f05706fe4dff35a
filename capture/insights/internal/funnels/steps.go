package funnels

import (
	"cmp"
	"math/bits"
	"slices"
)

// occurrence is an event in the form that funnels need.
type occurrence struct {
	// id is the order of recording, which orders events with the same time.
	time, id int64
	// match has a bit for each step that the event matches (from bit 0) and for each exclusion
	// (from bit firstExclusion), and cannotBegin.
	match uint32
	// value is the number of the event's breakdown value; 0 is the empty value.
	value uint32
}

// Bits of occurrence.match.
const (
	firstExclusion = 20 // the first of up to 10 exclusions, after up to 20 steps (§5.4)
	stepBits       = 1<<firstExclusion - 1
	exclusionBits  = 1<<30 - 1 - stepBits
	cannotBegin    = 1 << 31 // in an unordered funnel, the event cannot be the first of an attempt
)

// occurrenceSize is the size of an occurrence in chains, in bytes.
const occurrenceSize = 32

// compareOccurrences orders events by time, then by the order of recording.
func compareOccurrences(a, b occurrence) int {
	return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(a.id, b.id))
}

// walker computes how far an actor gets in a funnel (§2.5.2).
type walker interface {
	// walk returns the number of steps that the actor reached, and the times of these steps. The
	// events must be in chronological order. times is valid until the next call.
	walk(events []occurrence) (reached int, times []int64)
}

// exclusion forbids an event after step from and before step to, both counted from 0.
type exclusion struct{ from, to int }

// attempts is the walker of ordered and strict funnels. For each step it stores the most recent
// attempt that reached it, as §2.5.2 defines.
type attempts struct {
	window int64 // microseconds
	strict bool
	// spoils has, by exclusion, bit k if the exclusion spoils an attempt that waits for step k.
	spoils []uint32
	// open is, by step, the most recent attempt whose last step it is.
	open []attempt
	// best is the attempt that reached the furthest step first. Its slices are its own.
	best attempt
}

// attempt is a sequence of steps of an actor that began with one event.
type attempt struct {
	// start is the time of the first step.
	start int64
	// reached is the number of steps; 0 means that there is no attempt.
	reached int
	// spoiled is true if an exclusion occurred in the attempt.
	spoiled bool
	// times and events are, by step, the time and the index of its event in the walk.
	times  []int64
	events []int // their numbers in the walk
}

// newAttempts returns a walker. Its slices are allocated here, so that a walk needs no memory.
func newAttempts(steps int, window int64, strict bool, exclusions []exclusion) *attempts {
	a := &attempts{window: window, strict: strict, open: make([]attempt, steps), spoils: spoiledSteps(exclusions)}
	for k := range a.open {
		a.open[k] = attempt{times: make([]int64, steps), events: make([]int, steps)}
	}
	a.best = attempt{times: make([]int64, steps), events: make([]int, steps)}
	return a
}

// spoiledSteps returns, for each exclusion, the bits of the steps that it prevents.
func spoiledSteps(exclusions []exclusion) []uint32 {
	out := make([]uint32, len(exclusions))
	for i, e := range exclusions {
		for k := e.from + 1; k <= e.to; k++ {
			out[i] |= 1 << k
		}
	}
	return out
}

// walk implements walker.
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
		// Simultaneous events that match the same steps are processed one after the other, like
		// events with different times.
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

// isComplete reports whether the last step was reached.
func (a *attempts) isComplete() bool { return a.open[len(a.open)-1].reached > 0 }

// isUniform reports whether all events match the same steps and exclude the same steps.
func (a *attempts) isUniform(events []occurrence) bool {
	first := events[0].match
	return !slices.ContainsFunc(events[1:], func(e occurrence) bool {
		return e.match != first && (e.match&stepBits != first&stepBits || a.spoiledBy(e.match) != a.spoiledBy(first))
	})
}

// spoiledBy returns the bits of the steps that the exclusions of an event prevent.
func (a *attempts) spoiledBy(match uint32) (steps uint32) {
	for x := match & exclusionBits; x != 0; x &= x - 1 {
		steps |= a.spoils[bits.TrailingZeros32(x)-firstExclusion]
	}
	return steps
}

// processEvent processes one event: its steps and exclusions from the highest to the lowest, so
// that the event does not continue an attempt that it has extended itself.
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
	// In a strict funnel, attempts end if the event is not the step that they reached last.
	for k := range a.open {
		if steps>>k&1 == 0 {
			a.open[k].reached = 0
		}
	}
}

// processSimultaneous processes several different events with the same time, by ascending step. An
// event is used at most once in an attempt, and exclusions are ignored (§2.5.2, same instant).
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

// hasUsed reports whether an event is part of the attempt for a step.
func (a *attempts) hasUsed(k, event int) bool {
	return slices.Contains(a.open[k].events[:a.open[k].reached], event)
}

// isWaiting reports whether the attempt for step k-1 can be continued with step k at a time: it is
// within the window, and has not been continued already.
func (a *attempts) isWaiting(k int, now int64) bool {
	before := &a.open[k-1]
	return before.reached > 0 && now-before.start <= a.window &&
		(a.open[k].reached == 0 || a.open[k].start != before.start)
}

// reach applies step k of an event: it begins an attempt (k is 0) or continues the one for step
// k-1.
func (a *attempts) reach(k, event int, now int64) {
	current, from := &a.open[k], &a.open[max(k-1, 0)]
	switch {
	case k > 0 && !a.isWaiting(k, now), k == 0 && current.reached > 0 && current.start == now:
		return
	case k == 0:
		current.begin(now, event)
	// A spoiled attempt is not stored for step k, but may become the best one below.
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

// spoil applies an exclusion that prevents step k: it spoils the attempts that wait for this step.
func (a *attempts) spoil(k int, now int64) {
	if !a.isWaiting(k, now) {
		return
	}
	a.open[k-1].spoiled = true
	if a.best.reached == k && now-a.best.start <= a.window {
		a.best.spoiled = true
	}
}

// begin resets the attempt to a first step.
func (t *attempt) begin(now int64, event int) {
	t.start, t.reached, t.spoiled = now, 1, false
	t.times[0], t.events[0] = now, event
}

// extend sets the attempt to a copy of from, continued by one step.
func (t *attempt) extend(from *attempt, now int64, event int) {
	n := from.reached
	copy(t.times[:n], from.times)
	copy(t.events[:n], from.events)
	t.times[n], t.events[n] = now, event
	t.start, t.reached, t.spoiled = from.start, n+1, from.spoiled
}
