package flags

import (
	"context"
	"slices"
)

// The functions of this file register callbacks, which the goroutine that follows the file
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
