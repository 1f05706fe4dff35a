package trials

import (
	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/breakdown"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Kinds are the kinds of queries about experiments and rollouts.
var Kinds = []scan.Kind{
	{Name: "ExperimentQuery", Parse: parseExperiment},
	{Name: "ExperimentExposureQuery", Parse: parseExposures},
	{Name: "ExperimentPeopleQuery", Parse: parsePeople},
	{Name: "ExperimentResultsQuery", Parse: parseResults},
	{Name: "ExperimentTimeseriesQuery", Parse: parseTimeseries},
	{Name: "GuardedRolloutQuery", Parse: parseRollout},
}

// experimentQuery is an ExperimentQuery (experiments.md §3.2): one metric of an experiment.
type experimentQuery struct {
	Trial
	exposure exposure
	metric   metric
	test     experiments.Test
	// cuped is the number of days before an exposure that the covariate covers; 0: no covariate.
	cuped int
	// parts are the properties of the breakdown.
	parts []breakdown.Part
}

// parseExperiment parses an ExperimentQuery.
func parseExperiment(n document.Node, p *port.Project) scan.Plan {
	x := readTrial(n, p, true)
	m := n.Get("metric").Object()
	q := &experimentQuery{Trial: x, metric: ReadMetric(m, p)}
	if x.Experiment == nil {
		return q
	}
	q.exposure = readExposure(x, n, p)
	q.test, q.cuped = readStats(x.Stats)
	q.test.Decrease, q.parts = ReadDecrease(m), ReadMetricBreakdown(m, p)
	return q
}

// ReadDecrease reports whether the goal of a metric is a decrease.
func ReadDecrease(n document.Node) bool {
	return n.Get("goal").Choice("increase", "increase", "decrease") == "decrease"
}

// ReadMetricBreakdown parses the breakdown of a metric.
func ReadMetricBreakdown(n document.Node, p *port.Project) (out []breakdown.Part) {
	parts := n.Get("breakdownFilter").Object().Get("breakdowns")
	if list, _ := parts.Value.([]any); len(list) > breakdown.MaxParts {
		parts.Fail(document.InvalidInput, "Maximum of %d breakdowns are supported for experiment metrics", breakdown.MaxParts)
	}
	for _, part := range parts.List(breakdown.MaxParts) {
		kind := part.Get("type").Choice("event", "event", "person", "group")
		out = append(out, breakdown.ReadPart(part, kind, part.Get("property"), "", p))
	}
	return out
}
