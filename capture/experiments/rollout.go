package experiments

import "math"

// Rollout is the definition of a guarded rollout as far as it is judged by (§4.2).
type Rollout struct {
	Steps               []Step
	Guardrails, Signals []Guard
	Alpha               float64 // of a false rollback over the whole rollout
	MinimumExposures    int64   // matured ones, of each arm
	IgnoreSampleRatio   bool
}

// Step is one of the ladder.
type Step struct {
	Percent float64 `json:"percent"` // of both arms, to the treatment
	Dwell   int64   `json:"dwell_seconds"`
	Approve bool    `json:"approve"` // somebody has to begin it
}

// Guard is a metric that must not be harmed.
type Guard struct {
	Name      string
	Kind      Kind
	Decrease  bool    // less is better
	Tolerance float64 // how much worse than control is let pass, as a share of it
}

// Arms are a number of the treatment and of control.
type Arms struct {
	Treatment int64 `json:"treatment"`
	Control   int64 `json:"control"`
}

// ExposureCounts are all who saw the flag, by their computed arm.
type ExposureCounts struct {
	Arms
	Multiple int64 `json:"multiple"` // whose identifiers fall on both sides; they count nowhere
}

// Integrity says how many exposures do not report the arm that was computed (§4.4).
type Integrity struct {
	Checked  int64 `json:"checked"`
	Disagree int64 `json:"disagree"`
}

// isBroken says that what clients report is not what was decided.
func (i Integrity) isBroken() bool { return i.Checked >= 100 && i.Disagree*20 > i.Checked }

// Measurement is a metric of both arms, or why there is none.
type Measurement struct {
	Treatment, Control Sample
	Error              string
}

// Evidence is what the events say of a step (§4.4). The metrics are the guardrails, then
// the signals.
type Evidence struct {
	Exposed   ExposureCounts
	Matured   Arms // for the longest window
	Integrity Integrity
	Metrics   []Measurement
}

// Evaluation is what a step is judged by (§4.10).
type Evaluation struct {
	Decision   Decision       `json:"decision"`
	Reasons    []string       `json:"reasons"`
	Step       int            `json:"step"`
	Percent    float64        `json:"percent"`
	Exposures  ExposureCounts `json:"exposures"`
	Matured    Arms           `json:"matured"`
	SRM        SampleRatio    `json:"srm"`
	Integrity  Integrity      `json:"integrity"`
	Guardrails []Harm         `json:"guardrails"`
	Signals    []Harm         `json:"signals"`
}

// SampleRatio says whether the arms are as large as their shares say (§4.6).
type SampleRatio struct {
	LogEValue float64 `json:"log_e_value"`
	Threshold float64 `json:"threshold"`
	Mismatch  bool    `json:"mismatch"`
}

// Harm is the test of one metric (§4.5). Numbers that cannot be computed are null.
type Harm struct {
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

// steps is K: how many steps are judged.
func (r *Rollout) steps() float64 {
	n := 0
	for _, s := range r.Steps {
		if s.Percent < 100 {
			n++
		}
	}
	return float64(max(n, 1))
}

// Evaluate computes the tests of a step; what is decided is left to [Rollout.Decide].
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

func (r *Rollout) evaluateHarms(guards []Guard, measured []Measurement, p float64) []Harm {
	out := make([]Harm, len(guards))
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

// test computes how much worse the treatment is, and at least is (§4.5).
func (g *Guard) test(h *Harm, m *Measurement, tuning float64) {
	kind := g.Kind
	if kind == Funnel { // n − 1 for shares too
		kind = Mean
	}
	t, tOK := m.Treatment.estimate(kind)
	c, cOK := m.Control.estimate(kind)
	if tOK {
		h.Treatment = &t.mean
	}
	if cOK {
		h.Control = &c.mean
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
	if c.mean < 0 { // the tolerance counts on what control is, whatever its sign
		factor = 1 - sign*g.Tolerance
	}
	harm := sign * (t.mean - factor*c.mean)
	pooled := ((nT-1)*t.variance + (nC-1)*c.variance) / (nT + nC - 2)
	square := factor * factor
	deviation := math.Sqrt(max(t.variance/nT+square*c.variance/nC, pooled/nT+square*pooled/nC))
	if math.IsNaN(harm) || math.IsInf(harm, 0) || math.IsNaN(deviation) || math.IsInf(deviation, 0) {
		return
	}
	h.Harm, h.StandardError = &harm, &deviation
	if deviation > 0 && !math.IsInf(tuning, 0) {
		bound := LowerBound(harm, deviation, m.Treatment.N+m.Control.N, h.Alpha, tuning)
		h.Bound = &bound
	}
}

// sampleRatio is the evidence that entities do not come to the arms as they should: a
// test that holds however often it is looked at (§4.6).
func (r *Rollout) sampleRatio(p float64, n Arms) SampleRatio {
	out := SampleRatio{Threshold: math.Log(r.steps() / 0.001)}
	if p <= 0 || p >= 1 {
		return out
	}
	const weight = 100
	a, b, t, c := weight*p, weight*(1-p), float64(n.Treatment), float64(n.Control)
	out.LogEValue = logGamma(a+t) + logGamma(b+c) - logGamma(a+b+t+c) - logGamma(a) - logGamma(b) + logGamma(a+b) - t*math.Log(p) - c*math.Log1p(-p)
	out.Mismatch = out.LogEValue > out.Threshold
	return out
}

func logGamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}
