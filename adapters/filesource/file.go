package filesource

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

const (
	// maxSize bounds a file, in bytes.
	maxSize = 256 << 20
	// minFileAge is how old a file must be before unchanged size and times say
	// that its content is unchanged: file systems count time in steps of up to
	// two seconds.
	minFileAge = 3 * time.Second
	// rereadInterval is how often a file is read whose size and times are unchanged: some
	// file systems do not tell when a file was changed.
	rereadInterval = 30 * time.Second
)

// file is one path and the last good state of what stands there.
type file struct {
	path string

	info   os.FileInfo // of what was read last; nil: read it again
	readAt time.Time
	sum    [sha256.Size]byte
	hasSum bool        // the text with this sum has been judged
	next   *flags.File // read, but not in use yet
	// nextText and goodText are what next and good were read from.
	nextText, goodText []byte

	good   flags.File
	goodAt time.Time
	err    error // why what stands there is not in use
	errAt  time.Time

	loads, failures uint64
}

// Load reads one file, once, documents of flags as code too. apiKey is that of a
// bare payload. The error names
// the file.
func Load(path, apiKey string) (flags.File, error) {
	data, err := read(path)
	if err == nil {
		data, err = expandFixtures(data, apiKey)
	}
	if err != nil {
		return flags.File{}, describe(path, err)
	}
	return parse(path, data, apiKey, true)
}

func parse(path string, data []byte, apiKey string, documents bool) (f flags.File, err error) {
	switch {
	case flags.IsFile(data):
		f, err = flags.ParseFile(data)
	case !documents && flags.IsDocument(data):
		err = errors.New("is a document of bunting flags export, which has no ids: bunting flags apply puts it into a project of a server")
	case apiKey != "":
		f, err = flags.ParsePayload(data, apiKey)
	default:
		if _, err = flags.ParseDefinitions(data); err == nil {
			err = errors.New("is a bare definitions payload, without \"projects\": give the key of its project with --api-key")
		}
	}
	return f, describe(path, err)
}

// describe says in one line what is wrong with which file.
func describe(path string, err error) error {
	var inPath *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	case errors.As(err, &inPath):
		return fmt.Errorf("%s: %w", path, inPath.Err)
	}
	if inner := errors.Unwrap(err); inner != nil && err.Error() == "flags: "+inner.Error() {
		err = inner
	}
	return fmt.Errorf("%s: %w", path, err)
}

func read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > maxSize {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1)) // a pipe has no size
	if err == nil && len(data) > maxSize {
		err = errTooLarge
	}
	return data, err
}

var errTooLarge = fmt.Errorf("is larger than %d MiB", maxSize>>20)

// readIfChanged reads the file if it may have changed, or in any case with force. It
// reports whether there is news: a state to take into use, or another error.
func (f *file) readIfChanged(s *Source, force bool) (changed bool) {
	info, err := os.Stat(f.path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err != nil {
		return f.unreadable(s, describe(f.path, err))
	}
	now := s.config.Now()
	if !force && f.err == nil && now.Sub(f.readAt) < rereadInterval && isSameFile(f.info, info) {
		return false
	}
	data, err := read(f.path)
	if err != nil {
		return f.unreadable(s, describe(f.path, err))
	}
	f.info, f.readAt = info, now
	if now.Sub(info.ModTime()) < minFileAge || now.Sub(wire.ChangeTime(info)) < minFileAge {
		f.info = nil
	}
	sum := sha256.Sum256(data)
	if f.hasSum && sum == f.sum {
		return false
	}
	f.sum, f.hasSum = sum, true
	var parsed flags.File
	if data, err = expandFixtures(data, s.config.APIKey); err != nil {
		err = describe(f.path, err)
	} else {
		parsed, err = parse(f.path, data, s.config.APIKey, s.config.Documents)
	}
	if err != nil {
		f.next = nil
		return f.reject(s, err)
	}
	f.next, f.nextText = &parsed, data
	return true
}

// unreadable notes that nothing can be said about the text any more.
func (f *file) unreadable(s *Source, err error) bool {
	f.next, f.hasSum, f.info = nil, false, nil
	return f.reject(s, err)
}

// reject keeps the last good state. The same reason is told once.
func (f *file) reject(s *Source, err error) bool {
	if f.err != nil && f.err.Error() == err.Error() {
		return false
	}
	f.err, f.errAt = err, s.config.Now()
	f.failures++
	if f.loads > 0 {
		s.config.Logger.Warn("definitions file is not taken into use, its last good state stays", "file", f.path, "error", err)
	}
	return true
}

// accept takes the state that was read into use.
func (f *file) accept(now time.Time) {
	f.good, f.goodAt, f.next = *f.next, now, nil
	f.goodText, f.nextText = f.nextText, nil
	f.err, f.errAt = nil, time.Time{}
	f.loads++
}

// newest is the state that the file should have.
func (f *file) newest() *flags.File {
	if f.next != nil {
		return f.next
	}
	return &f.good
}

func isSameFile(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && wire.ChangeTime(a).Equal(wire.ChangeTime(b))
}
