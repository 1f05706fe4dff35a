package events

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// chunkParts are the columns of chunks that are read.
type chunkParts int

const (
	withShort chunkParts = 1 << iota
	withLong
)

// Chunks reads events from chunks. It has the chunks of one statement in memory, with at most
// database.PieceBytes and one chunk before compression, one of which is decoded. The zero value is
// ready to use.
type Chunks struct {
	project int64
	parts   chunkParts
	chunks  []storedChunk
	// short and long are the decoded columns of the chunks with the indexes shortAt and longAt,
	// which are -1 if no chunk is decoded.
	short           block.Columns
	long            block.Chunk
	shortAt, longAt int
	// lastAt is the index in long of the event that was found last, or -1.
	lastAt int
	// erased are events of the chunks that are erased and still in a segment.
	erased map[int64]bool
	// bytes is the total size of the long columns that were decoded. If isReused is true, the strings of a
	// chunk are valid only until the next one is decoded.
	bytes    int
	isReused bool
	// older reads events that are not converted.
	older olderReader
}

// chunksAhead is the number of chunks that one statement reads if all of them are needed.
const chunksAhead = 256

// Long returns the long columns of an event. The caller intends to read events of the same project
// up to the id upTo next, each of them if it is one of many. The strings share the memory of a
// chunk. ok is false if the event is not stored any more. It is an error if it is in a block, but
// in no chunk.
func (r *Chunks) Long(ctx context.Context, q Source, project, id, upTo int64) (c LongColumns, ok bool, err error) {
	i, err := r.findLong(ctx, q, project, id, upTo)
	if i < 0 || err != nil {
		return c, false, err
	}
	return r.longOf(i), true, nil
}

// findLong is like Long, but returns the index of the event in the decoded chunk, or -1.
func (r *Chunks) findLong(ctx context.Context, q Source, project, id, upTo int64) (int, error) {
	if i, ok := r.next(project, id); ok {
		return i, nil
	}
	at, err := r.find(ctx, q, project, id, upTo, withLong)
	if at >= 0 && err == nil {
		if err = r.decodeLong(at); err == nil {
			if i, ok := slices.BinarySearch(r.long.IDs, id); ok && !r.erased[id] {
				r.lastAt = i
				return i, nil
			}
		}
	}
	if err == nil {
		err = checkErased(ctx, q, project, id)
	}
	return -1, err
}

// nextEvents is the number of events in which next searches.
const nextEvents = 8

// next returns the index of an event in the decoded chunk if it is one of the next after the last one.
func (r *Chunks) next(project, id int64) (int, bool) {
	if r.project != project || r.longAt < 0 {
		return 0, false
	}
	ids := r.long.IDs
	for i := r.lastAt + 1; i < len(ids) && i <= r.lastAt+nextEvents; i++ {
		if ids[i] == id {
			r.lastAt = i
			return i, !r.erased[id]
		}
	}
	return 0, false
}

// Record returns an event like Long. It does not share the memory of a chunk.
func (r *Chunks) Record(ctx context.Context, q Source, project, id, upTo int64) (e capture.Record, ok bool, err error) {
	short, ok, err := r.event(ctx, q, project, id, upTo, withShort|withLong)
	if !ok && err == nil {
		err = checkErased(ctx, q, project, id)
	}
	if !ok || err != nil {
		return e, false, err
	}
	long, ok, err := r.Long(ctx, q, project, id, upTo)
	if !ok || err != nil {
		return e, false, err
	}
	return recordOf(project, &short, &long), true, nil
}

// event returns the short columns of an event like Long, but does not check whether it is in a block.
// They share the memory of a chunk.
func (r *Chunks) event(ctx context.Context, q Source, project, id, upTo int64, parts chunkParts) (e block.Event, ok bool, err error) {
	at, err := r.find(ctx, q, project, id, upTo, parts)
	if at >= 0 && err == nil {
		if err = r.decodeShort(at); err == nil {
			if i, ok := slices.BinarySearch(r.short.IDs, id); ok && !r.erased[id] {
				return r.short.Event(i), true, nil
			}
		}
	}
	return e, false, err
}

