package events

import (
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// eraseChunk is the number of events without a block that are erased at a time.
const eraseChunk = 500

// erasedEvent is an event to delete, with its duplicate key.
type erasedEvent struct {
	id  int64
	key capture.EventKey
}

// EraseEventsOf erases the events of a person's distinct ids, block by block, then the
// events that have no block yet, and returns their number.
func (l *Log) EraseEventsOf(t *database.Tx, projectID int64, uuid capture.UUID) (events int64, err error) {
	ids, err := database.Column[string](t.Ctx, t.SQL, `SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2`, projectID, uuid[:])
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	l.ForgetPending()
	mark, err := l.LastIndexedID(t.Ctx, t.SQL)
	if err != nil {
		return 0, err
	}
	search := anyTime(projectID, 0, mark)
	search.distinctIDs = ids
	blocks, err := l.findBlocks(t.Ctx, t.SQL, &search)
	if err != nil {
		return 0, err
	}
	for _, b := range blocks {
		n, err := l.eraseFromBlock(t, &b, &search)
		if events += n; err != nil {
			return events, err
		}
	}
	for {
		rest, err := database.List(t.Ctx, t.SQL, func(e *erasedEvent) []any {
			e.key.ProjectID = projectID
			return []any{&e.id, database.ScanUUID(&e.key.UUID), &e.key.Name, &e.key.DistinctID}
		}, `SELECT e.id, e.uuid, e.event, e.distinct_id FROM events e WHERE e.id > $3 AND e.project_id = $1 AND e.distinct_id IN
			(SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2) LIMIT $4`, projectID, uuid[:], mark, eraseChunk)
		if err != nil || len(rest) == 0 {
			return events, err
		}
		if err := eraseEvents(t, projectID, rest); err != nil {
			return events, err
		}
		events += int64(len(rest))
	}
}

// eraseFromBlock erases the events of a search that are in a block from it and from all
// other tables, and returns their number.
func (l *Log) eraseFromBlock(t *database.Tx, b *storedBlock, s *blockSearch) (int64, error) {
	var found []erasedEvent
	erased := map[int64]bool{}
	err := l.eachMatch(t.Ctx, t.SQL, s, b.unit, withOrigins, func(c *block.Columns, i int) {
		e := c.Event(i)
		erased[e.ID] = true
		found = append(found, erasedEvent{e.ID, capture.EventKey{ProjectID: s.project, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID}})
	})
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, nil
	}
	if err := l.rewriteBlocks(t, b.project, b.unit, b.level, erased); err != nil {
		return 0, err
	}
	return int64(len(found)), eraseEvents(t, b.project, found)
}

// eraseEvents deletes the chunks' parts, the rows and the duplicate keys of events of a project.
func eraseEvents(t *database.Tx, project int64, events []erasedEvent) error {
	ids := make(map[int64]bool, len(events))
	for i := range events {
		ids[events[i].id] = true
	}
	if err := eraseFromChunks(t, project, ids); err != nil {
		return err
	}
	return deleteRows(t, events)
}

// deleteRows deletes the rows and the duplicate keys of events.
func deleteRows(t *database.Tx, events []erasedEvent) error {
	var key, scratch []byte
	for i := range events {
		key, scratch = AppendKey(key[:0], scratch, &events[i].key)
		if _, err := t.Exec(`DELETE FROM event_keys WHERE key = $1`, key); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM events WHERE id = $1`, events[i].id); err != nil {
			return err
		}
	}
	return nil
}
