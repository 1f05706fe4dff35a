package trials

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// resultsQuery is an ExperimentResultsQuery: all metrics of an experiment in one response
// (experiments.md §3.5). PostHog does not have this kind.
type resultsQuery struct {
	Trial
	exposures *exposuresQuery
	// primary and secondary are the metrics of the two lists of the experiment.
	primary, secondary []storedMetric
	// correction is the method for multiple testing: none, holm or benjamini_hochberg.
	correction string
}

// storedMetric is a metric that is stored with the experiment.
type storedMetric struct {
	// raw is the metric as stored, query its query, and fault the error of parsing it.
	raw   json.RawMessage
	query *experimentQuery
	fault error
}

// maxMetrics is the maximum number of metrics in one response.
const maxMetrics = 100

// parseResults parses an ExperimentResultsQuery. The member metrics may restrict the response to
// metrics with some UUIDs.
func parseResults(n document.Node, p *port.Project) scan.Plan {
	q := &resultsQuery{Trial: readTrial(n, p, true)}
	if q.Experiment == nil {
		return q
	}
	q.exposures = &exposuresQuery{q.Trial, readExposure(q.Trial, n, p)}
	// An unknown value of multiple_testing means that there is no correction.
	stats, _ := document.Decode(q.Stats, "")
	q.correction = "none"
	if v := stats.Get("multiple_testing").Value; v == "holm" || v == "benjamini_hochberg" {
		q.correction = v.(string)
	}
	var only []string
	for _, uuid := range n.Get("metrics").List(maxMetrics) {
		only = append(only, uuid.Text(""))
	}
	q.primary, q.secondary = q.metrics(q.Primary, only, p), q.metrics(q.Secondary, only, p)
	if count := len(q.primary) + len(q.secondary); count > maxMetrics {
		n.Fail(document.TooLarge, "%d metrics are too many: at most %d are computed at once.", count, maxMetrics)
	}
	return q
}

// metrics parses stored metrics. If only is not nil, it skips the metrics with other UUIDs. Faults
// are recorded in the metric, so that they do not prevent results of the other metrics.
func (q *resultsQuery) metrics(list []json.RawMessage, only []string, p *port.Project) (out []storedMetric) {
	for _, raw := range list {
		m := storedMetric{raw: raw}
		text, _ := wire.Value(rawMember(raw, "uuid")).(string)
		if only != nil && !slices.Contains(only, text) {
			continue
		}
		n, fault := document.Decode(wire.MustEncode(map[string]any{"metric": raw, "experiment_id": 0}), "query")
		// The nested query has to find this experiment, whatever its id is.
		project := *p
		project.Experiment = func(int64) (*experiments.Experiment, error) { return q.Experiment, nil }
		m.query = parseExperiment(n, &project).(*experimentQuery)
		if *fault != nil {
			m.fault = *fault
		}
		// These results have no breakdown.
		m.query.parts = nil
		out = append(out, m)
	}
	return out
}

// rawMember returns a member of a JSON object, nil if it does not exist.
func rawMember(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(object, &members)
	return members[name]
}

// Run reads the exposures once for all metrics and then computes each metric.
func (q *resultsQuery) Run(r *scan.Run) (*port.Result, error) {
	exposures, err := q.exposures.Run(r)
	if err != nil {
		return nil, err
	}
	test, _ := readStats(q.Stats)
	method, difference := "bayesian", "RELATIVE"
	if test.Frequentist {
		method = "frequentist"
	}
	if test.Absolute {
		difference = "ABSOLUTE"
	}
	mismatch := false
	if ratio, ok := exposures.Extra["sample_ratio_mismatch"].(map[string]any); ok {
		// The threshold for a mismatch of the sample ratio (experiments.md, E10).
		mismatch = ratio["p_value"].(float64) < 0.001
	}
	out := map[string]any{
		"as_of": r.Now.UTC().Format(time.RFC3339Nano), "method": method, "level": test.Level, "sequential": test.Sequential,
		"difference_type": difference, "multiple_testing": q.correction, "exposures": exposures.Extra, "mismatch": mismatch,
	}
	// The metrics share one reading of the exposures.
	f := newExperimentRun(r, q.Trial, q.exposures.exposure, nil)
	if !q.Start.IsZero() {
		if err := f.readExposures(); err != nil {
			return nil, err
		}
	}
	for name, list := range map[string][]storedMetric{"primary": q.primary, "secondary": q.secondary} {
		if out[name], err = q.answers(f, list); err != nil {
			return nil, err
		}
	}
	return &port.Result{Extra: out}, nil
}

// comparedVariant is a variant of a metric with its comparison to the baseline, before correction
// for multiple testing.
type comparedVariant struct {
	// view is the variant in the response, to which correct adds members.
	view  map[string]any
	found experiments.Comparison
	test  experiments.Test
}

