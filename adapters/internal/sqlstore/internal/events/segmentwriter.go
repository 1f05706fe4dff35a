package events

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// segmentWriter writes a segment.
type segmentWriter struct {
	log     *Log
	segment storedSegment
	// blocks are the blocks to write, old the segments that the segment replaces.
	blocks []storedBlock
	old    []storedSegment
	// hadErased is true if the old segments had erased events.
	hadErased bool
	// changed are the groups that have not the events of one block.
	changed []changedGroup
	// columns and merged are reusable memory of writeGroup.
	columns block.Columns
	merged  block.Writer
}

// changedGroup is a group of a segment with the events of several blocks, or of a block with erased
// events.
type changedGroup struct {
	blocks []storedBlock
	bounds block.Bounds
	filter []byte
}

// write writes the file, unless there are no blocks.
func (w *segmentWriter) write(ctx context.Context) error {
	s := &w.segment
	if len(w.blocks) == 0 {
		return nil
	}
	arrived, err := w.firstArrived(ctx)
	if err != nil {
		return err
	}
	s.name = segment.NewName(s.project, s.first, s.last, s.generation, arrived)
	s.events, s.lastArrived = 0, math.MinInt64
	s.bytes, s.checksum, err = w.log.files.Create(s.name, func(to io.Writer) error {
		out := segment.NewWriter(to)
		for _, blocks := range groupBlocks(w.blocks) {
			if err := w.writeGroup(ctx, out, blocks); err != nil {
				return err
			}
		}
		return out.Close()
	})
	return err
}

// groupBlocks divides blocks into lists, each of which becomes a group: as many blocks as fit.
func groupBlocks(blocks []storedBlock) (groups [][]storedBlock) {
	start, events := 0, 0
	for i := range blocks {
		if events += blocks[i].events; events > block.MaxEvents && i > start {
			groups = append(groups, blocks[start:i])
			start, events = i, blocks[i].events
		}
	}
	return append(groups, blocks[start:])
}

// firstArrived returns the time of arrival of the first event.
func (w *segmentWriter) firstArrived(ctx context.Context) (int64, error) {
	if _, err := w.read(ctx, &w.blocks[0], &w.columns); err != nil {
		return 0, err
	}
	return w.columns.Arrived[0], nil
}

// read decodes all short columns of a block, and reports whether it has events that were erased,
// whose ids are 0.
func (w *segmentWriter) read(ctx context.Context, b *storedBlock, c *block.Columns) (hasErased bool, err error) {
	blocks, err := readBlocks(ctx, w.log.Source(), w.segment.project, b.unit, withPeople|withOrigins)
	if err != nil {
		return false, err
	}
	if len(blocks) != 1 || blocks[0].unit != b.unit {
		return false, errChanged
	}
	if err := blocks[0].decode(c); err != nil {
		return false, err
	}
	events := len(c.IDs)
	for _, id := range c.IDs {
		if id == 0 {
			events--
		}
	}
	if events != b.events {
		return false, errChanged
	}
	return events < len(c.IDs), nil
}

// erasedID are the ids of erased events of sealed blocks, after they are decoded.
var erasedID = map[int64]bool{0: true}

// writeGroup appends a group with the events of some blocks to the file.
func (w *segmentWriter) writeGroup(ctx context.Context, out *segment.Writer, blocks []storedBlock) error {
	c, merged := &w.columns, &w.merged
	merged.Reset()
	isChanged := len(blocks) > 1
	for i := range blocks {
		hasErased, err := w.read(ctx, &blocks[i], c)
		if err != nil {
			return err
		}
		if isChanged = isChanged || hasErased; isChanged {
			merged.AddAll(c, erasedID)
		}
	}
	if isChanged {
		if err := c.DecodeShort(merged.Short(nil)); err != nil {
			return err
		}
		w.changed = append(w.changed, changedGroup{blocks, merged.Bounds(), merged.Filter()})
	}
	w.segment.events += int64(len(c.IDs))
	w.segment.lastArrived = max(w.segment.lastArrived, slices.Max(c.Arrived))
	chunks := Chunks{isReused: true} // the writer copies what it keeps
	last := blocks[len(blocks)-1].last
	return out.Add(c, nil, func(i int) (elements, properties, person string, err error) {
		if err := w.log.pace.pause(ctx, &w.log.Last); err != nil {
			return "", "", "", err
		}
		long, ok, err := chunks.Long(ctx, w.log.Source(), w.segment.project, c.IDs[i], last)
		if err == nil && !ok {
			err = errChanged
		}
		return long.Elements, long.Properties, long.Person, err
	})
}

