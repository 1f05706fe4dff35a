package insights

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// The naive evaluator follows the text of §2.5.2, with steps from 1, copied values and no attention
// to speed. It does not use walkers.

type naiveEvent struct {
	at         int64
	steps      []int // from 1
	exclusions []int
	barred     bool // cannot be the first event of an attempt in any order
}

type naiveFunnel struct {
	steps, window int
	strict        bool
	exclusions    []naiveExclusion
}

// naiveExclusion excludes events between two steps, which are counted from 0, as in the query.
type naiveExclusion struct{ from, to int }

type naiveAttempt struct {
	start   int64
	times   []int64
	spoiled bool
	used    []int
}

type naiveState struct {
	open     map[int]naiveAttempt
	best     int
	furthest naiveAttempt
}

func (f naiveFunnel) appliesAfter(e naiveEvent, j int) bool {
	return slices.ContainsFunc(e.exclusions, func(x int) bool { return f.exclusions[x].from < j && j <= f.exclusions[x].to })
}

// canContinue reports whether rule 2 permits step k.
func (f naiveFunnel) canContinue(s *naiveState, k int, micros int64) bool {
	before, ok := s.open[k-1]
	after, reached := s.open[k]
	return ok && micros-before.start <= int64(f.window) && !(reached && after.start == before.start)
}

func (f naiveFunnel) step(s *naiveState, k, number int, micros int64, once bool) {
	fresh := naiveAttempt{start: micros, times: []int64{micros}, used: []int{number}}
	if k == 1 {
		if old, ok := s.open[1]; ok && old.start == micros {
			return
		}
	} else {
		before := s.open[k-1]
		if !f.canContinue(s, k, micros) || once && slices.Contains(before.used, number) {
			return
		}
		fresh = naiveAttempt{before.start, append(slices.Clone(before.times), micros), before.spoiled, append(slices.Clone(before.used), number)}
	}
	if !fresh.spoiled {
		s.open[k] = fresh
	}
	if k > s.best || k == s.best && s.furthest.spoiled {
		s.best, s.furthest = k, fresh
	}
}

func (f naiveFunnel) exclude(s *naiveState, e naiveEvent, j int) {
	if !f.appliesAfter(e, j) || !f.canContinue(s, j+1, e.at) {
		return
	}
	spoiled := s.open[j]
	spoiled.spoiled = true
	s.open[j] = spoiled
	if s.best == j && e.at-s.furthest.start <= int64(f.window) {
		s.furthest.spoiled = true
	}
}

// same reports whether all events match the same steps and exclusions.
func (f naiveFunnel) same(events []naiveEvent) bool {
	text := func(e naiveEvent) string {
		out := fmt.Sprint(e.steps)
		for j := 1; j <= f.steps; j++ {
			out += fmt.Sprint(f.appliesAfter(e, j))
		}
		return out
	}
	for _, e := range events {
		if text(e) != text(events[0]) {
			return false
		}
	}
	return true
}

func (f naiveFunnel) walk(events []naiveEvent) (int, []int64) {
	s := &naiveState{open: map[int]naiveAttempt{}}
	done := func() bool { _, ok := s.open[f.steps]; return ok }
	for i := 0; i < len(events); {
		var group []naiveEvent
		for _, e := range events[i:] {
			if e.at == events[i].at {
				group = append(group, e)
			}
		}
		if f.same(group) {
			for n, e := range group {
				for k := f.steps; k >= 1; k-- { // from the highest to the lowest
					f.exclude(s, e, k-1)
					if slices.Contains(e.steps, k) {
						f.step(s, k, i+n, e.at, false)
					}
				}
				if f.strict {
					maps.DeleteFunc(s.open, func(k int, _ naiveAttempt) bool { return !slices.Contains(e.steps, k) })
				}
				if done() {
					return s.result()
				}
			}
		} else {
			for k := 1; k <= f.steps; k++ {
				for n, e := range group {
					if slices.Contains(e.steps, k) {
						f.step(s, k, i+n, e.at, true)
					}
					if done() {
						return s.result()
					}
				}
			}
		}
		i += len(group)
	}
	return s.result()
}

func (s *naiveState) result() (int, []int64) {
	if s.furthest.spoiled {
		return 0, nil
	}
	return s.best, s.furthest.times
}

