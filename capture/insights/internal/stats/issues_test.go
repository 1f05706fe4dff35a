package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// issuesSuite runs the queries of this package in a project with the issues a to d; the fingerprint of
// an exception is its property fp. found receives the arguments of Find.
func issuesSuite(found *string) *querytest.Suite {
	at := func(day int) time.Time { return time.Date(2020, 1, day, 8, 0, 0, 0, time.UTC) }
	user := "user:1"
	issues := []port.Issue{
		{ID: "a", Fingerprint: "fa", Name: "Error", Description: "no a", Status: "active", Assignee: &user, FirstSeen: at(1), LastSeen: at(22)},
		{ID: "b", Fingerprint: "fb", Name: "Fault", Status: "active", FirstSeen: at(3), LastSeen: at(20)},
		{ID: "c", Fingerprint: "fc", Name: "Panic", Status: "resolved", FirstSeen: at(2), LastSeen: at(21)},
		{ID: "d", Fingerprint: "fd", Name: "Never", Status: "active", FirstSeen: at(4), LastSeen: at(4)},
	}
	return &querytest.Suite{Kinds: Kinds, Project: port.Project{
		TestAccountFilters: json.RawMessage(`[{"key": "internal", "operator": "is_not_set"}]`),
		Issues: port.Issues{
			Find: func(status, id string, most int) ([]port.Issue, error) {
				if found != nil {
					*found = fmt.Sprintf("%q %q %d", status, id, most)
				}
				return issues, nil
			},
			Fingerprint: func(properties string) string {
				var p struct{ FP string }
				_ = json.Unmarshal([]byte(properties), &p)
				return p.FP
			},
		},
	}}
}

// crashes are exceptions from 15 to 22 January: three of a, by 2 persons in 2 sessions, two of b, by
// 2 persons without a session, one of c, and d only after the time of the query.
var crashes = querytest.Events(`[
	["$exception", "p", "2020-01-14T23:59:59Z", {"fp": "fa", "$session_id": "s0", "$lib": "old"}],
	["$exception", "p", "2020-01-15T00:00:00Z", {"fp": "fa", "$session_id": "s1", "$lib": "web"}],
	["$exception", "p", "2020-01-20T06:00:00Z", {"fp": "fa", "$session_id": "s1", "$lib": "node"}],
	["$exception", "q", "2020-01-18T00:00:00Z", {"fp": "fa", "$session_id": "s2", "$lib": "go", "internal": true}],
	["$exception", "p", "2020-01-19T00:00:00Z", {"fp": "fb"}],
	["$exception", "q", "2020-01-21T00:00:00Z", {"fp": "fb"}],
	["$exception", "q", "2020-01-21T12:00:00Z", {"fp": "fc", "$session_id": "s2", "$lib": "web"}],
	["$exception", "r", "2020-01-21T12:00:00Z", {"fp": "unknown"}],
	["$error", "r", "2020-01-21T12:00:00Z", {"fp": "fa"}],
	["$exception", "r", "2020-01-22T12:00:00.000001Z", {"fp": "fd"}]]`)

// issuesOf returns an ErrorTrackingQuery with more members.
func issuesOf(members string) string { return `{"kind": "ErrorTrackingQuery"` + members + `}` }

