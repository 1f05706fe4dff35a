package surveys_test

import (
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestSurveys_Statistics(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"periods": surveyPeriodRows, "dates": surveyDateRows, "all surveys": allSurveyRows, "access": surveyAccessRows})
}

// period returns the statistics of one survey in a period.
func period(id, from, to string) string {
	return `{"Query":{"kind":"SurveyStatsQuery","surveys":[{"id":"` + id + `","from":"` + from + `","to":"` + to + `"}]}}`
}

// A period without an end reaches to the last time that events may have.
const endOfTime = "2200-01-01T00:00:00Z"

var surveyPeriodRows = []ruletest.Row{
	{"clients.md §8.2", "bob", "survey", `{"name":"draft","type":"popover"}`, `{"name":"draft"}`},
	{"clients.md §8.2", "bob", "survey", `{"name":"running","type":"popover","start_date":"2025-12-01T00:00:00Z"}`, `{"name":"running"}`},
	{"clients.md §8.2", "bob", "survey", `{"name":"ended","type":"popover","start_date":"2025-12-01T00:00:00Z","end_date":"2025-12-31T00:00:00Z"}`, `{"name":"ended"}`},
	{"clients.md §8.2 the survey of the response", "bob", "surveystats <ended>", ``, `{"Survey":{"id":"<ended>","name":"ended","start_date":"2025-12-01T00:00:00Z","end_date":"2025-12-31T00:00:00Z"}}`},
	{"clients.md §8.2 from the start to the end", "bob", "surveystats <ended>", ``, period("<ended>", "2025-12-01T00:00:00Z", "2025-12-31T00:00:00Z")},
	{"clients.md §8.2 from the start on", "bob", "surveystats <running>", ``, period("<running>", "2025-12-01T00:00:00Z", endOfTime)},
	{"clients.md §8.2 a draft: from its creation on", "bob", "surveystats <draft>", ``, period("<draft>", "2026-01-02T12:00:01Z", endOfTime)},
	{"clients.md §8.2 the request's", "bob", "surveystats <ended> 2025-12-10T00:00:00Z 2025-12-20T00:00:00Z", ``, period("<ended>", "2025-12-10T00:00:00Z", "2025-12-20T00:00:00Z")},
	{"clients.md §8.2 cut at the start", "bob", "surveystats <ended> 2025-11-30T23:59:59Z 2025-12-20T00:00:00Z", ``, period("<ended>", "2025-12-01T00:00:00Z", "2025-12-20T00:00:00Z")},
	{"clients.md §8.2 cut at the end", "bob", "surveystats <ended> 2025-12-10T00:00:00Z 2025-12-31T00:00:01Z", ``, period("<ended>", "2025-12-10T00:00:00Z", "2025-12-31T00:00:00Z")},
	{"clients.md §8.2 only a start", "bob", "surveystats <ended> 2025-12-10T00:00:00Z", ``, period("<ended>", "2025-12-10T00:00:00Z", "2025-12-31T00:00:00Z")},
	{"clients.md §8.2 only an end", "bob", "surveystats <running> - 2025-12-10T00:00:00Z", ``, period("<running>", "2025-12-01T00:00:00Z", "2025-12-10T00:00:00Z")},
	// A period outside of the survey's time has no events: it has the length 0.
	{"clients.md §8.2 before the start", "bob", "surveystats <ended> 2025-11-01T00:00:00Z 2025-11-30T00:00:00Z", ``, period("<ended>", "2025-12-01T00:00:00.000001Z", "2025-12-01T00:00:00Z")},
	{"clients.md §8.2 after the end", "bob", "surveystats <ended> 2026-01-01T00:00:00Z", ``, period("<ended>", "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:00Z")},
	{"clients.md §8.2 up to the start itself", "bob", "surveystats <ended> 2025-11-01T00:00:00Z 2025-12-01T00:00:00Z", ``, period("<ended>", "2025-12-01T00:00:00Z", "2025-12-01T00:00:00Z")},
	{"clients.md §8.2 unknown", "bob", "surveystats 0191f0a2-5b1c-7d3e-8f40-0000000000ff", ``, `404 not_found - Not found.`},
	{"clients.md §8.2 no id", "bob", "surveystats 7", ``, `404 not_found - Not found.`},
	{"§1.5 of another project", "dan", "surveystats <ended>", ``, `404 not_found - Not found.`},
}

