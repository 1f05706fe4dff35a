//go:build linux

package faulttest

import "sync"

// eventKey identifies an event: events with equal keys are the same event (§13.3).
type eventKey struct {
	uuid             [16]byte
	name, distinctID string
}

// batch is a request that is sent until it gets 200.
type batch struct {
	events []eventKey
	body   []byte

	mu       sync.Mutex
	answered bool
}

func (b *batch) isAnswered() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.answered
}

// book records the batches that were sent, and which got 200.
type book struct {
	mu      sync.Mutex
	batches []*batch
}

// add must be called before a batch is sent for the first time.
func (b *book) add(n *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batches = append(b.batches, n)
}

// all returns the batches so far.
func (b *book) all() []*batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.batches[:len(b.batches):len(b.batches)]
}
