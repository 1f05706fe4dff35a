package errortracking_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Exceptions create issues (decision 24), and rules assign these (§4.2).
func TestErrorTracking_Issues(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"making": issueRows, "changing": changeIssueRows, "lists": issueListRows, "states": stateRows, "assigning": assigningRows,
		"failing rules": failingRows, "log": issueLogRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Run(t, w.calls(t), rows)
		})
	}
}

var issueRows = []ruletest.Row{
	{"decision 24", "bob", "threw", `{"$exception_list":[{"type":"TypeError","value":"x is not a function"},{"type":"Cause","value":"y"}]}`, `null`},
	{"decision 24", "bob", "issueof => it", ``, `{"id":"(like) ^[0-9a-f-]{36}$","fingerprint":"(like) ^[0-9a-f]{64}$","name":"TypeError","description":"x is not a function","status":"active","assignee":null,
		"first_seen":"2026-01-02T12:00:01Z","last_seen":"2026-01-02T12:00:01Z","count":1}`},
	{"decision 24 again", "bob", "threw", `{"$exception_list":[{"type":"TypeError","value":"x is not a function"},{"type":"Cause","value":"y"}]}`, `null`},
	{"decision 24 one issue", "bob", "issues", ``, `{"count":1,"results":[{"id":"<it>","count":2,"first_seen":"2026-01-02T12:00:01Z","last_seen":"2026-01-02T12:00:03Z"}]}`},
	{"decision 24 another message without frames", "bob", "threw", exceptionProperties("TypeError", "z is not a function", ""), `null`},
	{"decision 24 is another issue, seen last first", "bob", "issues", ``, `{"count":2,"results":[{"description":"z is not a function"},{"id":"<it>"}]}`},
	{"decision 24 the client's fingerprint", "bob", "threw", exceptionProperties("A", "1", `,"$exception_fingerprint":"mine"`), `null`},
	{"decision 24 the client's fingerprint", "bob", "threw", exceptionProperties("B", "2", `,"$exception_fingerprint":"mine"`), `null`},
	{"decision 24 is taken as it is; the first gives the name", "bob", "issues", `{"Limit":1}`, `{"count":3,"results":[{"fingerprint":"mine","name":"A","description":"1","count":2}]}`},
	{"capture §12.6 an old SDK", "bob", "threw", `{"$exception_type":"Old","$exception_message":"hello"}`, `null`},
	{"capture §12.6 an old SDK", "bob", "issueof", ``, `{"name":"Old","description":"hello"}`},
	{"decision 24 nothing is said", "bob", "threw", `{}`, `null`},
	{"decision 24 nothing is said", "bob", "issueof", ``, `{"name":"","description":"","count":1}`},
	{"decision 24 what cannot be read", "bob", "threw", `{"$exception_list":"x"}`, `null`},
	{"decision 24 what cannot be read is the same nothing", "bob", "issueof", ``, `{"name":"","count":2}`},
	{"decision 24 issues are of a project", "dan", "threw", exceptionProperties("A", "1", `,"$exception_fingerprint":"mine"`), `null`},
	{"decision 24 issues are of a project", "dan", "issues", ``, `{"count":1,"results":[{"fingerprint":"mine","count":1}]}`},
	{"§1.5 another project's", "dan", "issue <it>", ``, notFound},
	{"§1.5 another project's", "dan", "changeissue <it>", `{"name":"x"}`, notFound},
	{"§2.2 unknown", "bob", "issue " + nowhere, ``, notFound},
	{"§2.2 no UUID", "bob", "issue 7", ``, notFound},
	{"§2.2 unknown", "bob", "changeissue " + nowhere, `{}`, notFound},
}

