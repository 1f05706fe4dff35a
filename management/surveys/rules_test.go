package surveys_test

import (
	"encoding/json"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestSurveys(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"fields": surveyFieldRows, "names": surveyNameRows, "questions": questionFieldRows, "conditions": conditionRows, "life": surveyLifeRows,
		"targeting": targetingRows, "linked flags": linkedFlagRows, "iterations": iterationRows, "asked again": repeatedSurveyRows, "lists": surveyListRows, "for everybody": publicSurveyRows,
		"gone": surveyDeletedRows, "the log": surveyLogRows, "who": surveyWhoRows,
	})
}

var surveyFieldRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.6 defaults", "bob", "survey", `{"name":"S","type":"popover"}`, `{"id":"(like) ^[0-9a-f-]{36}$","name":"S","type":"popover","description":"","schedule":"once","linked_flag":null,"linked_flag_id":null,
			"targeting_flag":null,"targeting_flag_id":null,"questions":[],"conditions":null,"appearance":null,"created_at":"2026-01-02T12:00:01Z","created_by":{"first_name":"bob"},
			"start_date":null,"end_date":null,"archived":false,"responses_limit":null,"iteration_count":null,"iteration_frequency_days":null,"iteration_start_dates":[],"current_iteration":null,
			"current_iteration_start_date":null,"response_sampling_start_date":null,"response_sampling_interval_type":null,"response_sampling_interval":null,"response_sampling_limit":null,
			"response_sampling_daily_limits":null,"enable_partial_responses":null,
			"targeting_flag_filters":"(absent)","remove_targeting_flag":"(absent)","_create_in_folder":"(absent)"}`},
	},
	flagtest.Each("§5.6 what a survey needs", "bob", "survey",
		[2]string{`{}`, `400 required name This field is required.`},
		[2]string{`{"type":"popover"}`, `400 required name This field is required.`},
		[2]string{`{"name":"T"}`, `400 required type This field is required.`},
		[2]string{`{"name":"","type":"popover"}`, `400 blank name This field may not be blank.`},
		[2]string{`{"name":null,"type":"popover"}`, `400 null name This field may not be null.`},
		[2]string{`{"name":` + flagtest.Text(400) + `,"type":"popover"}`, `{"name":` + flagtest.Text(400) + `}`},
		[2]string{`{"name":` + flagtest.Text(401) + `,"type":"popover"}`, `400 max_length name Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":"T","type":"letter"}`, `400 invalid_choice type "letter" is not a valid choice.`},
		[2]string{`{"name":"T","type":null}`, `400 null type This field may not be null.`},
	),
	flagtest.Each("§5.6 every type", "bob", "changesurvey <S>",
		[2]string{`{"type":"widget"}`, `{"type":"widget"}`},
		[2]string{`{"type":"external_survey"}`, `{"type":"external_survey"}`},
		[2]string{`{"type":"api"}`, `{"type":"api"}`},
		[2]string{`{"type":"popover"}`, `{"type":"popover"}`},
	),
	flagtest.Each("§5.6 every schedule", "bob", "changesurvey <S>",
		[2]string{`{"schedule":"recurring"}`, `{"schedule":"recurring"}`},
		[2]string{`{"schedule":"always"}`, `{"schedule":"always"}`},
		[2]string{`{"schedule":"once"}`, `{"schedule":"once"}`},
		[2]string{`{"schedule":"daily"}`, `400 invalid_choice schedule "daily" is not a valid choice.`},
	),
	flagtest.Each("§5.6 settings", "bob", "changesurvey <S>",
		[2]string{`{"description":"why"}`, `{"description":"why"}`},
		[2]string{`{"description":""}`, `{"description":""}`},
		[2]string{`{"appearance":{"backgroundColor":"#eee","any":[1]}}`, `{"appearance":{"backgroundColor":"#eee","any":[1]}}`},
		[2]string{`{"appearance":[]}`, `400 not_a_dict appearance Expected a dictionary of items but got type "list".`},
		[2]string{`{"appearance":null}`, `{"appearance":null}`},
		[2]string{`{"archived":true}`, `{"archived":true}`},
		[2]string{`{"archived":"maybe"}`, `400 invalid_input archived Must be a valid boolean.`},
		[2]string{`{"archived":null}`, `400 null archived This field may not be null.`},
		[2]string{`{"responses_limit":100}`, `{"responses_limit":100}`},
		[2]string{`{"responses_limit":-1}`, `400 min_value responses_limit Ensure this value is greater than or equal to 0.`},
		[2]string{`{"responses_limit":"many"}`, `400 invalid_input responses_limit A valid integer is required.`},
		[2]string{`{"enable_partial_responses":true}`, `{"enable_partial_responses":true}`},
		[2]string{`{"start_date":"yesterday"}`, `400 invalid_input start_date Datetime has wrong format. Use one of these formats instead: YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z].`},
	),
	flagtest.Each("§5.6 sampling", "bob", "changesurvey <S>",
		[2]string{`{"response_sampling_start_date":"2026-02-01T00:00:00Z","response_sampling_interval_type":"week","response_sampling_interval":2,"response_sampling_limit":50,"response_sampling_daily_limits":[{"daily_response_limit":5}]}`,
			`{"response_sampling_start_date":"2026-02-01T00:00:00Z","response_sampling_interval_type":"week","response_sampling_interval":2,"response_sampling_limit":50,"response_sampling_daily_limits":[{"daily_response_limit":5}]}`},
		[2]string{`{"response_sampling_interval_type":"hour"}`, `400 invalid_choice response_sampling_interval_type "hour" is not a valid choice.`},
	),
	flagtest.Each("clients.md §1.4 null clears", "bob", "changesurvey <S>",
		[2]string{`{"responses_limit":null}`, `{"responses_limit":null}`},
		[2]string{`{"response_sampling_interval":null,"response_sampling_limit":null}`, `{"response_sampling_interval":null,"response_sampling_limit":null,"response_sampling_interval_type":"week"}`},
		[2]string{`{"iteration_count":null,"iteration_frequency_days":null,"linked_flag_id":null}`, `{"iteration_count":null,"iteration_frequency_days":null,"linked_flag_id":null}`},
	),
	[]ruletest.Row{
		{"§2.4 read-only", "bob", "changesurvey <S>", `{"id":"x","created_at":"2000-01-01T00:00:00Z","created_by":null,"current_iteration":7,"feature_flag_keys":[],"internal_targeting_flag":null}`,
			`{"id":"<S>","created_at":"2026-01-02T12:00:01Z","created_by":{"first_name":"bob"},"current_iteration":null,"internal_targeting_flag":{"active":false}}`},
		{"§2.5 PUT: all required fields", "bob", "putsurvey <S>", `{"name":"S"}`, `400 required type This field is required.`},
		{"§2.5 PUT", "bob", "putsurvey <S>", `{"name":"S","type":"api"}`, `{"type":"api"}`},
		{"§2.2 an array", "bob", "survey", `[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	},
)

var surveyNameRows = []ruletest.Row{
	{"§5.6", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`},
	{"§5.6 taken", "cyd", "survey", `{"name":"S","type":"api"}`, `400 unique name There is already a survey with this name.`},
	{"§5.6 nothing of it stays", "bob", "surveys", ``, `{"count":1}`},
	{"§5.6 nor its flag", "bob", "get 2", ``, `404 not_found -`},
	{"§5.6 unique in the project", "dan", "survey", `{"name":"S","type":"api"}`, `{"name":"S","created_by":{"first_name":"dan"}}`},
	{"§5.6", "bob", "survey", `{"name":"T","type":"popover"}`, `{"name":"T"}`},
	{"§5.6 in a change", "bob", "changesurvey <T>", `{"name":"S"}`, `400 unique name There is already another survey with this name.`},
	{"§5.6 its own", "bob", "changesurvey <T>", `{"name":"T"}`, `{"name":"T"}`},
	{"§5.6 another", "bob", "changesurvey <T>", `{"name":"U"}`, `{"name":"U"}`},
	{"§5.6 one that was freed", "bob", "survey", `{"name":"T","type":"popover"}`, `{"name":"T"}`},
	{"§5.6 one of a survey that is gone", "bob", "dropsurvey <T>", ``, `null`},
	{"§5.6 one of a survey that is gone", "bob", "survey", `{"name":"T","type":"popover"}`, `{"name":"T"}`},
	{"§5.6 archived ones keep theirs", "bob", "changesurvey <U>", `{"archived":true}`, `{"archived":true}`},
	{"§5.6 archived ones keep theirs", "bob", "survey", `{"name":"U","type":"popover"}`, `400 unique name There is already a survey with this name.`},
}

