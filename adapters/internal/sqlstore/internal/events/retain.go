package events

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
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
			locked, err := l.tryLock(ctx, tx, retentionLock)
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

// oldEvent is an event that may be deleted because of its age.
type oldEvent struct {
	erasedEvent
	arrived int64
}

// oldest returns the oldest events of all projects in the order of their ids, at most limit of them.
// Chunks of several projects overlap, so it reads chunks until no further one can have an older
// event.
func oldest(ctx context.Context, q database.Querier, limit int) (list []oldEvent, err error) {
	const chunksAtOnce = 64
	var short block.Columns
	for after, more := int64(0), true; more; {
		found := 0
		err := database.Query(ctx, q, func(rows *sql.Rows) error {
			var c storedChunk
			if err := rows.Scan(&c.first, &c.project, &c.last, &c.short); err != nil {
				return err
			}
			if len(list) == limit && list[limit-1].id < c.first {
				more = false
				return database.ErrPageFull
			}
			if err := c.decodeShort(&short); err != nil {
				return err
			}
			for i := range short.IDs {
				e := short.Event(i)
				list = append(list, oldEvent{erasedOf(c.project, &e), e.Arrived})
			}
			slices.SortFunc(list, func(a, b oldEvent) int { return cmp.Compare(a.id, b.id) })
			list = list[:min(len(list), limit)]
			after = c.first
			found++
			return nil
		}, `SELECT first_id, project_id, last_id, short FROM event_chunks WHERE first_id > $1 ORDER BY first_id LIMIT $2`, after, chunksAtOnce)
		if err != nil && !errors.Is(err, database.ErrPageFull) {
			return nil, err
		}
		more = more && found == chunksAtOnce
	}
	return list, nil
}

// deleteOldest deletes the oldest events, at most limit of them, that arrived before a
// time.
func (l *Log) deleteOldest(ctx context.Context, q *sql.Tx, before, limit int64) (int64, error) {
	list, err := oldest(ctx, q, int(limit))
	// Ids ascend only roughly with the time of arrival; everything after the first newer event
	// stays.
	if n := slices.IndexFunc(list, func(e oldEvent) bool { return e.arrived >= before }); n >= 0 {
		list = list[:n]
	}
	if err != nil || len(list) == 0 {
		return 0, err
	}
	old := make([]erasedEvent, len(list))
	for i := range list {
		old[i] = list[i].erasedEvent
	}
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
	if err := deleteKeys(&t, old); err != nil {
		return 0, err
	}
	// Exports read changes of persons by the same ids as events: old ones are not needed.
	if _, err := q.ExecContext(ctx, `DELETE FROM person_changes WHERE id <= $1`, last); err != nil {
		return 0, err
	}
	return int64(len(old)), nil
}

// deleteFromBlocks deletes events, none of which has a greater id than last, from the
// blocks and the chunks of their projects. Those that are in no block yet are put into blocks first.
func (l *Log) deleteFromBlocks(t *database.Tx, projects []int64, last int64, ids map[int64]bool) error {
	for _, project := range projects {
		if err := buildBlocks(t, project, last); err != nil {
			return err
		}
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
