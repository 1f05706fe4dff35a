package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// allStores open a new store each time.
var allStores = map[string]func(testing.TB) *Store{
	"memory": sqliteStores["memory"], "disk": sqliteStores["disk"], "postgres": postgresStore,
}

func TestStore_Contract(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			storetest.Ledger(t, func(t testing.TB) storetest.Backend { return open(t) })
		})
	}
}

func TestStore_ReadingPostgres(t *testing.T) { readingContract(t, postgresStore) }

// eventsFrom returns n events of project 1, numbered from first, with their keys.
func eventsFrom(first, n int) (keys []capture.EventKey, events []capture.Record) {
	for i := first; i < first+n; i++ {
		e := capture.Record{
			ProjectID: 1, UUID: capture.PersonID(1, fmt.Sprint("event ", i)), Name: fmt.Sprint("name ", i%3), DistinctID: fmt.Sprint("id ", i%7),
			Properties: "{}", Timestamp: database.FromMicros(int64(i*7919%1000) * 1e6), CreatedAt: database.FromMicros(int64(i) * 1e6), PersonProperties: "{}",
		}
		keys = append(keys, capture.EventKey{ProjectID: e.ProjectID, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID})
		events = append(events, e)
	}
	return keys, events
}

func commitEvents(s *Store, first, n int) error {
	keys, events := eventsFrom(first, n)
	return s.Commit(context.Background(), []int64{1}, func(tx capture.Tx) error {
		if _, err := tx.Claim(keys); err != nil {
			return err
		}
		return tx.Save(&capture.Changes{Events: events})
	})
}

// keysOf returns the duplicate keys of events.
func keysOf(events []capture.Record) (keys []capture.EventKey) {
	for i := range events {
		e := &events[i]
		keys = append(keys, capture.EventKey{ProjectID: e.ProjectID, UUID: e.UUID, Name: e.Name, DistinctID: e.DistinctID})
	}
	return keys
}

// countStored returns how many of some different keys of project 1 are of stored events.
func countStored(t testing.TB, s *Store, keys []capture.EventKey) (n int) {
	t.Helper()
	rollback := errors.New("only asked")
	err := s.Commit(context.Background(), []int64{1}, func(tx capture.Tx) error {
		isNew, err := tx.Claim(keys)
		for _, ok := range isNew {
			if !ok {
				n++
			}
		}
		return errors.Join(err, rollback)
	})
	if !errors.Is(err, rollback) {
		t.Fatal(err)
	}
	return n
}

