package events

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// retainChunk is the number of events that one transaction deletes. It is small because
// other writers wait meanwhile.
const retainChunk = 1000

// DeleteBefore deletes events that arrived before a time, with their duplicate
// keys and from their blocks, from the oldest on and at most limit of them, and returns their
// number. It stops at the first newer event, and when another server is deleting
// events.
func (l *Log) DeleteBefore(ctx context.Context, before time.Time, limit int) (n int64, err error) {
	for n < int64(limit) {
		chunk := min(retainChunk, int64(limit)-n)
		deleted := int64(0)
		err := l.db.InWrite(ctx, func(tx *sql.Tx) error {
			locked, err := l.tryLockRetention(ctx, tx)
			if err == nil && locked {
				deleted, err = l.deleteOldest(ctx, tx, database.Micros(before), chunk)
			}
			return err
		})
		if err != nil {
			return n, fmt.Errorf("deleting old events: %w", err)
		}
		n += deleted
		if deleted < chunk {
			return n, nil
		}
	}
	return n, nil
}

// retentionLock is the key of the advisory lock for deleting old events.
const retentionLock int64 = 0x42554e52 << 32

// tryLockRetention acquires retentionLock for the transaction unless another server holds it.
func (l *Log) tryLockRetention(ctx context.Context, tx database.Querier) (locked bool, err error) {
	if l.db.Dialect.SingleWriter {
		return true, nil
	}
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, retentionLock).Scan(&locked)
	return locked, err
}

// deleteOldest deletes the oldest events, at most limit of them, that arrived before a
// time.
func (l *Log) deleteOldest(ctx context.Context, q *sql.Tx, before, limit int64) (int64, error) {
	var old []erasedEvent
	reached := false
	err := database.Query(ctx, q, func(rows *sql.Rows) error {
		var e erasedEvent
		var uuid sql.RawBytes
		var created int64
		if err := rows.Scan(&e.id, &e.key.ProjectID, &uuid, &e.key.Name, &e.key.DistinctID, &created); err != nil {
			return err
		}
		// Ids ascend only roughly with the time of arrival; everything after the first
		// newer event stays.
		if reached = reached || created >= before; reached {
			return nil
		}
		e.key.UUID = capture.UUID(uuid)
		old = append(old, e)
		return nil
	}, `SELECT id, project_id, uuid, event, distinct_id, created_at FROM events ORDER BY id LIMIT $1`, limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	l.ForgetPending()
	// Erasing a person deletes events too, in another order: without the locks of the
	// projects both transactions could deadlock.
	projects := make([]int64, 0, len(old))
	for i := range old {
		projects = append(projects, old[i].key.ProjectID)
	}
	slices.Sort(projects)
	t := l.db.NewTx(ctx, q)
	projects = slices.Compact(projects)
	if err := l.db.LockProjects(ctx, q, projects); err != nil {
		return 0, err
	}
	for _, id := range projects {
		if err := t.Count(id, database.CounterRewritten, 1); err != nil {
			return 0, err
		}
	}
	ids, last := make(map[int64]bool, len(old)), old[len(old)-1].id
	for i := range old {
		ids[old[i].id] = true
	}
	if err := l.deleteFromBlocks(&t, projects, last, ids); err != nil {
		return 0, err
	}
	if err := deleteRows(&t, old); err != nil {
		return 0, err
	}
	// Exports read changes of persons by the same ids as events: old ones are not needed.
	if _, err := q.ExecContext(ctx, `DELETE FROM person_changes WHERE id <= $1`, last); err != nil {
		return 0, err
	}
	return int64(len(old)), nil
}

// deleteFromBlocks deletes events, none of which has a greater id than last, from the
// blocks and the chunks of their projects.
func (l *Log) deleteFromBlocks(t *database.Tx, projects []int64, last int64, ids map[int64]bool) error {
	for _, project := range projects {
		search := anyTime(project, 0, last)
		blocks, err := l.findBlocks(t.Ctx, t.SQL, &search)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if err := l.rewriteBlocks(t, project, b.unit, b.level, ids); err != nil {
				return err
			}
		}
		if err := deleteFromChunks(t, project, last, ids); err != nil {
			return err
		}
	}
	return nil
}
