package experiments

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// The distributions use the functions of mathext. Package stat/distuv has them too, but depends on
// gonum's matrices (§2.13), and its Normal.Survival and StudentsT.Quantile are wrong in far tails.

// phi returns the standard normal distribution function. It is exact in the left tail.
func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// density returns the density of the standard normal distribution.
func density(x float64) float64 { return math.Exp(-x*x/2) / math.Sqrt(2*math.Pi) }

// z returns the quantile of the standard normal distribution.
func z(p float64) float64 { return mathext.NormalQuantile(p) }

// studentTail returns the probability of more than t ≥ 0 in Student's distribution with nu degrees
// of freedom.
func studentTail(t, nu float64) float64 {
	return mathext.RegIncBeta(nu/2, 0.5, nu/(nu+t*t)) / 2
}

// manyDegrees is the number of degrees of freedom from which Student's distribution equals the
// normal one.
const manyDegrees = 1e7

// studentQuantile returns the t that Student's distribution exceeds with probability upper < ½. It
// improves an approximation by Newton's method.
func studentQuantile(upper, nu float64) float64 {
	t := -z(upper)
	if nu > manyDegrees {
		return t
	}
	t += (t*t*t + t) / (4 * nu)
	lg1, _ := math.Lgamma((nu + 1) / 2)
	lg2, _ := math.Lgamma(nu / 2)
	scale := lg1 - lg2 - math.Log(nu*math.Pi)/2
	for range 100 {
		slope := math.Exp(scale - (nu+1)/2*math.Log1p(t*t/nu))
		step := (studentTail(t, nu) - upper) / slope
		t += step
		if math.Abs(step) <= 1e-14*t {
			break
		}
	}
	return t
}

// chiSquaredTail returns the probability of more than x ≥ 0 in the χ² distribution.
func chiSquaredTail(x, degrees float64) float64 {
	return mathext.GammaIncRegComp(degrees/2, x/2)
}
