package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// maxOpen is the maximum number of files that a folder keeps open after their use. Files in use
// are open in addition.
const maxOpen = 64

// Folder has the segments of a store. It can be used concurrently.
type Folder struct {
	*remover
	dir string

	// days is locked while the folder of a day is created or removed.
	days sync.Mutex

	mu     sync.Mutex
	files  *simplelru.LRU[string, *File]
	closed bool
	// removals is the number of names that were removed or written, so that Open does not cache a
	// file that was removed meanwhile.
	removals int
}

// Name returns the name of a segment of a project: the path below the folder, with slashes. arrived
// is when the first event arrived, in microseconds since 1970.
func Name(project, firstID, lastID, generation, arrived int64) string {
	return fmt.Sprintf("project=%d/received=%s/%020d-%020d-%d.parquet", project, time.UnixMicro(arrived).UTC().Format(time.DateOnly), firstID, lastID, generation)
}

// unfinished ends the names of unfinished files, which begin with a dot: many programs that read
// folders of Parquet files leave such files out.
const unfinished = ".tmp"

// names and unfinishedNames match the names of segments and of unfinished files.
var (
	names           = regexp.MustCompile(`^` + dayPattern + `/` + filePattern + `$`)
	unfinishedNames = regexp.MustCompile(`^` + dayPattern + `/\.?` + filePattern + `(?:\.\d{1,9})?\.tmp$`)
)

const (
	dayPattern  = `project=\d{1,19}/received=-?\d{4,6}-\d\d-\d\d`
	filePattern = `\d{20}-\d{20}-\d{1,19}\.parquet`
)

// OpenFolder opens a folder and creates it if it is missing.
func OpenFolder(dir string) (*Folder, error) {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = tryWriting(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder for segments, %s, cannot be used: %w; choose a folder in which the server may create and remove files", dir, err)
	}
	f := &Folder{dir: dir}
	f.remover = newRemover(dir, f.removeNow)
	f.files, err = simplelru.NewLRU(maxOpen, func(_ string, file *File) { file.drop() })
	return f, err
}

// tryWriting creates and removes a file.
func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, "try-*"+unfinished)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// path returns the path of the segment with a name.
func (f *Folder) path(name string) (string, error) {
	if !names.MatchString(name) {
		return "", fmt.Errorf("%q is not the name of a segment, such as %s", name, Name(1, 1, 131072, 1, 0))
	}
	return filepath.Join(f.dir, filepath.FromSlash(name)), nil
}

// newSegment is a file of Create.
type newSegment struct {
	file *os.File
	sum  uint32
	size int64
	more int // the number of temporary files
}

func (s *newSegment) Write(data []byte) (int, error) {
	n, err := s.file.Write(data)
	s.sum = crc32.Update(s.sum, castagnoli, data[:n])
	s.size += int64(n)
	return n, err
}

// Temporary creates a file for parts of the segment. Where open files can be removed, it has no
// name any more.
func (s *newSegment) Temporary() (*os.File, error) {
	s.more++
	name := fmt.Sprintf("%s.%d%s", strings.TrimSuffix(s.file.Name(), unfinished), s.more, unfinished)
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err == nil {
		_ = os.Remove(name) // fails where open files cannot be removed; then Writer removes it
	}
	return file, err
}

// Create writes a segment: write writes its bytes. The file gets its name when all bytes are on the
// disk; until then, and after a crash, it is an unfinished file with a name that ends with .tmp. Create
// returns the size and the CRC-32C of the file.
func (f *Folder) Create(name string, write func(io.Writer) error) (bytes int64, checksum uint32, err error) {
	target, err := f.path(name)
	if err != nil {
		return 0, 0, err
	}
	day := filepath.Dir(target)
	aside := filepath.Join(day, "."+filepath.Base(target)+unfinished)
	file, err := f.createIn(day, aside)
	if err != nil {
		return 0, 0, err
	}
	s := &newSegment{file: file}
	if err = write(s); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(aside, target)
	}
	if err != nil {
		return 0, 0, errors.Join(err, os.Remove(aside))
	}
	f.forget(name)
	for _, folder := range []string{day, filepath.Dir(day), f.dir} { // the folders may be new, too
		if err := lastgood.SyncFolder(folder); err != nil {
			return 0, 0, err
		}
	}
	return s.size, s.sum, nil
}

