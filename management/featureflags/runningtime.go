package featureflags

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
)

// RunningTimeFields are those of the body that asks how long an experiment has to run
// (experiments.md §3.11).
var RunningTimeFields = management.Fields{
	{Name: "metric_type", Type: management.Choice, Required: true, Choices: []string{"funnel", "mean_count", "mean_sum_or_avg", "ratio", "retention"}},
	{Name: "minimum_detectable_effect", Type: management.Any, Required: true, Help: "a number: per cent of the baseline, more than 0"},
	{Name: "number_of_variants", Type: management.Int, MinValue: 2, MaxValue: maxPlannedVariants, Help: "with the baseline, 2 when absent"},
	{Name: "exposure_rate_per_day", Type: management.Any, Null: true, Help: "a number: how many are exposed in a day"},
	{Name: "baseline_value", Type: management.Any, Null: true, Help: "a number: the metric without the experiment"},
	{Name: "variance", Type: management.Any, Null: true, Help: "a number: of one entity; ratio and retention need it beside baseline_value"},
	{Name: "baseline_stats", Type: management.Object, Null: true, Help: "sums of what was measured, in the place of baseline_value"},
}

// maxPlannedVariants bounds the variants of a plan.
const maxPlannedVariants = 20

// RunningTime is how many entities an experiment needs, and for how long. What cannot be
// said is null.
type RunningTime struct {
	Baseline *float64 `json:"baseline_value"`
	Variance *float64 `json:"variance"`
	Size     *int64   `json:"recommended_sample_size"`
	Days     *int64   `json:"recommended_running_time_days"`
}

// baselineStats are the sums of what was measured, each a number.
type baselineStats struct {
	N            *float64  `json:"number_of_samples"`
	Sum          float64   `json:"sum"`
	Squares      float64   `json:"sum_squares"`
	Below        *float64  `json:"denominator_sum"`
	BelowSquares float64   `json:"denominator_sum_squares"`
	Product      float64   `json:"numerator_denominator_sum_product"`
	Through      []float64 `json:"step_counts"`
}

// RunningTime says how long an experiment has to run. It reads and writes nothing.
func (s Experiments) RunningTime(_ context.Context, _ *management.Scope, b management.Body) (*RunningTime, error) {
	v, err := RunningTimeFields.Create(b)
	if err != nil {
		return nil, err
	}
	numbers := map[string]*float64{}
	for _, name := range []string{"minimum_detectable_effect", "exposure_rate_per_day", "baseline_value", "variance"} {
		if numbers[name], err = numberOf(v, name); err != nil {
			return nil, err
		}
	}
	effect, rate := numbers["minimum_detectable_effect"], numbers["exposure_rate_per_day"]
	switch {
	case effect == nil:
		return nil, management.CodedFault("null", "minimum_detectable_effect", "This field may not be null.")
	case *effect <= 0:
		return nil, management.Fault("minimum_detectable_effect", "Must be greater than 0.")
	case rate != nil && *rate < 0:
		return nil, management.Fault("exposure_rate_per_day", "Ensure this value is greater than or equal to 0.")
	case numbers["variance"] != nil && *numbers["variance"] < 0:
		return nil, management.Fault("variance", "Ensure this value is greater than or equal to 0.")
	}
	p, err := planOf(v, numbers["baseline_value"], numbers["variance"])
	if err != nil {
		return nil, err
	}
	p.Effect, p.Variants = *effect, 2
	if v.Has("number_of_variants") {
		p.Variants = int(v.Int("number_of_variants"))
	}
	if rate != nil {
		p.PerDay = *rate
	}
	return runningTime(p), nil
}

func runningTime(p experiments.Plan) *RunningTime {
	out := &RunningTime{Baseline: finite(p.Baseline)}
	if variance, ok := p.OneVariance(); ok {
		out.Variance = finite(variance)
	}
	size, ok := p.Size()
	if !ok {
		return out
	}
	out.Size = &size
	if days, ok := p.Days(size); ok {
		out.Days = &days
	}
	return out
}

// finite is a number, nil for what is above all numbers or none.
func finite(f float64) *float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	return &f
}

// planOf is a plan with the baseline that is given, or with that of what was measured.
func planOf(v management.Values, baseline, variance *float64) (experiments.Plan, error) {
	kinds := map[string]experiments.Kind{"funnel": experiments.Funnel, "ratio": experiments.Ratio, "retention": experiments.Retention}
	metric := v.Text("metric_type")
	kind := kinds[metric]
	needs := kind == experiments.Ratio || kind == experiments.Retention
	p := experiments.Plan{Kind: kind}
	measured := v.Raw("baseline_stats")
	switch {
	case baseline == nil && management.JSONKind(measured) != "dict":
		return p, management.Fault("", "Provide either baseline_value or baseline_stats.")
	case baseline == nil:
		s, through, err := statsOf(measured, needs)
		if err != nil {
			return p, err
		}
		p = experiments.NewPlan(kind, s, through)
	case needs && variance == nil:
		return p, management.Fault("", "Ratio and retention metrics require baseline_stats, or both baseline_value and variance.")
	default:
		p.Baseline = *baseline
	}
	p.Counts = metric == "mean_count"
	if variance != nil {
		p.Variance = variance
	}
	return p, nil
}

// statsOf reads the sums; below is whether those of a denominator are needed.
func statsOf(raw json.RawMessage, below bool) (*experiments.Sample, []int64, error) {
	var b baselineStats
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, nil, management.Fault("baseline_stats", "Numbers are required: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	switch {
	case b.N == nil || *b.N < 1 || *b.N > 1e15:
		return nil, nil, management.Fault("baseline_stats__number_of_samples", "Ensure this value is greater than or equal to 1.")
	case below && (b.Below == nil || *b.Below == 0):
		return nil, nil, management.CodedFault("required", "baseline_stats__denominator_sum", "Ratio and retention metrics require a denominator_sum that is not 0.")
	}
	s := &experiments.Sample{N: int64(*b.N), Sum: b.Sum, Squares: b.Squares, BelowSquares: b.BelowSquares, Product: b.Product}
	if b.Below != nil {
		s.Below = *b.Below
	}
	through := make([]int64, len(b.Through))
	for i, n := range b.Through {
		through[i] = int64(n)
	}
	return s, through, nil
}

// numberOf is a number of a body, also as text; nil for null and what is not there.
func numberOf(v management.Values, name string) (*float64, error) {
	raw := v.Raw(name)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	n, err := strconv.ParseFloat(strings.Trim(string(raw), `"`), 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return nil, management.Fault(name, "A valid number is required.")
	}
	return &n, nil
}
