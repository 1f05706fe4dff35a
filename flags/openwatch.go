package flags

import (
	"context"
	"slices"
)

// The functions of this file call others from the goroutine that follows the file, one
// after the other. They must not call Close. Each returns what ends the calls; one that
// has begun may still go on.

// OnChange calls tell after a change of the file that is in use, with the keys of the flags
// that may be answered otherwise than before: see [Definitions.Changed].
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

// OnValue calls tell when a flag's answer for a subject has changed: its value, its
// payload, or whether there is one, as Err says. It is decided once for each change of the
// file. Of values that change with time alone nothing is told.
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

// differ: an error is as good as another, as both give the fallback.
func differ(a, b *Detail) bool {
	if a.Err != nil || b.Err != nil {
		return (a.Err == nil) != (b.Err == nil)
	}
	return a.Value() != b.Value() || string(a.Payload) != string(b.Payload)
}

// watch has look called after each change that is in use.
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

// notify calls those that are to hear of a change, or of an error that takes its place.
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
