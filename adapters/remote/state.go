package remote

import (
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

var (
	errNotReady = fmt.Errorf("remote: %w: wait for them with WaitForReady, or bring them along in Config.Bundle", flags.ErrNotReady)
	errClosed   = fmt.Errorf("remote: %w", flags.ErrClosed)
)

// Client decides a project's flags in this process. It is safe for any number of
// goroutines; deciding takes no lock. It is a [flags.Reader], and a [flags.Source] for a
// Decider. A nil Client has no flags: reads give the fallback and flags.ErrNotReady.
type Client struct {
	source    *source
	reader    flags.Reader
	set       func() *flags.Set // nil: nobody has made the Client
	config    *Config           // behind a pointer, so that it does not print
	http      *http.Client
	log       *slog.Logger
	scratches sync.Pool
	exposures *exposures
	queue     *queue
	sender    *sender
	closing   sync.Once
	ended     atomic.Bool
	closed    error
}

// isInitialized reports whether the Client is one of New's.
func (c *Client) isInitialized() bool { return c != nil && c.set != nil }

// scratch is the memory of one decision, used again by another.
type scratch struct {
	decisions flags.Decisions
	subject   flags.Subject
}

// result is what is known about one flag for one subject.
type result struct {
	d     flags.Decision
	found bool
	err   error   // of asking, or why nobody could decide
	from  *Answer // the server's answer that it is from, nil: decided here
}

// problem is why there is no decision, nil when there is one.
func (r *result) problem() error {
	switch {
	case r.err != nil:
		return r.err
	case !r.found && !r.d.Failed():
		return flags.ErrUnknownFlag
	}
	return r.d.Problem()
}

// checkSubject says why nothing is decided: there is nobody to decide for, or no more. The
// empty distinct id would be in every rollout (§2.4).
func (c *Client) checkSubject(sub *flags.Subject) error {
	switch {
	case !c.isInitialized():
		return errNotReady
	case sub == nil || sub.DistinctID == "":
		return flags.ErrNoDistinctID
	case c.ended.Load():
		return errClosed
	}
	return nil
}

// decisionTime is when a decision is made: now, where that matters.
func (c *Client) decisionTime(set *flags.Set) (now time.Time) {
	if set.HasDates() {
		now = c.config.Now()
	}
	return now
}

// partial is the subject as a partial one, unless Config.Full. The caller's is
// never changed.
func (c *Client) partial(sub *flags.Subject, sc *scratch) *flags.Subject {
	if sub.Partial || c.config.Full {
		return sub
	}
	sc.subject = *sub
	sc.subject.Partial = true
	return &sc.subject
}
