package sqlstore

import (
	"bytes"
	"database/sql"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/copies"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
)

// newSealed returns a store with 500 events in segments and 200 in the database, the path of its
// file and the folder of its segments.
func newSealed(t *testing.T) (m *eventModel, path, files string) {
	t.Helper()
	folder := t.TempDir()
	path, files = filepath.Join(folder, "store.db"), filepath.Join(folder, "events")
	m = &eventModel{T: t, random: rand.New(rand.NewPCG(11, 12)), store: openSegments(t, "sqlite:"+path, files)}
	m.commit(500)
	indexAll(t, m.store)
	sealAll(t, m.store)
	m.commit(200)
	return m, path, files
}

// checkStored compares every way of reading a store with a list.
func checkStored(t *testing.T, when string, s *Store, list []capture.Record) {
	t.Helper()
	(&eventModel{T: t, random: rand.New(rand.NewPCG(13, 14)), store: s, list: slices.Clone(list)}).check(when)
}

// A backup has the events of the moment when it began, although events are erased and files are
// replaced while it is written. A restored store, and one that was moved then, has the same events.
func TestSegments_BackupRestoreMove(t *testing.T) {
	m, path, files := newSealed(t)
	want := slices.Clone(m.list)
	backup, other := filepath.Join(t.TempDir(), "backup.db"), t.TempDir()
	isChanged := false
	written, err := copies.Backup(t.Context(), path, files, backup, func(string, int64, int64) {
		if isChanged {
			return
		}
		isChanged = true
		m.erase(m.list[3].DistinctID)
		for range 2 { // the second time removes the files that were replaced
			sealAll(t, m.store)
		}
	})
	if err != nil || written.Events != 700 || written.Segments != 2 || !isChanged {
		t.Fatalf("%+v, %v", written, err)
	}
	m.check("after the backup")
	restored, files2 := filepath.Join(other, "restored.db"), filepath.Join(other, "events")
	done, _, err := copies.Restore(t.Context(), backup, restored, files2, false, noProgress)
	if err != nil || done.Events != 700 || done.Segments != 2 {
		t.Fatalf("%+v, %v", done, err)
	}
	if e, err := Examine(t.Context(), "sqlite:"+restored, files2, false); err != nil || len(e.Faults)+len(e.SegmentFaults)+len(e.Unlisted) > 0 || e.Segments != 2 || e.Events != 700 {
		t.Errorf("%+v, %v", e, err)
	}
	s := openSegments(t, "sqlite:"+restored, files2)
	checkStored(t, "restored", s, want)
	if n := s.Size(t.Context()).Segments; n != sizeOfSegments(t, files2) {
		t.Errorf("%d bytes of segments", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	moved := filepath.Join(other, "moved.db")
	result, err := moveOnce(t.Context(), "sqlite:"+restored, "sqlite:"+moved)
	if err != nil || result.Segments != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	checkStored(t, "moved", openSegments(t, "sqlite:"+moved, files2), want)
}

// A move to PostgreSQL leaves the files where they are, and its servers read and rewrite them. So does
// a move back.
func TestSegments_MoveToPostgres(t *testing.T) {
	m, path, files := newSealed(t)
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	address, back := pgtest.Postgres(t), "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	result, err := moveOnce(t.Context(), "sqlite:"+path, address)
	if err != nil || result.Segments != 2 {
		t.Fatalf("%+v, %v", result, err)
	}
	m.store = openSegments(t, address, files)
	m.check("moved")
	m.erase(m.list[3].DistinctID)
	awaitSweep(t, m.store, files)
	m.check("rewritten")
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := moveOnce(t.Context(), address, back); err != nil {
		t.Fatal(err)
	}
	m.store = openSegments(t, back, files)
	m.check("moved back")
}

// sizeOfSegments returns the size of the files of segments in a folder.
func sizeOfSegments(t *testing.T, folder string) (n int64) {
	t.Helper()
	for _, name := range segmentFiles(t, folder) {
		info, err := os.Stat(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

// A full examination finds every byte of a segment that was changed, and a quick one finds files of
// another size. Both find blocks with a file that is not listed any more.
func TestSegments_Examine(t *testing.T) {
	m, path, files := newSealed(t)
	listed := sealedNames(t, m.store)
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	examine := func(quick bool) string {
		t.Helper()
		e, err := Examine(t.Context(), "sqlite:"+path, files, quick)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(append(e.SegmentFaults, e.Faults...), "\n")
	}
	for _, quick := range []bool{true, false} {
		if got := examine(quick); got != "" {
			t.Errorf("quick %v: %s", quick, got)
		}
	}
	name := filepath.Join(files, listed[0])
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []int{0, len(content) / 2, len(content) - 1} {
		damaged := bytes.Clone(content)
		damaged[at] ^= 1
		if err := os.WriteFile(name, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := examine(false); !strings.HasPrefix(got, "the segment "+listed[0]) {
			t.Errorf("byte %d: %q", at, got)
		}
	}
	if err := os.WriteFile(name, append(content, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := examine(true); !strings.HasPrefix(got, "the segment "+listed[0]) {
		t.Errorf("a byte more: %q", got)
	}
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	// The bytes are those of the catalogue, and the numbers of events are others.
	for _, c := range []struct{ change, undo, want string }{
		{`UPDATE event_blocks SET events = events + 1 WHERE project_id = 2`, `UPDATE event_blocks SET events = events - 1 WHERE project_id = 2`, "block"},
		{`UPDATE event_segments SET events = events + 1 WHERE project_id = 1`, `UPDATE event_segments SET events = events - 1 WHERE project_id = 1`, "events, and the database lists"},
		{`UPDATE event_segments SET last_id = last_id - 1 WHERE project_id = 1`, `UPDATE event_segments SET last_id = last_id + 1 WHERE project_id = 1`, " has events "},
	} {
		executeIn(t, path, c.change)
		if got := examine(false); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %s", c.change, got, c.want)
		}
		executeIn(t, path, c.undo)
	}
	if got := examine(false); got != "" {
		t.Errorf("undone: %s", got)
	}
}

// executeIn executes a statement in a database that no store has open.
func executeIn(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", database.SQLiteDSN(path))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(text)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// A folder of segments belongs to one store.
func TestSegments_FolderOfAnother(t *testing.T) {
	m, path, files := newSealed(t)
	if err := m.store.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "other.db"), Config{Segments: files})
	if err == nil || !strings.Contains(err.Error(), "belong to another database") {
		t.Error(err)
	}
	if _, err := Open(t.Context(), "sqlite:"+path, Config{Segments: t.TempDir()}); err == nil || errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "is not the folder of this database") {
		t.Error(err)
	}
	m.store = openSegments(t, "sqlite:"+path, files)
	m.check("in its own folder")
}
