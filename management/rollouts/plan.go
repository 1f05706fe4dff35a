package rollouts

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	stats "github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/experiments"
	"github.com/bunting-flags/bunting/management/internal/plain"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// Limits of a rollout's definition.
const (
	maxRolloutSteps = 20
	maxGuards       = 10 // of guardrails, and of signals
	// minDwell and maxDwell limit the duration of a step, in seconds.
	minDwell = 60
	maxDwell = 2_592_000
	// maxRolloutText limits the size of guardrails and signals together, in bytes.
	maxRolloutText = 64 << 10
)

// rolloutPlan is the definition of a rollout, decoded and checked.
type rolloutPlan struct {
	guarded.Rollout
	metrics []json.RawMessage // of the guardrails, followed by those of the signals
}

// rolloutGuard is a guardrail or a signal in the form of the API.
type rolloutGuard struct {
	// Metric is a metric as in an experiment; see readGuardMetric.
	Metric map[string]json.RawMessage `json:"metric"`
	// Goal is the desired direction: increase or decrease.
	Goal string `json:"goal"`
	// Tolerance is the accepted relative harm: with 0.1, ten percent worse is accepted.
	Tolerance float64 `json:"tolerance"`
	// Name is, by default, the name or the event of the metric.
	Name string `json:"name"`
}

// plan decodes and checks the definition of a rollout (§4.2). An error names the field at fault.
// plan also writes the defaults of guardrails and signals into x, so that later changes of the
// defaults do not affect stored rollouts.
func (x *storedRollout) plan() (*rolloutPlan, error) {
	p := &rolloutPlan{}
	p.MinimumExposures, p.IgnoreSampleRatio = x.MinimumExposures, x.SampleRatio == "ignore"
	if json.Unmarshal(x.Alpha, &p.Alpha) != nil || !(p.Alpha >= 0.001 && p.Alpha <= 0.2) {
		return nil, management.Fault("alpha", "Give a number between 0.001 and 0.2.")
	}
	// Check the size before the lists are decoded.
	if len(x.Guardrails)+len(x.Signals) > maxRolloutText {
		return nil, management.CodedFault(management.CodeMaxLength, "guardrails", "The metrics of a rollout may have at most %d bytes.", maxRolloutText)
	}
	if err := p.readSteps(x.Steps); err != nil {
		return nil, err
	}
	// A conversion window must end before the step does, so the shortest step limits all windows.
	shortest := int64(maxDwell)
	for _, s := range p.Steps {
		shortest = min(shortest, s.Dwell)
	}
	for _, l := range []struct {
		field string
		raw   *json.RawMessage
		to    *[]guarded.Guard
	}{{"guardrails", &x.Guardrails, &p.Guardrails}, {"signals", &x.Signals, &p.Signals}} {
		if err := p.readGuards(l.field, l.raw, l.to, shortest-x.Settle); err != nil {
			return nil, err
		}
	}
	if len(p.metrics) == 0 {
		return nil, management.CodedFault(management.CodeRequired, "guardrails", "A rollout needs a guardrail or a signal.")
	}
	return p, nil
}

// readSteps decodes and checks the steps: percentages must increase and have at most two decimals.
func (p *rolloutPlan) readSteps(raw json.RawMessage) error {
	if json.Unmarshal(raw, &p.Steps) != nil {
		return management.Fault("steps", "Give a list of objects with percent, dwell_seconds and approve.")
	}
	if n := len(p.Steps); n == 0 || n > maxRolloutSteps {
		return management.Fault("steps", "A rollout has 1 to %d steps, not %d.", maxRolloutSteps, n)
	}
	before := 0.0
	for i, s := range p.Steps {
		path := fmt.Sprintf("steps.%d", i)
		switch hundredths := s.Percent * 100; {
		case !(s.Percent > 0 && s.Percent <= 100):
			return management.Fault(path+".percent", "Give a percentage above 0 and at most 100.")
		case math.Abs(hundredths-math.Round(hundredths)) > 1e-6:
			return management.Fault(path+".percent", "A percentage has at most two decimals.")
		case s.Percent <= before:
			return management.Fault(path+".percent", "Each step must be higher than the previous one.")
		case s.Dwell < minDwell || s.Dwell > maxDwell:
			return management.Fault(path+".dwell_seconds", "Give %d to %d seconds.", minDwell, maxDwell)
		}
		before = s.Percent
	}
	return nil
}

// readGuards decodes and checks guardrails or signals. longest limits their conversion windows, in
// seconds. It replaces raw by the list with defaults.
func (p *rolloutPlan) readGuards(field string, raw *json.RawMessage, to *[]guarded.Guard, longest int64) error {
	var list []rolloutGuard
	if json.Unmarshal(*raw, &list) != nil {
		return management.Fault(field, "Give a list of objects with metric, goal, tolerance and name.")
	}
	if len(list) > maxGuards {
		return management.CodedFault(management.CodeMaxLength, field, "At most %d.", maxGuards)
	}
	for i := range list {
		g := &list[i]
		path := fmt.Sprintf("%s.%d", field, i)
		kind, err := readGuardMetric(g.Metric, path+".metric", longest)
		if err != nil {
			return err
		}
		switch {
		case g.Goal != "increase" && g.Goal != "decrease":
			return management.NotAChoice(path+".goal", plain.ShortText(g.Goal), []string{"increase", "decrease"})
		case !(g.Tolerance >= 0 && g.Tolerance < 1):
			return management.Fault(path+".tolerance", "Give a number of at least 0 and below 1: 0.1 accepts values that are up to ten percent worse.")
		case utf8.RuneCountInString(g.Name) > 400:
			return management.CodedFault(management.CodeMaxLength, path+".name", "Ensure this field has no more than 400 characters.")
		}
		if g.Name == "" {
			g.Name = guardName(g.Metric, i)
		}
		*to = append(*to, guarded.Guard{Name: g.Name, Kind: kind, Decrease: g.Goal == "decrease", Tolerance: g.Tolerance})
		p.metrics = append(p.metrics, storage.Encode(g.Metric))
	}
	// Store an empty list instead of null.
	if list == nil {
		list = []rolloutGuard{}
	}
	*raw = storage.Encode(list)
	return nil
}

