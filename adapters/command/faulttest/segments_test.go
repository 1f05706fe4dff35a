//go:build linux

package faulttest

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
)

// sealing are a data folder and a folder of segments.
type sealing struct{ dir, segments string }

func newSealing(t testing.TB) sealing {
	return sealing{t.TempDir(), filepath.Join(t.TempDir(), "segments")}
}

// serve returns the arguments of a server that seals events of an age. It begins at its start.
func (f sealing) serve(after string) []string {
	return append(onSQLite(f.dir), "--segments", f.segments, "--segments-after", after)
}

// audit returns an audit of events that may be in segments.
func (f sealing) audit(b *book) *audit {
	a := newAudit(b)
	a.segments = f.segments
	return a
}

// count returns the number that a query of the database returns.
func (f sealing) count(t testing.TB, query string) (n int64) {
	t.Helper()
	db := openFolder(t, f.dir)
	defer func() { _ = db.Close() }()
	if err := db.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The queries of count: the events that are in no segment, and the segments.
const (
	countUnsealed = `SELECT (SELECT COALESCE(SUM(events), 0) FROM event_blocks WHERE level < 16) + (SELECT COALESCE(SUM(events), 0) FROM event_new_chunks)`
	countSegments = `SELECT COUNT(*) FROM event_segments`
)

// examine fails the test unless database and segments are intact.
func (f sealing) examine(t testing.TB) {
	t.Helper()
	e, err := sqlstore.Examine(t.Context(), "sqlite:"+filepath.Join(f.dir, "bunting.db"), f.segments, false)
	if err != nil || len(e.Faults)+len(e.SegmentFaults) > 0 || e.Segments == 0 {
		t.Errorf("%+v, %v", e, err)
	}
}

// After SIGKILL at any moment of sealing and merging segments, accepted events are stored exactly once,
// whether no, some or all events are in segments. Events are sealed after a second, into small
// segments, which are merged.
func TestKill_Segments(t *testing.T) {
	t.Parallel()
	f, chance, l := newSealing(t), random(), newLoad(4)
	a := f.audit(l.book)
	times := max(*kills/4, 6)
	start(t, f.serve("24h")...).kill() // creates the tables
	for n := range times {
		after := "1s"
		if n < times/3 {
			after = "24h"
		}
		early, _ := launch(t, nil, f.serve(after)...) // seals while it starts
		time.Sleep(time.Duration(chance.IntN(400_000)) * time.Microsecond)
		early.kill()
		a.check(t, openFolder(t, f.dir), events)
		if n < times/3 && f.count(t, countSegments) > 0 {
			t.Error("events are sealed before they are a day old")
		}
		s := start(t, f.serve(after)...)
		stop := l.run(s.url)
		time.Sleep(time.Duration(chance.IntN(200_000)) * time.Microsecond)
		s.kill()
		stop()
	}
	s := start(t, f.serve("1s")...)
	l.settle(t, s.url)
	eventually(t, "all events are sealed", func() bool { return f.count(t, countUnsealed) == 0 })
	s.kill()
	l.check(t)
	a.check(t, openFolder(t, f.dir), people)
	f.examine(t)

	s = start(t, f.serve("1s")...) // more events, of which some may be sealed
	stop := l.run(s.url)
	l.awaitOK(t, 20)
	stop()
	l.settle(t, s.url)
	if code := s.stop(t); code != 0 {
		t.Errorf("SIGTERM: exit code %d", code)
	}
	full := f.audit(l.book)
	full.check(t, openFolder(t, f.dir), people)
	full.checkNoExtraEvents(t)
	f.examine(t)
	isIntact(t, f.dir)
	t.Logf("%d events, %d segments", len(full.stored), f.count(t, countSegments))
}

// fill fills the small file system of the segments, or if it could not be mounted, makes a folder in which
// no file of the project can be created. It returns whether the disk is full.
func (f sealing) fill(t testing.TB) (isFull bool, empty func()) {
	t.Helper()
	obstacle := filepath.Join(f.segments, "project=1")
	var disk syscall.Statfs_t
	if err := syscall.Statfs(f.segments, &disk); err != nil {
		t.Fatal(err)
	}
	if isFull = int64(disk.Blocks)*disk.Bsize == smallDisk; isFull {
		obstacle = filepath.Join(f.segments, "filler")
	}
	file, err := os.Create(obstacle)
	if err == nil && isFull {
		err = syscall.Fallocate(int(file.Fd()), 0, 0, int64(disk.Bavail)*disk.Bsize)
	}
	if err = errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return isFull, func() {
		if err := os.Remove(obstacle); err != nil {
			t.Error(err)
		}
	}
}

// smallDisk is the size of the file system of TestSegments_DiskFull.
const smallDisk = 16 << 20

// While no segment can be written because their disk is full, events are accepted and stay in the
// database, and the log and health report it. When there is space, the same process writes them.
func TestSegments_DiskFull(t *testing.T) {
	t.Parallel()
	f, l := newSealing(t), newLoad(2)
	if err := os.Mkdir(f.segments, 0o700); err != nil {
		t.Fatal(err)
	}
	switch err := syscall.Mount("tmpfs", f.segments, "tmpfs", 0, "size=16m"); {
	case err == nil:
		t.Cleanup(func() { _ = syscall.Unmount(f.segments, syscall.MNT_DETACH) })
	case !errors.Is(err, syscall.EPERM):
		t.Fatal(err)
	}
	s := start(t, f.serve("1s")...)
	isFull, empty := f.fill(t)
	send := func() {
		stop := l.run(s.url)
		l.awaitOK(t, 20)
		stop()
		l.settle(t, s.url)
	}
	send()
	advice := "check the folder of the segments"
	if isFull {
		advice = "free space on the disk of the segments"
	}
	eventually(t, "the failure is in the log", func() bool {
		return strings.Contains(s.log.String(), "nothing is lost, and it will be tried again; "+advice)
	})
	s.awaitHealth(t, true)
	send()
	if n := f.count(t, countSegments); n > 0 || l.busy.Load() > 0 {
		t.Errorf("%d segments on a full disk, %d requests were refused", n, l.busy.Load())
	}
	f.audit(l.book).check(t, openFolder(t, f.dir), people)
	empty()
	eventually(t, "all events are sealed", func() bool { return f.count(t, countUnsealed) == 0 })
	s.awaitHealth(t, false)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	l.check(t)
	a := f.audit(l.book)
	a.check(t, openFolder(t, f.dir), people)
	a.checkNoExtraEvents(t)
	f.examine(t)
}

// awaitHealth waits until the check of segments reports that writing fails, or does not. Requests for it
// are limited.
func (s *server) awaitHealth(t testing.TB, fails bool) {
	t.Helper()
	poll(t, patience, 2*time.Second, fmt.Sprint("health reports that segments fail: ", fails), func() bool {
		body := s.health(t)
		if !strings.Contains(body, `"name":"segments","state":"`) {
			t.Fatalf("health does not check segments: %s", body)
		}
		return strings.Contains(body, `"code":"segments_failing"`) == fails
	})
}

// health returns the checks of the server.
func (s *server) health(t testing.TB) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.url+"/api/health/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer phx_demo")
	status, body := read(t)(s.client.Do(r))
	if status != http.StatusOK {
		t.Fatalf("health answers %d: %s", status, body)
	}
	return body
}
