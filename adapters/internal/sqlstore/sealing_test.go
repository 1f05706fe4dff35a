package sqlstore

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/capture"
)

// newDaily returns a store that seals events which arrived a day ago. Events arrive at the time at, one in
// ten in project 2.
func newDaily(t *testing.T, at *time.Time) (m *eventModel, files string) {
	t.Helper()
	folder := t.TempDir()
	files = filepath.Join(folder, "events")
	m = &eventModel{T: t, random: rand.New(rand.NewPCG(17, 18))}
	m.store = openSealing(t, "sqlite:"+filepath.Join(folder, "store.db"), files, events.Sealing{Now: func() time.Time { return *at }})
	m.change = func(i int, e *capture.Record) {
		e.ProjectID, e.CreatedAt = 1, *at
		if i%10 == 0 {
			e.ProjectID = 2
		}
	}
	return m, files
}

// All events of a project are sealed when its oldest event that is in no file arrived a day ago, however
// few they are, and whether they are in blocks or not; before that, none.
func TestSegments_Old(t *testing.T) {
	begin := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	at := begin
	m, files := newDaily(t, &at)
	m.commit(100)
	indexAll(t, m.store)
	at = begin.Add(20 * time.Hour)
	m.commit(30) // in no block
	for _, step := range []struct {
		after  time.Duration
		names  []string
		chunks bool // some events are in no file
	}{
		{23 * time.Hour, nil, true},
		{24 * time.Hour, []string{"project=1/received=2026-11-22/", "project=2/received=2026-11-22/"}, false},
	} {
		at = begin.Add(step.after)
		sealAll(t, m.store)
		var got []string
		for _, name := range segmentFiles(t, files) {
			got = append(got, strings.TrimSuffix(name, filepath.Base(name)))
		}
		if diff := cmp.Diff(step.names, got); diff != "" {
			t.Errorf("after %s: files (-want +got)\n%s", step.after, diff)
		}
		if n := countRows(t, m.store, "event_chunks"); (n > 0) != step.chunks {
			t.Errorf("after %s: %d chunks are in the database", step.after, n)
		}
		m.check(step.after.String())
	}
	checkDeleted(t, m.store)
}

// Small files that follow one another are merged when there are eight of them, up to 31 days, so that a
// project with little traffic has few files and its events are not retained for long. Their events
// are in common groups. Fifty events a day, of which five are of project 2, arrive at eight o'clock.
func TestSegments_SmallFilesAreMerged(t *testing.T) {
	at := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	m, files := newDaily(t, &at)
	for day := 1; day <= 40; day++ {
		m.commit(50)
		at = at.Add(24 * time.Hour)
		sealAll(t, m.store)
		// The first eight days are in one file, then 15, 22 and 29; the days 30 and 31 are merged with them
		// on day 32, because the file would then span 32 days. The days 32 to 39 are the next file.
		want := map[int]int{1: 1, 7: 7, 8: 1, 14: 7, 15: 1, 29: 1, 31: 3, 32: 2, 38: 8, 39: 2, 40: 3}
		if names := segmentFiles(t, files); want[day] > 0 && len(names) != 2*want[day] { // of two projects
			t.Errorf("day %d: %d files, want %d: %q", day, len(names), 2*want[day], names)
		}
	}
	m.check("merged")
	checkDeleted(t, m.store)
	if days, err := filepath.Glob(filepath.Join(files, "project=1", "*")); err != nil || len(days) != 3 {
		t.Errorf("folders of days %q, %v; want those of three files", days, err)
	}
	var got []string
	for _, name := range sealedNames(t, m.store) {
		if first, last, _ := strings.Cut(filepath.Base(name), "-"); strings.HasPrefix(name, "project=1/") {
			got = append(got, strings.TrimLeft(first, "0")+" to "+strings.TrimLeft(last[:20], "0"))
		}
	}
	// Of each fifty events, the first is one of project 2 and the last one of project 1.
	if diff := cmp.Diff([]string{"2 to 1550", "1552 to 1950", "1952 to 2000"}, got); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
	// An erased event in a merged file is erased.
	m.erase(m.list[1].DistinctID)
	sealAll(t, m.store)
	m.check("erased")
	if n := countRows(t, m.store, "event_blocks"); n != 6 {
		t.Errorf("%d blocks, want one for each file", n)
	}
}

