package flags

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A changed file is read even if its inode, size and modification time are the same: because
// of its change time, and because of its content every 30 seconds if the file system does not
// update the times.
func TestOpen_LooksTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	write := func(key string) { // in place, with the modification time of an archive
		t.Helper()
		if err := os.WriteFile(path, []byte(`{"flags": [{"id": 1, "key": "`+key+`", "active": true}]}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	f := &FileReader{path: path}
	start := time.Now().Add(time.Hour) // long after the write
	look := func(after time.Duration, want string, read bool) {
		t.Helper()
		before := f.readAt
		if _, err := f.load(start.Add(after)); err != nil {
			t.Fatal(err)
		}
		if _, ok := f.Set().byKey[want]; !ok {
			t.Errorf("after %v: no flag %s", after, want)
		}
		if got := !f.readAt.Equal(before); got != read {
			t.Errorf("after %v: read %v, want %v", after, got, read)
		}
	}
	write("a")
	look(0, "a", true)
	look(time.Second, "a", false)
	write("b")
	look(2*time.Second, "b", true)
	look(3*time.Second, "b", false)
	write("c")
	if info, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if f.info == nil {
		t.Fatal("the file has not settled")
	} else {
		f.info = info // as if the times had not changed
	}
	look(31*time.Second, "b", false)
	look(32*time.Second, "c", true)
	look(33*time.Second, "c", false)
}

// A file with a recent change time is read at each check, however old its modification time
// is.
func TestOpen_RecentChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	if err := os.WriteFile(path, []byte(`{"flags": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	f := &FileReader{path: path}
	for range 2 {
		if _, err := f.load(time.Now()); err != nil || f.info != nil {
			t.Errorf("%v, %v", f.info, err)
		}
	}
}
