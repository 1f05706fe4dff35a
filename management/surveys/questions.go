package surveys

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// questionFields are the members of a question that are checked.
var questionFields = management.Fields{
	{Name: "id", Type: management.UUID, Null: true},
	{Name: "type", Type: management.Choice, Required: true, Choices: []string{"open", "link", "rating", "single_choice", "multiple_choice"}},
	{Name: "question", Type: management.Text, Required: true},
	{Name: "description", Type: management.Text, Null: true, Blank: true},
	{Name: "descriptionContentType", Type: management.Choice, Null: true, Choices: []string{"text", "html"}},
	{Name: "optional", Type: management.Bool, Null: true},
	{Name: "buttonText", Type: management.Text, Null: true, Blank: true},
	{Name: "link", Type: management.Text, Null: true, Blank: true},
	{Name: "display", Type: management.Choice, Null: true, Choices: []string{"number", "emoji"}},
	{Name: "scale", Type: management.Int, Null: true},
	{Name: "lowerBoundLabel", Type: management.Text, Null: true, Blank: true},
	{Name: "upperBoundLabel", Type: management.Text, Null: true, Blank: true},
	{Name: "choices", Type: management.TextList, Null: true, Blank: true},
	{Name: "shuffleOptions", Type: management.Bool, Null: true},
	{Name: "hasOpenChoice", Type: management.Bool, Null: true},
	{Name: "branching", Type: management.Object, Null: true},
}

// branchings are the types of branching after a question.
var branchings = []string{"next_question", "end", "response_based", "specific_question"}

// questions checks the questions of a survey and returns them, each with an id.
func (s Service) questions(list []json.RawMessage) (json.RawMessage, error) {
	out := make([]map[string]json.RawMessage, 0, len(list))
	for i, raw := range list {
		question := management.JSONObject(raw)
		prefix := fmt.Sprintf("questions__%d__", i)
		// The names are prefixed, so that errors refer to the question by its index.
		fields := slices.Clone(questionFields)
		for j := range fields {
			fields[j].Name = prefix + fields[j].Name
		}
		prefixed := make(map[string]json.RawMessage, len(question))
		for name, value := range question {
			prefixed[prefix+name] = value
		}
		v, err := fields.Create(management.Body{Members: prefixed})
		if err != nil {
			return nil, err
		}
		// SDKs open the link in a browser, so schemes such as javascript: are refused.
		if link := v.Text(prefix + "link"); link != "" && !isLink(link) {
			return nil, management.Fault(prefix+"link", "Link must be a URL that begins with https:// or mailto:.")
		}
		// Other members of branching depend on its type and are not checked.
		if branching := v.Raw(prefix + "branching"); !management.EmptyJSON(branching) {
			if kind := management.JSONText(management.JSONObject(branching)["type"]); !slices.Contains(branchings, kind) {
				return nil, management.NotAChoice(prefix+"branching__type", kind, branchings)
			}
		}
		// A question keeps its id, so that responses stay connected with it.
		if id := v.Text(prefix + "id"); id != "" {
			question["id"] = storage.Encode(id)
		} else {
			question["id"] = storage.Encode(s.Env.NewID())
		}
		out = append(out, question)
	}
	return storage.Encode(out), nil
}

// isLink reports whether text is an https URL or a mailto URL with an address.
func isLink(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" && u.Host != "" || u.Scheme == "mailto" && strings.Contains(u.Opaque, "@"))
}

// conditionFields are the members of a survey's conditions that are checked.
var conditionFields = management.Fields{
	{Name: "conditions__url", Type: management.Text, Null: true, Blank: true},
	{Name: "conditions__urlMatchType", Type: management.Text, Null: true, Blank: true},
	{Name: "conditions__selector", Type: management.Text, Null: true, Blank: true},
	{Name: "conditions__seenSurveyWaitPeriodInDays", Type: management.Int, Null: true},
	{Name: "conditions__deviceTypes", Type: management.TextList, Null: true},
	{Name: "conditions__deviceTypesMatchType", Type: management.Text, Null: true, Blank: true},
	{Name: "conditions__linkedFlagVariant", Type: management.Text, Null: true, Blank: true},
	{Name: "conditions__events", Type: management.Object, Null: true},
	{Name: "conditions__actions", Type: management.Object, Null: true},
}

