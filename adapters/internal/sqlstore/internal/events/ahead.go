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
	// buffers is the maximum number of buffers that the worker has filled in advance; at least 1.
	buffers int
	// spares are the buffers that no goroutine uses.
	spares *spareBuffers
	// claimed is called with the index of a unit before it is read. It may be nil.
	claimed func(i int)
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

// aheadBuffers is the number of buffers of a readAhead unless the scan has memory for more of them.
const aheadBuffers = 2

// run reads and delivers all units. It returns after the worker has ended.
func (a *readAhead) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	a.stopped = make(chan struct{})
	mine := a.spares.take()
	defer func() {
		cancel()
		close(a.stopped)
		a.workers.Wait()
		a.release()
		a.spares.put(mine)
	}()
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
	if a.claimed != nil {
		a.claimed(a.next)
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
			a.release()
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
	a.filled, a.free = make(chan readResult, a.buffers+1), make(chan *columnBuffer, a.buffers)
	for range a.buffers {
		a.free <- a.spares.take()
	}
	filled, free := a.filled, a.free // filled has room for all buffers and the end, so sending never blocks
	a.workers.Go(func() { filled <- readResult{err: a.readUnits(ctx, filled, free)} })
}

// release keeps the buffers of a worker that has ended.
func (a *readAhead) release() {
	for len(a.filled) > 0 {
		if h := <-a.filled; h.e != nil {
			a.spares.put(h.e)
		}
	}
	for len(a.free) > 0 {
		a.spares.put(<-a.free)
	}
	a.filled, a.free = nil, nil
}

// spareBuffers are buffers that keep their memory for the next scan of a reader. A scan uses at most
// two more than it may fill in advance.
type spareBuffers struct {
	mu   sync.Mutex
	list []*columnBuffer
}

// take returns an empty buffer.
func (s *spareBuffers) take() *columnBuffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.list)
	if n == 0 {
		return newColumnBuffer()
	}
	e := s.list[n-1]
	s.list = s.list[:n-1]
	return e
}

// put keeps a buffer without its events.
func (s *spareBuffers) put(e *columnBuffer) {
	e.release()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, e)
}

// readUnits is the loop of the worker. It ends if no processor is spare any more; then
// run reads the remaining units, and may start a worker later.
func (a *readAhead) readUnits(ctx context.Context, filled chan<- readResult, free <-chan *columnBuffer) (err error) {
	defer func() { // a bug fails the query instead of the process
		if fault := recover(); fault != nil {
			err = fmt.Errorf("reading events panicked: %v\n%s", fault, debug.Stack())
		}
	}()
	e := a.spares.take()
	defer a.spares.put(e)
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
