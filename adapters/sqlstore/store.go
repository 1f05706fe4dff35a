package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Config configures a Store. The zero value is valid.
type Config struct {
	// Logger receives messages for operators. If nil, messages are discarded.
	Logger *slog.Logger
	// Now is the clock. If nil, it is time.Now.
	Now func() time.Time
	// Changed is called with the id of a project after its definitions or group types
	// were changed durably, by this process or, on PostgreSQL, by another server. An id
	// of 0 means all projects: changes by other servers may have been missed. Changed
	// must be safe for concurrent use. If nil, changes are not reported.
	Changed func(projectID int64)
	// MaxCacheBytes limits the cache of persons and groups for flags, in bytes. Zero
	// means 24 MiB.
	MaxCacheBytes int
}

// Store is a store on one SQL database. It is safe for concurrent use. It must be
// created by Open.
type Store struct {
	// read and write are the pools for reading and for everything else. On PostgreSQL
	// and for SQLite's :memory: they are the same.
	read, write *sql.DB
	// quick is the pool for lookups of requests. On PostgreSQL it has connections of
	// its own, so that slow operations cannot use them up; on SQLite it is read.
	quick       *sql.DB
	dialect     dialect
	logger      *slog.Logger
	now         func() time.Time
	people      *peopleCache
	changed     func(projectID int64)
	states      *states
	owners      *ownersCache
	checkpoints *checkpointer // nil if the database needs none

	name     string        // unique for this server, identifies its notifications
	listener *background   // nil if there are no other servers
	breaker  breaker       // for lookups of requests
	managing chan struct{} // contains a token while this server writes for management

	file       string // path of the SQLite file, otherwise empty
	displayURL string // URL of the database without its password
	ledger     ledgerState
	horizons   horizons
	// unlock releases the lock of the SQLite file.
	unlock func() error
}

// querier is the part of *sql.DB, *sql.Tx and *sql.Conn that runs statements.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// lookupTime is the longest time that a request waits for a lookup in the database.
// Evaluation of flags must not hang because the database hangs, for example behind a
// broken network.
const lookupTime = 2 * time.Second

// Open opens a database and migrates its schema to the newest version. The url has one
// of the forms
//
//	sqlite:PATH                     a file, created if it does not exist
//	sqlite::memory:                 in memory only, for tests
//	postgres://user:password@host/database, postgresql://...
//
// Errors contain a hint for the operator where there is one and never contain a
// password. The caller must close the store.
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

// newStore returns a store on an open database. All fields of c must be set, except for
// MaxCacheBytes.
func newStore(o *database, c Config) *Store {
	return &Store{
		read: o.read, write: o.write, quick: o.quick, dialect: o.dialect, file: o.file, displayURL: o.displayURL, unlock: o.unlock,
		logger: c.Logger, now: c.Now, people: newPeopleCache(c.MaxCacheBytes), changed: c.Changed, states: newStates(), owners: newOwnersCache(),
		name: serverName(), managing: make(chan struct{}, 1),
	}
}

// Ping connects to a PostgreSQL database and checks that it responds, whatever its
// contents. It returns after at most a second.
func Ping(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	o, err := openPostgres(ctx, url)
	if err != nil {
		return err
	}
	return errors.Join(o.write.PingContext(ctx), o.write.Close(), o.quick.Close())
}

// start prepares an open database: it migrates the schema, refuses a database that is
// the incomplete target of a move, and initializes the ledger.
func (s *Store) start(ctx context.Context) error {
	if err := s.migrate(ctx); err != nil {
		return err
	}
	if err := s.checkNotMoving(ctx); err != nil {
		return err
	}
	return s.startLedger(ctx)
}

// Close stops the background work and closes the database. Committed data does not
// depend on it: it is durable after a crash too.
func (s *Store) Close() error {
	s.listener.close()
	s.breaker.close()
	err := s.checkpoints.close()
	s.ledger.close()
	for _, db := range []*sql.DB{s.quick, s.read} { // closing a pool twice has no effect
		if db != s.write {
			err = errors.Join(err, db.Close())
		}
	}
	return errors.Join(err, s.write.Close(), s.unlock())
}

// inWrite runs work in a transaction that may write, and commits it. If work or the
// commit fails, the database is unchanged. On SQLite such transactions run one after
// the other; there, work must run its statements only on tx, otherwise it waits for
// itself forever.
func (s *Store) inWrite(ctx context.Context, work func(tx *sql.Tx) error) error {
	return s.inTx(ctx, s.write, work)
}

// inQuickWrite is like inWrite, on the pool for lookups of requests.
func (s *Store) inQuickWrite(ctx context.Context, work func(tx *sql.Tx) error) error {
	if s.dialect.singleWriter {
		return s.inTx(ctx, s.write, work)
	}
	return s.inTx(ctx, s.quick, work)
}

// inTx implements inWrite and inQuickWrite on the pool db. Errors carry hints for the
// operator.
func (s *Store) inTx(ctx context.Context, db *sql.DB, work func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return s.dialect.explain(err)
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	if err := work(tx); err != nil {
		return s.dialect.explain(err)
	}
	defer s.checkpoints.wakeUp()
	return s.dialect.explain(tx.Commit())
}
