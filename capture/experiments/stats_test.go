package experiments

import (
	"math"
	"testing"
)

// checkNear reports numbers that differ by more than a part of the expected value.
func checkNear(t *testing.T, what string, got, want, part float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > part*max(math.Abs(want), 1e-12) {
		t.Errorf("%s: %.12g, want %.12g", what, got, want)
	}
}

func frequentist() Test { t := NewTest(); t.Frequentist = true; return t }

// The figures of experiments.md §5, which the tests of PostHog and GrowthBook publish, with the
// published number of digits.
func TestUnitFigures(t *testing.T) {
	test := Sample{N: 2461, Sum: 1922.7, Squares: 94698.29}
	baseline := Sample{N: 2507, Sum: 1196.87, Squares: 37377.9767}

	welch := frequentist()
	got, ok := welch.Compare(Mean, &test, &baseline)
	if !ok || got.Significant {
		t.Fatalf("%+v, %v", got, ok)
	}
	checkNear(t, "Welch: effect", got.Effect, 0.63646, 2e-5)
	checkNear(t, "Welch: lower", got.Interval[0], -0.0875, 1e-3)
	checkNear(t, "Welch: upper", got.Interval[1], 1.36048, 1e-5)
	checkNear(t, "Welch: p", got.P, 0.08487, 1e-4)
	checkNear(t, "Welch: degrees", got.Degrees, 4105.070, 1e-6)

	bayes := NewTest()
	got, _ = bayes.Compare(Mean, &test, &baseline)
	checkNear(t, "Bayes: lower", got.Interval[0], -0.0873, 1e-3)
	checkNear(t, "Bayes: upper", got.Interval[1], 1.36026, 1e-5)
	checkNear(t, "Bayes: chance", got.Chance, 0.95759, 1e-5)

	sequential := frequentist()
	sequential.Sequential, sequential.Tuning = true, 1000
	got, _ = sequential.Compare(Mean, &Sample{N: 3500, Sum: 2500, Squares: 135000}, &Sample{N: 3000, Sum: 1400, Squares: 52000})
	checkNear(t, "sequential: effect", got.Effect, 0.53061, 1e-5)
	checkNear(t, "sequential: lower", got.Interval[0], -0.53230, 1e-5)
	checkNear(t, "sequential: upper", got.Interval[1], 1.59353, 1e-5)
	checkNear(t, "sequential: p", got.P, 1, 0)

	sequential.Tuning = 5000
	got, _ = sequential.Compare(Funnel, &Sample{N: 3500, Sum: 2600}, &Sample{N: 3050, Sum: 1450})
	checkNear(t, "shares: effect", got.Effect, 0.56256, 1e-5)
	checkNear(t, "shares: lower", got.Interval[0], 0.46064, 1e-5)
	checkNear(t, "shares: upper", got.Interval[1], 0.66448, 1e-5)
	checkNear(t, "shares: p", got.P, 6e-56, 0.1)
	if !got.Significant {
		t.Error("not significant")
	}

	before := Test{Frequentist: true, Level: 0.95, Covariates: true}
	variant := Sample{N: 2800, Sum: 205, Squares: 510, Before: 110, BeforeSquares: 380, BeforeProduct: -8}
	old := Sample{N: 2801, Sum: 280, Squares: 560, Before: 195, BeforeSquares: 390, BeforeProduct: -18}
	theta := pooledTheta(&variant, &old)
	checkNear(t, "CUPED: theta", theta, -0.069566052, 1e-8)
	plain, _ := variant.estimate(Mean)
	checkNear(t, "CUPED: mean", variant.adjust(plain, theta).mean, 0.075947238, 1e-8)
	plain, _ = old.estimate(Mean)
	checkNear(t, "CUPED: mean of the baseline", old.adjust(plain, theta).mean, 0.104807347, 1e-8)
	got, _ = before.Compare(Mean, &variant, &old)
	checkNear(t, "CUPED: effect", got.Effect, -0.288704169, 1e-8)
	checkNear(t, "CUPED: lower", got.Interval[0], -0.486775, 1e-5)
	checkNear(t, "CUPED: upper", got.Interval[1], -0.090633, 1e-5)
}

// The one-sided bounds are those of GrowthBook in experiments.md §5. An upper bound is the lower
// bound of the opposite direction.
func TestLowerBound(t *testing.T) {
	variant, baseline := Sample{N: 3461, Sum: 2422.7, Squares: 134698.29}, Sample{N: 3000, Sum: 1396.87, Squares: 52377.9767}
	c := frequentist()
	relative, _ := c.Compare(Mean, &variant, &baseline)
	c.Absolute = true
	absolute, _ := c.Compare(Mean, &variant, &baseline)
	checkNear(t, "relative lower", LowerBound(relative.Effect, relative.Error, 6461, 0.05, 5000), -0.42356454602790883, 1e-9)
	checkNear(t, "relative upper", -LowerBound(-relative.Effect, relative.Error, 6461, 0.05, 5000), 1.4302867177403806, 1e-9)
	checkNear(t, "absolute lower", LowerBound(absolute.Effect, absolute.Error, 6461, 0.05, 5000), -0.12656844172804982, 1e-9)
}

