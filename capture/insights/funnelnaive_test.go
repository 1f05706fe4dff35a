package insights

import (
	"fmt"
	"maps"
	"slices"
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
