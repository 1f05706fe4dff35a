package experiments

import "math"

// Kind is how the numbers of a metric's entities make one number of a variant (§2.2).
type Kind int

// The kinds of metrics.
const (
	Mean      Kind = iota // of the values
	Funnel                // the share of those who came through
	Ratio                 // of two sums
	Retention             // the share of those who came back, of those who began
)

// Sample are the sufficient statistics of a variant (§1.13): sums over its entities.
// Sums that a kind does not have are zero.
type Sample struct {
	N                     int64   // entities
	Sum, Squares          float64 // of the values, of a ratio's numerators
	Below, BelowSquares   float64 // of a ratio's denominators
	Product               float64 // of numerator and denominator
	Before, BeforeSquares float64 // of the covariate of CUPED
	BeforeProduct         float64 // of covariate and value
}

// IsFinite reports whether all sums are numbers: values of 10^200 have no sum of squares.
func (s *Sample) IsFinite() bool {
	for _, v := range [...]float64{s.Sum, s.Squares, s.Below, s.BelowSquares, s.Product, s.Before, s.BeforeSquares, s.BeforeProduct} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// estimate is a variant's number, with the variance of one entity.
type estimate struct{ mean, variance float64 }

// meanVariance is the variance of the estimate over n entities.
func (e estimate) meanVariance(n int64) float64 { return e.variance / float64(n) }

// epsilon is what is taken for zero in a denominator.
const epsilon = 1e-10

// Mean is the number of a variant. It is false where there is none.
func (s *Sample) Mean(k Kind) (float64, bool) {
	e, ok := s.estimate(k)
	return e.mean, ok
}

// estimate follows the row of §2.2 for a kind. It is false where there are no
// statistics.
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

// ratio is the delta method's row.
func (s *Sample) ratio() (estimate, bool) { return s.deltaMethod(float64(s.N) - 1) }

// deltaMethod is a quotient of two sums, with moments over so many.
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

// covariance of two quantities of n entities, by the sum of their products and their
// sums, over so many; 0 for one entity.
func covariance(products, a, b, n, over float64) float64 {
	if n < 2 {
		return 0
	}
	return centredProduct(products, a, b, n) / over
}

// variance is the covariance of a quantity with itself. It is false for sums that no
// quantity has: a variance below zero by more than rounding.
func variance(squares, sum, n, over float64) (float64, bool) {
	v := covariance(squares, sum, sum, n, over)
	return max(v, 0), v >= -1e-9*math.Abs(squares)
}

// centredProduct is products − a·b/n. What a product and a quotient lose to rounding is taken
// along, so that a small spread around a large mean is not lost (§2.13).
func centredProduct(products, a, b, n float64) float64 {
	p := a * b
	correction := math.FMA(a, b, -p)
	q := p / n
	rest := (math.FMA(-q, n, p) + correction) / n
	return (products - q) - rest
}
