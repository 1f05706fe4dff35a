package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/segment"
	"github.com/bunting-flags/bunting/adapters/storetest"
	"github.com/bunting-flags/bunting/capture"
)

// never is a time after which events of tests are not old.
const never = 100 * 365 * 24 * time.Hour

// openSegments opens a store that seals its events in a folder when Seal is called, however few blocks
// there are. Replaced files are removed by the next call.
func openSegments(t testing.TB, url, folder string) *Store {
	return openSealing(t, url, folder, events.Sealing{MinBlocks: 1, Any: true, After: never})
}

// openSealing is openSegments with another configuration.
func openSealing(t testing.TB, url, folder string, sealing events.Sealing) *Store {
	t.Helper()
	sealing.RemoveAfter = 1
	s, err := Open(context.Background(), url, Config{Segments: folder, sealing: sealing, keepsOlder: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.events.KeyEvents = 256 // lists of duplicate keys however few events there are
	return s
}

// withSegments returns stores and one with segments.
func withSegments(stores map[string]func(testing.TB) *Store) map[string]func(testing.TB) *Store {
	stores = maps.Clone(stores)
	stores["segments"] = func(t testing.TB) *Store {
		folder := t.TempDir()
		return openSegments(t, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"))
	}
	return stores
}

// segmentDatabases return the URL of a new database for each kind of database.
var segmentDatabases = map[string]func(testing.TB) string{
	"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "store.db") },
	"postgres": postgresURL,
}

// onSegmentDatabases runs a test with a new database of each kind, and a new folder.
func onSegmentDatabases(t *testing.T, test func(t *testing.T, address, files string)) {
	for name, address := range segmentDatabases {
		t.Run(name, func(t *testing.T) { test(t, address(t), filepath.Join(t.TempDir(), "events")) })
	}
}

// sealAll seals all blocks and rewrites all segments with erased events, unless another server seals.
func sealAll(t testing.TB, s *Store) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.events.Seal(context.Background()); err != nil && !errors.Is(err, events.ErrSealing) {
			t.Fatal(err)
		}
	}
}

// sealedStore is a store that seals all events after indexing.
type sealedStore struct {
	*Store
	t testing.TB
}

func (s sealedStore) Index(ctx context.Context, idle bool) (more bool, err error) {
	if more, err = s.Store.Index(ctx, idle); !more && err == nil && idle {
		sealAll(s.t, s.Store)
	}
	return more, err
}

// DeletesFiles reports to the contract that retention is not exact.
func (s sealedStore) DeletesFiles() bool { return true }

// halfSealedStore is a store that seals the older events, a half of them or more: all of them before a commit, if
// at least a half of them is in no segment.
type halfSealedStore struct {
	*Store
	t testing.TB
}

func (s halfSealedStore) Commit(ctx context.Context, projects []int64, work func(capture.Tx) error) error {
	var sealed int
	if err := s.db.Read.QueryRow(`SELECT COALESCE(SUM(events), 0) FROM event_segments`).Scan(&sealed); err != nil {
		return err
	}
	if all := countEvents(s.t, s.Store); all > 0 && sealed <= all/2 {
		indexAll(s.t, s.Store)
		sealAll(s.t, s.Store)
	}
	return s.Store.Commit(ctx, projects, work)
}

// DeletesFiles is that of sealedStore.
func (s halfSealedStore) DeletesFiles() bool { return true }

// sealedBackend is a store of the contracts of History, Ledger and Insights.
type sealedBackend interface {
	storetest.Backend
	storetest.InsightStore
}

// Stores pass the contract of History, Ledger and Insights when all events are in segments, and when about
// half of them are, on PostgreSQL only with -long. TestStore_Contract, TestStore_Reading and
// TestInsights_Contract run it without segments.
func TestSegments_Contract(t *testing.T) {
	for name, address := range segmentDatabases {
		sealedContract(t, name+"/all", func(t testing.TB) sealedBackend { return sealedStore{openSegments(t, address(t), t.TempDir()), t} })
		if name == "sqlite" || *long {
			sealedContract(t, name+"/half", func(t testing.TB) sealedBackend { return halfSealedStore{openSegments(t, address(t), t.TempDir()), t} })
		}
	}
}

// sealedContract runs the contract of History, Ledger and Insights.
func sealedContract(t *testing.T, name string, open func(t testing.TB) sealedBackend) {
	t.Run(name+"/History", func(t *testing.T) {
		storetest.History(t, func(t testing.TB) storetest.HistoryStore { return open(t) })
	})
	t.Run(name+"/Ledger", func(t *testing.T) {
		storetest.Ledger(t, func(t testing.TB) storetest.Backend { return open(t) })
	})
	t.Run(name+"/Insights", func(t *testing.T) {
		storetest.Insights(t, func(t testing.TB) storetest.InsightStore { return open(t) })
	})
}

// segmentFiles returns the names of the files in the folders of projects of a folder of segments, or
// in a bucket.
func segmentFiles(t testing.TB, folder string) (names []string) {
	t.Helper()
	var err error
	if segment.IsBucket(folder) {
		var f *segment.Folder
		if f, err = segment.Open(folder, ""); err == nil {
			names, err = f.Names()
			err = errors.Join(err, f.Close())
		}
	} else {
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				path, err = filepath.Rel(folder, path)
				if path = filepath.ToSlash(path); strings.HasPrefix(path, "project=") {
					names = append(names, path)
				}
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// sealedNames returns the names of the listed files.
func sealedNames(t testing.TB, s *Store) []string {
	t.Helper()
	names, err := database.Column[string](t.Context(), s.db.Read, `SELECT name FROM event_segments ORDER BY name`)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A store removes files that are not listed when it is opened, or on PostgreSQL before it seals:
// files of a sealer that was killed before the transaction. It refuses to open without a listed
// file, or without the folder.
func TestSegments_Files(t *testing.T) {
	onSegmentDatabases(t, func(t *testing.T, address, files string) {
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(1, 2)), store: openSegments(t, address, files)}
		m.commit(500)
		indexAll(t, m.store)
		sealAll(t, m.store)
		listed := sealedNames(t, m.store)
		if diff := cmp.Diff(listed, segmentFiles(t, files)); diff != "" || len(listed) != 2 {
			t.Fatalf("files (-listed +found)\n%s", diff)
		}
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(filepath.Join(files, listed[0]))
		if err != nil {
			t.Fatal(err)
		}
		folder, name := filepath.Split(listed[0])
		for _, orphan := range []string{folder + strings.Replace(name, "-1-", "-2-", 1), folder + "." + name + ".tmp"} {
			if err := os.WriteFile(filepath.Join(files, orphan), content[:100], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m.store = openSegments(t, address, files)
		for range 2 { // the second time removes what was not listed
			sealAll(t, m.store)
		}
		if diff := cmp.Diff(listed, segmentFiles(t, files)); diff != "" {
			t.Errorf("after the start (-listed +found)\n%s", diff)
		}
		m.check("started again")
		if err := m.store.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), address, Config{}); !errors.Is(err, events.ErrNoFolder) {
			t.Errorf("without the folder: %v", err)
		}
		if err := os.Remove(filepath.Join(files, listed[0])); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), address, Config{Segments: files}); err == nil || !strings.Contains(err.Error(), listed[0]) {
			t.Errorf("without a file: %v", err)
		}
	})
}

