package trials

import (
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
)

// rolloutQuery is a GuardedRolloutQuery: the numbers of one step of a guarded rollout
// (experiments.md §4.4). PostHog does not have this kind. The query has all data about the rollout
// that it needs.
type rolloutQuery struct {
	flag string
	hash flags.Hash
	// group is the group type of the flag; nil: persons.
	group *int
	// variants are the keys of treatment and control; nil if the flag has no variants.
	variants []string
	// from, border and to are the bounds of the arms in the hash space of the flag. For a flag
	// without variants, the treatment is up to border.
	from, border, to float64
	// controlFirst is true if the control is before border.
	controlFirst bool
	// Exposures count from since; the step is judged at at.
	since, at time.Time
	// settled is the start of the step plus its settle time.
	settled time.Time
	metrics []rolloutMetric
	// tests excludes test accounts.
	tests filter.Condition
}

// rolloutMetric is a metric, or the fault of parsing it.
type rolloutMetric struct {
	metric
	fault *port.Error
}

// maxRolloutMetrics is the maximum number of metrics of a rollout: ten guardrails and ten signals.
const maxRolloutMetrics = 20

// parseRollout parses a GuardedRolloutQuery. A fault in a metric is recorded in the metric and does
// not affect the other metrics.
func parseRollout(n document.Node, p *port.Project) scan.Plan {
	q := &rolloutQuery{
		flag: n.Get("flag_key").Text(""), hash: flags.Hash(n.Get("hash").Text("")), controlFirst: n.Get("control_first").Boolean(),
		from: n.Get("from").Number(0), border: n.Get("border").Number(0), to: n.Get("to").Number(1),
		tests: filter.ReadTestAccounts(document.Node{Value: map[string]any{"filterTestAccounts": true}, Fault: n.Fault}, p),
		since: calendar.ReadInstant(n.Get("since")), at: calendar.ReadInstant(n.Get("as_of")), settled: calendar.ReadInstant(n.Get("settled_at")),
	}
	if q.flag == "" {
		n.Get("flag_key").Fail(document.Required, "This field is required.")
	}
	for _, v := range n.Get("arms").List(2) {
		q.variants = append(q.variants, v.Text(""))
	}
	if len(q.variants) == 1 {
		n.Get("arms").Fail(document.InvalidInput, "Expected the treatment and the control, or nothing.")
	}
	if g := n.Get("group_type_index"); !g.IsAbsent() {
		index := int(g.IntInRange(0, scan.MaxGroupTypes-1, 0))
		q.group = &index
	}
	for _, m := range n.Get("metrics").List(maxRolloutMetrics) {
		own, fault := document.Decode(m.Raw(), m.Attr)
		read := rolloutMetric{metric: ReadMetric(own.Object(), p)}
		switch {
		case *fault != nil:
		case read.window == 0:
			own.Get("conversion_window").Fail(document.Required, "A metric of a rollout needs a conversion_window.")
		case read.kind == experiments.Retention:
			own.Get("metric_type").Fail(document.InvalidChoice, "retention is not one of mean, funnel, ratio.")
		case slices.ContainsFunc(read.sides, func(s metricSource) bool { return s.cut.lower != nil || s.cut.upper != nil }):
			own.Fail(document.NotSupported, "Outlier handling is not supported in rollouts.")
		}
		read.fault = *fault
		q.metrics = append(q.metrics, read)
	}
	return q
}

// arm returns the arm of an identifier, treatment or control, by the hash of the flag. It returns
// -1 if it is in neither.
func (q *rolloutQuery) arm(id string) int {
	if q.variants == nil {
		if q.hash.Rollout(q.flag, id) <= q.border {
			return treatment
		}
		return control
	}
	at := q.hash.Variant(q.flag, id)
	switch {
	case at < q.from || at >= q.to:
		return -1
	case at < q.border != q.controlFirst:
		return treatment
	}
	return control
}

// Indexes of the arms.
const (
	treatment = iota
	control
)

// population reads the entities that were exposed (§4.4, 1 to 3).
type population struct {
	*experimentRun
	q *rolloutQuery
	// response is the property with the variant that a client reported.
	response scan.Getter
	// first is, by entity, the time of the first exposure; nil until setAnchors has replaced the
	// times of the entities.
	first     []int64
	integrity guarded.Integrity
}

// Run reads the exposures and computes each metric for the two arms.
func (q *rolloutQuery) Run(r *scan.Run) (*port.Result, error) {
	x := Trial{Experiment: &experiments.Experiment{
		FlagKey: q.flag, GroupType: q.group, Start: q.since, End: q.at, Variants: []experiments.Variant{{Key: "treatment"}, {Key: "control"}},
	}}
	// An activation that is never bound: it marks the exposures as final, so that funnels do not
	// count further exposure events as their start.
	e := exposure{Entity: flagExposures(r.Project, q.flag), activation: &filter.Entity{}}
	e.Conditions = append(e.Conditions, q.tests)
	f := &population{experimentRun: newExperimentRun(r, x, e, nil), q: q}
	f.to = q.at.UnixMicro()
	if err := f.read(); err != nil {
		return nil, err
	}
	out := &guarded.Evidence{Integrity: f.integrity}
	for i := range f.entities {
		if e := &f.entities[i]; e.active {
			switch e.variantIndex(false, never) {
			case treatment:
				out.Exposed.Treatment++
			case control:
				out.Exposed.Control++
			default:
				out.Exposed.Multiple++
			}
		}
	}
	longest := int64(0)
	for i := range q.metrics {
		m := &q.metrics[i]
		measured, err := f.measureMetric(m)
		if err != nil {
			return nil, err
		}
		out.Metrics = append(out.Metrics, measured)
		longest = max(longest, m.window)
	}
	out.Matured = f.countMatured(longest)
	return &port.Result{Extra: map[string]any{"evidence": out}}, nil
}

