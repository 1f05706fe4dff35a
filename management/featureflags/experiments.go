package featureflags

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/management"
)

// kindExperiment is the kind of records of experiments. Parent is the project, ID the
// experiment's number, Other the exposure cohort (experimentsKey), and Sort the creation time.
// Deleted experiments are hidden.
const kindExperiment = "experiment"

// Experiments manages experiments (§5.7): flags with variants, with a start, an end, and counts
// of exposures.
type Experiments struct {
	*core
	management.Resource[Tx, storedExperiment, Experiment]
}

type experimentEdit = management.Edit[Tx, storedExperiment]

func newExperiments(c *core) (s Experiments) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedExperiment, Experiment]{
		Kind: kindExperiment, ActivityScope: "Experiment", Fields: ExperimentFields, ObjectName: "an experiment", Body: experimentShape.Body, NewestFirst: true, Object: (*storedExperiment).accessObject,
		Header: func(scope *management.Scope, e *storedExperiment) management.RecordHeader {
			return management.RecordHeader{ID: strconv.FormatInt(e.ID, 10), Title: e.Name, Other: experimentsKey(scope.Project.ID, e.Cohort), Sort: management.SortTime(e.CreatedAt.Time), Hidden: e.Deleted}
		},
		Load: loadExperiment,
		New: func(v *view) (*storedExperiment, error) {
			id, err := v.Tx.Next(kindExperiment)
			return &storedExperiment{CreatedBy: v.User.ID, experimentSettings: experimentSettings{ID: id, CreatedAt: management.NewStamp(c.Env.Now())}}, err
		},
		Rules: s.rules, Show: s.show,
	})
	return s
}

// experimentSettings are the members of an experiment that are returned as stored. Members whose
// format only clients or the analysis know are raw JSON.
type experimentSettings struct {
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Start is zero for a draft, and End is zero until the experiment ends.
	Start     management.Stamp `json:"start_date"`
	End       management.Stamp `json:"end_date"`
	HoldoutID *int64           `json:"holdout_id"`
	// Cohort is the id of the cohort whose persons count, nil for all persons.
	Cohort           *int64           `json:"exposure_cohort"`
	Parameters       json.RawMessage  `json:"parameters"`
	SecondaryMetrics json.RawMessage  `json:"secondary_metrics"`
	Filters          json.RawMessage  `json:"filters"`
	Archived         bool             `json:"archived"`
	Deleted          bool             `json:"deleted"`
	CreatedAt        management.Stamp `json:"created_at"`
	UpdatedAt        management.Stamp `json:"updated_at"`
	Type             *string          `json:"type"`
	Metrics          json.RawMessage  `json:"metrics"`
	MetricsSecondary json.RawMessage  `json:"metrics_secondary"`
	// MetricsOrder and SecondaryOrder list the UUIDs of metrics in the order of display.
	MetricsOrder   json.RawMessage `json:"primary_metrics_ordered_uuids"`
	SecondaryOrder json.RawMessage `json:"secondary_metrics_ordered_uuids"`
	StatsConfig    json.RawMessage `json:"stats_config"`
	Exposure       json.RawMessage `json:"exposure_criteria"`
	Conclusion     *string         `json:"conclusion"`
	Comment        *string         `json:"conclusion_comment"`
	Excluded       json.RawMessage `json:"excluded_variants"`
	// Matured leaves out of a metric's results the persons whose exposure is more recent than the
	// metric's window.
	Matured *bool `json:"only_count_matured_users"`
}

// Experiment is an experiment as the API returns it.
type Experiment struct {
	experimentSettings
	FlagKey         string                 `json:"feature_flag_key"`
	Flag            json.RawMessage        `json:"feature_flag"`
	Holdout         *Holdout               `json:"holdout"`
	SavedMetrics    []savedLinkView        `json:"saved_metrics"`
	SavedMetricsIDs []savedMetricID        `json:"saved_metrics_ids"`
	Status          string                 `json:"status"` // draft, running, paused or stopped
	CreatedBy       *management.UserView   `json:"created_by"`
	Access          management.AccessLevel `json:"user_access_level"`
}

// storedExperiment is the stored form of an experiment.
type storedExperiment struct {
	experimentSettings
	Flag      int64       `json:"flag"`     // id
	FlagKey   string      `json:"flag_key"` // at creation; the flag may have been renamed since
	CreatedBy int64       `json:"created_by"`
	Saved     []savedLink `json:"saved_metrics,omitempty"`
}

