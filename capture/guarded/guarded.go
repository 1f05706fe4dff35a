package guarded

import (
	"math"

	"github.com/bunting-flags/bunting/capture/experiments"
)

// Decision is the outcome of evaluating a step (§4.7).
type Decision string

// The decisions.
const (
	wait     Decision = "wait"
	Hold     Decision = "hold"
	Advance  Decision = "advance"
	Complete Decision = "complete" // the last step has ended
	Rollback Decision = "rollback"
	Fail     Decision = "fail" // the flag is deleted
)

// Rollout has the parts of the definition of a guarded rollout that its evaluation depends on
// (§4.2). Guardrails are metrics that cause a rollback if they are harmed, and Signals cause a
// hold.
type Rollout struct {
	Steps               []Step
	Guardrails, Signals []Guard
	Alpha               float64 // probability of a false rollback over all steps
	MinimumExposures    int64   // matured exposures that each arm needs
	IgnoreSampleRatio   bool
}

// Step is a step of the rollout.
type Step struct {
	Percent float64 `json:"percent"` // share of both arms that gets the treatment
	Dwell   int64   `json:"dwell_seconds"`
	Approve bool    `json:"approve"` // a user must start the step
}

// Guard is a metric that must not be harmed.
type Guard struct {
	Name      string
	Kind      experiments.Kind
	Decrease  bool    // lower values are better
	Tolerance float64 // accepted harm, as a share of control
}

// Arms has a number for each arm.
type Arms struct {
	Treatment int64 `json:"treatment"`
	Control   int64 `json:"control"`
}

// ExposureCounts are the numbers of entities that were exposed to the flag, by computed arm.
type ExposureCounts struct {
	Arms
	Multiple int64 `json:"multiple"` // entities with identifiers in both arms; they are in neither number
}

// Integrity counts the exposures that were checked, and the exposures that report another arm than
// the computed one (§4.4).
type Integrity struct {
	Checked  int64 `json:"checked"`
	Disagree int64 `json:"disagree"`
}

// isBroken reports whether the exposures that clients report differ from the computed arms: at
// least 100 were checked, and more than 5 % disagree.
func (i Integrity) isBroken() bool { return i.Checked >= 100 && i.Disagree*20 > i.Checked }

// Measurement is a metric of both arms. If Error is not empty, it is the reason why there are no
// samples.
type Measurement struct {
	Treatment, Control experiments.Sample
	Error              string
}

// Evidence has the data of a step (§4.4). Metrics are the guardrails, followed by the signals.
type Evidence struct {
	Exposed   ExposureCounts
	Matured   Arms // by the longest window of the metrics
	Integrity Integrity
	Metrics   []Measurement
}

// Evaluation has the results of the tests of a step, and the decision (§4.10).
type Evaluation struct {
	Decision   Decision       `json:"decision"`
	Reasons    []string       `json:"reasons"`
	Step       int            `json:"step"`
	Percent    float64        `json:"percent"`
	Exposures  ExposureCounts `json:"exposures"`
	Matured    Arms           `json:"matured"`
	SRM        sampleRatio    `json:"srm"`
	Integrity  Integrity      `json:"integrity"`
	Guardrails []harm         `json:"guardrails"`
	Signals    []harm         `json:"signals"`
}

// sampleRatio is the test whether the sizes of the arms agree with their shares (§4.6).
type sampleRatio struct {
	LogEValue float64 `json:"log_e_value"`
	Threshold float64 `json:"threshold"`
	Mismatch  bool    `json:"mismatch"`
}

// harm is the test of one metric (§4.5). Values that cannot be computed are null.
type harm struct {
	Name          string   `json:"name"`
	Treatment     *float64 `json:"treatment_mean"`
	Control       *float64 `json:"control_mean"`
	Harm          *float64 `json:"harm"`
	StandardError *float64 `json:"standard_error"`
	Alpha         float64  `json:"alpha"`
	Bound         *float64 `json:"bound"`
	Regression    bool     `json:"regression"`
	Error         *string  `json:"error"`
}

// steps returns K, the number of steps that are judged. A step of 100 % has no control arm.
func (r *Rollout) steps() float64 {
	n := 0
	for _, s := range r.Steps {
		if s.Percent < 100 {
			n++
		}
	}
	return float64(max(n, 1))
}

