package events

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// insightReader implements port.Reader. It must not be used concurrently.
type insightReader struct {
	store   *Reader
	project int64
	// last is the id of the last event of the snapshot.
	last int64
	// listed are the blocks that were found by the last search for blocks.
	listed []storedBlock
	search *blockSearch

	// owners is taken from the store's cache and returned by Close.
	owners  *owners
	table   *ownerTable  // of owners unless created is true
	lock    sync.RWMutex // of the table, and of the groups of owners
	created bool         // the creation times of persons are needed, so the table starts empty
	// details are the persons by number if created is true.
	details pieces[port.Person]
	spares  spareBuffers // of one scan for the next one
	// dictionaries is the number of dictionaries of properties that were read.
	dictionaries atomic.Uint64
}

// Close implements port.Reader. It returns the owners to the cache.
func (r *insightReader) Close() error {
	r.store.owners.put(r.project, r.owners)
	return nil
}

// Person implements port.Reader.
func (r *insightReader) Person(number uint32) *port.Person {
	if int(number) < r.details.n {
		if p := r.details.at(number); p.Exists {
			return p
		}
	}
	return &port.Person{UUID: *r.owners.people.at(number)}
}

// Position implements port.Reader.
func (r *insightReader) Position() int64 { return r.last }

// profileStep is the number of persons or groups in one lookup.
const profileStep = 500

// cancelRows is the number of rows after which plainRows checks whether the context is
// canceled. Some drivers do not check it.
const cancelRows = 512

// plainRows runs a query directly on the driver's connection and calls visit for each
// row. Copying and checking of all values by sql.Rows would take half of the time of
// reading a short row. visit may retain strings of the row, but not the slice.
func plainRows(ctx context.Context, db *sql.DB, visit func(row []driver.Value) error, text string, args ...any) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return conn.Raw(func(driverConn any) error {
		named := make([]driver.NamedValue, len(args))
		for i, v := range args {
			named[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
		}
		q, ok := driverConn.(driver.QueryerContext)
		if !ok {
			return fmt.Errorf("a connection that is a %T cannot be asked", driverConn)
		}
		rows, err := q.QueryContext(ctx, text, named)
		if err != nil {
			return err
		}
		defer func() { _ = rows.Close() }()
		row := make([]driver.Value, len(rows.Columns()))
		for n := 1; ; n++ {
			if n%cancelRows == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			switch err := rows.Next(row); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if err := visit(row); err != nil {
				return err
			}
		}
	})
}

// eachRow runs a query and calls visit for each row, on a pool like plainRows.
func eachRow(ctx context.Context, q database.Querier, visit func(row []driver.Value) error, text string, args ...any) error {
	if db, ok := q.(*sql.DB); ok {
		return plainRows(ctx, db, visit, text, args...)
	}
	var row []driver.Value
	var values, into []any
	return database.Query(ctx, q, func(rows *sql.Rows) error {
		if row == nil {
			columns, err := rows.Columns()
			if err != nil {
				return err
			}
			row, values = make([]driver.Value, len(columns)), make([]any, len(columns))
			for i := range values {
				into = append(into, &values[i])
			}
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			row[i] = v
		}
		return visit(row)
	}, text, args...)
}
