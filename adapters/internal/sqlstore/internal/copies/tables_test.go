package copies

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

func TestWhereClause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		conditions []string
		want       string
	}{
		{nil, ""},
		{[]string{"", ""}, ""},
		{[]string{"a = 1"}, " WHERE a = 1"},
		{[]string{"", "a = 1"}, " WHERE a = 1"},
		{[]string{"a = 1", ""}, " WHERE a = 1"},
		{[]string{"a = 1", "", "b = 2"}, " WHERE a = 1 AND b = 2"},
	} {
		if got := whereClause(slices.Clone(c.conditions)...); got != c.want {
			t.Errorf("%q: %q, want %q", c.conditions, got, c.want)
		}
	}
}

// A batch is selected in the order of the key, not of the columns, and begins after the key in the
// arguments. Rows that describe the database itself are excluded from every batch.
func TestTable_SelectQuery(t *testing.T) {
	t.Parallel()
	simple := Table{Name: "persons", Columns: []string{"id", "order"}, Key: []int{0}}
	composite := Table{Name: "totals", Columns: []string{"n", "day", "project_id"}, Key: []int{2, 1}, Exclude: "n > 0"}
	for _, c := range []struct {
		table    *Table
		afterKey bool
		limit    int
		want     string
	}{
		{&simple, false, 0, `SELECT "id", "order" FROM "persons" ORDER BY "id"`},
		{&simple, false, 7, `SELECT "id", "order" FROM "persons" ORDER BY "id" LIMIT 7`},
		{&simple, true, 7, `SELECT "id", "order" FROM "persons" WHERE ("id") > ($1) ORDER BY "id" LIMIT 7`},
		{&composite, false, 0, `SELECT "n", "day", "project_id" FROM "totals" WHERE n > 0 ORDER BY "project_id", "day"`},
		{&composite, true, 2, `SELECT "n", "day", "project_id" FROM "totals" WHERE n > 0 AND ("project_id", "day") > ($1, $2) ORDER BY "project_id", "day" LIMIT 2`},
	} {
		if got := c.table.selectQuery(c.afterKey, c.limit); got != c.want {
			t.Errorf("%s, %v, %d: %s, want %s", c.table.Name, c.afterKey, c.limit, got, c.want)
		}
	}
}

// A position is the key of the last row as text, from which the same key is read again.
func TestTable_Positions(t *testing.T) {
	t.Parallel()
	table := Table{Columns: []string{"properties", "uuid", "id", "name"}, Kinds: []string{"TEXT", "BLOB", "INTEGER", "TEXT"}, Key: []int{3, 2, 1}}
	for _, c := range []struct {
		row  []any
		text string
	}{
		{[]any{"{}", []byte{0, 255}, int64(1), "ann"}, `["ann","1","00ff"]`},
		{[]any{nil, []byte{}, int64(-9223372036854775808), ""}, `["","-9223372036854775808",""]`},
		{[]any{"", []byte{16}, int64(9223372036854775807), "\"é\x00<"}, `["\"é\u0000<","9223372036854775807","10"]`},
	} {
		text := table.formatKey(c.row)
		key, err := table.parseKey(text)
		if diff := cmp.Diff([]any{c.row[3], c.row[2], c.row[1]}, key); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
		// The texts were written by hand; another way to escape the same text is also read.
		if key, err = table.parseKey(c.text); err != nil || !cmp.Equal([]any{c.row[3], c.row[2], c.row[1]}, key) {
			t.Errorf("%s: %v, %v", c.text, key, err)
		}
	}
	if key, err := table.parseKey(""); key != nil || err != nil {
		t.Errorf("the beginning: %v, %v", key, err)
	}
	for text, want := range map[string]string{
		`["ann","1"]`:             "start again with an empty database",
		`["ann","1","00","more"]`: "start again with an empty database",
		`[]`:                      "start again with an empty database",
		`["ann",1,"00"]`:          "start again with an empty database",
		`{"name":"ann"}`:          "start again with an empty database",
		`["ann"`:                  "start again with an empty database",
		`["ann","1.5","00"]`:      "invalid syntax",
		`["ann","1","0"]`:         "odd length",
		`["ann","1","zz"]`:        "invalid byte",
	} {
		if key, err := table.parseKey(text); err == nil || key != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %s", text, key, err, want)
		}
	}
}

// Rows whose values differ in type, in length, or in where one value ends have different checksums.
func TestAddValue_Distinct(t *testing.T) {
	t.Parallel()
	seen := map[string][]any{}
	for _, row := range [][]any{
		{}, {nil}, {nil, nil}, {int64(0)}, {int64(1)}, {int64(-1)}, {int64(256)}, {""}, {[]byte{}}, {"0"}, {"1"}, {[]byte("1")}, {"\x00"}, {[]byte{0}},
		{"ab", "c"}, {"a", "bc"}, {"abc"}, {"abc", ""}, {"", "abc"}, {[]byte("ab"), "c"}, {"ab", []byte("c")}, {int64(1), int64(2)}, {int64(2), int64(1)}, {nil, "a"}, {"a", nil},
		{"\x02\x00\x00\x00\x00\x00\x00\x00\x00"}, {"a\x02\x00\x00\x00\x00\x00\x00\x00\x01b"}, {"a", "b"},
		{"a\x02\x00\x00\x00\x00\x00\x00\x00\x00b"}, // would equal the row before it if lengths were not added
	} {
		sum := sha256.New()
		for _, v := range row {
			addValue(sum, v)
		}
		text := hex.EncodeToString(sum.Sum(nil))
		if other, there := seen[text]; there {
			t.Errorf("%q has the checksum of %q", row, other)
		}
		seen[text] = row
	}
}