var changeIssueRows = []ruletest.Row{
	{"decision 24", "bob", "threw", exceptionProperties("E", "m", ""), `null`},
	{"decision 24", "bob", "issueof => it", ``, `{"name":"E"}`},
	{"decision 24 name", "bob", "changeissue <it>", `{"name":"Boom"}`, `{"name":"Boom","description":"m","status":"active"}`},
	{"decision 24 description", "bob", "changeissue <it>", `{"description":""}`, `{"name":"Boom","description":""}`},
	{"decision 24 what is not said stays", "cyd", "issue <it>", ``, `{"id":"<it>","name":"Boom","description":"","count":1}`},
	{"decision 24 exceptions keep the name", "bob", "threw", exceptionProperties("E", "m", ""), `null`},
	{"decision 24 exceptions keep the name", "bob", "issue <it>", ``, `{"name":"Boom","count":2}`},
	{"decision 24 status", "bob", "changeissue <it>", `{"status":"resolved"}`, `{"status":"resolved"}`},
	{"decision 24 status", "bob", "changeissue <it>", `{"status":"suppressed"}`, `{"status":"suppressed"}`},
	{"decision 24 status", "bob", "changeissue <it>", `{"status":"archived"}`, `{"status":"archived"}`},
	{"decision 24 status", "bob", "changeissue <it>", `{"status":"active"}`, `{"status":"active"}`},
	{"§2.2 status", "bob", "changeissue <it>", `{"status":"gone"}`, `400 invalid_choice status "gone" is not a valid choice.`},
	{"§2.2 status", "bob", "changeissue <it>", `{"status":null}`, `400 null status This field may not be null.`},
	{"§2.2 name", "bob", "changeissue <it>", `{"name":null}`, `400 null name This field may not be null.`},
	{"§2.2 name", "bob", "changeissue <it>", `{"name":` + chars(400) + `}`, `{"name":` + chars(400) + `}`},
	{"§2.2 name", "bob", "changeissue <it>", `{"name":` + chars(401) + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
	{"decision 24 assignee", "bob", "changeissue <it>", `{"assignee":{"type":"user","id":` + number("cyd") + `}}`, `{"assignee":"user:` + number("cyd") + `"}`},
	{"§4.2 assignee", "bob", "changeissue <it>", `{"assignee":{"type":"user","id":true}}`, wantsID},
	{"§4.2 assignee", "bob", "changeissue <it>", `{"assignee":{"type":"group","id":1}}`, `400 invalid_choice assignee__type "group" is not a valid choice.`},
	{"§4.2 assignee", "bob", "changeissue <it>", `{"assignee":{"type":"user","id":` + number("dan") + `}}`, `400 does_not_exist assignee__id`},
	{"decision 24 nobody", "bob", "changeissue <it>", `{"assignee":null}`, `{"assignee":null}`},
	{"decision 24 read-only", "bob", "changeissue <it>", `{"count":99,"fingerprint":"x","first_seen":"2020-01-01T00:00:00Z","id":"` + nowhere + `"}`, `{"id":"<it>","count":2,"first_seen":"2026-01-02T12:00:01Z","fingerprint":"(like) ^[0-9a-f]{64}$"}`},
}

// chars returns a JSON string of n characters.
func chars(n int) string { return `"` + strings.Repeat("ä", n) + `"` }

var issueListRows = []ruletest.Row{
	{"decision 24", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24", "bob", "issueof => a", ``, `{"name":"A"}`},
	{"decision 24", "bob", "threw", exceptionProperties("B", "", ""), `null`},
	{"decision 24", "bob", "issueof => b", ``, `{"name":"B"}`},
	{"decision 24", "bob", "threw", exceptionProperties("C", "", ""), `null`},
	{"decision 24", "bob", "changeissue <b>", `{"status":"resolved"}`, `{"status":"resolved"}`},
	{"decision 24 of a status", "bob", "issues resolved", ``, `{"count":1,"results":[{"name":"B"}]}`},
	{"decision 24 of a status", "bob", "issues active", ``, `{"count":2,"results":[{"name":"C"},{"name":"A"}]}`},
	{"decision 24 of a status", "bob", "issues suppressed", ``, `{"count":0,"results":[]}`},
	{"§2.2 of a status that there is not", "bob", "issues gone", ``, `400 invalid_choice status "gone" is not a valid choice.`},
	{"decision 24 seen again", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24 seen last first", "bob", "issues", ``, `{"count":3,"results":[{"name":"A"},{"name":"C"},{"name":"B"}]}`},
	{"§3 limit and offset", "bob", "issues", `{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"name":"C"}]}`},
	{"§3 beyond the end", "bob", "issues", `{"Offset":3}`, `{"count":3,"results":[]}`},
}

// An exception reopens resolved and archived issues. Suppressed issues remain suppressed.
var stateRows = []ruletest.Row{
	{"decision 24", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24", "bob", "issueof => a", ``, `{"status":"active"}`},
	{"decision 24 resolved", "bob", "changeissue <a>", `{"status":"resolved"}`, `{"status":"resolved"}`},
	{"decision 24 comes back", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24 comes back", "bob", "issue <a>", ``, `{"status":"active","count":2}`},
	{"decision 24 archived", "bob", "changeissue <a>", `{"status":"archived"}`, `{"status":"archived"}`},
	{"decision 24 comes back", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24 comes back", "bob", "issue <a>", ``, `{"status":"active","count":3}`},
	{"decision 24 suppressed", "bob", "changeissue <a>", `{"status":"suppressed"}`, `{"status":"suppressed"}`},
	{"decision 24 stays so", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24 stays so, and counts", "bob", "issue <a>", ``, `{"status":"suppressed","count":4,"last_seen":"2026-01-02T12:00:10Z"}`},
}

// Rules are tried in ascending order_key, the first match assigns, and an assignment is never
// replaced (§4.2). An operator has the same meaning as in flags, where a date without an offset is
// in the project's time zone (decision 40, spec/flags.md §4.7): midnight in Berlin is 23:00 UTC.
func TestErrorTracking_DatesOfTheProject(t *testing.T) {
	w := newWorld(t)
	w.InZone(t, "Europe/Berlin")
	w.Run(t, w.calls(t), []ruletest.Row{
		{"decision 40", "bob", "create", `{"filters":` + when(`{"type":"event","key":"at","operator":"is_date_before","value":"2026-01-02"}`) + `,"assignee":{"type":"user","id":1}}`, `{"assignee":"user:1"}`},
		{"before midnight", "bob", "threw", exceptionProperties("A", "", `,"at":"2026-01-01T22:59:59Z"`), `null`},
		{"before midnight", "bob", "issueof", ``, `{"name":"A","assignee":"user:1"}`},
		{"after midnight", "bob", "threw", exceptionProperties("B", "", `,"at":"2026-01-01T23:00:01Z"`), `null`},
		{"after midnight", "bob", "issueof", ``, `{"name":"B","assignee":null}`},
	})
}

var assigningRows = []ruletest.Row{
	{"§4.2", "bob", "create => errors", `{"filters":` + when(error1) + `,"assignee":{"type":"user","id":1}}`, `{"assignee":"user:1"}`},
	{"§4.2", "bob", "create => all", `{"filters":` + always + `,"assignee":{"type":"user","id":2}}`, `{"assignee":"user:2"}`},
	{"§4.2 the first that matches", "bob", "threw", exceptionProperties("A", "", `,"level":"error"`), `null`},
	{"§4.2 the first that matches", "bob", "issueof => a", ``, `{"assignee":"user:1"}`},
	{"§4.2 else the next", "bob", "threw", exceptionProperties("B", "", `,"level":"info"`), `null`},
	{"§4.2 else the next", "bob", "issueof", ``, `{"assignee":"user:2"}`},
	{"§4.2 by order_key", "bob", "reorder", `{"orders":{"<errors>":9}}`, `null`},
	{"§4.2 by order_key", "bob", "threw", exceptionProperties("C", "", `,"level":"error"`), `null`},
	{"§4.2 by order_key", "bob", "issueof => c", ``, `{"assignee":"user:2"}`},
	{"§4.2 never overwritten", "bob", "changeissue <a>", `{"assignee":{"type":"user","id":3}}`, `{"assignee":"user:3"}`},
	{"§4.2 never overwritten", "bob", "changeissue <a>", `{"status":"resolved"}`, `{"assignee":"user:3"}`},
	{"§4.2 never overwritten", "bob", "threw", exceptionProperties("A", "", `,"level":"error"`), `null`},
	{"§4.2 never overwritten", "bob", "issue <a>", ``, `{"status":"active","assignee":"user:3"}`},
	{"§4.2 only when an issue is new", "bob", "changeissue <c>", `{"assignee":null}`, `{"assignee":null}`},
	{"§4.2 only when an issue is new", "bob", "threw", exceptionProperties("C", "", ``), `null`},
	{"§4.2 only when an issue is new", "bob", "issue <c>", ``, `{"assignee":null,"count":2}`},
	{"A8 a rule without an assignee", "bob", "change <all>", `{"assignee":null}`, `null`},
	{"A8 matches, assigns nobody, and ends it", "bob", "threw", exceptionProperties("D", "", `,"level":"error"`), `null`},
	{"A8 matches, assigns nobody, and ends it", "bob", "issueof", ``, `{"name":"D","assignee":null}`},
	{"§4.2 none", "bob", "delete <all>", ``, `null`},
	{"§4.2 none", "bob", "threw", exceptionProperties("E", "", ``), `null`},
	{"§4.2 none", "bob", "issueof", ``, `{"name":"E","assignee":null}`},
	{"§4.2 of the project", "dan", "threw", exceptionProperties("A", "", `,"level":"error"`), `null`},
	{"§4.2 of the project", "dan", "issueof", ``, `{"name":"A","assignee":null}`},
}

const spoiled = `{"type":"AND","values":[{"type":"hogql","key":"1"}]}`

// §4.2, §7: a rule that cannot be evaluated is disabled, and the next one is tried.
var failingRows = []ruletest.Row{
	{"§4.2", "bob", "create => bad", `{"filters":` + always + `,"assignee":{"type":"user","id":1}}`, `{"assignee":"user:1"}`},
	{"§4.2", "bob", "create => good", `{"filters":` + always + `,"assignee":{"type":"user","id":2}}`, `{"assignee":"user:2"}`},
	{"§4.2 what cannot be evaluated", "bob", "spoil <bad>", spoiled, `null`},
	{"§4.2 the next is tried", "bob", "threw", exceptionProperties("A", "m", `,"level":"error"`), `null`},
	{"§4.2 the next is tried", "bob", "issueof", ``, `{"assignee":"user:2"}`},
	{"§4.2 message, issue and props", "bob", "get <bad>", ``, `{"disabled_data":{"message":"(like) hogql","issue":{"status":"active","name":"A","description":"m"},"props":{"level":"error","$exception_list":[{"type":"A","value":"m"}]}}}`},
	{"§4.2 the other is in use", "bob", "get <good>", ``, `{"disabled_data":null}`},
	{"§4.2 it is not tried any more", "bob", "threw", exceptionProperties("B", "n", ""), `null`},
	{"§4.2 it is not tried any more", "bob", "get <bad>", ``, `{"disabled_data":{"issue":{"name":"A"}}}`},
	{"§4.2 a system actor", "bob", "log ErrorTrackingAssignmentRule <bad>", ``, `{"activity":"updated","user":{"first_name":"System","email":null,"is_system":true},"detail":{"changes":[{"field":"disabled_data","before":null}]}}`},
	{"§7 another assignee does not put it into use", "bob", "change <bad>", `{"assignee":{"type":"user","id":3}}`, `null`},
	{"§7 another assignee does not put it into use", "bob", "get <bad>", ``, `{"assignee":"user:3","disabled_data":{"issue":{"name":"A"}}}`},
	{"§7 other filters do", "bob", "change <bad>", filters(always), `null`},
	{"§7 other filters do", "bob", "get <bad>", ``, `{"disabled_data":null}`},
	{"§7 other filters do", "bob", "threw", exceptionProperties("C", "", ""), `null`},
	{"§7 other filters do", "bob", "issueof", ``, `{"name":"C","assignee":"user:3"}`},
	{"§4.2 properties that are too large to keep", "bob", "spoil <bad>", spoiled, `null`},
	{"§4.2 properties that are too large to keep", "bob", "threw", exceptionProperties("D", "", `,"much":"`+strings.Repeat("x", 64<<10)+`"`), `null`},
	{"§4.2 properties that are too large to keep", "bob", "get <bad>", ``, `{"disabled_data":{"issue":{"name":"D"},"props":{}}}`},
}

var issueLogRows = []ruletest.Row{
	{"§5.11", "bob", "threw", exceptionProperties("A", "m", ""), `null`},
	{"§5.11", "bob", "issueof => it", ``, `{"name":"A"}`},
	{"§5.11 exceptions are no changes", "bob", "log ErrorTrackingIssue <it>", ``, `null`},
	{"§5.11 updated", "cyd", "changeissue <it>", `{"assignee":{"type":"user","id":1}}`, `{"assignee":"user:1"}`},
	{"§5.11 updated", "bob", "log ErrorTrackingIssue <it>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"A","changes":[{"field":"assignee","before":null,"after":"user:1"}]}}`},
	{"§5.11 resolved", "gus", "changeissue <it>", `{"status":"resolved"}`, `{"status":"resolved"}`},
	{"§5.11 resolved", "bob", "log ErrorTrackingIssue <it>", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"status","before":"active","after":"resolved"}]}}`},
}

// Filters of events, persons and issues have the operators of §4.2 and spec/flags.md §4, and those
// of lists follow spec/clients.md §17. Each filter is that of a rule, applied to one exception.
func TestErrorTracking_Operators(t *testing.T) {
	const (
		properties = `{"$exception_list":[{"type":"TypeError","value":"x is not a function"}],"$exception_types":["TypeError","RangeError"],"$exception_sources":[],"level":"error","n":5,"when":"2026-01-02T00:00:00Z","on":true,"$feature/beta":"test"}`
		person     = `{"plan":"pro","age":"30","teams":["red","blue"]}`
	)
	for name, cases := range map[string]map[string]bool{
		"§4.2 exact with a list means any": {
			`event level exact "error"`: true, `event level exact "info"`: false, `event level exact ["info","error"]`: true, `event level exact []`: false, `event on exact "true"`: true,
		},
		"§4.2 is_not with a list means none": {
			`event level is_not "info"`: true, `event level is_not ["info","error"]`: false, `event none is_not "x"`: true,
		},
		"§4.2 in, not_in":            {`event level in ["error"]`: true, `event level in ["info"]`: false, `event level not_in ["info"]`: true, `event level not_in ["error"]`: false},
		"§4.2 contains, in any case": {`event level icontains "RR"`: true, `event level icontains "x"`: false, `event level not_icontains "RR"`: false, `event level not_icontains "x"`: true},
		"§4.2 patterns":              {`event level regex "^err"`: true, `event level regex "^rr"`: false, `event level not_regex "^rr"`: true, `event level not_regex "^err"`: false},
		"§4.2 numbers": {
			`event n gt 4`: true, `event n gt 5`: false, `event n gte 5`: true, `event n gte 6`: false, `event n lt 6`: true, `event n lt 5`: false, `event n lte 5`: true, `event n lte 4`: false,
			`person age gt 9`: true, `event none gt 1`: false,
		},
		"§4.2 ranges":   {`event n between [5,6]`: true, `event n between [6,7]`: false, `event n not_between [6,7]`: true, `event n min 5`: true, `event n min 6`: false, `event n max 5`: true, `event n max 4`: false},
		"§4.2 presence": {`event level is_set null`: true, `event none is_set null`: false, `event level is_not_set null`: false, `event none is_not_set null`: true, `person level is_set null`: false},
		"§4.2 dates": {
			`event when is_date_before "2026-01-03"`: true, `event when is_date_before "2026-01-01"`: false, `event when is_date_after "2026-01-01"`: true, `event when is_date_after "2026-01-02"`: false,
			`event when is_date_exact "2026-01-02"`: true, `event when is_date_exact "2026-01-03"`: false,
		},
		"§4.2 of a person":  {`person plan exact "pro"`: true, `person plan exact "free"`: false, `event plan exact "pro"`: false},
		"§4.2 of a feature": {`feature $feature/beta exact "test"`: true, `feature $feature/beta exact "control"`: false, `feature $feature/other is_set null`: false},
		"§4.2 of the issue": {
			`error_tracking_issue status exact "active"`: true, `error_tracking_issue status exact "resolved"`: false, `error_tracking_issue name exact "TypeError"`: true,
			`error_tracking_issue description icontains "function"`: true, `error_tracking_issue description icontains "method"`: false,
		},
		"clients §17 any element, none": {
			`event $exception_types exact ["TypeError"]`: true, `event $exception_types exact "RangeError"`: true, `event $exception_types exact "Error"`: false,
			`event $exception_types is_not ["Error"]`: true, `event $exception_types is_not "RangeError"`: false,
			`event $exception_types icontains "range"`: true, `event $exception_types not_icontains "range"`: false, `event $exception_types regex "^Range"`: true, `event $exception_types not_regex "^Syntax"`: true,
			`person teams exact "blue"`: true, `person teams not_in ["green"]`: true,
		},
		"clients §17 an empty list is not set": {`event $exception_sources is_set null`: false, `event $exception_sources is_not_set null`: true, `event $exception_types is_set null`: true},
	} {
		t.Run(name, func(t *testing.T) {
			for text, want := range cases {
				w := newWorld(t)
				scope := w.Scope(t, "bob")
				part := strings.SplitN(text, " ", 4)
				body := fmt.Sprintf(`{"filters":%s,"assignee":"user:1"}`, when(fmt.Sprintf(`{"type":%q,"key":%q,"operator":%q,"value":%s}`, part[0], part[1], part[2], part[3])))
				if _, err := w.ErrorTracking.CreateRule(t.Context(), scope, ruletest.Body(t, body)); err != nil {
					t.Errorf("%s: %v", text, err)
					continue
				}
				w.addException(ruletest.Project, properties, person)
				if err := w.follow(t); err != nil {
					t.Fatal(err)
				}
				list, err := w.ErrorTracking.Issues(t.Context(), scope, "", management.Page{Limit: 1})
				if err != nil || (list.Results[0].Assignee != nil) != want {
					t.Errorf("%s: %+v, %v", text, list.Results, err)
				}
			}
		})
	}
}

// Follow continues at its stored position: no exception counts two times, also with several
// servers, and an error of the log changes no data.
func TestErrorTracking_Follow(t *testing.T) {
	w := newWorld(t)
	scope := w.Scope(t, "bob")
	issue := func() errortracking.Issue {
		t.Helper()
		list, err := w.ErrorTracking.Issues(t.Context(), scope, "", management.Page{Limit: 1})
		if err != nil || len(list.Results) != 1 {
			t.Fatal(list, err)
		}
		return list.Results[0]
	}
	for range 1200 { // more than one transaction reads
		w.addException(ruletest.Project, exceptionProperties("E", "m", ""), "")
	}
	w.addException(99, exceptionProperties("E", "m", ""), "") // of a deleted project
	if err := w.follow(t); err != nil {
		t.Fatal(err)
	}
	if err := w.follow(t); err != nil || issue().Count != 1200 {
		t.Errorf("%d exceptions, %v", issue().Count, err)
	}
	w.addException(ruletest.Project, exceptionProperties("E", "m", ""), "")
	w.log.err = errors.New("the disk is gone")
	if err := w.follow(t); !errors.Is(err, w.log.err) || issue().Count != 1200 {
		t.Errorf("%d exceptions, %v", issue().Count, err)
	}
	w.log.err = nil
	if err := w.follow(t); err != nil || issue().Count != 1201 {
		t.Errorf("%d exceptions, %v", issue().Count, err)
	}
	w.ErrorTracking.Events = nil
	if more, err := w.ErrorTracking.Follow(t.Context()); more || err != nil {
		t.Error("without a log:", more, err)
	}
}

// Exceptions may be recorded in another order than that of their times. FirstSeen and LastSeen are
// times of the events, and an exception from before a change of the status does not revert it.
func TestErrorTracking_Late(t *testing.T) {
	w := newWorld(t)
	calls := w.calls(t)
	calls["happened"] = func(scope *management.Scope, ago, _ string) (any, error) {
		by, err := time.ParseDuration(ago)
		if err != nil {
			return nil, err
		}
		w.addException(scope.Project.ID, exceptionProperties("A", "", ""), "")
		last := &w.log.events[len(w.log.events)-1]
		last.Timestamp = last.Timestamp.Add(-by)
		return nil, w.follow(t)
	}
	w.Run(t, calls, []ruletest.Row{
		{"decision 24", "bob", "happened 1h", ``, `null`},
		{"decision 24", "bob", "happened 3h", ``, `null`},
		{"decision 24", "bob", "happened 2h", ``, `null`},
		{"decision 24 first_seen, last_seen", "bob", "issueof => a", ``, `{"count":3,"first_seen":"2026-01-02T09:00:02Z","last_seen":"2026-01-02T11:00:01Z"}`},
		{"decision 24", "bob", "changeissue <a>", `{"status":"resolved"}`, `{"status":"resolved"}`},
		{"decision 24 of before it was resolved", "bob", "happened 1m", ``, `null`},
		{"decision 24 of before it was resolved", "bob", "issue <a>", ``, `{"status":"resolved","count":4,"last_seen":"2026-01-02T11:59:06Z"}`},
		{"decision 24 of after it was resolved", "bob", "happened 1s", ``, `null`},
		{"decision 24 of after it was resolved", "bob", "issue <a>", ``, `{"status":"active","count":5}`},
	})
}

// A long name or description of a new issue is cut instead of rejected.
func TestErrorTracking_LongTitles(t *testing.T) {
	w := newWorld(t)
	w.addException(ruletest.Project, exceptionProperties(strings.Repeat("ä", 401), strings.Repeat("b", 4001), ""), "")
	if err := w.follow(t); err != nil {
		t.Fatal(err)
	}
	list, err := w.ErrorTracking.Issues(t.Context(), w.Scope(t, "bob"), "", management.Page{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if i := list.Results[0]; i.Name != strings.Repeat("ä", 400) || i.Description != strings.Repeat("b", 4000) {
		t.Errorf("%d and %d", len(i.Name), len(i.Description))
	}
}

// §4.2: rules are applied when an issue is created and not for its next exception, even if one
// transaction reads both.
func TestErrorTracking_RulesTriedOnce(t *testing.T) {
	w := newWorld(t)
	scope := w.Scope(t, "bob")
	if _, err := w.ErrorTracking.CreateRule(t.Context(), scope, ruletest.Body(t, `{"filters":`+when(error1)+`,"assignee":"user:1"}`)); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"info", "error"} {
		w.addException(ruletest.Project, exceptionProperties("A", "m", `,"level":"`+level+`"`), "")
	}
	if err := w.follow(t); err != nil {
		t.Fatal(err)
	}
	list, err := w.ErrorTracking.Issues(t.Context(), scope, "", management.Page{Limit: 2})
	if err != nil || list.Count != 1 || list.Results[0].Count != 2 || list.Results[0].Assignee != nil {
		t.Errorf("%+v, %v", list, err)
	}
}
