package events

import (
	"context"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// horizons is the state of Log.horizon. It is used only on PostgreSQL, where several
// servers write.
type horizons struct {
	mu sync.Mutex
	// safe is the id up to which no event can be committed any more.
	safe int64
	// next becomes safe when the transactions in waiting have ended, which are the ones
	// that were writing when next was the last id.
	next    int64
	waiting []string
}

// Horizon returns an id up to which the set of events is final: no event with such an
// id will be committed later.
//
// On SQLite, commits run one after the other, so it is the last assigned id. On
// PostgreSQL, ids come from a sequence, and a transaction that takes ids holds the lock
// of a project until it ends. When all transactions have ended that held such a lock at
// the time when the sequence was at an id, all ids up to that one are either committed
// or will never be used.
func (l *Log) Horizon(ctx context.Context) (int64, error) {
	if l.db.Dialect.SingleWriter {
		return l.lastID(ctx, l.db.Read)
	}
	h := &l.horizons
	h.mu.Lock()
	defer h.mu.Unlock()
	last, err := l.lastID(ctx, l.db.Read)
	if err != nil {
		return 0, err
	}
	// This must be read after the sequence: then each transaction that took an id of at
	// most last has either ended or is in the list.
	writing, err := l.writingTransactions(ctx)
	if err != nil {
		return 0, err
	}
	// The transactions that were writing when next was the last id have ended.
	if !slices.ContainsFunc(h.waiting, func(tx string) bool { return slices.Contains(writing, tx) }) {
		h.safe = max(h.safe, h.next)
		h.next, h.waiting = last, writing
	}
	// No transaction writes, so the last id is final without waiting for another call.
	if len(writing) == 0 {
		h.safe = max(h.safe, last)
	}
	return h.safe, nil
}

// writingTransactions returns the transactions that hold the lock of a project.
// Sessions that hold advisory locks outside of transactions are excluded by their
// virtual transaction ids.
func (l *Log) writingTransactions(ctx context.Context) ([]string, error) {
	return database.Column[string](ctx, l.db.Read, `SELECT DISTINCT virtualtransaction FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid::bigint >= $1 AND virtualtransaction NOT LIKE '%/0'`, database.ProjectLocks>>32)
}