// Evaluate computes the tests of a step. It leaves Decision and Reasons empty, which Decide sets.
func (r *Rollout) Evaluate(step int, e *Evidence) *Evaluation {
	percent := r.Steps[step].Percent
	out := &Evaluation{
		Step: step, Percent: percent, Exposures: e.Exposed, Matured: e.Matured, Integrity: e.Integrity,
		SRM: r.sampleRatio(percent/100, e.Exposed.Arms),
	}
	out.Guardrails = r.evaluateHarms(r.Guardrails, e.Metrics[:len(r.Guardrails)], percent/100)
	out.Signals = r.evaluateHarms(r.Signals, e.Metrics[len(r.Guardrails):], percent/100)
	return out
}

// evaluateHarms computes the tests of several metrics. Alpha is divided by the steps and the
// metrics, so that it holds for the whole rollout. p is the share of the treatment.
func (r *Rollout) evaluateHarms(guards []Guard, measured []Measurement, p float64) []harm {
	out := make([]harm, len(guards))
	alpha := r.Alpha / (r.steps() * float64(max(len(guards), 1)))
	tuning := 5 * float64(r.MinimumExposures) / min(p, 1-p)
	for i := range guards {
		h := &out[i]
		h.Name, h.Alpha = guards[i].Name, alpha
		if measured[i].Error != "" {
			h.Error = &measured[i].Error
			continue
		}
		guards[i].test(h, &measured[i], tuning)
		hasEnough := min(measured[i].Treatment.N, measured[i].Control.N) >= r.MinimumExposures
		h.Regression = hasEnough && h.Bound != nil && *h.Bound > 0
	}
	return out
}

// test computes the harm, and a lower bound for it (§4.5).
func (g *Guard) test(h *harm, m *Measurement, tuning float64) {
	kind := g.Kind
	if kind == experiments.Funnel { // variances of shares are over n − 1 too
		kind = experiments.Mean
	}
	tMean, tVariance, tOK := m.Treatment.Estimate(kind)
	cMean, cVariance, cOK := m.Control.Estimate(kind)
	if tOK {
		h.Treatment = &tMean
	}
	if cOK {
		h.Control = &cMean
	}
	nT, nC := float64(m.Treatment.N), float64(m.Control.N)
	if !tOK || !cOK || nT < 2 || nC < 2 {
		return
	}
	sign := -1.0
	if g.Decrease {
		sign = 1
	}
	factor := 1 + sign*g.Tolerance
	if cMean < 0 { // the tolerance is relative to the size of control, whatever its sign
		factor = 1 - sign*g.Tolerance
	}
	harm := sign * (tMean - factor*cMean)
	// The larger of both variances is used: with a small treatment arm, its own variance is
	// unreliable.
	pooled := ((nT-1)*tVariance + (nC-1)*cVariance) / (nT + nC - 2)
	square := factor * factor
	deviation := math.Sqrt(max(tVariance/nT+square*cVariance/nC, pooled/nT+square*pooled/nC))
	if math.IsNaN(harm) || math.IsInf(harm, 0) || math.IsNaN(deviation) || math.IsInf(deviation, 0) {
		return
	}
	h.Harm, h.StandardError = &harm, &deviation
	if deviation > 0 && !math.IsInf(tuning, 0) {
		bound := experiments.LowerBound(harm, deviation, m.Treatment.N+m.Control.N, h.Alpha, tuning)
		h.Bound = &bound
	}
}

// sampleRatio computes the evidence that the arms do not have their shares. The test is valid
// however often it is computed (§4.6).
func (r *Rollout) sampleRatio(p float64, n Arms) sampleRatio {
	out := sampleRatio{Threshold: math.Log(r.steps() / 0.001)}
	if p <= 0 || p >= 1 {
		return out
	}
	const weight = 100
	a, b, t, c := weight*p, weight*(1-p), float64(n.Treatment), float64(n.Control)
	out.LogEValue = logGamma(a+t) + logGamma(b+c) - logGamma(a+b+t+c) - logGamma(a) - logGamma(b) + logGamma(a+b) - t*math.Log(p) - c*math.Log1p(-p)
	out.Mismatch = out.LogEValue > out.Threshold
	return out
}

// logGamma returns the logarithm of the gamma function, for x > 0.
func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
