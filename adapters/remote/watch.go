package remote

import (
	"context"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// The methods in this file register functions that one goroutine of the Client calls, one after the
// other. Changes that happen during a call are reported together by the next one. The functions
// must not call Close. Each method returns a function that ends the calls; a call that has begun
// may still continue.

// OnChange calls f after a change of the flags, with the keys of the flags that may have other
// values: see flags.Definitions.Changed. The first definitions count as a change of all flags. If f
// is nil, OnChange does nothing.
func (c *Client) OnChange(f func(keys []string)) (stop func()) {
	return c.watch(f == nil, func(before *loadedDefinitions) func(*loadedDefinitions, Status) {
		return func(k *loadedDefinitions, _ Status) {
			if !k.isNewer(before) {
				return
			}
			keys := k.defs.ChangedKeys(before.definitions())
			if before = k; len(keys) > 0 {
				f(keys)
			}
		}
	})
}

// OnValue calls f when a flag's decision for a subject has changed: its value, its payload, or
// whether it has an error. It evaluates the flag locally, once for each change of the definitions;
// it sends no requests to the server and no exposures. It does not report values that change only
// with time.
func (c *Client) OnValue(key string, sub *flags.Subject, f func(before, after flags.Detail)) (stop func()) {
	if sub != nil {
		subject := *sub
		sub = &subject
		sub.Partial = sub.Partial || c.isInitialized() && !c.config.Full
	}
	answer := func(k *loadedDefinitions) flags.Detail {
		return k.flags().Reader().For(context.Background(), sub).Detail(key)
	}
	return c.watch(f == nil, func(now *loadedDefinitions) func(*loadedDefinitions, Status) {
		before := answer(now)
		return func(k *loadedDefinitions, _ Status) {
			if !k.isNewer(now) {
				return
			}
			now = k
			after := answer(k)
			old := before
			if before = after; differ(&old, &after) {
				f(old, after)
			}
		}
	})
}

// differ reports whether two decisions have different values or payloads. All errors are equal,
// because reads return the fallback for each of them.
func differ(a, b *flags.Detail) bool {
	if a.Err != nil || b.Err != nil {
		return (a.Err == nil) != (b.Err == nil)
	}
	return a.Value() != b.Value() || string(a.Payload) != string(b.Payload)
}

// OnStatus calls f when the Status changes: other definitions, an attempt that succeeds after one
// that failed, a failure with another status or without a response, a stream that begins. It does
// not report changes of counters and times only. If f is nil, OnStatus does nothing.
func (c *Client) OnStatus(f func(Status)) (stop func()) {
	var before statusSummary
	if c.isInitialized() && c.source != nil {
		before = c.source.Status().summary()
	}
	return c.watch(f == nil, func(*loadedDefinitions) func(*loadedDefinitions, Status) {
		return func(_ *loadedDefinitions, st Status) {
			if now := st.summary(); now != before {
				before = now
				f(st)
			}
		}
	})
}

// statusSummary is the part of a Status that OnStatus compares.
type statusSummary struct {
	ready, stale, streaming bool
	from                    Origin
	revision                int64
	failed                  int // the status of the error response, -1 without a response, 0 if the attempt succeeded
}

// summary returns the part of st that OnStatus compares.
func (st Status) summary() statusSummary {
	e := statusSummary{ready: st.Ready, stale: !st.StaleSince.IsZero(), streaming: st.Streaming, from: st.From, revision: st.Revision}
	var answer *StatusError
	switch {
	case errors.As(st.LastError, &answer):
		e.failed = answer.Status
	case st.LastError != nil:
		e.failed = -1
	}
	return e
}

// Watch calls notify after each change of the flags, and when they become stale or current. They
// are stale if there are definitions and the last attempt to renew them failed; the message is then
// the error. If they are stale at the time of the call, notify is called soon. The method fits
// ofprovider.Config.Watch.
func (c *Client) Watch(notify func(stale bool, message string)) (stop func()) {
	return c.watch(notify == nil, func(before *loadedDefinitions) func(*loadedDefinitions, Status) {
		wasStale := false
		return func(k *loadedDefinitions, st Status) {
			stale := st.Ready && !st.StaleSince.IsZero() && st.LastError != nil
			turned, changed := stale != wasStale, k.isNewer(before)
			before, wasStale = k, stale
			if changed {
				notify(false, "the flag definitions have changed")
			}
			switch {
			case stale && (turned || changed):
				notify(true, st.LastError.Error())
			case turned && !changed:
				notify(false, "the flag definitions are up to date again")
			}
		}
	})
}

// watch registers the function that start returns for the current definitions. It is called when
// something may have changed.
func (c *Client) watch(disabled bool, start func(*loadedDefinitions) func(*loadedDefinitions, Status)) (stop func()) {
	if disabled || !c.isInitialized() || c.source == nil {
		return func() {}
	}
	stop = c.source.add(start)
	c.source.wake()
	return stop
}

// add registers a watcher and returns a function that removes it.
func (s *source) add(start func(*loadedDefinitions) func(*loadedDefinitions, Status)) (stop func()) {
	w := &watcher{start(s.current.Load())}
	st := &s.status
	st.mu.Lock()
	defer st.mu.Unlock()
	st.watchers = append(st.watchers, w)
	return func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.watchers = slices.DeleteFunc(st.watchers, func(other *watcher) bool { return other == w })
	}
}

// notifyWatchers calls the watchers after each signal, until the context ends.
func (s *source) notifyWatchers(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.news:
		}
		s.status.mu.Lock()
		watchers := slices.Clone(s.status.watchers)
		s.status.mu.Unlock()
		for _, w := range watchers {
			if ctx.Err() != nil {
				return
			}
			w.notify(s.current.Load(), s.Status())
		}
	}
}
