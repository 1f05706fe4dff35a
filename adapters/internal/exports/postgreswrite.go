package exports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// runsTable has a row for every run of the last 30 days that is in the database.
const runsTable = "bunting_export_runs"

// createLock is locked while tables are created: two transactions that create one at the same time
// would fail.
const createLock = 0x62756e74696e67 // "bunting"

// stage is the temporary table to which rows are copied, stageOrder its column with the order of
// the rows.
const (
	stage      = "pg_temp.bunting_export_stage"
	stageOrder = `"bunting export order"`
)

var columnTypes = map[batchexports.ColumnType]string{
	batchexports.TextColumn: "text", batchexports.JSONColumn: "jsonb", batchexports.TimeColumn: "timestamptz",
	batchexports.BoolColumn: "boolean", batchexports.IntColumn: "bigint", batchexports.ListColumn: "text[]",
}

// shortText is the maximum length of a string in PostHog's table of events, in characters.
const shortText = 200

// appendedTypes are the types of that table that differ from columnTypes (spec/clients.md §16).
var appendedTypes = map[batchexports.ColumnType]string{
	batchexports.TextColumn: fmt.Sprintf("varchar(%d)", shortText), batchexports.IntColumn: "integer",
}

// run writes all rows and the row of runsTable in one transaction: the run is written completely or
// not at all, and a repeated run changes nothing.
func (b *database) run(ctx context.Context, rows *rows) (done batchexports.RunTotals, err error) {
	err = b.withConnection(ctx, func(conn *pgx.Conn) error {
		if err := b.createTables(ctx, conn, rows.job); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			done, err = b.write(ctx, tx, rows)
			return err
		})
	})
	return done, err
}

// createTables creates the table of the export and runsTable if they do not exist.
func (b *database) createTables(ctx context.Context, conn *pgx.Conn, job *batchexports.Job) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(createLock)); err != nil {
			return err
		}
		for _, table := range []struct{ name, text string }{
			{b.Table, createTable(b.name(b.Table), job)},
			{runsTable, "CREATE TABLE " + b.name(runsTable) + ` (
				run text PRIMARY KEY, export text NOT NULL, rows bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0,
				finished_at timestamptz NOT NULL DEFAULT now())`},
		} {
			// IF NOT EXISTS would need the privilege to create even if the table exists.
			var exists bool
			err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", b.name(table.name)).Scan(&exists)
			if err == nil && !exists {
				_, err = tx.Exec(ctx, table.text, pgx.QueryExecModeSimpleProtocol)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func createTable(name string, job *batchexports.Job) string {
	var parts []string
	for _, c := range job.Columns {
		kind := columnTypes[c.Type]
		if short := appendedTypes[c.Type]; job.Appended && short != "" && (c.Type == batchexports.TextColumn || job.Project <= math.MaxInt32) {
			kind = short
		}
		parts = append(parts, quote(c.Name)+" "+kind)
	}
	if len(job.Key) > 0 && !job.Appended {
		parts = append(parts, "PRIMARY KEY ("+strings.Join(quoteAll(job.Key), ", ")+")")
	}
	text := "CREATE TABLE " + name + " (" + strings.Join(parts, ", ") + ")"
	if job.Appended { // no unique key, but rows are searched by uuid
		text += "; CREATE INDEX ON " + name + " (uuid)"
	}
	return text
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = quote(name)
	}
	return out
}

// write writes all rows in a transaction, unless runsTable has the run already.
func (b *database) write(ctx context.Context, tx pgx.Tx, rows *rows) (done batchexports.RunTotals, err error) {
	runs := b.name(runsTable)
	// This statement waits for a transaction that is writing the same run.
	tag, err := tx.Exec(ctx, "INSERT INTO "+runs+" (run, export) VALUES ($1, $2) ON CONFLICT DO NOTHING", rows.job.Run, rows.job.Export)
	if err != nil {
		return done, err
	}
	if tag.RowsAffected() == 0 {
		err = tx.QueryRow(ctx, "SELECT rows, bytes FROM "+runs+" WHERE run = $1", rows.job.Run).Scan(&done.Rows, &done.Bytes)
		return done, err
	}
	var names []string
	for _, c := range rows.job.Columns {
		names = append(names, c.Name)
	}
	columns := strings.Join(quoteAll(names), ", ")
	insert := b.insert(columns, rows.job)
	for _, text := range []string{
		// The stage has the types of the table, which may be one that another program has created.
		"CREATE TEMPORARY TABLE " + stage + " ON COMMIT DROP AS SELECT " + columns + " FROM " + b.name(b.Table) + " WITH NO DATA",
		"ALTER TABLE " + stage + " ADD COLUMN " + stageOrder + " bigint GENERATED ALWAYS AS IDENTITY",
		insert, // inserts no rows: errors in the statement are found before the rows are sent
	} {
		if _, err := tx.Exec(ctx, text); err != nil {
			return done, err
		}
	}
	if done, err = copyRows(ctx, tx, rows, names); err != nil {
		return done, err
	}
	if rows.job.Appended { // another export may write the same rows
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1, ($2::text)::regclass::oid::int4)", int32(createLock>>24), b.name(b.Table)); err != nil {
			return done, err
		}
	}
	for _, text := range []string{"ANALYZE " + stage, insert} {
		if _, err := tx.Exec(ctx, text); err != nil {
			return done, err
		}
	}
	if _, err := tx.Exec(ctx, "UPDATE "+runs+" SET rows = $2, bytes = $3, finished_at = now() WHERE run = $1", rows.job.Run, done.Rows, done.Bytes); err != nil {
		return done, err
	}
	_, err = tx.Exec(ctx, "DELETE FROM "+runs+" WHERE export = $1 AND finished_at < now() - interval '30 days'", rows.job.Export)
	return done, err
}