// accessObject identifies the experiment for access rules.
func (x *storedExperiment) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindExperiment, ID: strconv.FormatInt(x.ID, 10), Author: x.CreatedBy}
}

// isDraft reports whether the experiment has not been launched.
func (x *storedExperiment) isDraft() bool { return x.Start.IsZero() }

// ExperimentFields are the writable fields of an experiment.
var ExperimentFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 400},
	{Name: "description", Type: management.Text, Null: true, Blank: true, MaxLength: 3000},
	{Name: "start_date", Type: management.Time, Null: true, Help: "null while the experiment is a draft"},
	{Name: "end_date", Type: management.Time, Null: true},
	{Name: "feature_flag_key", Type: management.Text, Required: true, MaxLength: 400, Custom: true, Help: "key of the experiment's flag: an existing flag whose first variant is control, or a flag to create; cannot be changed"},
	{Name: "holdout_id", Type: management.Int, Null: true, Help: "id of a holdout; cannot be changed after the start"},
	{Name: "exposure_cohort", Type: management.Int, Null: true, Help: "id of a cohort; cannot be changed"},
	{Name: "parameters", Type: management.Object, Null: true, Help: "object with feature_flag_variants, minimum_detectable_effect, aggregation_group_type_index and others"},
	{Name: "secondary_metrics", Type: management.Array, Null: true},
	{Name: "saved_metrics_ids", Type: management.Any, Null: true, Custom: true, Help: "list of objects with the id of a saved metric, and metadata with type primary or secondary"},
	{Name: "filters", Type: management.Object},
	{Name: "archived", Type: management.Bool},
	{Name: "deleted", Type: management.Bool, Help: "true soft-deletes the experiment but not its flag; a body of exactly {\"deleted\": false} restores it"},
	{Name: "type", Type: management.Choice, Null: true, Choices: []string{"web", "product"}, Help: "cannot be changed"},
	{Name: "metrics", Type: management.Array, Null: true},
	{Name: "metrics_secondary", Type: management.Array, Null: true},
	{Name: "primary_metrics_ordered_uuids", Type: management.Array, Null: true},
	{Name: "secondary_metrics_ordered_uuids", Type: management.Array, Null: true},
	{Name: "stats_config", Type: management.Object, Null: true},
	{Name: "exposure_criteria", Type: management.Object, Null: true},
	conclusionFields[0], conclusionFields[1],
	{Name: "excluded_variants", Type: management.Array, Null: true, Help: "keys of variants to leave out of results; the baseline cannot be left out"},
	{Name: "only_count_matured_users", Type: management.Bool, Null: true, Help: "true: leave users out of the results of a metric until its conversion window after their exposure has passed"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
}

// experimentShape lists the members of the objects in the body of an experiment, to detect
// misspelled names. Metrics and their settings are not included: they are checked as queries.
var experimentShape = &management.Shape{Inside: map[string]*management.Shape{
	"parameters": {
		Name: "the parameters of an experiment", Members: "feature_flag_variants minimum_detectable_effect aggregation_group_type_index",
		ReadOnly: "recommended_running_time recommended_sample_size exposure_estimate_config variant_notes variant_screenshot_media_ids",
		Idle:     "custom_exposure_filter ensure_experience_continuity excluded_variants feature_flag_payloads rollout_percentage",
		Inside: map[string]*management.Shape{
			"feature_flag_variants": {Name: "a variant", Members: "key name rollout_percentage", Idle: "split_percent"},
		},
	},
	"saved_metrics_ids": {Name: "a saved metric", Members: "id metadata", Inside: map[string]*management.Shape{"metadata": {Name: "metadata", Members: "type"}}},
}}

// show returns an experiment as the API returns it. The flag's current key and variants replace
// the stored ones, and missing lists and settings get their defaults.
func (s Experiments) show(v *view, e *storedExperiment) (*Experiment, error) {
	flag, hidden, err := loadMinimalFlag(v, e.Flag)
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
		*list = rawOr(*list, "[]")
	}
	out.Filters = rawOr(e.Filters, "{}")
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
	method, err2 := statsMethod(v, e)
	out.StatsConfig = rawOr(e.StatsConfig, `{"method":"`+method+`"}`)
	if members := management.JSONObject(flag); members != nil { // the flag may have been changed directly
		out.FlagKey = management.JSONText(members["key"])
		out.Parameters = withVariants(out.Parameters, members["filters"])
	}
	return out, errors.Join(err, err1, err2, err3)
}