// Each row is an issue: its id, and its occurrences, persons and sessions in the range (clients.md
// §14.1). The range is that of §3.1.2: the last seven days by default.
func TestIssues_Rows(t *testing.T) {
	t.Parallel()
	suite := issuesSuite(nil)
	for _, c := range []struct{ of, members, want string }{
		{"the last seen first, issues without events are absent", "", "a 3/2/2, c 1/1/1, b 2/2/0"},
		{"ascending", `, "orderDirection": "ASC"`, "b 2/2/0, c 1/1/1, a 3/2/2"},
		{"by occurrences", `, "orderBy": "occurrences"`, "a 3/2/2, b 2/2/0, c 1/1/1"},
		{"ascending", `, "orderBy": "occurrences", "orderDirection": "ASC"`, "c 1/1/1, b 2/2/0, a 3/2/2"},
		{"by persons, then by id", `, "orderBy": "users"`, "a 3/2/2, b 2/2/0, c 1/1/1"},
		{"ascending: of equal rows the id decides as before", `, "orderBy": "users", "orderDirection": "ASC"`, "c 1/1/1, a 3/2/2, b 2/2/0"},
		{"by sessions", `, "orderBy": "sessions"`, "a 3/2/2, c 1/1/1, b 2/2/0"},
		{"by the first time ever", `, "orderBy": "first_seen"`, "b 2/2/0, c 1/1/1, a 3/2/2"},
		{"a limit", `, "orderBy": "occurrences", "limit": 2`, "a 3/2/2, b 2/2/0 and more"},
		{"as many rows as the limit", `, "orderBy": "occurrences", "limit": 3`, "a 3/2/2, b 2/2/0, c 1/1/1"},
		{"the next page", `, "orderBy": "occurrences", "limit": 2, "offset": 2`, "c 1/1/1"},
		{"a page behind the end", `, "offset": 4`, ""},
		{"a range", `, "dateRange": {"date_from": "2020-01-18", "date_to": "2020-01-20"}`, "a 2/2/2, b 1/1/0"},
		{"a date as its end is that whole day", `, "dateRange": {"date_from": "2020-01-21", "date_to": "2020-01-21"}`, "c 1/1/1, b 1/1/0"},
		{"a relative range", `, "dateRange": {"date_from": "-2d"}`, "a 1/1/1, c 1/1/1, b 1/1/0"},
		{"all time", `, "dateRange": {"date_from": "all"}`, "a 4/2/3, c 1/1/1, b 2/2/0"},
		{"an end before the start", `, "dateRange": {"date_from": "2020-01-21", "date_to": "2020-01-18"}`, ""},
		{"filters", `, "properties": [{"key": "$lib", "value": "web"}]`, "a 1/1/1, c 1/1/1"},
		{"without test accounts", `, "filterTestAccounts": true`, "a 2/1/1, c 1/1/1, b 2/2/0"},
	} {
		got, err := suite.Run(t, crashes, issuesOf(c.members), port.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.of, err)
			continue
		}
		var rows []string
		for _, row := range got.Results.([]*issueRow) {
			rows = append(rows, fmt.Sprintf("%s %d/%d/%d", row.ID, row.Sums.Occurrences, row.Sums.Users, row.Sums.Sessions))
		}
		text := strings.Join(rows, ", ")
		if *got.HasMore {
			text += " and more"
		}
		if text != c.want {
			t.Errorf("%s: got %s, want %s", c.of, text, c.want)
		}
	}
}

