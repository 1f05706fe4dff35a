package insights

import (
	"math/bits"
	"slices"
)

// unorderedWalker is the walker of unordered funnels: for each step a queue of the events
// that are it, by their numbers in the walk.
type unorderedWalker struct {
	window  int64
	queues  [][]int
	heads   []int // by queue: how many were dropped
	reached int
	times   []int64
}

func newUnorderedWalker(steps int, window int64) *unorderedWalker {
	return &unorderedWalker{window: window, queues: make([][]int, steps), heads: make([]int, steps), times: make([]int64, 0, steps)}
}

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
		if events[i].match&cannotBegin == 0 || a.oldest() >= 0 {
			a.push(i, events[i].match&stepBits)
		}
	}
	a.record(events)
	return a.reached, a.times[:a.reached]
}

func (a *unorderedWalker) empty() {
	for k := range a.queues {
		a.queues[k], a.heads[k] = a.queues[k][:0], 0
	}
}

// expire drops the oldest events as long as they are beyond the window or all steps
// are filled, and notes what there was.
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
		for k = a.oldest(); k >= 0 && events[a.front(k)].match&cannotBegin != 0; k = a.oldest() {
			a.heads[k]++
		}
	}
}

func (a *unorderedWalker) front(k int) int    { return a.queues[k][a.heads[k]] }
func (a *unorderedWalker) isEmpty(k int) bool { return a.heads[k] == len(a.queues[k]) }

// oldest is the step with the oldest event in front, -1 when all are empty.
func (a *unorderedWalker) oldest() int {
	found := -1
	for k := range a.queues {
		if !a.isEmpty(k) && (found < 0 || a.front(k) < a.front(found)) {
			found = k
		}
	}
	return found
}

func (a *unorderedWalker) countFilled() (n int) {
	for k := range a.queues {
		if !a.isEmpty(k) {
			n++
		}
	}
	return n
}

// record keeps how many steps are filled, and when, if it is more than before.
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

// push gives an event to that of its steps whose last event is oldest.
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