// experiments.md §5: the expected loss for δ 0.1, σ 0.05.
func TestBayesianLoss(t *testing.T) {
	test := NewTest()
	c := Comparison{Effect: 0.1, Error: 0.05}
	test.bayesian(&c)
	checkNear(t, "keep", c.Keep, 0.1004245351308, 1e-12)
	checkNear(t, "take", c.Take, 0.0004245351308414, 1e-10)
	test.Decrease = true
	less := Comparison{Effect: 0.1, Error: 0.05}
	test.bayesian(&less)
	if less.Keep != c.Take || less.Take != c.Keep {
		t.Errorf("less is better: %v, %v", less.Keep, less.Take)
	}
}

// experiments.md §5: Holm, Benjamini-Hochberg, and the test of sample ratios.
func TestSeveral(t *testing.T) {
	compare := func(what string, got, want []float64) {
		t.Helper()
		for i := range want {
			checkNear(t, what, got[i], want[i], 1e-12)
		}
	}
	compare("Holm", Holm([]float64{0.01, 0.04, 0.03, 0.005, 0.55, 0.6}), []float64{0.05, 0.12, 0.12, 0.03, 1, 1})
	compare("Benjamini-Hochberg", BenjaminiHochberg([]float64{0.898, 0.138, 0.007, 0.964, 0.538, 0.006, 0.138}),
		[]float64{0.964, 0.2415, 0.0245, 0.964, 0.7532, 0.0245, 0.2415})
	p, expected, ok := Mismatch([]int64{1000, 1200}, []float64{50, 50})
	if !ok || expected[0] != 1100 || expected[1] != 1100 {
		t.Errorf("expected %v, %v", expected, ok)
	}
	checkNear(t, "mismatch", p, 0.000020079, 1e-4)
	for what, c := range map[string]struct {
		observed []int64
		shares   []float64
	}{
		"99 entities":        {[]int64{50, 49}, []float64{1, 1}},
		"one variant":        {[]int64{500}, []float64{1}},
		"one with a share":   {[]int64{500, 0}, []float64{1, 0}},
		"none has any share": {[]int64{500, 500}, []float64{0, 0}},
	} {
		if _, _, ok := Mismatch(c.observed, c.shares); ok {
			t.Errorf("%s: there is an answer", what)
		}
	}
	// Variants without a share are ignored, whatever their count is.
	if p, expected, _ := Mismatch([]int64{100, 7, 100}, []float64{1, 0, 1}); p != 1 || expected[1] != 0 {
		t.Errorf("%v, %v", p, expected)
	}
}

// §2.11: the interval of an adjusted p-value touches 0 exactly if the p-value is alpha.
func TestAdjusted(t *testing.T) {
	i, ok := AdjustedInterval(0.3, 0.05, 0.05)
	if !ok {
		t.Fatal("no interval")
	}
	checkNear(t, "lower", i[0]+1, 1, 1e-12)
	checkNear(t, "upper", i[1], 0.6, 1e-12)
	if _, ok := AdjustedInterval(0.3, 0.9991, 0.05); ok {
		t.Error("an interval that says nothing")
	}
}

// §2.2 to §2.5, §2.8: without enough data there are no statistics.
func TestCompare_NoStatistics(t *testing.T) {
	good := Sample{N: 100, Sum: 50, Squares: 50, Below: 100, BelowSquares: 100, Product: 50}
	for what, c := range map[string]struct {
		kind              Kind
		test              Test
		variant, baseline Sample
	}{
		"nobody":                           {Mean, frequentist(), Sample{}, good},
		"no variance":                      {Mean, frequentist(), Sample{N: 10, Sum: 10, Squares: 10}, Sample{N: 10, Sum: 10, Squares: 10}},
		"sums that contradict":             {Mean, frequentist(), Sample{N: 10, Sum: 100, Squares: 10}, good},
		"more came through than there are": {Funnel, frequentist(), Sample{N: 10, Sum: 11}, good},
		"a share of nothing":               {Mean, frequentist(), good, Sample{N: 100, Squares: 50}},
		"a share of less than nothing":     {Mean, NewTest(), good, Sample{N: 100, Sum: -50, Squares: 50}},
		"a ratio of nothing":               {Ratio, frequentist(), good, Sample{N: 100, Sum: 50, Squares: 50}},
		"four came through":                {Funnel, NewTest(), Sample{N: 100, Sum: 4}, good},
		"four did not":                     {Funnel, NewTest(), good, Sample{N: 100, Sum: 96}},
		"not a number":                     {Mean, frequentist(), Sample{N: 10, Sum: math.NaN(), Squares: 1}, good},
		"no end":                           {Mean, frequentist(), Sample{N: 10, Sum: math.Inf(1), Squares: math.Inf(1)}, good},
	} {
		if got, ok := c.test.Compare(c.kind, &c.variant, &c.baseline); ok {
			t.Errorf("%s: %+v", what, got)
		}
	}
	below := frequentist()
	if got, ok := below.Compare(Mean, &good, &Sample{N: 100, Sum: -50, Squares: 50}); !ok || got.Effect != -2 {
		t.Errorf("a baseline below zero keeps its sign: %+v, %v", got, ok)
	}
}

