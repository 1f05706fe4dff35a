package insights

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
)

func init() {
	kinds = append(kinds, kind{"ExperimentQuery", parseExperiment}, kind{"ExperimentExposureQuery", parseExposures}, kind{"ExperimentResultsQuery", parseResults},
		kind{"ExperimentTimeseriesQuery", parseTimeseries})
}

// experimentPlan are plans that are about an experiment; the error is that of finding it.
type experimentPlan interface {
	experiment() (*experiments.Experiment, error)
}

var _ experimentPlan = trial{}

// trial is an experiment as its queries look at it.
type trial struct {
	*experiments.Experiment
	err error // of looking it up
}

func (x trial) experiment() (*experiments.Experiment, error) { return x.Experiment, x.err }

func (x trial) variant(key string) int {
	return slices.IndexFunc(x.Variants, func(v experiments.Variant) bool { return v.Key == key })
}

func (x trial) groupType() int {
	if x.GroupType == nil {
		return anyPeople
	}
	return *x.GroupType
}

// included are the places of the variants that count.
func (x trial) included() []int {
	var out []int
	for i, v := range x.Variants {
		if !slices.Contains(x.Excluded, v.Key) {
			out = append(out, i)
		}
	}
	return out
}

// end is until when exposures count.
func (x trial) end(now time.Time) time.Time {
	if x.End.IsZero() || x.End.After(now) {
		return now
	}
	return x.End
}

// experimentQuery is an ExperimentQuery (experiments.md §3.2).
type experimentQuery struct {
	trial
	exposure exposure
	metric   metric
	test     experiments.Test
	cuped    int // days of the covariate, 0: none
	parts    []breakdownPart
}

func parseExperiment(n node, p *Project) plan {
	x := n.experiment(p, true)
	m := n.get("metric").object()
	q := &experimentQuery{trial: x, metric: readMetric(m, p)}
	if x.Experiment == nil {
		return q
	}
	q.exposure = readExposure(x, n, p)
	q.test, q.cuped = readStats(x.Stats)
	q.test.Decrease, q.parts = m.decrease(), m.metricBreakdown(p)
	return q
}

// decrease says whether less is better.
func (n node) decrease() bool {
	return n.get("goal").choice("increase", "increase", "decrease") == "decrease"
}

func (n node) metricBreakdown(p *Project) (out []breakdownPart) {
	parts := n.get("breakdownFilter").object().get("breakdowns")
	if list, _ := parts.value.([]any); len(list) > maxParts {
		parts.fail(invalidInput, "Maximum of %d breakdowns are supported for experiment metrics", maxParts)
	}
	for _, part := range parts.list(maxParts) {
		kind := part.get("type").choice("event", "event", "person", "group")
		out = append(out, part.breakdownPart(kind, part.get("property"), "", p))
	}
	return out
}

// experiment is the one that a query names; without an Experiment where it names none,
// which is a fault if it must.
func (n node) experiment(p *Project, mandatory bool) trial {
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
		id.fail(invalidInput, "The flag of experiment %d has %d variants: want 1 to %d.", number, len(x.Variants), experiments.MaxVariants)
	}
	return x
}

// readStats reads a stats_config (experiments.md §2.1). Members out of bounds have their defaults.
func readStats(config json.RawMessage) (experiments.Test, int) {
	n, _ := decodeQuery(config, "")
	return n.stats()
}

func (n node) stats() (experiments.Test, int) {
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

// lookback is how many days before its exposure a person's covariate is of (experiments.md §1.14).
func lookback(n node) int {
	days, ok := n.value.(json.Number)
	value, err := days.Int64()
	if !ok || err != nil {
		return 14
	}
	return int(min(max(value, 1), 30))
}

// floatInRange is a number, also as a text, inside of bounds; else the default.
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
