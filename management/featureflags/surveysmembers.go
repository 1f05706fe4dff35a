package featureflags

import "github.com/bunting-flags/bunting/management"

// This file lists the members of the objects in a survey. Members that SDKs read are stored and
// returned unchanged. A misspelt member is refused, since the question or condition would lack it.

// surveyShape describes the objects in the body of a survey.
var surveyShape = &management.Shape{Inside: map[string]*management.Shape{
	"questions": {
		Name: "a question",
		Members: "id type question description descriptionContentType optional buttonText link display scale lowerBoundLabel upperBoundLabel " +
			"choices shuffleOptions hasOpenChoice branching skipSubmitButton isNpsQuestion validation translations",
		ReadOnly: "originalQuestionIndex",
		Inside: map[string]*management.Shape{
			"branching":  {Name: "branching", Members: "type index responseValues"},
			"validation": {Name: "a validation", Members: "type value errorMessage"},
			"translations": {Each: &management.Shape{
				Name: "the translation of a question", Members: "question description buttonText link lowerBoundLabel upperBoundLabel choices",
			}},
		},
	},
	"conditions": {
		Name: "conditions",
		Members: "url urlMatchType selector seenSurveyWaitPeriodInDays deviceTypes deviceTypesMatchType linkedFlagVariant " +
			"events cancelEvents actions",
		ReadOnly: "is_headless",
		Inside: map[string]*management.Shape{
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
	"translations": {Each: &management.Shape{
		Name: "the translation of a survey",
		Members: "name description question buttonText link lowerBoundLabel upperBoundLabel choices thankYouMessageHeader thankYouMessageDescription " +
			"thankYouMessageCloseButtonText introScreenHeader introScreenDescription introScreenButtonText submitButtonText backButtonText",
	}},
}}

// surveyEvents describes the events that show a survey or hide it.
var surveyEvents = &management.Shape{
	Name: "events", Members: "repeatedActivation values",
	Inside: map[string]*management.Shape{"values": {
		Name: "an event", Members: "name propertyFilters",
		Inside: map[string]*management.Shape{"propertyFilters": {Each: &management.Shape{Name: "a filter", Members: "values operator"}}},
	}},
}
