package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
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
// for some seconds.
func (s exportStore) Boundary(ctx context.Context, t time.Time, horizon int64) (int64, error) {
	id, err := s.Store.events.Boundary(ctx, t, horizon)
	return id, s.Store.db.ReadError("events", err)
}

// scanStep is the number of ids that one statement scans.
const scanStep = 1 << 17

// Passed implements batchexports.Rows.
func (s exportStore) Passed(ctx context.Context, projectID, after, upTo int64, t time.Time) (int64, error) {
	first, err := s.Store.events.FirstArrived(ctx, projectID, after, upTo, database.Micros(t))
	switch {
	case err != nil:
		return 0, s.Store.db.ReadError("events", err)
	case first > 0:
		return first - 1, nil
	}
	return max(after, upTo), nil
}

// FirstEvent implements batchexports.Rows.
func (s exportStore) FirstEvent(ctx context.Context, projectID int64) (time.Time, bool, error) {
	return s.earliest(ctx, `SELECT MIN(t) FROM (SELECT MIN(first_time) AS t FROM event_blocks WHERE project_id = $1
		UNION ALL SELECT MIN(first_time) FROM event_new_chunks WHERE project_id = $1) AS times`, projectID)
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

// Events implements batchexports.Rows. It reads the chunks of the ranges of ids whose times
// overlap the span.
func (s exportStore) Events(ctx context.Context, projectID int64, span batchexports.Span, visit func(*batchexports.Event) error) error {
	from, to := timesOf(&span)
	ranges, err := s.Store.events.Ranges(ctx, projectID, span.After, span.UpTo, from, to)
	if err != nil {
		return s.Store.db.ReadError("events", err)
	}
	var chunks events.Chunks
	var visitErr error // an error of visit is returned unchanged
	for _, ids := range ranges {
		err := chunks.Each(ctx, s.Store.events.Source(), projectID, ids[0]-1, ids[1], func(e *block.Event, long func() (events.LongColumns, error)) error {
			if e.Time < from || e.Time >= to {
				return nil
			}
			out := batchexports.Event{
				ID: e.ID, UUID: e.UUID.String(), Name: e.Name, DistinctID: e.DistinctID, PersonID: e.Person.String(),
				Timestamp: database.FromMicros(e.Time), CreatedAt: database.FromMicros(e.Arrived),
			}
			if !span.Contains(&out) {
				return nil
			}
			c, err := long()
			if err != nil {
				return err
			}
			c = c.Clone() // destinations keep many events, of which some may be excluded
			out.Name, out.DistinctID = strings.Clone(out.Name), strings.Clone(out.DistinctID)
			out.Properties, out.ElementsChain, out.PersonProperties = c.Properties, c.Elements, c.Person
			visitErr = visit(&out)
			return visitErr
		})
		if visitErr != nil {
			return visitErr
		}
		if err != nil {
			return s.Store.db.ReadError("events", err)
		}
	}
	return nil
}

// timesOf returns the bounds of a span in microseconds: from <= time < to.
func timesOf(span *batchexports.Span) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if !span.From.IsZero() {
		from = database.Micros(span.From)
	}
	if !span.To.IsZero() {
		to = database.Micros(span.To)
	}
	return from, to
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
