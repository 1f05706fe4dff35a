package segment

import (
	"bytes"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

func testFolder(t *testing.T) *Folder {
	t.Helper()
	f, err := OpenFolder(filepath.Join(t.TempDir(), "some", "segments"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// writeGroups returns a function for Folder.Create.
func writeGroups(t *testing.T, groups [][]event) func(io.Writer) error {
	return func(out io.Writer) error {
		w := NewWriter(out)
		for _, events := range groups {
			add(t, w, events, nil)
		}
		return w.Close()
	}
}

// create writes a segment with a group of events.
func create(t *testing.T, f *Folder, name string, events []event) (size int64, sum uint32) {
	t.Helper()
	size, sum, err := f.Create(name, writeGroups(t, [][]event{events}))
	if err != nil {
		t.Fatal(err)
	}
	return size, sum
}

// namesOf lists the names of a folder.
func namesOf(t *testing.T, f *Folder) []string {
	t.Helper()
	list, err := f.Names()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The name of a segment is the one that the documentation describes: the day is that of UTC.
func TestName(t *testing.T) {
	for _, tt := range []struct {
		project, first, last, generation, arrived int64
		want                                      string
	}{
		{1, 1, 131072, 1, 1_795_391_999_999_999, "project=1/received=2026-11-22/00000000000000000001-00000000000000131072-1.parquet"},
		{20, 131073, 1 << 40, 12, 1_795_392_000_000_000, "project=20/received=2026-11-23/00000000000000131073-00000001099511627776-12.parquet"},
		{1, 1, 2, 1, 0, "project=1/received=1970-01-01/00000000000000000001-00000000000000000002-1.parquet"},
	} {
		got := Name(tt.project, tt.first, tt.last, tt.generation, tt.arrived)
		if got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		for _, name := range []string{got, NewName(tt.project, tt.first, tt.last, tt.generation, tt.arrived)} {
			if _, err := testFolder(t).Open(name); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", name, err)
			}
			if project, first, last, ok := Parse(name); !ok || project != tt.project || first != tt.first || last != tt.last {
				t.Errorf("%s is project %d, ids %d to %d, %t", name, project, first, last, ok)
			}
		}
	}
}

// A segment that was written is there with its bytes, size and checksum, and there is no other file.
func TestFolder_Create(t *testing.T) {
	f, events := testFolder(t), newMaker(1).events(500)
	name := Name(1, 1, 600, 1, 1_795_000_000e6)
	size, sum := create(t, f, name, events)
	in, err := f.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(in)
	if err = errors.Join(err, in.Close()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, segmentOf(t, events)) || int64(len(data)) != size || crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)) != sum {
		t.Errorf("%d bytes of %d, checksum %08x", len(data), size, sum)
	}
	if err := f.Check(name, size, sum); err != nil {
		t.Error(err)
	}
	for _, err := range []error{f.Check(name, size-1, sum), f.Check(name, size, sum+1)} {
		if !errors.Is(err, block.ErrDamaged) || !strings.Contains(err.Error(), name) {
			t.Errorf("another size or checksum: %v", err)
		}
	}
	if list := namesOf(t, f); !slices.Equal(list, []string{name}) {
		t.Errorf("files %q", list)
	}
	file, err := f.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Release()
	got, err := readGroup(file, 0, &block.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "events", events, got)
}

// If writing fails, the segment does not exist, and an earlier one of the same name remains.
func TestFolder_CreateFails(t *testing.T) {
	f, failed := testFolder(t), errors.New("failed")
	name := Name(1, 1, 2, 1, 0)
	write := func(out io.Writer) error {
		_, err := out.Write([]byte("something"))
		return errors.Join(err, failed)
	}
	if _, _, err := f.Create(name, write); !errors.Is(err, failed) {
		t.Error(err)
	}
	if list := namesOf(t, f); len(list) != 0 {
		t.Errorf("files %q", list)
	}
	size, sum := create(t, f, name, newMaker(1).events(2))
	if _, _, err := f.Create(name, write); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := f.Check(name, size, sum); err != nil {
		t.Error(err)
	}
}

// After a crash, Names lists unfinished files, Remove removes them, and Create replaces them. Other
// files are not touched.
func TestFolder_Leftovers(t *testing.T) {
	f := testFolder(t)
	name := Name(3, 5, 9, 2, 0)
	day := filepath.Join(f.String(), "project=3", "received=1970-01-01")
	if err := os.MkdirAll(day, 0o700); err != nil {
		t.Fatal(err)
	}
	base := "00000000000000000005-00000000000000000009-2.parquet"
	for _, file := range []string{"." + base + ".tmp", "." + base + ".1.tmp", "notes.txt", "other.parquet"} {
		if err := os.WriteFile(filepath.Join(day, file), []byte("half a file"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hidden := "project=3/received=1970-01-01/." + base
	if diff := cmp.Diff([]string{hidden + ".1.tmp", hidden + ".tmp"}, namesOf(t, f)); diff != "" {
		t.Error(diff)
	}
	if err := errors.Join(f.Remove(hidden+".1.tmp"), f.Remove(hidden+".1.tmp"), f.Remove(name)); err != nil {
		t.Error(err)
	}
	size, sum := create(t, f, name, newMaker(1).events(3))
	if diff := cmp.Diff([]string{name}, namesOf(t, f)); diff != "" {
		t.Error(diff)
	}
	if err := f.Check(name, size, sum); err != nil {
		t.Error(err)
	}
	for _, file := range []string{"notes.txt", "other.parquet"} {
		if _, err := os.Stat(filepath.Join(day, file)); err != nil {
			t.Error(err)
		}
	}
}

// Other names than of segments are refused, so that no other file is opened, written or
// removed.
func TestFolder_Names(t *testing.T) {
	f := testFolder(t)
	good := Name(1, 1, 2, 1, 0)
	for _, name := range []string{
		"", "../" + good, "/" + good, good + ".tmp", good + "/..", strings.Replace(good, "/", "/../", 1), strings.ReplaceAll(good, "/", `\`), "x" + good, strings.Replace(good, "/0", "/.0", 1),
		strings.Replace(good, "project=1", "project=", 1), strings.Replace(good, "-1.", "-.", 1), good + "\n", "project=1/received=1970-01-01/../../x.parquet",
	} {
		_, openErr := f.Open(name)
		_, readErr := f.Read(name)
		_, _, createErr := f.Create(name, func(io.Writer) error { return nil })
		for _, err := range []error{openErr, readErr, createErr, f.Check(name, 0, 0)} {
			if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "is not the name of a segment") {
				t.Errorf("%q: %v", name, err)
			}
		}
		if err := f.Remove(name); (err == nil) != (strings.HasSuffix(name, ".tmp")) {
			t.Errorf("removal of %q: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(f.String()); err != nil || len(entries) != 1 || entries[0].Name() != holdFile {
		t.Errorf("%v, %v", entries, err)
	}
}

// A file that is removed while it is open remains readable until it is released; opening it then
// fails.
func TestFolder_RemoveOpen(t *testing.T) {
	f, events := testFolder(t), newMaker(1).events(100)
	name := Name(1, 1, 200, 1, 0)
	create(t, f, name, events)
	file, err := f.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	same, err := f.Open(name)
	if err != nil || same != file {
		t.Fatalf("a second file, %v", err)
	}
	if err := f.Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Open(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file: %v", err)
	}
	if err := f.Check(name, 1, 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("check of a removed file: %v", err)
	}
	same.Release()
	got, err := readGroup(file, 0, &block.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "events", events, got)
	file.Release()
	if err := file.Names(0, &block.Columns{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that was released and removed: %v", err)
	}
}

// A file that was removed is opened as the one that has replaced it.
func TestFolder_Replacement(t *testing.T) {
	f, failed := testFolder(t), errors.New("failed")
	old, replacement := Name(1, 1, 200, 1, 0), NewName(1, 1, 400, 2, 0)
	create(t, f, replacement, newMaker(1).events(100))
	f.Replacement = func(name string) (string, error) {
		switch name {
		case old:
			return replacement, nil
		case Name(2, 1, 1, 1, 0):
			return "", failed
		}
		return "", nil
	}
	file, err := f.Open(old)
	if err != nil {
		t.Fatal(err)
	}
	if file.Name() != replacement {
		t.Errorf("opened %s", file.Name())
	}
	file.Release()
	if _, err := f.Open(Name(2, 1, 1, 1, 0)); !errors.Is(err, failed) {
		t.Error(err)
	}
	if _, err := f.Open(Name(3, 1, 1, 1, 0)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Readers of files that are written and removed meanwhile see complete files or no file.
func TestFolder_Concurrent(t *testing.T) {
	f, events := testFolder(t), newMaker(1).events(20)
	data := segmentOf(t, events)
	var tasks sync.WaitGroup
	for g := range int64(4) {
		tasks.Go(func() {
			for i := range int64(30) {
				name := Name(1, i+1, i+1, 1, 0)
				if g == 0 {
					_, _, err := f.Create(name, func(out io.Writer) error {
						_, err := out.Write(data)
						return err
					})
					if err = errors.Join(err, f.Remove(Name(1, i, i, 1, 0))); err != nil {
						t.Error(err)
					}
				}
				file, err := f.Open(name)
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := readGroup(file, 0, &block.Columns{}); err != nil || !slices.Equal(got, events) {
					t.Errorf("%d events, %v", len(got), err)
				}
				file.Release()
			}
		})
	}
	tasks.Wait()
}

// A folder that cannot be written is refused with advice.
func TestOpenFolder_Unusable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenFolder(filepath.Join(file, "segments"))
	if err == nil || !strings.Contains(err.Error(), "choose a folder in which the server may create and remove files") {
		t.Error(err)
	}
}

// A group whose pages exceed the memory is written by way of temporary files, which do not
// remain.
func TestWriter_TemporaryFiles(t *testing.T) {
	events := newMaker(1).strange(4000)
	f := testFolder(t)
	for i, fails := range []bool{false, true} {
		temporary := 0
		name := Name(1, 1, int64(i+1), 1, 0)
		_, _, err := f.Create(name, func(out io.Writer) error {
			w := NewWriter(out)
			create := w.temporary
			w.maxMemory = 10_000
			w.temporary = func() (*os.File, error) {
				temporary++
				if fails && temporary == 5 {
					return nil, errFull
				}
				return create()
			}
			err := w.Add(columnsOf(t, events), nil, func(i int) (string, string, string, error) {
				return events[i].elements, events[i].properties, events[i].person, nil
			})
			return errors.Join(err, w.Close())
		})
		if errors.Is(err, errFull) != fails || temporary < 5 {
			t.Errorf("%d temporary files, %v", temporary, err)
		}
		if want := []string{Name(1, 1, 1, 1, 0)}; !slices.Equal(namesOf(t, f), want) {
			t.Errorf("files %q", namesOf(t, f))
		}
	}
	file, err := f.Open(Name(1, 1, 1, 1, 0))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Release()
	got, err := readGroup(file, 0, &block.Columns{})
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "events", events, got)
	if n := len(segmentOf(t, events)); file.size != int64(n) {
		t.Errorf("%d bytes, want %d as in memory", file.size, n)
	}
}
