package funnels

import (
	"math/bits"
	"slices"
)

// unorderedWalker is the walker of unordered funnels. For each step it has a queue of events, as
// indexes into the events of the walk, and an attempt consists of the events in front of the queues
// (§2.5.2).
type unorderedWalker struct {
	// window is in microseconds.
	window int64
	queues [][]int
	// heads are, by queue, the number of elements that were removed from its front.
	heads []int
	// reached and times are the result so far.
	reached int
	times   []int64
}

// newUnorderedWalker returns a walker for a number of steps.
func newUnorderedWalker(steps int, window int64) *unorderedWalker {
	return &unorderedWalker{window: window, queues: make([][]int, steps), heads: make([]int, steps), times: make([]int64, 0, steps)}
}

// walk implements walker.
func (a *unorderedWalker) walk(events []occurrence) (int, []int64) {
	a.reached = 0
	a.empty()
	for i := range events {
		if a.expire(events, events[i].time); a.reached == len(a.queues) {
			break
		}
		if events[i].match&exclusionBits != 0 {
			a.empty()
			continue
		}
		// An event that cannot begin an attempt is used only while an attempt is in progress.
		if events[i].match&cannotBegin == 0 || a.oldest() >= 0 {
			a.push(i, events[i].match&stepBits)
		}
	}
	a.record(events)
	return a.reached, a.times[:a.reached]
}

// empty removes all events from the queues.
func (a *unorderedWalker) empty() {
	for k := range a.queues {
		a.queues[k], a.heads[k] = a.queues[k][:0], 0
	}
}

// expire removes the oldest events while they are outside the window or all queues are filled.
// Before each removal it records how many queues were filled.
func (a *unorderedWalker) expire(events []occurrence, now int64) {
	for {
		k := a.oldest()
		if k < 0 {
			return
		}
		if now-events[a.front(k)].time <= a.window && a.countFilled() < len(a.queues) {
			return
		}
		a.record(events)
		a.heads[k]++
		// The next oldest event begins a new attempt, so remove events that cannot begin one.
		for k = a.oldest(); k >= 0 && events[a.front(k)].match&cannotBegin != 0; k = a.oldest() {
			a.heads[k]++
		}
	}
}

// front returns the index of the oldest event in queue k, which must not be empty.
func (a *unorderedWalker) front(k int) int { return a.queues[k][a.heads[k]] }

// isEmpty reports whether queue k is empty.
func (a *unorderedWalker) isEmpty(k int) bool { return a.heads[k] == len(a.queues[k]) }

// oldest returns the queue with the oldest event in front, -1 if all queues are empty.
func (a *unorderedWalker) oldest() int {
	found := -1
	for k := range a.queues {
		if !a.isEmpty(k) && (found < 0 || a.front(k) < a.front(found)) {
			found = k
		}
	}
	return found
}

// countFilled returns the number of queues that are not empty.
func (a *unorderedWalker) countFilled() (n int) {
	for k := range a.queues {
		if !a.isEmpty(k) {
			n++
		}
	}
	return n
}

// record stores the number of filled queues and the times of their front events, if there are more
// than before.
func (a *unorderedWalker) record(events []occurrence) {
	if n := a.countFilled(); n > a.reached {
		a.reached, a.times = n, a.times[:0]
		for k := range a.queues {
			if !a.isEmpty(k) {
				a.times = append(a.times, events[a.front(k)].time)
			}
		}
		slices.Sort(a.times)
	}
}

// push appends an event to the queue of one of its steps: the one whose last event is the oldest.
// An empty queue comes first.
func (a *unorderedWalker) push(number int, steps uint32) {
	to, least := -1, number
	for ; steps != 0; steps &= steps - 1 {
		k := bits.TrailingZeros32(steps)
		last := -1
		if !a.isEmpty(k) {
			last = a.queues[k][len(a.queues[k])-1]
		}
		if last < least {
			to, least = k, last
		}
	}
	if to < 0 {
		return
	}
	if a.isEmpty(to) {
		a.queues[to], a.heads[to] = a.queues[to][:0], 0
	}
	a.queues[to] = append(a.queues[to], number)
}
