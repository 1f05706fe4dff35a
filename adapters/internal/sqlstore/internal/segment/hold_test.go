package segment

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// While somebody holds a folder, also through another Folder, as another process does, its segments
// remain. They are removed as soon as nobody holds it any more.
func TestFolder_Hold(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	other, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = f.Close(), other.Close() }()
	list := []string{Name(1, 1, 10, 1, 0), Name(1, 11, 20, 1, 0), Name(1, 21, 30, 1, 0)}
	for _, name := range list {
		if _, _, err := f.Create(name, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(when string, want []string) {
		t.Helper()
		if got, err := f.Names(); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q, %v", when, got, want, err)
		}
	}
	one, err := f.Hold()
	if err != nil {
		t.Fatal(err)
	}
	two, err := other.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Remove(list[0]), other.Remove(list[1])); err != nil {
		t.Error(err)
	}
	expect("held twice", list)
	if err := errors.Join(one(), f.Remove(list[0])); err != nil {
		t.Error(err)
	}
	expect("held once", list)
	if err := two(); err != nil {
		t.Error(err)
	}
	f.retry()
	expect("released", list[1:])
	if err := other.Remove(list[2]); err != nil { // and what it could not remove before
		t.Error(err)
	}
	expect("removed", nil)
	if _, err := os.Stat(filepath.Join(dir, holdFile)); errors.Is(err, fs.ErrNotExist) {
		t.Error("the lock's file is removed, although others may be waiting for it")
	}
}
