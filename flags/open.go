package flags

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// This file alone of the package reads files, and has a goroutine.

const (
	// openPoll is how often an open file is looked at.
	openPoll = time.Second
	// openSettled is how old a file must be before unchanged size and times say
	// that its content is unchanged: file systems count time in steps of up to two seconds.
	openSettled = 3 * time.Second
	// openReread is how often a file is read whose size and times are unchanged: some file
	// systems do not tell when a file was changed.
	openReread = 30 * time.Second
	// openMax bounds a file, in bytes.
	openMax = 256 << 20
)

// Static is a Reader of definitions that do not change, such as embedded ones, in any
// form that [ParseDefinitions] takes. A bad flag fails alone.
func Static(definitions []byte) (Reader, error) {
	d, err := ParseDefinitions(definitions)
	if err != nil {
		return nil, err
	}
	return Compile(d).Reader(), nil
}

// FileReader is a Reader of a definitions file. The file is looked at once a second, and read
// when its size, its times or the file itself are others, else every 30 seconds; a change
// replaces all flags at once. A file that is gone, half written or no
// definitions leaves the last good ones in use. Nil and the zero value are not ready.
type FileReader struct {
	reader   *valueReader
	path     string
	onChange []func(error)
	set      atomic.Pointer[Set]
	defs     atomic.Pointer[Definitions] // that it was made of
	closed   atomic.Bool
	fault    atomic.Pointer[error]

	mu       sync.Mutex
	watchers []*func()

	info   os.FileInfo // of what was read last, nil: read it again
	readAt time.Time
	sum    [sha256.Size]byte
	read   bool // sum is that of what was judged last

	stop chan struct{}
	once sync.Once
	done sync.WaitGroup
}

// Open reads a definitions file of at most 256 MiB, in any form that
// [ParseDefinitions] takes, and follows its changes until Close. It fails when the file
// cannot be used now; later, changed are called from one goroutine: with nil after a change
// that is in use, and with the error of one that is not. They must not call Close. A bad
// flag fails alone: see [Set.Faults].
func Open(path string, onChange ...func(error)) (*FileReader, error) {
	f := &FileReader{path: path, onChange: onChange, stop: make(chan struct{})}
	f.reader = newReader(followFile(f))
	f.reader.pin = pinFile(f)
	if _, err := f.check(); err != nil {
		return nil, err
	}
	f.done.Go(f.follow)
	return f, nil
}

// Set is what is in use now.
func (f *FileReader) Set() *Set {
	if f == nil {
		return nil
	}
	return f.set.Load()
}

// Err says why what stands in the file now is not in use; nil when it is.
func (f *FileReader) Err() error {
	if f == nil {
		return nil
	}
	if err := f.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// Close ends the watching. Reads give the fallback and [ErrClosed] then. It may be
// called again.
func (f *FileReader) Close() error {
	if f == nil {
		return nil
	}
	f.closed.Store(true)
	if f.stop != nil {
		f.once.Do(func() { close(f.stop) })
	}
	f.done.Wait()
	return nil
}

func (f *FileReader) follow() {
	poll := time.NewTicker(openPoll)
	defer poll.Stop()
	for {
		select {
		case <-f.stop:
			return
		case <-poll.C:
		}
		news, err := f.check()
		if news {
			f.notify(err)
		}
	}
}

// check takes the file into use if it has changed. news: it was, or cannot be for another
// reason than before.
func (f *FileReader) check() (news bool, err error) {
	before := f.Err()
	changed, err := f.load(time.Now())
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil { // without the path, or "flags:"
			err = inner
		}
		err = fmt.Errorf("flags: %s: %w", f.path, err)
		f.fault.Store(&err)
		return before == nil || before.Error() != err.Error(), err
	}
	if changed {
		f.fault.Store(nil)
	}
	return changed, f.Err()
}

func (f *FileReader) load(now time.Time) (changed bool, err error) {
	info, err := os.Stat(f.path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	var text []byte
	if err == nil {
		if now.Sub(f.readAt) < openReread && sameFile(f.info, info) {
			return false, nil
		}
		text, err = readFile(f.path)
	}
	if err != nil {
		f.info, f.read = nil, false
		return false, err
	}
	f.info, f.readAt = info, now
	if now.Sub(info.ModTime()) < openSettled || now.Sub(wire.ChangeTime(info)) < openSettled {
		f.info = nil
	}
	sum := sha256.Sum256(text)
	if f.read && sum == f.sum {
		return false, nil
	}
	f.sum, f.read = sum, true
	d, err := ParseDefinitions(text)
	if err != nil {
		return false, err
	}
	f.set.Store(f.set.Load().Recompile(d))
	f.defs.Store(&d)
	return true, nil
}

// sameFile reports whether two looks at a path saw the same file, unchanged.
func sameFile(a, b os.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && wire.ChangeTime(a).Equal(wire.ChangeTime(b))
}

func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, openMax+1))
	if err == nil && len(text) > openMax {
		err = fmt.Errorf("is larger than %d MiB", openMax>>20)
	}
	return text, err
}
