package plaintest

import "slices"

type queued struct {
	Event
	number int
}

// unordered has the events that wait for each step.
type unordered struct {
	queues [][]queued
	best   int
	times  []int64
}

// Unordered implements the last paragraph of §2.5.2: it returns how many steps the events reach in
// any order, and the times of these events.
func Unordered(steps, window int, events []Event) (int, []int64) {
	u := unordered{queues: make([][]queued, steps)}
	for i, e := range events {
		if u.expire(e.At, window) {
			return u.best, u.times
		}
		if len(e.Exclusions) > 0 {
			u.queues = make([][]queued, steps)
			continue
		}
		if k, _ := u.oldest(); k >= 0 || !e.Barred {
			u.place(e, i)
		}
	}
	u.note()
	return u.best, u.times
}

func (u *unordered) oldest() (step int, found queued) {
	step = -1
	for k, q := range u.queues {
		if len(q) > 0 && (step < 0 || q[0].number < found.number) {
			step, found = k, q[0]
		}
	}
	return step, found
}

// note keeps the first event of each step if these are more than before.
func (u *unordered) note() {
	var fronts []int64
	for _, q := range u.queues {
		if len(q) > 0 {
			fronts = append(fronts, q[0].At)
		}
	}
	if len(fronts) > u.best {
		slices.Sort(fronts)
		u.best, u.times = len(fronts), fronts
	}
}

// expire removes the events that are too old for one at a time, and the oldest while each step has
// an event. It reports whether all steps are reached.
func (u *unordered) expire(at int64, window int) bool {
	for {
		k, first := u.oldest()
		empty := slices.ContainsFunc(u.queues, func(q []queued) bool { return len(q) == 0 })
		if k < 0 || at-first.At <= int64(window) && empty {
			return false
		}
		u.note()
		if u.best == len(u.queues) {
			return true
		}
		u.queues[k] = u.queues[k][1:]
		for k, first = u.oldest(); k >= 0 && first.Barred; k, first = u.oldest() {
			u.queues[k] = u.queues[k][1:]
		}
	}
}

// place appends an event to the first of its steps that has none, otherwise to the step with the
// oldest last event.
func (u *unordered) place(e Event, number int) {
	to := -1
	for _, step := range e.Steps {
		q := u.queues[step-1]
		if len(q) == 0 {
			to = step - 1
			break
		}
		if to < 0 || q[len(q)-1].number < u.queues[to][len(u.queues[to])-1].number {
			to = step - 1
		}
	}
	if to >= 0 {
		u.queues[to] = append(u.queues[to], queued{e, number})
	}
}