// §2.13: a small spread around a large mean is exact: n values of 2^19 ± 1 have the mean 2^19 and
// the variance n/(n−1).
func TestVariance_SmallSpread(t *testing.T) {
	const n, at = 1000, 1 << 19
	s := Sample{N: n, Sum: n * at, Squares: n*float64(at)*at + n}
	got, ok := s.estimate(Mean)
	if !ok {
		t.Fatal("no statistics")
	}
	checkNear(t, "variance", got.variance, float64(n)/(n-1), 1e-9)
}

// §2.2: numerators 1, 3 and denominators 3, 1 have equal sums and opposite order: m̄ = d̄ = 2, s_m²
// = s_d² = 2, s_md = −2, so the variance is 2/4 + 4·2/16 − 2·2·(−2)/8 = 2.
func TestVariance_RatioOfEqualSums(t *testing.T) {
	s := Sample{N: 2, Sum: 4, Squares: 10, Below: 4, BelowSquares: 10, Product: 6}
	got, ok := s.estimate(Ratio)
	if !ok || got.mean != 1 || got.variance != 2 {
		t.Errorf("%+v, %v", got, ok)
	}
}

// The power of §2.12 is alpha without an effect, and 80 % with the size of a plan: 16 is about two
// times (1.96 + 0.84)², which is 15.7.
func TestPlan(t *testing.T) {
	checkNear(t, "no effect", power(0, 1, 0.05, 1), 0.05, 1e-9)
	checkNear(t, "one of ten", power(0, 1, 0.05, 10), 0.005, 1e-9)
	for what, c := range map[string]struct {
		plan       Plan
		size, days int64
		sized      bool
	}{
		// The sizes are ⌈16·v/(mde·b)²·k⌉.
		"a funnel":              {Plan{Kind: Funnel, Effect: 50, Variants: 2, PerDay: 100, Baseline: 0.5}, 128, 2, true},                     // 16·0.25/0.0625·2
		"counts":                {Plan{Kind: Mean, Counts: true, Effect: 10, Variants: 3, PerDay: 1000, Baseline: 2}, 4800, 5, true},         // 16·4/0.04·3
		"sums":                  {Plan{Kind: Mean, Effect: 10, Variants: 2, Baseline: 7}, 800, 0, true},                                      // 16·0.25·49/0.49·2
		"a variance of its own": {Plan{Kind: Ratio, Effect: 25, Variants: 2, PerDay: 7, Baseline: 0.5, Variance: new(1.0)}, 2048, 293, true}, // 16·1/0.015625·2
		"a ratio without one":   {Plan{Kind: Ratio, Effect: 10, Variants: 2, PerDay: 7, Baseline: 0.5}, 0, 0, false},
		"a variance of nothing": {Plan{Kind: Mean, Counts: true, Effect: 10, Variants: 2, Baseline: 2, Variance: new(0.0)}, 0, 0, false},
		"no baseline":           {Plan{Kind: Funnel, Effect: 10, Variants: 2, PerDay: 7}, 0, 0, false},
		"an effect of dust":     {Plan{Kind: Funnel, Effect: 1e-12, Variants: 2, PerDay: 7, Baseline: 0.5}, 0, 0, false},
	} {
		size, ok := c.plan.Size()
		if ok != c.sized || ok && size != c.size {
			t.Errorf("%s: %d, %v, want %d, %v", what, size, ok, c.size, c.sized)
		}
		if days, ok := c.plan.Days(size); c.sized && (ok != (c.plan.PerDay > 0) || ok && days != c.days) {
			t.Errorf("%s: %d days, %v, want %d", what, days, ok, c.days)
		}
	}
	// A share of one half, and an effect of a tenth of it: as above, with p(1−p) = ¼ for both
	// variants of half the size each.
	p := Plan{Kind: Funnel, Effect: 10, Variants: 2, Baseline: 0.5}
	size, _ := p.Size()
	if found := power(0.05, math.Sqrt(2*0.25/(float64(size)/2)), 0.05, 1); found < 0.8 || found > 0.82 {
		t.Errorf("%d have the power %v", size, found)
	}
}

// power returns the probability that a true effect with a standard error is significant in a
// two-sided test at alpha, corrected for a number of comparisons (§2.12).
func power(effect, standardError, alpha float64, comparisons int) float64 {
	at, bound := effect/standardError, z(1-alpha/(2*float64(comparisons)))
	return phi(at-bound) + phi(-at-bound)
}
