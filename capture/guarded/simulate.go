package guarded

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/mathext"

	"github.com/bunting-flags/bunting/capture/experiments"
)

// Distribution is the distribution of a metric's values.
type Distribution struct {
	// Kind is rate for values of 0 and 1, mean for a normal distribution with the standard
	// deviation SD, or count for a Poisson distribution.
	Kind string
	// Mean is that of control. For a rate, it is between 0 and 1.
	Mean, SD float64
}

// Simulation computes how a rollout would respond to harm of several sizes (§4.10).
type Simulation struct {
	Rollout       *Rollout
	Distributions []Distribution // of the guardrails, in their order
	PerDay        float64        // entities in both arms per day
	Delay         float64        // seconds from the beginning of a step until the first entity is exposed
	// Effects are the sizes of harm, as shares of control. Runs is the number of simulated rollouts
	// for each, and Seed determines their random numbers.
	Effects []float64
	Runs    int
	Seed    uint64
}

// SimulationResult is the result of a Simulation.
type SimulationResult struct {
	Effects []simulatedEffect `json:"effects"`
	// FalseHolds is the share of the runs that were held for their sample ratio, which was correct
	// in all of them.
	FalseHolds float64 `json:"srm_false_hold_rate"`
}

// simulatedEffect is the result for one size of harm. Rates are shares of the runs.
type simulatedEffect struct {
	Effect float64 `json:"effect"`
	Rate   float64 `json:"rollback_rate"`
	Upper  float64 `json:"rollback_rate_upper"` // upper bound of the 95 % interval of Clopper and Pearson
	// Entities and Seconds are medians over the runs that were rolled back: the entities that were
	// exposed before the rollback, and the time since the start. They are null if no run was rolled
	// back.
	Entities *float64 `json:"median_entities"`
	Seconds  *float64 `json:"median_seconds"`
	// ByStep is the rate of rollbacks for each step.
	ByStep []float64 `json:"by_step"`
}

// lookFactor is the ratio between the numbers of entities at two successive evaluations.
const lookFactor = 1.02

// Run runs the simulation. Its result is the same for equal Simulations. It returns the error of
// ctx if ctx ends.
func (s *Simulation) Run(ctx context.Context) (*SimulationResult, error) {
	out, mismatches := &SimulationResult{}, 0
	for i, effect := range s.Effects {
		rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		found := simulatedEffect{Effect: effect, ByStep: make([]float64, len(s.Rollout.Steps))}
		var entities, seconds []float64
		for range s.Runs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			runtime.Gosched() // yields to other goroutines, such as those of requests
			r := s.simulateRollout(rng, effect)
			if r.mismatch {
				mismatches++
			}
			if r.step >= 0 {
				found.ByStep[r.step]++
				entities, seconds = append(entities, r.entities), append(seconds, r.seconds)
			}
		}
		n := float64(s.Runs)
		for step := range found.ByStep {
			found.ByStep[step] /= n
		}
		found.Rate, found.Upper = float64(len(entities))/n, upperShare(len(entities), s.Runs)
		found.Entities, found.Seconds = median(entities), median(seconds)
		out.Effects = append(out.Effects, found)
	}
	out.FalseHolds = float64(mismatches) / float64(s.Runs*len(s.Effects))
	return out, nil
}

// median returns the median of a list, which it sorts, or nil if the list is empty.
func median(list []float64) *float64 {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	m := (list[(len(list)-1)/2] + list[len(list)/2]) / 2
	return &m
}

// upperShare returns the upper bound of the 95 % interval of Clopper and Pearson for k of n.
func upperShare(k, n int) float64 {
	if k == n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(k+1), float64(n-k), 0.975)
}

// simulatedRun is one simulated rollout. step is the index of the step that was rolled back, or -1.
type simulatedRun struct {
	step              int
	entities, seconds float64
	mismatch          bool
}

// simulateRollout simulates all steps until one is rolled back.
func (s *Simulation) simulateRollout(rng *rand.Rand, effect float64) simulatedRun {
	out := simulatedRun{step: -1}
	for step := range s.Rollout.Steps {
		if s.Rollout.Steps[step].Percent >= 100 {
			break
		}
		if s.simulateStep(rng, effect, step, &out) {
			out.step = step
			break
		}
	}
	return out
}