// ofQuestion returns the body of a survey with one question.
func ofQuestion(q string) string { return `{"questions":[` + q + `]}` }

var questionFieldRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.6", "bob", "survey", `{"name":"S","type":"popover","questions":[{"type":"open","question":"Why?"}]}`, `{"name":"S","questions":[{"id":"(like) ^[0-9a-f-]{36}$","type":"open","question":"Why?"}]}`},
	},
	flagtest.Each("§5.6 an id is kept", "bob", "changesurvey <S>",
		[2]string{ofQuestion(`{"id":"0191f0a2-5b1c-7d3e-8f40-0000000000c1","type":"open","question":"Why?"}`), `{"questions":[{"id":"0191f0a2-5b1c-7d3e-8f40-0000000000c1"}]}`},
		[2]string{ofQuestion(`{"id":null,"type":"open","question":"Why?"}`), `{"questions":[{"id":"(like) ^[0-9a-f-]{36}$"}]}`},
		[2]string{ofQuestion(`{"id":"first","type":"open","question":"Why?"}`), `400 invalid_input questions__0__id Must be a valid UUID.`},
	),
	flagtest.Each("§5.6 type and question", "bob", "changesurvey <S>",
		[2]string{ofQuestion(`{}`), `400 required questions__0__type This field is required.`},
		[2]string{ofQuestion(`{"type":"open"}`), `400 required questions__0__question This field is required.`},
		[2]string{ofQuestion(`{"type":"open","question":""}`), `400 blank questions__0__question This field may not be blank.`},
		[2]string{ofQuestion(`{"type":"poem","question":"Why?"}`), `400 invalid_choice questions__0__type "poem" is not a valid choice.`},
		[2]string{`{"questions":[{"type":"open","question":"Why?"},{"type":"open"}]}`, `400 required questions__1__question This field is required.`},
		[2]string{`{"questions":{}}`, `400 not_a_list questions Expected a list of items but got type "dict".`},
		[2]string{`{"questions":["Why?"]}`, `400 not_a_dict questions__0 Expected a dictionary of items but got type "str".`},
		[2]string{`{"questions":[]}`, `{"questions":[]}`},
		[2]string{`{"questions":null}`, `{"questions":[]}`},
	),
	flagtest.Each("§5.6 every type", "bob", "changesurvey <S>",
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":"https://example.com/a"}`), `{"questions":[{"type":"link","link":"https://example.com/a"}]}`},
		[2]string{ofQuestion(`{"type":"rating","question":"How?","display":"number","scale":10,"lowerBoundLabel":"bad","upperBoundLabel":"good"}`),
			`{"questions":[{"type":"rating","display":"number","scale":10,"lowerBoundLabel":"bad","upperBoundLabel":"good"}]}`},
		[2]string{ofQuestion(`{"type":"rating","question":"How?","display":"emoji","scale":3}`), `{"questions":[{"display":"emoji","scale":3}]}`},
		[2]string{ofQuestion(`{"type":"single_choice","question":"Which?","choices":["a","b"],"hasOpenChoice":true,"shuffleOptions":false}`),
			`{"questions":[{"choices":["a","b"],"hasOpenChoice":true,"shuffleOptions":false}]}`},
		[2]string{ofQuestion(`{"type":"multiple_choice","question":"Which?","choices":["a",""]}`), `{"questions":[{"choices":["a",""]}]}`},
	),
	flagtest.Each("§5.6 links: https or mailto", "bob", "changesurvey <S>",
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":"mailto:us@example.com"}`), `{"questions":[{"link":"mailto:us@example.com"}]}`},
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":""}`), `{"questions":[{"link":""}]}`},
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":null}`), `{"questions":[{"link":null}]}`},
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":"http://example.com"}`), `400 invalid_input questions__0__link`},
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":"javascript:alert(1)"}`), `400 invalid_input questions__0__link`},
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":"https://"}`), `400 invalid_input questions__0__link`},
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":"mailto:us"}`), `400 invalid_input questions__0__link`},
		[2]string{ofQuestion(`{"type":"link","question":"Look?","link":"example.com"}`), `400 invalid_input questions__0__link`},
	),
	flagtest.Each("§5.6 the rest of a question", "bob", "changesurvey <S>",
		[2]string{ofQuestion(`{"type":"open","question":"Why?","description":"tell","descriptionContentType":"html","optional":true,"buttonText":"Send"}`),
			`{"questions":[{"description":"tell","descriptionContentType":"html","optional":true,"buttonText":"Send"}]}`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","descriptionContentType":"markdown"}`), `400 invalid_choice questions__0__descriptionContentType "markdown" is not a valid choice.`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","optional":"maybe"}`), `400 invalid_input questions__0__optional Must be a valid boolean.`},
		[2]string{ofQuestion(`{"type":"rating","question":"How?","display":"stars"}`), `400 invalid_choice questions__0__display "stars" is not a valid choice.`},
		[2]string{ofQuestion(`{"type":"rating","question":"How?","scale":"ten"}`), `400 invalid_input questions__0__scale A valid integer is required.`},
		[2]string{ofQuestion(`{"type":"single_choice","question":"Which?","choices":"a"}`), `400 not_a_list questions__0__choices Expected a list of items but got type "str".`},
		[2]string{ofQuestion(`{"type":"single_choice","question":"Which?","choices":["a",{}]}`), `400 invalid_input questions__0__choices__1 Not a valid string.`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","translations":{"de":{"question":"Warum?"}}}`), `{"questions":[{"translations":{"de":{"question":"Warum?"}}}]}`},
	),
	flagtest.Each("§5.6 branching", "bob", "changesurvey <S>",
		[2]string{ofQuestion(`{"type":"open","question":"Why?","branching":{"type":"next_question"}}`), `{"questions":[{"branching":{"type":"next_question"}}]}`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","branching":{"type":"end"}}`), `{"questions":[{"branching":{"type":"end"}}]}`},
		[2]string{ofQuestion(`{"type":"rating","question":"How?","branching":{"type":"response_based","responseValues":{"positive":"end"}}}`), `{"questions":[{"branching":{"responseValues":{"positive":"end"}}}]}`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","branching":{"type":"specific_question","index":2}}`), `{"questions":[{"branching":{"type":"specific_question","index":2}}]}`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","branching":null}`), `{"questions":[{"branching":null}]}`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","branching":{"type":"loop"}}`), `400 invalid_choice questions__0__branching__type "loop" is not a valid choice.`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","branching":{"index":2}}`), `400 invalid_choice questions__0__branching__type`},
		[2]string{ofQuestion(`{"type":"open","question":"Why?","branching":"end"}`), `400 not_a_dict questions__0__branching Expected a dictionary of items but got type "str".`},
	),
)

