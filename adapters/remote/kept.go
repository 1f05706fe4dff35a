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

// source keeps the definitions of one project. It is safe for any number of
// goroutines; reading takes no lock.
type source struct {
	c          *Config
	client     *http.Client
	ownsClient bool // client's connections
	current    atomic.Pointer[loadedDefinitions]
	ready      chan struct{} // closed when the first definitions are known

	status   attemptStatus
	copies   chan savedCopy // what is to be written, the newest alone
	news     chan struct{}  // a change, or an attempt that ended otherwise than the one before
	copyPath string         // empty: no copy is kept

	stop context.CancelFunc
	done sync.WaitGroup
	over <-chan struct{}
}

// applyBundle takes the bundle into use where nothing else is, and reads it in any case.
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

// apply puts definitions into use, unless they are those that are. After an error
// all is as before.
func (s *source) apply(text []byte, version string, from Origin, fetchedAt time.Time) error {
	sum := sha256.Sum256(bytes.TrimSpace(text)) // a stream brings no end of the line
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

// Set is the flags as they are known now, nil while nothing is.
func (s *source) Set() *flags.Set {
	if k := s.current.Load(); k != nil {
		return k.set
	}
	return nil
}

// savedCopy is a copy: one line of JSON about the payload, then the payload as it was
// received.
type savedCopy struct {
	text []byte
	head copyHead
}

type copyHead struct {
	Version   string    `json:"version"` // for If-None-Match and Last-Event-ID
	FetchedAt time.Time `json:"fetched_at"`
}

// wake has the watchers told of what is new to them.
func (s *source) wake() {
	select {
	case s.news <- struct{}{}:
	default: // whoever tells has yet to look
	}
}

// Status says what is known and how the last attempt ended.
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

// recordFailure notes why an attempt failed. The same reason is logged once.
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
		s.c.Logger.Warn("flag definitions cannot be renewed, the last good ones stay", "url", s.c.URL, "ready", s.current.Load() != nil, "error", err)
	}
}

// confirm notes that what is known is what the server has.
func (s *source) confirm(streaming bool) {
	st := &s.status
	st.mu.Lock()
	news := !st.current || st.streaming != streaming
	st.current, st.confirmed, st.streaming = true, true, streaming
	st.since, st.err = s.c.Now(), nil
	st.mu.Unlock()
	s.wake()
	if news {
		s.c.Logger.Info("flag definitions are current", "url", s.c.URL, "streaming", streaming)
	}
}

// endStream notes that a stream is over, without a failure.
func (s *source) endStream() {
	s.status.mu.Lock()
	defer s.status.mu.Unlock()
	s.status.streaming = false
}