// openTestTable opens a database in memory with the table t.
func openTestTable(t *testing.T, definition string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE t (` + definition + `)`); err != nil {
		t.Fatal(err)
	}
	return db
}

// The columns are those of the table in their order, and the key has the order of the primary key.
// A table without one cannot be moved in batches.
func TestTable_Describe(t *testing.T) {
	t.Parallel()
	for definition, want := range map[string]Table{
		"id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL":  {Columns: []string{"id", "name"}, required: []bool{false, true}, Kinds: []string{"INTEGER", "TEXT"}, Key: []int{0}},
		"a BIGINT, b BLOB, c TEXT, PRIMARY KEY (c, a)":              {Columns: []string{"a", "b", "c"}, required: []bool{false, false, false}, Kinds: []string{"BIGINT", "BLOB", "TEXT"}, Key: []int{2, 0}},
		"b BLOB, a TEXT, PRIMARY KEY (b, a)":                        {Columns: []string{"b", "a"}, required: []bool{false, false}, Kinds: []string{"BLOB", "TEXT"}, Key: []int{0, 1}},
		"a TEXT, b TEXT, c TEXT, d TEXT, PRIMARY KEY (d, b, c, a)":  {Columns: []string{"a", "b", "c", "d"}, required: []bool{false, false, false, false}, Kinds: []string{"TEXT", "TEXT", "TEXT", "TEXT"}, Key: []int{3, 1, 2, 0}},
		"\"order\" TEXT PRIMARY KEY, x INTEGER) WITHOUT ROWID; -- ": {Columns: []string{"order", "x"}, required: []bool{true, false}, Kinds: []string{"TEXT", "INTEGER"}, Key: []int{0}},
	} {
		got := Table{Name: "t"}
		err := got.describe(t.Context(), openTestTable(t, definition))
		if want.Name = "t"; err != nil || !cmp.Equal(want, got, cmp.AllowUnexported(Table{})) {
			t.Errorf("%s: %+v, %v, want %+v", definition, got, err, want)
		}
	}
	got := Table{Name: "t"}
	if err := got.describe(t.Context(), openTestTable(t, "a TEXT UNIQUE")); err == nil || !strings.Contains(err.Error(), "the table t has no primary key") {
		t.Error(err)
	}
}

// A row has values of the types of its columns. Its size counts the bytes of texts, and eight for an
// integer. An empty text is not null, nor is an empty value of a column that cannot be null.
func TestTable_Scan(t *testing.T) {
	t.Parallel()
	db := openTestTable(t, "id INTEGER PRIMARY KEY, name TEXT, data BLOB, n BIGINT, filter BLOB NOT NULL DEFAULT x''")
	if _, err := db.Exec(`INSERT INTO t (id, name, data, n) VALUES (1, 'é', x'00ff01', -5), (2, '', x'61', 0), (3, NULL, NULL, NULL), (4, '7', x'37', 7)`); err != nil {
		t.Fatal(err)
	}
	table := Table{Name: "t"}
	if err := table.describe(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	var got [][]any
	var sizes []int
	if err := database.Query(t.Context(), db, func(rows *sql.Rows) error {
		row, size, err := table.scan(rows)
		got, sizes = append(got, row), append(sizes, size)
		return err
	}, table.selectQuery(false, 0)); err != nil {
		t.Fatal(err)
	}
	want := [][]any{{int64(1), "é", []byte{0, 255, 1}, int64(-5), []byte{}}, {int64(2), "", []byte("a"), int64(0), []byte{}}, {int64(3), nil, nil, nil, []byte{}}, {int64(4), "7", []byte("7"), int64(7), []byte{}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// 8 + 2 + 3 + 8, 8 + 0 + 1 + 8, two integers, 8 + 1 + 1 + 8.
	if !slices.Equal(sizes, []int{21, 17, 16, 18}) {
		t.Errorf("sizes %v", sizes)
	}
}

// The tables of the schema: none of another purpose, each with its key, and numbered rows where
// SQLite counts them.
func TestTables(t *testing.T) {
	t.Parallel()
	tables, err := Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*Table{}
	last := ""
	for i := range tables {
		table := &tables[i]
		if table.Name <= last || slices.Contains(ExcludedTables, table.Name) || strings.HasPrefix(table.Name, "sqlite_") || len(table.Key) == 0 || len(table.Columns) != len(table.Kinds) {
			t.Errorf("%+v after %s", table, last)
		}
		byName[table.Name], last = table, table.Name
	}
	for name, numbered := range map[string]bool{"persons": true, "event_chunks": false, "projects": false, "places": false} {
		if table := byName[name]; table == nil || table.HasSequence != numbered {
			t.Errorf("%s: %+v", name, table)
		}
	}
	if places := byName["places"]; places.Exclude != "name <> 'event_id'" || places.initialRows != 0 {
		t.Errorf("%+v: the position of new databases counts as data", places)
	}
	if got := byName["event_blocks"]; !slices.Equal(got.keyNames(), []string{"project_id", "first_id"}) {
		t.Errorf("%+v", got)
	}
}
