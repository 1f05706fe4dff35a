package events

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/capture"
)

// LongColumns are the long columns of an event. Person are the properties of the person after the
// event.
type LongColumns struct{ Elements, Properties, Person string }

// Size returns the length of the columns in bytes.
func (c *LongColumns) Size() int { return len(c.Elements) + len(c.Properties) + len(c.Person) }

// Clone returns a copy that does not share the memory of the chunk.
func (c *LongColumns) Clone() LongColumns {
	return LongColumns{strings.Clone(c.Elements), strings.Clone(c.Properties), strings.Clone(c.Person)}
}

// storedChunk is a chunk: the events of a project in a range of ids. short has their short columns
// and data their long ones; they are nil if they were not requested.
type storedChunk struct {
	project int64
	unit
	size        int // of the long columns before compression
	short, data []byte
	// sealed is where the events are if they are in a segment, and nil otherwise.
	sealed *sealedChunk
}

// decode decodes the long columns and reuses the memory of c, if isReused is true also that of strings. There
// are no columns if all events of a sealed chunk were erased meanwhile.
func (s *storedChunk) decode(c *block.Chunk, isReused bool) (err error) {
	switch {
	case s.sealed != nil:
		err = s.sealed.read(func(r *segment.Rows, first, n int) error { return r.Long(first, n, c) })
		if errors.Is(err, errNoRows) {
			*c, err = block.Chunk{}, nil
		}
	case isReused:
		err = c.DecodeReused(s.data)
	default:
		err = c.Decode(s.data)
	}
	if err != nil {
		return s.wrap(err)
	}
	return nil
}

// decodeShort decodes the short columns and reuses the memory of c.
func (s *storedChunk) decodeShort(c *block.Columns) (err error) {
	if s.sealed != nil {
		err = s.sealed.read(func(r *segment.Rows, first, n int) error { return r.Short(first, n, c) })
		if errors.Is(err, errNoRows) {
			*c, err = block.Columns{}, nil
		}
	} else {
		err = c.DecodeShort(s.short)
	}
	if err != nil {
		return s.wrap(err)
	}
	return nil
}

// isReplaced reports whether the chunk is in a segment whose file was replaced since it was listed: its
// columns lack the events that were erased meanwhile.
func (s *storedChunk) isReplaced() bool { return s.sealed != nil && s.sealed.isReplaced }

// wrap adds the name of the chunk to an error.
func (s *storedChunk) wrap(err error) error {
	return fmt.Errorf("the chunk of the events %d to %d of project %d: %w", s.first, s.last, s.project, err)
}

// chunkWriter encodes a chunk.
type chunkWriter struct {
	long  block.ChunkWriter
	short block.Writer
	// encoded is the memory of encoded chunks that are not stored yet.
	encoded []byte
}

// chunkWriters keeps the memory of chunks between transactions.
var chunkWriters = sync.Pool{New: func() any { return &chunkWriter{} }}

// encodedChunk is a chunk that is not stored yet.
type encodedChunk struct {
	storedChunk
	block.Bounds
}

// end encodes the events of a project that were added as a chunk, and removes them.
func (w *chunkWriter) end(project int64) encodedChunk {
	c := encodedChunk{storedChunk{project: project, size: w.long.Size()}, w.short.Bounds()}
	c.first, c.last = c.FirstID, c.LastID
	first := len(w.encoded)
	w.encoded = w.short.Short(w.encoded)
	middle := len(w.encoded)
	w.encoded = w.long.Encode(w.encoded)
	c.short, c.data = w.encoded[first:middle:middle], w.encoded[middle:len(w.encoded):len(w.encoded)]
	w.long.Reset()
	w.short.Reset()
	return c
}

// chunkSaver stores events as chunks.
type chunkSaver struct {
	t       *database.Tx
	project int64
	w       *chunkWriter
	// isNew is true if the events are in no block yet.
	isNew bool
	// rows are chunks that are not stored yet, and bytes their length.
	rows  []encodedChunk
	bytes int
	// chunks is the number of all chunks.
	chunks int
}

