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

// scheduler lets queries compute, a few at a time: in the order of their arrival within
// a project, one project after the other.
type scheduler struct {
	workers int

	mu      sync.Mutex
	running map[int64]int // by project
	total   int
	waiting []waiter // in the order of arrival
	// order are the projects, the one whose turn was last at the end.
	order []int64
}

type waiter struct {
	project int64
	ready   chan struct{}
}

// acquire waits for a turn, until ctx ends. Who has one gives it back.
func (t *scheduler) acquire(ctx context.Context, project int64) error {
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
	t.startNext()
	t.mu.Unlock()
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.waiting, func(other waiter) bool { return other.ready == w.ready }); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	} else { // the turn came at the same moment
		t.finish(project)
	}
	return context.Cause(ctx)
}

// release gives a turn back.
func (t *scheduler) release(project int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish(project)
}

func (t *scheduler) finish(project int64) {
	t.total--
	if t.running[project]--; t.running[project] == 0 {
		delete(t.running, project)
	}
	t.startNext()
}

// startNext lets those go on for whom there is room: of the projects that wait, the one
// whose last turn is the longest ago.
func (t *scheduler) startNext() {
	for t.total < t.workers {
		best, rank := -1, 0
		for i, w := range t.waiting {
			if t.running[w.project] >= projectWorkers {
				continue
			}
			// A project that had no turn lately is not in the list: -1.
			if r := slices.Index(t.order, w.project); best < 0 || r < rank {
				best, rank = i, r
			}
		}
		if best < 0 {
			return
		}
		w := t.waiting[best]
		t.waiting = slices.Delete(t.waiting, best, best+1)
		t.order = append(slices.DeleteFunc(t.order, func(id int64) bool { return id == w.project }), w.project)
		if len(t.order) > maxWaiting {
			t.order = t.order[1:]
		}
		t.running[w.project]++
		t.total++
		close(w.ready)
	}
}

// counts is how many run and wait.
func (t *scheduler) counts() (running, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total, len(t.waiting)
}
