package management_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// feedCalls are logCalls and controlCalls, with the feed of changes.
func feedCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	calls := controlCalls(t, w)
	for name, call := range logCalls(t, w) {
		calls[name] = call
	}
	// feed returns the changes after the position of its path.
	calls["feed"] = func(scope callScope, path, _ string) (any, error) {
		var position int64
		if _, err := fmt.Sscan(path, &position); err != nil {
			return nil, err
		}
		list, next, err := w.ChangesAfter(t.Context(), scope, position)
		changes := []any{}
		for _, c := range list {
			user := "nobody"
			if c.User != nil {
				user = *c.User
			}
			changes = append(changes, map[string]any{"text": fmt.Sprint(c.Position, " ", c.Activity, " ", c.Scope, " ", c.ItemID, " by ", user), "version": c.Version, "at": c.Time})
		}
		return map[string]any{"next": next, "changes": changes}, err
	}
	return calls
}

func TestActivityLog_Rules(t *testing.T) {
	runTables(t, feedCalls, map[string][]ruletest.Row{"hidden objects": hiddenRows, "hidden kinds": hiddenKindRows, "own objects": ownObjectRows, "fields": trimmedRows, "feed": feedRows, "hidden in the feed": hiddenFeedRows})
}

// clients.md §11.3: without access an object is missing, also from the log. Line 1 of the log is the
// creation of dashboard 1 by cyd.
var hiddenRows = []ruletest.Row{
	{"", "cyd", "note Dashboard 2 other", `{"after":{"a":1}}`, `null`},
	{"", "cyd", "note Survey 1 survey", `{"after":{"a":1}}`, `null`},
	{"all is seen", "bob", "changes", `{"Scopes":["Dashboard","Survey"]}`, `{"total":3,"results":["created Survey 1 by cyd","created Dashboard 2 by cyd","created Dashboard 1 by cyd"]}`},
	{"", "gus", "control dashboard 1", `{"access_level":"none","organization_member":"` + membershipOf(1) + `"}`, `{"access_level":"none"}`},
	{"clients §11.3", "bob", "changes", `{"Scopes":["Dashboard","Survey"]}`, `{"total":2,"results":["created Survey 1 by cyd","created Dashboard 2 by cyd"]}`},
	{"clients §11.3 one object's", "bob", "changes", `{"Scopes":["Dashboard"],"Item":"1"}`, `{"total":0,"results":[]}`},
	{"clients §11.3 the access was checked", "bob", "changes", `{"Scopes":["Dashboard"],"Item":"1","AccessChecked":true}`, `{"total":1}`},
	{"clients §11.3 pages are full", "bob", "changes", `{"Scopes":["Dashboard","Survey"],"Limit":1,"Page":2}`, `{"total":2,"results":["created Dashboard 2 by cyd"]}`},
	{"others see it", "ann", "changes", `{"Scopes":["Dashboard","Survey"]}`, `{"total":3}`},
	{"its creator sees it", "cyd", "changes", `{"Scopes":["Dashboard","Survey"]}`, `{"total":3}`},
}

var hiddenKindRows = []ruletest.Row{
	{"", "ann", "note Cohort 1 cohort", `{"after":{"a":1}}`, `null`},
	{"", "ann", "note ExperimentHoldout 1 holdout", `{"after":{"a":1}}`, `null`},
	{"", "ann", "note Annotation 1 annotation", `{"after":{"a":1}}`, `null`},
	{"", "gus", "control kinds", `{"access_level":"none","resource":"cohort"}`, `{"access_level":"none"}`},
	{"clients §11.3 a kind at none", "bob", "changes", `{"Scopes":["Cohort","ExperimentHoldout","Annotation"]}`, `{"total":2,"results":["created Annotation 1 by ann","created ExperimentHoldout 1 by ann"]}`},
	{"", "gus", "control kinds", `{"access_level":"none","resource":"experiment"}`, `{"access_level":"none"}`},
	{"clients §11.3 holdouts go with experiments", "bob", "changes", `{"Scopes":["Cohort","ExperimentHoldout","Annotation"]}`, `{"total":1,"results":["created Annotation 1 by ann"]}`},
	{"clients §11.3 viewers see", "gus", "control kinds", `{"access_level":"viewer","resource":"cohort"}`, `{"access_level":"viewer"}`},
	{"clients §11.3 viewers see", "bob", "changes", `{"Scopes":["Cohort","ExperimentHoldout","Annotation"]}`, `{"total":2}`},
	{"an administrator", "gus", "changes", `{"Scopes":["Cohort","ExperimentHoldout","Annotation"]}`, `{"total":3}`},
}

