package insights

import (
	"math"
	"slices"

	"github.com/bunting-flags/bunting/capture/experiments"
)

// figures are the numbers of one entity (experiments.md §1.13).
type figures struct {
	value, below, before float64
	reached              uint8 // steps of a funnel
	excluded             bool  // the entity does not count to the metric
}

// figuresSize is about the bytes of figures.
const figuresSize = 32

// measurer counts events to entities.
type measurer interface {
	// bind makes ready what is looked at, and says which events can count.
	bind(f *experimentRun) []*matcher
	// see looks at an event of an entity that is exposed.
	see(r *row, actor uint32, e *exposedEntity) error
	// finish gives the numbers by entity.
	finish(f *experimentRun, out []figures) error
}

// newMeasurer is that of a metric.
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

// sideSums are a mean of one side, or a ratio of two (experiments.md §1.7, §1.10).
type sideSums struct {
	f      *experimentRun
	window int64
	before int64 // microseconds before the exposure that the covariate is of, 0: none
	sides  []*side
}

// side is one number of each entity.
type side struct {
	*metricSource
	m       *matcher
	get     getter
	number  func(*row) (uint32, bool) // what is counted once
	counted set
	after   []amount
	earlier []amount
}

// amount is what an entity's events come to.
type amount struct {
	exactSum
	low, high float64
	events    uint32
}

const amountSize = 40

// exactSum adds without losing what is small (Neumaier; experiments.md §2.13).
type exactSum struct{ sum, lost float64 }

func (s *exactSum) add(v float64) {
	t := s.sum + v
	if math.Abs(s.sum) >= math.Abs(v) {
		s.lost += s.sum - t + v
	} else {
		s.lost += v - t + s.sum
	}
	s.sum = t
}

func (s *exactSum) total() float64 { return s.sum + s.lost }

func (c *sideSums) bind(f *experimentRun) []*matcher {
	c.f = f
	var out []*matcher
	for _, s := range c.sides {
		s.m = s.entity.bind(f.b)
		s.counted.reserve = f.reserve
		if s.value != nil {
			s.get = s.value(f.b)
		}
		switch {
		case s.math == "unique_session" || s.sessions:
			s.number = f.b.bindInterned(f.b.eventProperty("$session_id"))
		case s.math == "unique_group":
			s.number = f.b.actor(s.groupType)
		case s.math == "dau" && f.groupType() != anyPeople:
			s.number = f.b.actor(anyPeople)
		}
		out = append(out, s.m)
	}
	return out
}

func (c *sideSums) see(r *row, actor uint32, e *exposedEntity) error {
	at := r.b.Time[r.i]
	earlier := at < e.first
	switch {
	case earlier && at < e.first-c.before:
		return nil
	case !earlier && (at >= c.f.to+c.window || c.window > 0 && at >= e.first+c.window):
		return nil
	}
	for _, s := range c.sides {
		if s.m.matches(r) {
			if err := s.see(c.f, r, actor, earlier); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *side) see(f *experimentRun, r *row, actor uint32, earlier bool) (err error) {
	to, phase := &s.after, uint32(0)
	if earlier {
		to, phase = &s.earlier, 1
	}
	if s.number != nil {
		n, ok := s.number(r)
		if !ok {
			return nil
		}
		before := s.counted.n
		if err := s.counted.put(cell{actor: actor, bucket: n, value: phase}); err != nil || s.counted.n == before {
			return err
		}
	}
	if *to, err = growTo(*to, actor, amountSize, f.reserve); err != nil {
		return err
	}
	v := 1.0
	if s.get != nil {
		v, _ = numberOf(s.get(r))
	}
	(*to)[actor].count(v)
	return nil
}

func (a *amount) count(v float64) {
	if a.events == 0 {
		a.low, a.high = v, v
	}
	a.events++
	a.low, a.high = min(a.low, v), max(a.high, v)
	a.add(v)
}

// result is the value of an entity.
func (s *side) result(list []amount, actor int) float64 {
	if actor >= len(list) || list[actor].events == 0 {
		return 0
	}
	switch a := &list[actor]; s.math {
	case "avg":
		return a.total() / float64(a.events)
	case "min":
		return a.low
	case "max":
		return a.high
	case "dau":
		if s.number == nil {
			return 1
		}
		return a.total()
	default:
		return a.total()
	}
}

func (c *sideSums) finish(f *experimentRun, out []figures) error {
	for actor := range out {
		m, s := &out[actor], c.sides[0]
		m.value, m.before = s.result(s.after, actor), s.result(s.earlier, actor)
		if s.threshold != nil {
			m.value = boolToFloat(m.value >= *s.threshold)
		}
		if len(c.sides) > 1 {
			m.below = c.sides[1].result(c.sides[1].after, actor)
		}
		m.excluded = f.Matured && c.window > 0 && f.entities[actor].first+c.window > f.now.UnixMicro()
	}
	return nil
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// bounds of values: what is beyond them is cut to them (experiments.md §1.8).
type bounds struct{ lower, upper float64 }

// bounds are those of some values, which it sorts.
func (c *cut) bounds(values []float64) bounds {
	b := bounds{math.Inf(-1), math.Inf(1)}
	slices.Sort(values)
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

// atQuantile is the element at a share of sorted values, without interpolation.
func atQuantile(sorted []float64, q float64) float64 {
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func (b bounds) cut(v float64) float64 { return min(max(v, b.lower), b.upper) }
