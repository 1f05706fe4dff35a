package events

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// storedChunk is a chunk: the long columns of the events of a project in a range of ids. data is
// nil if it was not requested.
type storedChunk struct {
	project int64
	unit
	size int // before compression
	data []byte
}

// decode decodes the chunk and reuses the memory of c.
func (s *storedChunk) decode(c *block.Chunk) error {
	if err := c.Decode(s.data); err != nil {
		return s.wrap(err)
	}
	return nil
}

// wrap adds the name of the chunk to an error.
func (s *storedChunk) wrap(err error) error {
	return fmt.Errorf("the chunk of the events %d to %d of project %d: %w", s.first, s.last, s.project, err)
}

// chunkWriters keeps the memory of chunks between transactions.
var chunkWriters = sync.Pool{New: func() any { return &block.ChunkWriter{} }}

// chunkSaver stores the long columns of events as chunks.
type chunkSaver struct {
	t       *database.Tx
	project int64
	w       *block.ChunkWriter
}

// newChunkSaver returns a saver, which must be closed.
func newChunkSaver(t *database.Tx) *chunkSaver {
	return &chunkSaver{t: t, w: chunkWriters.Get().(*block.ChunkWriter)}
}

// add appends an event. Events of a project must be added in the order of their ids, and may only
// be followed by other projects' events after flush.
func (s *chunkSaver) add(project, id int64, elements, properties, person string) error {
	if s.project != project || !s.w.HasRoom(len(elements)+len(properties)+len(person)) {
		if err := s.flush(); err != nil {
			return err
		}
		s.project = project
	}
	s.w.Add(id, elements, properties, person)
	return nil
}

// flush stores the events that were added since the last chunk.
func (s *chunkSaver) flush() error {
	if s.w.Len() == 0 {
		return nil
	}
	first, last := s.w.IDs()
	size := s.w.Size()
	_, err := s.t.Exec(`INSERT INTO event_chunks (first_id, project_id, last_id, size, data) VALUES ($1, $2, $3, $4, $5)`, first, s.project, last, size, s.w.Encode())
	s.w.Reset()
	if size > block.ChunkBytes { // release the memory of large events
		s.w = &block.ChunkWriter{}
	}
	return err
}

// close stores the remaining events and releases the memory.
func (s *chunkSaver) close() error {
	err := s.flush()
	s.w.Reset()
	chunkWriters.Put(s.w)
	s.w = nil
	return err
}

// SaveChunks stores the long columns of events, which are in the order of their ids.
func SaveChunks(t *database.Tx, events []capture.Record) (err error) {
	order := make([]*capture.Record, len(events))
	for i := range events {
		order[i] = &events[i]
	}
	slices.SortStableFunc(order, func(a, b *capture.Record) int { return cmp.Compare(a.ProjectID, b.ProjectID) })
	s := newChunkSaver(t)
	defer func() { err = errors.Join(err, s.close()) }()
	for _, e := range order {
		if err := s.add(e.ProjectID, e.ID, e.ElementsChain, e.Properties, cmp.Or(e.PersonProperties, "{}")); err != nil {
			return err
		}
	}
	return nil
}

// smallChunk is the size below which chunks are merged.
const smallChunk = block.ChunkBytes / 2

// mergeChunks merges the small chunks of a project that follow one another and were stored after
// an id, and older chunks before them. An older chunk is merged only with at least half as many
// bytes of newer events, so that an event is rewritten a logarithmic number of times.
func mergeChunks(t *database.Tx, project, after, upTo int64) error {
	var runs [][]storedChunk
	var run []storedChunk // from the last one to the first
	size := 0
	end := func() {
		if len(run) > 1 {
			runs = append(runs, run)
		}
		run, size = nil, 0
	}
	err := database.Query(t.Ctx, t.SQL, func(rows *sql.Rows) error {
		c := storedChunk{project: project}
		if err := rows.Scan(&c.first, &c.last, &c.size); err != nil {
			return err
		}
		isOld := c.last <= after
		switch {
		case isOld && (c.size >= smallChunk || c.size > 2*size):
			return database.ErrPageFull
		case c.size >= smallChunk:
			end()
		default:
			run, size = append(run, c), size+c.size
		}
		return nil
	}, `SELECT first_id, last_id, size FROM event_chunks WHERE project_id = $1 AND first_id <= $2 ORDER BY first_id DESC`, project, upTo)
	if err != nil && !errors.Is(err, database.ErrPageFull) {
		return err
	}
	end()
	for _, run := range runs {
		slices.Reverse(run)
		if err := rewriteChunks(t, run, nil); err != nil {
			return err
		}
	}
	return nil
}

