package sqlstore

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// readAhead reads units and delivers what was read, by the goroutine that calls run;
// a second one reads beside it as long as there is a processor to spare.
type readAhead struct {
	units []unit
	spare func() bool // nil: there is none
	// read reads a unit into memory that give gets once or more often.
	read    func(ctx context.Context, u unit, e *columnBuffer, give func(*columnBuffer) error) error
	deliver func(ctx context.Context, u unit, e *columnBuffer) error

	mu      sync.Mutex
	next    int
	workers sync.WaitGroup
	filled  chan readResult    // nil: nobody reads beside
	free    chan *columnBuffer // memory for who reads beside
	stopped chan struct{}      // closed when nobody takes what is read
}

// unit is a stretch of ids that is read on its own: some of an epoch.
type unit struct{ first, last int64 }

func (u unit) epoch() int64 { return u.first >> epochBits }

// readResult is what was read beside. Without columns it is the end.
type readResult struct {
	unit unit
	e    *columnBuffer
	err  error
}

// aheadBuffers is how many pieces are held that were read beside.
const aheadBuffers = 2

func (a *readAhead) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.stopped = make(chan struct{})
	defer func() {
		cancel()
		close(a.stopped)
		a.workers.Wait()
	}()
	mine := &columnBuffer{}
	for {
		if err := a.deliverReady(ctx, false); err != nil {
			return err
		}
		u, ok := a.claim()
		if !ok {
			return a.deliverReady(ctx, true)
		}
		if a.filled == nil && a.spare != nil && a.spare() {
			a.startWorker(ctx)
		}
		err := a.read(ctx, u, mine, func(e *columnBuffer) error { return a.deliver(ctx, u, e) })
		if err != nil {
			return err
		}
	}
}

// claim takes the next unit.
func (a *readAhead) claim() (unit, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == len(a.units) {
		return unit{}, false
	}
	a.next++
	return a.units[a.next-1], true
}

// deliverReady delivers what was read beside: what is there, or all that will be.
func (a *readAhead) deliverReady(ctx context.Context, all bool) error {
	for a.filled != nil {
		var h readResult
		if all {
			h = <-a.filled
		} else {
			select {
			case h = <-a.filled:
			default:
				return nil
			}
		}
		if h.err != nil {
			return h.err
		}
		if h.e == nil {
			a.filled = nil
			return nil
		}
		if err := a.deliver(ctx, h.unit, h.e); err != nil {
			return err
		}
		a.free <- h.e
	}
	return nil
}

// startWorker has a goroutine read beside.
func (a *readAhead) startWorker(ctx context.Context) {
	a.filled, a.free = make(chan readResult, aheadBuffers+1), make(chan *columnBuffer, aheadBuffers)
	for range aheadBuffers {
		a.free <- &columnBuffer{}
	}
	filled, free := a.filled, a.free // which never block who sends
	a.workers.Go(func() { filled <- readResult{err: a.readUnits(ctx, filled, free)} })
}

func (a *readAhead) readUnits(ctx context.Context, filled chan<- readResult, free <-chan *columnBuffer) (err error) {
	defer func() { // a mistake of ours ends the query, not the process
		if fault := recover(); fault != nil {
			err = fmt.Errorf("reading events panicked: %v\n%s", fault, debug.Stack())
		}
	}()
	e := &columnBuffer{}
	for a.spare() {
		u, ok := a.claim()
		if !ok {
			return nil
		}
		err := a.read(ctx, u, e, func(e *columnBuffer) error {
			select {
			case next := <-free:
				*next, *e = *e, *next
				filled <- readResult{unit: u, e: next}
				return nil
			case <-a.stopped:
				return context.Canceled
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