// experimentsKey returns the Record.Other of the experiments with an exposure cohort, and "" if
// cohort is nil.
func experimentsKey(project int64, cohort *int64) string {
	if cohort == nil {
		return ""
	}
	return cohortParent(project, *cohort)
}

// experimentsOfCohort returns the ids of the experiments with the given exposure cohort.
func experimentsOfCohort(tx Tx, scope *management.Scope, cohort int64) ([]linkID, error) {
	list, _, err := tx.List(management.Query{Kind: kindExperiment, Other: experimentsKey(scope.Project.ID, &cohort)})
	out := make([]linkID, len(list))
	for i := range list {
		out[i] = linkID(list[i].ID)
	}
	return out, err
}

// rules validates an experiment and its metrics, creates or updates its flag, and stores the flag
// if its link, state or filters have changed.
func (s Experiments) rules(e *experimentEdit) error {
	x := e.After
	if !e.IsNew {
		if err := s.checkFixed(e); err != nil {
			return err
		}
		if x.Archived && !e.Before.Archived && x.End.IsZero() { // as the call archive
			return experimentFault(notEnded)
		}
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
	x.UpdatedAt = management.NewStamp(s.Env.Now())
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
	links := setLink(flag.Links.Experiments, flagLink{ID: linkID(strconv.FormatInt(x.ID, 10)), Name: x.Name, Deleted: x.Deleted})
	// Saving the flag adds an entry to its log, so skip it without a change.
	if slices.Equal(links, flag.Links.Experiments) && flag.Active == flag.before.Active && string(flag.Filters) == string(flag.before.Filters) {
		return nil
	}
	flag.Links.Experiments = links
	return Flags{s.core}.saveLinked(e.Tx, e.Scope, flag)
}

// resolveFlag returns the flag of an experiment with the changes that the request requires, not
// yet stored: variants, holdout, and switched on at the start. A new experiment uses the flag
// with its key or creates one. The result is nil if the flag is deleted.
func (s Experiments) resolveFlag(e *experimentEdit) (*storedFlag, error) {
	x, flags := e.After, Flags{s.core}
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
		flag, err = flags.makeLinked(e.Tx, e.Scope, flagDraft{
			Key: x.FlagKey, Name: "Feature Flag for Experiment " + x.Name, Active: !x.isDraft(), Context: "experiments", Filters: withHoldout(x.filters(nil), holdout),
		})
		return flag, moveKeyFault(err)
	}
	// An existing experiment references its flag by id: the key may have been changed.
	flag, err := findFlag(e.Tx, e.Scope, flags, x.Flag)
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
		if err := x.changeVariants(flag, draft); err != nil {
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
	if v.Has("filters") && isPresent(management.JSONObject(x.Filters)["properties"]) {
		return management.Fault("filters", "Experiments do not support global filter properties")
	}
	if v.Has("holdout_id") && x.HoldoutID != nil {
		if h, err := holdoutOf(e.View, x); err != nil || h == nil {
			return cmp.Or(err, errDoesNotExist("holdout_id", *x.HoldoutID))
		}
	}
	if v.Has("exposure_cohort") && x.Cohort != nil {
		d, err := e.Tx.Definition(CohortDefinition, e.Project.ID, *x.Cohort)
		if err != nil {
			return err
		}
		if d == nil || d.Deleted {
			return errDoesNotExist("exposure_cohort", *x.Cohort)
		}
	}
	return x.checkVariants(v.Has("parameters"))
}

// findFlag returns a flag, or nil if it does not exist or is deleted.
func findFlag(tx Tx, scope *management.Scope, flags Flags, id int64) (*storedFlag, error) {
	d, err := tx.Definition(FlagDefinition, scope.Project.ID, id)
	if err != nil || d == nil || d.Deleted {
		return nil, err
	}
	return flags.loadFlag(tx, scope, id)
}

// checkFixed returns an error if the request changes a field that is immutable: always, or, in
// the case of the holdout, after the start.
func (s Experiments) checkFixed(e *experimentEdit) error {
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