// where returns the body of a survey with conditions.
func where(conditions string) string { return `{"conditions":` + conditions + `}` }

var conditionRows = flagtest.Rows(
	[]ruletest.Row{{"§5.6", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`}},
	flagtest.Each("§5.6 conditions", "bob", "changesurvey <S>",
		[2]string{where(`{"url":"/checkout","urlMatchType":"icontains","selector":"#buy","seenSurveyWaitPeriodInDays":30,"deviceTypes":["Mobile"],"deviceTypesMatchType":"exact",
			"linkedFlagVariant":"test","events":{"values":[{"name":"paid"}]},"actions":{"values":[{"id":1}]}}`),
			`{"conditions":{"url":"/checkout","urlMatchType":"icontains","selector":"#buy","seenSurveyWaitPeriodInDays":30,"deviceTypes":["Mobile"],"deviceTypesMatchType":"exact",
			"linkedFlagVariant":"test","events":{"values":[{"name":"paid"}]},"actions":{"values":[{"id":1}]}}}`},
		[2]string{where(`{"url":""}`), `{"conditions":{"url":"","selector":"(absent)"}}`},
		[2]string{where(`{"url":7}`), `{"conditions":{"url":7}}`},
		[2]string{where(`{"url":["a"]}`), `400 invalid_input conditions__url Not a valid string.`},
		[2]string{where(`{"selector":{}}`), `400 invalid_input conditions__selector Not a valid string.`},
		[2]string{where(`{"seenSurveyWaitPeriodInDays":"a week"}`), `400 invalid_input conditions__seenSurveyWaitPeriodInDays A valid integer is required.`},
		[2]string{where(`{"deviceTypes":"Mobile"}`), `400 not_a_list conditions__deviceTypes Expected a list of items but got type "str".`},
		[2]string{where(`{"events":[]}`), `400 not_a_dict conditions__events Expected a dictionary of items but got type "list".`},
		[2]string{where(`{"events":{"values":{}}}`), `400 not_a_list conditions__events__values Expected a list of items but got type "dict".`},
		[2]string{where(`{"actions":{"values":"all"}}`), `400 not_a_list conditions__actions__values Expected a list of items but got type "str".`},
		[2]string{where(`{"events":{"values":null}}`), `{"conditions":{"events":{"values":null}}}`},
		[2]string{where(`[]`), `400 not_a_dict conditions Expected a dictionary of items but got type "list".`},
		[2]string{where(`null`), `{"conditions":null}`},
	),
)

var surveyLifeRows = []ruletest.Row{
	{"§5.6 a draft: the internal flag is off", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S","start_date":null,"internal_targeting_flag":{"id":1,"active":false}}`},
	{"§5.6 the internal flag", "bob", "get 1", ``, `{"key":"(like) ^survey-targeting-[0-9a-f]{10}-custom$","active":false,"filters":{"groups":[{"rollout_percentage":100,"properties":[
		{"key":"$survey_dismissed/<S>","type":"person","operator":"is_not_set"},{"key":"$survey_responded/<S>","type":"person","operator":"is_not_set"}]}]}}`},
	{"§5.6 nothing runs", "bob", "surveysrun", ``, `false`},
	{"§5.6 running", "bob", "changesurvey <S>", `{"start_date":"2026-01-01T00:00:00Z"}`, `{"start_date":"2026-01-01T00:00:00Z","internal_targeting_flag":{"active":true}}`},
	{"§5.6 running", "bob", "surveysrun", ``, `true`},
	{"§5.6 another project's", "dan", "surveysrun", ``, `false`},
	{"§5.6 any other change leaves it on", "bob", "changesurvey <S>", `{"description":"x"}`, `{"internal_targeting_flag":{"active":true,"version":2}}`},
	{"§5.6 complete", "bob", "changesurvey <S>", `{"end_date":"2026-01-05T00:00:00Z"}`, `{"end_date":"2026-01-05T00:00:00Z","internal_targeting_flag":{"active":false}}`},
	{"§5.6 complete", "bob", "surveysrun", ``, `false`},
	{"§5.6 resumed", "bob", "changesurvey <S>", `{"end_date":null}`, `{"start_date":"2026-01-01T00:00:00Z","end_date":null,"internal_targeting_flag":{"active":true}}`},
	{"§5.6 archived ones are not shown", "bob", "changesurvey <S>", `{"archived":true}`, `{"archived":true}`},
	{"§5.6 archived ones are not shown", "bob", "surveysrun", ``, `false`},
	{"§5.6 a draft again", "bob", "changesurvey <S>", `{"start_date":null}`, `{"start_date":null,"internal_targeting_flag":{"active":false}}`},
	{"§5.6 made and running", "bob", "survey", `{"name":"T","type":"popover","start_date":"2026-01-01T00:00:00Z"}`, `{"name":"T","internal_targeting_flag":{"active":true}}`},
	{"§5.6 made and complete", "bob", "survey", `{"name":"U","type":"popover","start_date":"2026-01-01T00:00:00Z","end_date":"2026-01-02T00:00:00Z"}`, `{"name":"U","internal_targeting_flag":{"active":false}}`},
}

// targetingBody returns the body of a survey with filters of its own targeting flag.
func targetingBody(filters string) string { return `{"targeting_flag_filters":` + filters + `}` }

const everybody = `400 invalid_input - Invalid operation: User targeting rolls out to everyone.`

var targetingRows = flagtest.Rows(
	[]ruletest.Row{{"§5.6", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S","internal_targeting_flag":{"id":1}}`}},
	flagtest.Each("§5.6 not for everybody", "bob", "changesurvey <S>",
		[2]string{targetingBody(`{"groups":[{"properties":[],"rollout_percentage":100}]}`), everybody},
		[2]string{targetingBody(`{"groups":[{"properties":[],"rollout_percentage":null}]}`), everybody},
		[2]string{targetingBody(`{"groups":[{"properties":[]}]}`), everybody},
		[2]string{targetingBody(`{"groups":[{"properties":[` + flagtest.Plan + `]},{"properties":[]}]}`), everybody},
	),
	flagtest.Each("§5.6 filters of a flag", "bob", "changesurvey <S>",
		[2]string{targetingBody(`{"groups":7}`), `400 invalid_input targeting_flag_filters`},
		[2]string{targetingBody(`[]`), `400 not_a_dict targeting_flag_filters Expected a dictionary of items but got type "list".`},
		[2]string{targetingBody(`{"groups":[{"properties":[{"key":"x","type":"event","value":"y"}]}]}`), flagtest.OnlyPersons},
		[2]string{targetingBody(`{"groups":[{"properties":[{"key":"id","type":"cohort","value":99}]}]}`), `400 cohort_does_not_exist filters Cohort with id 99 does not exist`},
		[2]string{targetingBody(`{"groups":[{"properties":[],"rollout_percentage":101}]}`), `400 invalid_input *`},
	),
	[]ruletest.Row{
		{"§5.6 nothing was made", "bob", "getsurvey <S>", ``, `{"targeting_flag":null,"targeting_flag_id":null}`},
		{"§5.6 a flag is made", "bob", "changesurvey <S>", targetingBody(`{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":100}]}`),
			`{"targeting_flag_id":2,"targeting_flag":{"id":2,"key":"(like) ^survey-targeting-[0-9a-f]{10}$","active":false,"filters":{"groups":[{"properties":[{"key":"plan"}]}]}}}`},
		{"§5.6 and changed", "bob", "changesurvey <S>", targetingBody(`{"groups":[{"properties":[],"rollout_percentage":50}]}`), `{"targeting_flag_id":2,"targeting_flag":{"version":2,"filters":{"groups":[{"rollout_percentage":50}]}}}`},
		{"§5.6 the same is no change", "bob", "changesurvey <S>", targetingBody(`{"groups":[{"properties":[],"rollout_percentage":50}]}`), `{"targeting_flag":{"version":2}}`},
		{"§5.6 it is on while the survey runs", "bob", "changesurvey <S>", `{"start_date":"2026-01-01T00:00:00Z"}`, `{"targeting_flag":{"active":true}}`},
		{"§5.6 it is off when it ends", "bob", "changesurvey <S>", `{"end_date":"2026-01-01T00:00:00Z"}`, `{"targeting_flag":{"active":false}}`},
		{"§5.6 feature_flag_keys", "bob", "getsurvey <S>", ``, `{"feature_flag_keys":[{"key":"linked_flag_key","value":null},{"key":"targeting_flag_key","value":"(like) ^survey-targeting-"},
			{"key":"internal_targeting_flag_key","value":"(like) -custom$"}]}`},
		{"§5.6 remove_targeting_flag", "bob", "changesurvey <S>", `{"remove_targeting_flag":true}`, `{"targeting_flag":null,"targeting_flag_id":null}`},
		{"§5.6 its flag goes", "bob", "get 2", ``, `{"deleted":true,"active":false}`},
		{"§5.6 filters beside it say nothing", "bob", "changesurvey <S>", `{"remove_targeting_flag":true,"targeting_flag_filters":` + flagtest.Targeting + `}`, `{"targeting_flag":null}`},
		{"§5.6 a flag that is there", "bob", "create", `{"key":"mine"}`, `{"id":3}`},
		{"§5.6 a flag that is there", "bob", "changesurvey <S>", `{"targeting_flag_id":3}`, `{"targeting_flag_id":3,"targeting_flag":{"key":"mine"}}`},
		{"§5.6 it is not the survey's", "bob", "changesurvey <S>", `{"end_date":null}`, `{"targeting_flag":{"key":"mine","active":true,"version":1}}`},
		{"§5.6 it is not the survey's", "bob", "changesurvey <S>", `{"targeting_flag_id":null}`, `{"targeting_flag":null}`},
		{"§5.6 it is not the survey's", "bob", "get 3", ``, `{"deleted":false}`},
		{"§5.6 a flag that is not there", "bob", "changesurvey <S>", `{"targeting_flag_id":99}`, `400 invalid_input targeting_flag_id`},
		{"§5.6 of another project", "dan", "create", `{"key":"theirs"}`, `{"id":4}`},
		{"§5.6 of another project", "bob", "changesurvey <S>", `{"targeting_flag_id":4}`, `400 invalid_input targeting_flag_id`},
	},
)

var linkedFlagRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.6", "bob", "survey", `{"name":"S","type":"popover","linked_flag_id":1}`, `{"name":"S","linked_flag_id":1,"linked_flag":{"id":1,"key":"a"}}`},
	{"§5.1.1 surveys", "bob", "get 1", ``, `{"surveys":[{"id":"<S>","name":"S"}],"version":1}`},
	{"§5.6 feature_flag_keys", "bob", "getsurvey <S>", ``, `{"feature_flag_keys":[{"key":"linked_flag_key","value":"a"},{"value":null},{"value":"(like) -custom$"}]}`},
	{"§5.6 a new name", "bob", "changesurvey <S>", `{"name":"S2"}`, `{"name":"S2"}`},
	{"§5.6 a new name", "bob", "get 1", ``, `{"surveys":[{"name":"S2"}]}`},
	{"§5.6 another flag", "bob", "create", `{"key":"b"}`, `{"id":3}`},
	{"§5.6 another flag", "bob", "changesurvey <S2>", `{"linked_flag_id":3}`, `{"linked_flag_id":3,"linked_flag":{"key":"b"}}`},
	{"§5.6 another flag", "bob", "get 1", ``, `{"surveys":[]}`},
	{"§5.6 another flag", "bob", "get 3", ``, `{"surveys":[{"name":"S2"}]}`},
	{"§5.6 none", "bob", "changesurvey <S2>", `{"linked_flag_id":null}`, `{"linked_flag_id":null,"linked_flag":null}`},
	{"§5.6 none", "bob", "get 3", ``, `{"surveys":[]}`},
	{"§5.6 one that is not there", "bob", "changesurvey <S2>", `{"linked_flag_id":99}`, `400 invalid_input linked_flag_id`},
	{"§5.6 a linked flag may go", "bob", "changesurvey <S2>", `{"linked_flag_id":3}`, `{"linked_flag_id":3}`},
	{"§5.6 a linked flag may go", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.6 a linked flag may go", "bob", "getsurvey <S2>", ``, `{"linked_flag_id":3,"linked_flag":null}`},
	{"§5.6 and is no reason to refuse a change", "bob", "changesurvey <S2>", `{"description":"x"}`, `{"description":"x"}`},
	{"§5.6 a deleted flag is not linked anew", "bob", "survey", `{"name":"T","type":"popover","linked_flag_id":3}`, `400 invalid_input linked_flag_id`},
}

var iterationRows = flagtest.Rows(
	[]ruletest.Row{{"§5.6", "bob", "survey", `{"name":"S","type":"popover","start_date":"2026-01-01T00:00:00Z"}`, `{"name":"S"}`}},
	flagtest.Each("§5.6 iteration_count: 0 to 500", "bob", "changesurvey <S>",
		[2]string{`{"iteration_count":0}`, `{"iteration_count":0}`},
		[2]string{`{"iteration_count":500}`, `{"iteration_count":500}`},
		[2]string{`{"iteration_count":501}`, `400 max_value iteration_count Ensure this value is less than or equal to 500.`},
		[2]string{`{"iteration_count":-1}`, `400 min_value iteration_count Ensure this value is greater than or equal to 0.`},
		[2]string{`{"iteration_count":"two"}`, `400 invalid_input iteration_count A valid integer is required.`},
	),
	[]ruletest.Row{
		{"§5.6 three, a week apart", "bob", "changesurvey <S>", `{"iteration_count":3,"iteration_frequency_days":7}`,
			`{"iteration_start_dates":["2026-01-01T00:00:00Z","2026-01-08T00:00:00Z","2026-01-15T00:00:00Z"],"current_iteration":1,"current_iteration_start_date":"2026-01-01T00:00:00Z"}`},
		{"§5.6 the second", "bob", "wait 168h", ``, `null`},
		{"§5.6 the second", "bob", "getsurvey <S>", ``, `{"current_iteration":2,"current_iteration_start_date":"2026-01-08T00:00:00Z"}`},
		{"§5.6 the last stays", "bob", "wait 2400h", ``, `null`},
		{"§5.6 the last stays", "bob", "getsurvey <S>", ``, `{"current_iteration":3,"current_iteration_start_date":"2026-01-15T00:00:00Z"}`},
		{"§5.6 none", "bob", "changesurvey <S>", `{"iteration_count":0}`, `{"iteration_start_dates":[],"current_iteration":null}`},
		{"§5.6 a draft has none", "bob", "changesurvey <S>", `{"iteration_count":3,"start_date":null}`, `{"iteration_start_dates":[],"current_iteration":null,"current_iteration_start_date":null}`},
	},
)

var surveyListRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.6", "bob", "survey", `{"name":"Prices","type":"popover"}`, `{"name":"Prices"}`},
		{"§5.6", "bob", "survey", `{"name":"Help","type":"api","description":"about prices"}`, `{"name":"Help"}`},
		{"§5.6", "bob", "survey", `{"name":"Old","type":"popover","archived":true}`, `{"name":"Old"}`},
		{"§5.6", "dan", "survey", `{"name":"Theirs","type":"popover"}`, `{"name":"Theirs"}`},
	},
	flagtest.Each("clients.md §2.2", "bob", "surveys",
		[2]string{``, `{"count":3,"results":[{"name":"Old"},{"name":"Help"},{"name":"Prices"}]}`},
		[2]string{`{"Search":"PRICE"}`, `{"count":2,"results":[{"name":"Help"},{"name":"Prices"}]}`},
		[2]string{`{"Archived":true}`, `{"count":1,"results":[{"name":"Old"}]}`},
		[2]string{`{"Archived":false}`, `{"count":2,"results":[{"name":"Help"},{"name":"Prices"}]}`},
		[2]string{`{"Type":"api"}`, `{"count":1,"results":[{"name":"Help"}]}`},
		[2]string{`{"IDs":["<Help>","<Old>"]}`, `{"count":2,"results":[{"name":"Old"},{"name":"Help"}]}`},
		[2]string{`{"IDs":["<Theirs>"]}`, `{"count":0,"results":[]}`},
		[2]string{`{"IDs":["nothing"]}`, `{"count":0,"results":[]}`},
		[2]string{`{"Search":"price","Type":"popover"}`, `{"count":1,"results":[{"name":"Prices"}]}`},
		[2]string{`{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"name":"Help"}]}`},
		[2]string{`{"Offset":9}`, `{"count":3,"results":[]}`},
		[2]string{`{"Search":` + flagtest.Text(201) + `}`, `400 max_length search`},
	),
)

var publicSurveyRows = []ruletest.Row{
	{"§5.6 a key of nobody", "bob", "publicsurveys phc_nobody", ``, `{"surveys":[],"survey_config":null}`},
	{"§5.6", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"§5.6", "bob", "survey", `{"name":"S","type":"popover","description":"ours","linked_flag_id":1,"questions":[{"type":"open","question":"Why?"}],"conditions":{"url":"/x"},"appearance":{"color":"red"},
		"start_date":"2026-01-01T00:00:00Z","iteration_count":2,"iteration_frequency_days":1,"enable_partial_responses":true}`, `{"name":"S"}`},
	{"§5.6", "bob", "survey", `{"name":"T","type":"api"}`, `{"name":"T"}`},
	{"§5.6", "bob", "survey", `{"name":"U","type":"api","archived":true}`, `{"name":"U"}`},
	{"§5.6", "dan", "survey", `{"name":"Theirs","type":"api"}`, `{"name":"Theirs"}`},
	{"§5.6 not archived, newest first, no description", "bob", "publicsurveys phc_ours", ``, `{"surveys":[{"name":"T","linked_flag_key":null,"start_date":null},
		{"id":"<S>","name":"S","type":"popover","linked_flag_key":"a","targeting_flag_key":null,"internal_targeting_flag_key":"(like) -custom$","questions":[{"question":"Why?"}],"conditions":{"url":"/x"},
		"appearance":{"color":"red"},"start_date":"2026-01-01T00:00:00Z","end_date":null,"current_iteration":2,"current_iteration_start_date":"2026-01-02T00:00:00Z","schedule":"once",
		"enable_partial_responses":true,"description":"(absent)","created_by":"(absent)","responses_limit":"(absent)"}],"survey_config":null}`},
	{"§5.6 of the other project", "bob", "publicsurveys phc_theirs", ``, `{"surveys":[{"name":"Theirs"}]}`},
}

var surveyDeletedRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.6", "bob", "survey", `{"name":"S","type":"popover","linked_flag_id":1,"targeting_flag_filters":` + flagtest.Targeting + `}`, `{"name":"S","targeting_flag_id":2,"internal_targeting_flag":{"id":3}}`},
	{"§5.6 DELETE", "bob", "dropsurvey <S>", ``, `null`},
	{"§5.6 gone", "bob", "getsurvey <S>", ``, `404 not_found - Not found.`},
	{"§5.6 gone", "bob", "changesurvey <S>", `{"name":"x"}`, `404 not_found - Not found.`},
	{"§5.6 gone", "bob", "dropsurvey <S>", ``, `404 not_found - Not found.`},
	{"§5.6 gone", "bob", "surveys", ``, `{"count":0,"results":[]}`},
	{"§5.6 with its two flags", "bob", "get 2", ``, `{"deleted":true,"active":false}`},
	{"§5.6 with its two flags", "bob", "get 3", ``, `{"deleted":true,"active":false}`},
	{"§5.6 the linked one stays", "bob", "get 1", ``, `{"deleted":false,"surveys":[]}`},
	{"§5.6 a targeting flag of somebody else's stays", "bob", "survey", `{"name":"T","type":"popover","targeting_flag_id":1}`, `{"name":"T"}`},
	{"§5.6 a targeting flag of somebody else's stays", "bob", "dropsurvey <T>", ``, `null`},
	{"§5.6 a targeting flag of somebody else's stays", "bob", "get 1", ``, `{"deleted":false}`},
	{"§5.6 no id", "bob", "getsurvey 7", ``, `404 not_found - Not found.`},
	{"§5.6 no id", "bob", "dropsurvey x", ``, `404 not_found - Not found.`},
}