const wrongDate, wrongOrder = `Invalid date format. Please use ISO 8601 format with timezone info (e.g. `, `400 invalid_input - date_from must be before date_to`

var surveyDateRows = []ruletest.Row{
	{"clients.md §8.2", "bob", "survey", `{"name":"S","type":"popover","start_date":"1960-01-01T00:00:00Z"}`, `{"name":"S"}`},
	{"clients.md §8.2 without a zone", "bob", "surveystats <S> 2026-01-01T00:00:00", ``, `400 invalid_input date_from ` + wrongDate},
	{"clients.md §8.2 a day", "bob", "surveystats <S> - 2026-01-01", ``, `400 invalid_input date_to ` + wrongDate},
	{"clients.md §8.2 a relative date", "bob", "surveystats <S> -7d", ``, `400 invalid_input date_from ` + wrongDate},
	{"clients.md §8.2 no day of the calendar", "bob", "surveystats <S> 2026-02-30T00:00:00Z", ``, `400 invalid_input date_from ` + wrongDate},
	{"clients.md §8.2 the first of two errors", "bob", "surveystats <S> x y", ``, `400 invalid_input date_from ` + wrongDate},
	{"clients.md §8.2 dates go before the survey", "bob", "surveystats 7 x", ``, `400 invalid_input date_from ` + wrongDate},
	{"clients.md §8.2 another zone, and fractions", "bob", "surveystats <S> 2026-01-01T01:00:00.5+01:00 2026-01-01T00:00:01Z", ``, period("<S>", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:01Z")},
	{"clients.md §8.2 in order", "bob", "surveystats <S> 2026-01-02T00:00:00Z 2026-01-01T00:00:00Z", ``, wrongOrder},
	{"clients.md §8.2 the same time", "bob", "surveystats <S> 2026-01-01T01:00:00+01:00 2026-01-01T00:00:00Z", ``, wrongOrder},
	{"times without events", "bob", "surveystats <S> 1950-01-01T00:00:00Z 2300-01-01T00:00:00Z", ``, period("<S>", "1970-01-01T00:00:00Z", endOfTime)},
}

var allSurveyRows = []ruletest.Row{
	{"clients.md §8.2 none", "bob", "surveystats", ``, `{"Survey":null,"Query":{"kind":"SurveyStatsQuery","surveys":[]}}`},
	{"clients.md §8.2", "bob", "survey", `{"name":"A","type":"popover","start_date":"2025-12-01T00:00:00Z"}`, `{"name":"A"}`},
	{"clients.md §8.2", "bob", "survey", `{"name":"B","type":"popover","start_date":"2025-12-20T00:00:00Z","end_date":"2025-12-25T00:00:00Z"}`, `{"name":"B"}`},
	{"clients.md §8.2", "bob", "survey", `{"name":"C","type":"popover","archived":true,"start_date":"2025-12-01T00:00:00Z"}`, `{"name":"C"}`},
	{"clients.md §8.2", "dan", "survey", `{"name":"D","type":"popover"}`, `{"name":"D"}`},
	{"clients.md §8.2 those that are not archived, each in its own time", "bob", "surveystats - 2025-12-10T00:00:00Z 2025-12-22T00:00:00Z", ``, `{"Survey":null,"Query":{"surveys":[{"id":"<B>","from":"2025-12-20T00:00:00Z","to":"2025-12-22T00:00:00Z"},
		{"id":"<A>","from":"2025-12-10T00:00:00Z","to":"2025-12-22T00:00:00Z"}]}}`},
	{"clients.md §8.2 an archived one by its id", "bob", "surveystats <C>", ``, period("<C>", "2025-12-01T00:00:00Z", endOfTime)},
}

// cyd may view survey S, and may not view survey T.
var surveyAccessRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S","user_access_level":"manager"}`},
	{"clients.md §11.3", "bob", "survey", `{"name":"T","type":"popover"}`, `{"name":"T"}`},
	{"clients.md §11.3", "ann", "rule survey <S>", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3", "ann", "rule survey <T>", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a viewer", "cyd", "getsurvey <S>", ``, `{"user_access_level":"viewer"}`},
	{"clients.md §11.3 a viewer", "cyd", "surveystats <S>", ``, `{"Survey":{"name":"S"}}`},
	{"clients.md §11.3 a viewer", "cyd", "changesurvey <S>", `{"name":7}`, flagtest.MayNotEdit},
	{"clients.md §11.3 a viewer", "cyd", "launchsurvey <S>", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 a viewer", "cyd", "dropsurvey <S>", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 without access", "cyd", "getsurvey <T>", ``, flagtest.MayNotView},
	{"clients.md §11.3 without access", "cyd", "surveystats <T>", ``, flagtest.MayNotView},
	{"clients.md §11.3 without access", "cyd", "stopsurvey <T>", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 without access", "cyd", "surveys", ``, `{"count":1,"results":[{"name":"S"}]}`},
	{"clients.md §11.3 without access", "cyd", "surveys", `{"Search":"t"}`, `{"count":0,"results":[]}`},
	{"clients.md §11.3 without access", "cyd", "surveystats", ``, `{"Query":{"surveys":[{"id":"<S>"}]}}`},
	{"clients.md §11.3 SDKs know no access rules", "cyd", "publicsurveys phc_ours", ``, `{"surveys":[{"name":"T"},{"name":"S"}]}`},
	{"clients.md §11.3 viewers of surveys create none", "ann", "rule", `{"access_level":"viewer","resource":"survey"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of surveys create none", "cyd", "survey", `{"name":"U","type":"popover"}`, flagtest.MayNotEdit},
	{"clients.md §11.3 nor their flags", "bob", "get 3", ``, `404 not_found - Not found.`},
	// The flags that a survey creates belong to the survey: who may edit it needs no access to flags.
	{"clients.md §11.3 viewers of flags edit surveys", "ann", "rule", `{"access_level":"editor","resource":"survey"}`, `{"access_level":"editor"}`},
	{"clients.md §11.3 viewers of flags edit surveys", "ann", "rule", `{"access_level":"viewer","resource":"feature_flag"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of flags edit surveys", "cyd", "survey", `{"name":"U","type":"popover","start_date":"2026-01-01T00:00:00Z",` + targetingBody(flagtest.Targeting)[1:], `{"name":"U","targeting_flag":{"active":true},"internal_targeting_flag":{"active":true}}`},
	{"clients.md §11.3 viewers of flags edit surveys", "cyd", "stopsurvey <U>", ``, `{"targeting_flag":{"active":false},"internal_targeting_flag":{"active":false}}`},
	{"clients.md §11.3 viewers of flags edit surveys", "cyd", "dropsurvey <U>", ``, `null`},
	{"clients.md §11.3 a hidden flag is not shown", "ann", "create", `{"key":"linked"}`, `{"id":5}`},
	{"clients.md §11.3 a hidden flag is not shown", "bob", "survey", `{"name":"V","type":"popover","linked_flag_id":5}`, `{"name":"V","linked_flag":{"key":"linked"}}`},
	{"clients.md §11.3 a hidden flag is not shown", "ann", "rule feature_flag 5", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a hidden flag is not shown", "cyd", "getsurvey <V>", ``, `{"linked_flag":null,"linked_flag_id":5,"feature_flag_keys":[{"key":"linked_flag_key","value":null},{"value":null},{"value":"(like) -custom$"}]}`},
}

func TestSurveys_Steps(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"launch and stop": surveyStepRows, "values as lists": listOperatorRows, "insights": linkedInsightRows, "what is stored": surveyStoredRows, "launches in the log": surveyStepLogRows})
}

var surveyStepRows = []ruletest.Row{
	{"clients.md §8.1", "bob", "survey", `{"name":"S","type":"popover",` + targetingBody(flagtest.Targeting)[1:], `{"name":"S","targeting_flag":{"id":1,"active":false},"internal_targeting_flag":{"id":2,"active":false}}`},
	{"clients.md §8.1 stop of a draft", "bob", "stopsurvey <S>", ``, `400 invalid_input - The survey has not been launched yet.`},
	{"clients.md §8.1 launch: now", "bob", "launchsurvey <S>", ``, `{"start_date":"2026-01-02T12:00:03Z","end_date":null,"targeting_flag":{"active":true,"version":2},"internal_targeting_flag":{"active":true,"version":2}}`},
	{"clients.md §8.1 launch twice", "bob", "launchsurvey <S>", ``, `400 invalid_input - The survey has been launched already.`},
	{"clients.md §8.1 stop: now", "bob", "stopsurvey <S>", ``, `{"start_date":"2026-01-02T12:00:03Z","end_date":"2026-01-02T12:00:05Z","targeting_flag":{"active":false,"version":3},"internal_targeting_flag":{"active":false,"version":3}}`},
	{"clients.md §8.1 stop twice", "bob", "stopsurvey <S>", ``, `400 invalid_input - The survey has been stopped already.`},
	{"clients.md §8.1 launch of a stopped one", "bob", "launchsurvey <S>", ``, `400 invalid_input - The survey has been launched already.`},
	{"clients.md §8.1 refusals change nothing", "bob", "getsurvey <S>", ``, `{"end_date":"2026-01-02T12:00:05Z","internal_targeting_flag":{"version":3}}`},
	{"clients.md §8.1 a start that was set", "bob", "survey", `{"name":"T","type":"popover","start_date":"2026-06-01T00:00:00Z"}`, `{"name":"T"}`},
	{"clients.md §8.1 a start that was set", "bob", "launchsurvey <T>", ``, `400 invalid_input - The survey has been launched already.`},
	{"§1.5 of another project", "dan", "launchsurvey <S>", ``, `404 not_found - Not found.`},
	{"clients.md §8.1 unknown", "bob", "launchsurvey x", ``, `404 not_found - Not found.`},
	{"clients.md §8.1 a targeting flag of its own is not switched", "bob", "create", `{"key":"mine","active":false}`, `{"id":4}`},
	{"clients.md §8.1 a targeting flag of its own is not switched", "bob", "survey", `{"name":"U","type":"popover","targeting_flag_id":4}`, `{"name":"U"}`},
	{"clients.md §8.1 a targeting flag of its own is not switched", "bob", "launchsurvey <U>", ``, `{"targeting_flag":{"active":false,"version":1}}`},
}

// in returns filters with a property and an operator.
func in(kind, operator, value string) string {
	return `{"groups":[{"properties":[{"key":"email",` + kind + `"operator":"` + operator + `","value":` + value + `}],"rollout_percentage":50}]}`
}

// storedOperator returns the response with the operator of the targeting flag.
func storedOperator(operator string) string {
	return `{"targeting_flag":{"filters":{"groups":[{"properties":[{"operator":"` + operator + `"}]}]}}}`
}

var listOperatorRows = flagtest.Rows(
	[]ruletest.Row{{"clients.md §8.1", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`}},
	flagtest.Each("clients.md §8.1 in and not_in with a list", "bob", "changesurvey <S>",
		[2]string{targetingBody(in(`"type":"person",`, "in", `["a","b"]`)), storedOperator("exact")},
		[2]string{targetingBody(in(`"type":"person",`, "not_in", `["a","b"]`)), storedOperator("is_not")},
		[2]string{targetingBody(in(`"type":"person",`, "icontains", `"a"`)), storedOperator("icontains")},
		[2]string{targetingBody(in(`"type":"person",`, "in", `"a"`)), `400 * filters`},
		[2]string{targetingBody(in(`"type":"person",`, "not_in", `7`)), `400 * filters`},
	),
	[]ruletest.Row{
		{"clients.md §8.1 in of cohorts", "bob", "cohort", `{"name":"C","is_static":true}`, `{"id":1}`},
		{"clients.md §8.1 in of cohorts", "bob", "changesurvey <S>", targetingBody(`{"groups":[{"properties":[{"key":"id","type":"cohort","operator":"in","value":1}],"rollout_percentage":50}]}`), storedOperator("in")},
	},
)

var linkedInsightRows = flagtest.Rows(
	[]ruletest.Row{{"clients.md §8.1", "bob", "survey", `{"name":"S","type":"popover"}`, `{"linked_insight_id":null}`}},
	flagtest.Each("clients.md §8.1 linked_insight_id", "bob", "changesurvey <S>",
		[2]string{`{"linked_insight_id":99}`, `400 does_not_exist linked_insight_id Invalid pk "99" - object does not exist.`},
		[2]string{`{"linked_insight_id":"one"}`, `400 invalid_input linked_insight_id A valid integer is required.`},
		[2]string{`{"linked_insight_id":null}`, `{"linked_insight_id":null}`},
	),
)

// Settings of which only SDKs and clients know the meaning are returned as they were sent.
var surveyStoredRows = flagtest.Rows(
	[]ruletest.Row{{"clients.md §8.1", "bob", "survey", `{"name":"S","type":"popover"}`, `{"enable_iframe_embedding":null,"translations":null,"form_content":null}`}},
	flagtest.Each("clients.md §8.1 stored unchanged", "bob", "changesurvey <S>",
		[2]string{`{"enable_iframe_embedding":true,"form_content":{"a":[1.50,{"b":null}]}}`, `{"enable_iframe_embedding":true,"form_content":{"a":[1.5,{"b":null}]}}`},
		[2]string{`{"translations":{"de":{"name":"N","question":"F?"}}}`, `{"translations":{"de":{"name":"N","question":"F?"}}}`},
		[2]string{`{"translations":{"de":{"nam":"N"}}}`, `400 unknown_key *`}, // decision 30
		[2]string{`{"response_sampling_daily_limits":null,"responses_limit":2147483647}`, `{"response_sampling_daily_limits":null,"responses_limit":2147483647}`},
		[2]string{`{"responses_limit":2147483648}`, `400 max_value responses_limit Ensure this value is less than or equal to 2147483647.`},
		[2]string{`{"iteration_frequency_days":36501}`, `400 max_value iteration_frequency_days Ensure this value is less than or equal to 36500.`},
		[2]string{ofQuestion(`{"type":"rating","question":"How?","display":"number","scale":7}`), `{"questions":[{"scale":7}]}`},
		[2]string{ofQuestion(`{"type":"rating","question":"How?","display":"number","scale":3}`), `{"questions":[{"scale":3}]}`},
	),
	[]ruletest.Row{
		{"clients.md §8.1 question ids are kept", "bob", "changesurvey <S>", `{"questions":[{"id":"0191F0A2-5B1C-7D3E-8F40-0000000000C1","type":"open","question":"a"},{"type":"open","question":"b"}]}`, `{"questions":[{"id":"0191f0a2-5b1c-7d3e-8f40-0000000000c1"},{"id":"(like) ^0191f0a2-"}]}`},
		{"clients.md §8.1 other fields leave the questions", "bob", "changesurvey <S>", `{"description":"x"}`, `{"questions":[{"id":"0191f0a2-5b1c-7d3e-8f40-0000000000c1","question":"a"},{"question":"b"}]}`},
	},
)

var surveyStepLogRows = []ruletest.Row{
	{"§5.11", "bob", "survey", `{"name":"S","type":"popover"}`, `{"internal_targeting_flag":{"id":1}}`},
	{"§5.11 a launch", "cyd", "launchsurvey <S>", ``, `{"start_date":"2026-01-02T12:00:02Z"}`},
	{"§5.11 a launch", "bob", "log Survey <S>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"S","changes":[{"field":"internal_targeting_flag"},{"field":"start_date","action":"created","after":"2026-01-02T12:00:02Z"}]}}`},
	{"§5.11 a launch", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"active","before":false,"after":true}]}}`},
	{"§5.11 a refused launch", "ann", "launchsurvey <S>", ``, `400 invalid_input -`},
	{"§5.11 a refused launch", "bob", "log Survey <S>", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 gone with its flag", "ann", "dropsurvey <S>", ``, `null`},
	{"§5.11 gone with its flag", "bob", "log FeatureFlag 1", ``, `{"activity":"deleted","user":{"first_name":"ann"}}`},
	{"§5.11 two surveys of a flag", "bob", "create", `{"key":"linked"}`, `{"id":2}`},
	{"§5.11 two surveys of a flag", "bob", "survey", `{"name":"T","type":"popover","linked_flag_id":2}`, `{"name":"T"}`},
	{"§5.11 two surveys of a flag", "bob", "survey", `{"name":"U","type":"popover","linked_flag_id":2}`, `{"name":"U"}`},
	{"§5.11 a survey's text is no change of the flag", "cyd", "changesurvey <T>", `{"description":"x"}`, `{"description":"x"}`},
	{"§5.11 a survey's text is no change of the flag", "bob", "log FeatureFlag 2", ``, `{"user":{"first_name":"bob"}}`},
	{"§5.1.1 surveys in the order in which they were linked", "bob", "get 2", ``, `{"version":1,"surveys":[{"name":"T"},{"name":"U"}]}`},
}

// The iterations of a survey go on if its author has left; at most 50 start at a time, and each is
// reported. Those of a deleted survey or project have no effect.
func TestSurveys_IterationsInTheBackground(t *testing.T) {
	var reports []management.JobDone
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}), func(c *rooms.Config) {
		c.JobDone = func(d management.JobDone) { reports = append(reports, d) }
	})
	calls := flagtest.RoomCalls(t, w)
	calls["leave"] = func(scope flagtest.Scope, name, _ string) (any, error) {
		return nil, w.Organizations.Members.Delete(t.Context(), scope, ruletest.UUID(name))
	}
	calls["deleteproject"] = func(flagtest.Scope, string, string) (any, error) {
		return nil, w.Store.Write(t.Context(), func(tx rooms.Tx) error {
			p, err := tx.Project(ruletest.Project)
			if err != nil {
				return err
			}
			p.Deleted = true
			return tx.PutProject(p)
		})
	}
	calls["reports"] = func(flagtest.Scope, string, string) (any, error) {
		out := reports
		reports = nil
		return out, nil
	}
	const weekly = `,"type":"popover","start_date":"2026-01-01T00:00:00Z","iteration_count":4,"iteration_frequency_days":7}`
	table := []ruletest.Row{
		{"§5.6", "cyd", "survey", `{"name":"S"` + weekly, `{"current_iteration":1,"internal_targeting_flag":{"id":1}}`},
		{"§5.6 its author leaves", "ann", "leave cyd", ``, `null`},
		{"§5.6 a moment before the second iteration", "bob", "until 2026-01-07T23:59:58Z", ``, `null`},
		{"§5.6 a moment before the second iteration", "bob", "surveysdue", ``, `0`},
		{"§5.6 the second iteration", "bob", "surveysdue", ``, `1`},
		{"§5.6 the second iteration", "bob", "get 1", ``, `{"version":2,` + notAnswered("<S>/2") + `}`},
		{"§5.6 in the name of the author", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"cyd"}}`},
		{"§5.6 it is reported", "bob", "reports", ``, `[{"Job":"survey","Project":1,"ID":"<S>","Failure":""}]`},
		{"§5.6 iterations that were missed: the one of now", "bob", "until 2026-01-22T00:00:00Z", ``, `null`},
		{"§5.6 iterations that were missed: the one of now", "bob", "surveysdue", ``, `1`},
		{"§5.6 iterations that were missed: the one of now", "bob", "get 1", ``, `{"version":3,` + notAnswered("<S>/4") + `}`},
		{"§5.6 the last iteration has no next", "bob", "wait 720h", ``, `null`},
		{"§5.6 the last iteration has no next", "bob", "surveysdue", ``, `0`},
		{"§5.6 it is reported", "bob", "reports", ``, `[{"Job":"survey","ID":"<S>"}]`},
	}
	for i := range 51 {
		table = append(table, ruletest.Row{"§5.6", "bob", "survey", fmt.Sprintf(`{"name":"%d","type":"popover","start_date":"2026-03-01T00:00:00Z","iteration_count":3,"iteration_frequency_days":1}`, i), `{"current_iteration":1}`})
	}
	w.Run(t, calls, append(table, []ruletest.Row{
		{"§5.6 50 at a time", "bob", "until 2026-03-02T00:00:00Z", ``, `null`},
		{"§5.6 50 at a time", "bob", "surveysdue", ``, `50`},
		{"§5.6 and the rest", "bob", "surveysdue", ``, `1`},
		{"§5.6 a deleted project", "bob", "deleteproject", ``, `null`},
		{"§5.6 a deleted project", "bob", "until 2026-03-03T00:00:00Z", ``, `null`},
		{"§5.6 a deleted project", "-", "surveysdue", ``, `50`},
		{"§5.6 a deleted project", "-", "surveysdue", ``, `1`},
		{"§5.6 is not looked at again", "-", "surveysdue", ``, `0`},
	}...))
}