// guardName returns the default name of a metric without a name: its event, or its number.
func guardName(metric map[string]json.RawMessage, i int) string {
	if name := management.JSONText(metric["name"]); name != "" {
		return plain.ShortText(name)
	}
	for _, side := range []string{"source", "numerator"} {
		if event := management.JSONText(management.JSONObject(metric[side])["event"]); event != "" {
			return plain.ShortText(event)
		}
	}
	return fmt.Sprintf("metric %d", i+1)
}

// guardKinds are the types of metrics that guardrails and signals can have.
var guardKinds = map[string]stats.Kind{"mean": stats.Mean, "funnel": stats.Funnel, "ratio": stats.Ratio}

// windowSeconds are the lengths of the units of a conversion window, in seconds. A month has 30
// days.
var windowSeconds = map[string]float64{"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800, "month": 2_592_000}

// readGuardMetric checks a metric. If it has no conversion window, its window is set to one hour.
func readGuardMetric(m map[string]json.RawMessage, path string, longest int64) (stats.Kind, error) {
	if m == nil {
		return 0, management.CodedFault(management.CodeRequired, path, "This field is required.")
	}
	if err := experiments.CheckMetric(m, path, ""); err != nil {
		return 0, err
	}
	kind, ok := guardKinds[management.JSONText(m["metric_type"])]
	if !ok {
		return 0, management.NotAChoice(path+".metric_type", management.JSONText(m["metric_type"]), []string{"mean", "funnel", "ratio"})
	}
	// Breakdowns and limits of outliers are not supported in rollouts.
	for _, name := range []string{"breakdownFilter", "lower_bound_percentile", "upper_bound_percentile", "numerator_outlier_handling", "denominator_outlier_handling"} {
		if !management.EmptyJSON(m[name]) {
			return 0, management.Fault(path+"."+name, "Metrics of a rollout do not support this setting.")
		}
	}
	if management.EmptyJSON(m["conversion_window"]) {
		m["conversion_window"], m["conversion_window_unit"] = json.RawMessage("3600"), json.RawMessage(`"second"`)
	}
	unit := management.JSONText(m["conversion_window_unit"])
	if unit == "" {
		unit = "day"
	}
	seconds, isUnit := windowSeconds[unit]
	var window float64
	switch {
	case !isUnit:
		return 0, management.NotAChoice(path+".conversion_window_unit", plain.ShortText(unit), []string{"second", "minute", "hour", "day", "week", "month"})
	case json.Unmarshal(m["conversion_window"], &window) != nil || window < 1 || window != math.Trunc(window):
		return 0, management.Fault(path+".conversion_window", "Give a whole number above 0.")
	case window*seconds > float64(longest):
		return 0, management.Fault(path+".conversion_window", "The window of %.0f s is longer than the shortest dwell time minus the settling time: %d s.", window*seconds, longest)
	}
	return kind, nil
}

// checkEdit refuses changes of a rollout that is live or has ended, except changes of name,
// description and notify while it is not ended. A draft can be changed completely. A paused rollout
// keeps its flag, its condition, its variants, and the steps up to the current one.
func (x *storedRollout) checkEdit(before *storedRollout, v management.Values) error {
	if x.Status == rolloutDraft {
		return nil
	}
	// A request with only the descriptive fields is allowed in all open statuses.
	onlyTexts := v.Has("name") || v.Has("description") || v.Has("notify")
	for _, f := range rolloutFields {
		if v.Has(f.Name) && !slices.Contains([]string{"name", "description", "notify"}, f.Name) {
			onlyTexts = false
			break
		}
	}
	if onlyTexts && x.Status.isOpen() {
		return nil
	}
	if x.Status != rolloutPaused {
		return management.Fault("", "This rollout is %s: only a rollout that is a draft or paused can be changed.", x.Status)
	}
	// The other members of a paused rollout may change.
	equal := func(a, b *string) bool { return (a == nil) == (b == nil) && (a == nil || *a == *b) }
	for _, fixed := range []struct {
		field string
		same  bool
	}{
		{"feature_flag", x.Flag == before.Flag}, {"condition", x.Condition == before.Condition},
		{"treatment_variant", equal(x.Treatment, before.Treatment)}, {"control_variant", equal(x.Control, before.Control)},
	} {
		if !fixed.same {
			return management.Fault(fixed.field, "This rollout has started: its flag, condition and variants cannot be changed.")
		}
	}
	var old, now []guarded.Step
	_ = json.Unmarshal(before.Steps, &old) // was checked when it was stored
	if json.Unmarshal(x.Steps, &now) == nil && x.Step != nil {
		// The steps up to the current one are the history of the rollout.
		for i := range old[:*x.Step+1] {
			if i >= len(now) || now[i] != old[i] {
				return management.Fault(fmt.Sprintf("steps.%d", i), "This step is complete or in progress and cannot be changed.")
			}
		}
	}
	return nil
}
