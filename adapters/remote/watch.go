package remote

import (
	"context"
	"slices"
)

// OnChange calls f after each change of the flags, from one goroutine of the Client.
// Changes that come while functions run are told of together, by one call. f must
// not call Close. OnChange returns what ends that; a call that has begun may still
// go on.
func (c *Client) OnChange(f func(Status)) (stop func()) {
	return c.watch(&watcher{changed: f}, f == nil)
}

// Watch calls tell as OnChange does, after each change of the flags and when they
// become stale or current again: stale where there are definitions and the last
// attempt to renew them failed, with the reason as the message. Where that is so
// already, it is told soon. It is what ofprovider.Config.Watch wants.
func (c *Client) Watch(tell func(stale bool, message string)) (stop func()) {
	return c.watch(&watcher{tell: tell}, tell == nil)
}

func (c *Client) watch(w *watcher, nobody bool) (stop func()) {
	if nobody || !c.made() || c.source == nil {
		return func() {}
	}
	stop = c.source.add(w)
	c.source.wake()
	return stop
}

func (s *source) add(w *watcher) (stop func()) {
	st := &s.status
	st.mu.Lock()
	defer st.mu.Unlock()
	if k := s.known.Load(); k != nil {
		w.revision = k.project.Revision
	}
	st.watchers = append(st.watchers, w)
	return func() {
		st.mu.Lock()
		defer st.mu.Unlock()
		st.watchers = slices.DeleteFunc(st.watchers, func(other *watcher) bool { return other == w })
	}
}

// wake has the watchers told of what is new to them.
func (s *source) wake() {
	select {
	case s.news <- struct{}{}:
	default: // whoever tells has yet to look
	}
}

// tell tells the watchers, until the context ends.
func (s *source) tell(ctx context.Context) {
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
			w.look(s.Status())
		}
	}
}

// look tells a watcher what is new to it.
func (w *watcher) look(st Status) {
	changed := st.Revision != w.revision
	stale := st.Ready && !st.StaleSince.IsZero() && st.LastError != nil
	turned := stale != w.stale
	w.revision, w.stale = st.Revision, stale
	switch {
	case w.changed != nil && changed:
		w.changed(st)
	case w.changed != nil:
	case changed:
		w.tell(false, "the flag definitions have changed")
		if stale {
			w.tell(true, st.LastError.Error())
		}
	case turned && stale:
		w.tell(true, st.LastError.Error())
	case turned:
		w.tell(false, "the flag definitions are current again")
	}
}
