package copies

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// Table describes a table of the schema for a move.
type Table struct {
	Name    string
	Columns []string
	// Kinds are the SQLite types of the columns: TEXT, BLOB, and other names for
	// integers.
	Kinds []string
	// required are true for columns that cannot be NULL.
	required []bool
	// Key are the indexes in columns of the columns of the primary key, in the order of
	// the key.
	Key []int
	// HasSequence is true if the database numbers new rows.
	HasSequence bool
	// Exclude is a condition that excludes rows with a meaning that depends on the kind
	// of database.
	Exclude string
	// initialRows is the number of rows, without the excluded ones, in a new database.
	initialRows int
}

// ExcludedTables are tables whose contents describe only their own database, or can be
// computed from other tables.
var ExcludedTables = []string{"goose_db_version", "moving", "query_runs"}

// excludedRows are conditions by table for rows that have a meaning in one kind of
// database only: the last number of an event, which copySequences copies, and the version
// that migrated the schema.
var excludedRows = map[string]string{
	"places":  "name <> '" + database.PositionEventID + "'",
	"records": database.VersionExcluded,
}

// Tables returns all tables of the schema except ExcludedTables. It reads them
// from a new database in memory, so that a table of a later migration cannot be
// forgotten.
func Tables(ctx context.Context) (out []Table, err error) {
	s, err := openForMove(ctx, "sqlite::memory:")
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	err = database.Query(ctx, s.db.Write, func(rows *sql.Rows) error {
		var t Table
		var text string
		if err := rows.Scan(&t.Name, &text); err != nil {
			return err
			// The word AUTOINCREMENT in the statement that created the table is the only
			// trace of numbered rows in SQLite's catalog.
		}
		t.HasSequence, t.Exclude = strings.Contains(text, "AUTOINCREMENT"), excludedRows[t.Name]
		out = append(out, t)
		return nil
	}, `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(t Table) bool { return slices.Contains(ExcludedTables, t.Name) })
	for i := range out {
		t := &out[i]
		if err := t.describe(ctx, s.db.Write); err != nil {
			return nil, err
		}
		if err := s.db.Write.QueryRowContext(ctx, `SELECT COUNT(*) FROM "`+t.Name+`"`+whereClause(t.Exclude)).Scan(&t.initialRows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// describe reads the columns and the primary key of a table.
func (t *Table) describe(ctx context.Context, db *sql.DB) error {
	columnsByRank := map[int]int{} // the column by its position in the key, from 1
	err := database.Query(ctx, db, func(rows *sql.Rows) error {
		var name, kind string
		var rank int
		var required bool
		if err := rows.Scan(&name, &kind, &required, &rank); err != nil {
			return err
		}
		if rank > 0 {
			columnsByRank[rank] = len(t.Columns)
		}
		t.Columns, t.Kinds, t.required = append(t.Columns, name), append(t.Kinds, kind), append(t.required, required)
		return nil
	}, `SELECT name, type, "notnull", pk FROM pragma_table_info('`+t.Name+`') ORDER BY cid`)
	for rank := 1; rank <= len(columnsByRank); rank++ {
		t.Key = append(t.Key, columnsByRank[rank])
	}
	if err == nil && len(t.Key) == 0 {
		err = fmt.Errorf("the table %s has no primary key, which the move needs", t.Name)
	}
	return err
}

// QuoteNames returns quoted names separated by commas.
func QuoteNames(names []string) string {
	return `"` + strings.Join(names, `", "`) + `"`
}

// keyNames returns the names of the columns of the primary key.
func (t *Table) keyNames() (names []string) {
	for _, i := range t.Key {
		names = append(names, t.Columns[i])
	}
	return names
}

// whereClause returns a WHERE clause with conditions joined by AND, without the empty
// ones. It is empty if there is no condition.
func whereClause(conditions ...string) string {
	conditions = slices.DeleteFunc(conditions, func(c string) bool { return c == "" })
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// selectQuery returns a query for rows in the order of the primary key. If afterKey is
// true, it selects the rows after the key in its arguments. A limit of 0 is no limit.
func (t *Table) selectQuery(afterKey bool, limit int) string {
	text, following := "SELECT "+QuoteNames(t.Columns)+` FROM "`+t.Name+`"`, ""
	key := QuoteNames(t.keyNames())
	if afterKey {
		var placeholders []string
		for i := range t.Key {
			placeholders = append(placeholders, "$"+strconv.Itoa(i+1))
		}
		following = "(" + key + ") > (" + strings.Join(placeholders, ", ") + ")"
	}
	text += whereClause(t.Exclude, following) + " ORDER BY " + key
	if limit > 0 {
		text += " LIMIT " + strconv.Itoa(limit)
	}
	return text
}

// scan reads a row as values of the types of its columns, and returns its size in
// bytes.
func (t *Table) scan(rows *sql.Rows) (row []any, size int, err error) {
	row = make([]any, len(t.Columns))
	into := make([]any, len(t.Columns))
	for i, kind := range t.Kinds {
		switch kind {
		case "TEXT":
			into[i] = &sql.NullString{}
		case "BLOB":
			into[i] = &[]byte{}
		default:
			into[i] = &sql.NullInt64{}
		}
	}
	if err := rows.Scan(into...); err != nil {
		return nil, 0, err
	}
	for i, v := range into {
		switch v := v.(type) {
		case *sql.NullString:
			if v.Valid {
				row[i], size = v.String, size+len(v.String)
			}
		case *[]byte:
			switch {
			case *v != nil:
				row[i], size = *v, size+len(*v)
			case t.required[i]: // SQLite's driver returns an empty value as nil
				row[i] = []byte{}
			}
		case *sql.NullInt64:
			if v.Valid {
				row[i] = v.Int64
			}
			size += 8
		}
	}
	return row, size, nil
}

// formatKey returns the key of a row as a JSON array of strings, the form in which
// positions are stored.
func (t *Table) formatKey(row []any) string {
	var key []string
	for _, i := range t.Key {
		switch v := row[i].(type) {
		case int64:
			key = append(key, strconv.FormatInt(v, 10))
		case []byte:
			key = append(key, hex.EncodeToString(v))
		case string:
			key = append(key, v)
		}
	}
	return database.JSONText(key)
}

// parseKey returns the values of a position as arguments for selectQuery. It returns
// nil for an empty position.
func (t *Table) parseKey(text string) (out []any, err error) {
	if text == "" {
		return nil, nil
	}
	var key []string
	if err := json.Unmarshal([]byte(text), &key); err != nil || len(key) != len(t.Key) {
		return nil, fmt.Errorf("the progress of the move cannot be read (%q): start again with an empty database", text)
	}
	for n, i := range t.Key {
		var v any = key[n]
		switch t.Kinds[i] {
		case "TEXT":
		case "BLOB":
			v, err = hex.DecodeString(key[n])
		default:
			v, err = strconv.ParseInt(key[n], 10, 64)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}
