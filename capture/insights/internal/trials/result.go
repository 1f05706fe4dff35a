package trials

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// Run reads the exposures and the events of the metric, and compares the variants. An experiment
// that has not started has no exposures.
func (q *experimentQuery) Run(r *scan.Run) (*port.Result, error) {
	f := newExperimentRun(r, q.Trial, q.exposure, q.parts)
	found := &experimentAnswer{experimentQuery: q, f: f}
	if !q.Start.IsZero() {
		if err := f.readExposures(); err != nil {
			return nil, err
		}
		if err := found.read(); err != nil {
			return nil, err
		}
	}
	if q.parts != nil && len(f.tuples.All) > maxTuples {
		return nil, document.NewFault(document.TooLarge, "query__metric__breakdownFilter", "%d values of a breakdown are too many: at most %d are allowed.", len(f.tuples.All), maxTuples)
	}
	return &port.Result{Extra: found.members()}, nil
}

// maxTuples is the maximum number of breakdown values (experiments.md §1.12).
const maxTuples = 1000

// experimentAnswer computes the results of one metric.
type experimentAnswer struct {
	*experimentQuery
	f *experimentRun
	// measure computes the figures of entities.
	measure measurer
	// entities are the numbers of the entities that count for the metric, sorted by id.
	entities []uint32
	// measured are the figures by the number of the entity.
	measured []figures
	// noQuotient is true if the metric is a ratio and the denominators of all variants are 0.
	noQuotient bool
}

// read scans the events of the metric and computes the figures of the exposed entities.
func (a *experimentAnswer) read() error {
	f, before := a.f, a.lookback()
	a.measure = newMeasurer(&a.metric, before)
	matchers := a.measure.bind(f)
	err := f.b.ScanBound(port.Scan{From: f.from - before, To: a.until(), Names: filter.EventNames(matchers...)}, func(r *scan.Row) error {
		actor, e := f.entity(r)
		if e == nil {
			return nil
		}
		return a.measure.see(r, actor, e)
	})
	if err != nil {
		return err
	}
	if a.entities, err = f.ordered(); err != nil {
		return err
	}
	if err := f.Reserve(figuresSize * int64(len(f.entities))); err != nil {
		return err
	}
	a.measured = make([]figures, len(f.entities))
	if err := a.measure.finish(f, a.measured); err != nil {
		return err
	}
	a.entities = slices.DeleteFunc(a.entities, func(actor uint32) bool { return a.measured[actor].excluded })
	return a.cutOutliers()
}

// lookback returns how many microseconds before an exposure the covariate covers, 0 without one.
func (a *experimentAnswer) lookback() int64 {
	if a.hasCovariate() {
		return int64(a.cuped) * metricUnits["day"]
	}
	return 0
}

// hasCovariate reports whether the metric is adjusted by a covariate, the same value before the
// exposure (experiments.md §1.14). It is not for ratios, retention, thresholds, sessions and
// funnels that are not ordered.
func (a *experimentAnswer) hasCovariate() bool {
	m := &a.metric
	switch m.kind {
	case experiments.Mean:
		return a.cuped > 0 && m.sides[0].threshold == nil && !m.sides[0].sessions
	case experiments.Funnel:
		return a.cuped > 0 && m.order == "ordered"
	}
	return false
}

// until returns the time of the last event that can count: the end of the exposures plus the window
// of the metric.
func (a *experimentAnswer) until() int64 {
	to := a.f.to + a.metric.window
	if a.metric.kind == experiments.Retention {
		// Days and hours are counted on the local clock, so their real length varies. This is an
		// upper bound.
		to += (a.metric.end + 1) * max(metricUnits[a.metric.unit], 26*metricUnits["hour"])
	}
	return min(to, a.f.last)
}

// cutOutliers limits the values of the metric, with separate bounds for each value of the breakdown
// (experiments.md §1.8).
func (a *experimentAnswer) cutOutliers() error {
	for i := range a.metric.sides {
		side := &a.metric.sides[i]
		if side.cut.lower == nil && side.cut.upper == nil || side.threshold != nil {
			continue
		}
		field := func(m *figures) *float64 { return &m.value }
		// Side 1 is the denominator.
		if i > 0 {
			field = func(m *figures) *float64 { return &m.below }
		}
		if err := a.f.Reserve(8 * int64(len(a.entities))); err != nil {
			return err
		}
		// values are by the number of the breakdown value, which is 0 without a breakdown.
		values := make([][]float64, max(len(a.f.tuples.All), 1))
		values[0] = make([]float64, 0, len(a.entities)/len(values))
		for _, actor := range a.entities {
			tuple := a.f.entities[actor].tuple
			values[tuple] = append(values[tuple], *field(&a.measured[actor]))
		}
		found := make([]bounds, len(values))
		for tuple, list := range values {
			found[tuple] = side.cut.bounds(list)
		}
		for _, actor := range a.entities {
			v := field(&a.measured[actor])
			*v = found[a.f.entities[actor].tuple].cut(*v)
		}
	}
	return nil
}

