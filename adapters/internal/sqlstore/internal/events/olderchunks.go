package events

import (
	"cmp"
	"context"
	"slices"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// encodeOlder returns events of a project as chunks.
func encodeOlder(project int64, list []capture.Record) (chunks []storedChunk) {
	w := chunkWriters.Get().(*chunkWriter)
	for i := range list {
		e := &list[i]
		short, long := shortOf(e), LongColumns{e.ElementsChain, e.Properties, cmp.Or(e.PersonProperties, "{}")}
		if !w.long.HasRoom(long.Size()) {
			chunks = append(chunks, w.end(project).storedChunk)
		}
		w.long.Add(e.ID, long.Elements, long.Properties, long.Person)
		w.short.Add(&short)
	}
	chunks = append(chunks, w.end(project).storedChunk)
	w.encoded = nil // the chunks have it
	chunkWriters.Put(w)
	return chunks
}

const (
	// olderStep is the maximum number of events that one statement reads.
	olderStep = 512
	// olderChunk is the number of events that are read instead of a chunk.
	olderChunk = 8
)

// olderIDs are the ids of the events of a block.
type olderIDs struct {
	unit
	ids []int64
}

// within returns the ids of the block that are in a range, at most n of them.
func (o *olderIDs) within(u unit, n int) []int64 {
	from, _ := slices.BinarySearch(o.ids, u.first)
	to, _ := slices.BinarySearch(o.ids, u.last+1)
	return o.ids[from:min(to, from+n)]
}

// readOlderIDs reads the ids of the events of a project of the first block that has some in a range, or, if isLast is
// true, of the last one.
func readOlderIDs(ctx context.Context, q Source, project int64, u unit, isLast bool) (out olderIDs, err error) {
	order := `first_id`
	if isLast {
		order += ` DESC`
	}
	for u.first <= u.last {
		found, err := database.List(ctx, q, func(b *unit) []any { return []any{&b.first, &b.last} },
			`SELECT first_id, last_id FROM event_blocks WHERE project_id = $1 AND `+fromBlock+` AND last_id >= $2 AND first_id <= $3 ORDER BY `+order+` LIMIT 1`, project, u.first, u.last)
		if err != nil || len(found) == 0 {
			return olderIDs{}, err
		}
		out.unit = found[0]
		blocks, err := readBlocks(ctx, q, project, out.unit, 0)
		if err != nil {
			return olderIDs{}, err
		}
		out.ids = nil
		err = (&blockDecoder{}).each(blocks, func(_ *encodedBlock, c *block.Columns, _ int) error {
			out.ids = append(out.ids, c.IDs...)
			return nil
		})
		if err != nil || len(out.within(u, 1)) > 0 {
			return out, err
		}
		if isLast {
			u.last = out.first - 1
		} else {
			u.first = out.last + 1
		}
	}
	return olderIDs{}, nil
}

// olderReader reads events that are not converted as chunks. The zero value is ready to use.
type olderReader struct {
	project int64
	olderIDs
}

// read returns the first events of a project in a range that are not converted: of a range of several ids, about as many as are in n
// chunks.
func (r *olderReader) read(ctx context.Context, q Source, project int64, u unit, n int) (_ []storedChunk, err error) {
	if q.older == nil || u.first > q.older.last.Load() {
		return nil, nil
	}
	ids := []int64{u.first}
	if u.last > u.first {
		u.last = min(u.last, q.older.last.Load())
		limit := min(olderStep, n*olderChunk)
		if ids = nil; r.project == project && u.first >= r.first && u.first <= r.last {
			ids = r.within(u, limit)
		}
		if len(ids) == 0 {
			r.project = project
			if r.olderIDs, err = readOlderIDs(ctx, q, project, u, false); err != nil {
				return nil, err
			}
			if ids = r.within(u, limit); len(ids) == 0 {
				return nil, nil
			}
		}
	}
	list, err := q.older.records(ctx, q.Querier, project, ids)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return encodeOlder(project, list), nil
}
