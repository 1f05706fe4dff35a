package events

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
)

// readAhead reads units of events and delivers the results, in the goroutine that calls
// run. While there is a spare processor, a second goroutine, the worker, reads units
// ahead. Units are delivered in no particular order, and always in the goroutine of
// run.
type readAhead struct {
	// units are the units to read.
	units []unit
	spare func() bool // reports whether a processor is spare; nil if the worker is not allowed
	// read reads a unit into the buffer e and calls give with it for each filled part,
	// at least once unless the unit is empty.
	read func(ctx context.Context, u unit, e *columnBuffer, give func(*columnBuffer) error) error
	// deliver processes events that were read. It may keep strings of the buffer, but
	// not the buffer.
	deliver func(ctx context.Context, e *columnBuffer) error

	// mu guards next, the index of the next unit to read.
	mu      sync.Mutex
	next    int
	workers sync.WaitGroup
	filled  chan readResult    // results of the worker; nil if there is no worker
	free    chan *columnBuffer // empty buffers for the worker
	stopped chan struct{}      // closed when no more results are received
}

// unit is a range of ids that is read on its own: of a block, or of events without one.
type unit struct{ first, last int64 }

// readResult is a result of the worker. If e is nil, the worker has ended.
type readResult struct {
	e   *columnBuffer
	err error
}

// aheadBuffers is the maximum number of buffers that the worker has filled in advance.
const aheadBuffers = 2

// run reads and delivers all units. It returns after the worker has ended.
func (a *readAhead) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.stopped = make(chan struct{})
	defer func() {
		cancel()
		close(a.stopped)
		a.workers.Wait()
	}()
	mine := newColumnBuffer()
	for {
		// Results of the worker first, so that its buffers are free again.
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
		err := a.read(ctx, u, mine, func(e *columnBuffer) error { return a.deliver(ctx, e) })
		if err != nil {
			return err
		}
	}
}

// claim returns the next unit to read, and false if all units are claimed.
func (a *readAhead) claim() (unit, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.next == len(a.units) {
		return unit{}, false
	}
	a.next++
	return a.units[a.next-1], true
}

// deliverReady delivers the results of the worker: those available now or, if all is
// true, everything until the worker ends.
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
		if err := a.deliver(ctx, h.e); err != nil {
			return err
		}
		a.free <- h.e
	}
	return nil
}

// startWorker starts a goroutine that reads ahead.
func (a *readAhead) startWorker(ctx context.Context) {
	a.filled, a.free = make(chan readResult, aheadBuffers+1), make(chan *columnBuffer, aheadBuffers)
	for range aheadBuffers {
		a.free <- &columnBuffer{}
	}
	filled, free := a.filled, a.free // filled has room for all buffers and the end, so sending never blocks
	a.workers.Go(func() { filled <- readResult{err: a.readUnits(ctx, filled, free)} })
}

// readUnits is the loop of the worker. It ends if no processor is spare any more; then
// run reads the remaining units, and may start a worker later.
func (a *readAhead) readUnits(ctx context.Context, filled chan<- readResult, free <-chan *columnBuffer) (err error) {
	defer func() { // a bug fails the query instead of the process
		if fault := recover(); fault != nil {
			err = fmt.Errorf("reading events panicked: %v\n%s", fault, debug.Stack())
		}
	}()
	e := newColumnBuffer()
	for a.spare() {
		u, ok := a.claim()
		if !ok {
			return nil
		}
		err := a.read(ctx, u, e, func(e *columnBuffer) error {
			select {
			case next := <-free:
				// Hand over the events, and continue with the empty memory.
				e.swap(next)
				filled <- readResult{e: next}
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
