package queries

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// projectWorkers is the greatest number of concurrent queries of one project, maxWaiting
	// that of waiting queries of all projects.
	projectWorkers = 3
	maxWaiting     = 100
	// waitTime is the time for which a query with a waiting caller waits to be scheduled.
	waitTime = 10 * time.Second
)

// scheduler limits the number of concurrent queries. Queries of a project are started in the
// order of their arrival, and projects take turns.
type scheduler struct {
	workers int

	mu      sync.Mutex
	running map[int64]int // number of running queries by project
	total   int
	waiting []waiter // in the order of arrival
	// order has the recent projects, ordered by their last turn; the most recent is at the
	// end.
	order []int64
}

// waiter is a query that waits to be scheduled.
type waiter struct {
	project int64
	ready   chan struct{}
}

// acquire waits until the query may run, or until ctx is canceled. After it returns nil, the
// caller must call release.
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
	} else { // it was started at the same moment
		t.finish(project)
	}
	return context.Cause(ctx)
}

// release must be called when a query has ended.
func (t *scheduler) release(project int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.finish(project)
}

// finish does the work of release. The caller must hold t.mu.
func (t *scheduler) finish(project int64) {
	t.total--
	if t.running[project]--; t.running[project] == 0 {
		delete(t.running, project)
	}
	t.startNext()
}

// startNext starts waiting queries while there is capacity. It prefers the project whose last
// turn is the longest ago. The caller must hold t.mu.
func (t *scheduler) startNext() {
	for t.total < t.workers {
		best, rank := -1, 0
		for i, w := range t.waiting {
			if t.running[w.project] >= projectWorkers {
				continue
			}
			// Index returns -1 for a project that had no recent turn, so that it precedes all
			// projects in the list.
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

// counts returns the numbers of running and waiting queries.
func (t *scheduler) counts() (running, waiting int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total, len(t.waiting)
}