// newChunkSaver returns a saver, which must be closed. If isNew is true, the events are in no block
// yet.
func newChunkSaver(t *database.Tx, isNew bool) *chunkSaver {
	return &chunkSaver{t: t, w: chunkWriters.Get().(*chunkWriter), isNew: isNew}
}

// add appends an event. Events of a project must be added in the order of their ids, and may only
// be followed by other projects' events after flush.
func (s *chunkSaver) add(project int64, e *block.Event, long LongColumns) error {
	if s.project != project || !s.w.long.HasRoom(long.Size()) {
		if err := s.flush(); err != nil {
			return err
		}
		s.project = project
	}
	s.w.long.Add(e.ID, long.Elements, long.Properties, long.Person)
	s.w.short.Add(e)
	return nil
}

// savedBytes is the length of chunks from which they are stored.
const savedBytes = 1 << 20

// flush ends a chunk.
func (s *chunkSaver) flush() error {
	if s.w.long.Len() == 0 {
		return nil
	}
	c := s.w.end(s.project)
	if c.size > block.ChunkBytes { // release the memory of large events
		s.w = &chunkWriter{}
	}
	s.rows = append(s.rows, c)
	s.chunks++
	if s.bytes += len(c.short) + len(c.data); s.bytes < savedBytes {
		return nil
	}
	return s.store()
}

var (
	insertChunks    = database.NewInsert(`INSERT INTO event_chunks (first_id, project_id, last_id, events, size, short, data)`, 7, "")
	insertNewChunks = database.NewInsert(`INSERT INTO event_new_chunks (first_id, project_id, last_id, events, first_time, last_time)`, 6, "")
)

// store stores the chunks that are ended.
func (s *chunkSaver) store() error {
	err := s.t.Insert(&insertChunks, len(s.rows), func(args []any, i int) []any {
		c := &s.rows[i]
		return append(args, c.first, c.project, c.last, c.Events, c.size, c.short, c.data)
	})
	if err == nil && s.isNew {
		err = s.t.Insert(&insertNewChunks, len(s.rows), func(args []any, i int) []any {
			c := &s.rows[i]
			return append(args, c.first, c.project, c.last, c.Events, c.FirstTime, c.LastTime)
		})
	}
	clear(s.rows)
	s.rows, s.bytes = s.rows[:0], 0
	s.w.encoded = s.w.encoded[:0]
	return err
}

// close stores the remaining events and releases the memory.
func (s *chunkSaver) close() error {
	err := s.flush()
	if err == nil {
		err = s.store()
	}
	s.w.long.Reset()
	s.w.short.Reset()
	chunkWriters.Put(s.w)
	s.w = nil
	return err
}

// shortOf returns the short columns of an event.
func shortOf(e *capture.Record) block.Event {
	return block.Event{
		ID: e.ID, Time: database.Micros(e.Timestamp), Arrived: database.Micros(e.CreatedAt), Name: e.Name, DistinctID: e.DistinctID,
		UUID: e.UUID, Person: e.PersonID, PersonCreated: database.Micros(e.PersonCreatedAt), Mode: e.PersonMode, Historical: e.Historical,
	}
}

// Save stores events, which are in the order of their ids and in no block yet, and returns the
// number of chunks.
func Save(t *database.Tx, events []capture.Record) (chunks int, err error) {
	return saveEvents(t, events, true)
}

