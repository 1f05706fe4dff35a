package httpapi

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// latencyBounds are the upper bounds of the buckets in which answers are counted by
// how long they took. One more bucket holds what took longer.
var latencyBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// statusClasses are 1xx to 5xx.
const statusClasses = 5

// unroutedName is the route of requests that no row of the tables serves.
const unroutedName = "other"

// routeLatency are the answers of one route by class of status. Routes are rows of the
// tables, never what callers write, so that their number is bounded.
type routeLatency struct {
	route   string
	classes [statusClasses]struct {
		counts [len(latencyBounds) + 1]atomic.Uint64
		sum    atomic.Int64 // nanoseconds
	}
}

func (m *routeLatency) add(status int, elapsed time.Duration) {
	class := &m.classes[min(max(status/100, 1), statusClasses)-1]
	i := 0
	for i < len(latencyBounds) && elapsed > latencyBounds[i] {
		i++
	}
	class.counts[i].Add(1)
	class.sum.Add(int64(elapsed))
}

// Latency tells how long the answers of a route took that had a status of one class.
type Latency struct {
	// Route is a row of the table of routes; "other" for what none serves.
	Route string
	// Class is 1xx to 5xx.
	Class string
	// Count answers took Sum together.
	Count uint64
	Sum   time.Duration
	// Within counts the answers that took at most so many seconds.
	Within map[float64]uint64
}

// Latencies returns totals since the start, of routes that have been asked. Streams
// are not among them.
func (h *Handler) Latencies() []Latency {
	if !h.isReady() {
		return nil
	}
	var out []Latency
	for _, m := range h.server.latencies {
		for i := range m.classes {
			class := &m.classes[i]
			l := Latency{Route: m.route, Class: strconv.Itoa(i+1) + "xx", Within: make(map[float64]uint64, len(latencyBounds))}
			for j := range class.counts {
				l.Count += class.counts[j].Load()
				if j < len(latencyBounds) {
					l.Within[latencyBounds[j].Seconds()] = l.Count
				}
			}
			if l.Sum = time.Duration(class.sum.Load()); l.Count > 0 {
				out = append(out, l)
			}
		}
	}
	return out
}

// measure makes the counts of a route. Only for the time before the first request.
func (s *server) measure(route string) *routeLatency {
	if i := slices.IndexFunc(s.latencies, func(m *routeLatency) bool { return m.route == route }); i >= 0 {
		return s.latencies[i]
	}
	m := &routeLatency{route: route}
	s.latencies = append(s.latencies, m)
	return m
}
