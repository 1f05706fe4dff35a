package featureflags

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// kindSurvey is the kind of the records of surveys: Parent is the project, Sort the time of
// creation, Unique the project and the name.
const kindSurvey = "survey"

// Surveys manages surveys (§5.6). A survey is shown to persons by SDKs, which evaluate the flags
// that belong to it (surveysflags.go).
type Surveys struct {
	*core
	management.Resource[Tx, storedSurvey, Survey]
}

// newSurveys returns the resource of surveys.
func newSurveys(c *core) (s Surveys) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedSurvey, Survey]{
		Kind: kindSurvey, ActivityScope: "Survey", Fields: SurveyFields, ObjectName: "a survey", Body: surveyShape.Body, NewestFirst: true, Object: (*storedSurvey).accessObject,
		Header: func(scope *management.Scope, x *storedSurvey) management.RecordHeader {
			return management.RecordHeader{ID: x.ID, Title: x.Name, Sort: management.SortTime(x.CreatedAt.Time), Unique: scope.Parent() + "/" + x.Name}
		},
		New: func(v *view) (*storedSurvey, error) {
			// The schedule of a new survey is once by default.
			once := "once"
			return &storedSurvey{CreatedBy: v.User.ID, surveySettings: surveySettings{ID: c.Env.NewID(), CreatedAt: management.NewStamp(c.Env.Now()), Schedule: &once}}, nil
		},
		OnDuplicate: func(isNew bool) error {
			if isNew {
				return management.CodedFault(management.CodeUnique, "name", "There is already a survey with this name.")
			}
			return management.CodedFault(management.CodeUnique, "name", "There is already another survey with this name.")
		},
		Rules: s.rules, Show: s.show,
		BeforeDelete: func(e *management.Edit[Tx, storedSurvey]) error { return s.deleteFlags(e.Tx, e.Scope, e.After) },
		AfterSave:    func(e *management.Edit[Tx, storedSurvey]) error { return c.SurveysChanged(e.Tx, e.Project.ID) },
	})
	return s
}

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
	FlagKeys []SurveyFlagKey `json:"feature_flag_keys"`
	// IterationStarts are the start times of all iterations; empty if the survey is not recurring.
	IterationStarts []management.Stamp `json:"iteration_start_dates"`
	// Iteration counts from 1; null if the survey is not recurring or has not started.
	Iteration      *int             `json:"current_iteration"`
	IterationStart management.Stamp `json:"current_iteration_start_date"`
}

// SurveyFlagKey is the key of a flag of a survey. Key is the purpose of the flag, Value its key;
// Value is null if there is no such flag.
type SurveyFlagKey struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// maxIterations limits the iterations of a recurring survey.
const maxIterations = 500

// SurveyFields are the writable fields of a survey.
var SurveyFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 400, Help: "unique in the project"},
	{Name: "description", Type: management.Text, Blank: true},
	{Name: "type", Type: management.Choice, Required: true, Choices: []string{"popover", "widget", "external_survey", "api"}},
	{Name: "schedule", Type: management.Choice, Null: true, Choices: []string{"once", "recurring", "always"}},
	{Name: "linked_flag_id", Type: management.Int, Null: true, Help: "id of a flag that must be enabled"},
	{Name: "linked_insight_id", Type: management.Int, Null: true, Help: "id of an insight about the survey"},
	{Name: "targeting_flag_id", Type: management.Int, Null: true, Custom: true, Help: "id of a flag that selects the persons"},
	{Name: "targeting_flag_filters", Type: management.Object, Null: true, Custom: true, Help: "filters of a targeting flag to create for the survey"},
	{Name: "remove_targeting_flag", Type: management.Bool, Null: true, Custom: true},
	{Name: "questions", Type: management.ObjectList, Null: true, Custom: true},
	{Name: "conditions", Type: management.Object, Null: true},
	{Name: "appearance", Type: management.Object, Null: true},
	{Name: "start_date", Type: management.Time, Null: true, Help: "null while the survey is a draft"},
	{Name: "end_date", Type: management.Time, Null: true, Help: "null while the survey is running"},
	{Name: "archived", Type: management.Bool},
	{Name: "responses_limit", Type: management.Int, Null: true, MaxValue: 1<<31 - 1},
	{Name: "iteration_count", Type: management.Int, Null: true, MaxValue: maxIterations},
	{Name: "iteration_frequency_days", Type: management.Int, Null: true, MaxValue: 36_500},
	{Name: "response_sampling_start_date", Type: management.Time, Null: true},
	{Name: "response_sampling_interval_type", Type: management.Choice, Null: true, Choices: []string{"day", "week", "month"}},
	{Name: "response_sampling_interval", Type: management.Int, Null: true, MaxValue: 1<<31 - 1},
	{Name: "response_sampling_limit", Type: management.Int, Null: true, MaxValue: 1<<31 - 1},
	{Name: "response_sampling_daily_limits", Type: management.Any, Null: true},
	{Name: "enable_partial_responses", Type: management.Bool, Null: true},
	{Name: "enable_iframe_embedding", Type: management.Bool, Null: true, Help: "stored and returned unchanged"},
	{Name: "translations", Type: management.Object, Null: true, Help: "stored and returned unchanged"},
	{Name: "form_content", Type: management.Object, Null: true, Help: "stored and returned unchanged"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
}

