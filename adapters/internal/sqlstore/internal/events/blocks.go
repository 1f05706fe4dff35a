package events

import (
	"cmp"
	"context"
	"database/sql/driver"
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

// newLevel is the level of new chunks in a list of blocks: their events are in no block yet.
const newLevel = -1

// sealedLevel is the level of blocks in segments, erasedLevel that of their erased events in readBlocks.
const (
	sealedLevel = 16
	erasedLevel = -2
)

// encodedBlock is a block with its encoded columns. All but the names are nil if they were not
// requested. The names of a new chunk are all its short columns.
type encodedBlock struct {
	storedBlock
	names, people, origins, hashes []byte
	// sealed is where the columns are if the block is in a segment, and nil otherwise.
	sealed *sealedBlock
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

// readBlocks reads the columns of the blocks and new chunks of a project that overlap a range of
// ids, in their order. Of a block it is usually one, unless the blocks of the range were merged
// meanwhile. All are of one moment, so that they have each event once. The files of that moment can be
// read for some time after they were replaced.
func readBlocks(ctx context.Context, q Source, project int64, u unit, parts blockParts) ([]encodedBlock, error) {
	return selectBlocks(ctx, q, project, u, parts, `TRUE`)
}

// selectBlocks is readBlocks for the blocks b that a condition selects.
func selectBlocks(ctx context.Context, q Source, project int64, u unit, parts blockParts, condition string) (blocks []encodedBlock, err error) {
	columns := ""
	for i, column := range partColumns {
		if parts&(1<<i) == 0 {
			column = "NULL"
		}
		columns += ", " + column
	}
	if parts&withHashes != 0 { // of sealed blocks, the database has only these
		parts |= withPeople
	}
	erased := map[int64]bool{}
	err = eachRow(ctx, q.Querier, func(row []driver.Value) error {
		b := encodedBlock{storedBlock: storedBlock{project: project, unit: unit{row[0].(int64), row[1].(int64)}, level: int(row[2].(int64))}}
		if b.level == erasedLevel {
			erased[b.first] = true
			return nil
		}
		for i, to := range [...]*[]byte{&b.names, &b.people, &b.origins, &b.hashes} {
			*to, _ = row[3+i].([]byte)
		}
		if b.level == sealedLevel {
			name, _ := row[7].(string)
			b.sealed = &sealedBlock{unit: b.unit, files: q.Files, name: name, parts: parts, erased: erased}
		}
		blocks = append(blocks, b)
		return nil
	}, `SELECT b.first_id, b.last_id, b.level, c.names`+columns+`, s.name FROM event_blocks b
		LEFT JOIN event_columns c ON c.first_id = b.first_id AND b.level < 16 LEFT JOIN event_hashes h ON h.first_id = b.first_id
		LEFT JOIN event_segments s ON b.level = 16 AND s.project_id = b.project_id AND s.last_id >= b.last_id
			AND s.first_id = (SELECT MAX(first_id) FROM event_segments WHERE project_id = b.project_id AND first_id <= b.first_id)
		WHERE b.project_id = $1 AND b.`+fromBlock+` AND b.last_id >= $2 AND b.first_id <= $3 AND `+condition+`
		UNION ALL SELECT n.first_id, n.last_id, -1, (SELECT c.short FROM event_chunks c WHERE c.first_id = n.first_id), NULL, NULL, NULL, NULL FROM event_new_chunks n
		WHERE n.project_id = $1 AND n.`+fromNewChunk+` AND n.last_id >= $2 AND n.first_id <= $3
		UNION ALL SELECT id, id, -2, NULL, NULL, NULL, NULL, NULL FROM event_erased
		WHERE project_id = $1 AND id >= COALESCE((SELECT MAX(first_id) FROM event_blocks WHERE project_id = $1 AND first_id <= $2), 0)
			AND id <= COALESCE((SELECT last_id FROM event_blocks WHERE project_id = $1 AND first_id <= $3 ORDER BY first_id DESC LIMIT 1), 0)`, project, u.first, u.last)
	slices.SortFunc(blocks, func(a, b encodedBlock) int { return cmp.Compare(a.first, b.first) })
	for i := range blocks {
		switch s := blocks[i].sealed; {
		case err != nil || s == nil:
		case s.files == nil:
			err = ErrNoFolder
		case s.name == "":
			err = blocks[i].wrap(fmt.Errorf("it is in no segment: %w", block.ErrDamaged))
		}
	}
	return blocks, err
}

// decode decodes the columns that were read, and reuses the memory of c.
func (b *encodedBlock) decode(c *block.Columns) error {
	if b.sealed != nil {
		if err := b.sealed.decode(c); err != nil {
			return b.wrap(err)
		}
		return nil
	}
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

// blockDecoder has the reusable memory of decoded blocks.
type blockDecoder struct {
	block block.Columns
	run   block.Run
}

// each decodes blocks in order and calls visit with the columns of each. New chunks that follow one
// another are decoded together. bytes is the length of what was decoded.
func (d *blockDecoder) each(blocks []encodedBlock, visit func(b *encodedBlock, c *block.Columns, bytes int) error) error {
	for len(blocks) > 0 {
		b, c, n, bytes := &blocks[0], &d.block, 1, 0
		var err error
		if b.level == newLevel {
			c = &d.run.Columns
			n, bytes, err = d.decodeRun(blocks)
		} else {
			bytes = len(b.names) + len(b.people) + len(b.origins)
			err = b.decode(c)
		}
		if err == nil {
			err = visit(b, c, bytes)
		}
		if err != nil {
			return err
		}
		blocks = blocks[n:]
	}
	return nil
}

// decodeRun decodes the first of some blocks, which are new chunks, together, and returns their
// number.
func (d *blockDecoder) decodeRun(blocks []encodedBlock) (n, bytes int, err error) {
	d.run.Reset()
	for ; n < len(blocks) && blocks[n].level == newLevel; n++ {
		b := &blocks[n]
		ok, err := d.run.Add(b.names)
		if err != nil {
			return n, bytes, (&storedChunk{project: b.project, unit: b.unit}).wrap(err)
		}
		if !ok {
			break
		}
		bytes += len(b.names)
	}
	return n, bytes, nil
}

// fullLevel is the level of blocks that are not merged any more.
const fullLevel = 15

// newBlock is a block that is not stored yet.
type newBlock struct {
	block.Bounds
	filter, names, people, origins, hashes []byte
}

// encodeBlock encodes the events of a writer.
func encodeBlock(w *block.Writer) *newBlock {
	names := w.Names()
	return &newBlock{w.Bounds(), w.Filter(), names, w.People(names), w.Origins(names), w.Hashes(names)}
}

// insert stores the block as one of a project. A block with half of the possible events is not merged any more.
func (b *newBlock) insert(t *database.Tx, project int64, level int) error {
	if b.Events >= block.MaxEvents/2 {
		level = fullLevel
	}
	if err := insertBounds(t, project, level, &b.Bounds, b.filter); err != nil {
		return err
	}
	if _, err := t.Exec(`INSERT INTO event_hashes (first_id, hashes) VALUES ($1, $2)`, b.FirstID, b.hashes); err != nil {
		return err
	}
	_, err := t.Exec(`INSERT INTO event_columns (first_id, names, people, origins) VALUES ($1, $2, $3, $4)`, b.FirstID, b.names, b.people, b.origins)
	return err
}

// insertBlock stores the events of a writer as a block of a project.
func insertBlock(t *database.Tx, project int64, level int, w *block.Writer) error {
	return encodeBlock(w).insert(t, project, level)
}

// insertBounds stores a block without its columns and hashes.
func insertBounds(t *database.Tx, project int64, level int, b *block.Bounds, filter []byte) error {
	_, err := t.Exec(`INSERT INTO event_blocks (project_id, first_id, last_id, level, events, first_time, last_time) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		project, b.FirstID, b.LastID, level, b.Events, b.FirstTime, b.LastTime)
	if err == nil && len(filter) > 0 {
		_, err = t.Exec(`INSERT INTO event_filters (first_id, filter) VALUES ($1, $2)`, b.FirstID, filter)
	}
	return err
}

// deleteBlock deletes a block.
func deleteBlock(t *database.Tx, b *storedBlock) error {
	_, err := t.Exec(`DELETE FROM event_blocks WHERE project_id = $1 AND first_id = $2`, b.project, b.first)
	for _, table := range [...]string{"event_filters", "event_columns", "event_hashes"} {
		if err == nil {
			_, err = t.Exec(`DELETE FROM `+table+` WHERE first_id = $1`, b.first)
		}
	}
	return err
}

// rewriteBlocks replaces the blocks of a project that overlap a range of ids by one block
// of a level with the same events, except for the events with ids in erased.
func (l *Log) rewriteBlocks(t *database.Tx, project int64, u unit, level int, erased map[int64]bool) error {
	blocks, err := readBlocks(t.Ctx, l.in(t), project, u, withPeople|withOrigins)
	if err != nil {
		return err
	}
	var w block.Writer
	var c block.Columns
	for i := range blocks {
		if err := blocks[i].decode(&c); err != nil {
			return err
		}
		w.AddAll(&c, erased)
		if err := deleteBlock(t, &blocks[i].storedBlock); err != nil {
			return err
		}
	}
	if w.Bounds().Events == 0 {
		return nil
	}
	return insertBlock(t, project, level, &w)
}
