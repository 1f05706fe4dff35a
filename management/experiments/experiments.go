package experiments

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// experimentShape lists the members of the objects in the body of an experiment, to detect
// misspelled names. Metrics and their settings are not included: they are checked as queries.
var experimentShape = &resource.Shape{Inside: map[string]*resource.Shape{
	"parameters": {
		Name: "the parameters of an experiment", Members: "feature_flag_variants minimum_detectable_effect aggregation_group_type_index",
		ReadOnly: "recommended_running_time recommended_sample_size exposure_estimate_config variant_notes variant_screenshot_media_ids",
		Idle:     "custom_exposure_filter ensure_experience_continuity excluded_variants feature_flag_payloads rollout_percentage",
		Inside: map[string]*resource.Shape{
			"feature_flag_variants": {Name: "a variant", Members: "key name rollout_percentage split_percent"},
		},
	},
	"saved_metrics_ids": {Name: "a saved metric", Members: "id metadata", Inside: map[string]*resource.Shape{"metadata": {Name: "metadata", Members: "type"}}},
}}

// show returns an experiment as the API returns it. The flag's current key and variants replace
// the stored ones, and missing lists and settings get their defaults.
func (s Service) show(v *view, e *storedExperiment) (*Experiment, error) {
	flag, hidden, err := storedflags.LoadMinimal(v, e.Flag)
	if err != nil {
		return nil, err
	}
	status, err := s.statusOf(v.Tx, v.Scope, e)
	if err != nil {
		return nil, err
	}
	creator, err := v.Author(e.CreatedBy)
	out := &Experiment{experimentSettings: e.experimentSettings, FlagKey: e.FlagKey, Flag: flag, SavedMetricsIDs: []savedMetricID{}, Status: status, CreatedBy: creator, Access: v.AccessTo(e.accessObject())}
	for _, list := range []*json.RawMessage{&out.SecondaryMetrics, &out.Metrics, &out.MetricsSecondary} {
		*list = definitions.JSONOr(*list, "[]")
	}
	out.Filters = definitions.JSONOr(e.Filters, "{}")
	// The key is part of a flag that the caller may not see.
	if hidden {
		out.FlagKey = ""
	}
	// Errors of the store are collected and returned together.
	saved, err1 := showSavedMetrics(v, e)
	out.SavedMetrics = saved
	holdout, err3 := holdoutOf(v, e)
	if holdout != nil {
		out.Holdout, err3 = showHoldout(v, holdout)
	}
	for _, link := range saved {
		out.SavedMetricsIDs = append(out.SavedMetricsIDs, savedMetricID{link.Metric, link.Metadata})
	}
	// A stored stats_config is returned as is; the default has the effective method.
	settings, err2 := settingsOf(v, e)
	out.StatsConfig = definitions.JSONOr(e.StatsConfig, `{"method":"`+settings.method+`"}`)
	if members := management.JSONObject(flag); members != nil { // the flag may have been changed directly
		out.FlagKey = management.JSONText(members["key"])
		out.Parameters = withVariants(out.Parameters, members["filters"])
	}
	out.Parameters = withSplits(out.Parameters)
	return out, errors.Join(err, err1, err2, err3)
}

// rules validates an experiment and its metrics, creates or updates its flag, and stores the flag
// if its link, state or filters have changed.
func (s Service) rules(e *experimentEdit) error {
	x := e.After
	if !e.IsNew {
		if err := s.checkFixed(e); err != nil {
			return err
		}
	}
	if x.Archived && (e.IsNew || !e.Before.Archived) && x.End.IsZero() { // as the call archive
		return experimentFault(notEnded)
	}
	if err := x.takeSplits(e.Values); err != nil {
		return err
	}
	// A new experiment cannot be deleted.
	x.Deleted = x.Deleted && !e.IsNew
	if err := x.check(e); err != nil {
		return err
	}
	if err := s.linkSaved(e); err != nil {
		return err
	}
	if err := s.tidyMetrics(e); err != nil {
		return err
	}
	x.UpdatedAt = management.NewStamp(s.env.Now())
	// From here on the flag is part of the change: it may be created, linked, switched on, or get
	// the variants and the holdout of the experiment.
	flag, err := s.resolveFlag(e)
	if err != nil || flag == nil { // flag is nil if it was deleted while only deleted experiments used it
		return err
	}
	x.Flag = flag.ID
	if e.Before.isDraft() && !x.isDraft() && len(variantsOf(flag)) < 2 { // as the call launch
		return experimentFault(tooFewVariants)
	}
	if e.Values.Has("excluded_variants") {
		if err := x.checkExcluded(flag); err != nil {
			return err
		}
	}
	links := storedflags.SetLink(flag.Links.Experiments, storedflags.FlagLink{ID: storedflags.LinkID(strconv.FormatInt(x.ID, 10)), Name: x.Name, Deleted: x.Deleted})
	// Saving the flag adds an entry to its log, so skip it without a change.
	if slices.Equal(links, flag.Links.Experiments) && flag.Active == flag.Before.Active && string(flag.Filters) == string(flag.Before.Filters) {
		return nil
	}
	flag.Links.Experiments = links
	return s.stored.SaveLinked(e.Tx, e.Scope, flag)
}