// accessObject returns the survey as access rules refer to it.
func (s *storedSurvey) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindSurvey, ID: s.ID, Author: s.CreatedBy}
}

// show returns a survey as the API returns it. The order of FlagKeys is used by Public.
func (s Surveys) show(v *view, x *storedSurvey) (_ *Survey, err error) {
	out := &Survey{surveySettings: x.surveySettings, Access: v.AccessTo(x.accessObject())}
	out.Questions = rawOr(x.Questions, "[]")
	// The current iteration depends on the time of the request.
	out.IterationStarts, out.Iteration, out.IterationStart = x.iterations(s.Env.Now())
	if out.CreatedBy, err = v.Author(x.CreatedBy); err != nil {
		return nil, err
	}
	// The order of these rows is the order of FlagKeys.
	for _, f := range []struct {
		name string
		id   int64
		to   *json.RawMessage
	}{
		{"linked_flag_key", valueOrZero(x.LinkedFlagID), &out.LinkedFlag},
		{"targeting_flag_key", valueOrZero(x.TargetingID), &out.Targeting},
		{"internal_targeting_flag_key", x.InternalTargeting, &out.Internal},
	} {
		if *f.to, _, err = loadMinimalFlag(v, f.id); err != nil {
			return nil, err
		}
		pair := SurveyFlagKey{Key: f.name}
		if key := management.JSONText(management.JSONObject(*f.to)["key"]); key != "" {
			pair.Value = &key
		}
		out.FlagKeys = append(out.FlagKeys, pair)
	}
	return out, nil
}

// valueOrZero returns *n, or 0 if n is nil.
func valueOrZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// SurveyQuery selects surveys. A field with its zero value does not restrict the list.
type SurveyQuery struct {
	management.Page
	Search string // substring of name or description, ignoring case; at most 200 characters
	// Archived selects by the state of the archive, if not nil.
	Archived *bool
	// IDs and Type select surveys with one of these ids, and of this type.
	IDs  []string
	Type string
}

// match reports whether a record is a survey that the query selects.
func (q *SurveyQuery) match(r *management.Record) bool {
	x, err := management.Decode[storedSurvey](r)
	return err == nil && (management.ContainsFold(x.Name, q.Search) || management.ContainsFold(x.Description, q.Search)) && management.MatchesBool(q.Archived, x.Archived) &&
		management.MatchesValue(q.IDs, x.ID) && (q.Type == "" || x.Type == q.Type)
}

// List returns a page of surveys, newest first.
func (s Surveys) List(ctx context.Context, scope *management.Scope, q SurveyQuery) (management.List[Survey], error) {
	if err := management.CheckSearch(q.Search); err != nil {
		return management.List[Survey]{}, err
	}
	for i, id := range q.IDs {
		q.IDs[i], _ = management.NormalizeUUID(id) // an invalid id becomes "", which no survey has
	}
	// Match decodes every record, so it is set only if the query has filters.
	query := management.Query{Offset: q.Offset, Limit: q.Limit}
	if q.Search != "" || q.Archived != nil || q.IDs != nil || q.Type != "" {
		query.Match = q.match
	}
	return s.Query(ctx, scope, query)
}

// rules checks a survey, and creates or changes its flags.
func (s Surveys) rules(e *management.Edit[Tx, storedSurvey]) (err error) {
	// An insight that was deleted later does not prevent changes of the survey.
	if id := e.After.LinkedInsight; id != nil && e.Values.Has("linked_insight_id") {
		exists, err := s.HasInsight(e.Tx, e.Project.ID, *id)
		if err == nil && !exists {
			err = management.ErrNoObject("linked_insight_id", *id)
		}
		if err != nil {
			return err
		}
	}
	// Only questions that were sent are checked, but the conditions are always checked.
	if e.Values.Has("questions") {
		if e.After.Questions, err = s.questions(e.Values.Objects("questions")); err != nil {
			return err
		}
	}
	if err := checkConditions(e.After.Conditions); err != nil {
		return err
	}
	return s.saveFlags(e.Tx, e.Scope, e.After, &e.Before, e.Values)
}

// HasRunningSurvey reports whether a project has a running survey that is not archived.
func HasRunningSurvey(tx management.Tx, project int64) (bool, error) {
	// All surveys are read, since records have no index of running surveys.
	list, err := management.ListRecords[storedSurvey](tx, management.Query{Kind: kindSurvey, Parent: management.ProjectParent(project)})
	return slices.ContainsFunc(list.Results, func(x storedSurvey) bool { return x.isRunning() && !x.Archived }), err
}
