package httpapi

import (
	"container/list"
	"context"
	"time"
)

// The lines of a budget, in the order in which they are served.
const (
	smallLine   = iota
	arrivedLine // large ones
	arriveLine  // large ones that are still arriving
	asideLine   // those whose address has its share: they keep nobody waiting
	budgetLines
)

// claim is what a lease waits for in a line.
type claim struct {
	lease   *lease
	n       int64
	granted chan struct{} // closed when n is reserved
	line    int
	place   *list.Element
}

// await waits for a claim.
func (b *budget) await(ctx context.Context, c *claim) bool {
	timer := time.NewTimer(budgetPatience)
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
	b.leave(c)
	b.grant() // a smaller claim may have stood behind this one
	b.refused.Add(1)
	return false
}

// turn reports whether nobody waits who goes before a line.
func (b *budget) turn(line int) bool {
	for i := range line + 1 {
		if b.lines[i].Len() > 0 {
			return false
		}
	}
	return true
}

func (b *budget) stand(c *claim, line int) {
	c.line, c.place = line, b.lines[line].PushBack(c)
}

// reserved tells who waits for a claim that it has it.
func (b *budget) reserved(c *claim) {
	b.leave(c)
	close(c.granted)
}

// leave takes a claim out of its line.
func (b *budget) leave(c *claim) {
	b.lines[c.line].Remove(c.place)
	if c.line == asideLine {
		b.addresses[c.lease.address].waiting--
		b.forget(c.lease.address)
	}
}

func (b *budget) lineOf(l *lease, n int64) int {
	switch {
	case !l.large && l.held+n <= b.small:
		return smallLine
	case l.arrived:
		return arrivedLine
	}
	return arriveLine
}
