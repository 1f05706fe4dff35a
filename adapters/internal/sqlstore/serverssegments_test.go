package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/throttle"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// twoSealing opens two servers on one PostgreSQL database and one folder of segments.
func twoSealing(t *testing.T) (m *eventModel, one, other *Store, files string) {
	t.Helper()
	return sealingOn(t, postgresURL(t))
}

func sealingOn(t *testing.T, address string) (m *eventModel, one, other *Store, files string) {
	t.Helper()
	files = t.TempDir()
	sealing := events.Sealing{MinBlocks: 1, Any: true, After: never, MergeFrom: 3}
	one, other = openSealing(t, address, files, sealing), openSealing(t, address, files, sealing)
	return &eventModel{T: t, random: rand.New(rand.NewPCG(21, 22)), store: one}, one, other, files
}

// Two servers seal at the same time, and replace and remove the files of each other, while events are
// erased: all servers have all events at any time, and at the end there are the listed files only.
func TestServersSegments_Model(t *testing.T) {
	m, one, other, files := twoSealing(t)
	sealTogether(m, one, other, files, 8)
}

// sealTogether runs rounds of TestServersSegments_Model.
func sealTogether(m *eventModel, one, other *Store, files string, rounds int) {
	stores := []*Store{one, other}
	for round := range rounds {
		m.store = stores[m.random.IntN(2)]
		m.commit(200 + m.random.IntN(600))
		indexAll(m.T, m.store)
		var sealing sync.WaitGroup
		for _, s := range stores {
			sealing.Go(func() {
				for more := true; more; {
					var err error
					if more, err = s.events.Seal(m.Context()); err != nil && !errors.Is(err, events.ErrSealing) {
						m.Error(err)
					}
				}
			})
		}
		m.erase(m.list[m.random.IntN(len(m.list))].DistinctID)
		sealing.Wait()
		for i, s := range stores {
			m.store = s
			m.check(fmt.Sprintf("round %d, server %d", round, i))
		}
	}
	awaitSweep(m.T, other, files)
	if n := countRows(m, one, "event_segments"); n == 0 {
		m.Error("nothing is sealed")
	}
}

// While a server seals, which it does for as long as it holds the lock, another one does not.
func TestServersSegments_OneSeals(t *testing.T) {
	m, one, other, files := twoSealing(t)
	m.commit(300)
	indexAll(t, one)
	session, err := one.db.TrySession(t.Context(), events.SealLock)
	if err != nil || session == nil {
		t.Fatalf("%v, %v", session, err)
	}
	if more, err := other.events.Seal(t.Context()); more || !errors.Is(err, events.ErrSealing) || len(segmentFiles(t, files)) > 0 {
		t.Errorf("more %t, %v, files %q", more, err, segmentFiles(t, files))
	}
	session.Close()
	awaitSweep(t, other, files)
	if n := len(segmentFiles(t, files)); n != 2 {
		t.Errorf("%d files", n)
	}
}

// A server whose session with the lock for sealing has ended cannot list a file any more, since another
// server may have the lock.
func TestServersSegments_LostSession(t *testing.T) {
	_, one, other, _ := twoSealing(t)
	lost, err := one.db.TrySession(t.Context(), events.SealLock)
	if err != nil || lost == nil {
		t.Fatalf("%v, %v", lost, err)
	}
	defer lost.Close()
	var pid int
	if err := lost.InWrite(t.Context(), func(tx *sql.Tx) error { return tx.QueryRow(`SELECT pg_backend_pid()`).Scan(&pid) }); err != nil {
		t.Fatal(err)
	}
	if next, err := other.db.TrySession(t.Context(), events.SealLock); next != nil || err != nil {
		t.Errorf("a second lock: %v, %v", next, err)
	}
	if _, err := other.db.Write.Exec(`SELECT pg_terminate_backend($1)`, pid); err != nil {
		t.Fatal(err)
	}
	var next *database.Session
	for deadline := time.Now().Add(time.Minute); next == nil && err == nil && time.Now().Before(deadline); {
		next, err = other.db.TrySession(t.Context(), events.SealLock)
	}
	if next == nil || err != nil {
		t.Fatalf("the lock is not released, %v", err)
	}
	defer next.Close()
	if err := lost.InWrite(t.Context(), func(*sql.Tx) error { return nil }); err == nil {
		t.Error("a transaction of the lost session was committed")
	}
}

// A server that has listed a segment, whose file another server then replaces and removes, reads the
// new file, and leaves out what was erased meanwhile.
func TestServersSegments_FileIsReplaced(t *testing.T) {
	m, one, other, files := twoSealing(t)
	m.commit(500)
	indexAll(t, one)
	awaitSweep(t, one, files)
	var want, got []longEvent
	erased, replaced := m.list[slices.IndexFunc(m.list, func(e capture.Record) bool { return e.ProjectID == 1 })].DistinctID, false
	var chunks events.Chunks
	err := chunks.Each(t.Context(), other.events.Source(), 1, 0, 1<<40, func(e *block.Event, long func() (events.LongColumns, error)) error {
		if !replaced { // the short columns of a chunk are decoded, and the long ones are not
			replaced = true
			before := segmentFiles(t, files)
			m.erase(erased)
			for range 2 { // the second time removes the old file
				awaitSweep(t, one, files)
			}
			if after := segmentFiles(t, files); strings.Join(before, " ") == strings.Join(after, " ") {
				t.Errorf("files %q", after)
			}
			other.files.CloseUnused(0) // otherwise it is still open
		}
		c, err := long()
		if err == nil {
			got = append(got, longEvent{e.ID, strings.Clone(c.Elements), strings.Clone(c.Properties), strings.Clone(c.Person)})
		}
		return err
	})
	for i := range m.list {
		if m.list[i].ProjectID == 1 {
			want = append(want, longOf(&m.list[i]))
		}
	}
	if err != nil || !replaced || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%d events, want %d, %v", len(got), len(want), err)
	}
	m.store = other
	m.check("replaced")
}

