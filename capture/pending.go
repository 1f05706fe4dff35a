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

// gatherer collects the calls of a commit. The clients whose calls were committed together send the next calls
// together; if the first of these were committed separately, the rest would wait for that commit. Therefore it waits for
// as many calls as there were at the previous commit, as long as this saves more time than it costs. The zero value has
// no previous commit.
type gatherer struct {
	calls  int           // that are expected
	commit time.Duration // how long the previous commit took
	// gain is the average time that waiting saved: calls that arrive meanwhile do not wait for another commit, and
	// calls that have arrived wait. If it is negative, skipped commits have not waited.
	gain    time.Duration
	skipped int
}

const (
	// longestGather limits the time for which a commit waits for further calls, which is not longer than the
	// previous commit took.
	longestGather = 2 * time.Millisecond
	// gatherAgain is the number of commits without waiting after which it is tried again.
	gatherAgain = 32
)

// committed records that a commit of a group took some time, and the number of calls that arrived meanwhile.
func (g *gatherer) committed(group, arrived int, took time.Duration) {
	g.calls, g.commit = group+arrived, took
}

// gather returns first and further calls of a queue until they have limit events, and waits for the calls that
// are expected, until closing is closed. Abandoned calls are omitted.
func (g *gatherer) gather(first *pending, queue <-chan *pending, closing <-chan struct{}, limit int) (group []*pending) {
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
		if timeout == nil {
			if !g.waits(len(group)) {
				return group
			}
			timeout = time.NewTimer(min(g.commit, longestGather))
			defer timeout.Stop()
			defer func(before int, start time.Time) {
				saved := time.Duration(len(group)-before)*g.commit - time.Duration(before)*time.Since(start)
				g.gain += (saved - g.gain) / 8
			}(len(group), time.Now())
		}
		if len(group) >= g.calls {
			return group
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

// waits reports whether a group of calls waits for further ones.
func (g *gatherer) waits(group int) bool {
	if group >= g.calls || g.commit <= 0 {
		return false
	}
	if g.gain < 0 && g.skipped < gatherAgain {
		g.skipped++
		return false
	}
	g.skipped = 0
	return true
}
