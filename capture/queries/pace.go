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
	// done is what it last said, grown when it last said more, in nanoseconds.
	done  atomic.Uint64
	grown atomic.Int64
}

// lastWork is when others were last seen to have done something.
func (p *pace) lastWork(now time.Time) int64 {
	if p.work == nil {
		return 0
	}
	if n := p.work(); p.done.Swap(n) != n {
		p.grown.Store(now.UnixNano())
	}
	return p.grown.Load()
}

// turn is how long a query has computed since it last stood still.
type turn struct {
	*pace
	mu    sync.Mutex
	began time.Time
}

// rest stands still where the query has computed for a while and others were at work
// meanwhile.
func (t *turn) rest(ctx context.Context) {
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
	pause := time.NewTimer(min(paceShare*took, maxPause))
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ctx.Done():
	}
	t.began = time.Now()
}

// spare says whether a query may use a second processor: nobody else was at work for a
// while, and all that compute leave one.
func (d *Desk) spare() bool {
	running, _ := d.turns.now()
	now := time.Now()
	return runtime.GOMAXPROCS(0) > running && now.UnixNano()-d.pace.lastWork(now) > int64(quietTime)
}