var surveyLogRows = []ruletest.Row{
	{"§5.11", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`},
	{"§5.11 created", "bob", "log Survey <S>", ``, `{"activity":"created","scope":"Survey","item_id":"<S>","user":{"first_name":"bob"},"detail":{"name":"S"}}`},
	{"§5.11", "cyd", "changesurvey <S>", `{"description":"words"}`, `{"description":"words"}`},
	{"§5.11 updated", "bob", "log Survey <S>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"type":"Survey","action":"created","field":"description","before":null,"after":"words"}]}}`},
	{"§5.11 no change", "bob", "changesurvey <S>", `{}`, `{"name":"S"}`},
	{"§5.11 no change", "bob", "log Survey <S>", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11", "ann", "dropsurvey <S>", ``, `null`},
	{"§5.11 deleted", "bob", "log Survey <S>", ``, `{"activity":"deleted","user":{"first_name":"ann"},"detail":{"name":"S"}}`},
}

var surveyWhoRows = []ruletest.Row{
	{"§1.5", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`},
	{"§1.8 another member", "cyd", "changesurvey <S>", `{"description":"x"}`, `{"description":"x","created_by":{"first_name":"bob"}}`},
	{"§1.5 of another project: not there", "dan", "getsurvey <S>", ``, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "changesurvey <S>", `{"description":"x"}`, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "dropsurvey <S>", ``, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "surveys", ``, `{"count":0,"results":[]}`},
}

// §5.6 survey_config is a setting of the project.
func TestSurveys_Config(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		p, err := tx.Project(ruletest.Project)
		if err != nil {
			return err
		}
		p.Meta = storage.Encode(management.ProjectMeta{Settings: map[string]json.RawMessage{"survey_config": []byte(`{"appearance":{"position":"left"}}`)}})
		return tx.PutProject(p)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{{"§5.6", "bob", "publicsurveys phc_ours", ``, `{"surveys":[],"survey_config":{"appearance":{"position":"left"}}}`}})
}
