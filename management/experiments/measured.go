package experiments

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	stats "github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// AnalysisInput returns the settings that are needed to compute the results of an experiment. It
// returns nil if the experiment or its flag does not exist or the caller may not see the
// experiment.
func (s Service) AnalysisInput(ctx context.Context, scope *management.Scope, id int64) (*stats.Experiment, error) {
	out, err := resource.ReadOne(ctx, s.Resource, scope, strconv.FormatInt(id, 10), func(v *view, x *storedExperiment) (*stats.Experiment, error) {
		flag, err := s.stored.Find(v.Tx, v.Scope, x.Flag)
		if err != nil || flag == nil {
			return nil, err
		}
		settings, err := settingsOf(v, x)
		if err != nil {
			return nil, err
		}
		out := x.analysisInput(flag)
		out.Stats, out.Matured = settings.statsConfig(x), settings.matured
		return out, x.addSavedMetrics(v, out)
	})
	var fault *management.Error
	// An experiment that the caller may not see is treated like one that does not exist.
	if errors.As(err, &fault) && (fault.Kind == management.NotFound || fault.Kind == management.Forbidden) {
		return nil, nil
	}
	return out, err
}

// analysisInput returns the settings without saved metrics, and without the defaults of the project.
// Stats is as stored and may lack a method.
func (x *storedExperiment) analysisInput(flag *storedflags.Flag) *stats.Experiment {
	out := &stats.Experiment{
		FlagKey: flag.Key, Start: x.Start.Time, End: x.End.Time, Stats: x.StatsConfig, Criteria: x.Exposure,
	}
	// A partially decoded or absent value means that the flag is about persons.
	if json.Unmarshal(management.JSONObject(flag.Filters)["aggregation_group_type_index"], &out.GroupType) != nil {
		out.GroupType = nil
	}
	for _, v := range variantsOf(flag) {
		share, _ := v.Rollout.Float64() // stored flags have been validated
		out.Variants = append(out.Variants, stats.Variant{Key: v.Key, Share: share})
	}
	_ = json.Unmarshal(x.Excluded, &out.Excluded)
	_ = json.Unmarshal(x.Metrics, &out.Primary) // metrics have been validated as arrays
	_ = json.Unmarshal(x.MetricsSecondary, &out.Secondary)
	return out
}

// addSavedMetrics appends the saved metrics to the experiment's own, and sorts both lists in the
// order of display. A metric without a name gets the name under which it was saved.
func (x *storedExperiment) addSavedMetrics(v *view, out *stats.Experiment) error {
	saved, err := showSavedMetrics(v, x)
	for i := range saved {
		query := management.JSONObject(saved[i].Query)
		if management.EmptyJSON(query["name"]) {
			query["name"] = storage.Encode(saved[i].Name)
		}
		to := &out.Primary
		if saved[i].isSecondary() {
			to = &out.Secondary
		}
		*to = append(*to, storage.Encode(query))
	}
	sortMetrics(out.Primary, x.MetricsOrder)
	sortMetrics(out.Secondary, x.SecondaryOrder)
	return err
}

// sortMetrics sorts metrics by the position of their UUIDs in order. Metrics that order does not
// contain are placed at the end, in their previous order.
func sortMetrics(out []json.RawMessage, order json.RawMessage) {
	var uuids []string
	_ = json.Unmarshal(order, &uuids)
	position := func(metric json.RawMessage) int {
		i := slices.Index(uuids, management.JSONText(management.JSONObject(metric)["uuid"]))
		if i < 0 {
			return len(uuids)
		}
		return i
	}
	slices.SortStableFunc(out, func(a, b json.RawMessage) int { return position(a) - position(b) })
}

// checkExcluded checks the variants that are excluded from the results: they must exist, and the
// baseline and at least one other variant must remain (experiments.md §1.1).
func (x *storedExperiment) checkExcluded(flag *storedflags.Flag) error {
	var excluded []string
	if !management.EmptyJSON(x.Excluded) && json.Unmarshal(x.Excluded, &excluded) != nil {
		return management.Fault("excluded_variants", "Expected a list of strings.")
	}
	input := x.analysisInput(flag)
	// base is -1 if the flag has no variants.
	base := input.Baseline()
	remaining := len(input.Variants)
	for i, key := range excluded {
		isVariant := slices.ContainsFunc(input.Variants, func(v stats.Variant) bool { return v.Key == key })
		switch {
		case !isVariant:
			return management.Fault("excluded_variants", "Variant %q is not a variant of the feature flag.", key)
		case base >= 0 && input.Variants[base].Key == key:
			return management.Fault("excluded_variants", "The baseline %q cannot be excluded.", key)
		// Duplicates must not be counted twice.
		case !slices.Contains(excluded[:i], key):
			remaining--
		}
	}
	if len(excluded) > 0 && remaining < 2 {
		return management.Fault("excluded_variants", "At least one variant besides the baseline must remain.")
	}
	return nil
}
