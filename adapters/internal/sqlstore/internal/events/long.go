package events

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
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

// LongReader reads the long columns of events. It has the chunks of one statement in memory, with
// at most database.PieceBytes and one chunk before compression, one of which is decoded. The zero
// value is ready to use.
type LongReader struct {
	project int64
	chunks  []storedChunk
	current int // the index of the decoded chunk, or -1
	decoded block.Chunk
	// bytes is the total size of the chunks that were decoded.
	bytes int
}

// chunksAhead is the number of chunks that one statement reads if all of them are needed.
const chunksAhead = 256

// Read returns the long columns of an event. The caller intends to read events of the same
// project up to the id upTo next, each of them if it is one of many. The strings share the memory
// of a chunk. ok is false if the event is not stored any more. It is an error if it has a row, but
// is in no chunk.
func (r *LongReader) Read(ctx context.Context, q database.Querier, project, id, upTo int64) (c LongColumns, ok bool, err error) {
	at := r.find(project, id)
	if at < 0 {
		n := 1
		if upTo > id {
			n = chunksAhead
		}
		if err := r.load(ctx, q, project, id, max(id, upTo), n); err != nil {
			return c, false, err
		}
		at = r.find(project, id)
	}
	if at >= 0 {
		if c, ok, err = r.columns(at, id); ok || err != nil {
			return c, ok, err
		}
	}
	// The row and the part of the chunk are deleted in one transaction.
	var rows int
	err = q.QueryRowContext(ctx, `SELECT COUNT(*) FROM events WHERE id = $1 AND project_id = $2`, id, project).Scan(&rows)
	if err == nil && rows > 0 {
		err = fmt.Errorf("event %d of project %d is in no chunk: %w", id, project, block.ErrDamaged)
	}
	return c, false, err
}

// find returns the index of the chunk in memory whose range has an id, or -1.
func (r *LongReader) find(project, id int64) int {
	if r.project != project {
		return -1
	}
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

// columns returns the columns of an event of a chunk, which it decodes.
func (r *LongReader) columns(at int, id int64) (c LongColumns, ok bool, err error) {
	if r.current != at {
		r.current = -1
		if err := r.chunks[at].decode(&r.decoded); err != nil {
			return c, false, err
		}
		r.current = at
		r.bytes += r.chunks[at].size
	}
	d := &r.decoded
	i, ok := slices.BinarySearch(d.IDs, id)
	if !ok {
		return c, false, nil
	}
	return LongColumns{d.Elements[i], d.Properties[i], d.States[d.StateOf[i]]}, true, nil
}

// load replaces the chunks in memory by those of a project from the one that has an id on, up to
// the one that has the id upTo: at most n of them, and no further ones after database.PieceBytes.
func (r *LongReader) load(ctx context.Context, q database.Querier, project, id, upTo int64, n int) error {
	clear(r.chunks)
	r.project, r.chunks, r.current = project, r.chunks[:0], -1
	var held database.ByteLimit
	err := database.Query(ctx, q, func(rows *sql.Rows) error {
		c := storedChunk{project: project}
		if err := rows.Scan(&c.first, &c.last, &c.size, &c.data); err != nil {
			return err
		}
		r.chunks = append(r.chunks, c)
		return held.Hold(c.size)
	}, fmt.Sprintf(`SELECT first_id, last_id, size, data FROM event_chunks WHERE project_id = $1 AND %s AND first_id <= $3 ORDER BY first_id LIMIT %d`, fromChunk, n), project, id, upTo)
	if errors.Is(err, database.ErrPageFull) {
		return nil
	}
	return err
}

// last returns the last id of the chunks in memory, or 0.
func (r *LongReader) last() int64 {
	if len(r.chunks) == 0 {
		return 0
	}
	return r.chunks[len(r.chunks)-1].last
}

// shortFields are the columns of a row of events for shortInto.
const shortFields = `e.id, e.project_id, e.uuid, e.event, e.distinct_id, e.timestamp, e.created_at, e.person_uuid, e.person_created_at, e.person_mode, e.historical`

// shortInto returns the destinations of shortFields.
func shortInto(r *capture.Record) []any {
	return []any{
		&r.ID, &r.ProjectID, database.ScanUUID(&r.UUID), &r.Name, &r.DistinctID, database.ScanTime(&r.Timestamp), database.ScanTime(&r.CreatedAt),
		database.ScanUUID(&r.PersonID), database.ScanTime(&r.PersonCreatedAt), &r.PersonMode, &r.Historical,
	}
}

// fewEvents is the part of the ids of a range below which its events are few: one in 64. Then many
// of the chunks of the range contain no such event.
const fewEvents = 64

// readRecords reads the events that the rest of a statement on the rows e selects, in its order,
// with their long columns. Events that are erased meanwhile are left out.
func readRecords(ctx context.Context, q database.Querier, rest string, args ...any) ([]capture.Record, error) {
	found, err := database.List(ctx, q, shortInto, `SELECT `+shortFields+` FROM `+rest, args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	order := make([]*capture.Record, len(found))
	for i := range found {
		order[i] = &found[i]
	}
	slices.SortFunc(order, func(a, b *capture.Record) int {
		return cmp.Or(cmp.Compare(a.ProjectID, b.ProjectID), cmp.Compare(a.ID, b.ID))
	})
	last := order[len(order)-1].ID
	if last-order[0].ID > fewEvents*int64(len(order)) {
		last = 0
	}
	var r LongReader
	for _, e := range order {
		if err := r.fill(ctx, q, e, last); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(found, func(e capture.Record) bool { return e.ID == 0 }), nil
}

// fill sets the long columns of an event, or its id to 0 if it is not stored any more. upTo is that
// of Read.
func (r *LongReader) fill(ctx context.Context, q database.Querier, e *capture.Record, upTo int64) error {
	c, ok, err := r.Read(ctx, q, e.ProjectID, e.ID, upTo)
	if err != nil {
		return err
	}
	if !ok {
		e.ID = 0
		return nil
	}
	c = c.Clone()
	e.ElementsChain, e.Properties, e.PersonProperties = c.Elements, c.Properties, c.Person
	return nil
}
