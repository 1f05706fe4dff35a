package remote

import (
	"errors"
	"maps"
	"sync"
	"time"
)

// The reasons why an event was not sent, see Stats.
const (
	dropQueueFull = "queue_full"
	dropTooLarge  = "too_large"
	dropInvalid   = "invalid"
	dropRejected  = "refused"
	dropRetries   = "retries"
	dropClosed    = "closed"
	dropOffline   = "offline"
)

// ErrQueueFull is returned for an event that is dropped because the queue is full.
var ErrQueueFull = errors.New("remote: the queue of events is full")

// ErrDropped reports that queued events were not sent. Stats and the log have the reasons.
var ErrDropped = errors.New("remote: events were dropped")

// Stats counts events since New. Waiting and WaitingBytes are the current values.
type Stats struct {
	Sent, Retries         uint64 // Retries counts further attempts to send a batch
	Waiting, WaitingBytes int    // including the batch in transit
	// Dropped has the events that were not sent, by reason:
	//
	//	queue_full  the queue was full
	//	too_large   the event exceeds 900 KiB ([ErrTooLarge]), or the server rejects it as too large on its own
	//	invalid     it has no id or no name, or cannot be encoded as JSON
	//	refused     the server responded with 4xx or a redirect
	//	retries     all MaxRetries retries failed
	//	closed      it was still queued at Close, or was added later
	//	offline     Config.Offline is set
	Dropped map[string]uint64
}

// batchEvents and batchBytes (of JSON) are the limits of a batch (capture §14.3).
const (
	batchEvents = 100
	batchBytes  = 1 << 20
)

// item is a queued event.
type item struct {
	body  []byte
	since time.Time // from the monotonic clock; used for waits only, never sent
}

// queue stores events until they are sent or dropped, first in, first out. It is limited by number
// and bytes.
type queue struct {
	maxEvents, maxBytes int
	// wake receives a value when the first event arrives, when a batch is full, when an event is
	// dropped and when a flush is requested.
	wake chan struct{}

	mu         sync.Mutex
	waiting    []item
	bytes      int
	closed     bool
	urgent     uint64 // number of the last event that must be sent without delay
	accepted   uint64 // events that were added
	finished   uint64 // of accepted, the events that were sent or dropped
	sent       uint64
	lost       uint64 // of finished, the events that were dropped
	dropped    map[string]uint64
	progressed chan struct{} // closed and replaced when finished grows
}

func newQueue(maxEvents, maxBytes int) *queue {
	return &queue{
		maxEvents: maxEvents, maxBytes: maxBytes, wake: make(chan struct{}, 1),
		dropped: map[string]uint64{}, progressed: make(chan struct{}),
	}
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// add appends an event, or drops it with an error.
func (q *queue) add(body []byte) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.closed:
		q.dropped[dropClosed]++
		return errClosed
	case len(q.waiting) >= q.maxEvents || q.bytes+len(body) > q.maxBytes:
		q.dropped[dropQueueFull]++
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

// drop counts an event that is dropped without having been in the queue.
func (q *queue) drop(why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped[why]++
	q.signal()
}

// next returns the batch at the head of the queue, of at most limit events, and how long the caller
// should wait for more events before it sends the batch. The batch is nil if the queue is empty.
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

// finish removes the first n events: as sent if why is empty, and as dropped otherwise.
func (q *queue) finish(n int, why string) {
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

// close causes add to reject further events.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
}

// expedite marks all queued events as urgent. It returns the number of the last of them and how
// many events have been lost so far.
func (q *queue) expedite() (last, lost uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.urgent = q.accepted
	q.signal()
	return q.accepted, q.lost
}

// progress returns how many events have left the queue, how many of them were lost, and a channel
// that is closed when more have left.
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