// The members of a row. The library is that of the latest event; the parts of the range are equal and
// the last one has its end.
func TestIssues_Members(t *testing.T) {
	t.Parallel()
	suite := issuesSuite(nil)
	// The range of the first row is 18 January up to 22 January, 00:00: four parts of a day.
	row := func(members string) string {
		t.Helper()
		got, err := suite.Run(t, crashes, issuesOf(members), port.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return string(wire.MustEncode(got.Results.([]*issueRow)[0]))
	}
	const days = `, "dateRange": {"date_from": "2020-01-18T00:00:00Z", "date_to": "2020-01-22T00:00:00Z", "explicitDate": true}, "volumeResolution": 4`
	if got := row(days); got != `{"id":"a","name":"Error","description":"no a","status":"active","assignee":"user:1","first_seen":"2020-01-01T08:00:00Z","last_seen":"2020-01-22T08:00:00Z","library":"node",`+
		`"aggregations":{"occurrences":2,"sessions":2,"users":2,"volumeRange":[1,0,1,0],"volume_buckets":[{"label":"2020-01-18T00:00:00Z","value":1},{"label":"2020-01-19T00:00:00Z","value":0},{"label":"2020-01-20T00:00:00Z","value":1},{"label":"2020-01-21T00:00:00Z","value":0}]}}` {
		t.Errorf("four parts: got %s", got)
	}
	const upTo = `, "dateRange": {"date_from": "2020-01-20T06:00:00Z", "date_to": "2020-01-21T12:00:00Z", "explicitDate": true}, "volumeResolution": 2, "orderBy": "first_seen", "orderDirection": "ASC"`
	if got := row(upTo); !strings.Contains(got, `"volumeRange":[1,0]`) {
		t.Errorf("an event at the start: got %s", got)
	}
	if got := row(upTo + `, "offset": 1`); !strings.HasPrefix(got, `{"id":"c"`) || !strings.Contains(got, `"volumeRange":[0,1]`) {
		t.Errorf("an event at the end: got %s", got)
	}
	if got := row(`, "orderBy": "first_seen"`); got != `{"id":"b","name":"Fault","description":"","status":"active","assignee":null,"first_seen":"2020-01-03T08:00:00Z","last_seen":"2020-01-20T08:00:00Z","library":null,"aggregations":{"occurrences":2,"sessions":0,"users":2,"volumeRange":[],"volume_buckets":[]}}` {
		t.Errorf("without parts: got %s", got)
	}
}

// A query requests one issue more than the maximum from Find, to detect that there are more.
func TestIssues_Find(t *testing.T) {
	t.Parallel()
	var found string
	suite := issuesSuite(&found)
	for members, want := range map[string]string{
		``: `"" "" 10001`, `, "status": "all"`: `"" "" 10001`, `, "status": "suppressed"`: `"suppressed" "" 10001`, `, "issueId": "x", "status": "active"`: `"active" "x" 10001`,
	} {
		if _, fault := suite.Parse(t, issuesOf(members)); fault != nil || found != want {
			t.Errorf("%s: got %s, %v; want %s", members, found, fault, want)
		}
	}
	broken := errors.New("broken")
	suite.Project.Issues.Find = func(string, string, int) ([]port.Issue, error) { return nil, broken }
	plan, fault := suite.Parse(t, issuesOf(""))
	if _, err := plan.(*IssuesQuery).About(); fault != nil || !errors.Is(err, broken) {
		t.Errorf("an error of Find: got %v, %v", fault, err)
	}
	for n, code := range map[int]string{maxIssues: "", maxIssues + 1: document.TooLarge} {
		suite.Project.Issues.Find = func(string, string, int) ([]port.Issue, error) { return make([]port.Issue, n), nil }
		suite.CheckFaults(t, []querytest.Fault{{fmt.Sprint(n, " issues"), issuesOf(""), code, map[bool]string{true: "status"}[code != ""], ""}})
	}
}

// The faults of an ErrorTrackingQuery, which are reported without a call of Find.
func TestIssues_Faults(t *testing.T) {
	t.Parallel()
	var found string
	issuesSuite(&found).CheckFaults(t, []querytest.Fault{
		{"an order", issuesOf(`, "orderBy": "name"`), document.InvalidChoice, "orderBy", "occurrences, first_seen, last_seen, users, sessions"},
		{"a direction", issuesOf(`, "orderDirection": "down"`), document.InvalidChoice, "orderDirection", ""},
		{"a status", issuesOf(`, "status": "open"`), document.InvalidChoice, "status", "open"},
		{"an id", issuesOf(`, "issueId": 5`), document.InvalidInput, "issueId", ""},
		{"a negative number of parts", issuesOf(`, "volumeResolution": -1`), document.InvalidInput, "volumeResolution", ""},
		{"1,001 parts", issuesOf(`, "volumeResolution": 1001`), document.InvalidInput, "volumeResolution", ""},
		{"no rows", issuesOf(`, "limit": 0`), document.InvalidInput, "limit", ""},
		{"10,001 rows", issuesOf(`, "limit": 10001`), document.InvalidInput, "limit", ""},
		{"a negative offset", issuesOf(`, "offset": -1`), document.InvalidInput, "offset", ""},
		{"a date", issuesOf(`, "dateRange": {"date_from": "soon"}`), document.InvalidInput, "dateRange__date_from", ""},
		{"a filter", issuesOf(`, "properties": [{"key": "a", "value": 1, "operator": "near"}]`), document.InvalidChoice, "properties__0__operator", ""},
		{"a search", issuesOf(`, "searchQuery": "x"`), document.NotSupported, "searchQuery", ""},
		{"an assignee", issuesOf(`, "assignee": {"id": 1, "type": "user"}`), document.NotSupported, "assignee", ""},
		{"a group of filters", issuesOf(`, "filterGroup": {"type": "AND", "values": []}`), document.NotSupported, "filterGroup", ""},
	})
	if found != "" {
		t.Errorf("Find was called with %s", found)
	}
	statsSuite.CheckFaults(t, []querytest.Fault{{"a server without issues", issuesOf(""), document.NotSupported, "kind", "no error tracking"}})
	if _, err := issuesSuite(nil).Run(t, crashes, issuesOf(`, "volumeResolution": 1000`), port.Options{Memory: 4 * 24_399}); err == nil {
		t.Error("the volumes of four issues do not count against the memory")
	}
}