// arm sums the figures of the entities of one variant.
type arm struct {
	key    string
	sample experiments.Sample
	// valued is the number of entities with a value other than 0.
	valued int64
	// steps is, by funnel step, the number of entities that reached it.
	steps []int64
	// dropped are, by funnel step, sessions of entities that reached this step but not the next
	// one.
	dropped [][]any
	// sums are the sums of value, below and before, of their squares and products, in the order of
	// close.
	sums [8]exactSum
}

// add adds the figures of an entity. Adding 0 to a sum changes nothing.
func (m *arm) add(v *figures) {
	m.sample.N++
	if v.value != 0 {
		m.valued++
		m.sums[0].add(v.value)
		m.sums[1].add(v.value * v.value)
	}
	if v.below != 0 {
		m.sums[2].add(v.below)
		m.sums[3].add(v.below * v.below)
		m.sums[4].add(v.value * v.below)
	}
	if v.before != 0 {
		m.sums[5].add(v.before)
		m.sums[6].add(v.before * v.before)
		m.sums[7].add(v.value * v.before)
	}
	for i := range int(v.reached) {
		m.steps[i]++
	}
}

// close copies the sums to the sample.
func (m *arm) close() {
	s := &m.sample
	for i, to := range []*float64{&s.Sum, &s.Squares, &s.Below, &s.BelowSquares, &s.Product, &s.Before, &s.BeforeSquares, &s.BeforeProduct} {
		*to = m.sums[i].total()
	}
}

// arms returns the sums of all variants. If tuple is not nil, only the entities with these
// breakdown values count.
func (a *experimentAnswer) arms(tuple *uint32) []arm {
	out := make([]arm, len(a.Variants))
	for i := range out {
		out[i] = arm{key: a.Variants[i].Key, steps: make([]int64, len(a.metric.series))}
	}
	for _, actor := range a.entities {
		e := &a.f.entities[actor]
		if tuple == nil || e.tuple == *tuple {
			out[e.variantIndex(a.exposure.firstSeen, a.f.asOf)].add(&a.measured[actor])
		}
	}
	for i := range out {
		out[i].close()
	}
	if w, ok := a.measure.(*funnelMeasurer); ok && tuple == nil {
		for i := range out {
			out[i].dropped = a.sessions(w, i)
		}
	}
	return out
}

// members returns the members of the response (experiments.md §3.3).
func (a *experimentAnswer) members() map[string]any {
	baseline, variants := a.compareVariants(a.arms(nil))
	out := map[string]any{
		"kind": "ExperimentQuery", "baseline": baseline, "variant_results": variants, "breakdown_results": nil,
		"clickhouse_sql": nil, "is_precomputed": false,
	}
	if a.parts == nil {
		return out
	}
	tuples := make([]uint32, len(a.f.tuples.All))
	for i := range tuples {
		tuples[i] = uint32(i)
	}
	slices.SortFunc(tuples, func(x, y uint32) int { return strings.Compare(a.f.tuples.All[x], a.f.tuples.All[y]) })
	list := []any{}
	for _, tuple := range tuples {
		// Values that occur only in exposures of entities that do not count are left out.
		if !slices.ContainsFunc(a.entities, func(actor uint32) bool { return a.f.entities[actor].tuple == tuple }) {
			continue
		}
		baseline, variants := a.compareVariants(a.arms(&tuple))
		list = append(list, map[string]any{"breakdown_value": strings.Split(a.f.tuples.All[tuple], tupleMark), "baseline": baseline, "variants": variants})
	}
	out["breakdown_results"] = list
	return out
}

// compareVariants returns the statistics of the baseline, and those of each other variant with its
// comparison to the baseline.
func (a *experimentAnswer) compareVariants(arms []arm) (map[string]any, []any) {
	base := a.Baseline()
	a.noQuotient = a.metric.kind == experiments.Ratio && !slices.ContainsFunc(a.included(), func(i int) bool { return arms[i].sample.Below != 0 })
	baseline := a.statistics(&arms[base])
	baseline["validation_failures"] = a.failures(&arms[base].sample, true)
	variants := []any{}
	for _, i := range a.included() {
		if i == base {
			continue
		}
		v := a.statistics(&arms[i])
		v["validation_failures"] = a.failures(&arms[i].sample, false)
		found, ok := a.compare(&arms[i], &arms[base])
		a.addVerdict(v, &found, ok)
		variants = append(variants, v)
	}
	return baseline, variants
}

