package events

import (
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// Sealing configures how events are written into segments. The zero value does not seal events.
type Sealing struct {
	// Files is the folder of the segments; nil if events are not sealed.
	Files *segment.Folder
	// MinBlocks is the number of full blocks of a project from which they are sealed. Zero means 8.
	MinBlocks int
	// Any is true if all blocks count as full.
	Any bool
	// RemoveAfter is the time from the replacement or deletion of a file until it is removed,
	// because readers may have found it.
	RemoveAfter time.Duration
}

// minSealed is the default of Sealing.MinBlocks.
const minSealed = 8

const (
	// maxSealed is the number of events from which a segment ends with the next full block. They are
	// deleted from the database in one transaction.
	maxSealed = 1 << 17
	// maxListed is the maximum number of blocks in a segment. Fewer than eight blocks of each level
	// precede a full one.
	maxListed = 1024
)

// errChanged means that events were erased while they were written into a segment.
var errChanged = errors.New("events were erased meanwhile")

// Seal writes the oldest full blocks of a project into a segment, or rewrites a segment without
// its erased events, and reports whether there is more to do.
//
// A segment is written to a file first, which is synced, and then listed in the transaction that
// deletes the columns and the chunks of its blocks. Files that are not listed are removed by Start.
func (l *Log) Seal(ctx context.Context) (more bool, err error) {
	if l.files == nil {
		return false, nil
	}
	l.sealing.Lock()
	defer l.sealing.Unlock()
	l.removeFiles()
	for _, step := range [...]func(context.Context) (bool, error){l.sealBlocks, l.rewriteSegment} {
		if more, err = step(ctx); more || err != nil {
			break
		}
	}
	if errors.Is(err, errChanged) {
		return false, nil // the next call retries
	}
	return more, database.WrapError("segments of events", err)
}

// sealBlocks seals blocks of one project, and reports whether it has found any.
func (l *Log) sealBlocks(ctx context.Context) (bool, error) {
	full := `level = 15`
	if l.seal.Any {
		full = `level < 16`
	}
	projects, err := database.Column[int64](ctx, l.db.Read, `SELECT project_id FROM event_blocks WHERE `+full+` GROUP BY project_id HAVING COUNT(*) >= $1 ORDER BY project_id LIMIT 1`, cmp.Or(l.seal.MinBlocks, minSealed))
	if err != nil || len(projects) == 0 {
		return false, err
	}
	blocks, err := l.oldestBlocks(ctx, projects[0])
	if err != nil || len(blocks) == 0 {
		return false, err
	}
	w := segmentWriter{log: l, segment: storedSegment{project: projects[0], unit: unit{blocks[0].first, blocks[len(blocks)-1].last}, generation: 1}, blocks: blocks}
	if err := w.write(ctx); err != nil {
		return false, err
	}
	return true, w.commit(ctx, w.seal)
}

// oldestBlocks returns the oldest blocks of a project that are in no segment, up to a full one.
func (l *Log) oldestBlocks(ctx context.Context, project int64) ([]storedBlock, error) {
	blocks, err := listBlocks(ctx, l.db.Read, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1
		AND first_id > COALESCE((SELECT MAX(last_id) FROM event_segments WHERE project_id = $1), 0) ORDER BY first_id LIMIT $2`, project, maxListed)
	n, events := 0, 0
	for i := 0; i < len(blocks) && (n == 0 || events < maxSealed); i++ {
		events += blocks[i].events
		if l.seal.Any || blocks[i].level == fullLevel {
			n = i + 1
		}
	}
	return blocks[:n], err
}

// segmentWriter writes a segment.
type segmentWriter struct {
	log     *Log
	segment storedSegment
	blocks  []storedBlock
	// lastArrived is the latest time of arrival of an event.
	lastArrived int64
	// erased are the events that were left out, and hashed the blocks that had them, by first id, for
	// their new hashes and filters.
	erased []int64
	hashed map[int64]*block.Writer
}

// write writes the file.
func (w *segmentWriter) write(ctx context.Context) error {
	s := &w.segment
	if len(w.blocks) == 0 {
		return nil
	}
	arrived, err := w.firstArrived(ctx)
	if err != nil {
		return err
	}
	s.name = segment.Name(s.project, s.first, s.last, s.generation, arrived)
	s.events, w.lastArrived = 0, math.MinInt64
	s.bytes, s.checksum, err = w.log.files.Create(s.name, func(to io.Writer) error {
		out := segment.NewWriter(to)
		for i := range w.blocks {
			if err := w.writeBlock(ctx, out, &w.blocks[i]); err != nil {
				return err
			}
		}
		return out.Close()
	})
	return err
}

// firstArrived returns the time of arrival of the first event.
func (w *segmentWriter) firstArrived(ctx context.Context) (int64, error) {
	blocks, err := readBlocks(ctx, w.log.Source(), w.segment.project, w.blocks[0].unit, withOrigins)
	if err != nil {
		return 0, err
	}
	var c block.Columns
	if len(blocks) == 0 {
		return 0, errChanged
	}
	if err := blocks[0].decode(&c); err != nil {
		return 0, err
	}
	return c.Arrived[0], nil
}

// writeBlock appends a block to the file.
func (w *segmentWriter) writeBlock(ctx context.Context, out *segment.Writer, b *storedBlock) error {
	project := w.segment.project
	blocks, err := readBlocks(ctx, w.log.Source(), project, b.unit, withPeople|withOrigins)
	if err != nil {
		return err
	}
	if len(blocks) != 1 || blocks[0].unit != b.unit {
		return errChanged
	}
	var c block.Columns
	if err := blocks[0].decode(&c); err != nil {
		return err
	}
	var chunks Chunks
	events := len(c.IDs)
	for i, id := range c.IDs {
		if id == 0 {
			events--
			continue
		}
		w.lastArrived = max(w.lastArrived, c.Arrived[i])
	}
	if s := blocks[0].sealed; s != nil {
		for id := range s.erased {
			if id >= b.first && id <= b.last {
				w.erased = append(w.erased, id)
			}
		}
	}
	if events != b.events {
		return errChanged
	}
	if events < len(c.IDs) {
		w.hashed[b.first] = &block.Writer{}
		w.hashed[b.first].AddAll(&c, map[int64]bool{0: true})
	}
	w.segment.events += int64(events)
	return out.Add(&c, map[int64]bool{0: true}, func(i int) (elements, properties, person string, err error) {
		long, ok, err := chunks.Long(ctx, w.log.Source(), project, c.IDs[i], b.last)
		if err == nil && !ok {
			err = errChanged
		}
		return long.Elements, long.Properties, long.Person, err
	})
}

// commit runs the transaction that lists the segment. If it fails, the file is removed.
func (w *segmentWriter) commit(ctx context.Context, list func(t *database.Tx) error) error {
	err := w.log.inBlocks(ctx, func(t *database.Tx) error {
		if err := w.log.db.LockProjects(ctx, t.SQL, []int64{w.segment.project}); err != nil {
			return err
		}
		blocks, err := listBlocks(ctx, t.SQL, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3 AND events > 0 ORDER BY first_id`,
			w.segment.project, w.segment.first, w.segment.last)
		if err != nil {
			return err
		}
		if !slices.Equal(blocks, w.blocks) {
			return errChanged
		}
		return list(t)
	})
	if err != nil && w.segment.name != "" {
		// After any other failure it may be listed; otherwise the next start removes it.
		if errors.Is(err, errChanged) {
			err = errors.Join(err, w.log.files.Remove(w.segment.name))
		}
	}
	return err
}

