package remote

import (
	"sync"
	"time"
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

// attemptStatus guards what Status tells beyond known. No reader of flags takes its lock.
type attemptStatus struct {
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
type watcher struct {
	notify func(*loadedDefinitions, Status)
}

// last is why the last attempt failed, and what is closed when another does.
func (st *attemptStatus) last() (moved <-chan struct{}, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.moved, st.err
}