// resolveFlag returns the flag of an experiment with the changes that the request requires, not
// yet stored: variants, holdout, and switched on at the start. A new experiment uses the flag
// with its key or creates one. The result is nil if the flag is deleted.
func (s Service) resolveFlag(e *experimentEdit) (*storedflags.Flag, error) {
	x := e.After
	holdout, err := holdoutOf(e.View, x)
	if err != nil {
		return nil, err
	}
	if e.IsNew {
		x.FlagKey = e.Values.Text("feature_flag_key")
		flag, err := s.findLinkable(e.View, x.FlagKey)
		if err != nil || flag != nil {
			return x.joinFlag(flag, holdout), err
		}
		flag, err = s.stored.MakeLinked(e.Tx, e.Scope, storedflags.Draft{
			Key: x.FlagKey, Name: "Feature Flag for Experiment " + x.Name, Active: !x.isDraft(), Context: "experiments", Filters: withHoldout(x.filters(nil), holdout),
		})
		return flag, moveKeyFault(err)
	}
	// An existing experiment references its flag by id: the key may have been changed.
	flag, err := s.stored.Find(e.Tx, e.Scope, x.Flag)
	if err != nil || flag == nil {
		if err == nil && e.Before.Deleted && !x.Deleted {
			err = experimentFault("Cannot restore experiment: the linked feature flag has been deleted. Restore the feature flag first, then restore the experiment.")
		}
		return nil, err
	}
	// Variants and holdout of a draft can be changed unless the flag is used by another
	// experiment that is running: its results would become meaningless.
	draft := e.Before.isDraft()
	if draft && (e.Values.Has("parameters") || !x.hasSameHoldout(&e.Before)) {
		if draft, err = s.isOnlyRunning(e.View, x, flag); err != nil {
			return nil, err
		}
	}
	if e.Values.Has("parameters") {
		if err := x.changeVariants(flag, draft, e.Values.Bool("update_feature_flag_params")); err != nil {
			return nil, err
		}
	}
	if !draft && !x.hasSameHoldout(&e.Before) {
		return nil, experimentFault("Can't update holdout on running Experiment")
	}
	if !x.hasSameHoldout(&e.Before) {
		flag.Filters = withHoldout(flag.Filters, holdout)
	}
	// Setting a start date launches the experiment and switches its flag on.
	flag.Active = flag.Active || e.Before.isDraft() && !x.isDraft()
	return flag, nil
}

// moveKeyFault moves an error about the key of a flag to the experiment's field feature_flag_key.
func moveKeyFault(err error) error {
	var fault *management.Error
	if !errors.As(err, &fault) || fault.Field != "key" {
		return err
	}
	moved := *fault
	moved.Field = "feature_flag_key"
	return &moved
}

// check validates an experiment after the values of a request have been applied. Fields that the
// request does not contain are not checked again, since referenced objects may have been deleted
// in the meantime; only the variants are always checked.
func (x *storedExperiment) check(e *experimentEdit) error {
	v := e.Values
	if (v.Has("end_date") || v.Has("start_date")) && !x.End.IsZero() && !x.End.After(x.Start.Time) {
		return management.Fault("", "End date must be after start date")
	}
	if v.Has("stats_config") {
		if err := x.checkStats(); err != nil {
			return err
		}
	}
	if v.Has("filters") && !management.EmptyJSON(management.JSONObject(x.Filters)["properties"]) {
		return management.Fault("filters", "Experiments do not support global filter properties")
	}
	if v.Has("holdout_id") && x.HoldoutID != nil {
		if h, err := holdoutOf(e.View, x); err != nil || h == nil {
			return cmp.Or(err, errDoesNotExist("holdout_id", *x.HoldoutID))
		}
	}
	if v.Has("exposure_cohort") && x.Cohort != nil {
		d, err := e.Tx.Definition(management.CohortDefinition, e.Project.ID, *x.Cohort)
		if err != nil {
			return err
		}
		if d == nil || d.Deleted {
			return errDoesNotExist("exposure_cohort", *x.Cohort)
		}
	}
	return x.checkVariants(v.Has("parameters"))
}

// checkFixed returns an error if the request changes a field that is immutable: always, or, in
// the case of the holdout, after the start.
func (s Service) checkFixed(e *experimentEdit) error {
	// Compare with the response rather than the stored experiment: clients send back what they
	// received.
	before, err := s.show(e.View, &e.Before)
	if err != nil {
		return err
	}
	v := e.Values
	var keys []string
	if v.Has("exposure_cohort") && (v.IsNull("exposure_cohort") != (before.Cohort == nil) || before.Cohort != nil && v.Int("exposure_cohort") != *before.Cohort) {
		keys = append(keys, "exposure_cohort")
	}
	if v.Has("feature_flag_key") && v.Text("feature_flag_key") != before.FlagKey {
		keys = append(keys, "feature_flag_key")
	}
	if v.Has("type") && (v.IsNull("type") != (before.Type == nil) || before.Type != nil && v.Text("type") != *before.Type) {
		keys = append(keys, "type")
	}
	switch {
	case keys != nil:
		return management.Fault("", "Can't update keys: %s on Experiment", strings.Join(keys, ", "))
	case !before.Start.IsZero() && !e.After.hasSameHoldout(&e.Before):
		return management.Fault("", "Can't update holdout on running Experiment")
	}
	return nil
}
