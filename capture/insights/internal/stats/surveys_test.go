package stats

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// statsSuite runs the queries of this package in a project without issues.
var statsSuite = querytest.Suite{Kinds: Kinds}

// surveyEventOf are the name and the properties of the events of answersOf.
var surveyEventOf = map[byte][2]string{
	'V': {"survey shown", `{"$survey_id": "s"}`},
	'D': {"survey dismissed", `{"$survey_id": "s"}`},
	'P': {"survey dismissed", `{"$survey_id": "s", "$survey_partially_completed": true}`},
	'F': {"survey dismissed", `{"$survey_id": "s", "$survey_partially_completed": false}`},
	'S': {"survey sent", `{"$survey_id": "s"}`},
	'E': {"survey sent", `{"$survey_id": "s", "$survey_submission_id": ""}`},
	'1': {"survey sent", `{"$survey_id": "s", "$survey_submission_id": "one"}`},
	'2': {"survey sent", `{"$survey_id": "s", "$survey_submission_id": "two"}`},
	'O': {"survey sent", `{"$survey_id": "other", "$survey_submission_id": "one"}`},
	'N': {"survey sent", `{}`},
	'X': {"another event", `{"$survey_id": "s"}`},
}

// answersOf returns the events of a text such as "aV bD": persons with the letter of an event, one in
// each minute from 10:00 of 10 January.
func answersOf(text string) *querytest.Store {
	var list []string
	for i, pair := range strings.Fields(text) {
		e := surveyEventOf[pair[1]]
		list = append(list, fmt.Sprintf(`[%q, %q, "2020-01-10T10:%02d:00Z", %s]`, e[0], pair[:1], i, e[1]))
	}
	return querytest.Events("[" + strings.Join(list, ",") + "]")
}

// surveysIn returns a SurveyStatsQuery of the survey s in a window, with more surveys.
func surveysIn(from, to, more string) string {
	return `{"kind": "SurveyStatsQuery", "surveys": [{"id": "s", "from": "` + from + `", "to": "` + to + `"}` + more + `]}`
}

// surveyResult runs a query, and returns the counts of each event as events/persons, the numbers
// that were only seen, and the four rates.
func surveyResult(t *testing.T, events *querytest.Store, query string) (text string, counts map[string]surveyCount) {
	t.Helper()
	got, err := statsSuite.Run(t, events, query, port.Options{})
	if err != nil {
		t.Fatal(err)
	}
	counts, rates := got.Extra["stats"].(map[string]surveyCount), got.Extra["rates"].(surveyRates)
	for _, name := range surveyEvents {
		text += fmt.Sprintf("%d/%d ", counts[name].Total, counts[name].People)
	}
	text += fmt.Sprintf("only %d/%d", counts[surveyEvents[0]].OnlySeen, counts[surveyEvents[0]].PeopleOnlySeen)
	return text + fmt.Sprint(" rates ", rates.Response, rates.Dismissal, rates.PeopleResponse, rates.PeopleDismissal), counts
}

// The numbers of a survey (clients.md §8.2).
func TestSurveys_Counts(t *testing.T) {
	t.Parallel()
	all := surveysIn("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", "")
	for _, c := range []struct{ of, events, query, want string }{
		// Five views of four persons; b and c answer, d dismisses: 2/5, 1/5, 2/4, 1/4.
		{"the example of the specification", "aV aV bV cV dV bS cS dD", all, "5/4 1/1 2/2 only 2/1 rates 40 20 50 25"},
		{"nothing", "", all, "0/0 0/0 0/0 only 0/0 rates 0 0 0 0"},
		{"answered but never shown: no rate, and not below 0", "aS bD", all, "0/0 1/1 1/1 only 0/0 rates 0 0 0 0"},
		{"two decimals", "aV bV cV aS", all, "3/3 0/0 1/1 only 2/2 rates 33.33 0 33.33 0"},
		{"rounded up", "aV bV cV aS bS", all, "3/3 0/0 2/2 only 1/1 rates 66.67 0 66.67 0"},
		{"shown twice to one person", "aV aV aS", all, "2/1 0/0 1/1 only 1/0 rates 50 0 100 0"},
		{"a person who sent has not dismissed", "aV aD aS bV bD", all, "2/2 2/1 1/1 only 0/0 rates 50 100 50 50"},
		{"in the other order as well", "aV aS aD bV bD", all, "2/2 2/1 1/1 only 0/0 rates 50 100 50 50"},
		{"dismissed after a partial answer", "aV aP bV", all, "2/2 0/0 0/0 only 2/2 rates 0 0 0 0"},
		{"dismissed without one", "aV aF bV", all, "2/2 1/1 0/0 only 1/1 rates 0 50 0 50"},
		{"parts of one answer count once", "aV a1 a1 a1", all, "1/1 0/0 1/1 only 0/0 rates 100 0 100 0"},
		{"the latest part decides whose answer it is", "aV bV a1 b1 bD", all, "2/2 1/0 1/1 only 0/1 rates 50 50 50 0"},
		{"two answers of one person", "aV a1 a2", all, "1/1 0/0 2/1 only 0/0 rates 200 0 100 0"},
		{"answers without an id each", "aV aS aS aE aE", all, "1/1 0/0 4/1 only 0/0 rates 400 0 100 0"},
		{"another survey, none, and another event", "aV aO aN aX", all, "1/1 0/0 0/0 only 1/1 rates 0 0 0 0"},
		{"both surveys: an answer id is one of its survey", "aV a1 aO", surveysIn("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", `, {"id": "other", "from": "2020-01-01T00:00:00Z", "to": "2020-02-01T00:00:00Z"}`), "1/1 0/0 2/1 only 0/0 rates 200 0 100 0"},
		{"each survey has its own window", "aO aV", surveysIn("2020-01-10T10:00:00Z", "2020-01-10T10:01:00Z", `, {"id": "other", "from": "2020-01-10T10:02:00Z", "to": "2020-02-01T00:00:00Z"}`), "1/1 0/0 0/0 only 1/1 rates 0 0 0 0"},
		{"both ends of a window belong to it", "aV bV cV dV", surveysIn("2020-01-10T10:01:00Z", "2020-01-10T10:02:00Z", ""), "2/2 0/0 0/0 only 2/2 rates 0 0 0 0"},
		{"a microsecond less at both ends", "aV bV cV dV", surveysIn("2020-01-10T10:01:00.000001Z", "2020-01-10T10:01:59.999999Z", ""), "0/0 0/0 0/0 only 0/0 rates 0 0 0 0"},
		{"a part outside of the window does not count as the latest", "aV a1 b1", surveysIn("2020-01-10T10:00:00Z", "2020-01-10T10:01:00Z", ""), "1/1 0/0 1/1 only 0/0 rates 100 0 100 0"},
	} {
		if got, _ := surveyResult(t, answersOf(c.events), c.query); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.events, got, c.want)
		}
	}
}

