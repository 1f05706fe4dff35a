package experiments

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// Distribution is how the values of a metric are spread.
type Distribution struct {
	// Kind is rate, of zeroes and ones; mean, of a normal law with the deviation SD; or
	// count, of Poisson's.
	Kind string
	// Mean is that of control: of a rate between 0 and 1.
	Mean, SD float64
}

// Simulation is what a rollout would do to harms of some sizes (§4.10).
type Simulation struct {
	Rollout       *Rollout
	Distributions []Distribution // of the guardrails, in their order
	PerDay        float64        // how many entities come to both arms in a day
	Delay         float64        // seconds from the beginning of a step until the first counts
	Effects       []float64
	Runs          int
	Seed          uint64
}

// SimulationResult is what came of it.
type SimulationResult struct {
	Effects []SimulatedEffect `json:"effects"`
	// FalseHolds is how many of the runs were held for their sample ratio, as a share:
	// nothing was wrong with it in any.
	FalseHolds float64 `json:"srm_false_hold_rate"`
}

// SimulatedEffect is what came of one size of harm, in shares of the runs.
type SimulatedEffect struct {
	Effect float64 `json:"effect"`
	Rate   float64 `json:"rollback_rate"`
	Upper  float64 `json:"rollback_rate_upper"` // of Clopper's and Pearson's interval of 95 %
	// Entities and Seconds are the medians of those that were turned back, of entities
	// that counted by then and from the start; null where none was.
	Entities *float64  `json:"median_entities"`
	Seconds  *float64  `json:"median_seconds"`
	ByStep   []float64 `json:"by_step"`
}

// lookFactor is how many more entities there are from one look to the next.
const lookFactor = 1.02

// Run simulates: the same for the same Simulation. It ends early with the context's error.
func (s *Simulation) Run(ctx context.Context) (*SimulationResult, error) {
	out, mismatches := &SimulationResult{}, 0
	for i, effect := range s.Effects {
		rng := rand.New(rand.NewPCG(s.Seed, uint64(i)))
		found := SimulatedEffect{Effect: effect, ByStep: make([]float64, len(s.Rollout.Steps))}
		var entities, seconds []float64
		for range s.Runs {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			runtime.Gosched() // others come first
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

func median(list []float64) *float64 {
	if len(list) == 0 {
		return nil
	}
	slices.Sort(list)
	m := (list[(len(list)-1)/2] + list[len(list)/2]) / 2
	return &m
}

// upperShare is the upper end of Clopper's and Pearson's interval of 95 %.
func upperShare(k, n int) float64 {
	if k == n {
		return 1
	}
	return mathext.InvRegIncBeta(float64(k+1), float64(n-k), 0.975)
}

// ascent is one simulated rollout; step is where it was turned back, -1 for nowhere.
type ascent struct {
	step              int
	entities, seconds float64
	mismatch          bool
}

func (s *Simulation) simulateRollout(rng *rand.Rand, effect float64) ascent {
	out := ascent{step: -1}
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

// simulateStep takes one step, and reports whether it was turned back. It lasts as long as its
// dwell, and until both arms have as many as are needed.
func (s *Simulation) simulateStep(rng *rand.Rand, effect float64, step int, out *ascent) bool {
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
		if tooFew { // the first look is where there are enough
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

// addEntities adds entities to the arms, with their values.
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

const (
	// maxIndividualDraws is up to how many values a law is drawn value by value: the sums of more are
	// normal enough.
	maxIndividualDraws = 10_000
	// minNormalMean is up to which expectation a binomial is drawn exactly.
	minNormalMean = 1000
)

// draw adds n values to a sample; times is what their mean is of the law's.
func (l *Distribution) draw(rng *rand.Rand, to *Sample, n int64, factor float64) {
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

// binomial is how many of n have what each has with probability p. It counts the distances
// between them; of many it takes the normal law.
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

// poisson is by Knuth: as many as fit into a time.
func poisson(rng *rand.Rand, mean float64) float64 {
	k := 0.0
	for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
		k++
	}
	return k
}

// chiSquare is the sum of n squares of normal values; of many by Wilson and Hilferty.
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
