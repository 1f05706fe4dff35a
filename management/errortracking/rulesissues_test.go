package errortracking_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestErrorTracking_More(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"reopened": reopenedRows, "suppressed": suppressedRows, "order keys": orderKeyRows, "found": foundRows, "changes at once": issueAtOnceRows, "the rule that was changed": changedRuleRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			calls := w.calls(t)
			// find returns the issues of a path of status, id and limit; - is an empty string.
			calls["find"] = func(scope *management.Scope, path, _ string) (any, error) {
				part := strings.Fields(path)
				for i := range part {
					if part[i] == "-" {
						part[i] = ""
					}
				}
				limit, err := strconv.Atoi(part[2])
				if err != nil {
					return nil, err
				}
				list, err := w.ErrorTracking.Find(t.Context(), scope, part[0], part[1], limit)
				names := []string{}
				for _, i := range list {
					names = append(names, i.Name)
				}
				return names, err
			}
			w.Run(t, calls, rows)
		})
	}
}

// An exception that reopens an issue is a new one for the rules, unless the issue is assigned.
var reopenedRows = []ruletest.Row{
	{"decision 24", "bob", "threw", exceptionProperties("A", "", `,"level":"info"`), `null`},
	{"decision 24", "bob", "issueof => a", ``, `{"assignee":null}`},
	{"§4.2", "bob", "create => it", `{"filters":` + when(error1) + `,"assignee":"user:1"}`, `{"assignee":"user:1"}`},
	{"§4.2 an issue that is open is not assigned", "bob", "threw", exceptionProperties("A", "", `,"level":"error"`), `null`},
	{"§4.2 an issue that is open is not assigned", "bob", "issue <a>", ``, `{"assignee":null,"count":2}`},
	{"decision 24 resolved", "bob", "changeissue <a>", `{"status":"resolved"}`, `{"status":"resolved"}`},
	{"decision 24 the exception that reopens it decides", "bob", "threw", exceptionProperties("A", "", `,"level":"info"`), `null`},
	{"decision 24 the exception that reopens it decides", "bob", "issue <a>", ``, `{"status":"active","assignee":null}`},
	{"decision 24 archived", "bob", "changeissue <a>", `{"status":"archived"}`, `{"status":"archived"}`},
	{"decision 24", "bob", "threw", exceptionProperties("A", "", `,"level":"error"`), `null`},
	{"decision 24", "bob", "issue <a>", ``, `{"status":"active","assignee":"user:1","count":4}`},
	{"§5.11 the follower writes no log", "bob", "log ErrorTrackingIssue <a>", ``, `{"user":{"first_name":"bob"},"detail":{"changes":[{"field":"status","before":"active","after":"archived"}]}}`},
	{"decision 24 the name is of the first exception", "bob", "changeissue <a>", `{"name":"Mine","status":"resolved"}`, `{"name":"Mine"}`},
	{"decision 24 the name that a user gave stays", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24 the name that a user gave stays", "bob", "issue <a>", ``, `{"name":"Mine","status":"active","assignee":"user:1"}`},
}

// A suppressed issue is not reopened and not assigned, and each of its exceptions counts.
var suppressedRows = []ruletest.Row{
	{"decision 24", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24", "bob", "issueof => a", ``, `{"status":"active"}`},
	{"decision 24", "bob", "changeissue <a>", `{"status":"suppressed"}`, `{"status":"suppressed"}`},
	{"§4.2", "bob", "create", `{"filters":` + always + `,"assignee":"user:1"}`, `{"assignee":"user:1"}`},
	{"decision 24", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24 not reopened, not assigned", "bob", "issue <a>", ``, `{"status":"suppressed","assignee":null,"count":2,"last_seen":"2026-01-02T12:00:05Z"}`},
	{"decision 24 in the list of its status", "bob", "issues suppressed", ``, `{"count":1}`},
	{"decision 24 in the list of its status", "bob", "issues active", ``, `{"count":0}`},
	{"decision 24 active again, by a user", "bob", "changeissue <a>", `{"status":"active"}`, `{"status":"active"}`},
	{"decision 24 is no new issue", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24 is no new issue", "bob", "issue <a>", ``, `{"status":"active","assignee":null,"count":3}`},
}

// order_key is an integer of 32 bits, as in PostHog's table.
var orderKeyRows = []ruletest.Row{
	{"§4.2", "bob", "create => a", filters(always), `{"order_key":0}`},
	{"§4.2", "bob", "create => b", filters(always), `{"order_key":0}`},
	{"§4.2 the greatest", "bob", "reorder", `{"orders":{"<a>":2147483647}}`, `null`},
	{"§4.2 one more", "bob", "reorder", `{"orders":{"<a>":2147483648}}`, `400 max_value orders__<a> Ensure this value is less than or equal to 2147483647.`},
	{"§4.2 the least", "bob", "reorder", `{"orders":{"<b>":-2147483647}}`, `null`},
	{"§4.2 too small", "bob", "reorder", `{"orders":{"<b>":-2147483649}}`, `400 min_value orders__<b>`},
	{"§4.2 in their order", "bob", "list", ``, `{"results":[{"id":"<b>","order_key":-2147483647},{"id":"<a>","order_key":2147483647}]}`},
	{"§4.2 a fraction", "bob", "reorder", `{"orders":{"<a>":1.5}}`, `400 invalid_input orders__<a> A valid integer is required.`},
	{"§4.2 a text of digits", "bob", "reorder", `{"orders":{"<a>":"-2147483647","<b>":"7"}}`, `null`},
	{"§4.2 a text of digits", "bob", "list", ``, `{"results":[{"id":"<a>","order_key":-2147483647},{"id":"<b>","order_key":7}]}`},
	{"§4.2 a bad key of an unknown rule is a fault, too", "bob", "reorder", `{"orders":{"` + nowhere + `":"first"}}`, `400 invalid_input orders__` + nowhere},
	{"§5.11 only those that were changed", "gus", "reorder", `{"orders":{"<a>":-2147483647,"<b>":8}}`, `null`},
	{"§5.11 only those that were changed", "bob", "log ErrorTrackingAssignmentRule <a>", ``, `{"user":{"first_name":"bob"}}`},
	{"§5.11 only those that were changed", "bob", "log ErrorTrackingAssignmentRule <b>", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"order_key","before":7,"after":8}]}}`},
}

// foundRows are about Find, which the ErrorTrackingQuery uses: the result is empty for an id
// that is unknown or of another status.
var foundRows = []ruletest.Row{
	{"decision 24", "bob", "threw", exceptionProperties("A", "", ""), `null`},
	{"decision 24", "bob", "issueof => a", ``, `{"name":"A"}`},
	{"decision 24", "bob", "threw", exceptionProperties("B", "", ""), `null`},
	{"decision 24", "bob", "threw", exceptionProperties("C", "", ""), `null`},
	{"decision 24", "bob", "changeissue <a>", `{"status":"resolved"}`, `{"status":"resolved"}`},
	{"the last seen first", "bob", "find - - 10", ``, `["C","B","A"]`},
	{"limit", "bob", "find - - 2", ``, `["C","B"]`},
	{"status", "bob", "find active - 10", ``, `["C","B"]`},
	{"status", "bob", "find resolved - 10", ``, `["A"]`},
	{"status", "bob", "find gone - 10", ``, `400 invalid_choice status "gone" is not a valid choice.`},
	{"an id", "bob", "find - <a> 10", ``, `["A"]`},
	{"an id and its status", "bob", "find resolved <a> 10", ``, `["A"]`},
	{"an id and another status", "bob", "find active <a> 10", ``, `[]`},
	{"an unknown id", "bob", "find - " + nowhere + " 10", ``, `[]`},
	{"no id", "bob", "find - 7 10", ``, `[]`},
	{"§1.5 another project's", "dan", "find - <a> 10", ``, `[]`},
}

var issueAtOnceRows = []ruletest.Row{
	{"decision 24", "bob", "threw", exceptionProperties("A", "m", ""), `null`},
	{"decision 24", "bob", "issueof => a", ``, `{"name":"A"}`},
	{"§2.1 one bad member: nothing is changed", "bob", "changeissue <a>", `{"name":"x","status":"resolved","assignee":{"type":"user","id":99}}`, `400 does_not_exist assignee__id Invalid pk "99" - object does not exist.`},
	{"§2.1 one bad member: nothing is changed", "bob", "issue <a>", ``, `{"name":"A","status":"active","assignee":null}`},
	{"§2.2 description", "bob", "changeissue <a>", `{"description":` + chars(4000) + `}`, `{"description":` + chars(4000) + `}`},
	{"§2.2 description", "bob", "changeissue <a>", `{"description":` + chars(4001) + `}`, `400 max_length description Ensure this field has no more than 4000 characters.`},
	{"§2.2 description", "bob", "changeissue <a>", `{"description":null}`, `400 null description This field may not be null.`},
	{"§2.1 the first in the order of the fields", "bob", "changeissue <a>", `{"assignee":7,"status":"gone","name":[]}`, `400 invalid_input name Not a valid string.`},
	{"decision 24 all of them", "cyd", "changeissue <a>", `{"name":"x","description":"y","status":"archived","assignee":"user:1"}`, `{"name":"x","description":"y","status":"archived","assignee":"user:1"}`},
	{"§5.11", "bob", "log ErrorTrackingIssue <a>", ``, `{"user":{"first_name":"cyd"},"detail":{"name":"x","changes":[{"field":"assignee","after":"user:1"},{"field":"description","after":"y"},{"field":"name","before":"A","after":"x"},{"field":"status","before":"active","after":"archived"}]}}`},
	{"A7 the form of the answers", "bob", "changeissue <a>", `{"assignee":"user:x"}`, wantsID},
	{"A7 the form of the answers", "bob", "changeissue <a>", `{"assignee":"role:1"}`, `400 invalid_input assignee__id Role assignee IDs must be UUIDs.`},
	{"A7 the form of the answers", "bob", "changeissue <a>", `{"assignee":":1"}`, `400 invalid_choice assignee__type`},
	{"A7 the form of the answers", "bob", "changeissue <a>", `{"assignee":[]}`, `400 invalid_input assignee Invalid data. Expected a dictionary, but got list.`},
	{"§2.2 a body that is no object", "bob", "changeissue <a>", `[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
}

// A change of a rule applies to the issues after it.
var changedRuleRows = []ruletest.Row{
	{"§4.2", "bob", "create => it", `{"filters":` + when(error1) + `,"assignee":"user:1"}`, `{"assignee":"user:1"}`},
	{"§4.2", "bob", "threw", exceptionProperties("A", "", `,"level":"info"`), `null`},
	{"§4.2", "bob", "issueof => a", ``, `{"assignee":null}`},
	{"§4.2 other filters", "bob", "change <it>", filters(when(`{"type":"event","key":"level","value":"info"}`)), `null`},
	{"§4.2 of those that come", "bob", "issue <a>", ``, `{"assignee":null}`},
	{"§4.2 of those that come", "bob", "threw", exceptionProperties("B", "", `,"level":"info"`), `null`},
	{"§4.2 of those that come", "bob", "issueof => b", ``, `{"name":"B","assignee":"user:1"}`},
	{"§4.2 another assignee", "bob", "change <it>", `{"assignee":"user:2"}`, `null`},
	{"§4.2 what is assigned stays", "bob", "issue <b>", ``, `{"assignee":"user:1"}`},
	{"§4.2 deleted", "bob", "delete <it>", ``, `null`},
	{"§4.2 what is assigned stays", "bob", "issue <b>", ``, `{"assignee":"user:1"}`},
	{"§4.2 a refused change changes nothing", "bob", "create => other", `{"filters":` + always + `,"assignee":"user:2"}`, `{"assignee":"user:2"}`},
	{"§4.2 a refused change changes nothing", "bob", "change <other>", `{"filters":` + when(error1) + `,"assignee":"user:99"}`, `400 does_not_exist assignee__id`},
	{"§4.2 a refused change changes nothing", "bob", "get <other>", ``, `{"filters":` + always + `,"assignee":"user:2"}`},
}

// Exceptions are grouped by their fingerprints (decision 24), which are compared in pairs.
func TestErrorTracking_Fingerprint(t *testing.T) {
	const frame, lib = `{"filename":"a.go","function":"f","in_app":true}`, `{"filename":"lib.go","function":"g","in_app":false}`
	list := func(items ...string) string { return `{"$exception_list":[` + strings.Join(items, ",") + `]}` }
	item := func(kind, value string, frames ...string) string {
		return `{"type":"` + kind + `","value":"` + value + `","stacktrace":{"type":"resolved","frames":[` + strings.Join(frames, ",") + `]}}`
	}
	for _, c := range []struct {
		what, a, b string
		same       bool
	}{
		{"frames of libraries are left out", list(item("E", "m", frame, lib)), list(item("E", "m", frame)), true},
		{"the order of frames", list(item("E", "m", frame, strings.Replace(frame, `"f"`, `"h"`, 1))), list(item("E", "m", strings.Replace(frame, `"f"`, `"h"`, 1), frame)), false},
		{"a frame more", list(item("E", "m", frame, frame)), list(item("E", "m", frame)), false},
		{"the column and the line", list(item("E", "m", `{"filename":"a.go","function":"f","in_app":true,"lineno":1,"colno":2}`)), list(item("E", "m", frame)), true},
		{"frames of the cause only: the message of neither counts", list(item("E", "m"), item("C", "x", frame)), list(item("E", "n"), item("C", "y", frame)), true},
		{"the type of the cause", list(item("E", "m"), item("C", "x", frame)), list(item("E", "m"), item("D", "x", frame)), false},
		{"of which exception a frame is", list(item("E", "m", frame), item("E", "m")), list(item("E", "m"), item("E", "m", frame)), false},
		{"no frames: the message of the cause", list(item("E", "m"), item("C", "x")), list(item("E", "m"), item("C", "y")), false},
		{"the order of the exceptions", list(item("E", "m"), item("C", "x")), list(item("C", "x"), item("E", "m")), false},
		{"type and message are not mixed up", list(item("a", "b")), list(item("b", "a")), false},
		{"a file is no function", list(item("E", "m", `{"filename":"x","in_app":true}`)), list(item("E", "m", `{"function":"x","in_app":true}`)), false},
		{"the client's own goes before all", `{"$exception_fingerprint":"mine",` + list(item("E", "m", frame))[1:], `{"$exception_fingerprint":"mine",` + list(item("F", "n"))[1:], true},
		{"the client's own", `{"$exception_fingerprint":"mine"}`, `{"$exception_fingerprint":"Mine"}`, false},
		{"one that is no text", `{"$exception_fingerprint":["mine"],` + list(item("E", "m"))[1:], list(item("E", "m")), true},
		{"the list goes before the properties of old SDKs", `{"$exception_type":"Old","$exception_message":"x",` + list(item("E", "m"))[1:], list(item("E", "m")), true},
		{"an empty list", `{"$exception_type":"Old","$exception_message":"x","$exception_list":[]}`, `{"$exception_type":"Old","$exception_message":"x"}`, true},
		{"other properties", `{"url":"/a",` + list(item("E", "m"))[1:], `{"url":"/b",` + list(item("E", "m"))[1:], true},
	} {
		a, b := errortracking.Fingerprint(c.a), errortracking.Fingerprint(c.b)
		if (a == b) != c.same {
			t.Errorf("%s: the same is %v", c.what, a == b)
		}
	}
}

// An issue is of the exceptions of a project with one fingerprint, also if one transaction reads
// exceptions of several projects and issues. An exception of a deleted project has no issue.
func TestErrorTracking_OneTransaction(t *testing.T) {
	w := newWorld(t)
	calls := w.calls(t)
	w.Run(t, calls, []ruletest.Row{
		{"§4.2", "bob", "create", `{"filters":` + when(`{"type":"error_tracking_issue","key":"name","value":"A"}`) + `,"assignee":"user:1"}`, `{"assignee":"user:1"}`},
		{"§4.2", "dan", "create", `{"filters":` + always + `,"assignee":"user:4"}`, `{"assignee":"user:4"}`},
	})
	for _, e := range []struct {
		project int64
		name    string
	}{{1, "A"}, {2, "A"}, {1, "B"}, {99, "A"}, {1, "A"}, {2, "B"}, {1, "B"}, {1, "B"}} {
		w.Clock = w.Clock.Add(time.Second)
		w.addException(e.project, exceptionProperties(e.name, "", ""), "")
	}
	if err := w.follow(t); err != nil {
		t.Fatal(err)
	}
	w.Run(t, calls, []ruletest.Row{
		{"decision 24", "bob", "issues", ``, `{"count":2,"results":[{"name":"B","count":3,"assignee":null,"first_seen":"2026-01-02T12:00:05Z","last_seen":"2026-01-02T12:00:10Z"},{"name":"A","count":2,"assignee":"user:1","first_seen":"2026-01-02T12:00:03Z","last_seen":"2026-01-02T12:00:07Z"}]}`},
		{"decision 24", "dan", "issues", ``, `{"count":2,"results":[{"name":"B","count":1,"assignee":"user:4"},{"name":"A","count":1,"assignee":"user:4"}]}`},
	})
	err := w.Store.Read(t.Context(), func(tx rooms.Tx) error {
		_, n, err := tx.List(management.Query{Kind: "issue", Parent: management.ProjectParent(99)})
		if n != 0 {
			t.Errorf("%d issues of a project that does not exist", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
