package remote

import (
	"context"
	"errors"
	"slices"

	"github.com/bunting-flags/bunting/flags"
)

// The functions of this file call others from one goroutine of the Client, one after the
// other. What changes while one runs is told of together, by one call. They must not call
// Close. Each returns what ends the calls; one that has begun may still go on.

// OnChange calls f after a change of the flags, with the keys of those that may be answered
// otherwise than before: see flags.Definitions.Changed. The first definitions are a change
// of all.
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

// OnValue calls f when a flag's answer for a subject has changed: its value, its payload,
// or whether there is one, as Err says. It is decided here, once for each change of the
// definitions; the server is not asked, and nothing is exposed. Of values that change with
// time alone nothing is told.
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

// differ: an error is as good as another, as both give the fallback.
func differ(a, b *flags.Detail) bool {
	if a.Err != nil || b.Err != nil {
		return (a.Err == nil) != (b.Err == nil)
	}
	return a.Value() != b.Value() || string(a.Payload) != string(b.Payload)
}

// OnStatus calls f when the Status changes: other definitions, an attempt that succeeds
// after one that failed or fails otherwise (with another status, or without an answer), a
// stream that begins. What only counts or tells the time is no change.
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

// statusSummary is what of a Status is compared.
type statusSummary struct {
	ready, stale, streaming bool
	from                    Origin
	revision                int64
	failed                  int // the answer's status, -1 without an answer; 0: it did not fail
}

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

// Watch calls tell after each change of the flags and when they
// become stale or current again: stale where there are definitions and the last
// attempt to renew them failed, with the reason as the message. Where that is so
// already, it is told soon. It is what ofprovider.Config.Watch wants.
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
				notify(false, "the flag definitions are current again")
			}
		}
	})
}

// watch has look called when there may be news; start makes it, of what is known then.
func (c *Client) watch(disabled bool, start func(*loadedDefinitions) func(*loadedDefinitions, Status)) (stop func()) {
	if disabled || !c.isInitialized() || c.source == nil {
		return func() {}
	}
	stop = c.source.add(start)
	c.source.wake()
	return stop
}

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

// notifyWatchers tells the watchers, until the context ends.
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
