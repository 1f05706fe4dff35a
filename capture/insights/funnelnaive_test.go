package insights

import (
	"fmt"
	"maps"
	"slices"
)

// The naive evaluator follows the text of §2.5.2, with steps from 1, copied values and no attention
// to speed. It does not use walkers.

type naiveEvent struct {
	At         int64
	Steps      []int // from 1
	Exclusions []int
	Barred     bool // cannot be the first event of an attempt in any order
}

type naiveFunnel struct {
	Steps, Window int
	Strict        bool
	Exclusions    []naiveExclusion
}

// naiveExclusion excludes events between two steps, which are counted from 0, as in the query.
type naiveExclusion struct{ From, To int }

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
	return slices.ContainsFunc(e.Exclusions, func(x int) bool { return f.Exclusions[x].From < j && j <= f.Exclusions[x].To })
}

// canContinue reports whether rule 2 permits step k.
func (f naiveFunnel) canContinue(s *naiveState, k int, micros int64) bool {
	before, ok := s.open[k-1]
	after, reached := s.open[k]
	return ok && micros-before.start <= int64(f.Window) && !(reached && after.start == before.start)
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
	if !f.appliesAfter(e, j) || !f.canContinue(s, j+1, e.At) {
		return
	}
	spoiled := s.open[j]
	spoiled.spoiled = true
	s.open[j] = spoiled
	if s.best == j && e.At-s.furthest.start <= int64(f.Window) {
		s.furthest.spoiled = true
	}
}

// same reports whether all events match the same steps and exclusions.
func (f naiveFunnel) same(events []naiveEvent) bool {
	text := func(e naiveEvent) string {
		out := fmt.Sprint(e.Steps)
		for j := 1; j <= f.Steps; j++ {
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

func (f naiveFunnel) Walk(events []naiveEvent) (int, []int64) {
	s := &naiveState{open: map[int]naiveAttempt{}}
	done := func() bool { _, ok := s.open[f.Steps]; return ok }
	for i := 0; i < len(events); {
		var group []naiveEvent
		for _, e := range events[i:] {
			if e.At == events[i].At {
				group = append(group, e)
			}
		}
		if f.same(group) {
			for n, e := range group {
				for k := f.Steps; k >= 1; k-- { // from the highest to the lowest
					f.exclude(s, e, k-1)
					if slices.Contains(e.Steps, k) {
						f.step(s, k, i+n, e.At, false)
					}
				}
				if f.Strict {
					maps.DeleteFunc(s.open, func(k int, _ naiveAttempt) bool { return !slices.Contains(e.Steps, k) })
				}
				if done() {
					return s.result()
				}
			}
		} else {
			for k := 1; k <= f.Steps; k++ {
				for n, e := range group {
					if slices.Contains(e.Steps, k) {
						f.step(s, k, i+n, e.At, true)
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
				fronts = append(fronts, q[0].At)
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
			if k < 0 || e.At-first.At <= int64(window) && !full() {
				break
			}
			note()
			if best == steps {
				return best, times
			}
			queues[k] = queues[k][1:]
			for k, first = oldest(); k >= 0 && first.Barred; k, first = oldest() {
				queues[k] = queues[k][1:]
			}
		}
		if len(e.Exclusions) > 0 {
			queues = make([][]queued, steps)
			continue
		}
		if k, _ := oldest(); k < 0 && e.Barred {
			continue
		}
		to := -1
		for _, step := range e.Steps {
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
