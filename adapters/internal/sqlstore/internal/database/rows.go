package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// Querier is the part of *sql.DB, *sql.Tx and *sql.Conn that runs statements.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Query runs a query and calls scan for each of its rows. It stops at the first error.
func Query(ctx context.Context, db Querier, scan func(rows *sql.Rows) error, text string, args ...any) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return EachRow(rows, scan)
}

// EachRow calls scan for each row, and closes rows.
func EachRow(rows *sql.Rows, scan func(rows *sql.Rows) error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// List reads all rows of a query as values of T. into returns the destinations of the
// columns in a T.
func List[T any](ctx context.Context, db Querier, into func(*T) []any, text string, args ...any) (out []T, err error) {
	err = Query(ctx, db, func(rows *sql.Rows) error {
		var v T
		err := rows.Scan(into(&v)...)
		out = append(out, v)
		return err
	}, text, args...)
	return out, err
}

// Column is like list for queries with one column.
func Column[T any](ctx context.Context, db Querier, text string, args ...any) ([]T, error) {
	return List(ctx, db, func(v *T) []any { return []any{v} }, text, args...)
}

// HasTable reports whether a table exists, in SQLite if singleWriter is true.
func HasTable(ctx context.Context, db Querier, singleWriter bool, table string) (bool, error) {
	text := `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = $1`
	if !singleWriter {
		text = `SELECT COUNT(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = $1`
	}
	var n int
	err := db.QueryRowContext(ctx, text, table).Scan(&n)
	return n > 0, err
}

// FirstOrNil returns a pointer to the first element, or nil if the list is empty.
func FirstOrNil[T any](list []T) *T {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// WrapError adds context to an error. It returns nil for nil.
func WrapError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Destinations for columns whose stored form differs from their type in Go.
type (
	timeColumn     time.Time
	optionalColumn time.Time
	dayColumn      time.Time
	uuidColumn     capture.UUID
	jsonColumn     struct{ to any }
	rawColumn      json.RawMessage
)

// ScanTime returns a destination for microseconds since 1970.
func ScanTime(t *time.Time) sql.Scanner { return (*timeColumn)(t) }

// ScanOptionalTime is like ScanTime with the zero time for 0.
func ScanOptionalTime(t *time.Time) sql.Scanner { return (*optionalColumn)(t) }

// ScanDay returns a destination for a day as a number such as 20261120.
func ScanDay(t *time.Time) sql.Scanner { return (*dayColumn)(t) }

// ScanUUID returns a destination for the bytes of a UUID. NULL leaves the UUID
// unchanged.
func ScanUUID(u *capture.UUID) sql.Scanner { return (*uuidColumn)(u) }

// ScanJSON returns a destination for JSON, decoded by json.Unmarshal. NULL leaves the
// value unchanged.
func ScanJSON(to any) sql.Scanner { return jsonColumn{to} }

// ScanRawJSON returns a destination for JSON as text. An empty text becomes nil.
func ScanRawJSON(raw *json.RawMessage) sql.Scanner { return (*rawColumn)(raw) }

// Scan implements sql.Scanner, as do the methods below.
func (t *timeColumn) Scan(src any) error {
	us, err := scanAs[int64](src)
	*t = timeColumn(FromMicros(us))
	return err
}

func (t *optionalColumn) Scan(src any) error {
	us, err := scanAs[int64](src)
	*t = optionalColumn{}
	if us != 0 {
		*t = optionalColumn(FromMicros(us))
	}
	return err
}

func (t *dayColumn) Scan(src any) error {
	day, err := scanAs[int](src)
	*t = dayColumn(time.Date(day/10000, time.Month(day/100%100), day%100, 0, 0, 0, 0, time.UTC))
	return err
}

func (u *uuidColumn) Scan(src any) error {
	b, err := scanAs[[]byte](src)
	if err == nil && len(b) > 0 {
		*(*capture.UUID)(u), err = UUIDOf(b)
	}
	return err
}

func (j jsonColumn) Scan(src any) error {
	text, err := scanAs[[]byte](src)
	if err != nil || text == nil {
		return err
	}
	return json.Unmarshal(text, j.to)
}

func (r *rawColumn) Scan(src any) error {
	text, err := scanAs[[]byte](src)
	if *r = nil; len(text) > 0 {
		*r = text
	}
	return err
}

// scanAs converts the value of a column to the type in which it is stored.
func scanAs[T any](src any) (T, error) {
	var v sql.Null[T]
	err := v.Scan(src)
	return v.V, err
}
