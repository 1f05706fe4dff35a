package remote

import (
	"sync"
	"time"
)

// Origin says where definitions came from.
type Origin string

// Where definitions come from.
const (
	FromCopy   Origin = "copy"   // of the last good ones, on disk
	FromBundle Origin = "bundle" // Config.Bundle
	FromStream Origin = "stream"
	FromPoll   Origin = "poll"
)

// Status says what a Client has, and how it fares.
type Status struct {
	// Ready says that there are definitions to decide with.
	Ready bool
	// From is where they came from, empty while there are none.
	From Origin
	// Version is the server's name for them, its ETag without quotes; empty for a
	// bundle and where the server gives none.
	Version string
	// Revision counts the definitions that this process has taken into use.
	Revision int64
	// FetchedAt is when they came from the server, zero for a bundle. Of a copy: when
	// that was fetched, perhaps by another process.
	FetchedAt time.Time
	// StaleSince is the last moment at which the server was known to have no newer
	// ones, zero while it is asked without failure. Before its first answer: when
	// the copy was fetched, or of a bundle and of nothing when the Client was made.
	StaleSince time.Time
	// Streaming says that changes come by a stream now.
	Streaming bool
	// LastError is why the last attempt failed, nil after one that did not. LastErrorAt
	// is when, and stays.
	LastError   error
	LastErrorAt time.Time
	// Failures counts the attempts that failed since the Client was made.
	Failures uint64
	// Faults counts the flags, cohorts and operands that cannot work (flags.Set.Faults).
	Faults int
}

// keeper guards what Status tells beyond known. No reader of flags takes its lock.
type keeper struct {
	mu        sync.Mutex
	current   bool      // the last attempt did not fail
	since     time.Time // of the last answer that was good, of the start before
	confirmed bool      // there was such an answer
	streaming bool
	err       error
	errAt     time.Time
	failures  uint64
	moved     chan struct{} // closed when an attempt fails

	watchers []*watcher
}

// watcher is who is told of news: look compares them with what it knows.
type watcher struct{ look func(*known, Status) }

// last is why the last attempt failed, and what is closed when another does.
func (st *keeper) last() (moved <-chan struct{}, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.moved, st.err
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
	if k := s.known.Load(); k != nil {
		out.Ready, out.From, out.Version, out.Revision = true, k.from, k.version, k.project.Revision
		out.FetchedAt, out.Faults = k.at, k.faults
		if !confirmed && !k.at.IsZero() {
			out.StaleSince = k.at
		}
	}
	return out
}

// failed notes why an attempt failed. The same reason is logged once.
func (s *source) failed(err error) {
	st := &s.status
	st.mu.Lock()
	told := st.err != nil && st.err.Error() == err.Error()
	st.current, st.streaming = false, false
	st.err, st.errAt = err, s.c.Now()
	st.failures++
	close(st.moved)
	st.moved = make(chan struct{})
	st.mu.Unlock()
	s.wake()
	if !told {
		s.c.Logger.Warn("flag definitions cannot be renewed, the last good ones stay", "url", s.c.URL, "ready", s.known.Load() != nil, "error", err)
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

// ended notes that a stream is over, without a failure.
func (s *source) ended() {
	s.status.mu.Lock()
	defer s.status.mu.Unlock()
	s.status.streaming = false
}
