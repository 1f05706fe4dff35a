package experiments

import "math"

// Plan has the assumptions from which the number of entities and the duration of an experiment are
// computed before it starts (§2.12).
type Plan struct {
	Kind Kind
	// Counts means that the values of a mean are counts of events. Their variance grows with the
	// mean.
	Counts   bool
	Effect   float64  // minimum detectable effect, in percent of the baseline
	Variants int      // including the baseline
	PerDay   float64  // exposed entities per day; 0 if unknown
	Baseline float64  // value of the metric without the experiment
	Variance *float64 // of one entity; if nil, it follows from the kind
}

// NewPlan returns a plan with a measured baseline. It has the measured variance for kinds that
// cannot derive the variance from the baseline. through are the numbers of entities that reached
// each step of a funnel, or empty.
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

// planVariance returns the variance by the delta method with moments over n.
func (s *Sample) planVariance() float64 {
	n := float64(s.N)
	e, _ := s.deltaMethod(n)
	return e.variance
}

// OneVariance returns the variance of one entity, which is 0 if all values are equal. It returns
// false for kinds such as a funnel that derive the variance from the baseline.
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

// Size returns the number of entities of all variants together with which an effect is significant
// with a probability of 80 %, in a two-sided test at 5 %. It returns false if it cannot be
// computed.
func (p *Plan) Size() (int64, bool) {
	variance, ok := p.OneVariance()
	if !ok && p.Kind == Funnel {
		variance = p.Baseline * (1 - p.Baseline)
	}
	d := p.Effect / 100 * p.Baseline
	size := math.Ceil(16 * variance / (d * d) * float64(p.Variants))
	// Comparisons with NaN are false.
	return int64(size), d != 0 && variance > 0 && size > 0 && size < math.MaxInt64
}

// Days returns the number of days until size entities are exposed. It returns false if PerDay is
// unknown.
func (p *Plan) Days(size int64) (int64, bool) {
	days := math.Ceil(float64(size) / p.PerDay)
	return int64(days), p.PerDay > 0 && days < math.MaxInt64
}
