package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// retryInterval is the time between two pings of a database that does not respond.
const retryInterval = time.Second

// slowLookUp is the time after which a lookup without a response trips the breaker even
// if its caller has canceled it. Otherwise clients with timeouts below lookupTime would
// hide that the database hangs.
const slowLookUp = 500 * time.Millisecond

// errBreakerOpen is the error of lookups that are not attempted because the breaker is
// open.
var errBreakerOpen = errors.New("the database has not answered a moment ago; it is tried again every second")

// breaker is a circuit breaker. It prevents requests for flags from waiting, one by
// one, for a database that does not respond: after a lookup without a response, further
// lookups fail immediately. The database is then pinged every retryInterval in the
// background until it responds; then lookups are attempted as before.
type breaker struct {
	// ping sends a trivial request to the database.
	ping func(ctx context.Context) error
	// open is true while lookups fail without an attempt.
	open atomic.Bool

	mu     sync.Mutex
	closed bool
	waiter *background // the pings in the background, nil before the first trip
}

// trip opens the breaker until the database responds.
func (b *breaker) trip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.open.Load() {
		return
	}
	b.waiter.close() // its loop has ended, because the breaker was not open
	b.open.Store(true)
	b.waiter = runInBackground(b.wait)
}

// wait pings the database until it responds, then closes the breaker.
func (b *breaker) wait(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
		limited, cancel := context.WithTimeout(ctx, lookupTime)
		err := b.ping(limited)
		cancel()
		if hasAnswered(limited, err) {
			b.open.Store(false)
			return
		}
	}
}

// close stops the pings. The breaker does not open afterwards.
func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.waiter.close()
}

// hasAnswered reports whether the database responded in time, successfully or with an
// error of its own.
func hasAnswered(limited context.Context, err error) bool {
	return err == nil || limited.Err() == nil && !IsUnreachable(err)
}

// lookUp runs work, a lookup for a request, with a time limit, unless the breaker is
// open. A lookup without a response trips the breaker.
func (s *Store) lookUp(ctx context.Context, timeout time.Duration, work func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if s.dialect.singleWriter { // a file does not hang for long
		return work(limited)
	}
	if s.breaker.open.Load() {
		return errBreakerOpen
	}
	started := time.Now()
	err := work(limited)
	if !hasAnswered(limited, err) && (ctx.Err() == nil || time.Since(started) >= slowLookUp) {
		s.breaker.trip()
	}
	return err
}

// unreachableStates are the prefixes of SQLSTATEs that mean that a PostgreSQL server
// cannot be used at present: failed connections, too many connections, starting or
// stopping.
var unreachableStates = []string{"08", "53300", "57P"}

// hasState reports whether the SQLSTATE of an error has one of the prefixes in states.
func hasState(answer *pgconn.PgError, states []string) bool {
	return slices.ContainsFunc(states, func(state string) bool { return strings.HasPrefix(answer.Code, state) })
}

// IsUnreachable reports whether an error of this package means that the database could
// not be reached, as opposed to an error that the database returned. Such an operation
// may succeed later.
func IsUnreachable(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return hasState(answer, unreachableStates)
	}
	var connect *pgconn.ConnectError
	var broken *net.OpError
	return errors.As(err, &connect) || errors.As(err, &broken) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errBreakerOpen) || pgconn.Timeout(err)
}
