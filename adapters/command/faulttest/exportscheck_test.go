//go:build linux

package faulttest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// idle reports whether an export has finished its work. checkRuns reports runs that failed.
func (e *killedExport) idle(t testing.TB, s *server) bool {
	t.Helper()
	e.backfills = nil
	for _, b := range everyPage[struct{ ID, Status string }](t, s, e.path+"/backfills/", exportsKey) {
		if b.Status == "Starting" || b.Status == "Running" {
			return false
		}
		e.backfills = append(e.backfills, b.ID)
		if b.Status != "Completed" {
			t.Errorf("%s: a backfill is %s", e.path, b.Status)
		}
	}
	for _, status := range []string{"Starting", "Running"} {
		if len(everyPage[killedRun](t, s, e.path+"/runs/?status="+status, exportsKey)) > 0 {
			return false
		}
	}
	return true
}

func (x *exportTest) readRuns(t testing.TB, s *server, e *killedExport) {
	t.Helper()
	e.runs = everyPage[killedRun](t, s, e.path+"/runs/?ordering=data_interval_start", exportsKey)
}

// checkRuns requires consecutive intervals, each with one run, and as many rows in each pass as
// there are events.
func (e *killedExport) checkRuns(t testing.TB, hour time.Time, want int64) {
	t.Helper()
	passes := map[string][]killedRun{}
	for _, r := range e.runs {
		if r.Status != "Completed" || r.Rows == nil {
			t.Fatalf("%s: run %s of %s is %s", e.path, r.ID, r.From, r.Status)
		}
		pass := "" // schedule and backfills of unpausing alternate in one pass
		if e.hour {
			pass = "the schedule"
			if r.Backfill != nil {
				pass = *r.Backfill
			}
		}
		passes[pass] = append(passes[pass], r)
	}
	if e.hour {
		delete(passes, "the schedule") // in a long test the schedule has runs too
	}
	for pass, runs := range passes {
		from, to, rows := e.created.Truncate(5*time.Minute), time.Time{}, int64(0)
		if e.hour {
			from, to = hour, hour.Add(time.Hour)
		}
		for _, r := range runs {
			if !r.From.Equal(from) || !r.To.After(from) {
				t.Errorf("%s %s: a run is of %s to %s, want one that begins at %s", e.path, pass, r.From, r.To, from)
			}
			from = r.To
			rows += *r.Rows
		}
		if e.hour && (len(runs) != 12 || !from.Equal(to)) {
			t.Errorf("%s %s: %d runs up to %s, want 12 up to %s", e.path, pass, len(runs), from, to)
		}
		if rows != want {
			t.Errorf("%s %s: the runs have %d rows, want %d", e.path, pass, rows, want)
		}
	}
	if e.hour && len(passes) != len(e.backfills) {
		t.Errorf("%s: %d backfills have runs, want %d", e.path, len(passes), len(e.backfills))
	}
	t.Logf("%s%s: %d runs of %d backfills", e.folder, e.table, len(e.runs), len(e.backfills))
}

// checkRows requires each event exactly once, and no other rows.
func (e *killedExport) checkRows(t testing.TB, want map[eventKey]int64, rows []eventKey) {
	t.Helper()
	found := make(map[eventKey]int, len(rows))
	unknown, double := 0, 0
	for _, key := range rows {
		if _, ok := want[key]; !ok {
			unknown++
		}
		if found[key]++; found[key] == 2 {
			double++
		}
	}
	missing := 0
	for key := range want {
		if found[key] == 0 {
			missing++
		}
	}
	if unknown+double+missing > 0 {
		t.Errorf("%s%s: of %d events %d are missing and %d double, %d rows are of none", e.folder, e.table, len(want), missing, double, unknown)
	}
}

// inFiles returns the rows of all files of a folder. For exports of the hour, the files of the
// schedule are omitted.
func (e *killedExport) inFiles(t testing.TB, folder string) (all []eventKey) {
	t.Helper()
	names, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name.Name(), ".tmp") {
			t.Errorf("%s has been left behind", name.Name())
			continue
		}
		if e.hour != strings.Contains(name.Name(), ".backfill.") {
			if !e.hour {
				t.Errorf("%s is none of the schedule", name.Name())
			}
			continue
		}
		data, err := os.ReadFile(filepath.Join(folder, name.Name()))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(data))
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			var row struct {
				UUID, Event string
				DistinctID  string `json:"distinct_id"`
			}
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				t.Fatalf("%s: %v: %s", name.Name(), err, cutText(lines.Text()))
			}
			all = append(all, keyOf(t, row.UUID, row.Event, row.DistinctID))
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// inTable returns the rows of the table. The table's record of its runs must equal the server's.
func (e *killedExport) inTable(t testing.TB, db *database) (all []eventKey) {
	t.Helper()
	conn := db.open(t)
	defer func() { _ = conn.Close() }()
	tx, err := conn.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	var uuid, name, distinctID string
	query := "SELECT uuid, event, distinct_id FROM " + e.table
	if e.hour { // without the rows of the schedule
		query += " WHERE distinct_id LIKE 'hour-%'"
	}
	rows(t, tx, query, nil, []any{&uuid, &name, &distinctID}, func() { all = append(all, keyOf(t, uuid, name, distinctID)) })
	counts := map[string]int64{}
	var n int64
	rows(t, tx, "SELECT run, rows FROM bunting_export_runs WHERE export = $1", []any{e.path[strings.LastIndexByte(e.path, '/')+1:]},
		[]any{&name, &n}, func() { counts[name] = n })
	for _, r := range e.runs {
		if n, ok := counts[r.ID]; !ok || n != *r.Rows {
			t.Errorf("%s: run %s has %d rows in the table, %v, and %d in the API", e.table, r.ID, n, ok, *r.Rows)
		}
	}
	if len(counts) != len(e.runs) {
		ids := make([]string, 0, len(e.runs))
		for _, r := range e.runs {
			ids = append(ids, r.ID)
		}
		for id := range counts {
			if !slices.Contains(ids, id) {
				t.Errorf("%s: the table has the run %s, which the API does not know", e.table, id)
			}
		}
	}
	return all
}