// naiveUnordered implements the last paragraph of §2.5.2.
func naiveUnordered(steps, window int, events []naiveEvent) (int, []int64) {
	type queued struct {
		naiveEvent
		number int
	}
	queues := make([][]queued, steps)
	best, times := 0, []int64(nil)
	oldest := func() (step int, found queued) {
		step = -1
		for k, q := range queues {
			if len(q) > 0 && (step < 0 || q[0].number < found.number) {
				step, found = k, q[0]
			}
		}
		return step, found
	}
	note := func() {
		var fronts []int64
		for _, q := range queues {
			if len(q) > 0 {
				fronts = append(fronts, q[0].at)
			}
		}
		if len(fronts) > best {
			slices.Sort(fronts)
			best, times = len(fronts), fronts
		}
	}
	full := func() bool { return !slices.ContainsFunc(queues, func(q []queued) bool { return len(q) == 0 }) }
	for i, e := range events {
		for {
			k, first := oldest()
			if k < 0 || e.at-first.at <= int64(window) && !full() {
				break
			}
			note()
			if best == steps {
				return best, times
			}
			queues[k] = queues[k][1:]
			for k, first = oldest(); k >= 0 && first.barred; k, first = oldest() {
				queues[k] = queues[k][1:]
			}
		}
		if len(e.exclusions) > 0 {
			queues = make([][]queued, steps)
			continue
		}
		if k, _ := oldest(); k < 0 && e.barred {
			continue
		}
		to := -1
		for _, step := range e.steps {
			if q := queues[step-1]; len(q) == 0 {
				to = step - 1
				break
			}
			if to < 0 || queues[step-1][len(queues[step-1])-1].number < queues[to][len(queues[to])-1].number {
				to = step - 1
			}
		}
		if to >= 0 {
			queues[to] = append(queues[to], queued{e, i})
		}
	}
	note()
	return best, times
}

// TestWalkersFollowTheText compares walkers with the naive evaluator on random sequences with ties,
// exclusions, short windows and events that match several steps.
func TestWalkersFollowTheText(t *testing.T) {
	random := rand.New(rand.NewPCG(14, 25))
	full, spoiled := 0, 0
	for n := range 30_000 {
		f := naiveFunnel{steps: 1 + random.IntN(5), window: 1 + random.IntN(12), strict: n%3 == 1}
		if n%3 != 1 && f.steps > 1 {
			for range random.IntN(3) {
				from := random.IntN(f.steps - 1)
				f.exclusions = append(f.exclusions, naiveExclusion{from, from + 1 + random.IntN(f.steps-1-from)})
			}
		}
		events := randomWalk(random, &f, n%3 == 2)
		occurrences := make([]occurrence, len(events))
		for i, e := range events {
			occurrences[i] = occurrenceOf(e, int64(i))
		}
		var exclusions []exclusion
		for _, x := range f.exclusions {
			exclusions = append(exclusions, exclusion(x))
		}
		var w walker = newAttempts(f.steps, int64(f.window), f.strict, exclusions)
		reached, times := f.walk(events)
		if n%3 == 2 {
			w = newUnorderedWalker(f.steps, int64(f.window))
			reached, times = naiveUnordered(f.steps, f.window, events)
		}
		w.walk(occurrences[:len(occurrences)/2]) // a walker is reused
		got, gotTimes := w.walk(occurrences)
		if got != reached || !slices.Equal(gotTimes, times) {
			t.Fatalf("%+v of %+v\nreached %d at %v, want %d at %v", f, events, got, gotTimes, reached, times)
		}
		if reached == f.steps && reached > 2 {
			full++
		}
		if reached == 0 && len(f.exclusions) > 0 {
			spoiled++
		}
	}
	if full < 1000 || spoiled < 500 {
		t.Errorf("the sequences say little: %d whole funnels, %d spoiled", full, spoiled)
	}
}

func occurrenceOf(e naiveEvent, id int64) occurrence {
	o := occurrence{time: e.at, id: id}
	for _, k := range e.steps {
		o.match |= 1 << (k - 1)
	}
	for _, x := range e.exclusions {
		o.match |= 1 << (firstExclusion + x)
	}
	if e.barred {
		o.match |= cannotBegin
	}
	return o
}

func randomWalk(random *rand.Rand, f *naiveFunnel, anyOrder bool) []naiveEvent {
	events := make([]naiveEvent, random.IntN(14))
	now := int64(0)
	for i := range events {
		now += int64(random.IntN(4)) * int64(random.IntN(2))
		events[i].at = now
		for k := 1; k <= f.steps; k++ {
			if random.IntN(f.steps+1) == 0 {
				events[i].steps = append(events[i].steps, k)
			}
		}
		for x := range f.exclusions {
			if random.IntN(6) == 0 {
				events[i].exclusions = append(events[i].exclusions, x)
			}
		}
		events[i].barred = anyOrder && random.IntN(3) == 0
	}
	return events
}
