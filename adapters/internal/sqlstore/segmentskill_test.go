package sqlstore

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

var (
	killCycles = flag.Int("segment-kills", 60, "the number of times that TestSegments_KilledAtEveryStep kills a process that writes segments; TestSegments_Kill does so less often by a factor")
	long       = flag.Bool("long", false, "also run tests with PostgreSQL that are as good with SQLite")
)

// killIDs is the number of distinct ids of the events of TestSegments_Kill.
const killIDs = 20

// killBatch returns the events first to first+n-1 of TestSegments_Kill.
func killBatch(first, n int) (keys []capture.EventKey, list []capture.Record) {
	keys, list = eventsFrom(first, n)
	for i := range list {
		id := fmt.Sprint("id ", (first+i)%killIDs)
		keys[i].DistinctID, list[i].DistinctID, list[i].PersonID = id, id, capture.PersonID(1, id)
		list[i].Properties = fmt.Sprintf(`{"n":%d}`, first+i)
	}
	return keys, list
}

// commitKillBatch stores the events first to first+n-1.
func commitKillBatch(t *testing.T, s *Store, first, n int) {
	t.Helper()
	keys, list := killBatch(first, n)
	if err := s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error {
		if _, err := tx.Claim(keys); err != nil {
			return err
		}
		return tx.Save(&capture.Changes{Events: list})
	}); err != nil {
		t.Fatal(err)
	}
}

// eraseKillID erases the events of a distinct id, by its number.
func eraseKillID(t *testing.T, s *Store, id int) {
	t.Helper()
	person := capture.PersonID(1, fmt.Sprint("id ", id))
	if _, err := s.db.Write.Exec(`INSERT INTO distinct_ids (project_id, distinct_id, person_uuid) VALUES (1, $1, $2) ON CONFLICT DO NOTHING`, fmt.Sprint("id ", id), person[:]); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), []int64{1}, func(tx capture.Tx) error {
		_, err := tx.EraseEvents(1, person)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// openMerging opens the store of TestSegments_Kill, which seals all blocks, deletes the chunks one by one,
// and merges three segments.
func openMerging(t testing.TB, address, files string) *Store {
	return openSealing(t, address, files, events.Sealing{MinBlocks: 1, Any: true, After: never, MergeFrom: 3, DeleteBytes: 1})
}

// TestSegmentsKill_Child is the process that TestSegments_Kill kills: it commits, seals and erases
// events, and prints a line after each step that is durable.
func TestSegmentsKill_Child(t *testing.T) {
	files, first := os.Getenv("SEGMENTS_KILL"), 0
	if files == "" {
		return
	}
	if _, err := fmt.Sscan(os.Getenv("SEGMENTS_FIRST"), &first); err != nil {
		t.Fatal(err)
	}
	s := openMerging(t, os.Getenv("SEGMENTS_DATABASE"), files)
	random := rand.New(rand.NewPCG(uint64(first), 1))
	for {
		n := 1 + random.IntN(300)
		fmt.Printf("try batch %d %d\n", first, n)
		commitKillBatch(t, s, first, n)
		fmt.Printf("batch %d %d\n", first, n)
		first += n
		indexAll(t, s)
		for range random.IntN(6) {
			if _, err := s.events.Seal(t.Context()); err != nil && !errors.Is(err, events.ErrSealing) {
				t.Fatal(err)
			}
		}
		if random.IntN(6) == 0 {
			id := random.IntN(killIDs)
			fmt.Printf("try erase %d\n", id)
			eraseKillID(t, s, id)
			fmt.Printf("erase %d\n", id)
		}
	}
}

// killModel are the events that must be stored, by number.
type killModel map[int]bool

// apply applies a line of the child.
func (m killModel) apply(line string) {
	var first, n, id int
	if _, err := fmt.Sscanf(line, "batch %d %d", &first, &n); err == nil {
		for i := range n {
			m[first+i] = true
		}
	} else if _, err := fmt.Sscanf(line, "erase %d", &id); err == nil {
		maps.DeleteFunc(m, func(n int, _ bool) bool { return n%killIDs == id })
	}
}

// runChild runs the child on a database and a folder of segments, kills it after a time, and returns
// what it has printed.
func runChild(t *testing.T, address, files string, first int, after time.Duration) (lines []string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestSegmentsKill_Child$")
	child.Env = append(os.Environ(), "SEGMENTS_KILL="+files, "SEGMENTS_DATABASE="+address, fmt.Sprint("SEGMENTS_FIRST=", first))
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var timer *time.Timer
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		if timer == nil { // it works now
			timer = time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
		lines = append(lines, scanner.Text())
	}
	if err := child.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child ended itself: %v\n%s", err, strings.Join(lines, "\n"))
	}
	return lines
}