// answers returns the results of some metrics. Their comparisons are one family for the correction
// for multiple testing. A metric that fails has the error as its result.
func (q *resultsQuery) answers(f *experimentRun, list []storedMetric) ([]any, error) {
	out, family := []any{}, []*comparedVariant{}
	for i := range list {
		m := &list[i]
		view := map[string]any{"error": nil}
		for _, name := range strings.Fields("uuid name metric_type goal fingerprint") {
			view[name] = wire.Value(rawMember(m.raw, name))
		}
		out = append(out, view)
		err := m.fault
		if err == nil {
			err = f.ReleaseAfter(func() error { // the next metric reuses the memory of this one
				a := &experimentAnswer{experimentQuery: m.query, f: f.fork()}
				if !q.Start.IsZero() {
					if err := a.read(); err != nil {
						return err
					}
				}
				family = append(family, a.addDetails(view)...)
				return nil
			})
		}
		// An error about the metric is part of the response; other errors end the query.
		var fault *port.Error
		if errors.As(err, &fault) {
			view["error"] = fault.Detail
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	q.correct(family)
	return out, nil
}

// addDetails adds the results of a metric to the response, with the members that an ExperimentQuery
// does not have. It returns the comparisons.
func (a *experimentAnswer) addDetails(to map[string]any) (family []*comparedVariant) {
	arms := a.arms(nil)
	base := a.Baseline()
	baseline, variants := a.compareVariants(arms)
	to["baseline"], to["variants"], to["warnings"] = baseline, variants, a.warnings(arms)
	addMean(baseline, &arms[base], a.metric.kind)
	// at is the index in variants, which does not include the baseline and excluded variants.
	at := 0
	for _, i := range a.included() {
		if i == base {
			continue
		}
		v := variants[at].(map[string]any)
		at++
		addMean(v, &arms[i], a.metric.kind)
		found, ok := a.compare(&arms[i], &arms[base])
		a.addComparison(v, &found, ok)
		if ok {
			family = append(family, &comparedVariant{v, found, a.test})
		}
	}
	return family
}

// addMean adds the mean of a variant, null if there is none, and removes the sessions of funnel
// steps.
func addMean(to map[string]any, m *arm, k experiments.Kind) {
	delete(to, "step_sessions")
	to["mean"] = nil
	if mean, ok := m.sample.Mean(k); ok {
		to["mean"] = mean
	}
}

// addComparison adds the numbers of a comparison, which are null if ok is false (experiments.md
// §3.5, §2.14).
func (a *experimentAnswer) addComparison(to map[string]any, c *experiments.Comparison, ok bool) {
	for _, name := range strings.Fields("effect standard_error degrees_of_freedom theta expected_loss") {
		to[name] = nil
	}
	to["better"] = false
	switch failures := to["validation_failures"].([]string); {
	case slices.Contains(failures, "not-enough-exposures"):
		to["significance_code"] = "not_enough_exposure"
	case !ok:
		to["significance_code"] = "not_enough_data"
	case c.Significant:
		to["significance_code"] = "significant"
	case a.test.Frequentist:
		to["significance_code"] = "high_p_value"
	default:
		to["significance_code"] = "low_win_probability"
	}
	if !ok {
		return
	}
	to["effect"], to["standard_error"] = c.Effect, c.Error
	if a.test.Frequentist && !a.test.Sequential {
		to["degrees_of_freedom"] = c.Degrees
	}
	if a.hasCovariate() {
		to["theta"] = c.Theta
	}
	if !a.test.Frequentist {
		to["expected_loss"] = map[string]float64{"baseline": c.Keep, "variant": c.Take}
	}
	to["better"] = c.Significant && (c.Effect > 0) != a.test.Decrease
}

// warnings returns the names of reasons to doubt the numbers (experiments.md §6): uneven_rare if
// the smallest variant has less than 20 % of the shares and fewer than 25 entities with a value.
func (a *experimentAnswer) warnings(arms []arm) []string {
	included := a.included()
	smallest, total := included[0], 0.0
	for _, i := range included {
		total += a.Variants[i].Share
		if a.Variants[i].Share < a.Variants[smallest].Share {
			smallest = i
		}
	}
	if total > 0 && a.Variants[smallest].Share/total < 0.2 && arms[smallest].valued < 25 {
		return []string{"uneven_rare"}
	}
	return []string{}
}

// correct adds the p-values of a family after correction for multiple testing, if the experiment
// uses one (experiments.md §2.11).
func (q *resultsQuery) correct(family []*comparedVariant) {
	raise := map[string]func([]float64) []float64{"holm": experiments.Holm, "benjamini_hochberg": experiments.BenjaminiHochberg}[q.correction]
	if raise == nil || len(family) == 0 || !family[0].test.Frequentist {
		return
	}
	p := make([]float64, len(family))
	for i, c := range family {
		p[i] = c.found.P
	}
	for i, adjusted := range raise(p) {
		c, alpha := family[i], 1-family[i].test.Level
		c.view["p_value_adjusted"], c.view["significant_adjusted"], c.view["confidence_interval_adjusted"] = adjusted, adjusted < alpha, nil
		if interval, ok := experiments.AdjustedInterval(c.found.Effect, adjusted, alpha); ok {
			c.view["confidence_interval_adjusted"] = interval
		}
	}
}
