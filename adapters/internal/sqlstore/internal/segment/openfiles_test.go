package segment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// boundedFolder returns a folder with count files of some events that has a number of descriptors, and the
// names.
func boundedFolder(t *testing.T, descriptors, count int) (f *Folder, names []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as the links of /proc/self/fd
	if err != nil {
		t.Fatal(err)
	}
	f = newFolder(newLocal(dir, descriptors))
	t.Cleanup(func() { _ = f.Close() })
	events := newMaker(1).events(5)
	for i := range count {
		names = append(names, Name(1, int64(i+1), int64(i+1), 1, 0))
		create(t, f, names[i], events)
	}
	return f, names
}

// openDescriptors returns how many descriptors of segments the process has, as the kernel lists them.
func openDescriptors(t *testing.T, f *Folder) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		// The descriptor of the list itself is closed.
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && strings.HasPrefix(target, f.String()) && strings.Contains(target, extension) {
			n++
		}
	}
	return n
}

func openFile(t *testing.T, f *Folder, name string) *File {
	t.Helper()
	file, err := f.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func readNames(file *File) error { return file.Names(0, &block.Columns{}) }

// Many readers of many files, all of which are in use at the same time, never have more descriptors than
// the folder may have, and read everything. Afterwards the descriptors that remain are those of the files
// that were used last.
func TestOpenFiles_Descriptors(t *testing.T) {
	const descriptors, remaining = 8, 7 // an eighth is for files without a descriptor of their own
	f, names := boundedFolder(t, descriptors, 40)
	var readers sync.WaitGroup
	var inUse sync.WaitGroup
	inUse.Add(len(names))
	for i := range 4 * len(names) {
		readers.Go(func() {
			file, err := f.Open(names[i%len(names)])
			if err != nil {
				t.Error(err)
				return
			}
			defer file.Release()
			if i < len(names) {
				inUse.Done()
			}
			inUse.Wait()
			for range 3 {
				if err := readNames(file); err != nil {
					t.Error(err)
				}
				if n := openDescriptors(t, f); n > descriptors {
					t.Errorf("%d descriptors", n)
				}
			}
		})
	}
	readers.Wait()
	for _, name := range names {
		openFile(t, f, name).Release()
	}
	if n := openDescriptors(t, f); n != remaining {
		t.Errorf("%d descriptors, want %d", n, remaining)
	}
	for i, name := range names {
		if has := f.files.files[name].hasDescriptor; has != (i >= len(names)-remaining) {
			t.Errorf("file %d has a descriptor: %t", i, has)
		}
	}
	if err := f.Close(); err != nil || openDescriptors(t, f) != 0 {
		t.Errorf("a closed folder has %d descriptors, %v", openDescriptors(t, f), err)
	}
}

// A process that may have few descriptors gives a quarter of them to segments, and any other at most 256.
func TestDescriptorsFor(t *testing.T) {
	for limit, want := range map[uint64]int{0: 2, 64: 16, 256: 64, 1024: 256, 20_000: 256, 1<<64 - 1: 256} {
		if got := descriptorsFor(limit); got != want {
			t.Errorf("limit %d: %d descriptors, want %d", limit, got, want)
		}
	}
	if limit := fileLimit(); limit < 64 {
		t.Errorf("this process may have %d descriptors", limit)
	}
}

// The metadata of files that were used last remains in memory up to a number of bytes, also when their
// descriptors are closed; files in use remain in any case.
func TestOpenFiles_Metadata(t *testing.T) {
	const remaining = 10
	f, names := boundedFolder(t, 2, 30)
	used := openFile(t, f, names[0])
	size := used.memory()
	f.files.mostBytes = remaining * size
	again := func(name string) (same bool) {
		before := f.files.files[name]
		file := openFile(t, f, name)
		defer file.Release()
		if err := readNames(file); err != nil {
			t.Error(err)
		}
		return before == file
	}
	for range 2 { // each of these is needed again after it has given way
		for _, name := range names[1:] {
			if again(name) {
				t.Errorf("%s was in memory", name)
			}
			if n, bytes := len(f.files.files), f.files.bytes; n > remaining || bytes != n*size {
				t.Fatalf("%d files of %d bytes are in memory", n, bytes)
			}
		}
	}
	f.CloseUnused(0)
	if n := openDescriptors(t, f); n != 1 { // of the file in use
		t.Errorf("%d descriptors", n)
	}
	for _, name := range names[len(names)-(remaining-1):] {
		if !again(name) {
			t.Errorf("%s was not in memory", name)
		}
	}
	if !again(names[0]) {
		t.Error("a file in use was read again")
	}
	used.Release()
	var all []*File
	for _, name := range names { // more than there is room for
		all = append(all, openFile(t, f, name))
	}
	if len(f.files.files) != len(names) {
		t.Errorf("%d of %d files in use are in memory", len(f.files.files), len(names))
	}
	for _, file := range all {
		if err := readNames(file); err != nil {
			t.Error(err)
		}
		file.Release()
	}
	if n := len(f.files.files); n != remaining {
		t.Errorf("%d unused files are in memory, want %d", n, remaining)
	}
}

// Descriptors are closed after some time, unless the files are in use. A file that another server has
// removed does not exist then, although its metadata is in memory.
func TestFolder_CloseUnused(t *testing.T) {
	f, names := boundedFolder(t, 8, 1)
	file := openFile(t, f, names[0])
	f.CloseUnused(time.Hour)
	f.CloseUnused(0)
	if openDescriptors(t, f) != 1 {
		t.Error("the descriptor of a file in use was closed")
	}
	file.Release()
	f.CloseUnused(time.Hour)
	if openDescriptors(t, f) != 1 {
		t.Error("a descriptor was closed at once")
	}
	if err := os.Remove(filepath.Join(f.String(), filepath.FromSlash(names[0]))); err != nil {
		t.Fatal(err)
	}
	openFile(t, f, names[0]).Release() // as before
	f.CloseUnused(0)
	if openDescriptors(t, f) != 0 {
		t.Error("an unused descriptor was not closed")
	}
	if _, err := f.Open(names[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a removed file: %v", err)
	}
	if n := len(f.files.files); n != 0 || f.files.bytes != 0 {
		t.Errorf("%d files of %d bytes are in memory", n, f.files.bytes)
	}
}

// A file that is in use when it is removed, or when the folder is closed, can be read until it is released.
// After the folder is closed, no file can be opened.
func TestOpenFiles_Close(t *testing.T) {
	f, names := boundedFolder(t, 8, 2)
	removed, last := openFile(t, f, names[0]), openFile(t, f, names[1])
	if err := errors.Join(f.Remove(names[0]), f.Close(), readNames(removed), readNames(last)); err != nil {
		t.Error(err)
	}
	removed.Release()
	last.Release()
	if n := openDescriptors(t, f); n != 0 || f.files.descriptors != 0 {
		t.Errorf("%d descriptors, %d are counted", n, f.files.descriptors)
	}
	if _, err := f.Open(names[1]); !errors.Is(err, errClosed) {
		t.Errorf("a closed folder: %v", err)
	}
}

// Those who open a file after it was written again do not get what is being read of the one before.
func TestOpenFiles_WrittenMeanwhile(t *testing.T) {
	o := newOpenFiles(0)
	begun, end := make(chan struct{}), make(chan struct{})
	loads := 0
	load := func() (*File, error) {
		loads++
		if loads == 1 {
			close(begun)
			<-end
		}
		return &File{name: "x", size: int64(loads)}, nil
	}
	var readers sync.WaitGroup
	read := func(want int64) {
		if file, err := o.open("x", true, load); err != nil || file.size != want {
			t.Error(fmt.Sprint(file.size), err)
		}
	}
	readers.Go(func() { read(2) }) // the newer one is in memory when it ends
	<-begun
	o.forget("x")
	read(2)
	close(end)
	readers.Wait()
	read(2)
	if loads != 2 {
		t.Errorf("%d loads", loads)
	}
}
