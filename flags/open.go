package flags

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags/wire"
)

// This is the only file of the package that reads files and starts a goroutine.

const (
	// openPoll is the interval at which an open file is checked.
	openPoll = time.Second
	// openSettled is the minimum age of a file at which an unchanged size and unchanged times
	// prove that its content is unchanged: file systems record times in steps of up to two
	// seconds.
	openSettled = 3 * time.Second
	// openReread is the interval at which even a file with unchanged size and times is read:
	// some file systems do not update the times of a changed file.
	openReread = 30 * time.Second
	// openMax is the maximum size of a file, in bytes.
	openMax = 256 << 20
)

// Static returns a Reader for definitions that do not change, such as embedded ones, in any
// form that [ParseDefinitions] accepts. A faulty flag fails by itself.
func Static(definitions []byte) (Reader, error) {
	d, err := ParseDefinitions(definitions)
	if err != nil {
		return nil, err
	}
	return Compile(d).Reader(), nil
}

// FileReader is a [Reader] for a definitions file that follows changes of the file; see
// [Open]. The file is checked every second. It is read if its size, its times or its identity
// have changed, and otherwise every 30 seconds. A change replaces all flags at once. If the
// file is missing, incomplete or invalid, the last valid definitions remain in use. A
// FileReader is safe for concurrent use. A nil and a zero FileReader are not ready.
type FileReader struct {
	reader   *valueReader
	path     string
	onChange []func(error)
	set      atomic.Pointer[Set]
	defs     atomic.Pointer[Definitions] // that set was compiled from
	closed   atomic.Bool
	fault    atomic.Pointer[error]

	mu       sync.Mutex
	watchers []*func()

	info   os.FileInfo // info of the last read; if nil, the file is read at the next check
	readAt time.Time
	sum    [sha256.Size]byte
	read   bool // sum is that of the last content that was parsed

	stop chan struct{}
	once sync.Once
	done sync.WaitGroup
}

// Open reads a definitions file of at most 256 MiB, in any form that [ParseDefinitions]
// accepts, and follows its changes until Close. It returns an error if the file cannot be
// used now. Later, the onChange functions are called from one goroutine: with nil after a
// change that is in use, and with an error after a change that cannot be used. They must not
// call Close. A faulty flag fails by itself, see [Set.Faults].
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

// Set returns the set that is currently in use.
func (f *FileReader) Set() *Set {
	if f == nil {
		return nil
	}
	return f.set.Load()
}

// Err returns the reason why the current content of the file is not in use, or nil if it is.
func (f *FileReader) Err() error {
	if f == nil {
		return nil
	}
	if err := f.fault.Load(); err != nil {
		return *err
	}
	return nil
}

// Close stops following the file. Later reads return the fallback and [ErrClosed]. It may be
// called repeatedly, and always returns nil.
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

// follow checks the file until Close.
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

// check loads the file if it has changed. news is true if the file was loaded, or failed with
// another error than before.
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

