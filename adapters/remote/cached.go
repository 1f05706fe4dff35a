package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// source loads the definitions of one project and keeps them current. It is safe for concurrent
// use; reading needs no lock.
type source struct {
	c          *Config
	client     *http.Client
	ownsClient bool // whether to close client's idle connections
	current    atomic.Pointer[loadedDefinitions]
	ready      chan struct{} // closed when the first definitions are loaded

	status   attemptStatus
	copies   chan savedCopy // copies to be written; only the newest waits
	news     chan struct{}  // signals a change, or an attempt with a result that differs from the previous one
	copyPath string         // empty if there is no copy on disk

	stop context.CancelFunc
	done sync.WaitGroup
	over <-chan struct{}
}

// applyBundle applies the bundle if there are no other definitions. It parses the bundle in any
// case, so that errors in it are always reported.
func (s *source) applyBundle() (err error) {
	switch {
	case s.c.Bundle == nil:
	case s.current.Load() == nil:
		err = s.apply(s.c.Bundle, "", FromBundle, time.Time{})
	default:
		_, err = readDefinitions(s.c.Bundle)
	}
	if err != nil {
		return fmt.Errorf("remote: Config.Bundle: %w", err)
	}
	return nil
}

// apply replaces the current definitions with the definitions in text, unless they are equal. After
// an error the current definitions remain.
func (s *source) apply(text []byte, version string, from Origin, fetchedAt time.Time) error {
	sum := sha256.Sum256(bytes.TrimSpace(text)) // a stream sends the text without the final line break
	old := s.current.Load()
	if old != nil && old.sum == sum {
		if old.version != version {
			renamed := *old
			renamed.version = version
			s.current.Store(&renamed)
		}
		return nil
	}
	d, err := readDefinitions(text)
	if err != nil {
		return err
	}
	var before *flags.Set
	if old != nil {
		before = old.set
	}
	k := &loadedDefinitions{set: before.Recompile(d), defs: d, sum: sum, version: version, from: from, fetchedAt: fetchedAt}
	k.faults = len(k.set.Faults())
	k.project = flags.Project{APIKey: s.c.ProjectKey, Revision: 1}
	if old != nil {
		k.project.Revision = old.project.Revision + 1
	}
	s.current.Store(k)
	if old == nil {
		close(s.ready)
	}
	return nil
}

// Set returns the current flags, or nil until the first definitions are loaded.
func (s *source) Set() *flags.Set {
	if k := s.current.Load(); k != nil {
		return k.set
	}
	return nil
}

// savedCopy is a copy on disk: one line of JSON with metadata, then the payload as it was received.
type savedCopy struct {
	text []byte
	head copyHead
}

// copyHead is the metadata of a copy.
type copyHead struct {
	Version   string    `json:"version"` // for If-None-Match and Last-Event-ID
	FetchedAt time.Time `json:"fetched_at"`
}

// wake signals notifyWatchers that something has changed.
func (s *source) wake() {
	select {
	case s.news <- struct{}{}:
	default: // a signal is already pending, and notifyWatchers reads the state after receiving it
	}
}

// Status returns the state of the definitions and the result of the last attempt.
func (s *source) Status() Status {
	st := &s.status
	st.mu.Lock()
	out := Status{
		Streaming: st.streaming, LastError: st.err, LastErrorAt: st.errAt, Failures: st.failures,
	}
	if !st.current {
		out.StaleSince = st.since
	}
	confirmed := st.confirmed
	st.mu.Unlock()
	if k := s.current.Load(); k != nil {
		out.Ready, out.From, out.Version, out.Revision = true, k.from, k.version, k.project.Revision
		out.FetchedAt, out.Faults = k.fetchedAt, k.faults
		if !confirmed && !k.fetchedAt.IsZero() {
			out.StaleSince = k.fetchedAt
		}
	}
	return out
}

// recordFailure records why an attempt failed. Consecutive equal errors are logged once.
func (s *source) recordFailure(err error) {
	st := &s.status
	st.mu.Lock()
	logged := st.err != nil && st.err.Error() == err.Error()
	st.current, st.streaming = false, false
	st.err, st.errAt = err, s.c.Now()
	st.failures++
	close(st.moved)
	st.moved = make(chan struct{})
	st.mu.Unlock()
	s.wake()
	if !logged {
		s.c.Logger.Warn("the flag definitions cannot be refreshed, the last valid ones stay in use", "url", s.c.URL, "ready", s.current.Load() != nil, "error", err)
	}
}

// confirm records that the current definitions are up to date with the server.
func (s *source) confirm(streaming bool) {
	st := &s.status
	st.mu.Lock()
	news := !st.current || st.streaming != streaming
	st.current, st.confirmed, st.streaming = true, true, streaming
	st.since, st.err = s.c.Now(), nil
	st.mu.Unlock()
	s.wake()
	if news {
		s.c.Logger.Info("the flag definitions are up to date", "url", s.c.URL, "streaming", streaming)
	}
}

// endStream records that a stream has ended without a failure.
func (s *source) endStream() {
	s.status.mu.Lock()
	defer s.status.mu.Unlock()
	s.status.streaming = false
}
