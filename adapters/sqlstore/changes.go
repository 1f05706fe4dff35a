package sqlstore

import (
	"context"
	"crypto/rand"
	mathrand "math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Servers with one PostgreSQL tell one another of projects whose definitions have
// changed (NOTIFY, in the transaction of the change), so that they are read again
// at once. Under it lies the age of everything that is remembered, a second at
// most: what nobody has told of is seen then.
//
// People are not told of. A transaction that notifies holds a lock of the whole
// PostgreSQL until its commit is on disk, so that all commits of events, of all
// servers, would follow one another.

const (
	// changesChannel is where they tell.
	changesChannel = "bunting_changed"
	// maxNotified is how many projects one message names, so that it fits into the
	// 8,000 bytes that there are; of more it says anyProject.
	maxNotified = 256
	anyProject  = "*"

	// listenCheck is after how long a silent connection is tried, connectTime how long
	// that and connecting may take.
	listenCheck = 10 * time.Second
	connectTime = 5 * time.Second
	// The wait before another connection doubles from the first to the last, with
	// chance, so that servers do not come all at once.
	firstListenWait = 50 * time.Millisecond
	lastListenWait  = 5 * time.Second
)

// serverName tells a server's own messages from those of others.
func serverName() string { return rand.Text() }

// notifyServers tells the others of changed projects when tx commits.
func (s *Store) notifyServers(ctx context.Context, tx querier, projects []int64) error {
	if s.dialect.singleWriter || len(projects) == 0 {
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

// handleNotification forgets what another server has changed. What cannot be read is of a newer
// version, and may mean anything.
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
		s.people.forgetProject(id)
		s.changed(id)
	}
}

func (s *Store) forgetAll() {
	s.people.forgetAll()
	s.changed(0)
}

// listener hears what other servers tell, on a connection of its own. It connects
// again whenever that is lost; what was told meanwhile nobody knows, so everything
// is forgotten then, once.
type listener struct {
	config *pgx.ConnConfig
	store  *Store
}

func (l *listener) run(ctx context.Context) {
	wait := firstListenWait
	for ctx.Err() == nil {
		started := time.Now()
		err := l.listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > lastListenWait { // it was not one that is always cut off
			wait = firstListenWait
		}
		l.store.logger.Debug("changes of other servers are seen within a second, not at once: the connection that tells of them is lost", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + mathrand.N(wait)):
		}
		wait = min(2*wait, lastListenWait)
	}
}

// listen hears until the connection is lost.
func (l *listener) listen(ctx context.Context) error {
	withTimeout := func() (context.Context, context.CancelFunc) { return context.WithTimeout(ctx, connectTime) }
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
	l.store.forgetAll()
	for {
		waiting, cancel := context.WithTimeout(ctx, listenCheck)
		n, err := conn.WaitForNotification(waiting)
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
