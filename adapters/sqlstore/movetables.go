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

// moveTable is a table of the schema, as a move sees it.
type moveTable struct {
	name    string
	columns []string
	// kinds are the SQLite types of the columns: TEXT, BLOB, and others for whole
	// numbers.
	kinds []string
	// key are the columns of the primary key in its order, as indexes of columns.
	key []int
	// hasSequence: the database numbers new rows.
	hasSequence bool
	// exclude leaves out rows that each kind of database keeps in its own way.
	exclude string
	// initialRows is how many rows, but those, a new database has.
	initialRows int
}

// excludedTables are tables that say something of their own database.
var excludedTables = []string{"goose_db_version", "moving", "query_runs", "event_blocks"}

// excludedRows are rows that mean something in one kind of database only: moveNumbers
// carries them over.
var excludedRows = map[string]string{"places": "name NOT IN ('" + positionEventID + "', '" + positionIndexed + "')"}

// readMoveTables are all tables of the schema but excludedTables, read from an empty database
// that is made for it: no table can be forgotten.
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

func (t *moveTable) describe(ctx context.Context, db *sql.DB) error {
	columnsByRank := map[int]int{} // in the key, from 1, to the column
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
		err = fmt.Errorf("the table %s has no primary key to move it by", t.name)
	}
	return err
}

func quoteNames(names []string) string {
	return `"` + strings.Join(names, `", "`) + `"`
}

func (t *moveTable) keyNames() (names []string) {
	for _, i := range t.key {
		names = append(names, t.columns[i])
	}
	return names
}

// whereClause joins conditions, empty ones left out.
func whereClause(conditions ...string) string {
	conditions = slices.DeleteFunc(conditions, func(c string) bool { return c == "" })
	if len(conditions) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(conditions, " AND ")
}

// selectQuery reads rows in the order of the key, those after one where after is set.
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

// scan reads a row into values of their kinds, and how many bytes they have.
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

// formatKey is the key of a row, as it is noted.
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

// parseKey are the values of a place, none for the beginning.
func (t *moveTable) parseKey(text string) (out []any, err error) {
	if text == "" {
		return nil, nil
	}
	var key []string
	if err := json.Unmarshal([]byte(text), &key); err != nil || len(key) != len(t.key) {
		return nil, fmt.Errorf("how far it is cannot be read (%q): begin again with an empty database", text)
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