// clients.md §11.2: the creator of an object has the highest level.
var ownObjectRows = []ruletest.Row{
	{"", "bob", "note Cohort 1 own", `{"after":{"a":1}}`, `null`},
	{"", "ann", "note Cohort 1 own", `{"before":{"a":1},"after":{"a":2}}`, `null`},
	{"", "ann", "note Cohort 2 other", `{"after":{"a":1}}`, `null`},
	{"", "bob", "note Cohort 2 other", `{"before":{"a":1},"after":{"a":2}}`, `null`},
	{"", "gus", "control kinds", `{"access_level":"none","resource":"cohort"}`, `{"access_level":"none"}`},
	{"who has created it sees all lines of it", "bob", "changes", `{"Scopes":["Cohort"]}`, `{"total":2,"results":["updated Cohort 1 by ann","created Cohort 1 by bob"]}`},
	{"and nobody else", "cyd", "changes", `{"Scopes":["Cohort"]}`, `{"total":0}`},
}

// Fields that display hidden objects are left out.
var trimmedRows = []ruletest.Row{
	{"", "ann", "note Alert 1 alert", `{"after":{"insight":7,"insight_name":"Secret","name":"a"}}`, `null`},
	{"", "ann", "note Alert 1 alert", `{"before":{"insight":7,"name":"a"},"after":{"insight":8,"name":"b"}}`, `null`},
	{"all is seen", "bob", "log Alert 1", ``, `{"detail":{"changes":[{"field":"insight"},{"field":"name"}]}}`},
	{"", "gus", "control kinds", `{"access_level":"none","resource":"insight"}`, `{"access_level":"none"}`},
	{"clients §11.3", "bob", "log Alert 1", ``, `{"activity":"updated","detail":{"changes":[{"field":"name","before":"a","after":"b"}]}}`},
	{"an administrator", "ann", "log Alert 1", ``, `{"detail":{"changes":[{"field":"insight"},{"field":"name"}]}}`},
	{"another kind is hidden", "gus", "control kinds", `{"access_level":"viewer","resource":"insight"}`, `{"access_level":"viewer"}`},
	{"another kind is hidden", "gus", "control kinds", `{"access_level":"none","resource":"survey"}`, `{"access_level":"none"}`},
	{"another kind is hidden", "bob", "log Alert 1", ``, `{"detail":{"changes":[{"field":"insight"},{"field":"name"}]}}`},
}

// console.md N14: the changes after a position, oldest first. Line 1 is that of dashboard 1.
var feedRows = []ruletest.Row{
	{"N14 the end of the log", "bob", "feed -1", ``, `{"next":1,"changes":[]}`},
	{"N14 from its beginning", "bob", "feed 0", ``, `{"next":1,"changes":[{"text":"1 created Dashboard 1 by cyd@example.com"}]}`},
	{"N14 nothing new", "bob", "feed 1", ``, `{"next":1,"changes":[]}`},
	{"", "ann", "note Flag 1 one", `{"after":{"a":1}}`, `null`},
	{"", "bob", "server Flag 1 one", `{"before":{"a":1}}`, `null`},
	{"N14 oldest first", "bob", "feed 1", ``, `{"next":3,"changes":[{"text":"2 created Flag 1 by ann@example.com","version":null,"at":"2026-01-02T12:00:04Z"},{"text":"3 deleted Flag 1 by nobody"}]}`},
	{"N14 after a position", "bob", "feed 2", ``, `{"next":3,"changes":[{"text":"3 deleted Flag 1 by nobody"}]}`},
	{"N14 the end of the log", "bob", "feed -1", ``, `{"next":3,"changes":[]}`},
	{"N14 a position of later", "bob", "feed 9", ``, `{"next":9,"changes":[]}`},
	{"N14 a project's own", "dan", "feed 0", ``, `{"next":0,"changes":[]}`},
	{"N14 a project's own", "dan", "feed -1", ``, `{"next":0,"changes":[]}`},
	{"N14 no change of the organization", "ann", "house Organization x ours", `{"after":{"a":1}}`, `null`},
	{"N14 no change of the organization", "bob", "feed 3", ``, `{"next":3,"changes":[]}`},
}

