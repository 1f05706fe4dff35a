package guarded

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/bunting-flags/bunting/capture/experiments"
)

// fullRollout returns the rollout of experiments.md §4.14: 20,000 entities at each of the first two
// steps, and 10,000 at each of the following ones.
func fullRollout(effects ...float64) *Simulation {
	steps := ladder(1, 5, 25, 50, 100)
	for i, seconds := range []int64{86_400, 86_400, 43_200, 43_200, 3600} {
		steps[i].Dwell = seconds
	}
	return &Simulation{
		Rollout:       &Rollout{Steps: steps, Alpha: 0.05, MinimumExposures: 100, Guardrails: []Guard{{Decrease: true}, {}}},
		Distributions: []Distribution{{Kind: "rate", Mean: 0.02}, {Kind: "rate", Mean: 0.2}},
		PerDay:        20_000, Effects: effects, Runs: simulatedRuns(300), Seed: 17,
	}
}

// experiments.md §4.14: of 10,000 harmless rollouts, 127 are rolled back, by steps 1, 23, 33 and
// 70, and 3 are held for their sample ratio. Doubled errors are found.
func TestSimulation_FullRollouts(t *testing.T) {
	s := fullRollout(0, 1)
	found, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	harmless, harm := found.Effects[0], found.Effects[1]
	band := 4 * math.Sqrt(0.0127*(1-0.0127)/float64(s.Runs))
	if harmless.Rate < 0.0127-band || harmless.Rate > 0.0127+band || harmless.Upper < harmless.Rate || harmless.Upper > 0.05 {
		t.Errorf("harmless: %v are turned back, at most %v; want 0.0127 within %v", harmless.Rate, harmless.Upper, band)
	}
	if found.FalseHolds > 0.005 {
		t.Errorf("held for their ratio: %v", found.FalseHolds)
	}
	sum := 0.0
	for _, share := range harmless.ByStep {
		sum += share
	}
	if math.Abs(sum-harmless.Rate) > 1e-9 || harmless.ByStep[4] != 0 || len(harmless.ByStep) != 5 {
		t.Errorf("by step: %v of %v", harmless.ByStep, harmless.Rate)
	}
	if harm.Rate < 0.99 || harm.Entities == nil || *harm.Entities > 50_000 || *harm.Seconds > 3*86_400 {
		t.Errorf("doubled errors: %+v", harm)
	}
	again, err := fullRollout(0, 1).Run(t.Context())
	if err != nil || !reflect.DeepEqual(found, again) {
		t.Errorf("the same seed gives %+v, and %+v, %v", found, again, err)
	}
}

func TestSimulation_Canceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fullRollout(0).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled run ends with %v", err)
	}
}

// With 0 of n, the upper bound is 1 − 0.025^(1/n).
func TestUpperShare(t *testing.T) {
	for _, c := range []struct {
		k, n int
		want float64
	}{{0, 10, 1 - math.Pow(0.025, 0.1)}, {10, 10, 1}, {0, 1, 0.975}} {
		if got := upperShare(c.k, c.n); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%d of %d: %v, want %v", c.k, c.n, got, c.want)
		}
	}
}

// The distributions have the right means and variances, whether values are drawn one by one or by
// the thousand.
func TestLaws(t *testing.T) {
	for name, c := range map[string]struct {
		law            Distribution
		mean, variance float64
	}{
		"rate":       {Distribution{"rate", 0.2, 0}, 0.2, 0.16},
		"high rate":  {Distribution{"rate", 0.9, 0}, 0.9, 0.09},
		"mean":       {Distribution{"mean", 10, 4}, 10, 16},
		"count":      {Distribution{"count", 0.5, 0}, 0.5, 0.5},
		"high count": {Distribution{"count", 50, 0}, 50, 50},
	} {
		for _, piece := range []int64{1, 40, 20_000} {
			rng, s := rand.New(rand.NewPCG(17, 5)), experiments.Sample{}
			for s.N < 200_000 {
				c.law.draw(rng, &s, piece, 1)
			}
			n := float64(s.N)
			mean := s.Sum / n
			variance := (s.Squares - n*mean*mean) / (n - 1)
			if math.Abs(mean-c.mean) > 5*math.Sqrt(c.variance/n) || math.Abs(variance/c.variance-1) > 0.03 {
				t.Errorf("%s by %d: mean %v, variance %v; want %v, %v", name, piece, mean, variance, c.mean, c.variance)
			}
		}
	}
}