// simulateStep simulates one step, and reports whether it was rolled back. The step lasts for its
// dwell time, and until both arms have the minimum number of exposures.
func (s *Simulation) simulateStep(rng *rand.Rand, effect float64, step int, out *simulatedRun) bool {
	r := s.Rollout
	p, dwell, perSecond := r.Steps[step].Percent/100, float64(r.Steps[step].Dwell), s.PerDay/86_400
	e := Evidence{Metrics: make([]Measurement, len(r.Guardrails)+len(r.Signals))}
	end := int64(perSecond * max(0, dwell-s.Delay))
	n := int64(0)
	for {
		tooFew := min(e.Exposed.Treatment, e.Exposed.Control) < r.MinimumExposures
		if n >= end && !tooFew {
			break
		}
		more := max(1, int64(float64(n)*(lookFactor-1)))
		if tooFew { // the first evaluation is when there are enough
			more = max(more, int64(float64(r.MinimumExposures-min(e.Exposed.Treatment, e.Exposed.Control))/2/min(p, 1-p)))
		}
		if n < end {
			more = min(more, end-n)
		}
		s.addEntities(rng, &e, more, p, effect)
		n += more
		if min(e.Exposed.Treatment, e.Exposed.Control) < r.MinimumExposures {
			continue
		}
		e.Matured = e.Exposed.Arms
		found := r.Evaluate(step, &e)
		out.mismatch = out.mismatch || found.SRM.Mismatch
		if hasRegression(found.Guardrails) {
			out.entities += float64(n)
			out.seconds += s.Delay + float64(n)/perSecond
			return true
		}
	}
	out.entities += float64(n)
	out.seconds += max(dwell, s.Delay+float64(n)/perSecond)
	return false
}

// addEntities adds n entities with random values to the arms.
func (s *Simulation) addEntities(rng *rand.Rand, e *Evidence, n int64, p, effect float64) {
	treated := binomial(rng, n, p)
	e.Exposed.Treatment += treated
	e.Exposed.Control += n - treated
	for i := range s.Rollout.Guardrails {
		harmed := 1 - effect
		if s.Rollout.Guardrails[i].Decrease {
			harmed = 1 + effect
		}
		s.Distributions[i].draw(rng, &e.Metrics[i].Treatment, treated, harmed)
		s.Distributions[i].draw(rng, &e.Metrics[i].Control, n-treated, 1)
	}
}

// The limits up to which random numbers are drawn exactly.
const (
	// maxIndividualDraws is the greatest number of values that are drawn one by one. The sum of
	// more values is drawn from a normal distribution.
	maxIndividualDraws = 10_000
	// minNormalMean is the greatest mean of a binomial distribution that is drawn exactly.
	minNormalMean = 1000
)

// draw adds n values to a sample. factor multiplies the mean of the distribution.
func (l *Distribution) draw(rng *rand.Rand, to *experiments.Sample, n int64, factor float64) {
	mean, deviation := l.Mean*factor, l.SD
	switch {
	case n == 0:
		return
	case l.Kind == "rate":
		k := float64(binomial(rng, n, min(max(mean, 0), 1)))
		to.N, to.Sum, to.Squares = to.N+n, to.Sum+k, to.Squares+k
		return
	case l.Kind == "count" && n <= maxIndividualDraws && mean <= 30:
		for range n {
			v := poisson(rng, max(mean, 0))
			to.Sum, to.Squares = to.Sum+v, to.Squares+v*v
		}
		to.N += n
		return
	case l.Kind == "count":
		mean = max(mean, 0)
		deviation = math.Sqrt(mean)
	}
	sampleMean := mean + deviation*rng.NormFloat64()/math.Sqrt(float64(n))
	to.N += n
	to.Sum += sampleMean * float64(n)
	to.Squares += sampleMean*sampleMean*float64(n) + deviation*deviation*chiSquare(rng, n-1)
}

// binomial returns a random number of n successes with probability p. It adds up the distances
// between successes, or uses the normal distribution if there are many.
func binomial(rng *rand.Rand, n int64, p float64) int64 {
	switch {
	case p <= 0 || n == 0:
		return 0
	case p > 0.5:
		return n - binomial(rng, n, 1-p)
	}
	if mean := float64(n) * p; mean > minNormalMean {
		return min(max(int64(math.Round(mean+math.Sqrt(mean*(1-p))*rng.NormFloat64())), 0), n)
	}
	k, logMiss := int64(0), math.Log1p(-p)
	for at := math.Floor(-rng.ExpFloat64() / logMiss); at < float64(n); at += 1 + math.Floor(-rng.ExpFloat64()/logMiss) {
		k++
	}
	return k
}

// poisson returns a random Poisson number by Knuth's method, which counts exponential intervals.
func poisson(rng *rand.Rand, mean float64) float64 {
	k := 0.0
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		k++
	}
	return k
}

// chiSquare returns the sum of the squares of n random normal values. For a large n, it uses the
// approximation of Wilson and Hilferty.
func chiSquare(rng *rand.Rand, n int64) (sum float64) {
	if n > 50 {
		v := 2 / (9 * float64(n))
		root := 1 - v + math.Sqrt(v)*rng.NormFloat64()
		return max(0, float64(n)*root*root*root)
	}
	for range n {
		v := rng.NormFloat64()
		sum += v * v
	}
	return sum
}
