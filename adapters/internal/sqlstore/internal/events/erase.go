package events

import (
	"maps"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// EraseEventsOf erases the events of a person's distinct ids, block by block, and returns their
// number. Events that are in no block yet are put into blocks first. The error is ErrConverting while events of an
// earlier schema are converted.
func (l *Log) EraseEventsOf(t *database.Tx, projectID int64, uuid capture.UUID) (events int64, err error) {
	if l.IsConverting() {
		return 0, ErrConverting
	}
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
	erased := map[int64]bool{}
	parts := blockParts(0)
	if s.byHash = b.level == sealedLevel; s.byHash {
		parts = withOrigins // such a search is exact, and decodes only few events
	}
	err := l.eachMatch(t.Ctx, l.in(t), s, b.unit, parts, func(c *block.Columns, i int) { erased[c.IDs[i]] = true })
	if err != nil || len(erased) == 0 {
		return 0, err
	}
	if b.level == sealedLevel {
		return int64(len(erased)), eraseSealed(t, b, erased)
	}
	if err := l.rewriteBlocks(t, b.project, b.unit, b.level, erased); err != nil {
		return 0, err
	}
	return int64(len(erased)), eraseFromChunks(t, b.project, erased)
}

var insertErased = database.NewInsert(`INSERT INTO event_erased (project_id, id)`, 2, "")

// eraseSealed marks events of a block in a segment as erased. Seal rewrites the segment without them.
func eraseSealed(t *database.Tx, b *storedBlock, erased map[int64]bool) error {
	ids := slices.Sorted(maps.Keys(erased))
	err := t.Insert(&insertErased, len(ids), func(args []any, i int) []any { return append(args, b.project, ids[i]) })
	if err == nil {
		_, err = t.Exec(`UPDATE event_blocks SET events = events - $3 WHERE project_id = $1 AND first_id = $2`, b.project, b.first, len(ids))
	}
	return err
}