// read finds the first exposure of each entity and its arm. It also counts how often clients report
// another arm than the hash determines.
func (f *population) read() error {
	settled := f.q.settled.UnixMicro()
	f.b.Needs.Columns |= port.DistinctIDs
	f.response = f.b.EventProperty("$feature_flag_response")
	return f.b.ScanBound(port.Scan{From: f.from, To: f.to, Names: filter.EventNames(f.matcher)}, func(r *scan.Row) error {
		if !f.matcher.Matches(r) {
			return nil
		}
		reported, counts := f.reportedArm(r)
		if !counts {
			return nil
		}
		actor, ok := f.actors.Number(r)
		if !ok {
			return nil
		}
		id := r.Batch.DistinctID[r.Index]
		if f.actors.Keys != nil {
			id = f.actors.Keys.All[actor]
		}
		// The arm is computed, not reported: clients send an exposure only when they first read a
		// value, so reports favor entities that changed arms (§4.4).
		arm := f.q.arm(id)
		if arm < 0 {
			return nil
		}
		// Earlier reports may be based on older definitions.
		if r.Batch.Time[r.Index] > settled {
			f.integrity.Checked++
			if reported != arm {
				f.integrity.Disagree++
			}
		}
		return f.expose(r, actor, arm)
	})
}

// reportedArm returns the arm that a client reported, and whether the exposure counts.
func (f *population) reportedArm(r *scan.Row) (int, bool) {
	raw := f.response(r)
	if f.q.variants == nil {
		if text, _ := scan.Text(raw); text == "true" {
			return treatment, true
		}
		return control, true
	}
	text, _ := scan.Text(raw)
	arm := slices.Index(f.q.variants, text)
	return arm, arm >= 0
}

// setAnchors moves the times of the exposures to those from which events count (A of §4.4): not
// before the step has settled. It does so on the first call only.
func (f *population) setAnchors() error {
	if f.first == nil {
		if err := f.Reserve(8 * int64(len(f.entities))); err != nil {
			return err
		}
		f.first = make([]int64, len(f.entities))
		for i := range f.entities {
			f.first[i] = f.entities[i].first
			f.entities[i].first = max(f.first[i], f.q.settled.UnixMicro())
		}
	}
	return nil
}

// countMatured returns the number of entities in each arm for which a window is over.
func (f *population) countMatured(window int64) (out guarded.Arms) {
	for i := range f.entities {
		e := &f.entities[i]
		if !e.active || e.first+window > f.to {
			continue
		}
		switch e.variantIndex(false, never) {
		case treatment:
			out.Treatment++
		case control:
			out.Control++
		}
	}
	return out
}

// measureMetric sums a metric over the entities for which the window is over. The memory that it
// needs is released for the next metric.
func (f *population) measureMetric(m *rolloutMetric) (out guarded.Measurement, err error) {
	if err := f.setAnchors(); err != nil {
		return out, err
	}
	if m.fault != nil {
		return guarded.Measurement{Error: m.fault.Detail}, nil
	}
	err = f.ReleaseAfter(func() (err error) {
		out, err = f.sums(m)
		return err
	})
	return out, err
}

// sums scans the events of a metric and returns the samples of the two arms.
func (f *population) sums(m *rolloutMetric) (out guarded.Measurement, err error) {
	own := f.fork()
	own.to = f.to
	a := &experimentAnswer{experimentQuery: &experimentQuery{Trial: f.Trial, metric: m.metric}, f: own, measure: newMeasurer(&m.metric, 0)}
	matchers := a.measure.bind(own)
	err = own.b.ScanBound(port.Scan{From: f.q.settled.UnixMicro(), To: f.to, Names: filter.EventNames(matchers...)}, func(r *scan.Row) error {
		actor, e := own.entity(r)
		if at := r.Batch.Time[r.Index]; e == nil || at < e.first || at >= e.first+m.window || e.first+m.window > f.to {
			return nil
		}
		return a.measure.see(r, actor, e)
	})
	if err != nil {
		return out, err
	}
	if a.entities, err = own.ordered(); err != nil {
		return out, err
	}
	if err := f.Reserve(figuresSize * int64(len(own.entities))); err != nil {
		return out, err
	}
	a.measured = make([]figures, len(own.entities))
	if err := a.measure.finish(own, a.measured); err != nil {
		return out, err
	}
	a.entities = slices.DeleteFunc(a.entities, func(actor uint32) bool { return own.entities[actor].first+m.window > f.to })
	arms := a.arms(nil)
	out = guarded.Measurement{Treatment: arms[treatment].sample, Control: arms[control].sample}
	if !out.Treatment.IsFinite() || !out.Control.IsFinite() {
		out = guarded.Measurement{Error: "The values are too large to be added."}
	}
	return out, nil
}
