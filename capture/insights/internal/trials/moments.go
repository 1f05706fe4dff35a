package trials

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// moment is an event of an entity that counts for a metric. For a mean or a ratio, what is the
// index of the side, and bits are those of the value of the event; if the side counts objects, id and bits
// are the object. For funnels and retention, what is like milestone.what.
type moment struct {
	at, id      int64
	bits        uint64
	actor, what uint32
}

// momentSize is the size of a moment in bytes.
const momentSize = 32

// compareMoments is the order of compareMilestones.
func compareMoments(a, b moment) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(bits.TrailingZeros32(a.what), bits.TrailingZeros32(b.what)), cmp.Compare(a.id, b.id))
}

// moments are events that were read and have not been added to a state yet.
type moments struct {
	// list contains the events from the index from on, of which those before the index admitted are
	// known to count.
	list           []moment
	from, admitted int
	// latest is the greatest time of the list.
	latest int64
	sorted bool
}

// add adds an event. Events may be added in any order.
func (m *moments) add(v moment, reserve func(bytes int64) error) error {
	if m.from == len(m.list) {
		m.list, m.from, m.admitted, m.latest = m.list[:0], 0, 0, v.at
	}
	if len(m.list) == cap(m.list) {
		more := max(1024, cap(m.list)/2)
		if err := reserve(momentSize * int64(more)); err != nil {
			return err
		}
		m.list = append(make([]moment, 0, cap(m.list)+more), m.list...)
	}
	m.list = append(m.list, v)
	m.latest, m.sorted = max(m.latest, v.at), false
	return nil
}

// admit removes the events that were added since the last call and do not count. counts may change
// an event.
func (m *moments) admit(counts func(*moment) bool) {
	out := m.list[:m.admitted]
	for i := m.admitted; i < len(m.list); i++ {
		if counts(&m.list[i]) {
			out = append(out, m.list[i])
		}
	}
	m.list, m.admitted = out, len(out)
}

// take removes the events before end and returns them. They are valid until the next call of add.
func (m *moments) take(end int64) []moment {
	rest := m.list[m.from:]
	n := len(rest)
	if n > 0 && m.latest >= end {
		if !m.sorted {
			slices.SortFunc(rest, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
			m.sorted = true
		}
		n, _ = slices.BinarySearchFunc(rest, end, func(v moment, end int64) int { return cmp.Compare(v.at, end) })
	}
	m.from += n
	return rest[:n]
}

// actorOrder sorts events by entity, and those of an entity by compareMoments.
type actorOrder struct {
	// sorted is the memory for the events, and ends for the ends of the buckets of entities.
	sorted []moment
	ends   []uint32
}

// sort returns all events of some lists, sorted. They are valid until the next call. It distributes them
// among as many buckets of consecutive entities as there are events, in each of which there are few.
func (o *actorOrder) sort(reserve func(bytes int64) error, lists ...[]moment) ([]moment, error) {
	count, last := 0, uint32(0)
	for _, list := range lists {
		count += len(list)
		for i := range list {
			last = max(last, list[i].actor)
		}
	}
	if count == 0 {
		return nil, nil
	}
	if more := count - cap(o.sorted); more > 0 {
		if err := reserve((momentSize + 8) * int64(more)); err != nil {
			return nil, err
		}
		o.sorted, o.ends = make([]moment, count), make([]uint32, 2*count+1)
	}
	shift := 0
	for int(last>>shift) >= 2*count+1 {
		shift++
	}
	ends := o.ends[:int(last>>shift)+1]
	clear(ends)
	for _, list := range lists {
		for i := range list {
			ends[list[i].actor>>shift]++
		}
	}
	sum := uint32(0)
	for i, n := range ends { // the beginnings, which are the ends when all events are in their buckets
		ends[i] = sum
		sum += n
	}
	out := o.sorted[:count]
	for _, list := range lists {
		for i := range list {
			end := &ends[list[i].actor>>shift]
			out[*end] = list[i]
			*end++
		}
	}
	first := uint32(0)
	for _, end := range ends {
		if end-first > 1 {
			slices.SortFunc(out[first:end], func(a, b moment) int {
				if a.actor != b.actor {
					return cmp.Compare(a.actor, b.actor)
				}
				return compareMoments(a, b)
			})
		}
		first = end
	}
	return out, nil
}

// continuous is the measurer of a metric whose state after a day is enough to go on with the events
// of the next day. Events are added to the state day by day, and within a day in any order.
type continuous interface {
	// bind and finish are those of measurer.
	bind(f *experimentRun) []*filter.Matcher
	finish(f *experimentRun, out []figures) error
	// see records an event of an actor, by its number in the run, that has the names of the matchers with
	// some indexes. recorded are these events.
	see(r *scan.Row, actor uint32, matchers []int) error
	recorded() *moments
	// admits reports whether an event of an exposed entity counts. It is not before the exposure.
	admits(e *exposedEntity, a *moment) bool
	// lookback is the time before an exposure that the covariate covers, in microseconds, or 0
	// without a covariate. seeEarly counts an event of an entity before its exposure. Covariates are not part of the
	// state: seeEarly is called for all events in every run.
	lookback() int64
	seeEarly(r *scan.Row, actor uint32, e *exposedEntity) error
	// fold adds the events before end that see has recorded to the state. exposures are the exposures
	// of the same days.
	fold(end int64, exposures []moment) error
	// save returns a copy of the state for the first count entities, and its size in bytes. load
	// replaces the state by a copy of one.
	save(count int) (state any, bytes int64)
	load(state any) error
	// isIntegral reports whether all values are whole numbers, which have the same sum in any order.
	isIntegral() bool
}

// newContinuous returns the continuous measurer of a metric, or nil if the metric cannot be continuous.
func newContinuous(q *experimentQuery, exposures []string) continuous {
	m, before := &q.metric, (&experimentAnswer{experimentQuery: q}).lookback()
	switch {
	case len(m.sides) > 0:
		if slices.ContainsFunc(m.sides, func(s metricSource) bool { return s.sessions }) {
			return nil // later events change the values of sessions
		}
		return &dailySums{sideSums: *newMeasurer(m, before).(*sideSums)}
	case len(m.series) == 0:
		return &dailyReturns{returnMeasurer: returnMeasurer{metric: m}}
	}
	isMixed := m.order != anyOrder && (m.order == strictOrder || slices.ContainsFunc(m.series, func(e filter.Entity) bool { return canMatch(&e, exposures) }))
	return &dailyFunnel{metric: m, before: before, isMixed: isMixed}
}

// canMatch reports whether an entity may match an event with one of some names; nil means any name.
func canMatch(e *filter.Entity, names []string) bool {
	if e.Action != 0 || e.Event == nil || names == nil {
		return true
	}
	return slices.Contains(names, *e.Event) || slices.ContainsFunc(e.MoreEvents, func(name string) bool { return slices.Contains(names, name) })
}

// copyFirst returns a copy of a list for at most count entities, and its size in bytes.
func copyFirst[T any](list []T, count int, size int64) ([]T, int64) {
	list = slices.Clone(list[:min(len(list), count)])
	return list, size * int64(len(list))
}