func countRows(t testing.TB, s *Store, table string) (n int) {
	t.Helper()
	if err := s.db.Read.QueryRow(`SELECT COUNT(*) FROM ` + table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// countEvents returns the number of stored events.
func countEvents(t testing.TB, s *Store) (n int) {
	t.Helper()
	if err := s.db.Read.QueryRow(events.Count).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// storedEvents returns the stored events of some projects in the order of their ids.
func storedEvents(t testing.TB, s *Store, projects ...int64) (list []capture.Record) {
	t.Helper()
	for _, project := range projects {
		if err := events.EachEvent(t.Context(), s.events.Source(), project, 0, func(e *capture.Record) error {
			list = append(list, *e)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(list, func(a, b capture.Record) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Decision 13: an accepted event survives a power cut. FULL is 2.
func TestDecision_13_Durable(t *testing.T) {
	s := sqliteStores["disk"](t)
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal"} {
		for name, db := range map[string]*sql.DB{"write": s.db.Write, "read": s.db.Read} {
			var got string
			if err := db.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
				t.Errorf("%s, %s: %q, %v, want %q", name, pragma, got, err, want)
			}
		}
	}
	var got string
	if err := postgresStore(t).db.Write.QueryRow("SHOW synchronous_commit").Scan(&got); err != nil || got != "on" {
		t.Errorf("PostgreSQL's synchronous_commit: %q, %v, want on", got, err)
	}
}

func TestStore_Reopen(t *testing.T) {
	disk := "sqlite:" + filepath.Join(t.TempDir(), "new folder", "100% ?#.db")
	for name, address := range map[string]string{"disk": disk, "postgres": pgtest.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			for i := range 3 {
				s, err := Open(context.Background(), address, Config{})
				if err != nil {
					t.Fatal(err)
				}
				if err := commitEvents(s, 10*i, 10); err != nil {
					t.Error(err)
				}
				if n := countEvents(t, s); n != 10*(i+1) {
					t.Errorf("%d events, want %d", n, 10*(i+1))
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Decision 28: only one server can open a SQLite file.
func TestStore_SecondServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	first, err := Open(context.Background(), "sqlite:"+path, Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Open(context.Background(), "sqlite:"+path, Config{})
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "stop that one") {
		t.Errorf("a second server: %v, want an error that names %s and says what to do", err, path)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	openStore(t, "sqlite:"+path)
}

func TestStore_OpenRejects(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(text, []byte(strings.Repeat("This is no database. ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, url, want string }{
		{"unknown scheme", "mysql://host/db", "use sqlite:PATH"},
		{"no scheme", "data.db", "use sqlite:PATH"},
		{"no path", "sqlite:", "the path is missing"},
		{"slashes", "sqlite://data.db", "use sqlite:data.db"},
		{"no database", "sqlite:" + text, "no SQLite database"},
		{"a folder", "sqlite:" + dir, "cannot be opened"},
		{"a folder that is a file", "sqlite:" + text + "/data.db", "cannot be made"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Open(context.Background(), tt.url, Config{})
			if err == nil {
				_ = s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want an error with %q", err, tt.want)
			}
		})
	}
}

// A schema of a newer version is refused in one line that names both versions, even if the
// newer version has no such record, or no such table, any more.
func TestStore_NewerSchema(t *testing.T) {
	for name, address := range map[string]string{"disk": "sqlite:" + filepath.Join(t.TempDir(), "store.db"), "postgres": pgtest.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			const unnamed = `written by a newer version of bunting \(schema 9999\), and this is bunting \S+, which supports schemas up to \d+: run that version, or restore`
			for _, tt := range []struct{ statement, want string }{
				{
					`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, '1'); UPDATE records SET data = '"v9.8.7"' WHERE kind = 'schema'`,
					`written by bunting v9\.8\.7 \(schema 9999\), and this is bunting \S+, which supports schemas up to \d+: run v9\.8\.7 or a newer version, or restore`,
				},
				{`DELETE FROM records`, unnamed},
				{`DROP TABLE records`, unnamed},
			} {
				db, err := database.Open(t.Context(), address)
				if err == nil && tt.want != unnamed {
					err = db.Migrate(t.Context(), slog.New(slog.DiscardHandler))
				}
				if err == nil {
					_, err = db.Write.Exec(tt.statement)
				}
				if err := errors.Join(err, db.Close()); err != nil {
					t.Fatal(err)
				}
				_, err = Open(t.Context(), address, Config{})
				if err == nil || !regexp.MustCompile(tt.want).MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
					t.Errorf("after %s: %v, want a line with %s", tt.statement, err, tt.want)
				}
			}
		})
	}
}

// The version that migrates a database is stored in it: this one, here that of a build of tests.
// A move does not copy it.
func TestStore_MigratedBy(t *testing.T) {
	file, moved := filepath.Join(t.TempDir(), "a.db"), filepath.Join(t.TempDir(), "b.db")
	s := openStore(t, "sqlite:"+file)
	_, err := s.db.Write.Exec(`UPDATE records SET data = '"v0.0.1"' WHERE kind = 'schema'`)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := moveOnce(t.Context(), "sqlite:"+file, "sqlite:"+moved); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "v0.0.1", moved: "(devel)"} {
		if e, err := Examine(t.Context(), "sqlite:"+path, "", true); err != nil || e.MigratedBy != want || e.NewerSchema != nil {
			t.Errorf("%s: %+v, %v, want the version %s", path, e, err, want)
		}
	}
}

// A full disk fails the commit without partial changes, and no restart is needed after
// space was freed.
func TestStore_DiskFull(t *testing.T) {
	s := sqliteStores["disk"](t)
	if err := commitEvents(s, 0, 100); err != nil {
		t.Fatal(err)
	}
	var pages int
	if err := s.db.Write.QueryRow(`PRAGMA page_count`).Scan(&pages); err != nil {
		t.Fatal(err)
	}
	limit := func(n int) {
		t.Helper()
		if _, err := s.db.Write.Exec(fmt.Sprintf(`PRAGMA max_page_count = %d`, n)); err != nil {
			t.Fatal(err)
		}
	}
	limit(pages + 2)
	for range 3 {
		err := commitEvents(s, 100, 2000)
		if !errors.Is(err, capture.ErrStore) || !strings.Contains(err.Error(), "free some space") {
			t.Fatalf("%v, want an error that says that the disk is full", err)
		}
		keys, _ := eventsFrom(0, 2100)
		if events, keys := countEvents(t, s), countStored(t, s, keys); events != 100 || keys != 100 {
			t.Errorf("%d events and %d keys after the failure, want 100", events, keys)
		}
	}
	err := managementStore{s}.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.Put(&management.Record{Kind: "large", ID: "1", Data: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)})
	})
	if !errors.Is(err, flags.ErrUnavailable) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("managing: %v, want that the store is unavailable", err)
	}
	large := &queries.StoredRun{Project: 1, ID: "r", Server: "s", Seen: time.Now(), Status: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}
	if _, err := s.BeginRun(t.Context(), large, time.Now(), queries.RunBounds{Count: 10, Bytes: 1 << 30}); !errors.Is(err, flags.ErrUnavailable) || !strings.Contains(err.Error(), "free some space") {
		t.Errorf("a run of a query: %v, want that the store is unavailable", err)
	}
	limit(1 << 30)
	if err := commitEvents(s, 100, 2000); err != nil {
		t.Error(err)
	}
	if events := countEvents(t, s); events != 2100 {
		t.Errorf("%d events, want 2100", events)
	}
}
