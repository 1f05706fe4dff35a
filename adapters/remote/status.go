package remote

import (
	"sync"
	"time"
)

// Status describes the definitions of a Client and its attempts to renew them.
type Status struct {
	// Ready reports whether definitions are loaded.
	Ready bool
	// From is the source of the definitions; empty without definitions.
	From Origin
	// Version is the server's version of the definitions, its ETag without quotes. It is empty for
	// a bundle, and if the server sends no ETag.
	Version string
	// Revision counts the definitions that this process has used.
	Revision int64
	// FetchedAt is when the definitions were received from the server; zero for a bundle. For a
	// copy it is when the copy was fetched, perhaps by another process.
	FetchedAt time.Time
	// StaleSince is the last time at which the server had no newer definitions; zero while attempts
	// succeed. Before the first response it is the time when the copy was fetched or, with a bundle
	// or without definitions, when the Client was created.
	StaleSince time.Time
	// Streaming reports whether changes currently arrive by a stream.
	Streaming bool
	// LastError is why the last attempt failed; nil if it succeeded. LastErrorAt is the time of the
	// last failure and is not reset by a success.
	LastError   error
	LastErrorAt time.Time
	// Failures counts the failed attempts since the Client was created.
	Failures uint64
	// Faults counts the flags, cohorts and operands that cannot work (flags.Set.Faults).
	Faults int
}

// attemptStatus guards the part of Status that does not belong to the definitions. Reading flags
// does not take its lock.
type attemptStatus struct {
	mu        sync.Mutex
	current   bool      // the last attempt succeeded
	since     time.Time // time of the last successful response, or of the start if there was none
	confirmed bool      // there was a successful response
	streaming bool
	err       error
	errAt     time.Time
	failures  uint64
	moved     chan struct{} // closed and replaced when an attempt fails

	watchers []*watcher
}

// watcher is a registered function; notify compares the new state with the one it has seen.
type watcher struct {
	notify func(*loadedDefinitions, Status)
}

// last returns the error of the last attempt and a channel that is closed when another fails.
func (st *attemptStatus) last() (moved <-chan struct{}, err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.moved, st.err
}
