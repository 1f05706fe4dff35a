package surveys_test

import "github.com/bunting-flags/bunting/management/internal/ruletest"

// notAnswered returns a flag that is on for persons who have neither dismissed the survey nor
// responded; of is the survey, or the survey and the iteration, as in the properties that SDKs set.
func notAnswered(key string) string {
	return `"filters":{"groups":[{"rollout_percentage":100,"properties":[{"key":"$survey_dismissed/` + key + `","type":"person","operator":"is_not_set"},
		{"key":"$survey_responded/` + key + `","type":"person","operator":"is_not_set"}]}]}`
}

// posthog-js and the mobile SDKs set $survey_responded/<id>/<current_iteration> and
// $survey_dismissed/<id>/<current_iteration> for a recurring survey.
var repeatedSurveyRows = []ruletest.Row{
	{"made with iterations", "bob", "survey", `{"name":"S","type":"popover","start_date":"2026-01-01T00:00:00Z","iteration_count":3,"iteration_frequency_days":7}`, `{"name":"S","current_iteration":1}`},
	{"made with iterations", "bob", "get 1", ``, `{"active":true,` + notAnswered("<S>/1") + `}`},
	{"the second", "bob", "wait 168h", ``, `null`},
	{"the second", "bob", "surveysdue", ``, `1`},
	{"the second", "bob", "get 1", ``, `{"active":true,"version":2,` + notAnswered("<S>/2") + `}`},
	{"once", "bob", "surveysdue", ``, `0`},
	{"in the log in the name of who made it", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"bob"}}`},
	{"any other change leaves it", "bob", "changesurvey <S>", `{"description":"x"}`, `{"internal_targeting_flag":{"version":2}}`},
	{"the last stays", "bob", "wait 2400h", ``, `null`},
	{"the last stays", "bob", "surveysdue", ``, `1`},
	{"the last stays", "bob", "get 1", ``, `{` + notAnswered("<S>/3") + `}`},
	{"the last stays", "bob", "wait 2400h", ``, `null`},
	{"the last stays", "bob", "surveysdue", ``, `0`},
	{"no longer repeated", "bob", "changesurvey <S>", `{"iteration_count":0}`, `{"current_iteration":null}`},
	{"no longer repeated", "bob", "get 1", ``, `{` + notAnswered("<S>") + `}`},
	{"a draft is not in an iteration yet", "bob", "survey", `{"name":"T","type":"popover","iteration_count":2,"iteration_frequency_days":1}`, `{"name":"T","current_iteration":null}`},
	{"a draft will begin with the first", "bob", "get 2", ``, `{"active":false,` + notAnswered("<T>/1") + `}`},
	{"at launch", "bob", "launchsurvey <T>", ``, `{"current_iteration":1}`},
	{"at launch", "bob", "get 2", ``, `{"active":true,` + notAnswered("<T>/1") + `}`},
	{"a stopped one does not go on", "bob", "stopsurvey <T>", ``, `{"internal_targeting_flag":{"active":false}}`},
	{"a stopped one does not go on", "bob", "wait 24h", ``, `null`},
	{"a stopped one does not go on", "bob", "surveysdue", ``, `0`},
	{"resumed in a later iteration", "bob", "changesurvey <T>", `{"end_date":null}`, `{"current_iteration":2}`},
	{"resumed in a later iteration", "bob", "get 2", ``, `{"active":true,` + notAnswered("<T>/2") + `}`},
	{"iterations added later", "bob", "survey", `{"name":"U","type":"popover","start_date":"2026-07-01T00:00:00Z"}`, `{"name":"U"}`},
	{"iterations added later", "bob", "get 3", ``, `{` + notAnswered("<U>") + `}`},
	{"iterations added later", "bob", "until 2026-09-01T00:00:00Z", ``, `null`},
	{"iterations added later", "bob", "changesurvey <U>", `{"iteration_count":4,"iteration_frequency_days":30}`, `{"current_iteration":3}`},
	{"iterations added later", "bob", "get 3", ``, `{` + notAnswered("<U>/3") + `}`},
	{"a survey that is gone", "bob", "dropsurvey <U>", ``, `null`},
	{"a survey that is gone", "bob", "wait 2400h", ``, `null`},
	{"a survey that is gone", "bob", "surveysdue", ``, `0`},
}
