package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// tablesOf returns the tables of a database.
func tablesOf(t *testing.T, s *Store) (out []string) {
	t.Helper()
	text := `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name`
	if !s.db.Dialect.SingleWriter {
		text = `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1`
	}
	if err := database.Query(t.Context(), s.db.Write, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		out = append(out, name)
		return err
	}, text); err != nil {
		t.Fatal(err)
	}
	return out
}

// A move copies every table of the schema with every column, and every number that
// PostgreSQL assigns by itself.
func TestMove_HasEveryTable(t *testing.T) {
	tables, err := copies.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	moved := slices.Clone(copies.ExcludedTables)
	numbers := []string{"event_ids"}
	for i := range tables {
		moved = append(moved, tables[i].Name)
		if tables[i].HasSequence {
			numbers = append(numbers, tables[i].Name+"_"+tables[i].Columns[tables[i].Key[0]]+"_seq")
		}
	}
	slices.Sort(moved)
	slices.Sort(numbers)
	for name, s := range map[string]*Store{"sqlite": sqliteStores["memory"](t), "postgres": postgresStore(t)} {
		if diff := cmp.Diff(tablesOf(t, s), moved); diff != "" {
			t.Errorf("%s: tables (-schema +moved):\n%s", name, diff)
		}
		if s.db.Dialect.SingleWriter {
			continue
		}
		var sequences []string
		if err := database.Query(t.Context(), s.db.Write, func(rows *sql.Rows) error {
			var name string
			err := rows.Scan(&name)
			sequences = append(sequences, name)
			return err
		}, `SELECT sequencename::text FROM pg_sequences WHERE schemaname = current_schema() AND sequencename NOT LIKE 'goose%' ORDER BY 1`); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sequences, numbers); diff != "" {
			t.Errorf("sequences (-schema +moved):\n%s", diff)
		}
		for i := range tables {
			var columns []string
			if err := database.Query(t.Context(), s.db.Write, func(rows *sql.Rows) error {
				var name string
				err := rows.Scan(&name)
				columns = append(columns, name)
				return err
			}, `SELECT column_name::text FROM information_schema.columns WHERE table_schema = current_schema() AND table_name = $1`, tables[i].Name); err != nil {
				t.Fatal(err)
			}
			slices.Sort(columns)
			if diff := cmp.Diff(columns, slices.Sorted(slices.Values(tables[i].Columns))); diff != "" {
				t.Errorf("columns of %s (-schema +moved):\n%s", tables[i].Name, diff)
			}
		}
	}
}

