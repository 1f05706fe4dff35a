package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/rooms"
)

// ManagementStore is the Store as rooms.Store.
type ManagementStore struct{ *Store }

// manageTime bounds a transaction of management whose caller sets no bound: some
// read all records of a list.
const manageTime = 20 * time.Second

func manageContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, manageTime)
}

// managementLock is the advisory lock that those hold who write for management:
// one at a time, on all servers.
const managementLock int64 = 0x42554e55 << 32

// lockManagement takes it until the transaction ends. It comes before the locks of
// projects.
func (s *Store) lockManagement(ctx context.Context, tx querier) error {
	if s.dialect.singleWriter {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, managementLock)
	return err
}

// Read implements rooms.Store.
func (s ManagementStore) Read(ctx context.Context, work func(rooms.Tx) error) error {
	ctx, cancel := manageContext(ctx)
	defer cancel()
	options := &sql.TxOptions{ReadOnly: true}
	if !s.dialect.singleWriter {
		options.Isolation = sql.LevelRepeatableRead
	}
	tx, err := s.read.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("reading for management: %w", s.dialect.explain(err))
	}
	defer func() { _ = tx.Rollback() }()
	return s.translateError(work(&manageTx{store: s.Store, ctx: ctx, tx: tx}))
}

// Write implements rooms.Store.
func (s ManagementStore) Write(ctx context.Context, work func(rooms.Tx) error) error {
	ctx, cancel := manageContext(ctx)
	defer cancel()
	// Those who wait for the lock wait here first, all but one of them without a
	// connection, of which there are few.
	select {
	case s.managing <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("writing for management: %w", ctx.Err())
	}
	defer func() { <-s.managing }()
	t := &manageTx{store: s.Store, ctx: ctx, canWrite: true}
	err := s.inWrite(ctx, func(tx *sql.Tx) error {
		t.tx, t.changed, t.totals = tx, map[int64]bool{}, nil
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
	if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // rolled back when the caller went
		err = ctx.Err()
	}
	if err != nil {
		return s.translateError(err)
	}
	for id := range t.changed {
		s.people.forgetProject(id)
		s.changed(id)
	}
	return nil
}

// translateError explains the errors of the database, and says of those that are about it
// and not about what is written that another time may work; those of management pass.
func (s ManagementStore) translateError(err error) error {
	var target *management.Error
	if err == nil || errors.As(err, &target) || errors.Is(err, management.ErrDuplicate) {
		return err
	}
	if isDatabaseFailure(err) {
		return fmt.Errorf("%w: %w", flags.ErrUnavailable, s.dialect.explain(err))
	}
	return s.dialect.explain(err)
}

// manageTx implements rooms.Tx.
type manageTx struct {
	store    *Store
	ctx      context.Context
	tx       *sql.Tx
	canWrite bool
	// changed are the projects whose definitions are others now.
	changed map[int64]bool
	// totals are those of projects that were asked for, kept up to date.
	totals map[int64]*featureflags.DefinitionTotals
}

var errReadOnly = errors.New("sqlstore: writing in a transaction that reads")

// exec runs a statement that writes; what names it in errors.
func (t *manageTx) exec(what, text string, args ...any) error {
	if !t.canWrite {
		return errReadOnly
	}
	_, err := t.tx.ExecContext(t.ctx, text, args...)
	return wrapError(what, err)
}

// queryRow reads one row, false when there is none.
func (t *manageTx) queryRow(what, text string, args []any, to ...any) (bool, error) {
	err := t.tx.QueryRowContext(t.ctx, text, args...).Scan(to...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, wrapError(what, err)
}

// listRows is list in a transaction of management.
func listRows[T any](t *manageTx, what string, into func(*T) []any, text string, args ...any) ([]T, error) {
	out, err := list(t.ctx, t.tx, into, text, args...)
	return out, wrapError(what, err)
}

// markChanged makes the project's revision grow when the work is done.
func (t *manageTx) markChanged(project int64) { t.changed[project] = true }

func (t *manageTx) raiseRevisions() error {
	for _, id := range slices.Sorted(maps.Keys(t.changed)) {
		if err := t.exec("raising a revision", `UPDATE projects SET revision = revision + 1 WHERE id = $1`, id); err != nil {
			return err
		}
	}
	return nil
}

// Next implements rooms.Tx.
func (t *manageTx) Next(name string) (n int64, err error) { return t.NextMany(name, 1) }

// nullIfEmpty is a text that is null when it is empty.
func nullIfEmpty(text string) sql.NullString {
	return sql.NullString{String: cleanText(text), Valid: text != ""}
}

// optionalMicros is a time that is 0 when it is the zero one.
func optionalMicros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return micros(t)
}

// jsonOrDefault is a JSON text, or another one when there is none.
func jsonOrDefault(raw []byte, fallback string) string {
	if len(raw) == 0 {
		return fallback
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

var (
	_ rooms.Store = ManagementStore{}
	_ rooms.Tx    = (*manageTx)(nil)
)
