package events

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

const (
	// IndexChunk is the maximum number of ids whose events one call of Index puts into
	// blocks.
	IndexChunk = 2048
	// minIndexed is the number of ids from which Index builds blocks when the server is
	// idle. Fewer events are scanned as fast.
	minIndexed = 64
)

// Index puts the next events, at most 2,048, into blocks and merges their small chunks, or
// merges small blocks, in a transaction of its own, and reports whether there is more to do.
// Unless idle is true it waits until there are that many events. On PostgreSQL it does
// nothing while another server does it.
func (l *Log) Index(ctx context.Context, idle bool) (more bool, err error) {
	waiting := l.Last.Load() - l.Indexed.Load()
	if waiting < IndexChunk && (!idle || waiting < minIndexed) {
		if l.unmerged.Load() {
			err = l.inBlocks(ctx, func(t *database.Tx, mark int64) (int64, error) { return mark, l.mergeBlocks(t) })
		}
		return err == nil && l.unmerged.Load() || !idle && waiting >= minIndexed, err
	}
	upTo, err := l.Horizon(ctx)
	if err != nil {
		return false, err
	}
	err = l.inBlocks(ctx, func(t *database.Tx, mark int64) (to int64, err error) {
		to = l.pending.limit(mark, min(mark+IndexChunk, upTo))
		if more = to > mark; !more { // the next events are not final
			return mark, nil
		}
		if err := l.buildBlocks(t, mark, to); err != nil {
			return mark, fmt.Errorf("events %d to %d: %w", mark+1, to, err)
		}
		_, err = t.Exec(`UPDATE places SET id = $2 WHERE name = $1`, database.PositionIndexed, to)
		return to, err
	})
	if more {
		l.unmerged.Store(true)
	}
	return more && err == nil, err
}

// lockTimeout limits waiting for the lock of a project, because a server that hangs may hold
// it, and this one should not delay the commits of other projects.
const lockTimeout = `SET LOCAL lock_timeout = '200ms'`

// inBlocks runs work in a transaction that may change blocks. work is called with the id
// up to which events are in blocks, and returns the new one. inBlocks does nothing while
// another server is in such a transaction.
func (l *Log) inBlocks(ctx context.Context, work func(t *database.Tx, mark int64) (int64, error)) error {
	t := l.db.NewTx(ctx, nil)
	text := `SELECT id FROM places WHERE name = $1`
	if !l.db.Dialect.SingleWriter {
		text += ` FOR UPDATE SKIP LOCKED`
	}
	var marks []int64
	err := l.db.InWrite(ctx, func(tx *sql.Tx) (err error) {
		t.SQL = tx
		if !l.db.Dialect.SingleWriter {
			if _, err := tx.ExecContext(ctx, lockTimeout); err != nil {
				return err
			}
		}
		if marks, err = database.Column[int64](ctx, tx, text, database.PositionIndexed); err != nil || len(marks) == 0 {
			return err
		}
		marks[0], err = work(&t, marks[0])
		return err
	})
	if err == nil && len(marks) > 0 {
		l.Indexed.Store(marks[0]) // after the commit, so that it is never ahead of the database
		l.pending.indexed(marks[0])
	}
	return database.WrapError("blocks of events", err)
}

// shortColumns are the columns of events that blocks have, without the id.
const shortColumns = `project_id, timestamp, created_at, event, distinct_id, uuid, person_uuid, person_created_at, person_mode, historical`

// buildBlocks builds the blocks of the events with after < id <= upTo, one for each of
// their projects, from pending events if possible, and merges their small chunks.
func (l *Log) buildBlocks(t *database.Tx, after, upTo int64) error {
	writers := map[int64]*block.Writer{}
	add := func(project int64, e *block.Event) {
		if writers[project] == nil {
			writers[project] = &block.Writer{}
		}
		writers[project].Add(e)
	}
	if events, ok := l.pending.between(after, upTo); ok {
		for i := range events {
			add(events[i].project, &events[i].Event)
		}
	} else if err := l.readShortColumns(t, after, upTo, add); err != nil {
		return err
	}
	for _, project := range slices.Sorted(maps.Keys(writers)) {
		if err := insertBlock(t, project, 0, writers[project]); err != nil {
			return err
		}
		if err := mergeChunks(t, project, after, upTo); err != nil {
			return err
		}
	}
	return nil
}

// readShortColumns calls add for the rows of the events with after < id <= upTo, in the
// order of their ids. It locks their projects: other transactions must not erase events
// meanwhile.
func (l *Log) readShortColumns(t *database.Tx, after, upTo int64, add func(project int64, e *block.Event)) error {
	if !l.db.Dialect.SingleWriter {
		projects, err := database.Column[int64](t.Ctx, t.SQL, `SELECT DISTINCT project_id FROM events WHERE id > $1 AND id <= $2 ORDER BY project_id`, after, upTo)
		if err == nil {
			err = l.db.LockProjects(t.Ctx, t.SQL, projects)
		}
		if err != nil {
			return err
		}
	}
	return t.Each(func(rows *sql.Rows) error {
		var e block.Event
		var project int64
		var uuid, person sql.RawBytes
		err := rows.Scan(&e.ID, &project, &e.Time, &e.Arrived, &e.Name, &e.DistinctID, &uuid, &person, &e.PersonCreated, &e.Mode, &e.Historical)
		if err == nil {
			e.UUID, err = database.UUIDOf(uuid)
		}
		if err == nil {
			e.Person, err = database.UUIDOf(person)
		}
		if err == nil {
			add(project, &e)
		}
		return err
	}, `SELECT id, `+shortColumns+` FROM events WHERE id > $1 AND id <= $2 ORDER BY id`, after, upTo)
}

// LastIndexedID returns the id up to which events are in blocks; later events must be
// scanned. It must be read before the blocks.
func (l *Log) LastIndexedID(ctx context.Context, q database.Querier) (id int64, err error) {
	err = q.QueryRowContext(ctx, `SELECT id FROM places WHERE name = $1`, database.PositionIndexed).Scan(&id)
	return id, err
}
