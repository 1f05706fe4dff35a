package guarded

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// long runs ten or twenty times as many simulations of rollouts. They are random with fixed seeds, and their
// bounds allow for the deviations that are expected with that number of runs.
var long = flag.Bool("long", false, "simulate ten or twenty times as many rollouts")

func simulatedRuns(few int) int {
	if *long {
		return 10 * few
	}
	return few
}

// drawer returns a random value of an entity.
type drawer func(rng *rand.Rand) float64

func rate(p float64) drawer {
	return func(rng *rand.Rand) float64 {
		if rng.Float64() < p {
			return 1
		}
		return 0
	}
}

// poissonOf returns a count whose mean is exponential with mean 0.5, which is a geometric
// distribution (Gamma–Poisson).
func poissonOf(rng *rand.Rand) float64 {
	n := 0.0
	for rng.Float64() < 1.0/3 { // 0.5 / (1 + 0.5)
		n++
	}
	return n
}

// sales returns the value of an entity of which one in ten buys, with a log-normal sum with σ 1.5.
func sales(rng *rand.Rand) float64 {
	if rng.Float64() >= 0.1 {
		return 0
	}
	return math.Exp(1.5 * rng.NormFloat64())
}

// simulatedStep is a simulated step. Entities arrive one by one, and are evaluated whenever their
// number has grown by 0.2 %.
type simulatedStep struct {
	rollout   *Rollout
	step      int
	control   []drawer // by guardrail
	treatment []drawer
	growth    float64
}

// stepOutcome is the result of a step.
type stepOutcome struct {
	at       int64 // entities at the rollback; 0 if there was no rollback
	harmed   []bool
	mismatch bool
}

func (s *simulatedStep) run(rng *rand.Rand, entities int64, stop func(e *Evaluation) bool) (out stepOutcome) {
	p := s.rollout.Steps[s.step].Percent / 100
	e := Evidence{Metrics: make([]Measurement, len(s.control))}
	out.harmed = make([]bool, len(s.control))
	next := int64(1)
	for n := int64(1); n <= entities; n++ {
		treated := rng.Float64() < p
		if treated {
			e.Exposed.Treatment++
		} else {
			e.Exposed.Control++
		}
		for i := range e.Metrics {
			sample, draw := &e.Metrics[i].Control, s.control[i]
			if treated {
				sample, draw = &e.Metrics[i].Treatment, s.treatment[i]
			}
			v := draw(rng)
			sample.N, sample.Sum, sample.Squares = sample.N+1, sample.Sum+v, sample.Squares+v*v
		}
		if n < next || min(e.Exposed.Treatment, e.Exposed.Control) < s.rollout.MinimumExposures {
			continue
		}
		next = max(n+1, int64(float64(n)*(1+s.growth)))
		e.Matured = e.Exposed.Arms
		found := s.rollout.Evaluate(s.step, &e)
		s.rollout.Decide(found, &Situation{Settled: true})
		out.mismatch = out.mismatch || found.SRM.Mismatch
		for i := range found.Guardrails {
			out.harmed[i] = out.harmed[i] || found.Guardrails[i].Regression
		}
		if stop(found) {
			out.at = n
			return out
		}
	}
	return out
}

func isRolledBack(e *Evaluation) bool { return e.Decision == Rollback }

func ladder(percents ...float64) (out []Step) {
	for _, p := range percents {
		out = append(out, Step{Percent: p, Dwell: 3600})
	}
	return out
}

// experiments.md §4.14 (a) and (c): of harmless rollouts, at most alpha are rolled back (1 to 2 %
// are expected), and at most 0.5 % are held for their sample ratio. Each step is evaluated whenever
// the number of its entities has grown by 0.2 %. management/ROLLOUTS.md has the numbers of 10,000.
func TestSimulated_HarmlessRollouts(t *testing.T) {
	t.Parallel()
	runs := 500
	if *long {
		runs = 10_000
	}
	r := &Rollout{
		Steps: ladder(1, 5, 25, 50, 100), Alpha: 0.05, MinimumExposures: 100,
		Guardrails: []Guard{{Name: "errors", Decrease: true}, {Name: "conversion"}},
	}
	s := Simulation{Rollout: r, Distributions: []Distribution{{Kind: "rate", Mean: 0.02}, {Kind: "rate", Mean: 0.2}}}
	rng, held, back := rand.New(rand.NewPCG(17, 4)), 0, 0
	var byStep [4]int
	for range runs {
		step, mismatch := harmlessRollout(&s, rng)
		if step >= 0 {
			back++
			byStep[step]++
		}
		if mismatch {
			held++
		}
	}
	t.Logf("%d harmless rollouts: %d were rolled back, by step %v; %d were held for their sample ratio", runs, back, byStep, held)
	if back == 0 || back > runs*5/100 {
		t.Errorf("%d of %d harmless rollouts were turned back: want about 1.3 %%, at most 5 %%", back, runs)
	}
	if held > runs*5/1000 {
		t.Errorf("%d of %d were held for their sample ratio, want at most 0.5 %%", held, runs)
	}
}

