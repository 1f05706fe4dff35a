package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// Exports returns the events and persons of batch exports.
func (s *Store) Exports() exportStore { return exportStore{s} }

// exportStore implements batchexports.Rows on a Store.
type exportStore struct{ Store *Store }

var _ batchexports.Rows = exportStore{}

const (
	// exportRows and exportBytes limit the number of events or persons of a page and
	// their total size in bytes. An event has at most 1 MB, a person half of that.
	exportRows  = 1000
	exportBytes = 4 << 20
)

// Horizon implements batchexports.Rows. It returns the last id that was assigned to an
// event. On SQLite that id is stored with the event. On PostgreSQL, writers hold the
// lock of the project from taking ids until they commit; while Horizon holds the lock,
// all assigned ids of the project are committed.
func (s exportStore) Horizon(ctx context.Context, projectID int64) (id int64, err error) {
	if s.Store.db.Dialect.SingleWriter {
		id, err = s.Store.events.Horizon(ctx)
		return id, s.Store.db.ReadError("the end of the ledger", err)
	}
	err = s.Store.db.InWrite(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, database.ProjectLocks+projectID); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM event_ids`).Scan(&id)
	})
	return id, s.Store.db.ReadError("the end of the ledger", err)
}

// Boundary implements batchexports.Rows. Times of arrival ascend with the ids, except
// for some seconds, so that a binary search finds the boundary.
func (s exportStore) Boundary(ctx context.Context, t time.Time, horizon int64) (int64, error) {
	first := horizon + 1
	for low, high := int64(0), horizon+1; low+1 < high; {
		middle := low + (high-low)/2
		id, created := int64(0), int64(0)
		err := database.Query(ctx, s.Store.db.Read, func(rows *sql.Rows) error { return rows.Scan(&id, &created) },
			`SELECT id, created_at FROM events WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 1`, middle, high)
		switch {
		case err != nil:
			return 0, s.Store.db.ReadError("events", err)
		// There is no event in the upper part.
		case id == 0:
			high = middle
		case created < database.Micros(t):
			low = id
		default:
			first, high = id, middle
		}
	}
	return first - 1, nil
}

// scanStep is the number of ids that one statement scans.
const scanStep = 1 << 17

// Passed implements batchexports.Rows.
func (s exportStore) Passed(ctx context.Context, projectID, after, upTo int64, t time.Time) (int64, error) {
	for after < upTo {
		to, found := min(after+scanStep, upTo), int64(0)
		err := database.Query(ctx, s.Store.db.Read, func(rows *sql.Rows) error { return rows.Scan(&found) },
			`SELECT id FROM events WHERE id > $1 AND id <= $2 AND project_id = $3 AND created_at >= $4 ORDER BY id LIMIT 1`, after, to, projectID, database.Micros(t))
		if err != nil {
			return 0, s.Store.db.ReadError("events", err)
		}
		if found > 0 {
			return found - 1, nil
		}
		after = to
	}
	return after, nil
}

// FirstEvent implements batchexports.Rows.
func (s exportStore) FirstEvent(ctx context.Context, projectID int64) (time.Time, bool, error) {
	mark, err := s.Store.events.LastIndexedID(ctx, s.Store.db.Read)
	if err != nil {
		return time.Time{}, false, s.Store.db.ReadError("events", err)
	}
	return s.earliest(ctx, `SELECT MIN(t) FROM (SELECT MIN(first_time) AS t FROM event_blocks WHERE project_id = $1
		UNION ALL SELECT MIN(timestamp) FROM events WHERE project_id = $1 AND id > $2) AS times`, projectID, mark)
}

// FirstPerson implements batchexports.Rows.
func (s exportStore) FirstPerson(ctx context.Context, projectID int64) (time.Time, bool, error) {
	return s.earliest(ctx, `SELECT MIN(created_at) FROM persons WHERE project_id = $1`, projectID)
}

// earliest returns the time that a query selects, and false if it is NULL.
func (s exportStore) earliest(ctx context.Context, text string, args ...any) (time.Time, bool, error) {
	var t sql.NullInt64
	err := s.Store.db.Read.QueryRowContext(ctx, text, args...).Scan(&t)
	if err != nil || !t.Valid {
		return time.Time{}, false, s.Store.db.ReadError("the earliest time", err)
	}
	return database.FromMicros(t.Int64), true, nil
}

// exportReader reads the events of one span.
type exportReader struct {
	store   *Store
	project int64
	span    *batchexports.Span
	visit   func(*batchexports.Event) error
	long    events.LongReader
	// page is reusable memory.
	page []batchexports.Event
}

// Events implements batchexports.Rows. It reads the ranges of ids of the blocks whose
// times overlap the span, then the events that have no block yet. Within a range it reads
// all rows, also those of other times.
func (s exportStore) Events(ctx context.Context, projectID int64, span batchexports.Span, visit func(*batchexports.Event) error) error {
	r := &exportReader{store: s.Store, project: projectID, span: &span, visit: visit}
	from, to := r.times()
	ranges, err := s.Store.events.Ranges(ctx, projectID, span.After, span.UpTo, from, to)
	if err != nil {
		return s.Store.db.ReadError("events", err)
	}
	for _, ids := range ranges {
		for after := ids[0] - 1; after < ids[1]; {
			last, err := r.read(ctx, ids[1], ` FROM events e WHERE e.id > $1 AND e.id <= $2 AND e.project_id = $3 AND e.timestamp >= $4 AND e.timestamp < $5
				ORDER BY e.id`, after, ids[1], projectID, from, to)
			if err != nil {
				return err
			}
			if after = ids[1]; last > 0 {
				after = last
			}
		}
	}
	return nil
}

// times returns the bounds of the span in microseconds: from <= time < to.
func (r *exportReader) times() (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !r.span.From.IsZero() {
		from = database.Micros(r.span.From)
	}
	if !r.span.To.IsZero() {
		to = database.Micros(r.span.To)
	}
	return from, to
}

// read visits the first page of a query for events up to an id and returns the id of its last
// event, or 0 if the query has no further rows.
func (r *exportReader) read(ctx context.Context, upTo int64, from string, args ...any) (last int64, err error) {
	page, full, err := exportPage(ctx, r.store.db.Read, r.page[:0], scanExportEvent,
		`SELECT e.id, e.uuid, e.event, e.distinct_id, e.timestamp, e.created_at, e.person_uuid`+from, args...)
	if r.page = page; err != nil {
		return 0, r.store.db.ReadError("events", err)
	}
	for i := range page {
		e := &page[i]
		if !r.span.Contains(e) {
			continue
		}
		c, ok, err := r.long.Read(ctx, r.store.db.Read, r.project, e.ID, upTo)
		if err != nil {
			return 0, r.store.db.ReadError("events", err)
		}
		if !ok { // it was erased meanwhile
			continue
		}
		c = c.Clone() // destinations keep many events, of which some may be excluded
		e.Properties, e.ElementsChain, e.PersonProperties = c.Properties, c.Elements, c.Person
		err = r.visit(e)
		if *e = (batchexports.Event{ID: e.ID}); err != nil { // the memory of the page is bounded
			return 0, err
		}
	}
	if full {
		last = page[len(page)-1].ID
	}
	return last, nil
}

// exportPage appends rows to a page until it has exportRows rows or exportBytes bytes,
// and reports whether there may be more. scan reads a row and returns its size.
func exportPage[T any](ctx context.Context, db database.Querier, page []T, scan func(*sql.Rows, *T) (int, error), text string, args ...any) (_ []T, full bool, err error) {
	rows, err := db.QueryContext(ctx, text+fmt.Sprintf(` LIMIT %d`, exportRows), args...)
	if err != nil {
		return page, false, err
	}
	defer func() { _ = rows.Close() }() // the page is complete at this point, so errors on closing do not matter
	for size := 0; !full && rows.Next(); {
		page = append(page, *new(T))
		n, err := scan(rows, &page[len(page)-1])
		if err != nil {
			return page, false, err
		}
		size += n
		full = size >= exportBytes || len(page) == exportRows
	}
	if !full {
		err = rows.Err()
	}
	return page, full, err
}

// scanExportEvent reads the row of an event and returns its size.
func scanExportEvent(rows *sql.Rows, e *batchexports.Event) (size int, err error) {
	var event, owner capture.UUID
	err = rows.Scan(&e.ID, database.ScanUUID(&event), &e.Name, &e.DistinctID, database.ScanTime(&e.Timestamp), database.ScanTime(&e.CreatedAt), database.ScanUUID(&owner))
	e.UUID, e.PersonID = event.String(), owner.String()
	return len(e.Name) + len(e.DistinctID), err
}