// load reads and compiles the file if it may have changed. It reports false if the content is
// the same as before, whether that was valid or not.
func (f *FileReader) load(now time.Time) (changed bool, err error) {
	info, err := os.Stat(f.path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	var text []byte
	if err == nil {
		if now.Sub(f.readAt) < openReread && isSameFile(f.info, info) {
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

// isSameFile reports whether two results of os.Stat describe the same, unchanged file.
func isSameFile(a, b os.FileInfo) bool {
	return a != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && wire.ChangeTime(a).Equal(wire.ChangeTime(b))
}

// readFile reads a file of at most openMax bytes.
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

// notify calls the callbacks of Open with err and, after a successful change, the watchers.
func (f *FileReader) notify(err error) {
	for _, callback := range f.onChange {
		callback(err)
	}
	if err != nil {
		return
	}
	f.mu.Lock()
	watchers := slices.Clone(f.watchers)
	f.mu.Unlock()
	for _, watcher := range watchers {
		(*watcher)()
	}
}

// The typed reads of a FileReader, which may be called on a nil FileReader: it is not ready.
// After them, the callbacks for changes of the file.

// reads returns the reader of f.
func (f *FileReader) reads() *valueReader {
	if f == nil || f.reader == nil {
		return notReady
	}
	return f.reader
}

// Bool implements [Reader].
func (f *FileReader) Bool(ctx context.Context, key string, sub *Subject, fallback bool) bool {
	return f.reads().Bool(ctx, key, sub, fallback)
}

// BoolDetail implements [Reader].
func (f *FileReader) BoolDetail(ctx context.Context, key string, sub *Subject, fallback bool) (bool, Detail) {
	return f.reads().BoolDetail(ctx, key, sub, fallback)
}

// String implements [Reader].
func (f *FileReader) String(ctx context.Context, key string, sub *Subject, fallback string) string {
	return f.reads().String(ctx, key, sub, fallback)
}

// StringDetail implements [Reader].
func (f *FileReader) StringDetail(ctx context.Context, key string, sub *Subject, fallback string) (string, Detail) {
	return f.reads().StringDetail(ctx, key, sub, fallback)
}

// Number implements [Reader].
func (f *FileReader) Number(ctx context.Context, key string, sub *Subject, fallback float64) float64 {
	return f.reads().Number(ctx, key, sub, fallback)
}

// NumberDetail implements [Reader].
func (f *FileReader) NumberDetail(ctx context.Context, key string, sub *Subject, fallback float64) (float64, Detail) {
	return f.reads().NumberDetail(ctx, key, sub, fallback)
}

// JSON implements [Reader].
func (f *FileReader) JSON(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) json.RawMessage {
	return f.reads().JSON(ctx, key, sub, fallback)
}

// JSONDetail implements [Reader].
func (f *FileReader) JSONDetail(ctx context.Context, key string, sub *Subject, fallback json.RawMessage) (json.RawMessage, Detail) {
	return f.reads().JSONDetail(ctx, key, sub, fallback)
}

// For implements [Reader].
func (f *FileReader) For(ctx context.Context, sub *Subject) *Snapshot { return f.reads().For(ctx, sub) }

// The functions below register callbacks, which the goroutine that follows the file
// calls one after the other. Callbacks must not call Close. Each function returns a function
// that ends the calls; a call that has started may still be running when it returns.

// OnChange registers notify, which is called after a change of the file that is in use, with
// the keys of the flags that may evaluate differently, see [Definitions.ChangedKeys]. It is
// not called if there are no such flags.
func (f *FileReader) OnChange(notify func(keys []string)) (stop func()) {
	if f == nil || notify == nil {
		return func() {}
	}
	before := f.defs.Load()
	return f.watch(func() {
		now := f.defs.Load()
		keys := now.ChangedKeys(before)
		if before = now; len(keys) > 0 {
			notify(keys)
		}
	})
}

// OnValue registers notify, which is called if a flag's result for a subject has changed: its
// value, its payload, or whether it has a value, as Err reports. The flag is evaluated on
// each change of the file only, so that changes caused by time only are not reported. The
// subject is copied, but not its maps.
func (f *FileReader) OnValue(key string, sub *Subject, notify func(before, after Detail)) (stop func()) {
	if f == nil || notify == nil {
		return func() {}
	}
	if sub != nil {
		subject := *sub
		sub = &subject
	}
	answer := func() Detail { return f.set.Load().Reader().For(context.Background(), sub).Detail(key) }
	before := answer()
	return f.watch(func() {
		old, now := before, answer()
		if before = now; differ(&old, &now) {
			notify(old, now)
		}
	})
}

// differ reports whether two results differ. All errors are equal, since reads return the
// fallback for each.
func differ(a, b *Detail) bool {
	if a.Err != nil || b.Err != nil {
		return (a.Err == nil) != (b.Err == nil)
	}
	return a.Value() != b.Value() || string(a.Payload) != string(b.Payload)
}

// watch registers a function to be called after each change that is in use.
func (f *FileReader) watch(notify func()) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers = append(f.watchers, &notify)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watchers = slices.DeleteFunc(f.watchers, func(other *func()) bool { return other == &notify })
	}
}
