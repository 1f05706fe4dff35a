package segment

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bunting-flags/bunting/adapters/remote/lastgood"
)

// local is a storage in a folder of this machine, or in one of another machine that is mounted.
type local struct {
	dir string
	// days is locked while the folder of a day is created or removed.
	days sync.Mutex
	// reading has room for the reads of files without a descriptor of their own.
	reading chan struct{}
	files   int // the number of files that may have a descriptor
}

// openLocal creates the folder if it is missing.
func openLocal(dir string) (*local, error) {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = tryWriting(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("the folder for segments, %s, cannot be used: %w; choose a folder in which the server may create and remove files", dir, err)
	}
	return newLocal(dir, descriptorsFor(fileLimit())), nil
}

// tryWriting creates and removes a file.
func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, "try-*"+unfinished)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func (l *local) String() string { return l.dir }
func (l *local) lock() string   { return filepath.Join(l.dir, holdFile) }
func (l *local) sweep()         {} // sizes has unfinished files
func (l *local) close()         {}

func (l *local) path(name string) string { return filepath.Join(l.dir, filepath.FromSlash(name)) }

// newSegment is a file that is being written.
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

// create implements storage. The file gets its name when all bytes are on the disk; until then, and
// after a crash, it is an unfinished file with a name that ends with .tmp.
func (l *local) create(name string, write func(io.Writer) error) (bytes int64, checksum uint32, err error) {
	target := l.path(name)
	day := filepath.Dir(target)
	aside := filepath.Join(day, "."+filepath.Base(target)+unfinished)
	file, err := l.createIn(day, aside)
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
	for _, folder := range []string{day, filepath.Dir(day), l.dir} { // the folders may be new, too
		if err := lastgood.SyncFolder(folder); err != nil {
			return 0, 0, err
		}
	}
	return s.size, s.sum, nil
}

// createAttempts is the maximum number of attempts to create a file in a folder that another server
// removes meanwhile.
const createAttempts = 10

// createIn creates a file in the folder of a day, which is created if it is missing.
func (l *local) createIn(day, path string) (file *os.File, err error) {
	l.days.Lock()
	defer l.days.Unlock()
	for range createAttempts {
		if err := os.MkdirAll(day, 0o700); err != nil {
			return nil, err
		}
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return file, err
}

// removeDay removes the folder of a day if it is empty.
func (l *local) removeDay(day string) {
	l.days.Lock()
	defer l.days.Unlock()
	_ = os.Remove(day) // fails if it is not empty
}

func (l *local) read(name string) (io.ReadCloser, error) { return os.Open(l.path(name)) }

func (l *local) size(name string) (int64, error) {
	info, err := os.Stat(l.path(name))
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// remove implements storage. It also removes the folder of the day with its last file.
func (l *local) remove(name string) error {
	path := l.path(name)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if day := filepath.Dir(path); day != filepath.Clean(l.dir) {
		l.removeDay(day)
	}
	return nil
}

func (l *local) sizes() (Sizes, error) {
	all := Sizes{map[string]int64{}, l.dir}
	err := filepath.WalkDir(l.dir, func(at string, e fs.DirEntry, err error) error {
		if err == nil {
			err = all.add(l.dir, at, e)
		}
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		return err
	})
	return all, err
}

// add adds a file of a folder, if it is a segment or unfinished.
func (s *Sizes) add(dir, at string, e fs.DirEntry) error {
	name, err := filepath.Rel(dir, at)
	if name = filepath.ToSlash(name); err != nil || !e.Type().IsRegular() || !isOurs(name) {
		return err
	}
	info, err := e.Info()
	if err != nil {
		return err
	}
	s.of[name] = info.Size()
	return nil
}

func (l *local) owner() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(l.dir, OwnerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

func (l *local) setOwner(content []byte, isNew bool) error {
	path := filepath.Join(l.dir, OwnerFile)
	switch {
	case len(content) == 0:
		return l.remove(OwnerFile)
	case !isNew:
		return lastgood.Replace(path, 0o600, content)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Sync(), file.Close(), lastgood.SyncFolder(l.dir))
}
