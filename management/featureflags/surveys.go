package featureflags

import (
	"context"
	"encoding/json"
	"errors"
	"github.com/bunting-flags/bunting/management"
	"slices"
	"time"
)

// Surveys are surveys (§5.6).
type Surveys struct{ *core }

// kindSurvey is a survey: Parent is the project, Sort the time, Unique the project
// and the name.
const kindSurvey = "survey"

// surveyScope is what changes of surveys are noted under.
const surveyScope = "Survey"

// surveySettings are the fields of a survey that are kept as they are written.
type surveySettings struct {
	Name              string           `json:"name"`
	Description       string           `json:"description"`
	Type              string           `json:"type"`
	Schedule          *string          `json:"schedule"`
	Questions         json.RawMessage  `json:"questions"`
	Conditions        json.RawMessage  `json:"conditions"`
	Appearance        json.RawMessage  `json:"appearance"`
	Start             management.Stamp `json:"start_date"`
	End               management.Stamp `json:"end_date"`
	Archived          bool             `json:"archived"`
	ResponsesLimit    *int64           `json:"responses_limit"`
	IterationCount    *int64           `json:"iteration_count"`
	IterationDays     *int64           `json:"iteration_frequency_days"`
	SamplingStart     management.Stamp `json:"response_sampling_start_date"`
	SamplingType      *string          `json:"response_sampling_interval_type"`
	SamplingInterval  *int64           `json:"response_sampling_interval"`
	SamplingLimit     *int64           `json:"response_sampling_limit"`
	SamplingDaily     json.RawMessage  `json:"response_sampling_daily_limits"`
	PartialResponses  *bool            `json:"enable_partial_responses"`
	CreatedAt         management.Stamp `json:"created_at"`
	LinkedFlag        *int64           `json:"linked_flag_id"`
	TargetingFlag     *int64           `json:"targeting_flag_id"`
	OwnTargeting      bool             `json:"own_targeting,omitempty"` // the survey has made it
	InternalTargeting int64            `json:"internal_targeting_flag_id,omitempty"`
	CreatedBy         int64            `json:"created_by_id,omitempty"`
}

// storedSurvey is a survey as it is kept.
type storedSurvey struct {
	ID string `json:"id"`
	surveySettings
}

// running reports whether the survey is being shown: it has begun and not ended.
func (s *storedSurvey) running() bool { return !s.Start.IsZero() && s.End.IsZero() }

