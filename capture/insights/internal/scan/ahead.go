package scan

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// aheadBytes is the memory for events that a reader has read before the query is ready for them.
const aheadBytes = 16 << 20

// Ahead is a scan that begins while the query still works on other events. Until Finish is called, the
// reader only reads. Then the events are processed in another goroutine than that of the query, which
// waits meanwhile.
type Ahead struct {
	run    *Run
	cancel context.CancelFunc
	ready  chan struct{} // closed by Finish
	done   chan struct{} // closed at the end of the scan
	err    error
	// reserved is the memory that is reserved until Finish is called.
	reserved int64
}

// ScanAhead is like ScanBound, but returns at once. The caller must call Finish or Stop, and must not use
// the reader before, except for Person.
func (b *Binder) ScanAhead(s port.Scan, yield func(r *Row) error) *Ahead {
	a := &Ahead{run: b.Run, ready: make(chan struct{}), done: make(chan struct{}), err: b.Err}
	if s.Ahead = aheadBytes; b.Reserve(s.Ahead) == nil {
		a.reserved = s.Ahead
	} else { // the reader reads as little ahead as in other scans
		_ = b.Reserve(-s.Ahead)
		s.Ahead = 0
	}
	ctx, cancel := context.WithCancel(b.Context)
	if a.cancel = cancel; a.err != nil || s.From > s.To {
		close(a.done)
		return a
	}
	process := b.each(yield)
	s = b.Needs.Scan(s)
	go func() {
		defer close(a.done)
		defer func() { // a bug fails the query instead of the process
			if fault := recover(); fault != nil {
				a.err = fmt.Errorf("processing events panicked: %v\n%s", fault, debug.Stack())
			}
		}()
		a.err = b.scan(ctx, s, a.wait, process)
	}()
	return a
}

// wait waits until Finish or Stop is called.
func (a *Ahead) wait(ctx context.Context) error {
	select {
	case <-a.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Finish processes the events, and returns the error of the scan.
func (a *Ahead) Finish() error {
	_ = a.run.Reserve(-a.reserved)
	a.reserved = 0
	close(a.ready)
	<-a.done
	a.cancel()
	return a.err
}

// Stop ends the scan, whose events are not processed unless Finish was called before.
func (a *Ahead) Stop() {
	a.cancel()
	<-a.done
	_ = a.run.Reserve(-a.reserved)
	a.reserved = 0
}
