package admission

import (
	"container/list"
	"context"
	"time"
)

// The queues of a budget, in the order in which their claims are granted.
const (
	smallLine        = iota
	arrivedLine      // large bodies that have arrived
	arriveLine       // large bodies that are still arriving
	addressLimitLine // claims above the share of their address; they do not block other claims
	budgetLines
)

// claim is a request of a lease for n bytes that waits in a queue.
type claim struct {
	lease   *Lease
	n       int64
	granted chan struct{} // closed when n is reserved
	line    int
	element *list.Element
}

// await waits until a claim is granted, budgetWaitTimeout has passed or ctx is done. It reports
// whether the claim was granted.
func (b *Budget) await(ctx context.Context, c *claim) bool {
	timer := time.NewTimer(budgetWaitTimeout)
	defer timer.Stop()
	select {
	case <-c.granted:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case <-c.granted: // granted after the timeout, but before the lock
		return true
	default:
	}
	b.dequeue(c)
	b.grantWaiting() // a smaller claim may have been waiting behind this one
	b.rejections.Add(1)
	return false
}

// isTurn reports whether no claims wait in the given queue and in those before it.
func (b *Budget) isTurn(line int) bool {
	for i := range line + 1 {
		if b.lines[i].Len() > 0 {
			return false
		}
	}
	return true
}

func (b *Budget) enqueue(c *claim, line int) {
	c.line, c.element = line, b.lines[line].PushBack(c)
}

// confirm removes a granted claim from its queue and wakes the goroutine that waits for it.
func (b *Budget) confirm(c *claim) {
	b.dequeue(c)
	close(c.granted)
}

// dequeue removes a claim from its queue.
func (b *Budget) dequeue(c *claim) {
	b.lines[c.line].Remove(c.element)
	if c.line == addressLimitLine {
		b.addresses[c.lease.address].waiting--
		b.forgetAddress(c.lease.address)
	}
}

// problem.LineOf returns the queue for a claim of n bytes.
func (b *Budget) lineOf(l *Lease, n int64) int {
	switch {
	case !l.large && l.held+n <= b.small:
		return smallLine
	case l.Arrived:
		return arrivedLine
	}
	return arriveLine
}