// The first and the last time of each event, null without any event. The time of an answer in parts is
// that of the latest part.
func TestSurveys_Times(t *testing.T) {
	t.Parallel()
	_, counts := surveyResult(t, answersOf("aV a1 bV a1 cV"), surveysIn("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", ""))
	const want = `{"survey dismissed":{"total_count":0,"total_count_only_seen":0,"unique_persons":0,"unique_persons_only_seen":0,"first_seen":null,"last_seen":null},` +
		`"survey sent":{"total_count":1,"total_count_only_seen":0,"unique_persons":1,"unique_persons_only_seen":0,"first_seen":"2020-01-10T10:03:00Z","last_seen":"2020-01-10T10:03:00Z"},` +
		`"survey shown":{"total_count":3,"total_count_only_seen":2,"unique_persons":3,"unique_persons_only_seen":2,"first_seen":"2020-01-10T10:00:00Z","last_seen":"2020-01-10T10:04:00Z"}}`
	if got := string(wire.MustEncode(counts)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// At one instant the part that was recorded last is the latest.
	same := querytest.Events(`[["survey sent", "a", "2020-01-10T10:00:00Z", {"$survey_id": "s", "$survey_submission_id": "one"}], ["survey sent", "b", "2020-01-10T10:00:00Z", {"$survey_id": "s", "$survey_submission_id": "one"}],
		["survey dismissed", "a", "2020-01-10T10:00:00Z", {"$survey_id": "s"}]]`)
	if got, _ := surveyResult(t, same, surveysIn("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", "")); !strings.HasPrefix(got, "0/0 1/1 1/1 ") {
		t.Errorf("parts at one instant: got %s", got)
	}
}

// Without any survey stats are empty and all rates 0; events are not read.
func TestSurveys_None(t *testing.T) {
	t.Parallel()
	got, err := statsSuite.Run(t, answersOf("aV aS"), `{"kind": "SurveyStatsQuery", "surveys": []}`, port.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(wire.MustEncode(got.Extra)); text != `{"rates":{"response_rate":0,"dismissal_rate":0,"unique_users_response_rate":0,"unique_users_dismissal_rate":0},"stats":{}}` {
		t.Errorf("got %s", text)
	}
}

// The faults of a SurveyStatsQuery, and the memory that persons and answers need.
func TestSurveys_Faults(t *testing.T) {
	t.Parallel()
	statsSuite.CheckFaults(t, []querytest.Fault{
		{"a window that is none", surveysIn("soon", "2020-01-01T00:00:00Z", ""), document.InvalidInput, "surveys__0__from", "2025-03-01T12:00:00Z"},
		{"a second one", surveysIn("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z", `, {"id": "x", "from": "2020-01-01T00:00:00Z", "to": 5}`), document.InvalidInput, "surveys__1__to", ""},
		{"an id that is a number", `{"kind": "SurveyStatsQuery", "surveys": [{"id": 5, "from": "2020-01-01T00:00:00Z", "to": "2020-01-01T00:00:00Z"}]}`, document.InvalidInput, "surveys__0__id", ""},
		{"surveys that are a text", `{"kind": "SurveyStatsQuery", "surveys": "s"}`, document.InvalidInput, "surveys", ""},
	})
	for events, limit := range map[string]int64{"aV bV": surveyPerson, "a1 b2": surveyAnswer} {
		if _, err := statsSuite.Run(t, answersOf(events), surveysIn("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", ""), port.Options{Memory: limit}); err == nil {
			t.Errorf("%s: no error with %d bytes", events, limit)
		}
	}
}
