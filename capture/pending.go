package capture

import (
	"sync/atomic"
	"time"
)

// pending is a call that waits for a commit: its batches, and the stream position that they
// lead to.
type pending struct {
	batches []*Batch
	move    *Move      // nil if the batches are not from a stream
	done    chan error // has a capacity of one, so that sending the result never blocks
	state   atomic.Int32
}

// These are the states of a pending call. It leaves stateWaiting exactly once: either the
// writer selects it for a commit, or its caller abandons it.
const (
	stateWaiting = iota
	stateCommitting
	stateAbandoned
)

// expectation is what the next commit expects: a number of calls, and for how long it waits for them. The
// clients whose calls were committed together send the next ones together; if the first of these were
// committed alone, the others would wait for that commit.
type expectation struct {
	calls int
	wait  time.Duration
}

// longestGather limits the time for which a commit waits for further calls. It is also limited to half of
// the time of the previous commit.
const longestGather = 2 * time.Millisecond

// gather returns first and further calls of a queue until they have limit events, and waits for the calls that
// are expected, until closing is closed. Abandoned calls are omitted.
func gather(first *pending, queue <-chan *pending, closing <-chan struct{}, limit int, e expectation) (group []*pending) {
	events := 0
	add := func(p *pending) {
		if p.state.CompareAndSwap(stateWaiting, stateCommitting) {
			group = append(group, p)
			for _, b := range p.batches {
				events += len(b.Events)
			}
		}
	}
	add(first)
	var timeout *time.Timer
	for events < limit {
		select {
		case p := <-queue:
			add(p)
			continue
		default:
		}
		if len(group) >= e.calls || e.wait <= 0 {
			return group
		}
		if timeout == nil {
			timeout = time.NewTimer(e.wait)
			defer timeout.Stop()
		}
		select {
		case p := <-queue:
			add(p)
		case <-timeout.C:
			return group
		case <-closing:
			return group
		}
	}
	return group
}
