package database

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// retryInterval is the time between two pings of a database that does not respond.
const retryInterval = time.Second

// SlowLookUp is the time after which a lookup without a response trips the breaker even
// if its caller has canceled it. Otherwise clients with timeouts below LookupTime would
// hide that the database hangs.
const SlowLookUp = 500 * time.Millisecond

// Breaker is a circuit breaker. It prevents requests for flags from waiting, one by
// one, for a database that does not respond: after a lookup without a response, further
// lookups fail immediately. The database is then pinged every retryInterval in the
// background until it responds; then lookups are attempted as before.
type breaker struct {
	// Ping sends a trivial request to the database.
	Ping func(ctx context.Context) error
	// Open is true while lookups fail without an attempt.
	Open atomic.Bool

	mu     sync.Mutex
	closed bool
	waiter *Background // the pings in the background, nil before the first trip
}

// trip opens the breaker until the database responds.
func (b *breaker) trip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.Open.Load() {
		return
	}
	b.waiter.Close() // its loop has ended, because the breaker was not open
	b.Open.Store(true)
	b.waiter = RunInBackground(b.wait)
}

// wait pings the database until it responds, then closes the breaker.
func (b *breaker) wait(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
		limited, cancel := context.WithTimeout(ctx, LookupTime)
		err := b.Ping(limited)
		cancel()
		if hasAnswered(limited, err) {
			b.Open.Store(false)
			return
		}
	}
}

// Close stops the pings. The breaker does not open afterwards.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.waiter.Close()
}

// hasAnswered reports whether the database responded in time, successfully or with an
// error of its own.
func hasAnswered(limited context.Context, err error) bool {
	return err == nil || limited.Err() == nil && !IsUnreachable(err)
}

// LookupTime is the longest time that a request waits for a lookup in the database.
// Evaluation of flags must not hang because the database hangs, for example behind a
// broken network.
const LookupTime = 2 * time.Second
