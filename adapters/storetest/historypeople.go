package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

func people(t *testing.T, s HistoryStore) {
	for n := range 25 {
		save(t, s, person(t, fmt.Sprintf(`{"email":"Mail%d@Example.com","name":"Ünal %d","n":%d}`, n, n, n), fmt.Sprint("p", n), fmt.Sprint("alias ", n)))
	}
	foreign := person(t, `{}`, "p1")
	foreign.Persons[0].ProjectID, foreign.IDs[0].ProjectID = 2, 2
	save(t, s, foreign)
	peoplePages(t, s)
	findPerson(t, s)
	for project, want := range map[int64]int64{testProject: 25, 2: 1, 3: 0} {
		if n, err := s.CountPeople(t.Context(), project); err != nil || n != want {
			t.Errorf("project %d: %d persons, %v, want %d", project, n, err, want)
		}
	}
}

// pagedIDs returns the distinct ids of the persons of all pages.
func pagedIDs(t *testing.T, s HistoryStore, q capture.PersonQuery) (ids []string) {
	t.Helper()
	for {
		page, next, err := s.People(t.Context(), testProject, q)
		must(t, err)
		if len(page) > q.Limit {
			t.Fatalf("%d persons, limit %d", len(page), q.Limit)
		}
		for _, p := range page {
			ids = append(ids, p.DistinctIDs...)
		}
		if next == 0 {
			return ids
		}
		q.After = next
	}
}

// peoplePages lists and searches persons.
func peoplePages(t *testing.T, s HistoryStore) {
	var want []string
	for n := 24; n >= 0; n-- {
		want = append(want, fmt.Sprint("alias ", n), fmt.Sprint("p", n))
	}
	for _, limit := range []int{1, 5, 24, 25, 26} {
		equal(t, want, pagedIDs(t, s, capture.PersonQuery{Limit: limit}), "limit %d", limit)
	}
	n7 := func(p *capture.StoredPerson) bool { v, _ := p.Properties.Get("n"); return v == "7" }
	for name, q := range map[string]capture.PersonQuery{
		"distinct id": {Search: "LIAS 7", Limit: 3}, "email": {Search: "mail7@example", Limit: 3}, "name": {Search: "üNAL 7", Limit: 3}, "match": {Match: n7, Limit: 3},
	} {
		equal(t, []string{"alias 7", "p7"}, pagedIDs(t, s, q), "%s", name)
	}
	if got := pagedIDs(t, s, capture.PersonQuery{Search: "%", Limit: 3}); len(got) > 0 {
		t.Errorf("a sign of LIKE means itself: %v", got)
	}
}

// findPerson finds one person by each identifier.
func findPerson(t *testing.T, s HistoryStore) {
	ctx := t.Context()
	byID, err := s.PersonForDistinctID(ctx, testProject, "alias 3")
	if err != nil || byID == nil {
		t.Fatal(byID, err)
	}
	want := capture.StoredPerson{ID: byID.ID, Person: *person(t, `{"email":"Mail3@Example.com","name":"Ünal 3","n":3}`, "p3").Persons[0].Person, DistinctIDs: []string{"alias 3", "p3"}}
	equal(t, want, *byID, "by distinct id")
	byUUID, err := s.PersonByUUID(ctx, testProject, uuidOf("p3"))
	if err != nil || gocmp.Diff(byID, byUUID) != "" {
		t.Errorf("by uuid: %+v, %v", byUUID, err)
	}
	byNumber, err := s.PersonByID(ctx, testProject, byID.ID)
	if err != nil || gocmp.Diff(byID, byNumber) != "" {
		t.Errorf("by number: %+v, %v", byNumber, err)
	}
	for name, find := range map[string]func() (*capture.StoredPerson, error){
		"distinct id": func() (*capture.StoredPerson, error) { return s.PersonForDistinctID(ctx, testProject, "nobody") },
		"uuid":        func() (*capture.StoredPerson, error) { return s.PersonByUUID(ctx, testProject, uuidOf("nobody")) },
		"number":      func() (*capture.StoredPerson, error) { return s.PersonByID(ctx, 2, byID.ID) },
	} {
		if p, err := find(); err != nil || p != nil {
			t.Errorf("unknown %s: %+v, %v", name, p, err)
		}
	}
}

// boundedSearch checks that a page of a search examines SearchScan persons and returns
// the position to continue from.
func boundedSearch(t *testing.T, s HistoryStore) {
	save(t, s, person(t, `{}`, "needle"))
	const many = capture.SearchScan + 500
	var c capture.Changes
	for n := range many {
		p := person(t, `{}`, fmt.Sprint("hay ", n))
		c.Persons, c.IDs = append(c.Persons, p.Persons...), append(c.IDs, p.IDs...)
	}
	save(t, s, c)
	q := capture.PersonQuery{Search: "NEEDLE", Limit: 10}
	page, next, err := s.People(context.Background(), testProject, q)
	if err != nil || len(page) != 0 || next == 0 {
		t.Fatalf("first page: %d persons, next %d, %v", len(page), next, err)
	}
	q.After = next
	page, next, err = s.People(context.Background(), testProject, q)
	if err != nil || len(page) != 1 || next != 0 {
		t.Fatalf("second page: %d persons, next %d, %v", len(page), next, err)
	}
}

