package events

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// deletedChunks is the maximum number of chunks that one transaction deletes.
const deletedChunks = 256

// deleteListed deletes a part of the columns, hashes and chunks of one project whose events are in segments, and
// reports whether it has found any. They are deleted in the order of the ids, the columns of a block
// with its last chunk, so that all are deleted when there is no such chunk any more.
func (l *Log) deleteListed(ctx context.Context) (found bool, err error) {
	if l.listed == nil { // the first call, or another server may have sealed
		list, err := database.Column[int64](ctx, l.db.Read, `SELECT project_id FROM (SELECT project_id, MAX(last_id) AS last_id FROM event_segments GROUP BY project_id) s
			WHERE EXISTS (SELECT 1 FROM event_chunks c WHERE c.project_id = s.project_id AND c.first_id <= s.last_id)`)
		if err != nil {
			return false, err
		}
		l.listed = append([]int64{}, list...)
	}
	for n := len(l.listed); n > 0; n = len(l.listed) {
		isDone := false
		if err := l.pace.pause(ctx, &l.Last); err != nil { // transactions with events wait
			return false, err
		}
		err := l.inSealing(ctx, func(t *database.Tx) (err error) {
			found, err = l.deletePart(t, l.listed[n-1])
			isDone = !found
			return err
		})
		if err != nil || !isDone {
			return found, err
		}
		l.listed = l.listed[:n-1]
	}
	return false, nil
}

// deletePart implements deleteListed for a project in a transaction.
func (l *Log) deletePart(t *database.Tx, project int64) (found bool, err error) {
	if err := l.db.LockProjects(t.Ctx, t.SQL, []int64{project}); err != nil {
		return false, err
	}
	var end int64
	if err := t.SQL.QueryRowContext(t.Ctx, `SELECT `+sealedEnd, project).Scan(&end); err != nil {
		return false, err
	}
	var first, last int64 // of the chunks to delete
	n, size, limit := 0, 0, cmp.Or(l.seal.DeleteBytes, deleteBytes)
	err = database.Query(t.Ctx, t.SQL, func(rows *sql.Rows) error {
		var c storedChunk
		if err := rows.Scan(&c.first, &c.last, &c.size); err != nil {
			return err
		}
		if size += c.size; n == deletedChunks || n > 0 && size > limit { // reading a chunk reads a page of the database
			return database.ErrPageFull
		}
		if n++; n == 1 {
			first = c.first
		}
		last = c.last
		return nil
	}, `SELECT first_id, last_id, size FROM event_chunks WHERE project_id = $1 AND first_id <= $2 AND last_id <= $2 ORDER BY first_id LIMIT $3`, project, end, deletedChunks+1)
	switch {
	case errors.Is(err, database.ErrPageFull):
	case err != nil || n == 0:
		return false, err
	default:
		last = end
	}
	const sealed = ` WHERE first_id IN (SELECT first_id FROM event_blocks WHERE project_id = $1 AND last_id <= $3 AND level = 16
		AND first_id >= (SELECT MAX(first_id) FROM event_segments WHERE project_id = $1 AND first_id <= $2))`
	for _, table := range [...]string{"event_columns", "event_hashes"} {
		if _, err := t.Exec(`DELETE FROM `+table+sealed, project, first, last); err != nil {
			return true, err
		}
	}
	return true, deleteSealedChunks(t, project, last)
}

// deleteSealedChunks deletes the chunks of a project up to an id whose events are in segments.
func deleteSealedChunks(t *database.Tx, project, last int64) error {
	_, err := t.Exec(`DELETE FROM event_chunks WHERE project_id = $1 AND first_id <= $2 AND last_id <= $2`, project, last)
	return err
}

// splitChunk divides the chunk of a project with events up to an id and after it.
func splitChunk(t *database.Tx, project, at int64) (err error) {
	list, err := database.List(t.Ctx, t.SQL, func(c *storedChunk) []any {
		c.project = project
		return []any{&c.first, &c.last, &c.short, &c.data}
	}, `SELECT first_id, last_id, short, data FROM event_chunks WHERE project_id = $1 AND `+fromChunk+` AND first_id <= $2 AND last_id > $2`, project, at)
	if err != nil || len(list) == 0 {
		return err
	}
	if _, err := t.Exec(`DELETE FROM event_chunks WHERE first_id = $1`, list[0].first); err != nil {
		return err
	}
	for _, half := range [...]unit{{list[0].first, at}, {at + 1, list[0].last}} {
		if err := copyEvents(t, &list[0], half); err != nil {
			return err
		}
	}
	return nil
}

// copyEvents stores the events of a chunk in a range of ids as chunks.
func copyEvents(t *database.Tx, c *storedChunk, u unit) error {
	s := newChunkSaver(t, false)
	var d chunkDecoder
	err := d.decode(c)
	for i, id := range d.short.IDs {
		if err == nil && id >= u.first && id <= u.last {
			e := d.short.Event(i)
			err = s.add(c.project, &e, d.long(i))
		}
	}
	return errors.Join(err, s.close())
}
