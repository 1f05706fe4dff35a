package plaintest

import (
	"fmt"
	"maps"
	"slices"
)

// Event is an event of one actor, with the steps and exclusions of a [Funnel] that it matches.
type Event struct {
	At         int64
	Steps      []int // from 1
	Exclusions []int
	Barred     bool // cannot be the first event of an attempt in any order
}

// Funnel follows the text of §2.5.2 of testdata/spec/insights.md, with steps from 1, copied values
// and no attention to speed. It does not use walkers.
type Funnel struct {
	Steps, Window int
	Strict        bool
	Exclusions    []Exclusion
}

// Exclusion excludes events between two steps, which are counted from 0, as in the query.
type Exclusion struct{ From, To int }

type attempt struct {
	start   int64
	times   []int64
	spoiled bool
	used    []int
}

type state struct {
	open     map[int]attempt
	best     int
	furthest attempt
}

func (f Funnel) appliesAfter(e Event, j int) bool {
	return slices.ContainsFunc(e.Exclusions, func(x int) bool { return f.Exclusions[x].From < j && j <= f.Exclusions[x].To })
}

// canContinue reports whether rule 2 permits step k.
func (f Funnel) canContinue(s *state, k int, micros int64) bool {
	before, ok := s.open[k-1]
	after, reached := s.open[k]
	return ok && micros-before.start <= int64(f.Window) && !(reached && after.start == before.start)
}

func (f Funnel) step(s *state, k, number int, micros int64, once bool) {
	fresh := attempt{start: micros, times: []int64{micros}, used: []int{number}}
	if k == 1 {
		if old, ok := s.open[1]; ok && old.start == micros {
			return
		}
	} else {
		before := s.open[k-1]
		if !f.canContinue(s, k, micros) || once && slices.Contains(before.used, number) {
			return
		}
		fresh = attempt{before.start, append(slices.Clone(before.times), micros), before.spoiled, append(slices.Clone(before.used), number)}
	}
	if !fresh.spoiled {
		s.open[k] = fresh
	}
	if k > s.best || k == s.best && s.furthest.spoiled {
		s.best, s.furthest = k, fresh
	}
}

func (f Funnel) exclude(s *state, e Event, j int) {
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
func (f Funnel) same(events []Event) bool {
	text := func(e Event) string {
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

// Walk returns how many steps the events reach, and the time of each.
func (f Funnel) Walk(events []Event) (int, []int64) {
	s := &state{open: map[int]attempt{}}
	for i := 0; i < len(events); {
		var group []Event
		for _, e := range events[i:] {
			if e.At == events[i].At {
				group = append(group, e)
			}
		}
		done := false
		if f.same(group) {
			done = f.inOrder(s, group, i)
		} else {
			done = f.byStep(s, group, i)
		}
		if done {
			break
		}
		i += len(group)
	}
	if s.furthest.spoiled {
		return 0, nil
	}
	return s.best, s.furthest.times
}

// inOrder applies events of one time that match the same, of which the first has a number. It reports
// whether the last step is reached.
func (f Funnel) inOrder(s *state, group []Event, first int) bool {
	for n, e := range group {
		for k := f.Steps; k >= 1; k-- { // from the highest to the lowest
			f.exclude(s, e, k-1)
			if slices.Contains(e.Steps, k) {
				f.step(s, k, first+n, e.At, false)
			}
		}
		if f.Strict {
			maps.DeleteFunc(s.open, func(k int, _ attempt) bool { return !slices.Contains(e.Steps, k) })
		}
		if _, done := s.open[f.Steps]; done {
			return true
		}
	}
	return false
}

// byStep applies events of one time that match different steps, as inOrder does.
func (f Funnel) byStep(s *state, group []Event, first int) bool {
	for k := 1; k <= f.Steps; k++ {
		for n, e := range group {
			if slices.Contains(e.Steps, k) {
				f.step(s, k, first+n, e.At, true)
			}
			if _, done := s.open[f.Steps]; done {
				return true
			}
		}
	}
	return false
}
