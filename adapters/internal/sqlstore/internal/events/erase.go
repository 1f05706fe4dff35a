package events

import (
	"math"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// erasedEvent is an event to delete, with its duplicate key.
type erasedEvent struct {
	id  int64
	key capture.EventKey
}

// erasedOf returns an event of a project to delete.
func erasedOf(project int64, e *block.Event) erasedEvent {
	return erasedEvent{e.ID, capture.EventKey{ProjectID: project, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID}}
}

// EraseEventsOf erases the events of a person's distinct ids, block by block, and returns their
// number. Events that are in no block yet are put into blocks first.
func (l *Log) EraseEventsOf(t *database.Tx, projectID int64, uuid capture.UUID) (events int64, err error) {
	ids, err := database.Column[string](t.Ctx, t.SQL, `SELECT distinct_id FROM distinct_ids WHERE project_id = $1 AND person_uuid = $2`, projectID, uuid[:])
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := buildBlocks(t, projectID, allChunks); err != nil {
		return 0, err
	}
	search := anyTime(projectID, 0, math.MaxInt64)
	search.distinctIDs = ids
	blocks, err := l.findBlocks(t.Ctx, l.in(t), &search)
	if err != nil {
		return 0, err
	}
	for _, b := range blocks {
		n, err := l.eraseFromBlock(t, &b, &search)
		if events += n; err != nil {
			return events, err
		}
	}
	return events, nil
}

// eraseFromBlock erases the events of a search that are in a block from it and from all
// other tables, and returns their number.
func (l *Log) eraseFromBlock(t *database.Tx, b *storedBlock, s *blockSearch) (int64, error) {
	var found []erasedEvent
	erased := map[int64]bool{}
	s.byHash = b.level == sealedLevel // such a search is exact, and decodes only few events
	err := l.eachMatch(t.Ctx, l.in(t), s, b.unit, withOrigins, func(c *block.Columns, i int) {
		if e := c.Event(i); !erased[e.ID] { // if its file was replaced meanwhile, it may be visited again
			erased[e.ID] = true
			found = append(found, erasedOf(s.project, &e))
		}
	})
	if err != nil {
		return 0, err
	}
	if len(found) == 0 {
		return 0, nil
	}
	if b.level == sealedLevel {
		return int64(len(found)), eraseSealed(t, b, found)
	}
	if err := l.rewriteBlocks(t, b.project, b.unit, b.level, erased); err != nil {
		return 0, err
	}
	return int64(len(found)), eraseEvents(t, b.project, found)
}

var insertErased = database.NewInsert(`INSERT INTO event_erased (project_id, id)`, 2, "")

// eraseSealed marks events of a block in a segment as erased, and deletes their duplicate keys. Seal
// rewrites the segment without them.
func eraseSealed(t *database.Tx, b *storedBlock, events []erasedEvent) error {
	err := t.Insert(&insertErased, len(events), func(args []any, i int) []any { return append(args, b.project, events[i].id) })
	if err == nil {
		_, err = t.Exec(`UPDATE event_blocks SET events = events - $3 WHERE project_id = $1 AND first_id = $2`, b.project, b.first, len(events))
	}
	if err != nil {
		return err
	}
	return deleteKeys(t, events)
}

// eraseEvents deletes the chunks' parts and the duplicate keys of events of a project.
func eraseEvents(t *database.Tx, project int64, events []erasedEvent) error {
	ids := make(map[int64]bool, len(events))
	for i := range events {
		ids[events[i].id] = true
	}
	if err := eraseFromChunks(t, project, ids); err != nil {
		return err
	}
	return deleteKeys(t, events)
}

// deleteKeys deletes the duplicate keys of events.
func deleteKeys(t *database.Tx, events []erasedEvent) error {
	var key, scratch []byte
	for i := range events {
		key, scratch = AppendKey(key[:0], scratch, &events[i].key)
		if _, err := t.Exec(`DELETE FROM event_keys WHERE key = $1`, key); err != nil {
			return err
		}
	}
	return nil
}
