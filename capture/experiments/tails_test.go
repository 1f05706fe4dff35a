package experiments

import (
	"math"
	"math/big"
	"testing"
)

// precision is the number of bits of the sums with which the distributions are compared.
const precision = 400

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

func bigFloat() *big.Float { return new(big.Float).SetPrec(precision) }

// bigErf returns erf(x) by its series, with more digits than the series cancels.
func bigErf(x float64) *big.Float {
	square := bigFloat().Mul(bigOf(x), bigOf(x))
	term, sum := bigOf(x), bigOf(x)
	for n := 1; n < 4000; n++ {
		term.Mul(term, square).Quo(term, bigOf(float64(n))).Neg(term)
		sum.Add(sum, bigFloat().Quo(term, bigOf(float64(2*n+1))))
	}
	return sum.Mul(sum, bigOf(2)).Quo(sum, bigFloat().Sqrt(bigPi()))
}

// bigPi returns π by Machin's formula.
func bigPi() *big.Float {
	inverse := func(denominator int64) *big.Float {
		x := bigFloat().Quo(bigOf(1), bigOf(float64(denominator)))
		square, term, sum := bigFloat().Mul(x, x), bigFloat().Set(x), bigFloat().Set(x)
		for n := 1; n < 400; n++ {
			term.Mul(term, square).Neg(term)
			sum.Add(sum, bigFloat().Quo(term, bigOf(float64(2*n+1))))
		}
		return sum
	}
	return bigFloat().Sub(bigFloat().Mul(bigOf(16), inverse(5)), bigFloat().Mul(bigOf(4), inverse(239)))
}

// §2.13: the left tail of the normal distribution agrees with a series in 400 bits.
func TestPhi(t *testing.T) {
	for _, x := range []float64{-13, -10, -8, -5.5, -3, -1, -0.25, 0, 0.5, 2, 6} {
		half := bigFloat().Quo(bigOf(x), bigFloat().Sqrt(bigOf(2)))
		at, _ := half.Float64()
		want, _ := bigFloat().Quo(bigFloat().Add(bigOf(1), bigErf(at)), bigOf(2)).Float64()
		checkNear(t, "Φ", phi(x), want, 1e-12*max(1, x*x))
	}
}

// Student's tail for an even number of degrees is a finite sum (Abramowitz and Stegun 26.7.4): ½ −
// ½·sin(θ)·Σ (2j−1)!!/(2j)!!·cos²ʲ(θ), j < ν/2, with tan(θ) = t/√ν. It is computed in 400 bits, so
// that the tails do not cancel.
func studentSum(t float64, nu int) float64 {
	square := bigFloat().Mul(bigOf(t), bigOf(t))
	total := bigFloat().Add(square, bigOf(float64(nu)))
	cos2 := bigFloat().Quo(bigOf(float64(nu)), total)
	sin := bigFloat().Sqrt(bigFloat().Quo(square, total))
	term, sum := bigOf(1), bigFloat()
	for j := 1; j <= nu/2; j++ {
		sum.Add(sum, term)
		term.Mul(term, cos2).Mul(term, bigOf(float64(2*j-1))).Quo(term, bigOf(float64(2*j)))
	}
	tail := bigFloat().Sub(bigOf(1), sin.Mul(sin, sum))
	out, _ := tail.Quo(tail, bigOf(2)).Float64()
	return out
}

// §2.13: p-values are exact to 10⁻⁶ down to 10⁻³⁰⁰, and their quantiles return the original values.
func TestStudent(t *testing.T) {
	for _, nu := range []int{4, 10, 50, 1000, 20_000} {
		for _, at := range []float64{0.01, 0.5, 1.96, 5, 12, 20} {
			want := studentSum(at, nu)
			if want < 1e-90 {
				continue // beyond the precision of 400 bits
			}
			checkNear(t, "tail", studentTail(at, float64(nu)), want, 1e-8)
			checkNear(t, "quantile", studentQuantile(want, float64(nu)), at, 1e-7)
		}
	}
	// Far tails with many degrees of freedom, for which distuv's quantile is wrong (§2.13).
	// Cornish-Fisher's expansion is exact to its next term there.
	const z7 = 5.199337582192817 // Φ(−5.199…) = 10⁻⁷
	checkNear(t, "10⁻⁷ at 50,000", studentQuantile(1e-7, 50_000), z7+(z7*z7*z7+z7)/(4*50_000), 1e-7)
	checkNear(t, "10⁻⁷ at 10⁶", studentQuantile(1e-7, 1e6), z7+(z7*z7*z7+z7)/(4e6), 1e-9)
	checkNear(t, "10⁻⁷ at 10⁹", studentQuantile(1e-7, 1e9), z7, 1e-9)
	if p := studentTail(38, 1e6); p <= 0 || p > 1e-300 {
		t.Errorf("38 at 10⁶: %v", p)
	}
}

// The tail of χ² with an even number of degrees is finite: exp(−x/2)·Σ (x/2)ʲ/j!. With one degree
// it is that of the normal distribution.
func TestChiSquared(t *testing.T) {
	for _, x := range []float64{0.1, 1, 10, 100, 1000} {
		checkNear(t, "1 degree", chiSquaredTail(x, 1), 2*phi(-math.Sqrt(x)), 1e-11)
		sum, term := 0.0, 1.0
		for j := range 3 {
			sum += term
			term *= x / 2 / float64(j+1)
		}
		checkNear(t, "6 degrees", chiSquaredTail(x, 6), math.Exp(-x/2)*sum, 1e-11)
	}
}