// A process that commits, seals and erases events, and merges segments, is killed at any moment: no acknowledged
// event is lost or stored twice, no erased event is stored, and no file is left that is not listed. On
// PostgreSQL another server seals the events that the killed one was sealing.
func TestSegments_Kill(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		folder := t.TempDir()
		testKills(t, *killCycles/2, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"))
	})
	t.Run("postgres", func(t *testing.T) { testKills(t, *killCycles/4, postgresURL(t), t.TempDir()) })
}

func testKills(t *testing.T, cycles int, address, files string) {
	model, first, sealed := killModel{}, 0, false
	random := rand.New(rand.NewPCG(11, 12))
	for cycle := range cycles {
		lines := runChild(t, address, files, first, time.Duration(random.IntN(60_000))*time.Microsecond)
		last := ""
		for _, line := range lines {
			if last = strings.TrimPrefix(line, "try "); last == line {
				model.apply(line)
				last = ""
			}
		}
		got := killedStore(t, address, files, &sealed)
		if last != "" && !maps.Equal(got, model) { // the last step may have been durable
			model.apply(last)
		}
		if !maps.Equal(got, model) {
			t.Fatalf("cycle %d, after %q: %d events are stored, want %d", cycle, lines, len(got), len(model))
		}
		for _, line := range lines {
			var at, n int
			if _, err := fmt.Sscanf(strings.TrimPrefix(line, "try "), "batch %d %d", &at, &n); err == nil {
				first = max(first, at+n)
			}
		}
	}
	if !sealed {
		t.Error("no event was sealed")
	}
	s := openMerging(t, address, files)
	sealAll(t, s)
	checkDeleted(t, s)
	if names := sealedNames(t, s); len(names) > 2 {
		t.Errorf("they were not merged: %q", names)
	}
}

// killedStore opens the store of a killed process and returns its events.
func killedStore(t *testing.T, address, files string, sealed *bool) killModel {
	t.Helper()
	s := openMerging(t, address, files)
	defer func() { _ = s.Close() }()
	if !s.db.Dialect.SingleWriter {
		awaitSweep(t, s, files)
	}
	found := killModel{}
	list := storedEvents(t, s, 1)
	for _, e := range list {
		var n int
		if _, err := fmt.Sscanf(e.Properties, `{"n":%d}`, &n); err != nil || found[n] {
			t.Fatalf("event %d, %s: %v, twice: %t", e.ID, e.Properties, err, found[n])
		}
		found[n] = true
	}
	if n := countEvents(t, s); n != len(found) {
		t.Fatalf("%d events are counted, %d are there", n, len(found))
	}
	if keys := countStored(t, s, keysOf(list)); keys != len(found) {
		t.Fatalf("%d of %d events are known when they are sent again", keys, len(found))
	}
	if faults, err := events.CheckBlocks(t.Context(), s.events.Source(), 10); err != nil || len(faults) > 0 {
		t.Fatalf("%q, %v", faults, err)
	}
	listed, inFolder := sealedNames(t, s), segmentFiles(t, files)
	if !slices.Equal(listed, inFolder) {
		t.Fatalf("files %q, listed %q", inFolder, listed)
	}
	*sealed = *sealed || len(listed) > 0
	return found
}

// awaitSweep seals until the folder has the listed files only. PostgreSQL may hold the locks of a
// killed process for a moment.
func awaitSweep(t *testing.T, s *Store, folder string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		sealAll(t, s)
		files := segmentFiles(t, folder)
		if slices.Equal(sealedNames(t, s), files) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("files %q, listed %q", files, sealedNames(t, s))
		}
	}
}
