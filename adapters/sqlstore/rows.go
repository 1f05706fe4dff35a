package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// query runs a query and calls scan for each of its rows. It stops at the first error.
func query(ctx context.Context, db querier, scan func(rows *sql.Rows) error, text string, args ...any) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, scan)
}

// eachRow calls scan for each row, and closes rows.
func eachRow(rows *sql.Rows, scan func(rows *sql.Rows) error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list reads all rows of a query as values of T. into returns the destinations of the
// columns in a T.
func list[T any](ctx context.Context, db querier, into func(*T) []any, text string, args ...any) (out []T, err error) {
	err = query(ctx, db, func(rows *sql.Rows) error {
		var v T
		err := rows.Scan(into(&v)...)
		out = append(out, v)
		return err
	}, text, args...)
	return out, err
}

// column is like list for queries with one column.
func column[T any](ctx context.Context, db querier, text string, args ...any) ([]T, error) {
	return list(ctx, db, func(v *T) []any { return []any{v} }, text, args...)
}

// joinNumbers returns numbers separated by commas, for the text of a statement.
func joinNumbers[T any](values []T, number func(T) int64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatInt(number(v), 10)
	}
	return strings.Join(texts, ", ")
}

// placeholders returns n placeholders separated by commas, the first of which is $from.
func placeholders(from, n int) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(texts, ", ")
}

// cleanText returns s in a form that PostgreSQL accepts: with U+FFFD for U+0000 and for
// invalid UTF-8.
func cleanText(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
}

// wrapError adds context to an error. It returns nil for nil.
func wrapError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// readError adds to an error the name of the data that was read, and a hint. It returns
// nil for nil.
func (s *Store) readError(what string, err error) error {
	return wrapError("reading "+what, s.dialect.explain(err))
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

// scanTime returns a destination for microseconds since 1970, scanOptionalTime the same
// with the zero time for 0, scanDay a destination for a day in the form of dayOf.
func scanTime(t *time.Time) sql.Scanner         { return (*timeColumn)(t) }
func scanOptionalTime(t *time.Time) sql.Scanner { return (*optionalColumn)(t) }
func scanDay(t *time.Time) sql.Scanner          { return (*dayColumn)(t) }

// scanUUID returns a destination for the bytes of a UUID. NULL leaves the UUID
// unchanged.
func scanUUID(u *capture.UUID) sql.Scanner { return (*uuidColumn)(u) }

// scanJSON returns a destination for JSON, decoded by json.Unmarshal. NULL leaves the
// value unchanged.
func scanJSON(to any) sql.Scanner { return jsonColumn{to} }

// scanRawJSON returns a destination for JSON as text. An empty text becomes nil.
func scanRawJSON(raw *json.RawMessage) sql.Scanner { return (*rawColumn)(raw) }

// Scan implements sql.Scanner, as do the methods below.
func (t *timeColumn) Scan(src any) error {
	us, err := scanAs[int64](src)
	*t = timeColumn(fromMicros(us))
	return err
}

func (t *optionalColumn) Scan(src any) error {
	us, err := scanAs[int64](src)
	*t = optionalColumn{}
	if us != 0 {
		*t = optionalColumn(fromMicros(us))
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
		*(*capture.UUID)(u), err = uuidOf(b)
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
