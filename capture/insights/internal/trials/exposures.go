package trials

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/calendar"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// exposuresQuery is an ExperimentExposureQuery (experiments.md §3.4): how many entities were
// exposed to each variant, by day.
type exposuresQuery struct {
	Trial
	exposure exposure
}

// multipleVariants is the key under which results list entities with more than one variant.
const multipleVariants = "$multiple"

// parseExposures parses an ExperimentExposureQuery. The query has a flag and may have an
// experiment_id; members of the query override those of the stored experiment.
func parseExposures(n document.Node, p *port.Project) scan.Plan {
	flag, criteria := n.Get("feature_flag").Object(), n.Get("exposure_criteria").Object()
	flag.Tracker = nil // a complete flag, of which most members are not used
	key := flag.Get("key").Text("")
	if key == "" {
		flag.Fail(document.Required, "feature_flag key is required")
	}
	// The experiment that the query describes, if no stored experiment is named.
	query := Trial{Experiment: &experiments.Experiment{FlagKey: key, Criteria: criteria.Raw()}}
	query.Start, query.End = calendar.ReadOptionalInstant(n.Get("start_date")), calendar.ReadOptionalInstant(n.Get("end_date"))
	stored := readTrial(n, p, false)
	query.err = stored.err
	if stored.Experiment != nil {
		// A copy, since the stored experiment may be shared.
		x := *stored.Experiment
		if !query.Start.IsZero() {
			x.Start = query.Start
		}
		if !query.End.IsZero() {
			x.End = query.End
		}
		if query.Criteria != nil {
			x.Criteria = query.Criteria
		}
		query.Experiment = &x
	} else {
		readFlag(query.Experiment, flag)
	}
	if criteria.IsAbsent() {
		return &exposuresQuery{query, readExposure(query, n, p)}
	}
	return &exposuresQuery{query, ReadCriteria(criteria, query, p)}
}

// Run counts the exposures. An experiment that has not started has none.
func (q *exposuresQuery) Run(r *scan.Run) (*port.Result, error) {
	if q.Start.IsZero() {
		return &port.Result{Extra: q.members()}, nil
	}
	f := newExperimentRun(r, q.Trial, q.exposure, nil)
	if err := f.readExposures(); err != nil {
		return nil, err
	}
	return q.answer(f)
}

// answer returns the result about the entities of a run.
func (q *exposuresQuery) answer(f *experimentRun) (*port.Result, error) {
	out := q.members()
	// Days are those of the project's calendar.
	days, err := f.Calendar().BucketsBetween(calendar.Day, time.UnixMicro(f.from), time.UnixMicro(max(f.from, f.to)))
	if err != nil {
		return nil, err
	}
	counts := q.count(f, days)
	q.fill(out, counts, days.Days(), f.Run.Now)
	return &port.Result{Extra: out}, nil
}

// members returns the members of the response without any exposures.
func (q *exposuresQuery) members() map[string]any {
	return map[string]any{
		"kind": "ExperimentExposureQuery", "timeseries": []any{}, "total_exposures": map[string]int64{}, "date_range": q.dates(),
		"sample_ratio_mismatch": nil, "bias_risk": nil,
	}
}

// count returns the cumulative numbers of first exposures by variant and day. The last variant is
// multipleVariants.
func (q *exposuresQuery) count(f *experimentRun, days *calendar.Buckets) [][]int64 {
	counts := make([][]int64, len(q.Variants)+1)
	for i := range counts {
		counts[i] = make([]int64, days.Len())
	}
	for i := range f.entities {
		e := &f.entities[i]
		if !e.active || e.first > f.asOf {
			continue
		}
		variant := e.variantIndex(q.exposure.firstSeen, f.asOf)
		if variant < 0 {
			variant = len(q.Variants)
		}
		if day := days.Find(e.first); day >= 0 {
			counts[variant][day]++
		}
	}
	// Make the counts cumulative.
	for _, series := range counts {
		for day := 1; day < len(series); day++ {
			series[day] += series[day-1]
		}
	}
	return counts
}

// fill adds the time series and totals to the response, and warnings about an unexpected ratio of
// samples and about entities with several variants.
func (q *exposuresQuery) fill(out map[string]any, counts [][]int64, days []string, now time.Time) {
	timeseries, totals := []any{}, map[string]int64{}
	// shares and observed are by variant; excluded variants have no share.
	shares, observed := make([]float64, len(q.Variants)), make([]int64, len(q.Variants))
	included := q.included()
	all := int64(0)
	for i, series := range counts {
		total := series[len(series)-1]
		key := multipleVariants
		if all += total; i < len(q.Variants) {
			key = q.Variants[i].Key
			observed[i] = total
			if slices.Contains(included, i) {
				shares[i] = q.Variants[i].Share
			}
		} else if total == 0 {
			continue
		}
		timeseries = append(timeseries, map[string]any{"variant": key, "days": days, "exposure_counts": series})
		totals[key] = total
	}
	out["timeseries"], out["total_exposures"] = timeseries, totals
	if p, expected, ok := experiments.Mismatch(observed, shares); ok {
		// The expected numbers cover the variants with a share.
		expectedByKey := map[string]float64{}
		for i, share := range shares {
			if share > 0 {
				expectedByKey[q.Variants[i].Key] = expected[i]
			}
		}
		out["sample_ratio_mismatch"] = map[string]any{"expected": expectedByKey, "p_value": p}
	}
	// If more than 0.1 % of the entities have several variants, a running experiment with unequal
	// shares may be biased.
	if biased := float64(totals[multipleVariants]) / float64(max(all, 1)); biased > 0.001 && q.end(now).Equal(now) && !isUniform(shares) {
		out["bias_risk"] = map[string]any{"multiple_variant_percentage": 100 * biased}
	}
}

// isUniform reports whether all positive shares are equal.
func isUniform(shares []float64) bool {
	positive := slices.DeleteFunc(slices.Clone(shares), func(s float64) bool { return s <= 0 })
	return len(slices.Compact(positive)) < 2
}

// dates returns the dates of the experiment as a date range.
func (q *exposuresQuery) dates() map[string]any {
	out := map[string]any{"date_from": nil, "date_to": nil, "explicitDate": true}
	for name, at := range map[string]time.Time{"date_from": q.Start, "date_to": q.End} {
		if !at.IsZero() {
			out[name] = json.RawMessage(scan.TimeText(at.UnixMicro()))
		}
	}
	return out
}