// insert returns the statement that moves rows from the stage to the table. Events are immutable;
// for other models a newer row replaces the one in the table.
func (b *database) insert(columns string, job *batchexports.Job) string {
	into := "INSERT INTO " + b.name(b.Table) + " AS t (" + columns + ") SELECT "
	each := func(format, between string, names []string) string {
		out := make([]string, len(names))
		for i, name := range names {
			out[i] = fmt.Sprintf(format, quote(name))
		}
		return strings.Join(out, between)
	}
	if len(job.Key) == 0 {
		return into + columns + " FROM " + stage
	}
	if job.Appended {
		return into + columns + " FROM " + stage + " AS s WHERE NOT EXISTS (SELECT FROM " + b.name(b.Table) + " AS o WHERE " +
			each("o.%[1]s = s.%[1]s", " AND ", job.Key) + ")"
	}
	key := each("%s", ", ", job.Key)
	var others []string
	for _, c := range job.Columns {
		if !slices.Contains(job.Key, c.Name) {
			others = append(others, c.Name)
		}
	}
	if job.Model == "events" || len(others) == 0 {
		return into + columns + " FROM " + stage + " ON CONFLICT (" + key + ") DO NOTHING"
	}
	text := fmt.Sprintf("%sDISTINCT ON (%s) %s FROM %s ORDER BY %[2]s, %[5]s DESC ON CONFLICT (%[2]s) DO UPDATE SET ", into, key, columns, stage, stageOrder) +
		each("%[1]s = EXCLUDED.%[1]s", ", ", others)
	if len(job.Newer) > 0 {
		// An equal row may have more data, for example for a session that gets another event.
		text += " WHERE " + each("t.%[1]s IS NULL OR EXCLUDED.%[1]s >= t.%[1]s", " OR ", job.Newer)
	}
	return text
}

// errStopped ends the rows when the reader stops early.
var errStopped = errors.New("no more rows are wanted")

// copyRows copies all rows to the stage while they are read.
func copyRows(ctx context.Context, tx pgx.Tx, rows *rows, names []string) (done batchexports.RunTotals, err error) {
	source := &copySource{columns: rows.job.Columns, key: rows.job.Key, short: rows.job.Appended}
	next, stop := iter.Pull(func(yield func([]any) bool) {
		source.err = rows.each(ctx, func(row []any) error {
			if !yield(row) {
				return errStopped
			}
			return nil
		})
	})
	defer stop()
	source.next = next
	done.Rows, err = tx.CopyFrom(ctx, pgx.Identifier(strings.Split(stage, ".")), names, source)
	done.Bytes = source.bytes
	return done, err
}

// copySource implements pgx.CopyFromSource.
type copySource struct {
	next    func() ([]any, bool)
	columns []batchexports.Column
	key     []string
	short   bool // strings are cut after shortText characters
	row     []any
	bytes   int64
	err     error
}

func (s *copySource) Next() bool {
	row, ok := s.next()
	s.row = append(s.row[:0], row...) // the row belongs to the caller, so a copy is modified
	return ok
}

func (s *copySource) Err() error { return s.err }

func (s *copySource) Values() ([]any, error) {
	for i, v := range s.row {
		switch v := v.(type) {
		case nil:
		case string:
			s.bytes += int64(len(v))
			if s.row[i] = pgText(v); s.short {
				s.row[i] = pgShort(pgText(v))
			} else if len(v) > maxKey && slices.Contains(s.key, s.columns[i].Name) {
				s.row[i] = pgKey(v)
			}
		case json.RawMessage:
			s.bytes += int64(len(v))
			s.row[i] = nil
			if len(v) > 0 {
				s.row[i] = json.RawMessage(pgJSON(v))
			}
		case time.Time:
			s.bytes += 8
		case bool:
			s.bytes++
		case int64:
			s.bytes += 8
		case []string:
			list := make([]string, len(v))
			for n, text := range v {
				s.bytes += int64(len(text))
				list[n] = pgText(text)
			}
			s.row[i] = list
		default:
			return nil, typeError(s.columns[i], v)
		}
	}
	return s.row, nil
}
