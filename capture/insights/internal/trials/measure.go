package trials

import (
	"math"
	"math/bits"
	"slices"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// figuresSize is the approximate size of figures in bytes.
const figuresSize = 32

// newMeasurer returns the measurer of a metric. cuped is how many microseconds before an exposure
// the covariate covers, 0 without one.
func newMeasurer(m *metric, cuped int64) measurer {
	switch {
	case len(m.sides) > 0:
		c := &sideSums{window: m.window, before: cuped}
		for i := range m.sides {
			c.sides = append(c.sides, &side{metricSource: &m.sides[i]})
		}
		return c
	case m.kind == experiments.Retention:
		return &returnMeasurer{metric: m}
	default:
		return &funnelMeasurer{metric: m, before: cuped}
	}
}

// sideSums is the measurer of a mean, with one side, and of a ratio, with two (experiments.md §1.7,
// §1.10).
type sideSums struct {
	f *experimentRun
	// window is the time after an exposure in which events count, in microseconds; 0: until the end
	// of the experiment.
	window int64
	// before is the time before the exposure that the covariate covers, in microseconds; 0: no
	// covariate.
	before int64
	sides  []*side
}

// side computes one number for each entity.
type side struct {
	*metricSource
	// m matches the events, and get is their value; a nil get counts each event as 1.
	m   *filter.Matcher
	get scan.Getter
	// number returns the number of the object that counts only once, such as a session; nil:
	// every event counts.
	number func(*scan.Row) (uint32, bool)
	// counted are the pairs of entity and number that have been counted.
	counted scan.Set
	// after and earlier are the values after and before the exposure.
	after, earlier amounts
}

// amounts are the numbers from which a math computes the value of each entity. Lists that the math
// does not need are nil.
type amounts struct {
	// events are the numbers of events, sums the sums of their values, and extremes the least or
	// greatest values. The math sum does not need events. lost are what the sums lost by rounding; the
	// list ends after the last entity that lost anything.
	events               []uint32
	sums, lost, extremes []float64
}

// exactSum is a sum with compensation for rounding errors, by Neumaier's algorithm (experiments.md
// §2.13).
type exactSum struct{ sum, lost float64 }

// add adds v and accumulates in lost what the sum loses by rounding.
func (s *exactSum) add(v float64) {
	t := s.sum + v
	if math.Abs(s.sum) >= math.Abs(v) {
		s.lost += s.sum - t + v
	} else {
		s.lost += v - t + s.sum
	}
	s.sum = t
}

// total returns the sum, including the compensation.
func (s *exactSum) total() float64 { return s.sum + s.lost }

// bind binds the sides. Maths that count distinct objects get a number function.
func (c *sideSums) bind(f *experimentRun) []*filter.Matcher {
	c.f = f
	var out []*filter.Matcher
	for _, s := range c.sides {
		s.m = s.Entity.Bind(f.b)
		s.counted.Reserve = f.Reserve
		if s.value != nil {
			s.get = s.value(f.b)
		}
		switch {
		case s.math == "unique_session" || s.sessions:
			s.number = f.b.BindInterned(f.b.EventProperty("$session_id"))
		case s.math == "unique_group":
			s.number = f.b.Actor(s.groupType)
		case s.math == "dau" && f.groupType() != scan.AnyPeople:
			s.number = f.b.Actor(scan.AnyPeople)
		}
		out = append(out, s.m)
	}
	return out
}

// see adds an event to the sides that it matches, unless it is before the covariate's time or after
// the window.
func (c *sideSums) see(r *scan.Row, actor uint32, e *exposedEntity) error {
	at := r.Batch.Time[r.Index]
	earlier := at < e.first
	switch {
	case earlier && at < e.first-c.before:
		return nil
	case !earlier && (at >= c.f.to+c.window || c.window > 0 && at >= e.first+c.window):
		return nil
	}
	for _, s := range c.sides {
		if s.m.Matches(r) {
			if err := s.see(c.f, r, actor, earlier); err != nil {
				return err
			}
		}
	}
	return nil
}

// see adds an event to the sum of the entity, before (earlier) or after its exposure.
func (s *side) see(f *experimentRun, r *scan.Row, actor uint32, earlier bool) (err error) {
	to, phase := &s.after, uint32(0)
	if earlier {
		to, phase = &s.earlier, 1
	}
	// Maths about distinct objects skip those that the entity already has in this phase.
	if s.number != nil {
		n, ok := s.number(r)
		if !ok {
			return nil
		}
		before := s.counted.Len
		if err := s.counted.Put(scan.Cell{Actor: actor, Bucket: n, Value: phase}); err != nil || s.counted.Len == before {
			return err
		}
	}
	return to.add(s.math, actor, s.valueOf(r), f.Reserve)
}

// valueOf returns the value of an event.
func (s *side) valueOf(r *scan.Row) float64 {
	if s.get == nil {
		return 1
	}
	v, _ := document.NumberOf(s.get(r))
	return v
}

// add adds a value of an entity; kind is the math.
func (a *amounts) add(kind string, actor uint32, v float64, reserve func(int64) error) (err error) {
	if kind != "sum" {
		if a.events, err = scan.Grow(a.events, actor, 4, reserve); err != nil {
			return err
		}
		a.events[actor]++
	}
	switch kind {
	case "sum", "avg":
		err = a.addExactly(actor, v, reserve)
	case "min", "max":
		if a.extremes, err = scan.Grow(a.extremes, actor, 8, reserve); err != nil {
			return err
		}
		if has := a.extremes[actor]; a.events[actor] == 1 || (v < has) == (kind == "min") {
			a.extremes[actor] = v
		}
	}
	return err
}

// addExactly adds a value to the sum of an entity.
func (a *amounts) addExactly(actor uint32, v float64, reserve func(int64) error) (err error) {
	if a.sums, err = scan.Grow(a.sums, actor, 8, reserve); err != nil {
		return err
	}
	sum := a.sum(int(actor))
	sum.add(v)
	if sum.lost != 0 {
		if a.lost, err = scan.Grow(a.lost, actor, 8, reserve); err != nil {
			return err
		}
	}
	if a.sums[actor] = sum.sum; int(actor) < len(a.lost) {
		a.lost[actor] = sum.lost
	}
	return nil
}

// sum returns the sum of an entity.
func (a *amounts) sum(actor int) exactSum {
	if actor < len(a.lost) {
		return exactSum{a.sums[actor], a.lost[actor]}
	}
	return exactSum{sum: a.sums[actor]}
}

// result returns the value of an entity by the math of the side, 0 if it has no events.
func (s *side) result(a *amounts, actor int) float64 {
	if s.math == "sum" && actor < len(a.sums) {
		sum := a.sum(actor)
		return sum.total()
	}
	if actor >= len(a.events) || a.events[actor] == 0 {
		return 0
	}
	switch n := float64(a.events[actor]); s.math {
	case "avg":
		sum := a.sum(actor)
		return sum.total() / n
	case "min", "max":
		return a.extremes[actor]
	case "dau":
		if s.number == nil {
			return 1
		}
		return n
	default:
		return n
	}
}

// finish sets value, below, before and excluded.
func (c *sideSums) finish(f *experimentRun, out []figures) error {
	for actor := range out {
		m, s := &out[actor], c.sides[0]
		m.value, m.before = s.result(&s.after, actor), s.result(&s.earlier, actor)
		if s.threshold != nil {
			m.value = boolToFloat(m.value >= *s.threshold)
		}
		if len(c.sides) > 1 {
			m.below = c.sides[1].result(&c.sides[1].after, actor)
		}
		// An entity whose window is still open does not count if the experiment counts only matured
		// entities.
		m.excluded = f.Matured && c.window > 0 && f.entities[actor].first+c.window > f.now
	}
	return nil
}

// bounds limit the values of a metric: values outside are set to the nearest bound (experiments.md
// §1.8).
type bounds struct{ lower, upper float64 }

// bounds returns the bounds for some values, whose order it changes. A missing bound is infinite.
func (c *cut) bounds(values []float64) bounds {
	b := bounds{math.Inf(-1), math.Inf(1)}
	if c.lower != nil && len(values) > 0 {
		b.lower = atQuantile(values, *c.lower)
	}
	if c.ignoreZeros {
		values = slices.DeleteFunc(values, func(v float64) bool { return v == 0 })
	}
	if c.upper != nil && len(values) > 0 {
		b.upper = atQuantile(values, *c.upper)
	}
	return b
}

// atQuantile returns the element at a quantile of the sorted values, without interpolation. It changes
// the order of the values.
func atQuantile(values []float64, q float64) float64 {
	return nth(values, min(int(q*float64(len(values))), len(values)-1))
}

// nth returns the element with an index of the sorted values. It divides them at a pivot like quicksort, but
// continues only with the part that has the index.
func nth(values []float64, n int) float64 {
	for rounds := 2 * bits.Len(uint(len(values))); rounds > 0 && len(values) > 16; rounds-- {
		three := []float64{values[0], values[len(values)/2], values[len(values)-1]}
		slices.Sort(three)
		pivot, i, j := three[1], 0, len(values)-1
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case n <= j:
			values = values[:j+1]
		case n >= i:
			values, n = values[i:], n-i
		default:
			return pivot
		}
	}
	slices.Sort(values) // a few values, or an order that is bad for the pivots
	return values[n]
}

// cut returns v limited to the bounds.
func (b bounds) cut(v float64) float64 { return min(max(v, b.lower), b.upper) }

// figures are the numbers that a metric has for one entity (experiments.md §1.13).
type figures struct {
	// value is the value of the metric, or the numerator of a ratio; below is the denominator;
	// before is the covariate, the value before the exposure.
	value, below, before float64
	// reached is the number of funnel steps.
	reached uint8
	// excluded is true if the entity does not count for the metric.
	excluded bool
}

// measurer computes the figures of entities for one metric from its events.
type measurer interface {
	// bind binds the metric and returns the matchers of the events that can count.
	bind(f *experimentRun) []*filter.Matcher
	// see counts an event of an exposed entity. Events may arrive in any order.
	see(r *scan.Row, actor uint32, e *exposedEntity) error
	// finish sets the figures of the entities when all events have been read.
	finish(f *experimentRun, out []figures) error
}

// boolToFloat returns 1 for true and 0 for false.
func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