func groups(t *testing.T, s HistoryStore) {
	ctx := context.Background()
	c := capture.Changes{GroupTypes: []capture.ProjectGroupType{{ProjectID: testProject, Index: 0, Name: "company"}, {ProjectID: testProject, Index: 1, Name: "team"}}}
	for n := range 12 {
		c.Groups = append(c.Groups, capture.ProjectGroup{ProjectID: testProject, Group: capture.Group{
			GroupID: capture.GroupID{Type: n % 2, Key: fmt.Sprintf("Group %02d", n)}, CreatedAt: epoch, Properties: object(t, fmt.Sprintf(`{"city":"Ürgüp %d"}`, n)),
		}})
	}
	save(t, s, c)
	if names, err := s.GroupTypes(ctx, testProject); err != nil || !slices.Equal(names, []string{"company", "team"}) {
		t.Errorf("types %v, %v", names, err)
	}
	list := func(search string, limit int) (keys []string) {
		t.Helper()
		for after := ""; ; {
			page, next, err := s.Groups(ctx, testProject, 0, after, search, limit)
			must(t, err)
			for _, g := range page {
				keys = append(keys, g.Key)
			}
			if after = next; next == "" {
				return keys
			}
		}
	}
	all := []string{"Group 00", "Group 02", "Group 04", "Group 06", "Group 08", "Group 10"}
	for _, limit := range []int{1, 4, 6, 7} {
		equal(t, all, list("", limit), "limit %d", limit)
	}
	equal(t, []string{"Group 04"}, list("gROUP 04", 3), "by key")
	equal(t, []string{"Group 10"}, list("rgüP 10", 3), "by property")
	got, err := s.Group(ctx, testProject, c.Groups[4].GroupID)
	if err != nil || gocmp.Diff(&c.Groups[4].Group, got) != "" {
		t.Errorf("one: %+v, %v", got, err)
	}
	if got, err := s.Group(ctx, testProject, capture.GroupID{Type: 1, Key: "Group 04"}); err != nil || got != nil {
		t.Errorf("unknown: %+v, %v", got, err)
	}
}

func lists(t *testing.T, s HistoryStore) {
	ctx := context.Background()
	warning := capture.Warning{ProjectID: testProject, Type: capture.WarnTimestamp, DistinctID: "u", EventUUID: uuidOf("e"), Detail: "d", Count: 2, At: epoch}
	later := warning
	later.DistinctID, later.At = "v", epoch.Add(time.Hour)
	name := capture.SeenName{ProjectID: testProject, Kind: capture.SeenEventProperty, Name: "b", Type: "String", At: epoch}
	other := name
	other.Name = "a"
	call := capture.FlagCalls{ProjectID: testProject, FlagCall: capture.FlagCall{Flag: "f", Value: "true"}, Calls: 3, First: epoch, Last: epoch.Add(time.Minute)}
	second := call
	second.Flag = "g"
	save(t, s, capture.Changes{Warnings: []capture.Warning{warning, later}, Seen: []capture.SeenName{name, other}, Calls: []capture.FlagCalls{call, second}})

	warnings, err := s.Warnings(ctx, testProject, 10, 0)
	if diff := gocmp.Diff([]capture.StoredWarning{{Warning: later, First: later.At}, {Warning: warning, First: epoch}}, warnings); diff != "" || err != nil {
		t.Errorf("warnings, %v (-want +got):\n%s", err, diff)
	}
	if warnings, err = s.Warnings(ctx, testProject, 1, 1); err != nil || len(warnings) != 1 || warnings[0].DistinctID != "u" {
		t.Errorf("second page: %+v, %v", warnings, err)
	}
	names, err := s.SeenNames(ctx, testProject, capture.SeenEventProperty, 10, 0)
	if diff := gocmp.Diff([]capture.SeenName{other, name}, names); diff != "" || err != nil {
		t.Errorf("names, %v (-want +got):\n%s", err, diff)
	}
	calls, err := s.FlagCalls(ctx, testProject, "", 10)
	if diff := gocmp.Diff([]capture.FlagCalls{call, second}, calls); diff != "" || err != nil {
		t.Errorf("calls, %v (-want +got):\n%s", err, diff)
	}
	if calls, err = s.FlagCalls(ctx, testProject, "g", 10); err != nil || len(calls) != 1 || calls[0].Flag != "g" {
		t.Errorf("calls of one flag: %+v, %v", calls, err)
	}
}
