package flags

import (
	"time"

	"github.com/bunting-flags/bunting/flags/internal/rustregexp"
)

// Stats are totals since the start.
type Stats struct {
	// Requests were evaluated, Decisions is the number of their flags.
	Requests, Decisions uint64
	// QuotaLimited requests were answered without evaluation.
	QuotaLimited uint64
	// Compilations counts compiled sets.
	Compilations uint64
	// SourceErrors and StoreErrors count ports that could not answer.
	SourceErrors, StoreErrors uint64
	// PatternTimeouts counts searches for regular expressions that ran into their
	// limits of time or text, in this process.
	PatternTimeouts uint64
	// Confirmed is when the source last answered what the definitions are, by the clock of
	// the Decider. It is asked when flags are, at most once a second for each project.
	Confirmed time.Time
}

// Stats returns the totals.
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
