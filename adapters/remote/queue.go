package remote

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// DropReason is why an event was not sent.
type DropReason string

// The reasons.
const (
	DropQueueFull DropReason = "queue_full" // it found the queue full
	DropTooLarge  DropReason = "too_large"  // it is above 900 KiB ([ErrTooLarge]), or alone too large for the server
	DropInvalid   DropReason = "invalid"    // no id, no name, or no JSON
	DropRefused   DropReason = "refused"    // the server said 4xx, or sent it elsewhere
	DropRetries   DropReason = "retries"    // it was sent MaxRetries times again in vain
	DropClosed    DropReason = "closed"     // it was left over at Close, or came after
	DropOffline   DropReason = "offline"    // Config.Offline
)

// ErrQueueFull says that an event is dropped because too many wait.
var ErrQueueFull = errors.New("remote: the queue of events is full")

// ErrDropped says that events that waited were not sent: Stats and the log have the reasons.
var ErrDropped = errors.New("remote: events were dropped")

// Stats are counts of events since New, but for Waiting and WaitingBytes.
type Stats struct {
	Sent, Retries         uint64 // Retries are attempts to send a batch again
	Waiting, WaitingBytes int    // with the batch on its way
	Dropped               map[DropReason]uint64
}

// batchEvents and batchBytes, of JSON, bound a batch (capture §14.3).
const (
	batchEvents = 100
	batchBytes  = 1 << 20
)

// item is an event that waits.
type item struct {
	body  []byte
	since time.Time // by the clock of the machine: for waiting, not for telling
}

// queue holds events until they are sent or dropped, first in, first out. It is
// bounded by number and bytes.
type queue struct {
	maxEvents, maxBytes int
	// wake has something when a first event came, a batch is full, or something was
	// dropped or asked for.
	wake chan struct{}

	mu         sync.Mutex
	waiting    []item
	bytes      int
	closed     bool
	urgent     uint64 // events up to this one are to go at once
	accepted   uint64 // events that were taken in
	finished   uint64 // of those the sent and the dropped
	sent       uint64
	lost       uint64 // of gone the dropped
	dropped    map[DropReason]uint64
	progressed chan struct{} // closed when gone grows
}

func newQueue(maxEvents, maxBytes int) *queue {
	return &queue{
		maxEvents: maxEvents, maxBytes: maxBytes, wake: make(chan struct{}, 1),
		dropped: map[DropReason]uint64{}, progressed: make(chan struct{}),
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// add takes an event in, or drops it.
func (q *queue) add(body []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		q.dropped[DropClosed]++
		return errClosed
	case len(q.waiting) >= q.maxEvents || q.bytes+len(body) > q.maxBytes:
		q.dropped[DropQueueFull]++
		q.signal()
		return ErrQueueFull
	}
	q.waiting = append(q.waiting, item{body, time.Now()})
	q.bytes += len(body)
	q.accepted++
	if n := len(q.waiting); n == 1 || n == batchEvents {
		q.signal()
	}
	return nil
}

// drop counts an event that never was in the queue.
func (q *queue) drop(why DropReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped[why]++
	q.signal()
}

// next is the batch of at most limit events that the queue begins with, nil when it
// is empty, and how long that is still to wait for more.
func (q *queue) next(limit int, interval time.Duration) (batch []item, wait time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil, 0
	}
	size, n := 0, 0
	for n < min(limit, len(q.waiting)) && (n == 0 || size+len(q.waiting[n].body) <= batchBytes) {
		size += len(q.waiting[n].body)
		n++
	}
	batch = q.waiting[:n:n]
	if n == limit || n < len(q.waiting) || q.urgent > q.finished {
		return batch, 0
	}
	return batch, max(0, interval-time.Since(q.waiting[0].since))
}

// finish takes the first n out: sent when why is empty, else dropped.
func (q *queue) finish(n int, why DropReason) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range q.waiting[:n] {
		q.bytes -= len(q.waiting[i].body)
		q.waiting[i] = item{}
	}
	if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
		q.waiting = nil
	}
	q.finished += uint64(n)
	if why == "" {
		q.sent += uint64(n)
	} else {
		q.lost += uint64(n)
		q.dropped[why] += uint64(n)
	}
	close(q.progressed)
	q.progressed = make(chan struct{})
}

// close takes no more in.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// expedite wants all that waits to go at once, and says which event is the last of it
// and how many have been lost so far.
func (q *queue) expedite() (last, lost uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgent = q.accepted
	q.signal()
	return q.accepted, q.lost
}

// progress says how many events are gone, how many of those were lost, and what is
// closed when more are gone.
func (q *queue) progress() (finished, lost uint64, progressed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.finished, q.lost, q.progressed
}

func (q *queue) stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	return Stats{Sent: q.sent, Waiting: len(q.waiting), WaitingBytes: q.bytes, Dropped: maps.Clone(q.dropped)}
}
