package httpapi

import (
	"container/list"
	"context"
	"time"
)

// The lines of a budget, in the order in which they are served.
const (
	smallLine        = iota
	arrivedLine      // large ones
	arriveLine       // large ones that are still arriving
	addressLimitLine // those whose address has its share: they keep nobody waiting
	budgetLines
)

// claim is what a lease waits for in a line.
type claim struct {
	lease   *memoryLease
	n       int64
	granted chan struct{} // closed when n is reserved
	line    int
	element *list.Element
}

// await waits for a claim.
func (b *budget) await(ctx context.Context, c *claim) bool {
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
	case <-c.granted: // in the last moment
		return true
	default:
	}
	b.dequeue(c)
	b.grantWaiting() // a smaller claim may have stood behind this one
	b.rejections.Add(1)
	return false
}

// isTurn reports whether nobody waits who goes before a line.
func (b *budget) isTurn(line int) bool {
	for i := range line + 1 {
		if b.lines[i].Len() > 0 {
			return false
		}
	}
	return true
}

func (b *budget) enqueue(c *claim, line int) {
	c.line, c.element = line, b.lines[line].PushBack(c)
}

// confirm tells who waits for a claim that it has it.
func (b *budget) confirm(c *claim) {
	b.dequeue(c)
	close(c.granted)
}

// dequeue takes a claim out of its line.
func (b *budget) dequeue(c *claim) {
	b.lines[c.line].Remove(c.element)
	if c.line == addressLimitLine {
		b.addresses[c.lease.address].waiting--
		b.forgetAddress(c.lease.address)
	}
}

func (b *budget) lineOf(l *memoryLease, n int64) int {
	switch {
	case !l.large && l.held+n <= b.small:
		return smallLine
	case l.arrived:
		return arrivedLine
	}
	return arriveLine
}