// saveEvents implements Save. If isNew is false, the events are in blocks.
func saveEvents(t *database.Tx, events []capture.Record, isNew bool) (chunks int, err error) {
	order := make([]*capture.Record, len(events))
	for i := range events {
		order[i] = &events[i]
	}
	slices.SortStableFunc(order, func(a, b *capture.Record) int { return cmp.Compare(a.ProjectID, b.ProjectID) })
	s := newChunkSaver(t, isNew)
	defer func() {
		err = errors.Join(err, s.close())
		chunks = s.chunks
	}()
	for _, e := range order {
		short := shortOf(e)
		if err := s.add(e.ProjectID, &short, LongColumns{e.ElementsChain, e.Properties, cmp.Or(e.PersonProperties, "{}")}); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// rewriteChunks replaces chunks of a project that follow one another by chunks with the same events
// except for the erased events. It has some chunks in memory at a time.
func rewriteChunks(t *database.Tx, chunks []storedChunk, erased map[int64]bool) (err error) {
	s := newChunkSaver(t, false)
	defer func() { err = errors.Join(err, s.close()) }()
	for len(chunks) > 0 {
		n, size := 0, 0
		for ; n < len(chunks) && (n == 0 || size+chunks[n].size <= savedBytes); n++ {
			size += chunks[n].size
		}
		if err := rewriteSome(s, chunks[0].project, unit{chunks[0].first, chunks[n-1].first}, erased); err != nil {
			return err
		}
		chunks = chunks[n:]
	}
	return nil
}

// rewriteSome deletes the chunks of a project whose first ids are in a range, and adds their events
// except for the erased events to a saver.
func rewriteSome(s *chunkSaver, project int64, u unit, erased map[int64]bool) error {
	const which = ` FROM event_chunks WHERE project_id = $1 AND first_id >= $2 AND first_id <= $3`
	list, err := database.List(s.t.Ctx, s.t.SQL, func(c *storedChunk) []any {
		c.project = project
		return []any{&c.first, &c.last, &c.short, &c.data}
	}, `SELECT first_id, last_id, short, data`+which+` ORDER BY first_id`, project, u.first, u.last)
	if err != nil {
		return err
	}
	if _, err := s.t.Exec(`DELETE`+which, project, u.first, u.last); err != nil {
		return err
	}
	var d chunkDecoder
	for i := range list {
		if err := d.decode(&list[i]); err != nil {
			return err
		}
		list[i].short, list[i].data = nil, nil
		for i, id := range d.short.IDs {
			if erased[id] {
				continue
			}
			e := d.short.Event(i)
			if err := s.add(project, &e, d.long(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// chunkDecoder has the reusable memory of a decoded chunk.
type chunkDecoder struct {
	short block.Columns
	chunk block.Chunk
}

// decode decodes a chunk.
func (d *chunkDecoder) decode(c *storedChunk) error {
	if err := c.decodeShort(&d.short); err != nil {
		return err
	}
	if err := c.decode(&d.chunk, false); err != nil {
		return err
	}
	if c.isReplaced() { // perhaps since the short columns were decoded
		if err := c.decodeShort(&d.short); err != nil {
			return err
		}
	}
	if !slices.Equal(d.short.IDs, d.chunk.IDs) {
		return c.wrap(block.ErrDamaged)
	}
	return nil
}

// long returns the long columns of an event of the chunk.
func (d *chunkDecoder) long(i int) LongColumns {
	return LongColumns{d.chunk.Elements[i], d.chunk.Properties[i], d.chunk.States[d.chunk.StateOf[i]]}
}

// fromChunk is the condition that a chunk is not before the one that contains the id $2.
const fromChunk = `first_id >= COALESCE((SELECT MAX(first_id) FROM event_chunks WHERE project_id = $1 AND first_id <= $2), 0)`

// eraseFromChunks removes the long columns of events of a project from its chunks, each chunk on
// its own.
func eraseFromChunks(t *database.Tx, project int64, erased map[int64]bool) error {
	ids := make([]int64, 0, len(erased))
	for id := range erased {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for len(ids) > 0 {
		found, err := database.List(t.Ctx, t.SQL, func(c *storedChunk) []any {
			c.project = project
			return []any{&c.first, &c.last, &c.size}
		}, `SELECT first_id, last_id, size FROM event_chunks WHERE project_id = $1 AND `+fromChunk+` ORDER BY first_id LIMIT 1`, project, ids[0])
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return nil
		}
		if err := rewriteChunks(t, found, erased); err != nil {
			return err
		}
		n, _ := slices.BinarySearch(ids, found[0].last+1)
		ids = ids[max(n, 1):]
	}
	return nil
}
