package lastgood_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

const text = `{"flags": [{"key": "a"}]}`

func saveCopy(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "folder", "copy.json")
	if err := lastgood.Save(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLastGood_SaveAndLoad(t *testing.T) {
	path := saveCopy(t)
	if got, err := lastgood.Load(path); err != nil || string(got) != text {
		t.Errorf("Load: %q, %v", got, err)
	}
	if err := lastgood.Save(path, nil); err != nil { // replaces the copy, and may be empty
		t.Fatal(err)
	}
	if got, err := lastgood.Load(path); err != nil || len(got) != 0 {
		t.Errorf("Load of an empty text: %q, %v", got, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("the folder has %d files, want the copy alone", len(entries))
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: definitions are for this user alone", info.Mode(), err)
	}
}

func TestLastGood_NoCopy(t *testing.T) {
	if _, err := lastgood.Load(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestLastGood_EveryByteCounts proves that every flipped bit and every shorter copy is detected.
func TestLastGood_EveryByteCounts(t *testing.T) {
	path := saveCopy(t)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(name string, damaged []byte) {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := lastgood.Load(path); !errors.Is(err, lastgood.ErrDamaged) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for i := range good {
		for bit := range 8 {
			damaged := append([]byte{}, good...)
			damaged[i] ^= 1 << bit
			try("flipped", damaged)
		}
		try("cut", good[:i])
	}
	try("longer", append(append([]byte{}, good...), ' '))
}

func TestLastGood_FolderThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lastgood.Save(filepath.Join(file, "copy"), []byte(text)); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// Save removes the file that a killed writer left behind, unless it is so new that another writer
// may still be using it.
func TestSave_RemovesOldTemp(t *testing.T) {
	dir := t.TempDir()
	old, fresh := filepath.Join(dir, ".copy-1"), filepath.Join(dir, ".copy-2")
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	if err := lastgood.Save(filepath.Join(dir, "a"), []byte("text")); err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob(filepath.Join(dir, ".copy-*"))
	if err != nil || len(entries) != 1 || entries[0] != fresh {
		t.Errorf("%v %v", entries, err)
	}
}

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path, full := filepath.Join(dir, "state"), filepath.Join(dir, "full")
	if err := os.MkdirAll(filepath.Join(full, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("what was there, and longer"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := lastgood.Replace(path, 0o640, []byte("a"), nil, []byte("b")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, cannot := range []string{full, filepath.Join(dir, "no folder", "state")} {
		if err := lastgood.Replace(cannot, 0o600, []byte("c")); err == nil {
			t.Errorf("%s was replaced", cannot)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "ab" {
		t.Errorf("%q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%v, %v: want the file and the folder alone", entries, err)
	}
}
