package trials

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
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
	// all are all metrics of the experiment, the primary ones first.
	all []storedMetric
	// correction is the method for multiple testing: none, holm or benjamini_hochberg.
	correction string
}

// storedMetric is a metric that is stored with the experiment.
type storedMetric struct {
	// raw is the metric as stored, query its query, and fault the error of parsing it.
	raw   json.RawMessage
	query *experimentQuery
	fault error
	// index is the index in resultsQuery.all.
	index int
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
	q.all = q.metrics(p)
	for i := range q.all {
		m := &q.all[i]
		switch {
		case only != nil && !slices.Contains(only, m.uuid()):
		case i < len(q.Primary):
			q.primary = append(q.primary, *m)
		default:
			q.secondary = append(q.secondary, *m)
		}
	}
	if count := len(q.primary) + len(q.secondary); count > maxMetrics {
		n.Fail(document.TooLarge, "%d metrics are too many: at most %d are computed at once.", count, maxMetrics)
	}
	return q
}

// uuid returns the UUID of the metric, "" if it has none.
func (m *storedMetric) uuid() string {
	text, _ := wire.Value(rawMember(m.raw, "uuid")).(string)
	return text
}

// metrics parses all stored metrics. Faults are recorded in the metric, so that they do not prevent
// results of the other metrics.
func (x Trial) metrics(p *port.Project) (out []storedMetric) {
	for i, raw := range slices.Concat(x.Primary, x.Secondary) {
		m := storedMetric{raw: raw, index: i}
		n, fault := document.Decode(wire.MustEncode(map[string]any{"metric": raw, "experiment_id": 0}), "query")
		// The nested query has to find this experiment, whatever its id is.
		project := *p
		project.Experiment = func(int64) (*experiments.Experiment, error) { return x.Experiment, nil }
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

// Run reads the exposures and the events of all metrics once, and then computes each metric.
func (q *resultsQuery) Run(r *scan.Run) (result *port.Result, err error) {
	d, err := q.foldDays(r)
	if err != nil {
		return nil, err
	}
	var exposures *port.Result
	if d != nil {
		defer func() { d.close(err) }()
		exposures, err = q.exposures.answer(d.experimentRun)
	} else {
		exposures, err = q.exposures.Run(r)
	}
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
	m := &measuredMetrics{daily: d}
	// Metrics that are not measured day by day share one reading of the exposures.
	m.shared = sync.OnceValues(func() (*experimentRun, error) {
		f := newExperimentRun(r, q.Trial, q.exposures.exposure, nil)
		if q.Start.IsZero() {
			return f, nil
		}
		return f, f.readExposures()
	})
	for name, list := range map[string][]storedMetric{"primary": q.primary, "secondary": q.secondary} {
		if out[name], err = q.answers(m, list); err != nil {
			return nil, err
		}
	}
	if d != nil {
		d.isDone = true
	}
	return &port.Result{Extra: out}, nil
}

// foldDays measures the metrics as of now, day by day. It returns nil if no metric can be measured
// like this, or if all of them together need too much memory.
func (q *resultsQuery) foldDays(r *scan.Run) (d *daily, err error) {
	days, ok := q.days(r, maxTimeseries)
	if !ok || len(q.primary)+len(q.secondary) == 0 {
		return nil, nil
	}
	d, err = openDaily(r, q.Trial, q.exposures.exposure, q.all)
	if d != nil {
		if err = d.foldUntilNow(days); err != nil {
			d.close(err)
		}
	}
	if fault := new(port.Error); errors.As(err, &fault) && fault.Code == document.TooLarge {
		r.Reserved = r.Retained
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return d, nil
}

// measuredMetrics are the metrics of an experiment after their events have been read.
type measuredMetrics struct {
	// daily may be nil.
	daily *daily
	// shared returns the run with the exposures for all other metrics.
	shared func() (*experimentRun, error)
}

// answer computes a metric and calls use with the answer, which is valid until use returns.
func (m *measuredMetrics) answer(metric *storedMetric, use func(a *experimentAnswer)) error {
	if m.daily != nil && m.daily.metrics[metric.index] != nil {
		a, err := m.daily.answer(m.daily.metrics[metric.index])
		if err == nil {
			use(a)
		}
		return err
	}
	f, err := m.shared()
	if err != nil {
		return err
	}
	return f.ReleaseAfter(func() error { // the next metric reuses the memory of this one
		a := &experimentAnswer{experimentQuery: metric.query, f: f.fork()}
		if !a.Start.IsZero() {
			if err := a.read(); err != nil {
				return err
			}
		}
		use(a)
		return nil
	})
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
func (q *resultsQuery) answers(measured *measuredMetrics, list []storedMetric) ([]any, error) {
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
			err = measured.answer(m, func(a *experimentAnswer) { family = append(family, a.addDetails(view)...) })
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
	if mean, _, ok := m.sample.Estimate(k); ok {
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