// Survey is a survey as it is shown.
type Survey struct {
	ID               string               `json:"id"`
	Name             string               `json:"name"`
	Description      string               `json:"description"`
	Type             string               `json:"type"`
	Schedule         *string              `json:"schedule"`
	LinkedFlag       json.RawMessage      `json:"linked_flag"`
	LinkedFlagID     *int64               `json:"linked_flag_id"`
	Targeting        json.RawMessage      `json:"targeting_flag"`
	TargetingID      *int64               `json:"targeting_flag_id"`
	Internal         json.RawMessage      `json:"internal_targeting_flag"`
	Questions        json.RawMessage      `json:"questions"`
	Conditions       json.RawMessage      `json:"conditions"`
	Appearance       json.RawMessage      `json:"appearance"`
	CreatedAt        management.Stamp     `json:"created_at"`
	CreatedBy        *management.UserView `json:"created_by"`
	Start            management.Stamp     `json:"start_date"`
	End              management.Stamp     `json:"end_date"`
	Archived         bool                 `json:"archived"`
	ResponsesLimit   *int64               `json:"responses_limit"`
	FlagKeys         []SurveyFlagKey      `json:"feature_flag_keys"`
	IterationCount   *int64               `json:"iteration_count"`
	IterationDays    *int64               `json:"iteration_frequency_days"`
	IterationStarts  []management.Stamp   `json:"iteration_start_dates"`
	Iteration        *int                 `json:"current_iteration"`
	IterationStart   management.Stamp     `json:"current_iteration_start_date"`
	SamplingStart    management.Stamp     `json:"response_sampling_start_date"`
	SamplingType     *string              `json:"response_sampling_interval_type"`
	SamplingInterval *int64               `json:"response_sampling_interval"`
	SamplingLimit    *int64               `json:"response_sampling_limit"`
	SamplingDaily    json.RawMessage      `json:"response_sampling_daily_limits"`
	PartialResponses *bool                `json:"enable_partial_responses"`
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
	{Name: "name", Type: management.Text, Required: true, Max: 400, Help: "one of its kind in the project"},
	{Name: "description", Type: management.Text, Blank: true},
	{Name: "type", Type: management.Choice, Required: true, Choices: []string{"popover", "widget", "external_survey", "api"}},
	{Name: "schedule", Type: management.Choice, Null: true, Choices: []string{"once", "recurring", "always"}},
	{Name: "linked_flag_id", Type: management.Int, Null: true, Help: "a flag that has to be on"},
	{Name: "targeting_flag_id", Type: management.Int, Null: true, Help: "a flag that chooses the persons"},
	{Name: "targeting_flag_filters", Type: management.Object, Null: true, Help: "filters of a flag that is made for it"},
	{Name: "remove_targeting_flag", Type: management.Bool, Null: true},
	{Name: "questions", Type: management.ObjectList, Null: true},
	{Name: "conditions", Type: management.Object, Null: true},
	{Name: "appearance", Type: management.Object, Null: true},
	{Name: "start_date", Type: management.Time, Null: true, Help: "null while it is a draft"},
	{Name: "end_date", Type: management.Time, Null: true, Help: "null while it is running"},
	{Name: "archived", Type: management.Bool},
	{Name: "responses_limit", Type: management.Int, Null: true, Most: 1<<31 - 1},
	{Name: "iteration_count", Type: management.Int, Null: true, Most: maxIterations},
	{Name: "iteration_frequency_days", Type: management.Int, Null: true, Most: 36_500},
	{Name: "response_sampling_start_date", Type: management.Time, Null: true},
	{Name: "response_sampling_interval_type", Type: management.Choice, Null: true, Choices: []string{"day", "week", "month"}},
	{Name: "response_sampling_interval", Type: management.Int, Null: true, Most: 1<<31 - 1},
	{Name: "response_sampling_limit", Type: management.Int, Null: true, Most: 1<<31 - 1},
	{Name: "response_sampling_daily_limits", Type: management.Any, Null: true},
	{Name: "enable_partial_responses", Type: management.Bool, Null: true},
	{Name: "_create_in_folder", Type: management.Text, Null: true, Blank: true, Help: "has no effect"},
}

// set lays values over a survey.
func (s *storedSurvey) set(v management.Values) {
	management.Set(v, "name", &s.Name)
	management.Set(v, "description", &s.Description)
	management.Set(v, "type", &s.Type)
	management.SetNull(v, "schedule", &s.Schedule)
	management.Set(v, "archived", &s.Archived)
	management.SetNull(v, "response_sampling_interval_type", &s.SamplingType)
	management.SetNull(v, "enable_partial_responses", &s.PartialResponses)
	for name, to := range map[string]**int64{
		"responses_limit": &s.ResponsesLimit, "iteration_count": &s.IterationCount, "iteration_frequency_days": &s.IterationDays,
		"response_sampling_interval": &s.SamplingInterval, "response_sampling_limit": &s.SamplingLimit,
	} {
		management.SetNull(v, name, to)
	}
	for name, to := range map[string]*management.Stamp{"start_date": &s.Start, "end_date": &s.End, "response_sampling_start_date": &s.SamplingStart} {
		if v.Has(name) {
			*to = management.At(v.Time(name))
		}
	}
	for name, to := range map[string]*json.RawMessage{
		"conditions": &s.Conditions, "appearance": &s.Appearance, "response_sampling_daily_limits": &s.SamplingDaily,
	} {
		if v.Has(name) {
			*to = v.Raw(name)
		}
	}
}