// rewriteChunks replaces chunks of a project, in order, by chunks with the same events except for
// the erased events. It reads one chunk at a time.
func rewriteChunks(t *database.Tx, chunks []storedChunk, erased map[int64]bool) (err error) {
	s := newChunkSaver(t)
	defer func() { err = errors.Join(err, s.close()) }()
	var c block.Chunk
	for i := range chunks {
		x := &chunks[i]
		if err := t.SQL.QueryRowContext(t.Ctx, `SELECT data FROM event_chunks WHERE first_id = $1`, x.first).Scan(&x.data); err != nil {
			return err
		}
		if err := x.decode(&c); err != nil {
			return err
		}
		x.data = nil
		if _, err := t.Exec(`DELETE FROM event_chunks WHERE first_id = $1`, x.first); err != nil {
			return err
		}
		for i, id := range c.IDs {
			if erased[id] {
				continue
			}
			if err := s.add(x.project, id, c.Elements[i], c.Properties[i], c.States[c.StateOf[i]]); err != nil {
				return err
			}
		}
	}
	return nil
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
			return []any{&c.first, &c.last}
		}, `SELECT first_id, last_id FROM event_chunks WHERE project_id = $1 AND `+fromChunk+` ORDER BY first_id LIMIT 1`, project, ids[0])
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

// deleteFromChunks removes the long columns of events with ids up to last from the chunks of a
// project.
func deleteFromChunks(t *database.Tx, project, last int64, ids map[int64]bool) error {
	found, err := database.List(t.Ctx, t.SQL, func(c *storedChunk) []any {
		c.project = project
		return []any{&c.first, &c.last}
	}, `SELECT first_id, last_id FROM event_chunks WHERE project_id = $1 AND first_id <= $2 ORDER BY first_id`, project, last)
	if err != nil {
		return err
	}
	return rewriteChunks(t, found, ids)
}

// checkChunks decodes all chunks and compares the ids of their events with the rows. It returns
// descriptions of the damage, at most limit.
func checkChunks(ctx context.Context, q database.Querier, limit int) (faults []string, err error) {
	var chunk block.Chunk
	var n, sum int64
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var c storedChunk
		if err := rows.Scan(&c.project, &c.first, &c.last, &c.data); err != nil || len(faults) == limit {
			return err
		}
		err := c.decode(&chunk)
		if ids := chunk.IDs; err == nil && (len(ids) == 0 || ids[0] != c.first || ids[len(ids)-1] != c.last) {
			err = c.wrap(block.ErrDamaged)
		}
		if err != nil {
			faults = append(faults, err.Error())
			return nil
		}
		for _, id := range chunk.IDs {
			n, sum = n+1, sum+id
		}
		return nil
	}, `SELECT project_id, first_id, last_id, data FROM event_chunks ORDER BY first_id`)
	if err != nil || len(faults) > 0 {
		return faults, err
	}
	var rows, rowsSum int64
	err = q.QueryRowContext(ctx, `SELECT COUNT(*), CAST(COALESCE(SUM(id), 0) AS BIGINT) FROM events`).Scan(&rows, &rowsSum)
	if err == nil && (rows != n || rowsSum != sum) {
		faults = append(faults, fmt.Sprintf("%d events are in chunks, which should have %d", n, rows))
	}
	return faults, err
}
