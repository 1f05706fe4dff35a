package queries

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// paceStep is how long a query computes before it looks whether others are at work:
	// nobody has to wait for it longer than that.
	paceStep = 500 * time.Microsecond
	// paceShare is how many times as long as it computed it then stands still, maxPause
	// the longest that it does.
	paceShare = 3
	maxPause  = 50 * time.Millisecond
	// quietTime is for how long nobody else must have been at work before a query takes
	// a second processor.
	quietTime = time.Second
)

// pace keeps the queries of a desk from taking what others need.
type pace struct {
	// work is Config.Work, nil where nobody else is.
	work func() uint64
	// lastCount is what it last said, grown when it last said more, in nanoseconds.
	lastCount atomic.Uint64
	changedAt atomic.Int64
}

// lastWork is when others were last seen to have done something.
func (p *pace) lastWork(now time.Time) int64 {
	if p.work == nil {
		return 0
	}
	if n := p.work(); p.lastCount.Swap(n) != n {
		p.changedAt.Store(now.UnixNano())
	}
	return p.changedAt.Load()
}

// pacer is how long a query has computed since it last stood still.
type pacer struct {
	*pace
	mu    sync.Mutex
	began time.Time
}

// pause stands still where the query has computed for a while and others were at work
// meanwhile.
func (t *pacer) pause(ctx context.Context) {
	if !t.mu.TryLock() { // another goroutine of the query rests
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

// hasSpareProcessor says whether a query may use a second processor: nobody else was at work for a
// while, and all that compute leave one.
func (d *Service) hasSpareProcessor() bool {
	running, _ := d.scheduler.counts()
	now := time.Now()
	return runtime.GOMAXPROCS(0) > running && now.UnixNano()-d.pace.lastWork(now) > int64(quietTime)
}
