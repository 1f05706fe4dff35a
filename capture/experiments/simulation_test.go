package experiments

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// The simulations draw the sufficient statistics of a variant directly, by their exact
// distributions (Cochran, Bartlett), so that 10,000 experiments run in part of a second. Seeds are
// fixed. Bands are four standard errors of the expected share.

// long runs ten times as many simulations of experiments. They are random with fixed seeds, and their
// bounds allow for the deviations that are expected with that number of runs.
var long = flag.Bool("long", false, "simulate ten times as many experiments")

func simulatedRuns(few int) int {
	if *long {
		return 10 * few
	}
	return few
}

// checkInBand reports a share of runs that is too far from the expected one.
func checkInBand(t *testing.T, what string, found, runs int, law float64) {
	t.Helper()
	if share, band := float64(found)/float64(runs), 4*math.Sqrt(law*(1-law)/float64(runs)); math.Abs(share-law) > band {
		t.Errorf("%s: %.4f of %d, the law says %.4f ± %.4f", what, share, runs, law, band)
	}
}

// draw adds n entities with normal values to a sample.
func (s *Sample) draw(rng *rand.Rand, n int64, mean, deviation float64) {
	sum := float64(n)*mean + math.Sqrt(float64(n))*deviation*rng.NormFloat64()
	spread := distuv.ChiSquared{K: float64(n - 1), Src: rng}.Rand() * deviation * deviation
	s.N, s.Sum, s.Squares = s.N+n, s.Sum+sum, s.Squares+spread+sum*sum/float64(n)
}

// drawPaired returns a sample with a covariate. Value and covariate have variance 1 and the given
// correlation.
func drawPaired(rng *rand.Rand, n int64, correlation float64) *Sample {
	rest := math.Sqrt(1 - correlation*correlation)
	a := math.Sqrt(distuv.ChiSquared{K: float64(n - 1), Src: rng}.Rand())
	b, c := rng.NormFloat64(), math.Sqrt(distuv.ChiSquared{K: float64(n - 2), Src: rng}.Rand())
	x, own := a, correlation*a+rest*b // rows of the triangular matrix
	size := float64(n)
	meanX := rng.NormFloat64() / math.Sqrt(size)
	meanV := correlation*meanX + rest*rng.NormFloat64()/math.Sqrt(size)
	return &Sample{
		N: n, Sum: size * meanV, Squares: own*own + rest*rest*c*c + size*meanV*meanV,
		Before: size * meanX, BeforeSquares: x*x + size*meanX*meanX, BeforeProduct: x*own + size*meanX*meanV,
	}
}

// The share of significant A/A experiments is the level of the test: 5 % for frequentist tests, and
// 10 % for Bayesian tests, with 95 % on each side (experiments.md §2.5, §2.8).
func TestSimulated_FalsePositives(t *testing.T) {
	simulated := simulatedRuns(1000)
	bayesian := NewTest()
	relative, absolute := frequentist(), frequentist()
	absolute.Absolute = true
	for name, of := range map[string]struct {
		test Test
		kind Kind
		law  float64
	}{
		"Welch, relative": {relative, Mean, 0.05}, "Welch, absolute": {absolute, Mean, 0.05},
		"shares": {absolute, Funnel, 0.05}, "Bayesian": {bayesian, Mean, 0.1}, "Bayesian shares": {bayesian, Funnel, 0.1},
	} {
		rng, found := rand.New(rand.NewPCG(17, 1)), 0
		for range simulated {
			var v, b Sample
			if of.kind == Funnel {
				v.N, b.N = 3000, 9000
				v.Sum = distuv.Binomial{N: 3000, P: 0.2, Src: rng}.Rand()
				b.Sum = distuv.Binomial{N: 9000, P: 0.2, Src: rng}.Rand()
				v.Squares, b.Squares = v.Sum, b.Sum
			} else {
				v.draw(rng, 300, 10, 4)
				b.draw(rng, 900, 10, 4)
			}
			c, ok := of.test.Compare(of.kind, &v, &b)
			if !ok {
				t.Fatal("no statistics")
			}
			if c.Significant {
				found++
			}
		}
		checkInBand(t, name, found, simulated, of.law)
	}
}

// Evaluating a test with a fixed end every day produces false positives. A sequential test may be
// evaluated every day and has at most 5 % (experiments.md §2.6).
func TestSimulated_DailyPeeking(t *testing.T) {
	simulated := float64(simulatedRuns(1000))
	sequential := frequentist()
	sequential.Sequential, sequential.Tuning = true, 1000
	countPeeks := func(test Test, runs int) (found int) {
		rng := rand.New(rand.NewPCG(17, 2))
		for range runs {
			var v, b Sample
			for range 30 {
				v.draw(rng, 50, 10, 4)
				b.draw(rng, 50, 10, 4)
				if c, ok := test.Compare(Mean, &v, &b); ok && c.Significant {
					found++
					break
				}
			}
		}
		return found
	}
	if found := countPeeks(sequential, int(simulated)); float64(found) > 0.05*simulated+4*math.Sqrt(0.05*0.95*simulated) {
		t.Errorf("sequential: %d of %v", found, simulated)
	}
	// Armitage, McPherson and Rowe (1969): with 20 evaluations a quarter, with 50 a third.
	const few = 1000
	if found := countPeeks(frequentist(), few); found < 250*few/1000 || found > 330*few/1000 {
		t.Errorf("fixed end, looked at daily: %d of %d, by the law between those of 20 and 50 looks", found, few)
	}
}

