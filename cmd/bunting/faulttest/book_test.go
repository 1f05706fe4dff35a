//go:build linux

package faulttest

import "sync"

// eventKey is what makes two events the same one (§13.3).
type eventKey struct {
	uuid             [16]byte
	name, distinctID string
}

// batch is a request: it is sent until it is answered 200.
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

// book keeps what was sent, and what was answered 200.
type book struct {
	mu      sync.Mutex
	batches []*batch
}

// add has to be called before a batch is sent for the first time.
func (b *book) add(n *batch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.batches = append(b.batches, n)
}

// all are the batches so far.
func (b *book) all() []*batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.batches[:len(b.batches):len(b.batches)]
}
