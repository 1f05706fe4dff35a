//go:build linux

package faulttest

import (
	"crypto/rand"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// While fsync fails, no request gets 200, since each 200 depends on an fsync. When the disk works
// again so does the server, and the accepted events are still stored.
func TestFailingFsync(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, onSQLite(dir)...)
	l := newLoad(4)
	stop := l.run(s.url)
	l.awaitOK(t, 20)

	heal := inject(t, s, "fsync,fdatasync:error=EIO")
	eventually(t, "a request is answered 503", func() bool { return l.busy.Load() > 0 })
	eventually(t, "50 requests are answered 503", func() bool { return l.busy.Load() > 50 })
	secondLoad := newLoad(1)
	for range 20 { // new events each time: stored ones need no fsync
		secondLoad.clients[0].unanswered = nil
		if secondLoad.clients[0].step(s.url) {
			t.Error("200 while fsync fails")
		}
	}
	if status, body := s.flags(t, "user-1"); status != http.StatusOK || !strings.Contains(body, `"new-onboarding"`) {
		t.Errorf("/flags answers %d while fsync fails: %s", status, body)
	}
	stop()
	s.kill()
	heal()

	s = start(t, onSQLite(dir)...)
	l.book.batches = append(l.book.batches, secondLoad.book.all()...)
	newAudit(l.book).check(t, openFolder(t, dir), people)
	l.settle(t, s.url)

	// The same, without a restart.
	heal = inject(t, s, "fsync,fdatasync:error=EIO")
	for range 5 {
		l.clients[0].step(s.url)
	}
	heal()
	l.settle(t, s.url)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	l.check(t)
	secondLoad.check(t)
	a := newAudit(l.book)
	a.check(t, openFolder(t, dir), people)
	a.checkNoExtraEvents(t)
	isIntact(t, dir)
}

// While the disk is full, events get 503 and flags are evaluated. No accepted event is lost, and
// when space is free the same process accepts events.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); errors.Is(err, syscall.EPERM) {
		testDiskFull(t, dir, func(s *server) func() { return inject(t, s, "pwrite64:error=ENOSPC") })
		return
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	testDiskFull(t, dir, func(*server) func() {
		filler := filepath.Join(dir, "filler")
		f, err := os.Create(filler)
		if err != nil {
			t.Fatal(err)
		}
		const freeBytes = 1 << 20 // the load soon fills it
		for tries := 0; ; tries++ {
			var disk syscall.Statfs_t
			if err := syscall.Statfs(dir, &disk); err != nil {
				t.Fatal(err)
			}
			err := syscall.Fallocate(int(f.Fd()), 0, 0, int64(disk.Bavail)*disk.Bsize-freeBytes)
			if err == nil {
				break
			}
			if !errors.Is(err, syscall.ENOSPC) || tries == 20 { // the load may have filled it first
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := os.Remove(filler); err != nil {
				t.Error(err)
			}
		}
	})
}

// newFlag tries to create another flag in a project that the API may change.
func (s *server) newFlag(t *testing.T) int {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, s.url+"/api/projects/1/feature_flags/", strings.NewReader(`{"key":"`+rand.Text()+`","description":"`+strings.Repeat("x", 1<<16)+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer phx_demo")
	status, _ := read(t)(s.client.Do(r))
	return status
}

func testDiskFull(t *testing.T, dir string, fill func(*server) (empty func())) {
	s := start(t, onSQLite(dir)...)
	l := newLoad(4)
	stop := l.run(s.url)
	l.awaitOK(t, 20)
	empty := fill(s)
	eventually(t, "20 requests are answered 503", func() bool { return l.busy.Load() > 20 })
	if status, body := s.flags(t, "user-1"); status != http.StatusOK || !strings.Contains(body, `"new-onboarding"`) {
		t.Errorf("/flags answers %d while the disk is full: %s", status, body)
	}
	// A flag may still fit into the part of SQLite's log that is used again, a second or third one not.
	eventually(t, "making a flag answers 503", func() bool {
		status := s.newFlag(t)
		if status != http.StatusCreated && status != http.StatusServiceUnavailable {
			t.Errorf("making a flag answers %d while the disk is full", status)
		}
		return status == http.StatusServiceUnavailable
	})
	if !strings.Contains(s.log.String(), "full") {
		t.Errorf("the log does not say that the disk is full: %s", s.log.tail(3))
	}
	before := l.busy.Load()
	eventually(t, "20 more requests are answered 503", func() bool { return l.busy.Load() > before+20 })
	stop()
	newAudit(l.book).check(t, openFolder(t, dir), people) // accepted events are still stored

	empty()
	l.settle(t, s.url)
	stop = l.run(s.url)
	l.awaitOK(t, 20)
	stop()
	if !s.running() {
		t.Error("the server has ended")
	}
	l.settle(t, s.url)
	if code := s.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	l.check(t)
	a := newAudit(l.book)
	a.check(t, openFolder(t, dir), people)
	a.checkNoExtraEvents(t)
	isIntact(t, dir)
}

// mostMemory is the limit of a server's resident memory under full load, in bytes.
const mostMemory = 256 << 20

// With a slow disk and 500 clients, requests wait or get 503, and memory does not grow with the
// number of clients (decision 14).
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, onSQLite(dir)...).kill() // creates the tables at full speed
	s := startWith(t, []string{strace(t), "-f", "--seccomp-bpf", "-o", os.DevNull,
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:delay_enter=150000"}, onSQLite(dir)...)
	l := newLoad(500)
	for _, c := range l.clients {
		c.generator.batchSize, c.generator.padding = 60, 5000 // some 150 KB
	}
	var running sync.WaitGroup
	for _, c := range l.clients { // all wait at the same time: the disk is slower than they are
		running.Go(func() { c.step(s.url) })
	}
	running.Wait()
	if peak := s.memory(t, "VmHWM"); peak > mostMemory {
		t.Errorf("the server had %d MB in memory, %d are allowed", peak>>20, mostMemory>>20)
	} else {
		t.Logf("the server had %d MB in memory", peak>>20)
	}
	if l.broken.Load() > 0 {
		t.Errorf("%d requests got no answer", l.broken.Load())
	}
	if l.ok.Load() == 0 {
		t.Error("no request was answered 200")
	}
	s.kill()
	l.check(t)
	start(t, onSQLite(dir)...)
	newAudit(l.book).check(t, openFolder(t, dir), people)
}
