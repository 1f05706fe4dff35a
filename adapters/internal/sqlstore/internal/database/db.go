package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
)

// DB is an open database with its connection pools. Its methods add hints for the
// operator to errors.
type DB struct {
	// Read and write are the pools for reading and for everything else. On PostgreSQL
	// and for SQLite's :memory: they are the same.
	Read, Write *sql.DB
	// Quick is the pool for lookups of requests. On PostgreSQL it has connections of
	// its own, so that slow operations cannot use them up; on SQLite it is read.
	Quick *sql.DB
	// Listen configures the connection that listens to other servers, nil if there are
	// none.
	Listen  *pgx.ConnConfig
	Dialect Dialect
	// DisplayURL is the URL of the database without its password, for messages.
	DisplayURL string
	File       string // path of the SQLite file, otherwise empty

	Unlock func() error // releases the lock of the SQLite file
	// checkpointing is a connection for checkpoints, and checkpoints uses it after
	// Start. Both are nil if the database needs none.
	checkpointing *sql.DB
	Checkpoints   *checkpointer
	Breaker       breaker // for lookups of requests
}

// Start starts the work in the background that an open database needs.
func (db *DB) Start(logger *slog.Logger) {
	db.Breaker.Ping = func(ctx context.Context) error {
		db.dropIdleConnections()
		return db.Quick.PingContext(ctx)
	}
	if db.checkpointing != nil {
		db.Checkpoints = startCheckpointer(db.checkpointing, db.Write, logger)
	}
}

// Close stops the background work and closes the database.
func (db *DB) Close() error {
	db.Breaker.close()
	db.Checkpoints.Close()
	var err error
	for _, pool := range []*sql.DB{db.checkpointing, db.Quick, db.Read} { // closing a pool twice has no effect
		if pool != nil && pool != db.Write {
			err = errors.Join(err, pool.Close())
		}
	}
	return errors.Join(err, db.Write.Close(), db.Unlock())
}

// EmptyLog removes deleted data from SQLite's write-ahead log, soon and in the background.
func (db *DB) EmptyLog() { db.Checkpoints.Empty() }

// dropIdleConnections closes all unused connections. After a failover they may lead to
// a server that no longer exists, and each of them would delay one caller until the
// connection fails.
func (db *DB) dropIdleConnections() {
	for pool, conns := range map[*sql.DB]int{db.Quick: QuickConns, db.Write: PostgresConns} {
		pool.SetMaxIdleConns(0)
		pool.SetMaxIdleConns(conns)
	}
}

// InWrite runs work in a transaction that may write, and commits it. If work or the
// commit fails, the database is unchanged. On SQLite such transactions run one after
// the other; there, work must run its statements only on tx, otherwise it waits for
// itself forever.
func (db *DB) InWrite(ctx context.Context, work func(tx *sql.Tx) error) error {
	return db.inTx(ctx, db.Write, work)
}

// InQuickWrite is like InWrite, on the pool for lookups of requests.
func (db *DB) InQuickWrite(ctx context.Context, work func(tx *sql.Tx) error) error {
	if db.Dialect.SingleWriter {
		return db.inTx(ctx, db.Write, work)
	}
	return db.inTx(ctx, db.Quick, work)
}

// beginner begins transactions: a pool, or a connection.
type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// inTx implements InWrite and InQuickWrite on a pool, or on one connection. Errors carry hints
// for the operator.
func (db *DB) inTx(ctx context.Context, pool beginner, work func(tx *sql.Tx) error) error {
	tx, err := pool.BeginTx(ctx, nil)
	if err != nil {
		return db.Dialect.Explain(err)
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	if err = work(tx); err == nil {
		defer db.Checkpoints.WakeUp()
		err = tx.Commit()
	}
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // database/sql has rolled the transaction back
		return ctx.Err()
	}
	return db.Dialect.Explain(err)
}

// LookUp runs work, a lookup for a request, with a time limit, unless the breaker is
// open. A lookup without a response trips the breaker.
func (db *DB) LookUp(ctx context.Context, timeout time.Duration, work func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if db.Dialect.SingleWriter { // a file does not hang for long
		return work(limited)
	}
	if db.Breaker.Open.Load() {
		return ErrBreakerOpen
	}
	started := time.Now()
	err := work(limited)
	if !hasAnswered(limited, err) && (ctx.Err() == nil || time.Since(started) >= SlowLookUp) {
		db.Breaker.trip()
	}
	return err
}

// ReadError adds to an error the name of the data that was read, and a hint. It returns
// nil for nil.
func (db *DB) ReadError(what string, err error) error {
	return WrapError("reading "+what, db.Dialect.Explain(err))
}

// LockProjects acquires the locks of projects until the end of a transaction. The ids must be
// in ascending order, so that two servers never wait for each other.
func (db *DB) LockProjects(ctx context.Context, tx Querier, projects []int64) error {
	if db.Dialect.SingleWriter {
		return nil
	}
	for _, id := range projects {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, ProjectLocks+id); err != nil {
			return fmt.Errorf("locking project %d: %w", id, err)
		}
	}
	return nil
}

// The numbers of connections to PostgreSQL in addition to the listener: QuickConns for
// lookups of requests, PostgresConns for everything else.
const (
	QuickConns    = 6
	PostgresConns = 6
)

// IdleTxTimeout is the time after which PostgreSQL ends a transaction that is idle: the
// locks of a server that hangs or is disconnected must not block all other servers. It
// is longer than the longest transactions.
const IdleTxTimeout = time.Minute
