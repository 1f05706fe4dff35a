package experiments

import "math"

// Plan is a question before the start: how many entities an experiment needs, and how
// long that takes (§2.12).
type Plan struct {
	Kind Kind
	// Counts says that the values of a mean are counts of events, whose variance grows
	// with the mean.
	Counts   bool
	Effect   float64  // the least that is to be seen, per cent of the baseline
	Variants int      // with the baseline
	PerDay   float64  // entities exposed, 0 for unknown
	Baseline float64  // the metric without the experiment
	Variance *float64 // of one entity; nil for what the kind says
}

// NewPlan is a plan whose baseline, and variance where the kind has none of its own, are
// those of what was measured. through are the entities that came as far as each step of
// a funnel, if known.
func NewPlan(k Kind, s *Sample, through []int64) Plan {
	n := float64(s.N)
	p := Plan{Kind: k, Baseline: s.Sum / n}
	switch {
	case k == Funnel && len(through) > 0:
		p.Baseline = float64(through[len(through)-1]) / n
	case k == Ratio || k == Retention:
		p.Baseline = s.Sum / s.Below
		variance := s.planVariance()
		p.Variance = &variance
	}
	return p
}

// planVariance is the delta method's with moments over n.
func (s *Sample) planVariance() float64 {
	n := float64(s.N)
	e, _ := s.deltaMethod(n)
	return e.variance
}

// OneVariance is that of one entity: 0 where nothing was measured. It is false for kinds
// that have none of their own, such as a share, whose baseline says it.
func (p *Plan) OneVariance() (float64, bool) {
	switch {
	case p.Variance != nil:
		return *p.Variance, true
	case p.Kind != Mean:
		return 0, false
	case p.Counts:
		return 2 * p.Baseline, true
	}
	return 0.25 * p.Baseline * p.Baseline, true
}

// Size is the number of entities of all variants together, with which four of five
// experiments see the effect at 5 %, two-sided. It is false where it cannot be said.
func (p *Plan) Size() (int64, bool) {
	variance, ok := p.OneVariance()
	if !ok && p.Kind == Funnel {
		variance = p.Baseline * (1 - p.Baseline)
	}
	d := p.Effect / 100 * p.Baseline
	size := math.Ceil(16 * variance / (d * d) * float64(p.Variants))
	// Not a number is not below anything.
	return int64(size), d != 0 && variance > 0 && size > 0 && size < math.MaxInt64
}

// Days is how long so many entities take to come. It is false without a rate.
func (p *Plan) Days(size int64) (int64, bool) {
	days := math.Ceil(float64(size) / p.PerDay)
	return int64(days), p.PerDay > 0 && days < math.MaxInt64
}

// Power is the chance to see a true effect, by its error, with a two-sided test at
// alpha, one of several (§2.12).
func Power(effect, standardError, alpha float64, comparisons int) float64 {
	at, bound := effect/standardError, z(1-alpha/(2*float64(comparisons)))
	return phi(at-bound) + phi(-at-bound)
}
