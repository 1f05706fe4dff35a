package queries

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Stats are totals since the start, and the current state.
type Stats struct {
	Running, Waiting int
	// MemoryBytes is the total memory limit of the queries in progress.
	MemoryBytes int64
	RowsRead    int64
	Outcomes    map[outcome]uint64
	// Seconds has the durations of computations, by kind of query.
	Seconds map[string]seconds
	// Cache counts the lookups in the cache: hit if there was a fresh result, stale if there
	// was an outdated one, miss if there was no result, and forced if the cache was not to be
	// used.
	Cache map[string]uint64
}

// outcome is a kind of query and an outcome: ok, refused (an error in the query), timeout,
// cancelled, busy or failed.
type outcome struct{ Kind, Outcome string }

// SecondsBounds are the upper bounds of the buckets of Seconds.Within.
var SecondsBounds = [...]float64{0.005, 0.02, 0.05, 0.2, 0.5, 1, 2, 5, 10, 30, 120, 300}

// seconds is a histogram.
type seconds struct {
	Within [len(SecondsBounds)]uint64 // cumulative: each bucket includes the lower buckets
	Count  uint64
	Sum    float64
}

// stats has the counters of a Service. A lock is sufficient, because queries are rare.
type stats struct {
	mu       sync.Mutex
	rows     int64
	outcomes map[outcome]uint64
	seconds  map[string]seconds
	cache    map[string]uint64
}

// countLookup counts one lookup in the cache.
func (s *stats) countLookup(found, isFresh bool, m Mode) {
	result := "miss"
	switch {
	case m == ForceBlocking || m == ForceAsync:
		result = "forced"
	case isFresh:
		result = "hit"
	case found:
		result = "stale"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache == nil {
		s.cache = map[string]uint64{}
	}
	s.cache[result]++
}

// countOutcome counts one ended computation.
func (s *stats) countOutcome(c *computation, now time.Time) {
	kind := c.prepared.query.Kind
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcomes == nil {
		s.outcomes, s.seconds = map[outcome]uint64{}, map[string]seconds{}
	}
	s.rows += c.rows.Load()
	s.outcomes[outcome{kind, outcomeOf(c.err)}]++
	if c.pickedAt.IsZero() {
		return
	}
	h, took := s.seconds[kind], now.Sub(c.pickedAt).Seconds()
	for i, bound := range SecondsBounds {
		if took <= bound {
			h.Within[i]++
		}
	}
	h.Count, h.Sum = h.Count+1, h.Sum+took
	s.seconds[kind] = h
}

// outcomeOf returns the outcome for the error of a computation.
func outcomeOf(err error) string {
	var wrong *port.Error
	var ours *Error
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &wrong):
		return "refused"
	case errors.As(err, &ours):
		return map[Kind]string{TimedOut: "timeout", Cancelled: "cancelled", Busy: "busy"}[ours.Kind]
	case errors.Is(err, context.Canceled):
		return "cancelled"
	}
	return "failed"
}
