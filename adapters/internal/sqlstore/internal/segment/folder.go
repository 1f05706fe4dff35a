package segment

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/bucket"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// Folder has the segments of a store: a folder, or a part of a bucket of S3. It can be used
// concurrently, also by several processes.
type Folder struct {
	*remover
	storage storage
	// Replacement returns the name of the segment that has the events of one that does not exist any
	// more, empty if there is none. It may be nil.
	Replacement func(name string) (string, error)

	files *openFiles
}

// Open opens the segments of a database at an address: a folder, which is created if it is missing,
// or s3://BUCKET/PREFIX. database is the path of a SQLite file, beside which a bucket needs files; it
// is empty for PostgreSQL.
func Open(address, database string) (*Folder, error) {
	if !IsBucket(address) {
		return OpenFolder(address)
	}
	o, err := openObjects(address, database)
	if err != nil {
		return nil, fmt.Errorf("--segments: %w", err)
	}
	return newFolder(o), nil
}

// ErrUnavailable is the error, for errors.Is, if a bucket cannot be reached: the same may succeed
// later.
var ErrUnavailable = bucket.ErrUnavailable

// IsBucket reports whether an address is that of a bucket.
func IsBucket(address string) bool { return strings.HasPrefix(address, bucket.Scheme) }

// OpenFolder opens a folder and creates it if it is missing.
func OpenFolder(dir string) (*Folder, error) {
	l, err := openLocal(dir)
	if err != nil {
		return nil, err
	}
	return newFolder(l), nil
}

func newFolder(s storage) *Folder {
	f := &Folder{storage: s}
	f.remover = newRemover(s.lock(), f.removeNow)
	f.files = newOpenFiles(s.descriptors())
	return f
}

// SetMemory limits the metadata of files in memory, and the parts of a bucket, in bytes. It must be called before the
// first use.
func (f *Folder) SetMemory(metadata, parts int64) {
	f.files.mostBytes = int(metadata)
	if o, ok := f.storage.(*objects); ok {
		o.cache.parts.Resize(max(int(parts/partSize), 1))
	}
}

// IsBucket reports whether the segments are in a bucket. It may be called for nil.
func (f *Folder) IsBucket() bool { return f != nil && IsBucket(f.String()) }

// String returns the address without parameters.
func (f *Folder) String() string { return f.storage.String() }

// Create writes a segment: write writes its bytes. The segment exists when all bytes are stored
// durably. Create returns the size and the CRC-32C of the file.
func (f *Folder) Create(name string, write func(io.Writer) error) (bytes int64, checksum uint32, err error) {
	if err := checkName(name); err != nil {
		return 0, 0, err
	}
	bytes, checksum, err = f.storage.create(name, write)
	f.Forget(name)
	return bytes, checksum, err
}

// Forget removes the metadata of a file from memory.
func (f *Folder) Forget(name string) { f.files.forget(name) }

// CloseUnused closes files without users that were opened before a time that is age ago.
func (f *Folder) CloseUnused(age time.Duration) { f.files.closeUnused(age) }

// Open opens a segment, which must be released. If there is no such file, it opens the one that
// has replaced it, or else the error is fs.ErrNotExist.
func (f *Folder) Open(name string) (*File, error) {
	file, err := f.open(name)
	if !errors.Is(err, fs.ErrNotExist) || f.Replacement == nil {
		return file, err
	}
	switch other, lookErr := f.Replacement(name); {
	case lookErr != nil:
		return nil, lookErr
	case other != "":
		return f.open(other)
	}
	return nil, err
}

// open opens a file.
func (f *Folder) open(name string) (*File, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return f.files.open(name, true, func() (*File, error) { return f.load(context.Background(), name) })
}

// load reads the metadata of a file. If ctx can end, it is read ahead of a scan.
func (f *Folder) load(ctx context.Context, name string) (*File, error) {
	data, err := f.storage.open(ctx, name)
	if err != nil {
		return nil, err
	}
	file, err := newFile(name, data, data.size())
	if err != nil {
		data.forget(0, data.size())
		return nil, err
	}
	file.folder, file.contents = f, data.forAll()
	file.data = file.contents
	return file, nil
}

// Release ends the use of a file.
func (f *File) Release() { f.folder.files.release(f) }

// removeNow removes a segment or an unfinished file, even if somebody holds the folder.
func (f *Folder) removeNow(name string) error {
	if err := checkName(name); err != nil && !unfinishedNames.MatchString(name) {
		return err
	}
	f.Forget(name)
	if err := f.storage.remove(name); err != nil {
		return err
	}
	f.Forget(name) // again, because it may have been opened before it was removed
	return nil
}

// Sizes returns the sizes of all segments and of all unfinished files, whose names end with .tmp.
func (f *Folder) Sizes() (Sizes, error) { return f.storage.sizes() }

// Names returns the names of Sizes in order.
func (f *Folder) Names() ([]string, error) {
	all, err := f.storage.sizes()
	list := make([]string, 0, len(all.of))
	for name := range all.of {
		list = append(list, name)
	}
	slices.Sort(list)
	return list, err
}

// Sweep removes the remains of uploads of killed processes, which Names does not return. No file may be
// written meanwhile.
func (f *Folder) Sweep() { f.storage.sweep() }

// Check compares a file with its size and checksum.
func (f *Folder) Check(name string, bytes int64, checksum uint32) error {
	file, err := f.Read(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	hash := crc32.New(castagnoli)
	switch n, err := io.Copy(hash, file); {
	case err != nil:
		return err
	case n != bytes:
		return checkSize(name, n, bytes)
	case hash.Sum32() != checksum:
		return fmt.Errorf("the segment %s: %w: it has the checksum %08x, not %08x", name, block.ErrDamaged, hash.Sum32(), checksum)
	}
	return nil
}

// CheckSize compares the size of a file with what is listed, in bytes.
func (f *Folder) CheckSize(name string, bytes int64) error {
	if err := checkName(name); err != nil {
		return err
	}
	size, err := f.storage.size(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing(name, f.String())
	case err != nil:
		return err
	}
	return checkSize(name, size, bytes)
}

// Read returns a reader of all bytes of a segment, which must be closed.
func (f *Folder) Read(name string) (io.ReadCloser, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return f.storage.read(name)
}

// OwnerFile is the name of the file with the number of the database that the segments belong to.
const OwnerFile = "database"

// Owner returns the number of the database that the segments belong to, 0 if there is no number.
func (f *Folder) Owner() (int64, error) {
	text, err := f.storage.owner()
	if err != nil || len(text) == 0 {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 16, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("the file %s in %s does not have the number of a database", OwnerFile, f)
	}
	return n, nil
}

// SetOwner stores the number of a database, 0 for none.
func (f *Folder) SetOwner(number int64) error {
	text := []byte{}
	if number != 0 {
		text = fmt.Appendf(text, "%016x\n", number)
	}
	return f.storage.setOwner(text, false)
}

// Claim stores the number of a database unless there is a number, and returns the one that is
// stored: another process may have been faster.
func (f *Folder) Claim(number int64) (int64, error) {
	if err := f.storage.setOwner(fmt.Appendf(nil, "%016x\n", number), true); err != nil {
		return 0, err
	}
	owner, err := f.Owner()
	if owner == 0 && err == nil { // the file is empty: of a process that was killed, or without a number
		return number, f.SetOwner(number)
	}
	return owner, err
}

// Close closes the files. Files in use are closed when they are released.
func (f *Folder) Close() error {
	f.stop()
	f.storage.close()
	f.files.close()
	return nil
}
