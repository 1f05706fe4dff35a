package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config says how a Store behaves. The zero value will do.
type Config struct {
	// Logger is told what an operator may want to know. Nil: nobody is told.
	Logger *slog.Logger
	// Now is the clock, time.Now when nil.
	Now func() time.Time
	// Changed is told of a project whose definitions or group types this process or,
	// on PostgreSQL, another server has changed, once that is durable; 0 is all of
	// them: what others have changed may have been missed. Nil: nobody is told.
	Changed func(projectID int64)
	// MaxCacheBytes bounds, in bytes, what is remembered of people for flags. Zero:
	// 24 MiB.
	MaxCacheBytes int
}

// Store is one SQL database. It is safe for use by several goroutines.
type Store struct {
	read, write *sql.DB
	// quick is for what requests look up. On PostgreSQL it has connections of its own,
	// so that whatever takes long leaves some; on SQLite it is read.
	quick       *sql.DB
	dialect     dialect
	logger      *slog.Logger
	now         func() time.Time
	people      *peopleCache
	changed     func(projectID int64)
	states      *states
	owners      *ownersCache
	checkpoints *checkpointer // nil where none are needed

	name     string        // of this server, for the others
	listener *background   // nil where there are no others
	breaker  breaker       // of what requests look up
	managing chan struct{} // holds a token while this server writes for management

	file       string // SQLite's, empty for none
	displayURL string // the database, without its password
	ledger     ledgerState
	horizons   horizons
	unlock     func() error
}

// querier is what statements run on: *sql.DB, *sql.Tx and *sql.Conn.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// lookupTime is how long a request waits for the database to look something up.
// A database that hangs, as behind a broken network, must not make flags hang.
const lookupTime = 2 * time.Second

// Open opens a database and brings its schema up to date. url is one of
//
//	sqlite:PATH                     a file, made when it is not there
//	sqlite::memory:                 nothing on disk: for tests
//	postgres://user:password@host/database, postgresql://...
//
// Errors say what to do and never show a password.
func Open(ctx context.Context, url string, c Config) (*Store, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Changed == nil {
		c.Changed = func(int64) {}
	}
	o, err := openURL(ctx, url)
	if err != nil {
		return nil, err
	}
	s := newStore(&o, c)
	s.breaker.ping = func(ctx context.Context) error {
		s.dropIdleConnections()
		return s.quick.PingContext(ctx)
	}
	if o.checkpoints != nil {
		s.checkpoints = startCheckpointer(o.checkpoints, o.write, c.Logger)
	}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("database %s: %w", o.displayURL, s.dialect.explain(err)), s.Close())
	}
	if o.listen != nil {
		s.listener = runInBackground((&listener{config: o.listen, store: s}).run)
	}
	return s, nil
}

// newStore is a store on an open database; c is whole.
func newStore(o *database, c Config) *Store {
	return &Store{
		read: o.read, write: o.write, quick: o.quick, dialect: o.dialect, file: o.file, displayURL: o.displayURL, unlock: o.unlock,
		logger: c.Logger, now: c.Now, people: newPeopleCache(c.MaxCacheBytes), changed: c.Changed, states: newStates(), owners: newOwnersCache(),
		name: serverName(), managing: make(chan struct{}, 1),
	}
}

// Ping asks a PostgreSQL for an answer, whatever it holds. It takes a second at most.
func Ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	o, err := openPostgres(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(o.write.PingContext(ctx), o.write.Close(), o.quick.Close())
}

func (s *Store) start(ctx context.Context) error {
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if err := s.checkNotMoving(ctx); err != nil {
		return err
	}
	return s.startLedger(ctx)
}

// Close closes the database. Nothing that was committed is lost without it.
func (s *Store) Close() error {
	s.listener.close()
	s.breaker.close()
	err := s.checkpoints.close()
	s.ledger.close()
	for _, db := range []*sql.DB{s.quick, s.read} { // closing one twice does nothing
		if db != s.write {
			err = errors.Join(err, db.Close())
		}
	}
	return errors.Join(err, s.write.Close(), s.unlock())
}

// inWrite runs work in a transaction that may write, and commits it. When work
// or the commit fails nothing has changed. On SQLite such transactions follow one
// another; work must use tx alone there, or it waits for itself.
func (s *Store) inWrite(ctx context.Context, work func(tx *sql.Tx) error) error {
	return s.inTx(ctx, s.write, work)
}

// inQuickWrite is inWrite for what a request looks up.
func (s *Store) inQuickWrite(ctx context.Context, work func(tx *sql.Tx) error) error {
	if s.dialect.singleWriter {
		return s.inTx(ctx, s.write, work)
	}
	return s.inTx(ctx, s.quick, work)
}

func (s *Store) inTx(ctx context.Context, db *sql.DB, work func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if err := work(tx); err != nil {
		return s.dialect.explain(err)
	}
	defer s.checkpoints.wakeUp()
	return s.dialect.explain(tx.Commit())
}
