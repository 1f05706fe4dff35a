package sqlstore

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Servers on one PostgreSQL database notify each other of projects whose definitions
// have changed (NOTIFY, in the transaction of the change), so that they reload them
// immediately. If a notification is missed, the change is visible when the cache
// entries expire, after at most a second.
//
// Changes of persons are not notified. A transaction with a NOTIFY holds a lock of the
// whole PostgreSQL server until its commit is on disk, so the commits of events of all
// servers would run one after the other.

const (
	// changesChannel is the name of the NOTIFY channel.
	changesChannel = "bunting_changed"
	// maxNotified is the maximum number of projects in one message, whose size
	// PostgreSQL limits to 8,000 bytes. A message about more projects contains
	// anyProject.
	maxNotified = 256
	anyProject  = "*"

	// listenCheck is the time without a message after which the connection is pinged.
	listenCheck = 10 * time.Second
	// The wait before a new connection doubles from firstListenWait to lastListenWait,
	// with random jitter, so that servers do not reconnect at the same moment.
	firstListenWait = 50 * time.Millisecond
	lastListenWait  = 5 * time.Second
)

// serverName returns a random name, by which a server recognizes its own messages.
func serverName() string { return rand.Text() }

// notifyServers notifies the other servers of changed projects when tx commits.
func (s *Store) notifyServers(ctx context.Context, tx database.Querier, projects []int64) error {
	if s.db.Dialect.SingleWriter || len(projects) == 0 {
		return nil
	}
	var message strings.Builder
	message.WriteString(s.name)
	if len(projects) > maxNotified {
		message.WriteString(" " + anyProject)
		projects = nil
	}
	for _, id := range projects {
		message.WriteString(" " + strconv.FormatInt(id, 10))
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_notify($1, $2)`, changesChannel, message.String())
	return err
}

// handleNotification drops cache entries for the projects in a message of another
// server. A message that cannot be parsed comes from a newer version and may mean any
// project.
func (s *Store) handleNotification(message string) {
	from, list, _ := strings.Cut(message, " ")
	if from == s.name {
		return
	}
	var projects []int64
	for _, text := range strings.Fields(list) {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			s.forgetAll()
			return
		}
		projects = append(projects, id)
	}
	for _, id := range projects {
		s.people.ForgetProject(id)
		s.changed(id)
	}
}

// forgetAll empties the cache of persons and reports that any project may have changed.
func (s *Store) forgetAll() {
	s.people.ForgetAll()
	s.changed(0)
}

// listener receives the notifications of other servers on a connection of its own and
// reconnects if the connection is lost. After each connection it empties the caches,
// because notifications may have been missed.
type listener struct {
	config *pgx.ConnConfig
	store  *Store
}

// run listens and reconnects until the context is canceled.
func (l *listener) run(ctx context.Context) {
	wait := firstListenWait
	for ctx.Err() == nil {
		started := time.Now()
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > lastListenWait { // the connection lasted a while
			wait = firstListenWait
		}
		l.store.logger.Debug("lost the connection that reports changes of other servers; changes are seen within a second instead of at once", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + mathrand.N(wait)):
		}
		wait = min(2*wait, lastListenWait)
	}
}

// listen receives notifications until the connection is lost, and returns the error.
func (l *listener) listen(ctx context.Context) error {
	withTimeout := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, database.ConnectTime) }
	connecting, cancel := withTimeout()
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, l.config)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	if _, err := conn.Exec(connecting, "LISTEN "+changesChannel); err != nil {
		return err
	}
	// Between the last connection and this one notifications may have been lost.
	l.store.forgetAll()
	for {
		waiting, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(waiting)
		// No message within listenCheck: the connection may be dead without an error.
		quiet := waiting.Err() != nil && ctx.Err() == nil && !conn.IsClosed()
		cancel()
		switch {
		case err == nil:
			l.store.handleNotification(n.Payload)
		case quiet:
			try, cancel := withTimeout()
			err = conn.Ping(try)
			cancel()
			if err != nil {
				return err
			}
		default:
			return err
		}
	}
}
