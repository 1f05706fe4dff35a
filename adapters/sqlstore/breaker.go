package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// restTime is how long look-ups fail at once after one that was not answered.
const restTime = time.Second

// errResting is for look-ups that are not tried.
var errResting = errors.New("the database has not answered a moment ago; it is tried again every second")

// breaker keeps requests for flags from waiting, each for itself, for a database
// that does not answer: after a look-up that was not answered the next ones fail
// at once for restTime. Then one of them tries again, while the others go on to
// fail, until one is answered.
type breaker struct {
	until  atomic.Int64 // in nanoseconds; 0: the database answers
	trying atomic.Bool
}

// enter asks whether a look-up may be tried; whoever may has to call leave.
func (b *breaker) enter(now time.Time) (try bool, err error) {
	until := b.until.Load()
	switch {
	case until == 0:
		return false, nil
	case now.UnixNano() >= until || until-now.UnixNano() > int64(restTime): // the clock may have been set back
		if b.trying.CompareAndSwap(false, true) {
			return true, nil
		}
	}
	return false, errResting
}

// outcomes of a look-up.
type outcome uint8

const (
	answered outcome = iota
	unanswered
	unfinished // its caller has gone: nothing is known
)

func (b *breaker) leave(try bool, o outcome, now time.Time) {
	switch o {
	case answered:
		b.until.Store(0)
	case unanswered:
		b.until.Store(now.Add(restTime).UnixNano())
	}
	if try {
		b.trying.Store(false)
	}
}

// lookUp runs a look-up for a request, which waits at most so long.
func (s *Store) lookUp(ctx context.Context, most time.Duration, work func(ctx context.Context) error) error {
	within, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	if s.dialect.alone { // a file is there, or fails soon
		return work(within)
	}
	try, err := s.breaker.enter(s.now())
	if err != nil {
		return err
	}
	o := unfinished
	defer func() { s.breaker.leave(try, o, s.now()) }()
	err = work(within)
	switch {
	case err == nil:
		o = answered
	case ctx.Err() != nil:
	case within.Err() != nil || Unreachable(err):
		o = unanswered
	default: // it has said what it does not like
		o = answered
	}
	return err
}

// unreachableStates are the beginnings of the SQLSTATEs of a PostgreSQL that
// cannot be used now: connections, of which there are too many or that are cut
// off, and starting or stopping.
var unreachableStates = []string{"08", "53300", "57P"}

// Unreachable reports whether an error of this package says that the database
// could not be asked, and not what it has answered: another time may be better.
func Unreachable(err error) bool {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		for _, state := range unreachableStates {
			if strings.HasPrefix(answer.Code, state) {
				return true
			}
		}
		return false
	}
	var connect *pgconn.ConnectError
	var broken *net.OpError
	return errors.As(err, &connect) || errors.As(err, &broken) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errResting) || pgconn.Timeout(err)
}
