package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// moveTable describes a table of the schema for a move.
type moveTable struct {
	name    string
	columns []string
	// kinds are the SQLite types of the columns: TEXT, BLOB, and other names for
	// integers.
	kinds []string
	// key are the indexes in columns of the columns of the primary key, in the order of
	// the key.
	key []int
	// hasSequence is true if the database numbers new rows.
	hasSequence bool
	// exclude is a condition that excludes rows with a meaning that depends on the kind
	// of database.
	exclude string
	// initialRows is the number of rows, without the excluded ones, in a new database.
	initialRows int
}

// excludedTables are tables whose contents describe only their own database, or can be
// computed from other tables.
var excludedTables = []string{"goose_db_version", "moving", "query_runs", "event_blocks"}

// excludedRows are conditions by table for rows that have a meaning in one kind of
// database only. The method mover.numbers transfers their contents.
var excludedRows = map[string]string{"places": "name NOT IN ('" + positionEventID + "', '" + positionIndexed + "')"}

// readMoveTables returns all tables of the schema except excludedTables. It reads them
// from a new database in memory, so that a table of a later migration cannot be
// forgotten.
func readMoveTables(ctx context.Context) (out []moveTable, err error) {
	s, err := Open(ctx, "sqlite::memory:", Config{})
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	err = query(ctx, s.write, func(rows *sql.Rows) error {
		var t moveTable
		var text string
		if err := rows.Scan(&t.name, &text); err != nil {
			return err
			// The word AUTOINCREMENT in the statement that created the table is the only
			// trace of numbered rows in SQLite's catalog.
		}
		t.hasSequence, t.exclude = strings.Contains(text, "AUTOINCREMENT"), excludedRows[t.name]
		out = append(out, t)
		return nil
	}, `SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`)
	if err != nil {
		return nil, err
	}
	out = slices.DeleteFunc(out, func(t moveTable) bool { return slices.Contains(excludedTables, t.name) })
	for i := range out {
		t := &out[i]
		if err := t.describe(ctx, s.write); err != nil {
			return nil, err
		}
		if err := s.write.QueryRowContext(ctx, `SELECT COUNT(*) FROM "`+t.name+`"`+whereClause(t.exclude)).Scan(&t.initialRows); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// describe reads the columns and the primary key of a table.
func (t *moveTable) describe(ctx context.Context, db *sql.DB) error {
	columnsByRank := map[int]int{} // the column by its position in the key, from 1
	err := query(ctx, db, func(rows *sql.Rows) error {
		var name, kind string
		var rank int
		if err := rows.Scan(&name, &kind, &rank); err != nil {
			return err
		}
		if rank > 0 {
			columnsByRank[rank] = len(t.columns)
		}
		t.columns, t.kinds = append(t.columns, name), append(t.kinds, kind)
		return nil
	}, `SELECT name, type, pk FROM pragma_table_info('`+t.name+`') ORDER BY cid`)
	for rank := 1; rank <= len(columnsByRank); rank++ {
		t.key = append(t.key, columnsByRank[rank])
	}
	if err == nil && len(t.key) == 0 {
		err = fmt.Errorf("the table %s has no primary key, which the move needs", t.name)
	}
	return err
}

// quoteNames returns quoted names separated by commas.
func quoteNames(names []string) string {
	return `"` + strings.Join(names, `", "`) + `"`
}

// keyNames returns the names of the columns of the primary key.
func (t *moveTable) keyNames() (names []string) {
	for _, i := range t.key {
		names = append(names, t.columns[i])
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
func (t *moveTable) selectQuery(afterKey bool, limit int) string {
	text, following := "SELECT "+quoteNames(t.columns)+` FROM "`+t.name+`"`, ""
	key := quoteNames(t.keyNames())
	if afterKey {
		var placeholders []string
		for i := range t.key {
			placeholders = append(placeholders, "$"+strconv.Itoa(i+1))
		}
		following = "(" + key + ") > (" + strings.Join(placeholders, ", ") + ")"
	}
	text += whereClause(t.exclude, following) + " ORDER BY " + key
	if limit > 0 {
		text += " LIMIT " + strconv.Itoa(limit)
	}
	return text
}

// scan reads a row as values of the types of its columns, and returns its size in
// bytes.
func (t *moveTable) scan(rows *sql.Rows) (row []any, size int, err error) {
	row = make([]any, len(t.columns))
	into := make([]any, len(t.columns))
	for i, kind := range t.kinds {
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
			if *v != nil {
				row[i], size = *v, size+len(*v)
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
func (t *moveTable) formatKey(row []any) string {
	var key []string
	for _, i := range t.key {
		switch v := row[i].(type) {
		case int64:
			key = append(key, strconv.FormatInt(v, 10))
		case []byte:
			key = append(key, hex.EncodeToString(v))
		case string:
			key = append(key, v)
		}
	}
	return jsonText(key)
}

// parseKey returns the values of a position as arguments for selectQuery. It returns
// nil for an empty position.
func (t *moveTable) parseKey(text string) (out []any, err error) {
	if text == "" {
		return nil, nil
	}
	var key []string
	if err := json.Unmarshal([]byte(text), &key); err != nil || len(key) != len(t.key) {
		return nil, fmt.Errorf("the progress of the move cannot be read (%q): start again with an empty database", text)
	}
	for n, i := range t.key {
		var v any = key[n]
		switch t.kinds[i] {
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
