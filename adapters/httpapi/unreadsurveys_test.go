package httpapi_test

import (
	"encoding/json"
	"testing"
)

// unknownOf returns the error for a misspelt member.
func unknownOf(attr, place, what, meant string) []any {
	return []any{"validation_error", "unknown_key", place + " is not a member of " + what + ", \"" + meant + "\" is most likely meant", attr}
}

// The nested objects of surveys: questions, conditions, appearance and translations.
func TestSurveys_MisspeltAndUnread(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	body := func(more string) json.RawMessage {
		return json.RawMessage(`{"name": "x", "type": "popover", ` + more + `}`)
	}
	noEffect := func(text string) map[string]string { return map[string]string{"Bunting-Warning": text} }
	const surveys = "POST /api/projects/1/surveys/"
	o.walk(t, []manageStep{
		{Request: surveys, Body: body(`"questions": [{"type": "open", "question": "?"}, {"type": "rating", "question": "?", "scal": 5}]`), Status: 400, Error: unknownOf("questions__1__scal", "questions[1].scal", "a question", "scale")},
		{Request: surveys, Body: body(`"questions": [{"type": "single_choice", "question": "?", "choises": ["a"]}]`), Status: 400, Error: unknownOf("questions__0__choises", "questions[0].choises", "a question", "choices")},
		{Request: surveys, Body: body(`"questions": [{"type": "open", "question": "?", "branching": {"type": "specific_question", "indx": 1}}]`), Status: 400, Error: unknownOf("questions__0__branching__indx", "questions[0].branching.indx", "branching", "index")},
		{Request: surveys, Body: body(`"questions": [{"type": "open", "question": "?", "translations": {"de": {"questoin": "?"}}}]`), Status: 400, Error: unknownOf("questions__0__translations__de__questoin", "questions[0].translations.de.questoin", "the translation of a question", "question")},
		{Request: surveys, Body: body(`"questions": [{"type": "open", "question": "?", "validation": [{"type": "min_length", "vlaue": 3}]}]`), Status: 400, Error: unknownOf("questions__0__validation__0__vlaue", "questions[0].validation[0].vlaue", "a validation", "value")},
		{Request: surveys, Body: body(`"conditions": {"urlMatchTyp": "exact", "url": "a"}`), Status: 400, Error: unknownOf("conditions__urlMatchTyp", "conditions.urlMatchTyp", "conditions", "urlMatchType")},
		{Request: surveys, Body: body(`"conditions": {"events": {"values": [{"nam": "a"}]}}`), Status: 400, Error: unknownOf("conditions__events__values__0__nam", "conditions.events.values[0].nam", "an event", "name")},
		{Request: surveys, Body: body(`"conditions": {"events": {"values": [{"name": "a", "propertyFilters": {"plan": {"valus": ["b"], "operator": "exact"}}}]}}`), Status: 400,
			Error: unknownOf("conditions__events__values__0__propertyFilters__plan__valus", "conditions.events.values[0].propertyFilters.plan.valus", "a filter", "values")},
		{Request: surveys, Body: body(`"appearance": {"backgroundColour": "red"}`), Status: 400, Error: unknownOf("appearance__backgroundColour", "appearance.backgroundColour", "an appearance", "backgroundColor")},
		{Request: surveys, Body: body(`"translations": {"de": {"thankYouMessageHeade": "Danke"}}`), Status: 400, Error: unknownOf("translations__de__thankYouMessageHeade", "translations.de.thankYouMessageHeade", "the translation of a survey", "thankYouMessageHeader")},
		{Request: surveys, Body: body(`"targeting_flag_filters": {"groups": [{"propertys": [], "rollout_percentage": 10}]}`), Status: 400, Error: []any{"validation_error", "unknown_key", "filters.groups[0].propertys is not a member of a condition, \"properties\" is most likely meant", "filters__groups__0__propertys"}},
		{Request: surveys, Body: body(`"questions": [{"type": "open", "question": "?", "colour": "red"}]`), Status: 201, WantHeaders: noEffect("questions[0].colour is not a member of a question and does nothing"), Keep: map[string]string{"id": "id"}},
		{Request: "PATCH /api/projects/1/surveys/{id}/", Body: json.RawMessage(`{"appearance": {"zIndx": 1}}`), Status: 400, Error: unknownOf("appearance__zIndx", "appearance.zIndx", "an appearance", "zIndex")},
		{Request: "PATCH /api/projects/1/surveys/{id}/", Body: json.RawMessage(`{
			"questions": [{"id": "0190a7d2-5b5e-7c6f-8f3d-1d2c3b4a5f60", "originalQuestionIndex": 0, "type": "rating", "question": "?", "description": null, "descriptionContentType": "text", "optional": false, "buttonText": "Go", "display": "number",
				"scale": 10, "lowerBoundLabel": "a", "upperBoundLabel": "b", "skipSubmitButton": true, "isNpsQuestion": true, "branching": {"type": "response_based", "responseValues": {"promoters": "end", "anything": 1}}, "validation": [{"type": "max_length", "value": 5, "errorMessage": "m"}],
				"translations": {"fr": {"question": "?", "description": "d", "buttonText": "b", "lowerBoundLabel": "l", "upperBoundLabel": "u", "choices": ["c"], "link": null}}}],
			"conditions": {"url": "a", "urlMatchType": "icontains", "selector": ".b", "seenSurveyWaitPeriodInDays": 3, "deviceTypes": ["Mobile"], "deviceTypesMatchType": "exact", "linkedFlagVariant": "any", "is_headless": false, "cancelEvents": {"values": []},
				"events": {"repeatedActivation": true, "values": [{"name": "a", "propertyFilters": {"p": {"values": ["x"], "operator": "exact"}}}]}, "actions": {"values": [{"id": 1, "name": "b", "steps": []}]}},
			"appearance": {"fontFamily": "inherit", "backgroundColor": "#eeeded", "submitButtonColor": "black", "submitButtonTextColor": "white", "ratingButtonColor": "white", "ratingButtonActiveColor": "black", "borderColor": "#c9c6c6",
				"placeholder": "p", "whiteLabel": false, "displayThankYouMessage": true, "thankYouMessageHeader": "T", "thankYouMessageDescription": "", "thankYouMessageDescriptionContentType": "html", "thankYouMessageCloseButtonText": "c", "autoDisappear": true,
				"position": "right", "tabPosition": "right", "widgetType": "tab", "widgetLabel": "F", "widgetColor": "black", "widgetSelector": ".f", "zIndex": "1", "disabledButtonOpacity": "0.6", "maxWidth": "300px", "textSubtleColor": "#939393", "textColor": "black",
				"inputBackground": "white", "inputTextColor": "black", "boxPadding": "2px", "boxShadow": "none", "borderRadius": "10px", "shuffleQuestions": false, "surveyPopupDelaySeconds": null, "allowGoBack": true, "backButtonText": "B", "hideCancelButton": false},
			"translations": {"fr": {"name": "n", "thankYouMessageHeader": "m", "thankYouMessageDescription": "d", "thankYouMessageCloseButtonText": "c", "submitButtonText": "s", "backButtonText": "b"}},
			"form_content": {"type": "doc"}}`), Status: 200, WantHeaders: noEffect("")},
	})
}
