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
	errNotReady = fmt.Errorf("remote: %w: wait for them with WaitForReady, or provide them in Config.Bundle", flags.ErrNotReady)
	errClosed   = fmt.Errorf("remote: %w", flags.ErrClosed)
)

// Client evaluates a project's flags in this process. It is safe for concurrent use; evaluation
// needs no lock. It is a [flags.Reader], and a [serving.Source] for a Decider. A nil Client has no
// flags: reads return the fallback and flags.ErrNotReady.
type Client struct {
	source    *source
	reader    flags.Reader
	set       func() *flags.Set // nil if the Client was not created by New
	config    *Config           // a pointer, so that printing the Client does not print the Config
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

// isInitialized reports whether New created the Client.
func (c *Client) isInitialized() bool { return c != nil && c.set != nil }

// scratch is memory that evaluations reuse.
type scratch struct {
	decisions flags.Decisions
	subject   flags.Subject
}

// result is the outcome of evaluating one flag for one subject.
type result struct {
	d     flags.Decision
	found bool
	err   error   // the error of the server request, or why the flag could not be evaluated
	from  *Answer // the server's response with this decision; nil if decided locally
}

// problem returns why there is no decision, or nil if there is one.
func (r *result) problem() error {
	switch {
	case r.err != nil:
		return r.err
	case !r.found && !r.d.Failed():
		return flags.ErrUnknownFlag
	}
	return r.d.Problem()
}

// checkSubject returns an error if the Client is not ready or closed, or if sub has no distinct id.
// The empty distinct id would be in every rollout (§2.4).
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

// decisionTime returns the current time if the flags depend on it, and the zero time otherwise.
func (c *Client) decisionTime(set *flags.Set) (now time.Time) {
	if set.HasDates() {
		now = c.config.Now()
	}
	return now
}

// partial returns the subject with Partial set, unless Config.Full is set. It copies the caller's
// subject into sc instead of modifying it.
func (c *Client) partial(sub *flags.Subject, sc *scratch) *flags.Subject {
	if sub.Partial || c.config.Full {
		return sub
	}
	sc.subject = *sub
	sc.subject.Partial = true
	return &sc.subject
}
