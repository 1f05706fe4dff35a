package frame

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// latencyBounds are the upper bounds of the buckets of response times. One more bucket counts the
// slower responses.
var latencyBounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond,
	25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second,
}

// statusClasses is the number of status classes, 1xx to 5xx.
const statusClasses = 5

// unroutedName is the route of requests that match no route.
const unroutedName = "other"

// routeLatency counts the response times of one route by status class. Routes are path patterns,
// never paths from clients, so their number is bounded. It is safe for concurrent use.
type routeLatency struct {
	route   string
	classes [statusClasses]atomic.Pointer[classLatency] // nil before the first response
}

// classLatency counts the response times of one route and status class.
type classLatency struct {
	counts [len(latencyBounds) + 1]atomic.Uint64
	sum    atomic.Int64 // nanoseconds
}

func (m *routeLatency) add(status int, elapsed time.Duration) {
	place := &m.classes[min(max(status/100, 1), statusClasses)-1]
	class := place.Load()
	if class == nil {
		place.CompareAndSwap(nil, &classLatency{})
		class = place.Load()
	}
	i := 0
	for i < len(latencyBounds) && elapsed > latencyBounds[i] {
		i++
	}
	class.counts[i].Add(1)
	class.sum.Add(int64(elapsed))
}

// latency describes the response times of one route for one class of status: see Latency.
type latency struct {
	Route, Class string
	Count        uint64
	Sum          time.Duration
	Within       map[float64]uint64
}

// LatencyTotals returns the totals of the routes that have been requested.
func (s *Server) LatencyTotals() []latency {
	var out []latency
	for _, m := range s.latencies {
		for i := range m.classes {
			class := m.classes[i].Load()
			if class == nil {
				continue
			}
			l := latency{Route: m.route, Class: strconv.Itoa(i+1) + "xx", Within: make(map[float64]uint64, len(latencyBounds))}
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

// measure returns the counts of a route, and adds the route if needed. It must not be called after
// requests have started.
func (s *Server) measure(route string) *routeLatency {
	if i := slices.IndexFunc(s.latencies, func(m *routeLatency) bool { return m.route == route }); i >= 0 {
		return s.latencies[i]
	}
	m := &routeLatency{route: route}
	s.latencies = append(s.latencies, m)
	return m
}