// harmlessRollout simulates the rollout of experiments.md §4.14, without harm. It returns the step
// that was rolled back, or -1, and whether the sample ratio of a step was a mismatch. The entities
// between two evaluations are drawn together.
func harmlessRollout(s *Simulation, rng *rand.Rand) (back int, mismatch bool) {
	const growth = 0.002
	for step, entities := range []int64{20_000, 20_000, 10_000, 10_000} {
		p := s.Rollout.Steps[step].Percent / 100
		e := Evidence{Metrics: make([]Measurement, len(s.Distributions))}
		for n := int64(0); n < entities; {
			more := max(1, int64(float64(n)*growth))
			if missing := s.Rollout.MinimumExposures - min(e.Exposed.Treatment, e.Exposed.Control); missing > 0 {
				more = max(more, int64(float64(missing)/2/min(p, 1-p))) // these are not judged yet
			}
			more = min(more, entities-n)
			s.addEntities(rng, &e, more, p, 0)
			n += more
			if min(e.Exposed.Treatment, e.Exposed.Control) < s.Rollout.MinimumExposures {
				continue
			}
			e.Matured = e.Exposed.Arms
			found := s.Rollout.Evaluate(step, &e)
			s.Rollout.Decide(found, &Situation{Settled: true})
			mismatch = mismatch || found.SRM.Mismatch
			if isRolledBack(found) {
				return step, mismatch
			}
		}
	}
	return -1, mismatch
}

// experiments.md §4.14 (b): the rate of false rollbacks holds for all distributions of values, in
// both directions, and with a small treatment, for which Welch's variance has up to 80 % false
// alarms.
func TestSimulated_FalseAlarms(t *testing.T) {
	runs := simulatedRuns(50)
	limit := 0.0125 + 3*math.Sqrt(0.0125*(1-0.0125)/float64(runs))
	for name, draw := range map[string]drawer{
		"rate 0.2": rate(0.2), "rate 0.02": rate(0.02), "rate 0.002": rate(0.002), "sales": sales, "counts": poissonOf,
		"normal": (*rand.Rand).NormFloat64,
	} {
		for _, percent := range []float64{5, 50} {
			t.Run(fmt.Sprintf("%s at %v %%", name, percent), func(t *testing.T) {
				t.Parallel()
				r := &Rollout{ // of four steps and two guardrails 0.0125 is left for each
					Steps: append(ladder(percent), ladder(60, 70, 80)...), Alpha: 0.1, MinimumExposures: 100,
					Guardrails: []Guard{{Decrease: true}, {}},
				}
				rng := rand.New(rand.NewPCG(17, uint64(percent)))
				var harmed [2]int
				for range runs {
					// The same value is used in both directions.
					last := 0.0
					first := func(rng *rand.Rand) float64 { last = draw(rng); return last }
					again := func(*rand.Rand) float64 { return last }
					s := simulatedStep{rollout: r, control: []drawer{first, again}, treatment: []drawer{first, again}, growth: 0.01}
					for i, is := range s.run(rng, 20_000, func(*Evaluation) bool { return false }).harmed {
						if is {
							harmed[i]++
						}
					}
				}
				for i, n := range harmed {
					if share := float64(n) / float64(runs); share > limit {
						t.Errorf("direction %d: %.4f of %d, want at most %.4f", i, share, runs, limit)
					}
				}
			})
		}
	}
}

// experiments.md §4.14 (d): harm is found at least with the probabilities of the table, minus three
// points.
func TestSimulated_HarmIsFound(t *testing.T) {
	runs := simulatedRuns(100)
	for _, c := range []struct {
		was, is  float64
		decrease bool
		percent  float64
		by       int64
		found    float64
	}{
		{0.01, 0.02, true, 50, 5000, 0.296}, {0.01, 0.02, true, 25, 20_000, 0.887}, {0.01, 0.03, true, 25, 5000, 0.718},
		{0.01, 0.03, true, 50, 5000, 0.958}, {0.01, 0.05, true, 5, 20_000, 0.999}, {0.2, 0.16, false, 50, 5000, 0.677},
		{0.2, 0.16, false, 5, 20_000, 0.417}, {0.2, 0.18, false, 50, 20_000, 0.587},
	} {
		t.Run(fmt.Sprintf("%v to %v at %v %% by %d", c.was, c.is, c.percent, c.by), func(t *testing.T) {
			t.Parallel()
			r := &Rollout{Steps: append(ladder(c.percent), ladder(60, 70, 80)...), Alpha: 0.025, MinimumExposures: 100, Guardrails: []Guard{{Decrease: c.decrease}}} // with four steps and two guardrails, 0.0125 remain for each
			s := simulatedStep{rollout: r, control: []drawer{rate(c.was)}, treatment: []drawer{rate(c.is)}, growth: 0.005}
			rng, n := rand.New(rand.NewPCG(17, uint64(c.by))), 0
			for range runs {
				if s.run(rng, c.by, isRolledBack).at > 0 {
					n++
				}
			}
			band := 3 * math.Sqrt(c.found*(1-c.found)/float64(runs)) // of the simulation
			if share := float64(n) / float64(runs); share < c.found-0.03-band {
				t.Errorf("%.3f of %d, want at least %.3f", share, runs, c.found-0.03)
			}
		})
	}
}
