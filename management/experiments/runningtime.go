package experiments

import (
	"context"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	stats "github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
)

// runningTimeFields are the fields of the request for the running time of an experiment
// (experiments.md §3.11).
var runningTimeFields = management.Fields{
	{Name: "metric_type", Type: management.Choice, Required: true, Choices: []string{"funnel", "mean_count", "mean_sum_or_avg", "ratio", "retention"}},
	{Name: "minimum_detectable_effect", Type: management.Any, Required: true, Help: "number greater than 0, in percent of the baseline"},
	{Name: "number_of_variants", Type: management.Int, MinValue: 2, MaxValue: maxPlannedVariants, Help: "number of variants including the baseline, 2 by default"},
	{Name: "exposure_rate_per_day", Type: management.Any, Null: true, Help: "number of exposures per day"},
	{Name: "baseline_value", Type: management.Any, Null: true, Help: "value of the metric without the experiment"},
	{Name: "variance", Type: management.Any, Null: true, Help: "variance of one entity; required with baseline_value for ratio and retention metrics"},
	{Name: "baseline_stats", Type: management.Object, Null: true, Help: "sums of measured values, instead of baseline_value"},
}

// maxPlannedVariants limits the variants of a plan.
const maxPlannedVariants = 20

// RunningTime is the number of entities that an experiment needs, and the time to reach that
// number. A member is null if it cannot be computed from the request.
type RunningTime struct {
	// Baseline and Variance are the values used for the computation.
	Baseline *float64 `json:"baseline_value"`
	Variance *float64 `json:"variance"`
	// Size is the number of entities of all variants together, and Days the time to reach it.
	Size *int64 `json:"recommended_sample_size"`
	Days *int64 `json:"recommended_running_time_days"`
}

// baselineStats are sums over the measured values of all entities.
type baselineStats struct {
	// N is the number of entities; it is required.
	N   *float64 `json:"number_of_samples"`
	Sum float64  `json:"sum"`
	// Squares is the sum of the squares.
	Squares float64 `json:"sum_squares"`
	// Denominator is the sum of the denominators, which ratio and retention metrics require.
	Denominator        *float64 `json:"denominator_sum"`
	DenominatorSquares float64  `json:"denominator_sum_squares"`
	// Product is the sum of the products of numerator and denominator.
	Product float64 `json:"numerator_denominator_sum_product"`
	// StepCounts is the number of entities that reached each step of a funnel.
	StepCounts []float64 `json:"step_counts"`
}

// RunningTime computes the running time of an experiment. It does not access the store.
func (s Service) RunningTime(_ context.Context, _ *management.Scope, b management.Body) (*RunningTime, error) {
	v, err := runningTimeFields.Create(b)
	if err != nil {
		return nil, err
	}
	// Numbers may be sent as strings, so they are decoded here and not by the fields.
	numbers := map[string]*float64{}
	for _, name := range []string{"minimum_detectable_effect", "exposure_rate_per_day", "baseline_value", "variance"} {
		if numbers[name], err = numberOf(v, name); err != nil {
			return nil, err
		}
	}
	// The effect is in percent of the baseline.
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

// runningTime returns the result of a plan.
func runningTime(p stats.Plan) *RunningTime {
	out := &RunningTime{Baseline: finiteOrNil(p.Baseline)}
	if variance, ok := p.OneVariance(); ok {
		out.Variance = finiteOrNil(variance)
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

// finiteOrNil returns a pointer to f, or nil if f is infinite or not a number, which JSON cannot
// represent.
func finiteOrNil(f float64) *float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil
	}
	return &f
}

// planOf returns a plan with the given baseline, or, if baseline is nil, with the baseline of
// baseline_stats. Ratio and retention metrics need a variance too.
func planOf(v management.Values, baseline, variance *float64) (stats.Plan, error) {
	kinds := map[string]stats.Kind{"funnel": stats.Funnel, "ratio": stats.Ratio, "retention": stats.Retention}
	metric := v.Text("metric_type")
	kind := kinds[metric]
	needs := kind == stats.Ratio || kind == stats.Retention
	p := stats.Plan{Kind: kind}
	measured := v.Raw("baseline_stats")
	// baseline_value has precedence over baseline_stats.
	switch {
	case baseline == nil && management.JSONKind(measured) != "dict":
		return p, management.Fault("", "Provide either baseline_value or baseline_stats.")
	case baseline == nil:
		s, through, err := statsOf(measured, needs)
		if err != nil {
			return p, err
		}
		p = stats.NewPlan(kind, s, through)
	case needs && variance == nil:
		return p, management.Fault("", "Ratio and retention metrics require baseline_stats, or both baseline_value and variance.")
	default:
		p.Baseline = *baseline
	}
	// The variance of a number of events grows with its mean.
	p.Counts = metric == "mean_count"
	if variance != nil {
		p.Variance = variance
	}
	return p, nil
}

// statsOf decodes and checks baseline_stats. below is true if the sums of a denominator are
// required.
func statsOf(raw json.RawMessage, needsDenominator bool) (*stats.Sample, []int64, error) {
	var b baselineStats
	if err := json.Unmarshal(raw, &b); err != nil {
		return nil, nil, management.Fault("baseline_stats", "Numbers are required: %s.", strings.TrimPrefix(err.Error(), "json: "))
	}
	switch {
	case b.N == nil || *b.N < 1 || *b.N > 1e15:
		return nil, nil, management.Fault("baseline_stats__number_of_samples", "Ensure this value is greater than or equal to 1.")
	case needsDenominator && (b.Denominator == nil || *b.Denominator == 0):
		return nil, nil, management.CodedFault("required", "baseline_stats__denominator_sum", "Ratio and retention metrics require a denominator_sum that is not 0.")
	}
	s := &stats.Sample{N: int64(*b.N), Sum: b.Sum, Squares: b.Squares, BelowSquares: b.DenominatorSquares, Product: b.Product}
	if b.Denominator != nil {
		s.Below = *b.Denominator
	}
	// Numbers of steps are whole; fractions are truncated.
	stepCounts := make([]int64, len(b.StepCounts))
	for i, n := range b.StepCounts {
		stepCounts[i] = int64(n)
	}
	return s, stepCounts, nil
}

// numberOf returns the number in a member of the body. The number may be sent as a string. The
// result is nil if the member is null or absent.
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
