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

// DeleteBefore deletes events that arrived before a time, from their chunks and blocks and with the
// lists of duplicate keys that have no other event, from the oldest on and at most limit of them, and returns their
// number. It stops at the first newer event, and when another server is deleting
// events. Of segments it deletes whole blocks, when all events of the segment are old, and
// therefore up to a block more than limit. While events of an earlier schema are converted, it deletes none.
func (l *Log) DeleteBefore(ctx context.Context, before time.Time, limit int) (n int64, err error) {
	if l.IsConverting() {
		return 0, nil
	}
	if n, err = l.deleteSealed(ctx, database.Micros(before), int64(limit)); err != nil {
		return n, fmt.Errorf("deleting old segments: %w", err)
	}
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
		if errors.Is(err, errChanged) { // the next call retries
			return n, nil
		}
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
type oldEvent struct{ project, id, arrived int64 }

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
			for i, id := range short.IDs {
				list = append(list, oldEvent{c.project, id, short.Arrived[i]})
			}
			slices.SortFunc(list, func(a, b oldEvent) int { return cmp.Compare(a.id, b.id) })
			list = list[:min(len(list), limit)]
			after = c.first
			found++
			return nil
		}, `SELECT first_id, project_id, last_id, short FROM event_chunks c WHERE first_id > $1 AND `+unsealedChunk+` ORDER BY first_id LIMIT $2`, after, chunksAtOnce)
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
	// Erasing a person deletes events too, in another order: without the locks of the
	// projects both transactions could deadlock.
	projects := make([]int64, 0, len(list))
	for i := range list {
		projects = append(projects, list[i].project)
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
	ids, last := make(map[int64]bool, len(list)), list[len(list)-1].id
	for i := range list {
		ids[list[i].id] = true
	}
	if err := l.deleteFromBlocks(&t, projects, last, ids); err != nil {
		return 0, err
	}
	for _, id := range projects {
		if err := l.deleteKeyRuns(&t, id, last); err != nil {
			return 0, err
		}
	}
	// Exports read changes of persons by the same ids as events: old changes are not needed.
	if _, err := q.ExecContext(ctx, `DELETE FROM person_changes WHERE id <= $1`, last); err != nil {
		return 0, err
	}
	return int64(len(list)), nil
}

// deleteFromBlocks deletes events, none of which has a greater id than last, from the
// blocks and the chunks of their projects. Those that are in no block yet are put into blocks first.
func (l *Log) deleteFromBlocks(t *database.Tx, projects []int64, last int64, ids map[int64]bool) error {
	for _, project := range projects {
		if err := buildBlocks(t, project, last); err != nil {
			return err
		}
		search := anyTime(project, 0, last)
		blocks, err := l.findBlocks(t.Ctx, l.in(t), &search)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			if b.level == sealedLevel { // another server has sealed it since the chunks were listed
				return errChanged
			}
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

// deleteFromChunks removes the long columns of events with ids up to last from the chunks of a
// project.
func deleteFromChunks(t *database.Tx, project, last int64, ids map[int64]bool) error {
	found, err := database.List(t.Ctx, t.SQL, func(c *storedChunk) []any {
		c.project = project
		return []any{&c.first, &c.last, &c.size}
	}, `SELECT first_id, last_id, size FROM event_chunks WHERE project_id = $1 AND first_id <= $2 AND first_id > `+sealedEnd+` ORDER BY first_id`, project, last)
	if err != nil {
		return err
	}
	return rewriteChunks(t, found, ids)
}

// deleteSealed deletes the blocks of segments of which all events arrived before a time, from the
// oldest segment on, until limit events are deleted. It returns their number.
func (l *Log) deleteSealed(ctx context.Context, before, limit int64) (n int64, err error) {
	if l.files == nil {
		return 0, nil
	}
	for n < limit {
		segments, err := listSegments(ctx, l.db.Read, `s.last_arrived < $1 AND s.last_id = (SELECT MIN(last_id) FROM event_segments WHERE last_arrived < $1)`, before)
		if err != nil || len(segments) == 0 {
			return n, err
		}
		s := &segments[0]
		deleted := int64(0)
		isLast := false
		err = l.db.InWrite(ctx, func(tx *sql.Tx) (err error) {
			deleted, isLast, err = l.deleteOldSegment(ctx, tx, s)
			return err
		})
		if errors.Is(err, errChanged) { // the next call retries
			return n, nil
		}
		if err != nil {
			return n, err
		}
		if isLast {
			l.remove(s.name, false)
		}
		if n += deleted; deleted == 0 && !isLast { // another server does it
			return n, nil
		}
	}
	return n, nil
}

// deleteOldSegment implements deleteSealed for a block of a segment that was listed before the transaction.
// It does not delete events if another server is deleting events.
func (l *Log) deleteOldSegment(ctx context.Context, tx *sql.Tx, s *storedSegment) (n int64, isLast bool, err error) {
	if locked, err := l.tryLock(ctx, tx, retentionLock); err != nil || !locked {
		return 0, false, err
	}
	if err := l.db.LockProjects(ctx, tx, []int64{s.project}); err != nil {
		return 0, false, err
	}
	now, err := listSegments(ctx, tx, `s.project_id = $1 AND s.first_id = $2 AND s.name = $3`, s.project, s.first, s.name)
	if err != nil || len(now) == 0 { // it was replaced
		return 0, false, errors.Join(err, errChanged)
	}
	t := l.db.NewTx(ctx, tx)
	return l.deleteSealedBlock(&t, s)
}

// deleteSealedBlock deletes the first block of a segment and the lists of duplicate keys up to it, and
// the segment if it is the last one. It returns the number of events.
func (l *Log) deleteSealedBlock(t *database.Tx, s *storedSegment) (n int64, isLast bool, err error) {
	blocks, err := listBlocks(t.Ctx, t.SQL, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3 ORDER BY first_id LIMIT 2`, s.project, s.first, s.last)
	if err != nil {
		return 0, false, err
	}
	last := s.last
	if isLast = len(blocks) < 2; !isLast {
		last = blocks[0].last
	}
	if len(blocks) > 0 {
		n = int64(blocks[0].events)
		if err = deleteBlock(t, &blocks[0]); err == nil {
			err = l.deleteKeyRuns(t, s.project, last)
		}
		if err != nil {
			return 0, false, err
		}
	}
	if err := errors.Join(t.Count(s.project, database.CounterRewritten, 1), t.Count(s.project, database.CounterSealed, 1)); err != nil {
		return 0, false, err
	}
	if err := deleteSealedChunks(t, s.project, last); err != nil {
		return 0, false, err
	}
	if _, err := t.Exec(`DELETE FROM event_erased WHERE project_id = $1 AND id <= $2`, s.project, last); err != nil {
		return 0, false, err
	}
	if isLast {
		if _, err := t.Exec(`DELETE FROM event_segments WHERE project_id = $1 AND first_id = $2`, s.project, s.first); err != nil {
			return 0, false, err
		}
	}
	return n, isLast, nil
}
