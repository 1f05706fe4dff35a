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
	// maxSize is the maximum size of a file, in bytes.
	maxSize = 256 << 20
	// minFileAge is the minimum age of a file for which an unchanged size and unchanged times mean
	// unchanged content: file systems record times with a resolution of up to two seconds.
	minFileAge = 3 * time.Second
	// rereadInterval is how often a file with an unchanged size and unchanged times is read: some
	// file systems do not record when a file was changed.
	rereadInterval = 30 * time.Second
)

// file is a path and the last good state of its file.
type file struct {
	path string

	info   os.FileInfo // of the last read; nil forces another read
	readAt time.Time
	sum    [sha256.Size]byte
	hasSum bool        // sum is the hash of the text that was parsed last
	next   *flags.File // parsed, but not in use yet
	// nextText and goodText are the texts from which next and good were parsed.
	nextText, goodText []byte

	good   flags.File
	goodAt time.Time
	err    error // why the newest text is not in use
	errAt  time.Time

	loads, failures uint64
}

// Load reads one file, including documents of flags as code. apiKey is the project key of a bare
// payload. The error names the file.
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

// parse parses the text of a file: a definitions file, a document if documents is set, or a bare
// payload if apiKey is not empty.
func parse(path string, data []byte, apiKey string, documents bool) (f flags.File, err error) {
	switch {
	case !documents && flags.IsDocument(data):
		err = errors.New("is a document of bunting flags export, which has no ids: apply it to a project of a server with bunting flags apply")
	case apiKey != "":
		f, err = flags.ParsePayload(data, apiKey)
	default:
		if f, err = flags.ParseFile(data); err == nil {
			break
		}
		if _, err = flags.ParseDefinitions(data); err == nil {
			err = errors.New("is a bare definitions payload, without \"projects\": give the key of its project with --api-key")
		}
	}
	return f, describe(path, err)
}

// describe returns err with the path, in one line.
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

// readIfChanged reads the file if it may have changed, or in any case if force is set. It reports
// whether the result is new: a state to use, or another error.
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

// unreadable records that the current text is unknown, so that the next text is parsed even if it
// is equal to the last one.
func (f *file) unreadable(s *Source, err error) bool {
	f.next, f.hasSum, f.info = nil, false, nil
	return f.reject(s, err)
}

// reject records an error; the last good state remains. Consecutive equal errors are logged once.
func (f *file) reject(s *Source, err error) bool {
	if f.err != nil && f.err.Error() == err.Error() {
		return false
	}
	f.err, f.errAt = err, s.config.Now()
	f.failures++
	if f.loads > 0 {
		s.config.Logger.Warn("the definitions file is invalid, its last valid version stays in use", "file", f.path, "error", err)
	}
	return true
}

// accept makes the parsed state the one in use.
func (f *file) accept(now time.Time) {
	f.good, f.goodAt, f.next = *f.next, now, nil
	f.goodText, f.nextText = f.nextText, nil
	f.err, f.errAt = nil, time.Time{}
	f.loads++
}

// newest returns the newest state that could be parsed.
func (f *file) newest() *flags.File {
	if f.next != nil {
		return f.next
	}
	return &f.good
}

// isSameFile reports whether two results of os.Stat have the same file, size and times.
func isSameFile(a, b os.FileInfo) bool {
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && wire.ChangeTime(a).Equal(wire.ChangeTime(b))
}
