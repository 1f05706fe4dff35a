package events

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// olderEvents is the default of Log.OlderEvents.
const olderEvents = 512

// older reads the events of a store of an earlier schema that are not converted yet. They are in blocks,
// but have rows instead of chunks: of a schema before 16 in the table event_rows, with long columns; of
// schema 16 in the table events, with the long columns in chunks in event_chunks_16. They are converted
// from the last one to the first, so their ids are less than those of all events with chunks.
type older struct {
	// hasRows and hasChunks are true if there are the tables of a schema before 16, and of schema 16.
	hasRows, hasChunks bool
	// last is an id that none of the events exceeds.
	last atomic.Int64
}

// olderPlaces are the places of a conversion of events.
type olderPlaces struct {
	hasRows, hasChunks bool
	// converted is the id up to which an earlier version has converted rows.
	converted int64
	// Events up to the id indexed are in blocks, and none that is not converted has a greater id than
	// last, unless isDone is true.
	indexed, last int64
	isDone        bool
}

// readOlderPlaces reads the places of a conversion. A suffix of the query may lock them.
func readOlderPlaces(ctx context.Context, q database.Querier, suffix string) (p olderPlaces, err error) {
	p.isDone = true
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var name string
		var id int64
		err := rows.Scan(&name, &id)
		switch name {
		case database.PositionRows:
			p.hasRows, p.converted = true, id
		case database.PositionChunks:
			p.hasChunks = true
		case database.PositionIndexed:
			p.indexed = id
		case database.PositionUnconverted:
			p.isDone, p.last = false, id
		}
		return err
	}, `SELECT name, id FROM places WHERE name IN ($1, $2, $3, $4)`+suffix,
		database.PositionRows, database.PositionChunks, database.PositionIndexed, database.PositionUnconverted)
	return p, err
}

// older returns the events that are not converted, or nil if all are.
func (p *olderPlaces) older() *older {
	if p.isDone {
		return nil
	}
	o := &older{hasRows: p.hasRows, hasChunks: p.hasChunks}
	o.last.Store(p.last)
	return o
}

// The columns of rows of schemas before 16, and of schema 16. A condition for e must follow.
const (
	rowsText = `SELECT e.id, e.project_id, e.uuid, e.event, e.distinct_id, e.timestamp, e.created_at, e.person_uuid, e.person_created_at, e.person_mode, e.historical,
		e.elements_chain, e.properties, COALESCE((SELECT s.properties FROM person_states s WHERE s.event_id = e.person_state), '{}') FROM event_rows e WHERE `
	shortText = `SELECT e.id, e.project_id, e.uuid, e.event, e.distinct_id, e.timestamp, e.created_at, e.person_uuid, e.person_created_at, e.person_mode, e.historical,
		'', '', '' FROM events e WHERE `
)

// read appends the events that a query selects to a list, until their long columns have some bytes.
func (o *older) read(ctx context.Context, q database.Querier, text string, args ...any) (list []capture.Record, err error) {
	size := 0
	err = database.Query(ctx, q, func(rows *sql.Rows) error {
		var e capture.Record
		err := rows.Scan(&e.ID, &e.ProjectID, database.ScanUUID(&e.UUID), &e.Name, &e.DistinctID, database.ScanTime(&e.Timestamp), database.ScanTime(&e.CreatedAt),
			database.ScanUUID(&e.PersonID), database.ScanTime(&e.PersonCreatedAt), &e.PersonMode, &e.Historical, &e.ElementsChain, &e.Properties, &e.PersonProperties)
		if err != nil {
			return err
		}
		list = append(list, e)
		if size += len(e.ElementsChain) + len(e.Properties) + len(e.PersonProperties); size >= database.PieceBytes {
			return database.ErrPageFull
		}
		return nil
	}, text, args...)
	if errors.Is(err, database.ErrPageFull) {
		err = nil
	}
	return list, err
}

// errNoChunk is the error for an event of schema 16 that is in no chunk.
var errNoChunk = fmt.Errorf("it is in no chunk: %w", block.ErrDamaged)

// maxOlderChunks is the number of chunks of schema 16 that are in memory.
const maxOlderChunks = 32