var hiddenFeedRows = []ruletest.Row{
	{"", "gus", "control kinds", `{"access_level":"none","resource":"cohort"}`, `{"access_level":"none"}`},
	{"", "ann", "note Cohort 1 other", `{"after":{"a":1}}`, `null`},
	{"", "bob", "note Cohort 2 own", `{"after":{"a":1}}`, `null`},
	{"", "ann", "note Cohort 1 other", `{"before":{"a":1},"after":{"a":2}}`, `null`},
	{"clients §11.3 hidden lines are skipped", "bob", "feed 1", ``, `{"next":5,"changes":[{"text":"2 created AccessControl cohort by gus@example.com"},{"text":"4 created Cohort 2 by bob@example.com"}]}`},
	{"an administrator", "ann", "feed 2", ``, `{"next":5,"changes":[{"text":"3 created Cohort 1 by ann@example.com"},{"text":"4 created Cohort 2 by bob@example.com"},{"text":"5 updated Cohort 1 by ann@example.com"}]}`},
}

// A feed that is far behind gets the newest 200 changes.
func TestChangesAfter_Bound(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	calls := feedCalls(t, w)
	var list []ruletest.Row
	for n := range 201 { // lines 2 to 202
		list = append(list, ruletest.Row{"", "ann", fmt.Sprint("note Flag ", n, " x"), `{"after":{"a":1}}`, `null`})
	}
	w.Run(t, calls, list)
	for after, want := range map[int64][3]int64{0: {3, 200, 202}, 1: {3, 200, 202}, 2: {3, 200, 202}, 3: {4, 199, 202}, 201: {202, 1, 202}} {
		changes, next, err := w.ChangesAfter(t.Context(), w.Scope(t, "bob"), after)
		if err != nil || len(changes) == 0 || [3]int64{changes[0].Position, int64(len(changes)), next} != want {
			t.Errorf("after %d: %d changes, then %d, %v, want the first, their number and the next %v", after, len(changes), next, err, want)
		}
	}
}

// Erasures are logged with the person and the number of events, and no other data (decision 17).
func TestLogErasures(t *testing.T) {
	w := ruletest.New(t, memstore.New(memstore.ExternalData{}))
	const person, other = "0191f0a2-5b1c-7d3e-8f40-0000000000f1", "0191f0a2-5b1c-7d3e-8f40-0000000000f2"
	erase := func(list ...management.Erasure) {
		t.Helper()
		if err := w.LogErasures(t.Context(), w.Scope(t, "bob"), list); err != nil {
			t.Fatal(err)
		}
	}
	erase()
	erase(management.Erasure{Person: person, Events: 7}, management.Erasure{Person: other, Events: 3, EventsOnly: true})
	w.Run(t, feedCalls(t, w), []ruletest.Row{
		{"decision 17", "ann", "log Person " + person, ``, `{"activity":"deleted","scope":"Person","item_id":"` + person + `","user":{"first_name":"bob"},"detail":{"name":"` + person + `","changes":[{"type":"Person","action":"deleted","field":"events","before":7,"after":null}]}}`},
		{"decision 17 events alone", "ann", "log Person " + other, ``, `{"activity":"updated","detail":{"changes":[{"field":"events","before":3}]}}`},
		{"one line for each", "ann", "changes", `{"Scopes":["Person"]}`, `{"total":2}`},
	})
	// If the store fails, no erasure is logged.
	faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
	w = ruletest.New(t, faulty)
	scope := w.Scope(t, "bob")
	faulty.After = 3 // the second line
	err := w.LogErasures(t.Context(), scope, []management.Erasure{{Person: person}, {Person: other}})
	faulty.After = -1
	page, readErr := w.ActivityLog(t.Context(), scope, management.ActivityQuery{Limit: 10, Page: 1})
	if diff := cmp.Diff(memstore.ErrDisk.Error(), fmt.Sprint(err)); diff != "" || readErr != nil || page.Total != 0 {
		t.Errorf("%d lines after a failure, %v (-want +got):\n%s", page.Total, readErr, diff)
	}
}
