package trials

import (
	"strings"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// metric is what an experiment measures (experiments.md §3.2). Which of the fields are used depends
// on kind.
type metric struct {
	kind experiments.Kind
	// window is how long after an entity's exposure events count, in microseconds; 0 means until
	// the end of the experiment.
	window int64
	// sides are the sources of a mean (one side) or of a ratio (numerator and denominator).
	sides []metricSource
	// Only of a funnel.
	stepsMetric
	// Only of a retention metric.
	returnMetric
}

// Orders of the steps of a funnel; the third is "ordered" (experiments.md §1.9).
const (
	strictOrder = "strict"
	anyOrder    = "unordered"
)

// stepsMetric has the steps of a funnel (experiments.md §1.9). The exposure comes before the first
// step.
type stepsMetric struct {
	series []filter.Entity
	// order is ordered, unordered or strict.
	order string
}

// returnMetric defines a retention metric (experiments.md §1.11): the share of entities with a
// completion event in a window of time after a start event.
type returnMetric struct {
	start, completion filter.Entity
	// fromExposure uses the exposure as the start event.
	fromExposure bool
	unit         string
	// begin and end are the bounds of the window, both inclusive, in units.
	begin, end int64
	// latest uses the last start event instead of the first.
	latest bool
}

// metricSource defines a number that is computed for each entity from its events (experiments.md
// §1.7).
type metricSource struct {
	filter.Entity
	math string
	// value is the property that the math aggregates; nil for maths that count.
	value func(b *scan.Binder) scan.Getter
	// groupType is the group type of the math unique_group.
	groupType int
	// sessions is true if value is a property of the session; each session counts once then.
	sessions bool
	// threshold converts the value to 1 if it is at least the threshold, otherwise to 0; nil: no
	// conversion.
	threshold *float64
	cut       cut
}

// cut defines how outliers are handled (experiments.md §1.8): values beyond a quantile are set to
// it.
type cut struct {
	// lower and upper are quantiles from 0 to 1; nil: no bound. If ignoreZeros is true, the upper
	// bound is the quantile of the values that are not zero.
	lower, upper *float64
	ignoreZeros  bool
}

// metricUnits are units of time in microseconds. A month has 30 days, unlike that of funnels
// (windowUnits).
var metricUnits = map[string]int64{"second": 1e6, "minute": 60e6, "hour": 3600e6, "day": 86400e6, "week": 7 * 86400e6, "month": 30 * 86400e6}

// unitNames are the keys of metricUnits.
var unitNames = []string{"second", "minute", "hour", "day", "week", "month"}

// metricKinds are the parsers of metrics by metric_type. Add new kinds of metrics here.
var metricKinds = map[string]func(m *metric, n document.Node, p *port.Project){
	"mean": func(m *metric, n document.Node, p *port.Project) {
		m.kind = experiments.Mean
		side := readMetricSource(n.Get("source"), p)
		if !n.Get("threshold").IsAbsent() {
			c := n.Get("threshold").Number(0)
			if side.math == "total" || side.math == "sum" {
				side.threshold = &c
			}
		}
		side.cut = readCut(n)
		m.sides = []metricSource{side}
	},
	"ratio": func(m *metric, n document.Node, p *port.Project) {
		m.kind = experiments.Ratio
		for _, name := range []string{"numerator", "denominator"} {
			side := readMetricSource(n.Get(name), p)
			side.cut = readCut(n.Get(name + "_outlier_handling").Object())
			m.sides = append(m.sides, side)
		}
	},
	"funnel":    readFunnelMetric,
	"retention": readRetentionMetric,
}

// ReadMetric parses a metric.
func ReadMetric(n document.Node, p *port.Project) metric {
	var m metric
	if n.IsAbsent() {
		n.Fail(document.Required, "metric is required")
		return m
	}
	if kind := n.Get("kind").Text(""); kind != "ExperimentMetric" {
		n.Get("kind").Fail(document.InvalidInput, "metric kind must be 'ExperimentMetric'")
	}
	name := n.Get("metric_type").Text("")
	read := metricKinds[name]
	if read == nil {
		n.Get("metric_type").Fail(document.InvalidChoice, "%s is not one of mean, funnel, ratio, retention.", document.Describe(name))
		return m
	}
	if window := n.Get("conversion_window"); !window.IsAbsent() {
		unit := metricUnits[n.Get("conversion_window_unit").Choice("day", unitNames...)]
		m.window = unit * window.IntInRange(1, maxWindow/unit, 1)
	}
	read(&m, n, p)
	return m
}

// maxWindow is the maximum window of a metric, in microseconds. It limits how long after the end of
// an experiment events are read. A funnel without a window has this one (experiments.md §1.9).
const maxWindow = 3 * 365 * 86400e6

// readMetricSource parses a node with its math.
func readMetricSource(n document.Node, p *port.Project) metricSource {
	if n.IsAbsent() {
		n.Fail(document.Required, "This field is required.")
		return metricSource{}
	}
	s := metricSource{Entity: filter.ReadEntity(n.Object(), p), math: n.Get("math").Text("total")}
	property := n.Get("math_property").Text("")
	switch s.math {
	case "sum", "avg", "min", "max":
		s.sessions = property == "$session_duration"
		switch {
		case property == "":
			n.Get("math_property").Fail(document.Required, "The math %q needs a math_property.", s.math)
		case s.sessions:
			s.value = func(b *scan.Binder) scan.Getter { return b.SessionValue(property) }
		default:
			s.value = func(b *scan.Binder) scan.Getter { return b.EventProperty(property) }
		}
	case "unique_group":
		if n.Get("math_group_type_index").IsAbsent() {
			n.Get("math_group_type_index").Fail(document.Required, "The math unique_group needs a math_group_type_index.")
		}
		s.groupType = int(n.Get("math_group_type_index").IntInRange(0, scan.MaxGroupTypes-1, 0))
	case "total", "unique_session", "dau":
	default:
		n.Get("math").Fail(document.NotSupported, "The math %s is not supported in experiments.", document.Describe(s.math))
	}
	return s
}

// readCut parses the members about outliers.
func readCut(n document.Node) cut {
	c := cut{ignoreZeros: n.Get("ignore_zeros").Boolean()}
	for name, to := range map[string]**float64{"lower_bound_percentile": &c.lower, "upper_bound_percentile": &c.upper} {
		if bound := n.Get(name); !bound.IsAbsent() {
			f := bound.Number(0)
			if f < 0 || f > 1 {
				bound.Fail(document.InvalidInput, "%s is not between 0 and 1.", document.Describe(bound.Value))
			}
			*to = &f
		}
	}
	if c.lower != nil && c.upper != nil && *c.lower > *c.upper {
		n.Get("lower_bound_percentile").Fail(document.InvalidInput, "The lower bound is above the upper one.")
	}
	return c
}

// readFunnelMetric parses the members of a funnel.
func readFunnelMetric(m *metric, n document.Node, p *port.Project) {
	m.kind = experiments.Funnel
	m.series = filter.ReadEntities(n.Get("series"), p, maxFunnelSteps)
	m.order = n.Get("funnel_order_type").Choice("ordered", "ordered", anyOrder, strictOrder)
}

// maxFunnelSteps is the maximum number of steps of a funnel, without the exposure.
const maxFunnelSteps = 20

// readRetentionMetric parses the members of a retention metric, which are all required except
// start_handling.
func readRetentionMetric(m *metric, n document.Node, p *port.Project) {
	m.kind = experiments.Retention
	for _, name := range strings.Fields("start_event completion_event retention_window_start retention_window_end retention_window_unit") {
		if n.Get(name).IsAbsent() {
			n.Get(name).Fail(document.Required, "This field is required.")
		}
	}
	start := n.Get("start_event").Object()
	if m.fromExposure = start.Get("kind").Value == "ExperimentExposureNode"; !m.fromExposure {
		m.start = filter.ReadEntity(start, p)
	}
	m.completion = filter.ReadEntity(n.Get("completion_event").Object(), p)
	m.unit = n.Get("retention_window_unit").Choice("day", unitNames...)
	m.begin = n.Get("retention_window_start").IntInRange(0, 10_000, 0)
	m.end = n.Get("retention_window_end").IntInRange(0, 10_000, 0)
	if m.begin > m.end {
		n.Get("retention_window_start").Fail(document.InvalidInput, "retention_window_start is above retention_window_end.")
	}
	m.latest = n.Get("start_handling").Choice("first_seen", "first_seen", "last_seen") == "last_seen"
}
