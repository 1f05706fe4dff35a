package segment

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
)

const (
	// maxDescriptors is the maximum number of descriptors of the files of a folder. With its metadata in memory,
	// a file is opened in some microseconds, so more would not help.
	maxDescriptors = 256
	// limitShare is the part of the descriptors of the process that a folder may use: the rest is for
	// connections and databases.
	limitShare = 4
	// readingShare is the part of the descriptors of a folder for files without one of their own.
	readingShare = 8
)

// descriptorsFor returns the number of descriptors for the files of a folder in a process that may have
// limit of them.
func descriptorsFor(limit uint64) int { return int(min(max(limit/limitShare, 2), maxDescriptors)) }

// newLocal returns a storage that uses a number of descriptors, at least 2, for reading parts of files.
func newLocal(dir string, descriptors int) *local {
	reading := max(descriptors/readingShare, 1)
	return &local{dir: dir, files: descriptors - reading, reading: make(chan struct{}, reading)}
}

func (l *local) descriptors() int { return l.files }

func (l *local) open(_ context.Context, name string) (contents, error) {
	info, err := os.Stat(l.path(name))
	if err != nil {
		return nil, err
	}
	return &localFile{l: l, path: l.path(name), bytes: info.Size()}, nil
}

// localFile is a file of this machine. Without a descriptor, each read opens the file and closes it
// afterwards; only some of such reads are done at a time.
type localFile struct {
	l          *local
	path       string
	bytes      int64
	descriptor atomic.Pointer[os.File]
}

func (f *localFile) size() int64         { return f.bytes }
func (f *localFile) forAll() contents    { return f }
func (f *localFile) forget(int64, int64) {}

func (f *localFile) open() error {
	file, err := os.Open(f.path)
	if err == nil {
		f.descriptor.Store(file)
	}
	return err
}

func (f *localFile) Close() error {
	if file := f.descriptor.Swap(nil); file != nil {
		return file.Close()
	}
	return nil
}

// ReadAt implements io.ReaderAt. The error is fs.ErrNotExist if the file was removed and has no
// descriptor, or if another machine has removed it from a folder of NFS.
func (f *localFile) ReadAt(dst []byte, offset int64) (n int, err error) {
	file := f.descriptor.Load()
	if file == nil {
		f.l.reading <- struct{}{}
		defer func() { <-f.l.reading }()
		if file, err = os.Open(f.path); err != nil {
			return 0, err
		}
		defer func() { _ = file.Close() }() // it was only read
	}
	n, err = file.ReadAt(dst, offset)
	if errors.Is(err, syscall.ESTALE) {
		err = fs.ErrNotExist
	}
	return n, err
}
