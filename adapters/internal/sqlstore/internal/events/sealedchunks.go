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
func (r *Chunks) loadSealed(ctx context.Context, q Source, u unit) error {
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
		if u.first == u.last {
			r.chunks, err = singleChunk(q, s, group, u.first)
		} else {
			r.chunks, err = sealedChunks(q, s, group, u)
		}
		r.erased, r.parts = s.erased, withShort|withLong
		if err != nil || len(r.chunks) > 0 {
			return err
		}
	}
	return nil
}

// singleChunk returns a chunk of the event with an id, or none if the group has no such event.
func singleChunk(q Source, s *storedSegment, group int, id int64) (out []storedChunk, err error) {
	c := sealedChunk{files: q.Files, name: s.name, group: group, len: 1}
	err = c.read(func(r *segment.Rows) error {
		row, ok, err := r.Find(id)
		if c.first = row; ok {
			out = []storedChunk{{project: s.project, unit: unit{id, id}, size: block.ChunkBytes, sealed: &c}}
		}
		return err
	})
	return out, err
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
