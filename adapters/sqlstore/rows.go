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

// query runs a statement that reads, and scan for each of its rows.
func query(ctx context.Context, db querier, scan func(rows *sql.Rows) error, text string, args ...any) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, scan)
}

func eachRow(rows *sql.Rows, scan func(rows *sql.Rows) error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// list reads all rows of a statement, each as a T; into says where its columns go.
func list[T any](ctx context.Context, db querier, into func(*T) []any, text string, args ...any) (out []T, err error) {
	err = query(ctx, db, func(rows *sql.Rows) error {
		var v T
		err := rows.Scan(into(&v)...)
		out = append(out, v)
		return err
	}, text, args...)
	return out, err
}

// column is list for statements with one column.
func column[T any](ctx context.Context, db querier, text string, args ...any) ([]T, error) {
	return list(ctx, db, func(v *T) []any { return []any{v} }, text, args...)
}

// joinNumbers writes numbers into a statement, with commas between them.
func joinNumbers[T any](values []T, number func(T) int64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatInt(number(v), 10)
	}
	return strings.Join(texts, ", ")
}

// placeholders writes arguments into a statement, with commas between them: $from for the
// first.
func placeholders(from, n int) string {
	texts := make([]string, n)
	for i := range texts {
		texts[i] = "$" + strconv.Itoa(from+i)
	}
	return strings.Join(texts, ", ")
}

// wrapError names what has failed.
func wrapError(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// readError names what could not be read.
func (s *Store) readError(what string, err error) error {
	return wrapError("reading "+what, s.dialect.explain(err))
}

// Columns that are stored in another way than they are used in.
type (
	timeColumn     time.Time
	optionalColumn time.Time
	dayColumn      time.Time
	uuidColumn     capture.UUID
	jsonColumn     struct{ to any }
	rawColumn      json.RawMessage
)

// scanTime scans microseconds, scanOptionalTime the same where 0 is the zero time, scanDay
// a day as dayOf writes it.
func scanTime(t *time.Time) sql.Scanner         { return (*timeColumn)(t) }
func scanOptionalTime(t *time.Time) sql.Scanner { return (*optionalColumn)(t) }
func scanDay(t *time.Time) sql.Scanner          { return (*dayColumn)(t) }

// scanUUID scans the bytes of a uuid; null is the zero one.
func scanUUID(u *capture.UUID) sql.Scanner { return (*uuidColumn)(u) }

// scanJSON scans a JSON text as json.Unmarshal does; null changes nothing.
func scanJSON(to any) sql.Scanner { return jsonColumn{to} }

// scanRawJSON scans a JSON text as it stands; an empty one is nil.
func scanRawJSON(raw *json.RawMessage) sql.Scanner { return (*rawColumn)(raw) }

// Scan implements sql.Scanner, as those below do.
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

// scanAs is a column's value as the type that it is stored in.
func scanAs[T any](src any) (T, error) {
	var v sql.Null[T]
	err := v.Scan(src)
	return v.V, err
}
