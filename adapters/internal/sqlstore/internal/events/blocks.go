package events

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// storedBlock is a block without its columns: the events of a project in a range of ids.
type storedBlock struct {
	project int64
	unit
	level, events       int
	firstTime, lastTime int64
}

// listBlocks reads the blocks that a query selects.
func listBlocks(ctx context.Context, q database.Querier, text string, args ...any) ([]storedBlock, error) {
	return database.List(ctx, q, func(b *storedBlock) []any {
		return []any{&b.project, &b.first, &b.last, &b.level, &b.events, &b.firstTime, &b.lastTime}
	}, text, args...)
}

// wrap adds the name of the block to an error.
func (b *storedBlock) wrap(err error) error {
	return fmt.Errorf("the block of the events %d to %d of project %d: %w", b.first, b.last, b.project, err)
}

// encodedBlock is a block with its encoded columns. All but the names are nil if they
// were not requested.
type encodedBlock struct {
	storedBlock
	names, people, origins, hashes []byte
}

// blockParts are strings of a block that are read in addition to the names.
type blockParts int

const (
	withPeople blockParts = 1 << iota
	withOrigins
	withHashes
)

// partColumns are the columns of the parts, in their order.
var partColumns = [...]string{"c.people", "c.origins", "h.hashes"}

// readBlocks reads the columns of the blocks of a project that overlap a range of ids.
// Usually it is one block, unless the blocks of the range were merged meanwhile.
func (l *Log) readBlocks(ctx context.Context, q database.Querier, project int64, u unit, parts blockParts) ([]encodedBlock, error) {
	columns := ""
	for i, column := range partColumns {
		if parts&(1<<i) == 0 {
			column = "NULL"
		}
		columns += ", " + column
	}
	return database.List(ctx, q, func(b *encodedBlock) []any {
		b.project = project
		return []any{&b.first, &b.last, &b.level, &b.names, &b.people, &b.origins, &b.hashes}
	}, `SELECT b.first_id, b.last_id, b.level, c.names`+columns+` FROM event_blocks b
		LEFT JOIN event_columns c ON c.first_id = b.first_id LEFT JOIN event_hashes h ON h.first_id = b.first_id
		WHERE b.project_id = $1 AND b.`+fromBlock+` AND b.last_id >= $2 AND b.first_id <= $3 ORDER BY b.first_id`, project, u.first, u.last)
}

// decode decodes the columns that were read, and reuses the memory of c.
func (b *encodedBlock) decode(c *block.Columns) error {
	err := c.DecodeNames(b.names)
	if err == nil && b.people != nil {
		err = c.DecodePeople(b.people)
	}
	if err == nil && b.origins != nil {
		err = c.DecodeOrigins(b.origins)
	}
	if err != nil {
		return b.wrap(err)
	}
	return nil
}

// fullLevel is the level of blocks that are not merged any more.
const fullLevel = 15

