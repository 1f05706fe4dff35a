package queries

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// projectWorkers is how many queries of one project run at once, maxWaiting how
	// many of all projects wait for their turn.
	projectWorkers = 3
	maxWaiting     = 100
	// waitTime is how long somebody waits for a turn.
	waitTime = 10 * time.Second
)

// turns lets queries compute, a few at a time: in the order of their arrival within
// a project, one project after the other.
type turns struct {
	workers int

	mu      sync.Mutex
	running map[int64]int // by project
	all     int
	waiting []waiter // in the order of arrival
	// order are the projects, the one whose turn was last at the end.
	order []int64
}

type waiter struct {
	project int64
	turn    chan struct{}
}

// take waits for a turn, until ctx ends. Who has one gives it back.
func (t *turns) take(ctx context.Context, project int64) error {
	t.mu.Lock()
	if t.running == nil {
		t.running = map[int64]int{}
	}
	if len(t.waiting) >= maxWaiting {
		t.mu.Unlock()
		return errBusy("%d queries are waiting for their turn on this server.", maxWaiting)
	}
	w := waiter{project, make(chan struct{})}
	t.waiting = append(t.waiting, w)
	t.next()
	t.mu.Unlock()
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.waiting, func(other waiter) bool { return other.turn == w.turn }); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else { // the turn came at the same moment
		t.ended(project)
	}
	return context.Cause(ctx)
}

// give gives a turn back.
func (t *turns) give(project int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended(project)
}

func (t *turns) ended(project int64) {
	t.all--
	if t.running[project]--; t.running[project] == 0 {
		delete(t.running, project)
	}
	t.next()
}

// next lets those go on for whom there is room: of the projects that wait, the one
// whose last turn is the longest ago.
func (t *turns) next() {
	for t.all < t.workers {
		at, rank := -1, 0
		for i, w := range t.waiting {
			if t.running[w.project] >= projectWorkers {
				continue
			}
			// A project that had no turn lately is not in the list: -1.
			if r := slices.Index(t.order, w.project); at < 0 || r < rank {
				at, rank = i, r
			}
		}
		if at < 0 {
			return
		}
		w := t.waiting[at]
		t.waiting = slices.Delete(t.waiting, at, at+1)
		t.order = append(slices.DeleteFunc(t.order, func(id int64) bool { return id == w.project }), w.project)
		if len(t.order) > maxWaiting {
			t.order = t.order[1:]
		}
		t.running[w.project]++
		t.all++
		close(w.turn)
	}
}

// now is how many run and wait.
func (t *turns) now() (running, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all, len(t.waiting)
}
