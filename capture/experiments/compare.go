package experiments

import "math"

// Test is how a variant is compared with the baseline (§2.1). The zero Test is of no
// use: NewTest has the defaults.
type Test struct {
	Frequentist bool
	Level       float64 // of the intervals, inside (0, 1); Alpha is the rest
	Absolute    bool    // differences in the metric's unit, not as a share of the baseline
	Sequential  bool    // frequentist, and may be looked at at any time (§2.6)
	Tuning      float64 // entities for which a sequential test is the most powerful
	Covariates  bool    // CUPED (§2.3)
	Decrease    bool    // less is better
}

// NewTest is the default: Bayesian, 95 %, relative.
func NewTest() Test { return Test{Level: 0.95, Tuning: 5000} }

func (t *Test) alpha() float64 { return 1 - t.Level }

// Interval is from its lower to its upper bound.
type Interval [2]float64

// Comparison is what can be said of a variant against the baseline.
type Comparison struct {
	Effect      float64  // the estimate of the difference
	Error       float64  // its standard error
	Interval    Interval // that holds the effect with the level of the test
	Significant bool
	P           float64 // frequentist: of no effect; 0 below the least number
	Degrees     float64 // frequentist with a fixed end: of freedom
	Chance      float64 // Bayesian: that the variant is above the baseline
	Theta       float64 // with covariates: how much of them explains the values
	Keep, Take  float64 // Bayesian: the expected loss of keeping the baseline, of taking the variant
}

// Compare compares a variant with the baseline. It is false where there are no
// statistics: too few entities or successes, no variance, no baseline to be a share of,
// sums that contradict each other.
func (t *Test) Compare(k Kind, variant, baseline *Sample) (Comparison, bool) {
	if k == Funnel && t.Covariates {
		k = Mean
	}
	v, vOK := variant.estimate(k)
	b, bOK := baseline.estimate(k)
	if !vOK || !bOK || k == Funnel && !t.Frequentist && (hasFewOutcomes(variant) || hasFewOutcomes(baseline)) {
		return Comparison{}, false
	}
	share, theta := b.mean, 0.0
	if t.Covariates && k == Mean {
		theta = pooledTheta(variant, baseline)
		v, b = variant.adjust(v, theta), baseline.adjust(b, theta)
	}
	out, ok := t.effect(v, b, share, variant.N, baseline.N)
	if !ok {
		return Comparison{}, false
	}
	out.Theta = theta
	switch {
	case !t.Frequentist:
		t.bayesian(&out)
	case t.Sequential:
		t.sequential(&out, float64(variant.N)+float64(baseline.N))
	default:
		t.welch(&out, v.meanVariance(variant.N), b.meanVariance(baseline.N), float64(variant.N), float64(baseline.N))
	}
	return out, true
}

// hasFewOutcomes successes or failures make no normal distribution (§2.8).
func hasFewOutcomes(s *Sample) bool { return s.Sum < 5 || float64(s.N)-s.Sum < 5 }

// effect is the difference, and the error of it (§2.4).
func (t *Test) effect(v, b estimate, share float64, nv, nb int64) (Comparison, bool) {
	effect, variance := v.mean-b.mean, v.meanVariance(nv)+b.meanVariance(nb)
	if !t.Absolute {
		if math.Abs(share) < epsilon || !t.Frequentist && share <= 0 {
			return Comparison{}, false
		}
		square := share * share
		effect /= share
		variance = v.meanVariance(nv)/square + v.mean*v.mean*b.meanVariance(nb)/(square*square)
	}
	// Not a number is not above zero either.
	return Comparison{Effect: effect, Error: math.Sqrt(variance)}, variance > 0 && !math.IsInf(variance, 0) && !math.IsNaN(effect)
}

// welch is the test with a fixed end (§2.5), by the variances of both means.
func (t *Test) welch(c *Comparison, a, b, na, nb float64) {
	c.Degrees = (a + b) * (a + b) / (a*a/(na-1) + b*b/(nb-1))
	c.P = 2 * studentTail(math.Abs(c.Effect)/c.Error, c.Degrees)
	c.setInterval(studentQuantile(t.alpha()/2, c.Degrees) * c.Error)
	c.Significant = c.P < t.alpha()
}

// bayesian is the posterior of a flat prior (§2.8).
func (t *Test) bayesian(c *Comparison) {
	at := c.Effect / c.Error
	c.Chance = phi(at)
	c.setInterval(z(0.5+t.Level/2) * c.Error)
	c.Significant = c.Chance > t.Level || c.Chance < 1-t.Level
	c.Keep = c.Effect*c.Chance + c.Error*density(at)
	c.Take = c.Keep - c.Effect
	if t.Decrease {
		c.Keep, c.Take = c.Take, c.Keep
	}
}

// setInterval is the interval of so much on both sides.
func (c *Comparison) setInterval(half float64) {
	c.Interval = Interval{c.Effect - half, c.Effect + half}
}

// pooledTheta is how much of the covariate explains the value, over both variants
// (§2.3).
func pooledTheta(a, b *Sample) float64 {
	n := float64(a.N) + float64(b.N)
	before := a.Before + b.Before
	spread := covariance(a.BeforeSquares+b.BeforeSquares, before, before, n, n-1)
	if spread < epsilon {
		return 0
	}
	return covariance(a.BeforeProduct+b.BeforeProduct, before, a.Sum+b.Sum, n, n-1) / spread
}

// adjust is an estimate without what was so before.
func (s *Sample) adjust(e estimate, theta float64) estimate {
	n := float64(s.N)
	spread := covariance(s.BeforeSquares, s.Before, s.Before, n, n-1)
	both := covariance(s.BeforeProduct, s.Before, s.Sum, n, n-1)
	return estimate{e.mean - theta*s.Before/n, max(e.variance+theta*theta*spread-2*theta*both, epsilon)}
}