// If the folder is not mounted any more, so that there is an empty one, events stay in the database.
func TestSegments_NotMounted(t *testing.T) {
	onSegmentDatabases(t, func(t *testing.T, address, files string) {
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(3, 4)), store: openSegments(t, address, files)}
		m.commit(500)
		indexAll(t, m.store)
		if err := errors.Join(os.Rename(files, files+".away"), os.Mkdir(files, 0o700)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.store.events.Seal(t.Context()); err == nil || !strings.Contains(err.Error(), "look whether it is mounted") {
			t.Errorf("sealing: %v", err)
		}
		if names := segmentFiles(t, files); len(names) > 0 {
			t.Errorf("files %q", names)
		}
		m.check("in the database")
		if err := errors.Join(os.RemoveAll(files), os.Rename(files+".away", files)); err != nil {
			t.Fatal(err)
		}
		sealAll(t, m.store)
		m.check("mounted again")
		if names := segmentFiles(t, files); len(names) != 2 {
			t.Errorf("files %q", names)
		}
	})
}

// Events that are erased while their blocks are written into a segment are not in it.
func TestSegments_ErasedMeanwhile(t *testing.T) {
	onSegmentDatabases(t, func(t *testing.T, address, files string) {
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(5, 6)), store: openSegments(t, address, files)}
		m.commit(3000)
		indexAll(t, m.store)
		for i := range 5 {
			done := make(chan error, 1)
			go func() {
				_, err := m.store.events.Seal(t.Context())
				done <- err
			}()
			m.erase(m.list[i*7].DistinctID)
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			m.check("during sealing")
		}
		sealAll(t, m.store)
		m.check("sealed")
		if n := countRows(t, m.store, "event_erased"); n != 0 {
			t.Errorf("%d erased events are left", n)
		}
		checkDeleted(t, m.store)
	})
}

