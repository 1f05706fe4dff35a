package filesource

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// A changed file is read even if its inode, size and modification time are unchanged and there is
// no event: because of its change time or, on file systems without that, because of its content,
// every 30 seconds.
func TestSource_LooksTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	put := func(key string) { // in place, with the modification time of an archive
		t.Helper()
		write(t, path, definitions(1, "phc_a", key))
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	put("one")
	start := time.Now().Add(time.Hour) // long after the file was written
	var after atomic.Int64
	s, err := open(Config{Files: []string{path}, Poll: noPoll, Now: func() time.Time { return start.Add(time.Duration(after.Load())) }},
		func() (*fsnotify.Watcher, error) { return nil, os.ErrInvalid })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	h := &harness{Source: s, t: t}
	look := func(at time.Duration, want string) {
		t.Helper()
		after.Store(int64(at))
		s.refresh(false)
		if !h.hasFlags("phc_a", want)() {
			t.Errorf("after %v: %v, want %s", at, h.flagKeys("phc_a"), want)
		}
	}
	look(time.Second, "one")
	put("two")
	look(2*time.Second, "two")
	put("six")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	if s.files[0].info == nil {
		t.Error("the file has not settled")
	}
	s.files[0].info = info // as on a file system that does not record changes
	s.mu.Unlock()
	look(31*time.Second, "two")
	look(32*time.Second, "six")
}