// recordOf returns an event of a project that does not share the memory of a chunk.
func recordOf(project int64, e *block.Event, long *LongColumns) capture.Record {
	c := long.Clone()
	return capture.Record{
		ID: e.ID, ProjectID: project, UUID: e.UUID, Name: strings.Clone(e.Name), DistinctID: strings.Clone(e.DistinctID),
		Timestamp: database.FromMicros(e.Time), CreatedAt: database.FromMicros(e.Arrived),
		PersonID: e.Person, PersonCreatedAt: database.FromMicros(e.PersonCreated), PersonMode: e.Mode, Historical: e.Historical,
		ElementsChain: c.Elements, Properties: c.Properties, PersonProperties: c.Person,
	}
}

// checkErased returns an error if an event that is in no chunk is in a block. An event is erased
// from both in one transaction.
func checkErased(ctx context.Context, q Source, project, id int64) error {
	blocks, err := readBlocks(ctx, q, project, unit{id, id}, 0)
	if err != nil {
		return err
	}
	return (&blockDecoder{}).each(blocks, func(_ *encodedBlock, c *block.Columns, _ int) error {
		if slices.Contains(c.IDs, id) {
			return fmt.Errorf("event %d of project %d is in no chunk: %w", id, project, block.ErrDamaged)
		}
		return nil
	})
}

// find returns the index of the chunk whose range has an id, which it reads unless it is in memory,
// or -1.
func (r *Chunks) find(ctx context.Context, q Source, project, id, upTo int64, parts chunkParts) (at int, err error) {
	search := func() int {
		at, found := slices.BinarySearchFunc(r.chunks, id, func(c storedChunk, id int64) int {
			switch {
			case c.last < id:
				return -1
			case c.first > id:
				return 1
			}
			return 0
		})
		if !found {
			return -1
		}
		return at
	}
	if r.project == project && r.parts&parts == parts {
		if at := search(); at >= 0 {
			return at, nil
		}
	}
	n := 1
	if upTo > id {
		n = chunksAhead
	}
	if err := r.load(ctx, q, project, id, max(id, upTo), n, parts); err != nil {
		return -1, err
	}
	return search(), nil
}

// load replaces the chunks in memory by those of a project from the one that has an id on, up to
// the one that has the id upTo: at most n of them, and no further ones after database.PieceBytes.
func (r *Chunks) load(ctx context.Context, q Source, project, id, upTo int64, n int, parts chunkParts) error {
	clear(r.chunks)
	r.project, r.parts, r.chunks, r.shortAt, r.longAt, r.lastAt, r.erased = project, parts, r.chunks[:0], -1, -1, -1, nil
	if list, err := r.older.read(ctx, q, project, unit{id, upTo}, n); err != nil || len(list) > 0 {
		r.parts, r.chunks = withShort|withLong, list
		return err
	}
	if err := r.loadSealed(ctx, q, unit{id, upTo}, parts); err != nil || len(r.chunks) > 0 {
		return err
	}
	columns := [...]string{"NULL, NULL", "short, NULL", "NULL, data", "short, data"}[parts]
	var held database.ByteLimit
	err := eachRow(ctx, q.Querier, func(row []driver.Value) error {
		c := storedChunk{project: project, unit: unit{row[0].(int64), row[1].(int64)}, size: int(row[2].(int64))}
		c.short, _ = row[3].([]byte)
		c.data, _ = row[4].([]byte)
		r.chunks = append(r.chunks, c)
		return held.Hold(c.size)
	}, fmt.Sprintf(`SELECT first_id, last_id, size, %s FROM event_chunks WHERE project_id = $1 AND %s AND last_id >= $2 AND first_id <= $3 ORDER BY first_id LIMIT %d`, columns, fromChunk, n), project, id, upTo)
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	if err == nil && (len(r.chunks) == 0 || r.chunks[0].first > id) { // they may have been sealed meanwhile
		found := r.chunks
		r.chunks = nil
		if err = r.loadSealed(ctx, q, unit{id, upTo}, parts); len(r.chunks) == 0 {
			r.chunks = found
		}
	}
	return err
}