// iterations are when a survey that is repeated begins again, and which of them
// it is in.
func (s *storedSurvey) iterations(now time.Time) (starts []management.Stamp, current *int, since management.Stamp) {
	if s.Start.IsZero() || s.IterationCount == nil || s.IterationDays == nil || *s.IterationCount == 0 || *s.IterationDays == 0 {
		return []management.Stamp{}, nil, management.Stamp{}
	}
	for i := range int(*s.IterationCount) {
		at := management.At(s.Start.AddDate(0, 0, i*int(*s.IterationDays)))
		starts = append(starts, at)
		if i == 0 || !at.After(now) {
			n := i + 1
			current, since = &n, at
		}
	}
	return starts, current, since
}

func (s Surveys) load(tx Tx, st *management.Standing, id string) (*storedSurvey, error) {
	return loadRecord[storedSurvey](tx, kindSurvey, management.ProjectParent(st.Project.ID), id)
}

func (s Surveys) show(tx Tx, st *management.Standing, x *storedSurvey) (*Survey, error) {
	out := &Survey{
		ID: x.ID, Name: x.Name, Description: x.Description, Type: x.Type, Schedule: x.Schedule, LinkedFlagID: x.LinkedFlag, TargetingID: x.TargetingFlag,
		Questions: rawOr(x.Questions, "[]"), Conditions: rawOr(x.Conditions, "null"), Appearance: rawOr(x.Appearance, "null"),
		CreatedAt: x.CreatedAt, Start: x.Start, End: x.End, Archived: x.Archived, ResponsesLimit: x.ResponsesLimit,
		IterationCount: x.IterationCount, IterationDays: x.IterationDays, SamplingStart: x.SamplingStart, SamplingType: x.SamplingType,
		SamplingInterval: x.SamplingInterval, SamplingLimit: x.SamplingLimit, SamplingDaily: rawOr(x.SamplingDaily, "null"), PartialResponses: x.PartialResponses,
	}
	out.IterationStarts, out.Iteration, out.IterationStart = x.iterations(s.Desk.Now())
	var err error
	if out.CreatedBy, err = management.ViewOfUser(tx, x.CreatedBy); err != nil {
		return nil, err
	}
	for _, f := range []struct {
		name string
		id   int64
		to   *json.RawMessage
	}{
		{"linked_flag_key", numberOr0(x.LinkedFlag), &out.LinkedFlag},
		{"targeting_flag_key", numberOr0(x.TargetingFlag), &out.Targeting},
		{"internal_targeting_flag_key", x.InternalTargeting, &out.Internal},
	} {
		if *f.to, err = minimalOf(tx, st.Project.ID, f.id); err != nil {
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

func numberOr0(n *int64) int64 {
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
	return err == nil && (management.HoldsText(x.Name, q.Search) || management.HoldsText(x.Description, q.Search)) && management.Is(q.Archived, x.Archived) &&
		management.Among(q.IDs, x.ID) && (q.Type == "" || x.Type == q.Type)
}

// List returns a page of surveys, newest first.
func (s Surveys) List(ctx context.Context, st *management.Standing, q SurveyQuery) (management.List[Survey], error) {
	if err := management.CheckSearch(q.Search); err != nil {
		return management.List[Survey]{}, err
	}
	for i, id := range q.IDs {
		q.IDs[i], _ = management.NormalUUID(id) // what is none names nothing
	}
	query := management.Query{Kind: kindSurvey, Parent: management.ProjectParent(st.Project.ID), Descending: true, Offset: q.Offset, Limit: q.Limit}
	if q.Search != "" || q.Archived != nil || q.IDs != nil || q.Type != "" {
		query.Match = q.match
	}
	return management.Read(ctx, &s.Desk, func(tx Tx) (out management.List[Survey], err error) {
		list, err := management.ListRecords[storedSurvey](tx, query)
		out.Count = list.Count
		for i := 0; i < len(list.Results) && err == nil; i++ {
			var shown *Survey
			if shown, err = s.show(tx, st, &list.Results[i]); err == nil {
				out.Results = append(out.Results, *shown)
			}
		}
		return out, err
	})
}

// Get returns one survey.
func (s Surveys) Get(ctx context.Context, st *management.Standing, id string) (*Survey, error) {
	return management.Read(ctx, &s.Desk, func(tx Tx) (*Survey, error) {
		x, err := s.load(tx, st, id)
		if err != nil {
			return nil, err
		}
		return s.show(tx, st, x)
	})
}

// Create makes a survey and its flags.
func (s Surveys) Create(ctx context.Context, st *management.Standing, b management.Body) (*Survey, error) {
	v, err := SurveyFields.Create(b)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Survey, error) {
		once := "once"
		x := &storedSurvey{ID: s.Desk.NewID(), surveySettings: surveySettings{CreatedAt: management.At(s.Desk.Now()), CreatedBy: st.User.ID, Schedule: &once}}
		return s.save(tx, st, x, v, nil)
	})
}

// Update changes a survey. put: all required fields have to be there.
func (s Surveys) Update(ctx context.Context, st *management.Standing, id string, b management.Body, put bool) (*Survey, error) {
	v, err := SurveyFields.Update(b, put)
	if err != nil {
		return nil, err
	}
	return management.Write(ctx, &s.Desk, func(tx Tx) (*Survey, error) {
		x, err := s.load(tx, st, id)
		if err != nil {
			return nil, err
		}
		before, err := s.show(tx, st, x)
		if err != nil {
			return nil, err
		}
		return s.save(tx, st, x, v, before)
	})
}

// save lays values over a survey, checks and stores it with its flags. before is
// nil for a new one.
func (s Surveys) save(tx Tx, st *management.Standing, x *storedSurvey, v management.Values, before *Survey) (*Survey, error) {
	was := *x
	x.set(v)
	if v.Has("questions") {
		questions, err := s.questions(v.Objects("questions"))
		if err != nil {
			return nil, err
		}
		x.Questions = questions
	}
	if err := checkConditions(x.Conditions); err != nil {
		return nil, err
	}
	if err := s.saveFlags(tx, st, x, &was, v); err != nil {
		return nil, err
	}
	parent := management.ProjectParent(st.Project.ID)
	err := tx.Put(&management.Record{
		Kind: kindSurvey, Parent: parent, ID: x.ID, Sort: management.SortTime(x.CreatedAt.Time), Unique: parent + "/" + x.Name, Data: management.Encode(x),
	})
	switch {
	case errors.Is(err, management.ErrTaken) && before == nil:
		return nil, management.Coded(management.CodeUnique, "name", "There is already a survey with this name.")
	case errors.Is(err, management.ErrTaken):
		return nil, management.Coded(management.CodeUnique, "name", "There is already another survey with this name.")
	case err != nil:
		return nil, err
	}
	if err := s.SurveysChanged(tx, st.Project.ID); err != nil {
		return nil, err
	}
	after, err := s.show(tx, st, x)
	if err != nil {
		return nil, err
	}
	var old any
	if before != nil {
		old = before
	}
	return after, s.Desk.Note(tx, st.Caller, parent, surveyScope, x.ID, x.Name, old, after)
}

// Delete takes a survey and the flags that it has made away.
func (s Surveys) Delete(ctx context.Context, st *management.Standing, id string) error {
	return s.Desk.Store.Write(ctx, func(tx Tx) error {
		x, err := s.load(tx, st, id)
		if err != nil {
			return err
		}
		before, err := s.show(tx, st, x)
		if err != nil {
			return err
		}
		if err := s.dropFlags(tx, st, x); err != nil {
			return err
		}
		parent := management.ProjectParent(st.Project.ID)
		if err := tx.Delete(kindSurvey, parent, x.ID); err != nil {
			return err
		}
		if err := s.SurveysChanged(tx, st.Project.ID); err != nil {
			return err
		}
		return s.Desk.Note(tx, st.Caller, parent, surveyScope, x.ID, x.Name, before, nil)
	})
}

// SurveysRun reports whether a survey of a project is being shown.
func SurveysRun(tx management.Tx, project int64) (bool, error) {
	list, err := management.ListRecords[storedSurvey](tx, management.Query{Kind: kindSurvey, Parent: management.ProjectParent(project)})
	return slices.ContainsFunc(list.Results, func(x storedSurvey) bool { return x.running() && !x.Archived }), err
}
