package featureflags

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// kindSurvey is a survey: Parent is the project, Sort the time, Unique the project
// and the name.
const kindSurvey = "survey"

// Surveys are surveys (§5.6).
type Surveys struct {
	*core
	management.Resource[Tx, storedSurvey, Survey]
}

func newSurveys(c *core) (s Surveys) {
	s.core = c
	s.Resource = management.NewResource(&c.Env, management.Spec[Tx, storedSurvey, Survey]{
		Kind: kindSurvey, ActivityScope: "Survey", Fields: SurveyFields, ObjectName: "a survey", Body: surveyShape.Body, NewestFirst: true, Object: (*storedSurvey).accessObject,
		Header: func(scope *management.Scope, x *storedSurvey) management.RecordHeader {
			return management.RecordHeader{ID: x.ID, Title: x.Name, Sort: management.SortTime(x.CreatedAt.Time), Unique: scope.Parent() + "/" + x.Name}
		},
		New: func(v *view) (*storedSurvey, error) {
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

// surveySettings are what is kept of a survey and shown as it is.
type surveySettings struct {
	ID               string           `json:"id"`
	Name             string           `json:"name"`
	Description      string           `json:"description"`
	Type             string           `json:"type"`
	Schedule         *string          `json:"schedule"`
	LinkedFlagID     *int64           `json:"linked_flag_id"`
	LinkedInsight    *int64           `json:"linked_insight_id"`
	TargetingID      *int64           `json:"targeting_flag_id"`
	Questions        json.RawMessage  `json:"questions"`
	Conditions       json.RawMessage  `json:"conditions"`
	Appearance       json.RawMessage  `json:"appearance"`
	CreatedAt        management.Stamp `json:"created_at"`
	Start            management.Stamp `json:"start_date"`
	End              management.Stamp `json:"end_date"`
	Archived         bool             `json:"archived"`
	ResponsesLimit   *int64           `json:"responses_limit"`
	IterationCount   *int64           `json:"iteration_count"`
	IterationDays    *int64           `json:"iteration_frequency_days"`
	SamplingStart    management.Stamp `json:"response_sampling_start_date"`
	SamplingType     *string          `json:"response_sampling_interval_type"`
	SamplingInterval *int64           `json:"response_sampling_interval"`
	SamplingLimit    *int64           `json:"response_sampling_limit"`
	SamplingDaily    json.RawMessage  `json:"response_sampling_daily_limits"`
	PartialResponses *bool            `json:"enable_partial_responses"`
	Iframe           *bool            `json:"enable_iframe_embedding"`
	Translations     json.RawMessage  `json:"translations"`
	FormContent      json.RawMessage  `json:"form_content"`
}

// storedSurvey is a survey as it is kept.
type storedSurvey struct {
	surveySettings
	OwnTargeting      bool  `json:"own_targeting,omitempty"` // the survey has made it
	InternalTargeting int64 `json:"internal_targeting_flag_id,omitempty"`
	CreatedBy         int64 `json:"created_by_id,omitempty"`
}

// isRunning reports whether the survey is being shown: it has begun and not ended.
func (s *storedSurvey) isRunning() bool { return !s.Start.IsZero() && s.End.IsZero() }

// Survey is a survey as it is shown.
type Survey struct {
	surveySettings
	LinkedFlag      json.RawMessage        `json:"linked_flag"`
	Targeting       json.RawMessage        `json:"targeting_flag"`
	Internal        json.RawMessage        `json:"internal_targeting_flag"`
	CreatedBy       *management.UserView   `json:"created_by"`
	Access          management.AccessLevel `json:"user_access_level"`
	FlagKeys        []SurveyFlagKey        `json:"feature_flag_keys"`
	IterationStarts []management.Stamp     `json:"iteration_start_dates"`
	Iteration       *int                   `json:"current_iteration"`
	IterationStart  management.Stamp       `json:"current_iteration_start_date"`
}

// SurveyFlagKey is the key of a flag of a survey, and what the flag is for.
type SurveyFlagKey struct {
	Key   string  `json:"key"`
	Value *string `json:"value"`
}

// maxIterations is how often a survey may be repeated.
const maxIterations = 500

// SurveyFields are the writable fields of a survey.
var SurveyFields = management.Fields{
	{Name: "name", Type: management.Text, Required: true, MaxLength: 400, Help: "one of its kind in the project"},
	{Name: "description", Type: management.Text, Blank: true},
	{Name: "type", Type: management.Choice, Required: true, Choices: []string{"popover", "widget", "external_survey", "api"}},
	{Name: "schedule", Type: management.Choice, Null: true, Choices: []string{"once", "recurring", "always"}},
	{Name: "linked_flag_id", Type: management.Int, Null: true, Help: "a flag that has to be on"},
	{Name: "linked_insight_id", Type: management.Int, Null: true, Help: "an insight about it"},
	{Name: "targeting_flag_id", Type: management.Int, Null: true, Custom: true, Help: "a flag that chooses the persons"},
	{Name: "targeting_flag_filters", Type: management.Object, Null: true, Custom: true, Help: "filters of a flag that is made for it"},
	{Name: "remove_targeting_flag", Type: management.Bool, Null: true, Custom: true},
	{Name: "questions", Type: management.ObjectList, Null: true, Custom: true},
	{Name: "conditions", Type: management.Object, Null: true},
	{Name: "appearance", Type: management.Object, Null: true},
	{Name: "start_date", Type: management.Time, Null: true, Help: "null while it is a draft"},
	{Name: "end_date", Type: management.Time, Null: true, Help: "null while it is running"},
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
	{Name: "enable_iframe_embedding", Type: management.Bool, Null: true, Help: "kept as given"},
	{Name: "translations", Type: management.Object, Null: true, Help: "kept as given"},
	{Name: "form_content", Type: management.Object, Null: true, Help: "kept as given"},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Custom: true, Help: "has no effect"},
}

func (s *storedSurvey) accessObject() management.AccessObject {
	return management.AccessObject{Kind: kindSurvey, ID: s.ID, Author: s.CreatedBy}
}

func (s Surveys) show(v *view, x *storedSurvey) (_ *Survey, err error) {
	out := &Survey{surveySettings: x.surveySettings, Access: v.AccessTo(x.accessObject())}
	out.Questions = rawOr(x.Questions, "[]")
	out.IterationStarts, out.Iteration, out.IterationStart = x.iterations(s.Env.Now())
	if out.CreatedBy, err = v.Author(x.CreatedBy); err != nil {
		return nil, err
	}
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

func valueOrZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

// SurveyQuery narrows a list of surveys down. Zero members do not.
type SurveyQuery struct {
	management.Page
	Search   string // in name and description, at most 200 characters
	Archived *bool
	IDs      []string
	Type     string
}

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
		q.IDs[i], _ = management.NormalizeUUID(id) // what is none names nothing
	}
	query := management.Query{Offset: q.Offset, Limit: q.Limit}
	if q.Search != "" || q.Archived != nil || q.IDs != nil || q.Type != "" {
		query.Match = q.match
	}
	return s.Query(ctx, scope, query)
}

// rules check a survey and make and change its flags.
func (s Surveys) rules(e *management.Edit[Tx, storedSurvey]) (err error) {
	if id := e.After.LinkedInsight; id != nil && e.Values.Has("linked_insight_id") {
		exists, err := s.HasInsight(e.Tx, e.Project.ID, *id)
		if err == nil && !exists {
			err = management.ErrNoObject("linked_insight_id", *id)
		}
		if err != nil {
			return err
		}
	}
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

// HasRunningSurvey reports whether a survey of a project is being shown.
func HasRunningSurvey(tx management.Tx, project int64) (bool, error) {
	list, err := management.ListRecords[storedSurvey](tx, management.Query{Kind: kindSurvey, Parent: management.ProjectParent(project)})
	return slices.ContainsFunc(list.Results, func(x storedSurvey) bool { return x.isRunning() && !x.Archived }), err
}