// createIn creates a file in the folder of a day, which is created if it is missing.
func (f *Folder) createIn(day, path string) (*os.File, error) {
	f.days.Lock()
	defer f.days.Unlock()
	if err := os.MkdirAll(day, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// removeDay removes the folder of a day if it is empty.
func (f *Folder) removeDay(day string) {
	f.days.Lock()
	defer f.days.Unlock()
	_ = os.Remove(day) // fails if it is not empty
}

// forget removes a file from the cache.
func (f *Folder) forget(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removals++
	f.files.Remove(name)
}

// Open opens a segment, which must be released. The error is fs.ErrNotExist if there is no such file.
func (f *Folder) Open(name string) (*File, error) {
	target, err := f.path(name)
	if err != nil {
		return nil, err
	}
	cached, removals, err := f.cached(name)
	if cached != nil || err != nil {
		return cached, err
	}
	file, err := os.Open(target)
	if err != nil {
		return nil, err
	}
	opened, err := f.read(name, file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	opened.folder, opened.file, opened.users = f, file, 1
	if !f.closed && f.removals == removals && !f.files.Contains(name) {
		opened.cached = true
		f.files.Add(name, opened)
	}
	return opened, nil
}

// cached returns a file of the cache, or nil.
func (f *Folder) cached(name string) (*File, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, 0, errors.New("the folder of segments is closed")
	}
	file, ok := f.files.Get(name)
	if ok {
		file.users++
	}
	return file, f.removals, nil
}

// read reads the footer of a file.
func (f *Folder) read(name string, file *os.File) (*File, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return newFile(name, file, info.Size())
}

// Release ends the use of a file.
func (f *File) Release() {
	f.folder.mu.Lock()
	defer f.folder.mu.Unlock()
	f.users--
	f.close()
}

// drop is called when the cache has released a file.
func (f *File) drop() {
	f.cached = false
	f.close()
}

// close closes a file that is not in use and not in the cache. The folder must be locked.
func (f *File) close() {
	if f.users == 0 && !f.cached {
		_ = f.file.Close() // it was only read
	}
}

// removeNow removes a segment or an unfinished file, even if somebody holds the folder.
func (f *Folder) removeNow(name string) error {
	target, err := f.path(name)
	if unfinishedNames.MatchString(name) {
		target, err = filepath.Join(f.dir, filepath.FromSlash(name)), nil
	}
	if err != nil {
		return err
	}
	f.forget(name)
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.forget(name) // again, because it may have been opened before it was removed
	f.removeDay(filepath.Dir(target))
	return nil
}

// Names returns the names of all segments and of all unfinished files, which end with .tmp.
func (f *Folder) Names() ([]string, error) {
	var list []string
	err := filepath.WalkDir(f.dir, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
				return nil
			}
			return err
		}
		name, err := filepath.Rel(f.dir, at)
		if name = filepath.ToSlash(name); err == nil && e.Type().IsRegular() && (names.MatchString(name) || unfinishedNames.MatchString(name)) {
			list = append(list, name)
		}
		return err
	})
	slices.Sort(list)
	return list, err
}

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
		return fmt.Errorf("the segment %s: %w: it has %d bytes instead of %d", name, block.ErrDamaged, n, bytes)
	case hash.Sum32() != checksum:
		return fmt.Errorf("the segment %s: %w: it has the checksum %08x, not %08x", name, block.ErrDamaged, hash.Sum32(), checksum)
	}
	return nil
}

// Read returns a reader of all bytes of a segment, which must be closed.
func (f *Folder) Read(name string) (io.ReadCloser, error) {
	target, err := f.path(name)
	if err != nil {
		return nil, err
	}
	return os.Open(target)
}

// Close closes the files. Files in use are closed when they are released.
func (f *Folder) Close() error {
	f.stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.files.Purge()
	return nil
}