// checkDeleted checks that the chunks, the columns and the hashes of events in segments are deleted, and so are the
// filters of blocks that were replaced.
func checkDeleted(t testing.TB, s *Store) {
	t.Helper()
	for what, text := range map[string]string{
		"chunks":  `SELECT COUNT(*) FROM event_chunks c WHERE EXISTS (SELECT 1 FROM event_segments s WHERE s.project_id = c.project_id AND s.last_id >= c.first_id)`,
		"columns": `SELECT COUNT(*) FROM event_columns WHERE first_id NOT IN (SELECT first_id FROM event_blocks WHERE level < 16)`,
		"hashes":  `SELECT COUNT(*) FROM event_hashes WHERE first_id NOT IN (SELECT first_id FROM event_blocks WHERE level < 16)`,
		"filters": `SELECT COUNT(*) FROM event_filters WHERE first_id NOT IN (SELECT first_id FROM event_blocks)`,
	} {
		var n int
		if err := s.db.Read.QueryRow(text).Scan(&n); err != nil || n > 0 {
			t.Errorf("%d %s of sealed events are left, %v", n, what, err)
		}
	}
}

// After a person is erased with events, no byte of them is left in the files of segments and in a
// SQLite file after Seal has rewritten the segments.
func TestSegments_NoBytesAreLeft(t *testing.T) {
	onSegmentDatabases(t, func(t *testing.T, address, files string) {
		s := openSegments(t, address, files)
		random := rand.New(rand.NewPCG(7, 8))
		want := commitAnn(t, s, random, 1000, 300) + commitAnn(t, s, random, 500, 20)
		indexAll(t, s)
		sealAll(t, s)
		before := segmentFiles(t, files)
		var erased int64
		err := s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) (err error) {
			_, erased, err = tx.ErasePerson(1, capture.PersonID(1, erasedID), true)
			return err
		})
		if err != nil || erased != want {
			t.Fatalf("%d events are erased, %v; want %d", erased, err, want)
		}
		sealAll(t, s)
		sealAll(t, s) // removes the replaced files
		after := segmentFiles(t, files)
		if len(after) != len(before) || slices.Equal(before, after) {
			t.Fatalf("files before %q, after %q", before, after)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		all := prefixed(files+"/", after)
		if path, isFile := strings.CutPrefix(address, "sqlite:"); isFile { // PostgreSQL is responsible for its own files
			all = append(all, path)
		}
		for _, name := range all {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(content, []byte(erasedID)) || bytes.Contains(content, []byte(erasedText)) {
				t.Errorf("%s has a text of the person", name)
			}
		}
	})
}

// prefixed returns names with a prefix.
func prefixed(prefix string, names []string) (out []string) {
	for _, name := range names {
		out = append(out, prefix+name)
	}
	return out
}

// Retention deletes whole blocks of segments of which all events are old, and then the files.
func TestSegments_Retention(t *testing.T) {
	onSegmentDatabases(t, func(t *testing.T, address, files string) {
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(9, 10)), store: openSegments(t, address, files)}
		hour := int64(0)
		m.change = func(_ int, e *capture.Record) {
			e.ProjectID, e.CreatedAt = 1, database.FromMicros(hour*3600*1e6)
		}
		for hour = range 3 {
			m.commit(300)
			indexAll(t, m.store)
			sealAll(t, m.store)
		}
		hour = 9
		m.commit(100) // in no segment
		for hour := range int64(3) {
			n, err := m.store.DeleteEventsBefore(t.Context(), database.FromMicros(hour*3600*1e6+1), 1000)
			if err != nil || n != 300 {
				t.Fatalf("%d events before hour %d are deleted, %v; want 300", n, hour, err)
			}
			m.list = m.list[300:]
			sealAll(t, m.store) // removes the files
			if left := segmentFiles(t, files); len(left) != 2-int(hour) {
				t.Errorf("after hour %d: files %q", hour, left)
			}
			m.check("after a deletion")
		}
	})
}

// Erasing the events of a person leaves those of another whose distinct id has the same hash, in
// segments and in other blocks.
func TestSegments_EraseSameHash(t *testing.T) {
	folder, ids := t.TempDir(), sameHash(t)
	for name, seal := range map[string]func(testing.TB, *Store){"sealed": sealAll, "not sealed": func(testing.TB, *Store) {}} {
		m := &eventModel{T: t, random: rand.New(rand.NewPCG(13, 14)), store: openSegments(t, "sqlite:"+filepath.Join(folder, name+".db"), filepath.Join(folder, name))}
		m.change = func(i int, e *capture.Record) { e.ProjectID, e.DistinctID = 1, ids[i%2] }
		m.commit(100) // many of both
		m.change = func(i int, e *capture.Record) { e.ProjectID, e.DistinctID = 1, fmt.Sprint("id ", i) }
		m.commit(100)
		m.change = func(_ int, e *capture.Record) { e.ProjectID, e.DistinctID = 1, ids[1] }
		m.commit(1)
		indexAll(t, m.store)
		seal(t, m.store)
		m.erase(ids[0])
		m.check(name)
	}
}