// decodeLong decodes the long columns of a chunk in memory, decodeShort its short columns.
func (r *Chunks) decodeLong(at int) error {
	if r.longAt == at {
		return nil
	}
	r.longAt, r.lastAt = -1, -1
	if err := r.chunks[at].decode(&r.long, r.isReused); err != nil {
		return err
	}
	r.longAt = at
	r.bytes += r.chunks[at].size
	return nil
}

func (r *Chunks) decodeShort(at int) error {
	if r.shortAt == at {
		return nil
	}
	r.shortAt = -1
	if err := r.chunks[at].decodeShort(&r.short); err != nil {
		return err
	}
	r.shortAt = at
	return nil
}

// longOf returns the long columns of an event of the chunk that is decoded.
func (r *Chunks) longOf(i int) LongColumns {
	c := &r.long
	return LongColumns{c.Elements[i], c.Properties[i], c.States[c.StateOf[i]]}
}

// Each calls visit for the events of a project with after < id <= upTo, in their order. long returns
// the long columns. The strings share the memory of a chunk.
func (r *Chunks) Each(ctx context.Context, q Source, project, after, upTo int64, visit func(e *block.Event, long func() (LongColumns, error)) error) error {
	return r.each(ctx, q, project, after, upTo, withShort|withLong, visit)
}

// each implements Each. Without withLong, long must not be called.
func (r *Chunks) each(ctx context.Context, q Source, project, after, upTo int64, parts chunkParts, visit func(e *block.Event, long func() (LongColumns, error)) error) error {
	for n := 1; after < upTo; n = min(2*n, chunksAhead) {
		if err := r.load(ctx, q, project, after+1, upTo, n, parts); err != nil {
			return err
		}
		if len(r.chunks) == 0 {
			return nil
		}
		last := r.chunks[len(r.chunks)-1].last
		for at := range r.chunks {
			if err := r.visit(at, after, upTo, visit); err != nil {
				return err
			}
		}
		after = last
	}
	return nil
}

// visit implements each for a chunk in memory.
func (r *Chunks) visit(at int, after, upTo int64, visit func(e *block.Event, long func() (LongColumns, error)) error) error {
	if err := r.decodeShort(at); err != nil {
		return err
	}
	for i, id := range r.short.IDs {
		if id <= after || id > upTo || r.erased[id] {
			continue
		}
		e := r.short.Event(i)
		err := visit(&e, func() (LongColumns, error) { return r.longAfterShort(at, i, id) })
		if err != nil && !errors.Is(err, errErased) {
			return err
		}
	}
	return nil
}

// errErased is the error for an event that was erased since its short columns were decoded.
var errErased = errors.New("the event was erased meanwhile")

// longAfterShort returns the long columns of an event of a chunk, whose short columns have it at i.
func (r *Chunks) longAfterShort(at, i int, id int64) (c LongColumns, err error) {
	if err := r.decodeLong(at); err != nil {
		return c, err
	}
	if r.chunks[at].isReplaced() {
		found := false
		if i, found = slices.BinarySearch(r.long.IDs, id); !found {
			return c, errErased
		}
	}
	if i >= len(r.long.IDs) || r.long.IDs[i] != id {
		return c, r.chunks[at].wrap(block.ErrDamaged)
	}
	return r.longOf(i), nil
}

// fewEvents is the part of the ids of a range below which its events are few: one in 64. Then many
// of the chunks of the range contain no such event.
const fewEvents = 64

// readRecords reads events of a project, whose ids ascend, into found by id. Events that are erased are left
// out.
func readRecords(ctx context.Context, q Source, project int64, ids []int64, found map[int64]capture.Record) error {
	if len(ids) == 0 {
		return nil
	}
	last := ids[len(ids)-1]
	if last-ids[0] > fewEvents*int64(len(ids)) {
		last = 0
	}
	var c Chunks
	for _, id := range ids {
		e, ok, err := c.Record(ctx, q, project, id, last)
		if err != nil {
			return err
		}
		if ok {
			found[id] = e
		}
	}
	return nil
}