// With covariates, the error is multiplied by √(1−ρ²), and A/A experiments have the same rate of
// false positives (experiments.md §2.3).
func TestSimulated_Covariates(t *testing.T) {
	const correlation, n = 0.8, 500
	runs := simulatedRuns(1000)
	plain, adjusted := frequentist(), frequentist()
	plain.Absolute, adjusted.Absolute, adjusted.Covariates = true, true, true
	rng, found, shrunk := rand.New(rand.NewPCG(17, 3)), 0, 0.0
	for range runs {
		v, b := drawPaired(rng, n, correlation), drawPaired(rng, n, correlation)
		c, ok := adjusted.Compare(Mean, v, b)
		without, ok2 := plain.Compare(Mean, v, b)
		if !ok || !ok2 {
			t.Fatal("no statistics")
		}
		if c.Significant {
			found++
		}
		shrunk += c.Error / without.Error / float64(runs)
	}
	checkInBand(t, "CUPED", found, runs, 0.05)
	checkNear(t, "the error, of that without", shrunk, math.Sqrt(1-correlation*correlation), 0.01)
}

// The rate at which a true effect is found is that of Power, and it is 80 % with the size of a plan
// (experiments.md §2.12: 16 is for 80 % at 5 %; (1.96+0.84)² · 2 is 15.7).
func TestSimulated_Power(t *testing.T) {
	const deviation, mean = 4.0, 10.0
	runs := simulatedRuns(500)
	test := frequentist()
	test.Absolute = true
	countSignificant := func(n int64, effect float64) (found int) {
		rng := rand.New(rand.NewPCG(17, 4))
		for range runs {
			var v, b Sample
			v.draw(rng, n, mean+effect, deviation)
			b.draw(rng, n, mean, deviation)
			if c, ok := test.Compare(Mean, &v, &b); ok && c.Significant {
				found++
			}
		}
		return found
	}
	const n = 2000
	standardError := deviation * math.Sqrt(2.0/n)
	// Φ(Δ/σ − 1.959964) + Φ(−Δ/σ − 1.959964), by tables of Φ.
	for errors, law := range map[float64]float64{0: 0.05, 1: 0.17008, 2: 0.51601, 2.8: 0.79956, 4: 0.97932} {
		checkNear(t, "the law of power", power(errors*standardError, standardError, 0.05, 1), law, 1e-4)
		checkInBand(t, "found", countSignificant(n, errors*standardError), runs, law)
	}
	plan := Plan{Kind: Mean, Baseline: mean, Variance: new(deviation * deviation), Effect: 5, Variants: 2}
	size, ok := plan.Size()
	if !ok {
		t.Fatal("no size")
	}
	checkInBand(t, "found with the size of a plan", countSignificant(size/2, mean*0.05), runs, 0.8074) // Φ(√(16/2) − 1.959964)
}

// Of families of ten metrics without an effect, at most 5 % have a significant one: 1 − (1 −
// 0.05/10)¹⁰ with Holm, 5 % with Benjamini and Hochberg (Simes' equality), and 40 % without a
// correction (experiments.md §2.11).
func TestSimulated_Families(t *testing.T) {
	simulated := simulatedRuns(10_000)
	raw := func(p []float64) []float64 { return p }
	for name, of := range map[string]struct {
		adjust func([]float64) []float64
		law    float64
	}{"Holm": {Holm, 1 - math.Pow(0.995, 10)}, "Benjamini-Hochberg": {BenjaminiHochberg, 0.05}, "none": {raw, 1 - math.Pow(0.95, 10)}} {
		rng, found := rand.New(rand.NewPCG(17, 5)), 0
		for range simulated {
			p := make([]float64, 10)
			for i := range p {
				p[i] = rng.Float64()
			}
			least := 1.0
			for _, adjusted := range of.adjust(p) {
				least = min(least, adjusted)
			}
			if least < 0.05 {
				found++
			}
		}
		checkInBand(t, name, found, simulated, of.law)
	}
}

// Mismatch reports one in 1,000 A/A experiments with correct shares (experiments.md §2.10).
func TestSimulated_Mismatch(t *testing.T) {
	simulated := simulatedRuns(10_000)
	rng, found := rand.New(rand.NewPCG(17, 6)), 0
	for range simulated {
		first := distuv.Binomial{N: 5000, P: 0.5, Src: rng}.Rand()
		second := distuv.Binomial{N: 5000 - first, P: 0.6, Src: rng}.Rand()
		p, _, ok := Mismatch([]int64{int64(first), int64(second), int64(5000 - first - second)}, []float64{50, 30, 20})
		if !ok {
			t.Fatal("no statistics")
		}
		if p < 0.001 {
			found++
		}
	}
	checkInBand(t, "mismatch", found, simulated, 0.001)
}
