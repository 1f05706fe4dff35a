package copies

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func noProgress(string, int64, int64) {}

// insertPersons returns a statement that inserts n persons.
func insertPersons(n int) string {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf("(1, x'%08x', 1, 0, 0, '{}')", i))
	}
	return insertPerson + strings.Join(rows, ", ")
}

// A move between files copies all rows in batches of 2,000, and the numbers that must not be given
// again: of the last event, and of the last row that was ever inserted.
func TestMove_Files(t *testing.T) {
	t.Parallel()
	from := newDatabase(t, insertProject+`(1, 'o', 'a', 'phc_a', 0, 1)`, insertPersons(4001), `DELETE FROM persons WHERE id > 3990`,
		`UPDATE places SET id = 41 WHERE name = 'event_id'`, `INSERT INTO places (name, id) VALUES ('exports', 7)`)
	to := filepath.Join(t.TempDir(), "new", "bunting.db")
	var steps []string
	var totals []int64
	result, err := Move(t.Context(), "sqlite:"+from, "sqlite:"+to, func(what string, done, total int64) {
		if what == "moving persons" || what == "comparing persons" {
			steps = append(steps, what)
		}
		if totals = append(totals, total); done > total {
			t.Errorf("%s: %d of %d rows", what, done, total)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	// 3,990 persons are two batches, and an empty one marks the end.
	if want := []string{"moving persons", "moving persons", "moving persons", "comparing persons"}; !slices.Equal(steps, want) {
		t.Errorf("steps %q", steps)
	}
	if result.Resumed || result.Rows != totals[0] || result.Rows < 3992 || slices.ContainsFunc(totals, func(n int64) bool { return n != result.Rows }) {
		t.Errorf("%+v, totals %v", result, totals)
	}
	for query, want := range map[string]int64{
		`SELECT COUNT(*) FROM persons`:                             3990,
		`SELECT COUNT(*) FROM projects WHERE api_key = 'phc_a'`:    1,
		`SELECT seq FROM sqlite_sequence WHERE name = 'persons'`:   4001,
		`SELECT id FROM places WHERE name = 'event_id'`:            41,
		`SELECT id FROM places WHERE name = 'exports'`:             7,
		`SELECT COUNT(*) FROM moving`:                              0,
		`SELECT COUNT(*) FROM persons WHERE uuid = x'00000f95'`:    1, // the last one that is left, of index 3989
		`SELECT COUNT(*) FROM persons WHERE uuid = x'00000f96'`:    0,
		`SELECT COUNT(*) FROM persons WHERE typeof(uuid) = 'text'`: 0,
	} {
		if got := readNumber(t, to, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// Numbers of which none was ever given stay so.
func TestMove_UnusedNumbers(t *testing.T) {
	t.Parallel()
	to := filepath.Join(t.TempDir(), "to.db")
	if _, err := Move(t.Context(), "sqlite:"+newDatabase(t), "sqlite:"+to, noProgress); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{`SELECT COUNT(*) FROM sqlite_sequence WHERE name = 'persons'`, `SELECT SUM(id) FROM places`, `SELECT COUNT(*) FROM moving`} {
		if got := readNumber(t, to, query); got != 0 {
			t.Errorf("%s: %d", query, got)
		}
	}
}

// interruptMove moves until the first batch of persons is in the target.
func interruptMove(t *testing.T, from, to string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := Move(ctx, "sqlite:"+from, "sqlite:"+to, func(what string, _, _ int64) {
		if what == "moving persons" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "table persons: ") || !strings.Contains(err.Error(), "run the same command again") {
		t.Fatal(err)
	}
}

// An interrupted move continues after its last batch, and not with one that is in the target.
func TestMove_Continues(t *testing.T) {
	t.Parallel()
	from, to := newDatabase(t, insertPersons(4500)), filepath.Join(t.TempDir(), "to.db")
	interruptMove(t, from, to)
	if n := readNumber(t, to, `SELECT COUNT(*) FROM persons`); n != moveRows {
		t.Fatalf("%d persons are there after one batch", n)
	}
	var done []int64
	var last, all int64
	result, err := Move(t.Context(), "sqlite:"+from, "sqlite:"+to, func(what string, n, total int64) {
		if strings.HasPrefix(what, "moving") {
			last, all = n, total
		}
		if what == "moving persons" {
			done = append(done, n)
		}
	})
	if err != nil || !result.Resumed {
		t.Fatalf("%+v, %v", result, err)
	}
	if last != all || all != result.Rows {
		t.Errorf("the progress ends at %d of %d rows", last, all)
	}
	// 2,000 more, the last 500, and the end.
	if len(done) != 3 || done[1]-done[0] != 500 || done[2] != done[1] {
		t.Errorf("rows done: %v", done)
	}
	if n := readNumber(t, to, `SELECT COUNT(*) FROM persons`); n != 4500 {
		t.Errorf("%d persons", n)
	}
}

// Moves that are refused: from or into a database of another move, into one with data, after a
// change of what was copied, and with a position that cannot be read.
func TestMove_Rejects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inSource, inTarget string // statements, executed after the move was interrupted
		fresh              bool   // the move was not begun
		want               string
	}{
		"a target with data":         {"", insertPersons(1), true, "already contains data, in the table persons: move into an empty database"},
		"a target with a position":   {"", `INSERT INTO places (name, id) VALUES ('exports', 1)`, true, "already contains data, in the table places"},
		"from another source":        {"", `UPDATE moving SET place = 'sqlite:/other.db' WHERE name = ''`, false, "a move from sqlite:/other.db has begun"},
		"from a target":              {`INSERT INTO moving (name, place, n, done) VALUES ('', 'sqlite:/other.db', 0, 0)`, "", true, ErrMoving.Error()},
		"a copied row was changed":   {`UPDATE persons SET version = 9 WHERE id = 1`, "", false, "the table persons differs: 2001 rows"},
		"a copied row was deleted":   {`DELETE FROM persons WHERE id = 1`, "", false, "the table persons differs: 2000 rows"},
		"a row was added before":     {`INSERT INTO persons (id, project_id, uuid, created_at, is_identified, version, properties) VALUES (-1, 1, x'ff', 1, 0, 0, '{}')`, "", false, "the table persons differs: 2002 rows"},
		"a position of another kind": {"", `UPDATE moving SET place = '["a"]' WHERE name = 'persons'`, false, "invalid syntax"},
		"a position that is none":    {"", `UPDATE moving SET place = '["1","2"]' WHERE name = 'persons'`, false, `the progress of the move cannot be read ("[\"1\",\"2\"]")`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from, to := newDatabase(t, insertPersons(moveRows+1)), filepath.Join(t.TempDir(), "to.db")
			if !c.fresh {
				interruptMove(t, from, to)
			}
			for path, text := range map[string]string{from: c.inSource, to: c.inTarget} {
				if text != "" {
					changeDatabase(t, path, text)
				}
			}
			_, err := Move(t.Context(), "sqlite:"+from, "sqlite:"+to, noProgress)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if !c.fresh && readNumber(t, to, `SELECT COUNT(*) FROM moving WHERE name = ''`) != 1 {
				t.Error("a server could open the target")
			}
		})
	}
	path := newDatabase(t)
	if _, err := Move(t.Context(), "sqlite:"+path, "sqlite:"+path, noProgress); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("into itself: %v", err)
	}
}