// fillDatabase returns a closed store with rows in every table, with different strings
// and bytes. Tables without a writer in this test get rows by SQL, so that no table is
// left out.
func fillDatabase(t *testing.T, address string) {
	t.Helper()
	s, err := Open(t.Context(), address, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Bootstrap(t.Context(), BootstrapConfig{OwnerEmail: "owner@example.com"}); err != nil {
		t.Fatal(err)
	}
	s.events.KeyEvents = 1000 // a list of keys, and further keys without
	for _, n := range []int{0, 2000} {
		if err := commitEvents(s, n, 2000-n/2); err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			indexAll(t, s)
		}
	}
	properties, err := capture.ParseObject(`{"name":"Zoë \u0000 \"x\"","n":1.0}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"ana", "bo", "gone"} {
		p := capture.StoredPerson{Person: capture.Person{UUID: capture.PersonID(1, id), Properties: properties, CreatedAt: s.now()}, DistinctIDs: []string{id}}
		if err := peopleOf(s).Import(t.Context(), 1, p); err != nil {
			t.Fatal(err)
		}
	}
	// The last person was deleted: its number must not be assigned again.
	if _, err := s.db.Write.Exec(`DELETE FROM persons WHERE id = (SELECT MAX(id) FROM persons)`); err != nil {
		t.Fatal(err)
	}
	tables, err := copies.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range tables {
		// One lists files (see TestMove_Segments), and the other two have all keys of their events.
		if !slices.Contains([]string{"event_segments", "event_key_runs", "event_key_pages"}, tables[i].Name) {
			fill(t, s, &tables[i])
		}
	}
}

// fill inserts some rows into an empty table.
func fill(t *testing.T, s *Store, table *copies.Table) {
	t.Helper()
	if countRows(t, s, table.Name) > 0 && table.Exclude == "" {
		return
	}
	insert := database.NewInsert(`INSERT INTO "`+table.Name+`" (`+copies.QuoteNames(table.Columns)+`)`, len(table.Columns), "")
	err := insert.Chunks(&s.db.Dialect, 3, func(text string, from, rows int) error {
		var args []any
		for n := from; n < from+rows; n++ {
			for i, kind := range table.Kinds {
				switch kind {
				case "TEXT":
					args = append(args, fmt.Sprintf("é%d-%d \t\"'", n, i))
				case "BLOB":
					args = append(args, []byte{byte(n), 0, 255, byte(i)})
				default:
					args = append(args, int64(n))
				}
			}
		}
		_, err := s.db.Write.Exec(text, args...)
		return err
	})
	if err != nil {
		t.Fatal(table.Name, err)
	}
}

func moveOnce(ctx context.Context, from, to string) (copies.MoveResult, error) {
	return copies.Move(ctx, from, to, noProgress)
}

// A move to PostgreSQL and back preserves all data, including assigned numbers (issue
// C2). Move itself compares every row of every table; here the moved store is used.
func TestMove_RoundTrip(t *testing.T) {
	ctx := t.Context()
	file, back, targetURL := "sqlite:"+filepath.Join(t.TempDir(), "a.db"), "sqlite:"+filepath.Join(t.TempDir(), "b.db"), pgtest.Postgres(t)
	fillDatabase(t, file)
	done, err := moveOnce(ctx, file, targetURL)
	if err != nil || done.Rows < 80 || done.Resumed {
		t.Fatalf("%+v, %v", done, err)
	}
	if again, err := moveOnce(ctx, targetURL, back); err != nil || again.Rows != done.Rows {
		t.Fatalf("back: %+v, %v; there %d rows were moved", again, err, done.Rows)
	}
	for name, address := range map[string]string{"postgres": targetURL, "sqlite": back} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, address)
			original, err := sql.Open("sqlite", database.ReadingDSN(strings.TrimPrefix(file, "sqlite:")))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = original.Close() }()
			var want, got string
			const keys = `SELECT api_key || ' ' || (SELECT MIN(hash) FROM api_keys) FROM projects WHERE id = 1`
			if err := errors.Join(original.QueryRow(keys).Scan(&want), s.db.Write.QueryRow(keys).Scan(&got)); err != nil || got != want {
				t.Errorf("keys %q, want %q, %v", got, want, err)
			}
			var lastEvent, lastPerson, event, person int64
			if err := errors.Join(original.QueryRow(`SELECT MAX(last_id) FROM event_chunks`).Scan(&lastEvent),
				original.QueryRow(`SELECT seq FROM sqlite_sequence WHERE name = 'persons'`).Scan(&lastPerson)); err != nil {
				t.Fatal(err)
			}
			// A repeated event is a duplicate, a new event gets a number of its own.
			if err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
				keys, _ := eventsFrom(0, 10)
				fresh, err := tx.Claim(keys)
				if slices.Contains(fresh, true) {
					t.Error("an event that was moved is taken for a new one")
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := commitEvents(s, 5000, 1); err != nil {
				t.Fatal(err)
			}
			added := capture.StoredPerson{Person: capture.Person{UUID: capture.PersonID(1, "new"), CreatedAt: s.now()}, DistinctIDs: []string{"new"}}
			if err := peopleOf(s).Import(ctx, 1, added); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.db.Write.QueryRow(`SELECT MAX(last_id) FROM event_chunks`).Scan(&event), s.db.Write.QueryRow(`SELECT MAX(id) FROM persons`).Scan(&person)); err != nil {
				t.Fatal(err)
			}
			if event <= lastEvent || person <= lastPerson {
				t.Errorf("the next event is %d after %d, the next person %d after %d", event, lastEvent, person, lastPerson)
			}
			if p, err := s.PersonForDistinctID(ctx, 1, "ana"); err != nil || p == nil || p.UUID != capture.PersonID(1, "ana") {
				t.Errorf("%+v, %v", p, err)
			}
			if projects, err := s.Projects(ctx); err != nil || len(projects) != 1 {
				t.Errorf("%+v, %v", projects, err)
			}
		})
	}
}

// A move that was interrupted after any batch continues there, and no server can open
// the target until it is complete.
func TestMove_Resumes(t *testing.T) {
	file, targetURL := "sqlite:"+filepath.Join(t.TempDir(), "a.db"), pgtest.Postgres(t)
	fillDatabase(t, file)
	stops := 0
	for ; ; stops++ {
		ctx, cancel := context.WithCancel(t.Context())
		batches := 0
		done, err := copies.Move(ctx, file, targetURL, func(what string, _, _ int64) {
			if batches++; batches > 7 && strings.HasPrefix(what, "moving") {
				cancel()
			}
		})
		cancel()
		if err == nil {
			if !done.Resumed {
				t.Error("it has begun anew")
			}
			break
		}
		if stops > 100 {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), targetURL, Config{}); !errors.Is(err, copies.ErrMoving) {
			t.Fatalf("a server starts on a half moved database: %v", err)
		}
		if _, err := moveOnce(t.Context(), targetURL, "sqlite:"+filepath.Join(t.TempDir(), "x.db")); !errors.Is(err, copies.ErrMoving) {
			t.Errorf("a half moved database is moved on: %v", err)
		}
	}
	if stops == 0 {
		t.Error("it was never stopped")
	}
	moved := openStore(t, targetURL)
	if list := storedEvents(t, moved, 1); len(list) != 3000 || countStored(t, moved, keysOf(list)) != 3000 {
		t.Errorf("%d events, of which %d are known when they are sent again", len(list), countStored(t, moved, keysOf(list)))
	}
}

func TestMove_Rejects(t *testing.T) {
	ctx := t.Context()
	folder := t.TempDir()
	file, other := "sqlite:"+filepath.Join(folder, "a.db"), "sqlite:"+filepath.Join(folder, "b.db")
	fillDatabase(t, file)
	fillDatabase(t, other)
	if _, err := moveOnce(ctx, file, other); err == nil || !strings.Contains(err.Error(), "already contains data") {
		t.Errorf("a target with data: %v", err)
	}
	targetURL := pgtest.Postgres(t)
	s := openStore(t, targetURL)
	for _, way := range [][2]string{{file, targetURL}, {targetURL, "sqlite:" + filepath.Join(folder, "c.db")}} {
		if _, err := moveOnce(ctx, way[0], way[1]); err == nil || !strings.Contains(err.Error(), "stop all servers first") {
			t.Errorf("%v under a running server: %v", way, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// A move from one source does not continue with another source.
	stopped, cancel := context.WithCancel(ctx)
	_, err := copies.Move(stopped, file, targetURL, func(string, int64, int64) { cancel() })
	if err == nil {
		t.Fatal("it was not stopped")
	}
	if _, err := moveOnce(ctx, other, targetURL); err == nil || !strings.Contains(err.Error(), "has begun") {
		t.Errorf("from another source: %v", err)
	}
	// A change in a part of the source that was copied already is detected.
	changed, err := Open(ctx, file, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := changed.db.Write.Exec(`UPDATE api_keys SET label = 'another'`); err != nil {
		t.Fatal(err)
	}
	if err := changed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := moveOnce(ctx, file, targetURL); err == nil || !strings.Contains(err.Error(), "the table api_keys differs") {
		t.Errorf("a source that has changed: %v", err)
	}
}