// seal lists a new segment and deletes the columns and the chunks of its blocks.
func (w *segmentWriter) seal(t *database.Tx) error {
	s := &w.segment
	for _, text := range []string{
		`DELETE FROM event_columns WHERE first_id IN (SELECT first_id FROM event_blocks WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3)`,
		`UPDATE event_blocks SET level = 16 WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3`,
	} {
		if _, err := t.Exec(text, s.project, s.first, s.last); err != nil {
			return err
		}
	}
	if err := w.deleteChunks(t); err != nil {
		return err
	}
	return w.insert(t)
}

// deleteChunks deletes the chunks of the segment. The last one may have further events, which stay.
func (w *segmentWriter) deleteChunks(t *database.Tx) error {
	s := &w.segment
	last, err := database.List(t.Ctx, t.SQL, func(c *storedChunk) []any {
		c.project = s.project
		return []any{&c.first, &c.last, &c.short, &c.data}
	}, `SELECT first_id, last_id, short, data FROM event_chunks WHERE project_id = $1 AND first_id <= $2 AND last_id > $2`, s.project, s.last)
	if err != nil {
		return err
	}
	if _, err := t.Exec(`DELETE FROM event_chunks WHERE project_id = $1 AND first_id <= $2`, s.project, s.last); err != nil {
		return err
	}
	rest := newChunkSaver(t, false)
	for i := range last {
		err = errors.Join(err, rest.addAfter(&last[i], s.last))
	}
	return errors.Join(err, rest.close())
}