// A server that reads events, while another one merges the segments of these events and removes the old files,
// finds the events in the new file, whatever it has read before: nothing, the rows of the events in the
// old file, or some of the pages.
func TestServersSegments_MergedMeanwhile(t *testing.T) {
	address, files := postgresURL(t), t.TempDir()
	one, merging, other := openSegments(t, address, files), openMerging(t, address, files), openSegments(t, address, files)
	m := &eventModel{T: t, random: rand.New(rand.NewPCG(25, 26)), store: one}
	for at := range 4 {
		for _, columns := range []port.Columns{port.IDs, port.IDs | port.Properties} {
			for range 3 {
				m.commit(100)
				indexAll(t, one)
				sealAll(t, one)
			}
			before, calls := segmentFiles(t, files), atomic.Int64{}
			got := scansOf(t, other, 1, []port.Scan{{Columns: columns, Pause: func(context.Context) {
				if calls.Add(1) == int64(at+1) {
					for range 2 { // the second time removes the old files
						sealAll(t, merging)
					}
					other.files.CloseUnused(0) // otherwise they are still open
				}
			}}})
			if want := plainScan(t, m.list, 1, nil, port.Scan{Columns: columns}); got[0] != want {
				t.Errorf("merged at call %d: %d events, want %d", at, got[0].events, want.events)
			}
			if after := segmentFiles(t, files); len(after) >= len(before) {
				t.Fatalf("merged at call %d: files %q", at, after)
			}
		}
	}
	for round := range 4 {
		m.store = one
		m.commit(200)
		indexAll(t, one)
		sealAll(t, one)
		merged := make(chan error, 1)
		go func() {
			for more, err := true, error(nil); ; more, err = merging.events.Seal(t.Context()) {
				if !more || err != nil {
					merged <- err
					return
				}
			}
		}()
		m.store = other
		m.check(fmt.Sprintf("merged in round %d", round))
		if err := <-merged; err != nil {
			t.Error(err)
		}
	}
}

// Health of a server: while another server seals, a failure of this one remains, and after a success of its
// own it is gone.
func TestServersSegments_Failure(t *testing.T) {
	m, one, other, files := twoSealing(t)
	m.commit(100)
	indexAll(t, one)
	obstacle := filepath.Join(files, "project=1") // a file instead of a folder
	if err := os.WriteFile(obstacle, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var failures throttle.Streak
	if err := one.trySealing(t.Context(), &failures); err == nil {
		t.Error("no failure")
	}
	session, err := other.db.TrySession(t.Context(), events.SealLock)
	if err != nil || session == nil {
		t.Fatalf("%v, %v", session, err)
	}
	if err := one.trySealing(t.Context(), &failures); !errors.Is(err, events.ErrSealing) {
		t.Errorf("while another server seals: %v", err)
	}
	if _, err := one.SealFailure(); err == nil || errors.Is(err, events.ErrSealing) {
		t.Errorf("the failure is %v", err)
	}
	session.Close()
	if err := errors.Join(os.Remove(obstacle), one.trySealing(t.Context(), &failures)); err != nil {
		t.Error(err)
	}
	if _, err := one.SealFailure(); err != nil {
		t.Error(err)
	}
}

// The chunks that a server has not deleted when it is killed after it has listed a segment are deleted by the
// server that seals next, also if that one runs already.
func TestServersSegments_RestIsDeleted(t *testing.T) {
	m, one, other, _ := twoSealing(t)
	sealAll(t, other)
	m.commit(300)
	indexAll(t, one)
	for n := 0; n < 2; n = countRows(t, one, "event_segments") {
		if _, err := one.events.Seal(t.Context()); err != nil { // the first steps list the files
			t.Fatal(err)
		}
	}
	if n := countRows(t, one, "event_chunks"); n == 0 {
		t.Fatal("the chunks are deleted in the same step")
	}
	if err := one.Close(); err != nil { // releases the lock
		t.Fatal(err)
	}
	sealAll(t, other)
	checkDeleted(t, other)
	m.store = other
	m.check("deleted")
}

// All servers of a database need its folder: one without it, one with an empty folder, such as the
// place where it should be mounted, and servers of other databases are refused.
func TestServersSegments_Folder(t *testing.T) {
	address, other := postgresURL(t), postgresURL(t)
	m, one, _, files := sealingOn(t, address)
	m.commit(100)
	indexAll(t, one)
	awaitSweep(t, one, files)
	for name, tt := range map[string]struct{ address, files, want string }{
		"none":             {address, "", "give their folder with --segments"},
		"not mounted":      {address, t.TempDir(), "is not the folder of this database"},
		"another database": {other, files, "belong to another database"},
	} {
		s, err := Open(t.Context(), tt.address, Config{Segments: tt.files})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// Before anything is sealed, a server without the folder of the others, or with another one, is
// refused, too: the others may seal events at any time.
func TestServersSegments_FolderWithoutSegments(t *testing.T) {
	address, files := postgresURL(t), t.TempDir()
	_ = openSegments(t, address, files)
	for folder, want := range map[string]string{"": "give their folder with --segments", t.TempDir(): "look whether it is mounted"} {
		s, err := Open(t.Context(), address, Config{Segments: folder})
		if err == nil {
			_ = s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", folder, err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(files, "database")); err != nil {
		t.Error(err)
	}
}
