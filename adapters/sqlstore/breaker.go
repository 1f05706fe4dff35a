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

// retryInterval is the time between two tries of a database that does not answer.
const retryInterval = time.Second

// slowLookUp is how long a look-up takes that says something even when its caller has
// gone: clients that wait less than lookupTime must not keep a database that hangs
// from being found out.
const slowLookUp = 500 * time.Millisecond

// errBreakerOpen is for look-ups that are not tried.
var errBreakerOpen = errors.New("the database has not answered a moment ago; it is tried again every second")

// breaker keeps requests for flags from waiting, each for itself, for a database
// that does not answer: after a look-up that was not answered the next ones fail
// at once. The database is then tried every retryInterval, behind the requests, of which
// none waits for it; when it answers look-ups are tried again.
type breaker struct {
	// ping asks the database for something.
	ping func(ctx context.Context) error
	open atomic.Bool

	mu     sync.Mutex
	closed bool
	waiter *background // nil: nobody has yet
}

// trip makes look-ups fail until the database answers again.
func (b *breaker) trip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.open.Load() {
		return
	}
	b.waiter.close() // it has answered, and ends
	b.open.Store(true)
	b.waiter = runInBackground(b.wait)
}

// wait tries until the database answers.
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

func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.waiter.close()
}

// hasAnswered reports whether the database has answered, if only with what it does not
// like, before the time was up.
func hasAnswered(limited context.Context, err error) bool {
	return err == nil || limited.Err() == nil && !IsUnreachable(err)
}

// lookUp runs a look-up for a request, which waits at most so long.
func (s *Store) lookUp(ctx context.Context, timeout time.Duration, work func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if s.dialect.singleWriter { // a file is there, or fails soon
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

// unreachableStates are the beginnings of the SQLSTATEs of a PostgreSQL that
// cannot be used now: connections, of which there are too many or that are cut
// off, and starting or stopping.
var unreachableStates = []string{"08", "53300", "57P"}

// hasState reports whether an answer's SQLSTATE begins as one of some.
func hasState(answer *pgconn.PgError, states []string) bool {
	return slices.ContainsFunc(states, func(state string) bool { return strings.HasPrefix(answer.Code, state) })
}

// IsUnreachable reports whether an error of this package says that the database
// could not be asked, and not what it has answered: another time may be better.
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
