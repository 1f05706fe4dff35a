package trials

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Trial is the experiment of a query.
type Trial struct {
	*experiments.Experiment
	// id is the id in the query, 0 if it has none.
	id int64
	// err is the error of Project.Experiment.
	err error
}

// About returns the experiment of the query, or the error of finding it.
func (x Trial) About() (*experiments.Experiment, error) { return x.Experiment, x.err }

// variant returns the index of the variant with a key, -1 if there is no such variant.
func (x Trial) variant(key string) int {
	return slices.IndexFunc(x.Variants, func(v experiments.Variant) bool { return v.Key == key })
}

// groupType returns the group type that the experiment is about, scan.AnyPeople if it is about persons.
func (x Trial) groupType() int {
	if x.GroupType == nil {
		return scan.AnyPeople
	}
	return *x.GroupType
}

// included returns the indexes of the variants that are not excluded from the analysis.
func (x Trial) included() []int {
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
func (x Trial) end(now time.Time) time.Time {
	if x.End.IsZero() || x.End.After(now) {
		return now
	}
	return x.End
}

// readTrial returns the experiment with the member experiment_id. If the member is absent, the
// result has no Experiment, which is a fault if mandatory is true.
func readTrial(n document.Node, p *port.Project, mandatory bool) Trial {
	id := n.Get("experiment_id")
	if id.IsAbsent() {
		if mandatory {
			id.Fail(document.Required, "experiment_id is required")
		}
		return Trial{}
	}
	number := id.IntInRange(0, 1<<53, 0)
	x := Trial{id: number}
	if p.Experiment != nil && !id.HasFailed() {
		x.Experiment, x.err = p.Experiment(number)
	}
	switch {
	case x.Experiment == nil:
		id.Fail(document.InvalidInput, "Experiment with id %d not found", number)
	case len(x.Variants) > experiments.MaxVariants || len(x.Variants) == 0:
		id.Fail(document.InvalidInput, "The flag of experiment %d has %d variants: it must have 1 to %d.", number, len(x.Variants), experiments.MaxVariants)
	}
	return x
}

// readStats parses a stats_config (experiments.md §2.1) and returns the test and the days of the
// covariate. A member that is out of range has its default.
func readStats(config json.RawMessage) (experiments.Test, int) {
	n, _ := document.Decode(config, "")
	return ReadTest(n)
}

// ReadTest is readStats for a node.
func ReadTest(n document.Node) (experiments.Test, int) {
	t := experiments.NewTest()
	method := n.Get("method")
	t.Frequentist = method.Value == "frequentist"
	own := n.Get("bayesian")
	if t.Frequentist {
		own = n.Get("frequentist")
		t.Level = 1 - own.Get("alpha").FloatInRange(0, 1, 1-t.Level)
		t.Sequential = own.Get("sequential_testing_enabled").Value == true
		t.Tuning = own.Get("sequential_tuning_parameter").FloatInRange(0.999, 1e9+1, t.Tuning)
	} else {
		t.Level = own.Get("ci_level").FloatInRange(0, 1, t.Level)
	}
	t.Absolute = own.Get("difference_type").Value == "ABSOLUTE"
	cuped := n.Get("cuped")
	if cuped.Get("enabled").Value != true {
		return t, 0
	}
	t.Covariates = true
	return t, lookback(cuped.Get("lookback_days"))
}

// lookback returns how many days before an exposure the covariate covers (experiments.md §1.14): 1
// to 30, by default 14.
func lookback(n document.Node) int {
	days, ok := n.Value.(json.Number)
	value, err := days.Int64()
	if !ok || err != nil {
		return 14
	}
	return int(min(max(value, 1), 30))
}

// readFlag reads the variants and the group type of a flag in the query.
func readFlag(x *experiments.Experiment, n document.Node) {
	filters := n.Get("filters").Object()
	for _, v := range filters.Get("multivariate").Object().Get("variants").List(experiments.MaxVariants) {
		x.Variants = append(x.Variants, experiments.Variant{Key: v.Get("key").Text(""), Share: v.Get("rollout_percentage").Number(0)})
	}
	if len(x.Variants) == 0 && !n.HasFailed() {
		n.Fail(document.Required, "A query without an experiment_id needs the variants of its flag.")
	}
	if index := filters.Get("aggregation_group_type_index"); !index.IsAbsent() {
		i := int(index.IntInRange(0, scan.MaxGroupTypes-1, 0))
		x.GroupType = &i
	}
}