// addLong adds the long columns to events of schema 16, until they have some bytes. It returns the
// first events, which have them, and errNoChunk if the next one is in no chunk.
func (o *older) addLong(ctx context.Context, q database.Querier, list []capture.Record) ([]capture.Record, error) {
	type chunk struct {
		unit
		block.Chunk
	}
	chunks := map[int64]*chunk{} // by project
	size := 0
	for i := range list {
		e := &list[i]
		c := chunks[e.ProjectID]
		if c == nil || e.ID < c.first || e.ID > c.last {
			found, err := database.List(ctx, q, func(s *storedChunk) []any {
				s.project = e.ProjectID
				return []any{&s.first, &s.last, &s.data}
			}, `SELECT first_id, last_id, data FROM event_chunks_16 WHERE project_id = $1 AND first_id <= $2 ORDER BY first_id DESC LIMIT 1`, e.ProjectID, e.ID)
			if err != nil {
				return list[:i], err
			}
			if len(found) == 0 || found[0].last < e.ID {
				return list[:i], errNoChunk
			}
			if len(chunks) >= maxOlderChunks {
				clear(chunks)
			}
			c = &chunk{unit: found[0].unit}
			chunks[e.ProjectID] = c
			if err := found[0].decode(&c.Chunk, false); err != nil {
				return list[:i], err
			}
		}
		at, ok := slices.BinarySearch(c.IDs, e.ID)
		if !ok {
			return list[:i], errNoChunk
		}
		long := (&LongColumns{c.Elements[at], c.Properties[at], c.States[c.StateOf[at]]}).Clone()
		e.ElementsChain, e.Properties, e.PersonProperties = long.Elements, long.Properties, long.Person
		if size += long.Size(); size >= database.PieceBytes {
			return list[:i+1], nil
		}
	}
	return list, nil
}

// records returns the first of some events of a project, whose ids ascend: the list is empty if all are
// converted.
func (o *older) records(ctx context.Context, q database.Querier, project int64, ids []int64) (list []capture.Record, err error) {
	condition := `e.project_id = $1 AND e.id IN (` + database.JoinNumbers(ids, func(id int64) int64 { return id }) + `) ORDER BY e.id`
	if o.hasChunks { // they have smaller ids than the events that have rows only
		if list, err = o.read(ctx, q, shortText+condition, project); err == nil {
			list, err = o.addLong(ctx, q, list)
		}
	}
	if errors.Is(err, errNoChunk) { // it was converted meanwhile
		err = nil
	}
	if o.hasRows && err == nil && len(list) == 0 {
		list, err = o.read(ctx, q, rowsText+condition, project)
	}
	return list, unlessDropped(ctx, q, err)
}

// unlessDropped returns an error of reading the tables, or nil if another server has dropped them when all events were
// converted.
func unlessDropped(ctx context.Context, q database.Querier, err error) error {
	if err == nil {
		return nil
	}
	if p, placesErr := readOlderPlaces(ctx, q, ""); placesErr == nil && p.isDone {
		return nil
	}
	return err
}

// lastRecords returns the last events of all projects with after < id <= upTo, from the last one to the
// first: at most n of them.
func (o *older) lastRecords(ctx context.Context, q database.Querier, after, upTo int64, n int) (list []capture.Record, err error) {
	const condition = `e.id > $1 AND e.id <= $2 ORDER BY e.id DESC LIMIT $3`
	if o.hasRows {
		list, err = o.read(ctx, q, rowsText+condition, after, upTo, n)
	}
	if o.hasChunks && len(list) == 0 && err == nil {
		if list, err = o.read(ctx, q, shortText+condition, after, upTo, n); err == nil {
			all := list
			if list, err = o.addLong(ctx, q, all); err != nil {
				err = fmt.Errorf("event %d of project %d: %w", all[len(list)].ID, all[len(list)].ProjectID, err)
			}
		}
	}
	return list, err
}

// firstAfter returns the first event of all projects with first <= id < end, and when it arrived. The id is 0 if
// there is none.
func (o *older) firstAfter(ctx context.Context, q database.Querier, first, end int64) (id, arrived int64, err error) {
	for _, table := range [...]struct {
		name   string
		exists bool
	}{{"events", o.hasChunks}, {"event_rows", o.hasRows}} {
		if table.exists && id == 0 && err == nil {
			err = database.Query(ctx, q, func(rows *sql.Rows) error { return rows.Scan(&id, &arrived) },
				`SELECT id, created_at FROM `+table.name+` WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1`, first, end)
		}
	}
	return id, arrived, unlessDropped(ctx, q, err)
}
