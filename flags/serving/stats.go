package serving

import (
	"time"

	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
)

// Stats are counts since the start of the [Decider].
type Stats struct {
	// Requests is the number of evaluated requests, Decisions the number of flags in them.
	Requests, Decisions uint64
	// QuotaLimited is the number of requests that were not evaluated because of the quota.
	QuotaLimited uint64
	// Compilations is the number of compiled sets.
	Compilations uint64
	// SourceErrors and StoreErrors are the numbers of failed calls of the ports.
	SourceErrors, StoreErrors uint64
	// PatternTimeouts is the number of searches for regular expressions, in the whole
	// process, that exceeded their limit of time or text.
	PatternTimeouts uint64
	// Confirmed is when the source last confirmed or provided definitions, by the clock of
	// the Decider. The source is called on requests for flags, at most every second for each
	// project.
	Confirmed time.Time
}

// Stats returns the current counts. For a nil Decider they are zero.
func (d *Decider) Stats() Stats {
	if d == nil {
		return Stats{}
	}
	s := &d.stats
	out := Stats{
		Requests: s.requests.Load(), Decisions: s.decisions.Load(), QuotaLimited: s.quotaLimited.Load(), Compilations: s.compilations.Load(),
		SourceErrors: s.sourceErrors.Load(), StoreErrors: s.storeErrors.Load(), PatternTimeouts: rustregexp.Timeouts(),
	}
	if at := s.confirmed.Load(); at != 0 {
		out.Confirmed = time.Unix(0, at)
	}
	return out
}