// compare compares a variant with the baseline. It returns false if one of them has validation
// failures, or if the statistics cannot be computed.
func (a *experimentAnswer) compare(variant, baseline *arm) (experiments.Comparison, bool) {
	if len(a.failures(&baseline.sample, true)) > 0 || len(a.failures(&variant.sample, false)) > 0 {
		return experiments.Comparison{}, false
	}
	test := a.test
	test.Covariates = a.hasCovariate()
	return test.Compare(a.metric.kind, &variant.sample, &baseline.sample)
}

// addVerdict adds the result of a comparison, which is null if ok is false or the interval is
// infinite.
func (a *experimentAnswer) addVerdict(to map[string]any, c *experiments.Comparison, ok bool) {
	method, number, interval := "bayesian", "chance_to_win", "credible_interval"
	value := c.Chance
	if a.test.Frequentist {
		method, number, interval = "frequentist", "p_value", "confidence_interval"
		value = c.P
	}
	to["method"], to["significant"], to[number], to[interval] = method, nil, nil, nil
	if ok && !math.IsInf(c.Interval[0], 0) && !math.IsInf(c.Interval[1], 0) {
		to["significant"], to[number], to[interval] = c.Significant, value, c.Interval
	}
}

// failures returns the names of the reasons why a variant has no statistics (experiments.md §2.9):
// fewer than 50 entities, too few conversions, or a baseline whose mean is zero. It is empty if
// there are none.
func (a *experimentAnswer) failures(s *experiments.Sample, base bool) []string {
	out := []string{}
	if s.N < 50 {
		out = append(out, "not-enough-exposures")
	}
	switch kind := a.metric.kind; {
	case (kind == experiments.Funnel || kind == experiments.Retention) && s.Sum < 5, a.noQuotient:
		out = append(out, "not-enough-metric-data")
	}
	if base && s.Sum == 0 {
		out = append(out, "baseline-mean-is-zero")
	}
	return out
}

// statistics returns the sums of a variant in the format of responses (experiments.md §1.13).
func (a *experimentAnswer) statistics(m *arm) map[string]any {
	s := &m.sample
	out := map[string]any{"key": m.key, "number_of_samples": s.N, "sum": s.Sum, "sum_squares": s.Squares}
	switch a.metric.kind {
	case experiments.Ratio, experiments.Retention:
		out["denominator_sum"], out["denominator_sum_squares"], out["numerator_denominator_sum_product"] = s.Below, s.BelowSquares, s.Product
	case experiments.Funnel:
		out["step_counts"] = m.steps
		if m.dropped != nil {
			out["step_sessions"] = m.dropped
		}
	}
	if a.hasCovariate() {
		out["covariate_sum"], out["covariate_sum_squares"], out["covariate_sum_product"] = s.Before, s.BeforeSquares, s.BeforeProduct
	}
	return out
}

// maxStepSessions is the maximum number of sessions that are returned for each step.
const maxStepSessions = 100

// sessions returns, for each step of a funnel, sessions of the entities of a variant that reached
// this step but not the next one, the latest first (experiments.md §1.9).
func (a *experimentAnswer) sessions(w *funnelMeasurer, variant int) [][]any {
	out := make([][]any, len(w.series))
	for step := range out {
		var dropped []uint32
		for _, actor := range a.entities {
			if int(a.measured[actor].reached) == step+1 && a.f.entities[actor].variantIndex(a.exposure.firstSeen, a.f.asOf) == variant {
				dropped = append(dropped, actor)
			}
		}
		slices.SortFunc(dropped, func(x, y uint32) int {
			return cmp.Or(cmp.Compare(w.furthest[y].at, w.furthest[x].at), cmp.Compare(w.furthest[y].id, w.furthest[x].id))
		})
		out[step] = []any{}
		for _, actor := range dropped[:min(len(dropped), maxStepSessions)] {
			e, session := &w.furthest[actor], ""
			// Session numbers are stored plus one; 0 means that the event had no session.
			if e.session > 0 {
				session = w.sessions.All[e.session-1]
			}
			m := a.f.actors.Member(a.f.Run, actor)
			person := m.Group
			if m.Person != (capture.UUID{}) {
				person = m.Person.String()
			}
			out[step] = append(out[step], map[string]any{
				"person_id": person, "session_id": session, "event_uuid": e.uuid.String(), "timestamp": time.UnixMicro(e.at).UTC().Format(time.RFC3339Nano),
			})
		}
	}
	return out
}
