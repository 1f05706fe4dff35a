package insights

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
)

// trial is the experiment of a query.
type trial struct {
	*experiments.Experiment
	// err is the error of Project.Experiment.
	err error
}

// About returns the experiment of the query, or the error of finding it.
func (x trial) About() (*experiments.Experiment, error) { return x.Experiment, x.err }

// variant returns the index of the variant with a key, -1 if there is no such variant.
func (x trial) variant(key string) int {
	return slices.IndexFunc(x.Variants, func(v experiments.Variant) bool { return v.Key == key })
}

// groupType returns the group type that the experiment is about, anyPeople if it is about persons.
func (x trial) groupType() int {
	if x.GroupType == nil {
		return anyPeople
	}
	return *x.GroupType
}

// included returns the indexes of the variants that are not excluded from the analysis.
func (x trial) included() []int {
	var out []int
	for i, v := range x.Variants {
		if !slices.Contains(x.Excluded, v.Key) {
			out = append(out, i)
		}
	}
	return out
}

// end returns the time until which exposures count: the end of the experiment, but not later than
// now.
func (x trial) end(now time.Time) time.Time {
	if x.End.IsZero() || x.End.After(now) {
		return now
	}
	return x.End
}

// trialKinds are the kinds of queries about experiments and rollouts.
var trialKinds = []kind{
	{name: "ExperimentQuery", parse: parseExperiment},
	{name: "ExperimentExposureQuery", parse: parseExposures},
	{name: "ExperimentResultsQuery", parse: parseResults},
	{name: "ExperimentTimeseriesQuery", parse: parseTimeseries},
	{name: "GuardedRolloutQuery", parse: parseRollout},
}

// experimentQuery is an ExperimentQuery (experiments.md §3.2): one metric of an experiment.
type experimentQuery struct {
	trial
	exposure exposure
	metric   metric
	test     experiments.Test
	// cuped is the number of days before an exposure that the covariate covers; 0: no covariate.
	cuped int
	// parts are the properties of the breakdown.
	parts []breakdownPart
}

// parseExperiment parses an ExperimentQuery.
func parseExperiment(n node, p *Project) plan {
	x := readTrial(n, p, true)
	m := n.get("metric").object()
	q := &experimentQuery{trial: x, metric: readMetric(m, p)}
	if x.Experiment == nil {
		return q
	}
	q.exposure = readExposure(x, n, p)
	q.test, q.cuped = readStats(x.Stats)
	q.test.Decrease, q.parts = readDecrease(m), readMetricBreakdown(m, p)
	return q
}

// readDecrease reports whether the goal of a metric is a decrease.
func readDecrease(n node) bool {
	return n.get("goal").choice("increase", "increase", "decrease") == "decrease"
}

// readMetricBreakdown parses the breakdown of a metric.
func readMetricBreakdown(n node, p *Project) (out []breakdownPart) {
	parts := n.get("breakdownFilter").object().get("breakdowns")
	if list, _ := parts.value.([]any); len(list) > maxParts {
		parts.fail(invalidInput, "Maximum of %d breakdowns are supported for experiment metrics", maxParts)
	}
	for _, part := range parts.list(maxParts) {
		kind := part.get("type").choice("event", "event", "person", "group")
		out = append(out, readBreakdownPart(part, kind, part.get("property"), "", p))
	}
	return out
}

// readTrial returns the experiment with the member experiment_id. If the member is absent, the
// result has no Experiment, which is a fault if mandatory is true.
func readTrial(n node, p *Project, mandatory bool) trial {
	id := n.get("experiment_id")
	if id.isAbsent() {
		if mandatory {
			id.fail(required, "experiment_id is required")
		}
		return trial{}
	}
	number := id.intInRange(0, 1<<53, 0)
	var x trial
	if p.Experiment != nil && !id.hasFailed() {
		x.Experiment, x.err = p.Experiment(number)
	}
	switch {
	case x.Experiment == nil:
		id.fail(invalidInput, "Experiment with id %d not found", number)
	case len(x.Variants) > experiments.MaxVariants || len(x.Variants) == 0:
		id.fail(invalidInput, "The flag of experiment %d has %d variants: it must have 1 to %d.", number, len(x.Variants), experiments.MaxVariants)
	}
	return x
}

// readStats parses a stats_config (experiments.md §2.1) and returns the test and the days of the
// covariate. A member that is out of range has its default.
func readStats(config json.RawMessage) (experiments.Test, int) {
	n, _ := decodeQuery(config, "")
	return readTest(n)
}

// readTest is readStats for a node.
func readTest(n node) (experiments.Test, int) {
	t := experiments.NewTest()
	method := n.get("method")
	t.Frequentist = method.value == "frequentist"
	own := n.get("bayesian")
	if t.Frequentist {
		own = n.get("frequentist")
		t.Level = 1 - own.get("alpha").floatInRange(0, 1, 1-t.Level)
		t.Sequential = own.get("sequential_testing_enabled").value == true
		t.Tuning = own.get("sequential_tuning_parameter").floatInRange(0.999, 1e9+1, t.Tuning)
	} else {
		t.Level = own.get("ci_level").floatInRange(0, 1, t.Level)
	}
	t.Absolute = own.get("difference_type").value == "ABSOLUTE"
	cuped := n.get("cuped")
	if cuped.get("enabled").value != true {
		return t, 0
	}
	t.Covariates = true
	return t, lookback(cuped.get("lookback_days"))
}

// lookback returns how many days before an exposure the covariate covers (experiments.md §1.14): 1
// to 30, by default 14.
func lookback(n node) int {
	days, ok := n.value.(json.Number)
	value, err := days.Int64()
	if !ok || err != nil {
		return 14
	}
	return int(min(max(value, 1), 30))
}

// floatInRange returns a number, which may also be a string, between two exclusive bounds;
// otherwise fallback. It never records a fault.
func (n node) floatInRange(above, below, fallback float64) float64 {
	var f float64
	var ok bool
	switch v := n.value.(type) {
	case json.Number:
		f, ok = numberOf(v.String())
	case string:
		f, ok = numberOf(`"` + v + `"`)
	}
	if !ok || f <= above || f >= below {
		return fallback
	}
	return f
}
