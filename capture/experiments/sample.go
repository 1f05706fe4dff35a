package experiments

import "math"

// Kind is the way in which the values of entities become the value of a variant (§2.2).
type Kind int

// The kinds of metrics.
const (
	Mean      Kind = iota // mean of the values
	Funnel                // share of the entities that completed the funnel
	Ratio                 // ratio of two sums
	Retention             // share of the entities that returned, among those that started
)

// Sample has the sufficient statistics of a variant (§1.13), which are sums over its entities. Sums
// that a kind does not use are zero.
type Sample struct {
	N                     int64   // number of entities
	Sum, Squares          float64 // of the values, or of the numerators of a ratio
	Below, BelowSquares   float64 // of the denominators of a ratio
	Product               float64 // of numerator and denominator
	Before, BeforeSquares float64 // of the covariate of CUPED
	BeforeProduct         float64 // of covariate and value
}

// IsFinite reports whether all sums are finite. Values near 10^200 have no finite sum of squares.
func (s *Sample) IsFinite() bool {
	for _, v := range [...]float64{s.Sum, s.Squares, s.Below, s.BelowSquares, s.Product, s.Before, s.BeforeSquares, s.BeforeProduct} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// estimate is the value of a variant, with the variance of one entity.
type estimate struct{ mean, variance float64 }

// meanVariance returns the variance of the estimate for n entities.
func (e estimate) meanVariance(n int64) float64 { return e.variance / float64(n) }

// epsilon is the value below which a denominator counts as zero.
const epsilon = 1e-10

// Estimate returns the value of a variant and the variance of one entity, and false if the sample
// has no value of this kind (§2.2).
func (s *Sample) Estimate(k Kind) (mean, variance float64, ok bool) {
	e, ok := s.estimate(k)
	return e.mean, e.variance, ok
}

// estimate computes the row of §2.2 for a kind. It returns false if there are no statistics.
func (s *Sample) estimate(k Kind) (estimate, bool) {
	if s.N <= 0 {
		return estimate{}, false
	}
	n := float64(s.N)
	switch k {
	case Funnel:
		p := s.Sum / n
		return estimate{p, p * (1 - p)}, p >= 0 && p <= 1
	case Ratio, Retention:
		return s.ratio()
	default:
		v, ok := variance(s.Squares, s.Sum, n, n-1)
		return estimate{s.Sum / n, v}, ok
	}
}

// ratio returns the estimate of a ratio by the delta method.
func (s *Sample) ratio() (estimate, bool) { return s.deltaMethod(float64(s.N) - 1) }

// deltaMethod returns the quotient of two sums and its variance. Moments are divided by over, which
// is n or n − 1.
func (s *Sample) deltaMethod(over float64) (estimate, bool) {
	n := float64(s.N)
	above, below := s.Sum/n, s.Below/n
	if !(math.Abs(below) >= epsilon) {
		return estimate{}, false
	}
	va, aboveOK := variance(s.Squares, s.Sum, n, over)
	vb, belowOK := variance(s.BelowSquares, s.Below, n, over)
	both := covariance(s.Product, s.Sum, s.Below, n, over)
	square := below * below
	v := va/square + above*above*vb/(square*square) - 2*above*both/(square*below)
	return estimate{s.Sum / s.Below, max(v, 0)}, aboveOK && belowOK
}

// covariance returns the covariance of two quantities of n entities, from the sum of their products
// and their sums, divided by over. It returns 0 for one entity.
func covariance(products, a, b, n, over float64) float64 {
	if n < 2 {
		return 0
	}
	return centredProduct(products, a, b, n) / over
}

// variance returns the covariance of a quantity with itself. It returns false for contradictory
// sums, for which it is negative by more than rounding errors.
func variance(squares, sum, n, over float64) (float64, bool) {
	v := covariance(squares, sum, sum, n, over)
	return max(v, 0), v >= -1e-9*math.Abs(squares)
}

// centredProduct returns products − a·b/n. It compensates the rounding errors of the product and
// the quotient, so that it is exact for a small spread around a large mean (§2.13).
func centredProduct(products, a, b, n float64) float64 {
	p := a * b
	correction := math.FMA(a, b, -p)
	q := p / n
	rest := (math.FMA(-q, n, p) + correction) / n
	return (products - q) - rest
}