// checkConditions checks the conditions of a survey.
func checkConditions(raw json.RawMessage) error {
	// The names are prefixed, so that errors refer to the members of conditions.
	prefixed := map[string]json.RawMessage{}
	for name, value := range management.JSONObject(raw) {
		prefixed["conditions__"+name] = value
	}
	v, err := conditionFields.Change(management.Body{Members: prefixed})
	if err != nil {
		return err
	}
	// SDKs read values as a list.
	for _, name := range []string{"conditions__events", "conditions__actions"} {
		if values, ok := management.JSONObject(v.Raw(name))["values"]; ok && management.JSONKind(values) != "list" && management.JSONKind(values) != "NoneType" {
			return management.NotAList(name+"__values", management.JSONKind(values))
		}
	}
	return nil
}

// publicSurvey is the part of a survey that SDKs may read with the project's public key.
type publicSurvey struct {
	// ID identifies the survey in the events that SDKs send.
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type"`
	// The keys of the three flags, which the SDK evaluates; null if there is no such flag.
	LinkedKey    *string `json:"linked_flag_key"`
	TargetingKey *string `json:"targeting_flag_key"`
	InternalKey  *string `json:"internal_targeting_flag_key"`
	// The objects for SDKs are as in Survey.
	Questions  json.RawMessage `json:"questions"`
	Conditions json.RawMessage `json:"conditions"`
	Appearance json.RawMessage `json:"appearance"`
	// Start and End are returned, since surveys that are not running are included.
	Start management.Stamp `json:"start_date"`
	End   management.Stamp `json:"end_date"`
	// Iteration is null if the survey is not recurring or has not started.
	Iteration        *int             `json:"current_iteration"`
	IterationStart   management.Stamp `json:"current_iteration_start_date"`
	Schedule         *string          `json:"schedule"`
	PartialResponses *bool            `json:"enable_partial_responses"`
}

// publicSurveys is the response to SDKs.
type publicSurveys struct {
	Surveys []publicSurvey `json:"surveys"`
	// Config is the setting survey_config of the project.
	Config json.RawMessage `json:"survey_config"`
}

// Public returns the surveys of the project with a public key, newest first, without archived
// surveys. If no project has the key, the list is empty.
func (s Service) Public(ctx context.Context, apiKey string) (*publicSurveys, error) {
	return management.Read(ctx, &s.Env, func(tx storeTx) (*publicSurveys, error) {
		out := &publicSurveys{Surveys: []publicSurvey{}, Config: json.RawMessage("null")}
		p, err := tx.ProjectByKey(apiKey)
		if err != nil || p == nil || p.Deleted {
			return out, err
		}
		meta, err := management.MetaOfProject(p)
		if err != nil {
			return nil, err
		}
		out.Config = definitions.JSONOr(meta.Settings["survey_config"], "null")
		// Newest first, as in the list of the API.
		list, err := management.ListRecords[storedSurvey](tx, management.Query{Kind: kindSurvey, Parent: management.ProjectParent(p.ID), Descending: true})
		if err != nil {
			return nil, err
		}
		for i := range list.Results {
			// Archived surveys are not visible to persons.
			if list.Results[i].Archived {
				continue
			}
			// The caller is anonymous, so the scope has only the project.
			x, err := s.show(&view{Tx: tx, Scope: &management.Scope{Project: p}}, &list.Results[i])
			if err != nil {
				return nil, err
			}
			out.Surveys = append(out.Surveys, publicSurvey{
				x.ID, x.Name, x.Type, x.FlagKeys[0].Value, x.FlagKeys[1].Value, x.FlagKeys[2].Value, x.Questions, x.Conditions, x.Appearance,
				x.Start, x.End, x.Iteration, x.IterationStart, x.Schedule, x.PartialResponses,
			})
		}
		return out, nil
	})
}
