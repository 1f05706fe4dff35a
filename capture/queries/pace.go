package queries

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// paceStep is the computing time of a query between two checks for other work, and
	// therefore the longest delay that it causes for such work.
	paceStep = 500 * time.Microsecond
	// After computing while there is other work, a query pauses for paceShare times as long
	// as it computed, but at most for maxPause.
	paceShare = 3
	maxPause  = 50 * time.Millisecond
	// quietTime is the time without other work after which a query may use a second
	// processor.
	quietTime = time.Second
)

// pace prevents queries from delaying the other work of the process. It is shared by all
// queries of a service.
type pace struct {
	// work is Config.Work. It is nil if there is no other work.
	work func() uint64
	// lastCount is the last result of work. changedAt is the time of its last change, as Unix
	// time in nanoseconds.
	lastCount atomic.Uint64
	changedAt atomic.Int64
}

// lastWork returns the last time at which other work was observed, as Unix time in
// nanoseconds. It is 0 if work is nil.
func (p *pace) lastWork(now time.Time) int64 {
	if p.work == nil {
		return 0
	}
	if n := p.work(); p.lastCount.Swap(n) != n {
		p.changedAt.Store(now.UnixNano())
	}
	return p.changedAt.Load()
}

// pacer measures the computing time of one query since its last pause.
type pacer struct {
	*pace
	mu    sync.Mutex
	began time.Time
}

// pause pauses the query if it has been computing for a while and there was other work in
// that time.
func (t *pacer) pause(ctx context.Context) {
	if !t.mu.TryLock() { // another goroutine of the query is pausing
		return
	}
	defer t.mu.Unlock()
	now := time.Now()
	took := now.Sub(t.began)
	if took < paceStep {
		return
	}
	others := t.lastWork(now) > t.began.UnixNano()
	t.began = now
	if !others {
		return
	}
	timer := time.NewTimer(min(paceShare*took, maxPause))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	t.began = time.Now()
}
