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
	ids        unit // of the events
	group      int
	first, len int // rows
	// isReplaced is true if the file is not the one that was listed, but the one that has replaced
	// it: it lacks events that were erased meanwhile.
	isReplaced bool
}

// read calls read with the rows of the group and the range of the chunk.
func (s *sealedChunk) read(read func(r *segment.Rows, first, n int) error) error {
	return withFile(s.files, s.name, func(file *segment.File) error {
		if file.Name() != s.name {
			if err := s.find(file); err != nil {
				return err
			}
		}
		rows := file.Rows(s.group)
		defer func() { _ = rows.Close() }()
		return read(rows, s.first, s.len)
	})
}

// find finds the rows of the chunk in a file that has replaced the one that was listed.
func (s *sealedChunk) find(file *segment.File) error {
	group, ok := groupWith(file, s.ids)
	if !ok {
		return errNoRows
	}
	rows := file.Rows(group)
	defer func() { _ = rows.Close() }()
	first, _, err := rows.Find(s.ids.first)
	if err != nil {
		return err
	}
	end, _, err := rows.Find(s.ids.last + 1)
	if err != nil {
		return err
	}
	s.name, s.group, s.first, s.len, s.isReplaced = file.Name(), group, first, end-first, true
	if s.len == 0 {
		return errNoRows
	}
	return nil
}

// pagesAhead is the number of pages of properties in a chunk of a segment if all events of a range
// are read. A page has about block.ChunkBytes.
const pagesAhead = 8

// sealedChunks returns the chunks of a group of a segment that overlap a range of ids. The list is empty
// if the events of the group were erased meanwhile.
func sealedChunks(q Source, s *storedSegment, ids segment.Group, u unit) (out []storedChunk, err error) {
	err = withFile(q.Files, s.name, func(file *segment.File) (err error) {
		out, err = chunksIn(q, s.project, file, ids, u)
		return err
	})
	return out, err
}

// chunksIn implements sealedChunks for the file of the segment, or for the one that has replaced it, whose
// group may have events of other groups.
func chunksIn(q Source, project int64, file *segment.File, ids segment.Group, u unit) (out []storedChunk, err error) {
	group, ok := groupWith(file, unit{ids.FirstID, ids.LastID})
	if !ok {
		return nil, nil
	}
	pages, err := file.Pages(group)
	if err != nil {
		return nil, err
	}
	var c block.Columns
	if err := file.Names(group, &c); err != nil {
		return nil, err
	}
	begin, _ := slices.BinarySearch(c.IDs, ids.FirstID)
	limit, _ := slices.BinarySearch(c.IDs, ids.LastID+1)
	for part := range slices.Chunk(pages, pagesAhead) {
		first, end := part[0].First, part[len(part)-1].End
		if first >= end || end > len(c.IDs) {
			return nil, block.ErrDamaged
		}
		if first, end = max(first, begin), min(end, limit); first >= end {
			continue
		}
		chunk := storedChunk{project: project, unit: unit{c.IDs[first], c.IDs[end-1]}}
		chunk.sealed = &sealedChunk{files: q.Files, name: file.Name(), ids: chunk.unit, group: group, first: first, len: end - first}
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
// segment. No chunk is in memory afterwards if no sealed events are in the range.
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
			err = r.loadSingle(q, s, u.first, parts)
		} else {
			r.chunks, err = sealedChunks(q, s, groups[group], u)
		}
		if err != nil || len(r.chunks) > 0 {
			return err
		}
	}
	return nil
}

// loadSingle replaces the chunks in memory by one of the event with an id, of which it decodes the
// requested parts, or by an empty list if the segment has no such event.
func (r *Chunks) loadSingle(q Source, s *storedSegment, id int64, parts chunkParts) error {
	return withFile(q.Files, s.name, func(file *segment.File) error {
		c := &sealedChunk{files: q.Files, name: file.Name(), ids: unit{id, id}, len: 1}
		group, ok := groupWith(file, c.ids)
		if !ok {
			return nil
		}
		rows := file.Rows(group)
		defer func() { _ = rows.Close() }()
		row, ok, err := rows.Find(id)
		if !ok || err != nil {
			return err
		}
		c.group, c.first = group, row
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
func groupsOf(q Source, s *storedSegment) (groups []segment.Group, err error) {
	err = withFile(q.Files, s.name, func(file *segment.File) error {
		groups = file.Groups()
		return nil
	})
	return groups, err
}
