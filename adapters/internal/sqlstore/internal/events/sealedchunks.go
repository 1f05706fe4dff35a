package events

import (
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
)

// sealedChunk is where the events of a chunk are if they are in a segment: a range of rows of a
// group of a file.
type sealedChunk struct {
	files      *segment.Folder
	name       string
	group      int
	first, len int // rows
}

// read calls read with the rows of the group.
func (s *sealedChunk) read(read func(r *segment.Rows) error) error {
	file, err := s.files.Open(s.name)
	if err != nil {
		return err
	}
	defer file.Release()
	rows := file.Rows(s.group)
	defer func() { _ = rows.Close() }()
	return read(rows)
}

// pagesAhead is the number of pages of properties in a chunk of a segment if all events of a range
// are read. A page has about block.ChunkBytes.
const pagesAhead = 8

// sealedChunks returns the chunks of a group of a segment that overlap a range of ids.
func sealedChunks(q Source, s *storedSegment, group int, u unit) (out []storedChunk, err error) {
	file, err := q.Files.Open(s.name)
	if err != nil {
		return nil, err
	}
	defer file.Release()
	pages, err := file.Pages(group)
	if err != nil {
		return nil, err
	}
	var c block.Columns
	if err := file.Names(group, &c); err != nil {
		return nil, err
	}
	for part := range slices.Chunk(pages, pagesAhead) {
		first, end := part[0].First, part[len(part)-1].End
		if first >= end || end > len(c.IDs) {
			return nil, block.ErrDamaged
		}
		chunk := storedChunk{project: s.project, unit: unit{c.IDs[first], c.IDs[end-1]}, sealed: &sealedChunk{q.Files, s.name, group, first, end - first}}
		for _, p := range part {
			chunk.size += p.Bytes
		}
		if chunk.last >= u.first && chunk.first <= u.last {
			out = append(out, chunk)
		}
	}
	return out, nil
}

// loadSealed replaces the chunks in memory like load by the chunks of one group of a
// segment. There are none in memory afterwards if no sealed events are in the range.
func (r *Chunks) loadSealed(ctx context.Context, q Source, u unit, parts chunkParts) error {
	if q.Files == nil {
		return nil
	}
	segments, err := q.segments(ctx, r.project, u)
	if err != nil {
		return err
	}
	for i := range segments {
		s := &segments[i]
		groups, err := groupsOf(q, s)
		if err != nil {
			return err
		}
		group := slices.IndexFunc(groups, func(g segment.Group) bool { return g.LastID >= u.first && g.FirstID <= u.last })
		if group < 0 {
			continue
		}
		r.erased, r.parts = s.erased, withShort|withLong
		if u.first == u.last {
			err = r.loadSingle(q, s, group, u.first, parts)
		} else {
			r.chunks, err = sealedChunks(q, s, group, u)
		}
		if err != nil || len(r.chunks) > 0 {
			return err
		}
	}
	return nil
}

// loadSingle replaces the chunks in memory by one of the event with an id, of which it decodes the
// requested parts, or by none if the group has no such event.
func (r *Chunks) loadSingle(q Source, s *storedSegment, group int, id int64, parts chunkParts) error {
	c := &sealedChunk{files: q.Files, name: s.name, group: group, len: 1}
	return c.read(func(rows *segment.Rows) error {
		row, ok, err := rows.Find(id)
		if !ok || err != nil {
			return err
		}
		c.first = row
		r.chunks = append(r.chunks[:0], storedChunk{project: s.project, unit: unit{id, id}, size: block.ChunkBytes, sealed: c})
		if parts&withShort != 0 {
			if err := rows.Short(row, 1, &r.short); err != nil {
				return r.chunks[0].wrap(err)
			}
			r.shortAt = 0
		}
		if parts&withLong != 0 {
			if err := rows.Long(row, 1, &r.long); err != nil {
				return r.chunks[0].wrap(err)
			}
			r.longAt = 0
			r.bytes += block.ChunkBytes
		}
		return nil
	})
}

// groupsOf returns the groups of a segment.
func groupsOf(q Source, s *storedSegment) ([]segment.Group, error) {
	file, err := q.Files.Open(s.name)
	if err != nil {
		return nil, err
	}
	defer file.Release()
	return file.Groups(), nil
}
