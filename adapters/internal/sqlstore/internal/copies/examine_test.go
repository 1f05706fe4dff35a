package copies

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
)

// newDatabase makes a database file with the newest schema, and executes statements in it.
func newDatabase(t *testing.T, statements ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "bunting.db")
	changeDatabase(t, path, statements...)
	return path
}

// changeDatabase executes statements in a database file.
func changeDatabase(t *testing.T, path string, statements ...string) {
	t.Helper()
	s, err := openForMove(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range statements {
		if _, err := s.db.Write.Exec(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// readNumber returns the result of a query for one number.
func readNumber(t *testing.T, path, query string) (n int64) {
	t.Helper()
	db, err := sql.Open("sqlite", database.ReadingDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

const (
	insertProject = `INSERT INTO projects (id, organization_id, name, api_key, deleted, created_at) VALUES `
	insertPerson  = `INSERT INTO persons (project_id, uuid, created_at, is_identified, version, properties) VALUES `
)

// What an examination finds in a database, and that it changes no byte of the file.
func TestExamine(t *testing.T) {
	t.Parallel()
	newest := database.NewestSchema()
	for name, c := range map[string]struct {
		statements []string
		want       Examination // without the fields of files
	}{
		"a new database":           {nil, Examination{Schema: newest}},
		"a deleted project":        {[]string{insertProject + `(1, 'o', 'a', 'phc_a', 0, 1), (2, 'o', 'b', 'phc_b', 1, 1), (3, 'o', 'c', 'phc_c', 0, 1)`}, Examination{Schema: newest, Projects: 2}},
		"events without an index":  {[]string{`INSERT INTO event_new_chunks (first_id, project_id, last_id, events, first_time, last_time) VALUES (2, 1, 5, 3, 0, 0)`}, Examination{Schema: newest, Events: 3, Unindexed: 3}},
		"the target of a move":     {[]string{`INSERT INTO moving (name, place, n, done) VALUES ('', 'sqlite:/a.db', 0, 0)`}, Examination{Schema: newest, Moving: true}},
		"a newer version":          {[]string{`INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)`}, Examination{Schema: 999}},
		"before the move existed":  {[]string{`DROP TABLE moving`}, Examination{Schema: newest}},
		"an index of other values": {brokenIndex, Examination{Schema: newest}},
	} {
		path := newDatabase(t, c.statements...)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Examine(t.Context(), "sqlite:"+path, "", true)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got.URL != "sqlite:"+path || got.NewestSchema != newest || got.Size != int64(len(before)) || got.Free == 0 {
			t.Errorf("%s: %+v", name, got)
		}
		if (got.NewerSchema != nil) != (got.Schema > newest) || got.MigratedBy != "(devel)" {
			t.Errorf("%s: written by %s: %v", name, got.MigratedBy, got.NewerSchema)
		}
		got.URL, got.NewestSchema, got.Size, got.Free, got.Log, got.MigratedBy, got.NewerSchema = "", 0, 0, 0, 0, "", nil
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed, %v", name, err)
		}
	}
}

// brokenIndex makes an index with wrong values: it is built for the numbers times ten, and then
// declared to be one of the numbers. The number of its entries is right.
var brokenIndex = []string{
	`CREATE TABLE extra (id INTEGER PRIMARY KEY, n INTEGER)`, `INSERT INTO extra (n) VALUES (1), (2)`, `CREATE INDEX extra_by_n ON extra (n * 10)`,
	`PRAGMA writable_schema = ON`, `UPDATE sqlite_schema SET sql = 'CREATE INDEX extra_by_n ON extra (n)' WHERE name = 'extra_by_n'`, `PRAGMA writable_schema = OFF`,
}

// Only a full examination compares indexes with tables; damaged pages are found by both.
func TestExamine_Damage(t *testing.T) {
	t.Parallel()
	path := newDatabase(t, brokenIndex...)
	got, err := Examine(t.Context(), "sqlite:"+path, "", false)
	if err != nil || len(got.Faults) == 0 || !strings.Contains(got.Faults[0], "extra_by_n") || got.Schema != 0 {
		t.Errorf("%q, %v", got.Faults, err)
	}
	path = newDatabase(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(text) / 4; i < len(text); i++ {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, quick := range []bool{true, false} {
		got, err := Examine(t.Context(), "sqlite:"+path, "", quick)
		if err == nil && (len(got.Faults) == 0 || len(got.Faults) > 10) {
			t.Errorf("quick %v: %d faults", quick, len(got.Faults))
		}
		if got.Schema != 0 || got.Projects != 0 {
			t.Errorf("quick %v: tables of a damaged file are counted: %+v", quick, got)
		}
	}
}

// Files that others can read are named, each by itself.
func TestExamine_Permissions(t *testing.T) {
	t.Parallel()
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o620: true, 0o604: true, 0o601: true, 0o666: true} {
		path := newDatabase(t)
		if err := errors.Join(os.WriteFile(path+"-wal", nil, 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		got, err := Examine(t.Context(), "sqlite:"+path, "", true)
		if err != nil || slices.Contains(got.Open, path) != want || slices.Contains(got.Open, path+"-wal") {
			t.Errorf("%o: %q, %v", mode, got.Open, err)
		}
	}
	path := newDatabase(t)
	if err := errors.Join(os.WriteFile(path+"-wal", nil, 0o600), os.Chmod(path+"-wal", 0o644)); err != nil {
		t.Fatal(err)
	}
	if got, err := Examine(t.Context(), "sqlite:"+path, "", true); err != nil || !slices.Equal(got.Open, []string{path + "-wal"}) {
		t.Errorf("%q, %v", got.Open, err)
	}
}

// A database is in use while another process, or another part of this one, has it open.
func TestExamine_InUse(t *testing.T) {
	t.Parallel()
	path := newDatabase(t)
	s, err := openForMove(t.Context(), "sqlite:"+path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Examine(t.Context(), "sqlite:"+path, "", true); err != nil || !got.InUse {
		t.Errorf("open: %+v, %v", got, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := Examine(t.Context(), "sqlite:"+path, "", true); err != nil || got.InUse {
		t.Errorf("closed: %+v, %v", got, err)
	}
}

// Databases that no server has initialized, and those that lack a table.
func TestExamine_Rejects(t *testing.T) {
	t.Parallel()
	empty := filepath.Join(t.TempDir(), "empty.db")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, address := range map[string]string{"no file": "sqlite:" + filepath.Join(t.TempDir(), "none.db"), "an empty file": "sqlite:" + empty, "memory": "sqlite::memory:"} {
		if got, err := Examine(t.Context(), address, "", true); !errors.Is(err, ErrNoDatabase) || got.NewestSchema != database.NewestSchema() {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for _, table := range []string{"projects", "event_chunks", "event_blocks"} {
		got, err := Examine(t.Context(), "sqlite:"+newDatabase(t, `DROP TABLE `+table), "", true)
		if want := "the table " + table + " is missing: restore a backup"; err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v", table, got, err)
		}
	}
	if _, err := Examine(t.Context(), "mysql://host/db", "", true); err == nil {
		t.Error("a database of another kind is examined")
	}
}
