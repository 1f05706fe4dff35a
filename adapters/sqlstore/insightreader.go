package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/bunting-flags/bunting/capture/insights"
)

// insightReader implements insights.Reader.
type insightReader struct {
	store   *Store
	project int64
	// last is the id of the last event that is seen, mark that of the last one that is
	// in the indexes.
	last, mark int64

	owners  *owners
	numbers map[string]uint32 // by distinct id: those of owners until created
	created bool              // it is known when people were made
}

// Close implements insights.Reader.
func (r *insightReader) Close() error {
	r.store.owners.put(r.project, r.owners)
	return nil
}

// Person implements insights.Reader.
func (r *insightReader) Person(number uint32) *insights.Person { return &r.owners.people[number] }

// profileStep is how many people or groups are asked for by name at a time.
const profileStep = 500

// cancelRows is after how many rows plainRows looks whether it was cancelled: the
// driver may not.
const cancelRows = 512

// plainRows runs a statement on the driver's connection itself: between the driver
// and sql.Rows every value is copied and looked at once more, which is half of the
// time of reading a short row. see may keep the texts, not the slice.
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
