package surveys

import (
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// This file lists the members of the objects in a survey. Members that SDKs read are stored and
// returned unchanged. A misspelt member is refused, since the question or condition would lack it.

// surveyShape describes the objects in the body of a survey.
var surveyShape = &resource.Shape{Inside: map[string]*resource.Shape{
	"questions": {
		Name: "a question",
		Members: "id type question description descriptionContentType optional buttonText link display scale lowerBoundLabel upperBoundLabel " +
			"choices shuffleOptions hasOpenChoice branching skipSubmitButton isNpsQuestion validation translations",
		ReadOnly: "originalQuestionIndex",
		Inside: map[string]*resource.Shape{
			"branching":  {Name: "branching", Members: "type index responseValues"},
			"validation": {Name: "a validation", Members: "type value errorMessage"},
			"translations": {Each: &resource.Shape{
				Name: "the translation of a question", Members: "question description buttonText link lowerBoundLabel upperBoundLabel choices",
			}},
		},
	},
	"conditions": {
		Name: "conditions",
		Members: "url urlMatchType selector seenSurveyWaitPeriodInDays deviceTypes deviceTypesMatchType linkedFlagVariant " +
			"events cancelEvents actions",
		ReadOnly: "is_headless",
		Inside: map[string]*resource.Shape{
			"events": surveyEvents, "cancelEvents": surveyEvents, "actions": {Name: "actions", Members: "values"},
		},
	},
	"appearance": {
		Name: "an appearance",
		Members: "allowGoBack autoDisappear backButtonText backgroundColor borderColor borderRadius boxPadding boxShadow descriptionTextColor " +
			"disableAutofocus disabledButtonOpacity displayIntroScreen displayThankYouMessage fontFamily hideCancelButton inputBackground " +
			"inputBackgroundColor inputTextColor introScreenButtonText introScreenDescription introScreenDescriptionContentType " +
			"introScreenHeader maxWidth placeholder position ratingButtonActiveColor ratingButtonColor ratingButtonHoverColor " +
			"shuffleQuestions submitButtonColor submitButtonText submitButtonTextColor surveyPopupDelaySeconds tabPosition textColor " +
			"textSubtleColor thankYouMessageCloseButtonText thankYouMessageDescription thankYouMessageDescriptionContentType " +
			"thankYouMessageHeader whiteLabel widgetColor widgetLabel widgetSelector widgetType zIndex",
	},
	"translations": {Each: &resource.Shape{
		Name: "the translation of a survey",
		Members: "name description question buttonText link lowerBoundLabel upperBoundLabel choices thankYouMessageHeader thankYouMessageDescription " +
			"thankYouMessageCloseButtonText introScreenHeader introScreenDescription introScreenButtonText submitButtonText backButtonText",
	}},
}}

// surveyEvents describes the events that show a survey or hide it.
var surveyEvents = &resource.Shape{
	Name: "events", Members: "repeatedActivation values",
	Inside: map[string]*resource.Shape{"values": {
		Name: "an event", Members: "name propertyFilters",
		Inside: map[string]*resource.Shape{"propertyFilters": {Each: &resource.Shape{Name: "a filter", Members: "values operator"}}},
	}},
}

// maxIterations limits the iterations of a recurring survey.
const maxIterations = 500

// Fields are the writable fields of a survey.
var Fields = management.Fields{
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