// insertBlock stores the events of a writer as a block of a project. A block with half of
// the possible events is not merged any more.
func insertBlock(t *database.Tx, project int64, level int, w *block.Writer) error {
	bounds, names := w.Bounds(), w.Names()
	if bounds.Events >= block.MaxEvents/2 {
		level = fullLevel
	}
	if _, err := t.Exec(`INSERT INTO event_blocks (project_id, first_id, last_id, level, events, first_time, last_time, filter) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		project, bounds.FirstID, bounds.LastID, level, bounds.Events, bounds.FirstTime, bounds.LastTime, w.Filter()); err != nil {
		return err
	}
	_, err := t.Exec(`INSERT INTO event_columns (first_id, names, people, origins) VALUES ($1, $2, $3, $4)`, bounds.FirstID, names, w.People(names), w.Origins(names))
	if err == nil {
		_, err = t.Exec(`INSERT INTO event_hashes (first_id, hashes) VALUES ($1, $2)`, bounds.FirstID, w.Hashes(names))
	}
	return err
}

// deleteBlock deletes a block.
func deleteBlock(t *database.Tx, b *storedBlock) error {
	_, err := t.Exec(`DELETE FROM event_blocks WHERE project_id = $1 AND first_id = $2`, b.project, b.first)
	if err == nil {
		_, err = t.Exec(`DELETE FROM event_columns WHERE first_id = $1`, b.first)
	}
	if err == nil {
		_, err = t.Exec(`DELETE FROM event_hashes WHERE first_id = $1`, b.first)
	}
	return err
}

const (
	// mergedBlocks is the number of blocks of a level from which they are merged.
	mergedBlocks = 8
	// mergeLists is the maximum number of projects and levels that are merged in one
	// transaction, as long as their events are fewer than those of one full block.
	mergeLists = 64
)

// mergeBlocks merges blocks of one level, where a project has enough of them, and clears
// l.unmerged if there are no more.
func (l *Log) mergeBlocks(t *database.Tx) error {
	type list struct{ level, project int64 }
	lists, err := database.List(t.Ctx, t.SQL, func(x *list) []any { return []any{&x.level, &x.project} },
		`SELECT level, project_id FROM event_blocks WHERE level < 15 GROUP BY level, project_id HAVING COUNT(*) >= $1 LIMIT $2`, mergedBlocks, mergeLists)
	if err != nil {
		return err
	}
	slices.SortFunc(lists, func(a, b list) int { return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.level, b.level)) }) // the order of locks
	l.unmerged.Store(len(lists) > 0)
	events := 0
	for _, x := range lists {
		if err := l.db.LockProjects(t.Ctx, t.SQL, []int64{x.project}); err != nil {
			return err
		}
		n, err := l.mergeList(t, x.project, x.level)
		if err != nil {
			return err
		}
		if events += n; events >= block.MaxEvents {
			break
		}
	}
	return nil
}

// mergeList merges the first blocks of a level of a project, and returns the number of
// their events. Blocks of lower levels between them are merged too.
func (l *Log) mergeList(t *database.Tx, project, level int64) (events int, err error) {
	blocks, err := listBlocks(t.Ctx, t.SQL, `SELECT project_id, first_id, last_id, level, events, first_time, last_time FROM event_blocks
		WHERE project_id = $1 AND first_id >= (SELECT MIN(first_id) FROM event_blocks WHERE project_id = $1 AND level = $2) ORDER BY first_id LIMIT $3`, project, level, 4*mergedBlocks)
	if err != nil || len(blocks) == 0 { // erased meanwhile
		return 0, err
	}
	n := 0
	for ; n < len(blocks) && int64(blocks[n].level) <= level && events+blocks[n].events <= block.MaxEvents; n++ {
		events += blocks[n].events
	}
	if n < 2 { // the next block has too many events
		_, err := t.Exec(`UPDATE event_blocks SET level = $3 WHERE project_id = $1 AND first_id = $2`, project, blocks[0].first, fullLevel)
		return events, err
	}
	return events, l.rewriteBlocks(t, project, unit{blocks[0].first, blocks[n-1].last}, int(level)+1, nil)
}

// rewriteBlocks replaces the blocks of a project that overlap a range of ids by one block
// of a level with the same events, except for the events with ids in erased.
func (l *Log) rewriteBlocks(t *database.Tx, project int64, u unit, level int, erased map[int64]bool) error {
	blocks, err := l.readBlocks(t.Ctx, t.SQL, project, u, withPeople|withOrigins)
	if err != nil {
		return err
	}
	var w block.Writer
	var c block.Columns
	for i := range blocks {
		if err := blocks[i].decode(&c); err != nil {
			return err
		}
		for i, id := range c.IDs {
			if !erased[id] {
				e := c.Event(i)
				w.Add(&e)
			}
		}
		if err := deleteBlock(t, &blocks[i].storedBlock); err != nil {
			return err
		}
	}
	if w.Bounds().Events == 0 {
		return nil
	}
	return insertBlock(t, project, level, &w)
}

// CheckBlocks decodes all blocks and chunks and compares their events with the rows. It
// returns descriptions of the damage, at most limit.
func CheckBlocks(ctx context.Context, q database.Querier, limit int) (faults []string, err error) {
	var c block.Columns
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var b encodedBlock
		var filter []byte
		if err := rows.Scan(&b.project, &b.first, &b.last, &b.events, &filter, &b.names, &b.people, &b.origins, &b.hashes); err != nil || len(faults) == limit {
			return err
		}
		err := b.decode(&c)
		if _, filterErr := block.DecodeFilter(filter); err == nil && filterErr != nil {
			err = b.wrap(filterErr)
		}
		if err == nil {
			if _, err = c.FindHashes(b.hashes, nil); err != nil {
				err = b.wrap(err)
			}
		}
		if err == nil && len(c.IDs) != b.events {
			err = b.wrap(block.ErrDamaged)
		}
		if err != nil {
			faults = append(faults, err.Error())
		}
		return nil
	}, `SELECT b.project_id, b.first_id, b.last_id, b.events, b.filter, COALESCE(c.names, b.filter), COALESCE(c.people, b.filter), COALESCE(c.origins, b.filter), COALESCE(h.hashes, b.filter)
		FROM event_blocks b LEFT JOIN event_columns c ON c.first_id = b.first_id LEFT JOIN event_hashes h ON h.first_id = b.first_id ORDER BY b.first_id`)
	if err != nil || len(faults) > 0 {
		return faults, err
	}
	var rows, inBlocks int64
	err = q.QueryRowContext(ctx, `SELECT (SELECT COUNT(*) FROM events WHERE id <= (SELECT id FROM places WHERE name = $1)), (SELECT COALESCE(SUM(events), 0) FROM event_blocks)`,
		database.PositionIndexed).Scan(&rows, &inBlocks)
	if err == nil && rows != inBlocks {
		faults = append(faults, fmt.Sprintf("%d events are in blocks, which should have %d", inBlocks, rows))
	}
	if err != nil || len(faults) > 0 {
		return faults, err
	}
	return checkChunks(ctx, q, limit)
}
