package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Management returns the part of the store that package management uses: it implements
// rooms.Store, management.People and errortracking.EventLog.
func (s *Store) Management() managementStore { return managementStore{s} }

// managementStore implements rooms.Store on a Store.
type managementStore struct{ *Store }

// manageTime limits a transaction of management whose caller sets no deadline. Some
// transactions read all records of a list.
const manageTime = 20 * time.Second

// manageContext adds the deadline of manageTime unless the context has one.
func manageContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, manageTime)
}

// managementLock is the key of the advisory lock for writers of management, which run
// one at a time on all servers.
const managementLock int64 = 0x42554e55 << 32

// lockManagement acquires managementLock until the end of the transaction. It must be
// acquired before the locks of projects.
func (s *Store) lockManagement(ctx context.Context, tx database.Querier) error {
	if s.db.Dialect.SingleWriter {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, managementLock)
	return err
}

// Read implements rooms.Store. All reads of work see the same snapshot.
func (s managementStore) Read(ctx context.Context, work func(rooms.Tx) error) error {
	ctx, cancel := manageContext(ctx)
	defer cancel()
	options := &sql.TxOptions{ReadOnly: true}
	if !s.db.Dialect.SingleWriter {
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := s.db.Read.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("reading for management: %w", s.db.Dialect.Explain(err))
	}
	defer func() { _ = tx.Rollback() }()
	return s.translateError(work(&manageTx{store: s.Store, ctx: ctx, tx: tx}))
}

// Write implements rooms.Store. After the commit, Config.Changed is called for the
// projects whose definitions have changed.
func (s managementStore) Write(ctx context.Context, work func(rooms.Tx) error) error {
	ctx, cancel := manageContext(ctx)
	defer cancel()
	// Only one goroutine of this server waits for the lock in the database, where it
	// occupies one of few connections; the rest wait here.
	select {
	case s.managing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("writing for management: %w", ctx.Err())
	}
	defer func() { <-s.managing }()
	t := &manageTx{store: s.Store, ctx: ctx, canWrite: true}
	err := s.db.InWrite(ctx, func(tx *sql.Tx) error {
		t.tx, t.changed, t.totals, t.now = tx, map[int64]bool{}, nil, time.Time{}
		if err := s.lockManagement(ctx, tx); err != nil {
			return err
		}
		if err := work(t); err != nil {
			return err
		}
		if err := t.raiseRevisions(); err != nil {
			return err
		}
		return s.notifyServers(ctx, tx, slices.Sorted(maps.Keys(t.changed)))
	})
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // rolled back by database/sql because the context was canceled
		err = ctx.Err()
	}
	if err != nil {
		return s.translateError(err)
	}
	for id := range t.changed {
		s.people.ForgetProject(id)
		s.changed(id)
	}
	return nil
}

// translateError adds hints to errors. Errors of the database itself match
// flags.ErrUnavailable: a later attempt may succeed. Errors of package management are
// returned unchanged.
func (s managementStore) translateError(err error) error {
	var target *management.Error
	if err == nil || errors.As(err, &target) || errors.Is(err, management.ErrDuplicate) {
		return err
	}
	if database.IsDatabaseFailure(err) {
		return fmt.Errorf("%w: %w", flags.ErrUnavailable, s.db.Dialect.Explain(err))
	}
	return s.db.Dialect.Explain(err)
}

// manageTx implements rooms.Tx.
type manageTx struct {
	store *Store
	ctx   context.Context
	tx    *sql.Tx
	// canWrite is false in a reading transaction.
	canWrite bool
	// changed are the projects whose definitions have changed.
	changed map[int64]bool
	// now is the time that Now has returned; zero if it was not called.
	now time.Time
	// totals caches the totals of projects that were requested. Changes in the
	// transaction update them.
	totals map[int64]*management.DefinitionTotals
}

// errReadOnly is the error for writes in a reading transaction.
var errReadOnly = errors.New("sqlstore: writing in a transaction that reads")

// Now implements rooms.Tx. On PostgreSQL it is the clock of the database when Now was first called,
// which is later than the beginning of the transaction, because that may have waited for a lock.
func (t *manageTx) Now() (time.Time, error) {
	if t.store.db.Dialect.SingleWriter { // then there is only one server
		return t.store.now(), nil
	}
	if t.now.IsZero() {
		var micros int64
		if _, err := t.queryRow("reading the clock of the database", `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`, nil, &micros); err != nil {
			return time.Time{}, err
		}
		t.now = database.FromMicros(micros)
	}
	return t.now, nil
}

// exec executes a statement that writes. what describes it in errors.
func (t *manageTx) exec(what, text string, args ...any) error {
	if !t.canWrite {
		return errReadOnly
	}
	_, err := t.tx.ExecContext(t.ctx, text, args...)
	return database.WrapError(what, err)
}

// queryRow reads one row into to. It returns false if there is none.
func (t *manageTx) queryRow(what, text string, args []any, to ...any) (bool, error) {
	err := t.tx.QueryRowContext(t.ctx, text, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, database.WrapError(what, err)
}

// listRows is like list, in a transaction of management.
func listRows[T any](t *manageTx, what string, into func(*T) []any, text string, args ...any) ([]T, error) {
	out, err := database.List(t.ctx, t.tx, into, text, args...)
	return out, database.WrapError(what, err)
}

// markChanged increments the revision of the project at the end of the transaction.
func (t *manageTx) markChanged(project int64) { t.changed[project] = true }

// raiseRevisions increments the revisions, in the order in which all transactions lock
// projects.
func (t *manageTx) raiseRevisions() error {
	for _, id := range slices.Sorted(maps.Keys(t.changed)) {
		if err := t.exec("raising a revision", `UPDATE projects SET revision = revision + 1 WHERE id = $1`, id); err != nil {
			return err
		}
	}
	return nil
}

var (
	_ rooms.Store = managementStore{}
	_ rooms.Tx    = (*manageTx)(nil)
)
