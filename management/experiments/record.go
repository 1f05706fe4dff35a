package experiments

import (
	"encoding/json"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/lists"
	"github.com/bunting-flags/bunting/management/internal/storedcohorts"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// kindExperiment is the kind of records of experiments. Parent is the project, ID the
// experiment's number, Other the exposure cohort (experimentsKey), and Sort the creation time.
// Deleted experiments are hidden.
const kindExperiment = "experiment"

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
	// Cohort is the id of a cohort of exposed persons. It does not affect the results.
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
	Holdout         *holdoutView           `json:"holdout"`
	SavedMetrics    []savedLinkView        `json:"saved_metrics"`
	SavedMetricsIDs []savedMetricID        `json:"saved_metrics_ids"`
	Status          string                 `json:"status"` // draft, running, paused, exposure_frozen or stopped
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
	// Frozen is the id of the static cohort in the conditions of the flag while the exposure is
	// frozen, nil otherwise.
	Frozen *int64 `json:"exposure_frozen_cohort,omitempty"`
}

// AccessObject identifies the experiment for access rules.
func (x *storedExperiment) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindExperiment, ID: strconv.FormatInt(x.ID, 10), Author: x.CreatedBy}
}

// isDraft reports whether the experiment has not been launched.
func (x *storedExperiment) isDraft() bool { return x.Start.IsZero() }

// experimentFields are the writable fields of an experiment.
var experimentFields = management.Fields{
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
	{Name: "allow_unknown_events", Type: management.Bool, Custom: true, Help: "true: metrics may use events that the project has never captured; not stored"},
	{Name: "stats_config", Type: management.Object, Null: true},
	{Name: "exposure_criteria", Type: management.Object, Null: true},
	conclusionFields[0], conclusionFields[1],
	{Name: "excluded_variants", Type: management.Array, Null: true, Help: "keys of variants to leave out of results; the baseline cannot be left out"},
	{Name: "only_count_matured_users", Type: management.Bool, Null: true, Help: "true: leave users out of the results of a metric until its conversion window after their exposure has passed"},
	{Name: "update_feature_flag_params", Type: management.Bool, Custom: true, Help: "true: parameters may change the shares of the variants after the start"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
}

// experimentsKey returns the Record.Other of the experiments with an exposure cohort, and "" if
// cohort is nil.
func experimentsKey(project int64, cohort *int64) string {
	if cohort == nil {
		return ""
	}
	return storedcohorts.Parent(project, *cohort)
}

// OfCohort returns the ids of the experiments with the given exposure cohort.
func OfCohort(tx storeTx, scope *management.Scope, cohort int64) ([]storedflags.LinkID, error) {
	list, _, err := tx.List(management.Query{Kind: kindExperiment, Other: experimentsKey(scope.Project.ID, &cohort)})
	out := make([]storedflags.LinkID, len(list))
	for i := range list {
		out[i] = storedflags.LinkID(list[i].ID)
	}
	return out, err
}

// conclusionFields are the fields of calls that can end an experiment.
var conclusionFields = management.Fields{
	{Name: "conclusion", Type: management.Choice, Null: true, Choices: []string{"won", "lost", "inconclusive", "stopped_early", "invalid"}},
	{Name: "conclusion_comment", Type: management.Text, Null: true, Blank: true, MaxLength: 4000},
}

// experimentFault returns an error about an experiment as a whole, with a formatted message.
func experimentFault(text string, args ...any) error { return management.Fault("", text, args...) }

// holdoutSettings are the members of a holdout that are stored and returned unchanged.
type holdoutSettings struct {
	// ID is the number of the holdout.
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Filters has exactly one filter, as tidyFilters writes it.
	Filters   json.RawMessage  `json:"filters"`
	CreatedAt management.Stamp `json:"created_at"`
	UpdatedAt management.Stamp `json:"updated_at"`
}

// storedHoldout is a holdout as stored.
type storedHoldout struct {
	holdoutSettings
	// CreatedBy is the id of a user.
	CreatedBy int64 `json:"created_by"`
}

// holdoutView is a holdout as the API returns it.
type holdoutView struct {
	holdoutSettings
	CreatedBy *management.UserView `json:"created_by"`
	// Access is the access of the caller to experiments.
	Access management.AccessLevel `json:"user_access_level"`
}

// savedMetricSettings are the members of a saved metric that are stored and returned unchanged.
type savedMetricSettings struct {
	// ID is the number of the metric, unique in the project.
	ID          int64  `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Query is the metric in the form of capture/insights, with a uuid.
	Query     json.RawMessage  `json:"query"`
	CreatedAt management.Stamp `json:"created_at"`
	UpdatedAt management.Stamp `json:"updated_at"`
	// Tags are normalized, without duplicates.
	Tags []string `json:"tags"`
}

// storedSavedMetric is a saved metric as stored.
type storedSavedMetric struct {
	savedMetricSettings
	// CreatedBy is the id of a user.
	CreatedBy int64 `json:"created_by"`
}

// savedMetric is a saved metric as the API returns it.
type savedMetric struct {
	savedMetricSettings
	CreatedBy *management.UserView   `json:"created_by"`
	Access    management.AccessLevel `json:"user_access_level"`
}

// experimentsObject is the object of access rules for all experiments.
var experimentsObject = management.AccessObject{Kind: kindExperiment}

// selectAll returns the experiments of a project for which match returns true, including deleted
// experiments.
func selectAll(v *view, match func(*storedExperiment) bool) (out []storedExperiment, err error) {
	for _, hidden := range []bool{false, true} {
		list, err := lists.EveryRecord(v.Tx, management.Query{Kind: kindExperiment, Parent: v.Parent(), Hidden: hidden}, match)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// RunningOn reports whether an experiment is running on a flag.
func RunningOn(v *view, flag int64) (bool, error) {
	list, err := selectAll(v, func(o *storedExperiment) bool {
		return o.Flag == flag && !o.Start.IsZero() && o.End.IsZero() && !o.Archived
	})
	return len(list) > 0, err
}

// savedLink is the use of a saved metric by one experiment.
type savedLink struct {
	ID int64 `json:"id"`
	// Metric is the id of the saved metric.
	Metric int64 `json:"saved_metric"`
	// Metadata is an object with type: primary or secondary.
	Metadata json.RawMessage  `json:"metadata"`
	Created  management.Stamp `json:"created_at"`
}

// savedLinkView is a savedLink with the metric, as the API returns it with the experiment.
type savedLinkView struct {
	savedLink
	Experiment int64 `json:"experiment"`
	// Query is the metric with its fingerprint, and Name the name of the saved metric.
	Query json.RawMessage `json:"query"`
	Name  string          `json:"name"`
}

// savedMetricID is one member of saved_metrics_ids in a request.
type savedMetricID struct {
	ID       int64           `json:"id"`
	Metadata json.RawMessage `json:"metadata"`
}
