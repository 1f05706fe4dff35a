package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
)

// Measured is what must be known of an experiment to measure it; nil for one that there
// is not, or that the caller may not see.
func (s Experiments) Measured(ctx context.Context, st *management.Standing, id int64) (*experiments.Experiment, error) {
	out, err := management.Of(ctx, s.Resource, st, strconv.FormatInt(id, 10), func(v *view, x *storedExperiment) (*experiments.Experiment, error) {
		flag, err := flagOf(v.Tx, v.Standing, Flags{s.core}, x.Flag)
		if err != nil || flag == nil {
			return nil, err
		}
		out := x.measured(flag)
		if out.Stats, err = statsConfig(v, x); err != nil {
			return nil, err
		}
		return out, x.measuredSaved(v, out)
	})
	var fault *management.Error
	if errors.As(err, &fault) && (fault.Kind == management.NotFound || fault.Kind == management.Forbidden) {
		return nil, nil
	}
	return out, err
}

func (x *storedExperiment) measured(flag *storedFlag) *experiments.Experiment {
	out := &experiments.Experiment{
		FlagKey: flag.Key, Start: x.Start.Time, End: x.End.Time, Stats: x.StatsConfig, Criteria: x.Exposure,
		Matured: x.Matured != nil && *x.Matured,
	}
	if json.Unmarshal(management.JSONObject(flag.Filters)["aggregation_group_type_index"], &out.GroupType) != nil {
		out.GroupType = nil
	}
	for _, v := range variantsOf(flag) {
		share, _ := v.Rollout.Float64() // of a stored flag, which was checked
		out.Variants = append(out.Variants, experiments.Variant{Key: v.Key, Share: share})
	}
	_ = json.Unmarshal(x.Excluded, &out.Excluded)
	_ = json.Unmarshal(x.Metrics, &out.Primary) // arrays, which were checked
	_ = json.Unmarshal(x.MetricsSecondary, &out.Secondary)
	return out
}

// measuredSaved puts the saved metrics behind the experiment's own, and all in order.
func (x *storedExperiment) measuredSaved(v *view, out *experiments.Experiment) error {
	saved, err := savedOf(v, x)
	for i := range saved {
		query := management.JSONObject(saved[i].Query)
		if !present(query["name"]) {
			query["name"] = management.Encode(saved[i].Name)
		}
		to := &out.Primary
		if saved[i].secondary() {
			to = &out.Secondary
		}
		*to = append(*to, management.Encode(query))
	}
	putInOrder(out.Primary, x.MetricsOrder)
	putInOrder(out.Secondary, x.SecondaryOrder)
	return err
}

// putInOrder puts metrics in the order of their uuids; those that it lacks come last.
func putInOrder(out []json.RawMessage, order json.RawMessage) {
	var uuids []string
	_ = json.Unmarshal(order, &uuids)
	place := func(metric json.RawMessage) int {
		i := slices.Index(uuids, management.JSONText(management.JSONObject(metric)["uuid"]))
		if i < 0 {
			return len(uuids)
		}
		return i
	}
	slices.SortStableFunc(out, func(a, b json.RawMessage) int { return place(a) - place(b) })
}

// checkExcluded looks at the variants that results leave out: one beside the baseline
// remains (experiments.md §1.1).
func (x *storedExperiment) checkExcluded(flag *storedFlag) error {
	var excluded []string
	if present(x.Excluded) && json.Unmarshal(x.Excluded, &excluded) != nil {
		return management.Fault("excluded_variants", "Expected a list of texts.")
	}
	measured := x.measured(flag)
	base := measured.Baseline()
	left := len(measured.Variants)
	for i, key := range excluded {
		known := slices.ContainsFunc(measured.Variants, func(v experiments.Variant) bool { return v.Key == key })
		switch {
		case !known:
			return management.Fault("excluded_variants", "Variant %q is not a variant of the feature flag.", key)
		case base >= 0 && measured.Variants[base].Key == key:
			return management.Fault("excluded_variants", "The baseline %q cannot be excluded.", key)
		case !slices.Contains(excluded[:i], key):
			left--
		}
	}
	if len(excluded) > 0 && left < 2 {
		return management.Fault("excluded_variants", "At least one variant beside the baseline has to remain.")
	}
	return nil
}
