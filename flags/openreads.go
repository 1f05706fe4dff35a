package flags

import (
	"context"
	"encoding/json"
	"slices"
)

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