// After every step of sealing, merging, rewriting and deleting, in which a server may end, a store that is
// opened again has the same events, and ends with one copy of each.
func TestSegments_EveryStep(t *testing.T) {
	folder := t.TempDir()
	open := func() *Store {
		return openSealing(t, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"), events.Sealing{MinBlocks: 1, Any: true, After: never, MergeFrom: 2, DeleteBytes: 200_000})
	}
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(19, 20)), store: open()}
	steps := 0
	for part := range 3 {
		m.commit(900)
		indexAll(t, m.store)
		m.commit(40) // in the database until the next part
		for more := true; more; steps++ {
			var err error
			if more, err = m.store.events.Seal(t.Context()); err != nil {
				t.Fatal(err)
			}
			if steps%3 == 1 {
				m.erase(m.list[steps*11%len(m.list)].DistinctID)
			}
			if steps%2 == 0 {
				if err := m.store.Close(); err != nil {
					t.Fatal(err)
				}
				m.store = open()
			}
			m.check(fmt.Sprintf("part %d, step %d", part, steps))
		}
	}
	sealAll(t, m.store)
	checkDeleted(t, m.store)
	if n := len(sealedNames(t, m.store)); n != 2 || steps < 12 {
		t.Errorf("%d files of 2 projects after %d steps", n, steps)
	}
}

// A store without segments that is opened with a folder for them answers as before while its events are
// written into files in the background, and while it stores further events.
func TestSegments_ComingOver(t *testing.T) {
	onSegmentDatabases(t, func(t *testing.T, address, files string) {
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(25, 26)), store: openStore(t, address)}
		for range 4 {
			m.commit(700)
			indexAll(t, m.store)
		}
		m.commit(60) // in no block
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}
		before, ended := len(m.list), make(chan error, 100)
		s, err := Open(t.Context(), address, Config{Segments: files, SealAfter: time.Hour, Sealed: func(err error) { ended <- err }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		m.store = s
		for isSealed := false; !isSealed; {
			m.commit(20)
			m.compare("while events are sealed")
			select {
			case err := <-ended:
				if err != nil {
					t.Fatal(err)
				}
				isSealed = true
			default:
			}
		}
		m.compare("sealed")
		var sealed int
		if err := s.db.Read.QueryRow(`SELECT SUM(events) FROM event_segments`).Scan(&sealed); err != nil || sealed < before {
			t.Errorf("%d events are sealed, %v; want %d or more", sealed, err, before)
		}
	})
}

// Retention of events whose chunks are not deleted yet leaves none of them.
func TestSegments_RetentionBeforeTheRestIsDeleted(t *testing.T) {
	folder := t.TempDir()
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(21, 22)), store: openSegments(t, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"))}
	m.change = func(_ int, e *capture.Record) { e.ProjectID = 1 }
	m.commit(300)
	indexAll(t, m.store)
	if _, err := m.store.events.Seal(t.Context()); err != nil { // lists the file
		t.Fatal(err)
	}
	if n := countRows(t, m.store, "event_chunks"); n == 0 {
		t.Fatal("the chunks are deleted in the same step")
	}
	m.commit(100)
	m.retain(300)
	m.check("retained")
	checkDeleted(t, m.store)
}

// While files cannot be written, events are stored and stay in the database. The first failure is in the
// log with what to do, and the store reports it until files can be written again.
func TestSegments_Failure(t *testing.T) {
	folder, files := t.TempDir(), t.TempDir()
	var log bytes.Buffer
	results := []string{}
	s, err := Open(t.Context(), "sqlite:"+filepath.Join(folder, "store.db"), Config{
		Segments: files, Logger: slog.New(slog.NewTextHandler(&log, nil)), sealing: events.Sealing{MinBlocks: 1, Any: true},
		Sealed: func(err error) { results = append(results, fmt.Sprint(err == nil)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(23, 24)), store: s}
	m.change = func(_ int, e *capture.Record) { e.ProjectID = 1 }
	obstacle := filepath.Join(files, "project=1") // a file instead of a folder
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var failures throttle.Streak
	for range 2 {
		m.commit(100)
		indexAll(t, s)
		s.trySealing(t.Context(), &failures)
		if _, err := s.SealFailure(); err == nil {
			t.Error("no failure is reported")
		}
		if n := s.Size(t.Context()).Unsealed; n != int64(len(m.list)) {
			t.Errorf("%d events are to be sealed, want %d", n, len(m.list))
		}
		m.check("not sealed")
	}
	if n := strings.Count(log.String(), "nothing is lost, and it will be tried again; check the folder of the segments"); n != 1 {
		t.Errorf("it is %d times in the log: %s", n, &log)
	}
	if err := os.Remove(obstacle); err != nil {
		t.Fatal(err)
	}
	s.trySealing(t.Context(), &failures)
	if _, err := s.SealFailure(); err != nil {
		t.Error(err)
	}
	m.check("sealed")
	if size := s.Size(t.Context()); size.Unsealed != 0 || size.SegmentFiles != 1 {
		t.Errorf("%+v", size)
	}
	if diff := cmp.Diff([]string{"false", "false", "true"}, results); diff != "" {
		t.Error(diff)
	}
}
