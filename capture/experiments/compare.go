package experiments

import "math"

// Test describes how a variant is compared with the baseline (§2.1). The zero value is not usable;
// NewTest returns the defaults.
type Test struct {
	// Frequentist selects Welch's test, or a sequential one, instead of the Bayesian comparison.
	Frequentist bool
	// Level is the confidence or credible level of intervals, between 0 and 1. Alpha is 1 − Level.
	Level float64
	// Absolute computes differences in the unit of the metric, and not as a share of the baseline.
	Absolute bool
	// Sequential selects a frequentist test whose result is valid however often it is computed
	// (§2.6).
	Sequential bool
	// Tuning is the number of entities for which a sequential test has the most power.
	Tuning float64
	// Covariates reduces the variance of means by values from before the experiment, by CUPED
	// (§2.3).
	Covariates bool
	// Decrease means that lower values of the metric are better.
	Decrease bool
}

// NewTest returns the default test: Bayesian, 95 %, relative.
func NewTest() Test { return Test{Level: 0.95, Tuning: 5000} }

// alpha returns the probability of a false positive.
func (t *Test) alpha() float64 { return 1 - t.Level }

// interval has a lower and an upper bound.
type interval [2]float64

// Comparison is the result of comparing a variant with the baseline.
type Comparison struct {
	Effect      float64  // estimated difference
	Error       float64  // standard error of Effect
	Interval    interval // for the effect, at the level of the test
	Significant bool
	P           float64 // frequentist: the p-value; 0 if it is below the smallest number
	Degrees     float64 // frequentist and not sequential: degrees of freedom
	Chance      float64 // Bayesian: the probability that the variant is above the baseline
	Theta       float64 // with covariates: their coefficient
	Keep, Take  float64 // Bayesian: the expected loss of keeping the baseline, and of choosing the variant
}

// Compare compares a variant with the baseline. It returns false if there are no statistics: with
// too few entities or successes, without variance, with a baseline near zero for a relative effect,
// or with sums that contradict each other.
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

// hasFewOutcomes reports whether there are too few successes or failures for a normal distribution
// (§2.8).
func hasFewOutcomes(s *Sample) bool { return s.Sum < 5 || float64(s.N)-s.Sum < 5 }

// effect returns the difference of two estimates and its standard error (§2.4). share is the mean
// by which a relative effect is divided. It returns false if the effect or its variance is not
// usable.
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
	// These comparisons are false for NaN.
	return Comparison{Effect: effect, Error: math.Sqrt(variance)}, variance > 0 && !math.IsInf(variance, 0) && !math.IsNaN(effect)
}

// welch computes the test without sequential monitoring (§2.5), from the variances of both means.
func (t *Test) welch(c *Comparison, a, b, na, nb float64) {
	c.Degrees = (a + b) * (a + b) / (a*a/(na-1) + b*b/(nb-1))
	c.P = 2 * studentTail(math.Abs(c.Effect)/c.Error, c.Degrees)
	c.setInterval(studentQuantile(t.alpha()/2, c.Degrees) * c.Error)
	c.Significant = c.P < t.alpha()
}

// bayesian computes the posterior distribution with a flat prior (§2.8).
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

// setInterval sets the interval to the effect plus and minus half.
func (c *Comparison) setInterval(half float64) {
	c.Interval = interval{c.Effect - half, c.Effect + half}
}

// pooledTheta returns the coefficient of the covariate, over both variants together (§2.3).
func pooledTheta(a, b *Sample) float64 {
	n := float64(a.N) + float64(b.N)
	before := a.Before + b.Before
	spread := covariance(a.BeforeSquares+b.BeforeSquares, before, before, n, n-1)
	if spread < epsilon {
		return 0
	}
	return covariance(a.BeforeProduct+b.BeforeProduct, before, a.Sum+b.Sum, n, n-1) / spread
}

// adjust returns an estimate without the part that the covariate explains.
func (s *Sample) adjust(e estimate, theta float64) estimate {
	n := float64(s.N)
	spread := covariance(s.BeforeSquares, s.Before, s.Before, n, n-1)
	both := covariance(s.BeforeProduct, s.Before, s.Sum, n, n-1)
	return estimate{e.mean - theta*s.Before/n, max(e.variance+theta*theta*spread-2*theta*both, epsilon)}
}