// currentBlocks returns the blocks with events in the range of the segment.
func (w *segmentWriter) currentBlocks(ctx context.Context, q database.Querier) ([]storedBlock, error) {
	return listBlocks(ctx, q, `SELECT `+blockFields+` FROM event_blocks WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3 AND events > 0 ORDER BY first_id`,
		w.segment.project, w.segment.first, w.segment.last)
}

// commit runs the transaction that lists the segment. If it fails, the file is removed.
func (w *segmentWriter) commit(ctx context.Context, list func(t *database.Tx) error) error {
	isUnlisted := true
	err := w.log.checkOwner(ctx)
	if err == nil {
		err = w.log.inSealing(ctx, func(t *database.Tx) error {
			err := w.listIn(t, list)
			isUnlisted = err != nil
			return err
		})
	}
	if err != nil {
		return errors.Join(err, w.discard(ctx, isUnlisted))
	}
	w.log.isMerged = false
	return nil
}

// listIn implements commit in a transaction.
func (w *segmentWriter) listIn(t *database.Tx, list func(t *database.Tx) error) error {
	if err := w.log.db.LockProjects(t.Ctx, t.SQL, []int64{w.segment.project}); err != nil {
		return err
	}
	blocks, err := w.currentBlocks(t.Ctx, t.SQL)
	if err == nil && !slices.Equal(blocks, w.blocks) {
		err = errChanged
	}
	if err == nil {
		err = t.Count(w.segment.project, database.CounterSealed, 1)
	}
	if err != nil {
		return err
	}
	return list(t)
}

// discard removes the file if it is not listed. If isUnlisted is false, the commit itself has failed. On
// PostgreSQL the segment may then be listed later, so that a sweep removes the file if it is not.
func (w *segmentWriter) discard(ctx context.Context, isUnlisted bool) error {
	switch {
	case w.segment.name == "" || !isUnlisted && !w.log.db.Dialect.SingleWriter:
		return nil
	case !isUnlisted:
		if isListed, err := w.segment.isListed(ctx, w.log.db.Read); err != nil || isListed {
			return err
		}
	}
	return w.log.files.Remove(w.segment.name)
}

// list lists a new segment.
func (w *segmentWriter) list(t *database.Tx) error {
	err := w.putBlocks(t)
	if err == nil {
		err = splitChunk(t, w.segment.project, w.segment.last)
	}
	if err == nil {
		err = w.insert(t)
	}
	return err
}

// putBlocks stores that the blocks are in the segment, whose groups may have the events of several
// blocks.
func (w *segmentWriter) putBlocks(t *database.Tx) error {
	s := &w.segment
	for i := range w.changed {
		g := &w.changed[i]
		for i := range g.blocks {
			if err := deleteBlock(t, &g.blocks[i]); err != nil {
				return err
			}
		}
		if err := insertBounds(t, s.project, sealedLevel, &g.bounds, g.filter); err != nil {
			return err
		}
	}
	_, err := t.Exec(`UPDATE event_blocks SET level = 16 WHERE project_id = $1 AND first_id >= $2 AND last_id <= $3 AND level < 16`, s.project, s.first, s.last)
	return err
}

// insert inserts the row of the segment.
func (w *segmentWriter) insert(t *database.Tx) error {
	s := &w.segment
	_, err := t.Exec(`INSERT INTO event_segments (project_id, first_id, last_id, generation, events, bytes, last_arrived, checksum, name) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		s.project, s.first, s.last, s.generation, s.events, s.bytes, s.lastArrived, int64(s.checksum), s.name)
	return err
}
