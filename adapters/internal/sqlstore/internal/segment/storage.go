package segment

import (
	"context"
	"fmt"
	"io"
	"io/fs"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// storage stores the files of a Folder: a folder of this machine, or a bucket of S3. Names are those of
// segments and of unfinished files. Errors are fs.ErrNotExist for files that do not exist.
type storage interface {
	// create writes a file. It appears when all of its bytes are stored.
	create(name string, write func(io.Writer) error) (bytes int64, checksum uint32, err error)
	// open opens a file for reading parts of it. If ctx can end, it is read ahead of a scan.
	open(ctx context.Context, name string) (contents, error)
	// read returns a reader of a whole file.
	read(name string) (io.ReadCloser, error)
	// descriptors returns how many files may have a descriptor; 0 if files need none.
	descriptors() int
	// size returns the size of a file in bytes.
	size(name string) (int64, error)
	// remove removes a file, if there is one.
	remove(name string) error
	// sizes returns the sizes of all files.
	sizes() (Sizes, error)
	// sweep removes the remains of uploads of killed processes. No file may be written meanwhile.
	sweep()
	// owner returns the content of the file with the number of the database, empty if there is none.
	// setOwner writes it, unless isNew is true and there is one, or removes it if content is empty.
	owner() ([]byte, error)
	setOwner(content []byte, isNew bool) error
	// lock returns the path of the file with the lock of remover, empty if there is none.
	lock() string
	// String returns the address, for errors.
	String() string
	close()
}

// contents are the bytes of an open file.
type contents interface {
	io.ReaderAt
	// open opens a descriptor for reading, and Close closes it, while there are no reads. Both may be called repeatedly.
	open() error
	io.Closer
	size() int64
	// forAll returns the contents for all readers, also if the file was opened ahead of a scan.
	forAll() contents
	// forget is called with a part that is damaged: it may have been damaged on the way here.
	forget(offset, n int64)
}

// Sizes are the sizes of files by name, in bytes.
type Sizes struct {
	of   map[string]int64
	from string // the address of the folder
}

// Check returns an error if a file is missing or has another size than listed.
func (s *Sizes) Check(name string, bytes int64) error {
	size, ok := s.of[name]
	if !ok {
		return missing(name, s.from)
	}
	return checkSize(name, size, bytes)
}

func checkSize(name string, size, listed int64) error {
	if size != listed {
		return fmt.Errorf("the segment %s: %w: it has %d bytes instead of %d", name, block.ErrDamaged, size, listed)
	}
	return nil
}

func missing(name, from string) error {
	return fmt.Errorf("the segment %s is not in %s: give the right folder, or restore a backup: %w", name, from, fs.ErrNotExist)
}