// addAfter appends the events of a chunk after an id.
func (s *chunkSaver) addAfter(c *storedChunk, after int64) error {
	var d chunkDecoder
	if err := d.decode(c); err != nil {
		return err
	}
	for i, id := range d.short.IDs {
		if id <= after {
			continue
		}
		e := d.short.Event(i)
		if err := s.add(c.project, &e, d.long(i)); err != nil {
			return err
		}
	}
	return nil
}

// insert lists the segment.
func (w *segmentWriter) insert(t *database.Tx) error {
	s := &w.segment
	_, err := t.Exec(`INSERT INTO event_segments (project_id, first_id, last_id, generation, events, bytes, last_arrived, checksum, name) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		s.project, s.first, s.last, s.generation, s.events, s.bytes, w.lastArrived, int64(s.checksum), s.name)
	return err
}

// rewriteSegment rewrites a segment that has erased events, and reports whether it has found any.
func (l *Log) rewriteSegment(ctx context.Context) (bool, error) {
	list, err := listSegments(ctx, l.db.Read, `s.project_id = (SELECT MIN(project_id) FROM event_erased)
		AND s.first_id = (SELECT MAX(o.first_id) FROM event_segments o WHERE o.project_id = s.project_id AND o.first_id <= (SELECT MIN(d.id) FROM event_erased d WHERE d.project_id = s.project_id))`)
	if err != nil || len(list) == 0 {
		return false, err
	}
	w := segmentWriter{log: l, segment: list[0], hashed: map[int64]*block.Writer{}}
	old := list[0].name
	w.segment.generation++
	w.blocks, err = listBlocks(ctx, l.db.Read, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3 AND events > 0 ORDER BY first_id`, list[0].project, list[0].first, list[0].last)
	if err != nil {
		return false, err
	}
	w.segment.name = ""
	if err := w.write(ctx); err != nil {
		return false, err
	}
	if err := w.commit(ctx, w.replace); err != nil {
		return false, err
	}
	l.remove(old)
	return true, nil
}

// replace replaces the row of a segment.
func (w *segmentWriter) replace(t *database.Tx) error {
	s := &w.segment
	result, err := t.Exec(`DELETE FROM event_segments WHERE project_id = $1 AND first_id = $2 AND generation = $3`, s.project, s.first, s.generation-1)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); err != nil || n != 1 {
		return errors.Join(err, errChanged)
	}
	for _, id := range w.erased {
		if _, err := t.Exec(`DELETE FROM event_erased WHERE project_id = $1 AND id = $2`, s.project, id); err != nil {
			return err
		}
	}
	for first, b := range w.hashed {
		if _, err := t.Exec(`UPDATE event_hashes SET hashes = $2 WHERE first_id = $1`, first, b.Hashes(b.Names())); err != nil {
			return err
		}
		if _, err := t.Exec(`UPDATE event_blocks SET filter = $3 WHERE project_id = $1 AND first_id = $2`, s.project, first, b.Filter()); err != nil {
			return err
		}
	}
	if err := deleteEmptyBlocks(t, s); err != nil || len(w.blocks) == 0 {
		return err
	}
	return w.insert(t)
}

// deleteEmptyBlocks deletes the blocks of a segment of which all events were erased.
func deleteEmptyBlocks(t *database.Tx, s *storedSegment) error {
	empty, err := listBlocks(t.Ctx, t.SQL, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3 AND events = 0`, s.project, s.first, s.last)
	if err != nil {
		return err
	}
	for i := range empty {
		if err := deleteBlock(t, &empty[i]); err != nil {
			return err
		}
		if _, err := t.Exec(`DELETE FROM event_erased WHERE project_id = $1 AND id >= $2 AND id <= $3`, s.project, empty[i].first, empty[i].last); err != nil {
			return err
		}
	}
	return nil
}
