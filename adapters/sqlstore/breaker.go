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

// restTime is the time between two tries of a database that does not answer.
const restTime = time.Second

// longLookUp is how long a look-up takes that says something even when its caller has
// gone: clients that wait less than lookupTime must not keep a database that hangs
// from being found out.
const longLookUp = 500 * time.Millisecond

// errResting is for look-ups that are not tried.
var errResting = errors.New("the database has not answered a moment ago; it is tried again every second")

// breaker keeps requests for flags from waiting, each for itself, for a database
// that does not answer: after a look-up that was not answered the next ones fail
// at once. The database is then tried every restTime, behind the requests, of which
// none waits for it; when it answers look-ups are tried again.
type breaker struct {
	// try asks the database for something.
	try     func(ctx context.Context) error
	resting atomic.Bool

	mu     sync.Mutex
	closed bool
	trying *background // nil: nobody has yet
}

// rest makes look-ups fail until the database answers again.
func (b *breaker) rest() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed || b.resting.Load() {
		return
	}
	b.trying.close() // it has answered, and ends
	b.resting.Store(true)
	b.trying = inBackground(b.wait)
}

// wait tries until the database answers.
func (b *breaker) wait(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(restTime):
		}
		within, cancel := context.WithTimeout(ctx, lookupTime)
		err := b.try(within)
		cancel()
		if answers(within, err) {
			b.resting.Store(false)
			return
		}
	}
}

func (b *breaker) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.trying.close()
}

// answers reports whether the database has answered, if only with what it does not
// like, before the time was up.
func answers(within context.Context, err error) bool {
	return err == nil || within.Err() == nil && !Unreachable(err)
}

// lookUp runs a look-up for a request, which waits at most so long.
func (s *Store) lookUp(ctx context.Context, most time.Duration, work func(ctx context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if s.dialect.singleWriter { // a file is there, or fails soon
		return work(within)
	}
	if s.breaker.resting.Load() {
		return errResting
	}
	began := time.Now()
	err := work(within)
	if !answers(within, err) && (ctx.Err() == nil || time.Since(began) >= longLookUp) {
		s.breaker.rest()
	}
	return err
}

// unreachableStates are the beginnings of the SQLSTATEs of a PostgreSQL that
// cannot be used now: connections, of which there are too many or that are cut
// off, and starting or stopping.
var unreachableStates = []string{"08", "53300", "57P"}

// inState reports whether an answer's SQLSTATE begins as one of some.
func inState(answer *pgconn.PgError, states []string) bool {
	return slices.ContainsFunc(states, func(state string) bool { return strings.HasPrefix(answer.Code, state) })
}

// Unreachable reports whether an error of this package says that the database
// could not be asked, and not what it has answered: another time may be better.
func Unreachable(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return inState(answer, unreachableStates)
	}
	var connect *pgconn.ConnectError
	var broken *net.OpError
	return errors.As(err, &connect) || errors.As(err, &broken) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errResting) || pgconn.Timeout(err)
}
