package surveys

import (
	"encoding/json"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/resource"
	"github.com/bunting-flags/bunting/management/internal/storedflags"
)

// Config is the configuration of a Service. Env is required, and every other field is optional.
type Config struct {
	// Env has the store, the clock and the log of changes.
	Env management.Env[storeTx]
	// Changed is called after surveys of a project have changed, in the transaction that has changed
	// them. If nil, changes are not reported.
	Changed func(tx management.Tx, project int64) error
	// HasInsight reports whether a project has an insight with an id. If nil, it reports false.
	HasInsight func(tx management.Tx, project, id int64) (bool, error)
	// JobDone receives the results of surveys that begin their next iteration. It may be called from
	// several goroutines. If nil, results are not reported.
	JobDone func(management.JobDone)
}

// Service manages surveys (§5.6). A survey is shown to persons by SDKs, which evaluate the flags
// that belong to it (flags.go).
type Service struct {
	*Config
	resource.Resource[storeTx, storedSurvey, Survey]
	stored storedflags.Store
}

// storeTx is a transaction of the store.
type storeTx = definitions.Tx

// view is a transaction with the scope of the caller.
type view = resource.View[storeTx]

// kindSurvey is the kind of the records of surveys: Parent is the project, Sort the time of
// creation, Unique the project and the name.
const kindSurvey = "survey"

// kindSurveyIteration is the kind of the records that schedule the next iterations of surveys: ID
// is the id of the survey, Sort the time. A survey without a next iteration has no record.
const kindSurveyIteration = "survey_turn"

// surveySettings are the members of a survey that are stored and returned unchanged.
type surveySettings struct {
	// ID is a UUID.
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	// Type is popover, widget, external_survey or api.
	Type string `json:"type"`
	// Schedule is once, recurring or always.
	Schedule *string `json:"schedule"`
	// LinkedFlagID and TargetingID are ids of flags: see saveFlags.
	LinkedFlagID *int64 `json:"linked_flag_id"`
	// LinkedInsight is the id of an insight about the survey.
	LinkedInsight *int64 `json:"linked_insight_id"`
	TargetingID   *int64 `json:"targeting_flag_id"`
	// Questions, Conditions and Appearance are objects for SDKs; surveyShape describes them.
	Questions  json.RawMessage  `json:"questions"`
	Conditions json.RawMessage  `json:"conditions"`
	Appearance json.RawMessage  `json:"appearance"`
	CreatedAt  management.Stamp `json:"created_at"`
	// Start is zero while the survey is a draft, and End until the survey ends.
	Start management.Stamp `json:"start_date"`
	End   management.Stamp `json:"end_date"`
	// Archived surveys are not returned to SDKs.
	Archived bool `json:"archived"`
	// ResponsesLimit is stored and returned, without effect here.
	ResponsesLimit *int64 `json:"responses_limit"`
	// IterationCount and IterationDays are the number of iterations of a recurring survey and their
	// length.
	IterationCount *int64 `json:"iteration_count"`
	IterationDays  *int64 `json:"iteration_frequency_days"`
	// The following fields configure the sampling of responses.
	SamplingStart    management.Stamp `json:"response_sampling_start_date"`
	SamplingType     *string          `json:"response_sampling_interval_type"`
	SamplingInterval *int64           `json:"response_sampling_interval"`
	SamplingLimit    *int64           `json:"response_sampling_limit"`
	SamplingDaily    json.RawMessage  `json:"response_sampling_daily_limits"`
	// PartialResponses and Iframe are settings for SDKs.
	PartialResponses *bool `json:"enable_partial_responses"`
	Iframe           *bool `json:"enable_iframe_embedding"`
	// Translations and FormContent are objects that are stored and returned unchanged.
	Translations json.RawMessage `json:"translations"`
	FormContent  json.RawMessage `json:"form_content"`
}

// storedSurvey is a survey as stored.
type storedSurvey struct {
	surveySettings
	OwnTargeting bool `json:"own_targeting,omitempty"` // whether the survey has created its targeting flag
	// InternalTargeting is the id of the internal targeting flag, 0 before it is created.
	InternalTargeting int64 `json:"internal_targeting_flag_id,omitempty"`
	// CreatedBy is the id of a user.
	CreatedBy int64 `json:"created_by_id,omitempty"`
}

// isRunning reports whether the survey has started and not ended.
func (s *storedSurvey) isRunning() bool { return !s.Start.IsZero() && s.End.IsZero() }

// AccessObject returns the survey as access rules refer to it.
func (s *storedSurvey) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindSurvey, ID: s.ID, Author: s.CreatedBy}
}

// AccessObject returns a survey of the scope's project as access rules refer to it, or nil if there
// is no such survey.
func AccessObject(tx storeTx, scope *management.Scope, id string) (*management.AccessObject, error) {
	x, err := resource.LoadRecord[storedSurvey](tx, kindSurvey, scope.Parent(), id)
	if err != nil || x == nil {
		return nil, err
	}
	object := x.accessObject()
	return &object, nil
}

// Survey is a survey as the API returns it.
type Survey struct {
	surveySettings
	// LinkedFlag, Targeting and Internal are the flags of the survey as minimalFlag; null if there
	// is none.
	LinkedFlag json.RawMessage      `json:"linked_flag"`
	Targeting  json.RawMessage      `json:"targeting_flag"`
	Internal   json.RawMessage      `json:"internal_targeting_flag"`
	CreatedBy  *management.UserView `json:"created_by"`
	// Access is the access of the caller to the survey.
	Access management.AccessLevel `json:"user_access_level"`
	// FlagKeys has the keys of the same three flags, in this order.
	FlagKeys []surveyFlagKey `json:"feature_flag_keys"`
	// IterationStarts are the start times of all iterations; empty if the survey is not recurring.
	IterationStarts []management.Stamp `json:"iteration_start_dates"`
	// Iteration counts from 1; null if the survey is not recurring or has not started.
	Iteration      *int             `json:"current_iteration"`
	IterationStart management.Stamp `json:"current_iteration_start_date"`
}

// surveyFlagKey is the key of a flag of a survey. Key is the purpose of the flag, Value its key;
// Value is null if there is no such flag.
type surveyFlagKey struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}
