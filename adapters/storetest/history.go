package storetest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// HistoryStore is what History asks for.
type HistoryStore interface {
	capture.History
	capture.Ledger
	// ErasePerson erases a person in a transaction of Commit.
	ErasePerson(ctx context.Context, tx capture.Tx, projectID int64, uuid capture.UUID, withEvents bool) (bool, error)
	// DeleteEventsBefore deletes old events.
	DeleteEventsBefore(ctx context.Context, before time.Time, max int) (int64, error)
}

// index fills what a store indexes behind its commits.
func index(t testing.TB, s any) {
	t.Helper()
	i, ok := s.(capture.Indexer)
	for more := ok; more; {
		var err error
		if more, err = i.Index(context.Background(), true); err != nil {
			t.Fatal(err)
		}
	}
}

// event makes the n-th event of a test.
func event(n int, name, id string, at time.Time) capture.Record {
	return capture.Record{
		ProjectID: testProject, UUID: uuidOf(fmt.Sprint("event ", n)), Name: name, DistinctID: id,
		Properties: fmt.Sprintf(`{"n":%d}`, n), Timestamp: at, CreatedAt: epoch.Add(time.Duration(n) * time.Second),
		PersonID: uuidOf(id), PersonCreatedAt: epoch, PersonProperties: "{}", PersonMode: capture.PersonMode(n % 3),
		Historical: n%2 == 0, ElementsChain: "a",
	}
}

// History is the contract of capture.History, and of erasing.
func History(t *testing.T, open func(testing.TB) HistoryStore) {
	t.Run("Events", func(t *testing.T) { events(t, open(t)) })
	t.Run("EventsByUUID", func(t *testing.T) { eventByUUID(t, open(t)) })
	t.Run("StableCursor", func(t *testing.T) { stableCursor(t, open(t)) })
	t.Run("Ledger", func(t *testing.T) { ledger(t, open(t)) })
	t.Run("People", func(t *testing.T) { people(t, open(t)) })
	t.Run("PeopleSearchIsBounded", func(t *testing.T) { boundedSearch(t, open(t)) })
	t.Run("Groups", func(t *testing.T) { groups(t, open(t)) })
	t.Run("Lists", func(t *testing.T) { lists(t, open(t)) })
	t.Run("Erase", func(t *testing.T) { erase(t, open(t)) })
	t.Run("Retain", func(t *testing.T) { retain(t, open(t)) })
}

// inChunks saves events a few hundred at a time, other projects' between them.
func inChunks(t testing.TB, s HistoryStore, all []capture.Record, indexed bool) {
	t.Helper()
	for chunk := range slices.Chunk(all, 700) {
		chunk = slices.Clone(chunk)
		foreign := chunk[0]
		foreign.ProjectID, foreign.UUID = 2, uuidOf("foreign "+foreign.UUID.String())
		save(t, s, capture.Changes{Events: append(chunk, foreign)})
	}
	if indexed {
		index(t, s)
	}
}

// wanted chooses and orders events as the interface says.
func wanted(all []capture.Record, q capture.EventQuery) []string {
	var chosen []int
	for i, e := range all {
		switch {
		case !q.From.IsZero() && e.Timestamp.Before(q.From), !q.To.IsZero() && !e.Timestamp.Before(q.To):
		case q.Name != "" && e.Name != q.Name, q.DistinctIDs != nil && !slices.Contains(q.DistinctIDs, e.DistinctID):
		default:
			chosen = append(chosen, i)
		}
	}
	slices.SortFunc(chosen, func(a, b int) int {
		return cmp.Or(all[b].Timestamp.Compare(all[a].Timestamp), cmp.Compare(b, a))
	})
	out := []string{}
	for _, i := range chosen {
		out = append(out, all[i].Properties)
	}
	return out
}

// pages reads everything, page by page.
func pages(t testing.TB, s capture.History, q capture.EventQuery) []string {
	t.Helper()
	out := []string{}
	for {
		page, err := s.Events(context.Background(), testProject, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			out = append(out, e.Properties)
		}
		if len(page) < q.Limit {
			return out
		}
		last := page[len(page)-1]
		q.After = &capture.EventCursor{Timestamp: last.Timestamp, ID: last.ID}
	}
}

// events compares pages with a plain search through all events, with times in
// and out of order, equal ones, and over several epochs of ids.
func events(t *testing.T, s HistoryStore) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []capture.Record
	for n := range 18_000 {
		at := epoch.Add(time.Duration(n/3) * time.Second)
		if n%50 == 0 { // a late one
			at = epoch.Add(time.Duration(random.IntN(6000)) * time.Second)
		}
		all = append(all, event(n, fmt.Sprint("name ", n%7), fmt.Sprint("id ", random.IntN(2000)), at))
	}
	all[12].Name, all[12].DistinctID = "rare", "rare id"
	all[17_000].Name = "rare"
	inChunks(t, s, all[:17_500], true)
	inChunks(t, s, all[17_500:], false) // not indexed yet where that is done behind
	for name, q := range map[string]capture.EventQuery{
		"name":         {Name: "name 3", From: epoch.Add(4000 * time.Second), Limit: 500},
		"rare":         {Name: "rare", Limit: 10},
		"one id":       {DistinctIDs: []string{"id 5"}, Limit: 3},
		"two ids":      {DistinctIDs: []string{"id 5", "rare id"}, Limit: 4},
		"id and name":  {DistinctIDs: []string{"id 6", "id 7", "rare id"}, Name: "name 1", Limit: 2},
		"span":         {From: epoch.Add(100 * time.Second), To: epoch.Add(200 * time.Second), Limit: 50},
		"before all":   {To: epoch, Limit: 5},
		"nobody":       {DistinctIDs: []string{}, Limit: 5},
		"unknown id":   {DistinctIDs: []string{"x"}, Limit: 5},
		"unknown name": {Name: "x\x00", Limit: 5},
		"newest":       {From: epoch.Add(5500 * time.Second), Limit: 100},
	} {
		if diff := gocmp.Diff(wanted(all, q), pages(t, s, q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	page, err := s.Events(context.Background(), testProject, capture.EventQuery{Limit: 1})
	if err != nil || len(page) != 1 {
		t.Fatalf("%d events, %v", len(page), err)
	}
	want := all[len(all)-1]
	want.ID = page[0].ID
	if page[0].Properties != wanted(all, capture.EventQuery{})[0] || want.ID == 0 {
		t.Errorf("newest: %+v", page[0])
	}
	if none, err := s.Events(context.Background(), testProject, capture.EventQuery{}); err != nil || len(none) > 0 {
		t.Errorf("limit 0: %d events, %v", len(none), err)
	}
}

func eventByUUID(t *testing.T, s HistoryStore) {
	first, second := event(1, "a", "u", epoch), event(1, "b", "u", epoch.Add(-time.Second))
	save(t, s, capture.Changes{Events: []capture.Record{first, second}})
	got, err := s.Event(context.Background(), testProject, first.UUID)
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	first.ID = got.ID
	if diff := gocmp.Diff(first, *got); diff != "" || got.ID == 0 {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, other := range []struct {
		project int64
		id      capture.UUID
	}{{2, first.UUID}, {testProject, uuidOf("other")}, {testProject, capture.UUID{}}} {
		if got, err := s.Event(context.Background(), other.project, other.id); err != nil || got != nil {
			t.Errorf("%+v: %+v, %v", other, got, err)
		}
	}
}

// stableCursor: what comes in between two pages does not move the second.
func stableCursor(t *testing.T, s HistoryStore) {
	var all []capture.Record
	for n := range 20 {
		all = append(all, event(n, "a", "u", epoch.Add(time.Duration(n/4)*time.Second)))
	}
	inChunks(t, s, all, true)
	q := capture.EventQuery{Limit: 7}
	page, err := s.Events(context.Background(), testProject, q)
	if err != nil {
		t.Fatal(err)
	}
	save(t, s, capture.Changes{Events: []capture.Record{event(100, "a", "u", epoch.Add(time.Hour)), event(101, "a", "u", page[6].Timestamp)}})
	q.After = &capture.EventCursor{Timestamp: page[6].Timestamp, ID: page[6].ID}
	if diff := gocmp.Diff(wanted(all, capture.EventQuery{})[7:], pages(t, s, q)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func ledger(t *testing.T, s HistoryStore) {
	var all []capture.Record
	for n := range 2000 {
		all = append(all, event(n, "a", "u", epoch.Add(-time.Duration(n)*time.Second)))
	}
	inChunks(t, s, all[:1500], true)
	inChunks(t, s, all[1500:], false)
	var got []string
	for after := int64(0); ; {
		page, err := s.Ledger(context.Background(), testProject, after, 300)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page {
			if e.ID <= after {
				t.Fatalf("id %d after %d", e.ID, after)
			}
			after = e.ID
			got = append(got, e.Properties)
		}
		if len(page) < 300 {
			break
		}
	}
	var want []string
	for _, e := range all {
		want = append(want, e.Properties)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func people(t *testing.T, s HistoryStore) {
	ctx := context.Background()
	for n := range 25 {
		save(t, s, person(t, fmt.Sprintf(`{"email":"Mail%d@Example.com","name":"Ünal %d","n":%d}`, n, n, n), fmt.Sprint("p", n), fmt.Sprint("alias ", n)))
	}
	foreign := person(t, `{}`, "p1")
	foreign.Persons[0].ProjectID, foreign.IDs[0].ProjectID = 2, 2
	save(t, s, foreign)
	list := func(q capture.PersonQuery) (ids []string) {
		t.Helper()
		for {
			page, next, err := s.People(ctx, testProject, q)
			if err != nil {
				t.Fatal(err)
			}
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
	var want []string
	for n := 24; n >= 0; n-- {
		want = append(want, fmt.Sprint("alias ", n), fmt.Sprint("p", n))
	}
	for _, limit := range []int{1, 5, 24, 25, 26} {
		if diff := gocmp.Diff(want, list(capture.PersonQuery{Limit: limit})); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	n7 := func(p *capture.StoredPerson) bool { v, _ := p.Properties.Get("n"); return v == "7" }
	for name, q := range map[string]capture.PersonQuery{
		"distinct id": {Search: "LIAS 7", Limit: 3}, "email": {Search: "mail7@example", Limit: 3}, "name": {Search: "üNAL 7", Limit: 3}, "match": {Match: n7, Limit: 3},
	} {
		if diff := gocmp.Diff([]string{"alias 7", "p7"}, list(q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := list(capture.PersonQuery{Search: "%", Limit: 3}); len(got) > 0 {
		t.Errorf("a sign of LIKE means itself: %v", got)
	}
	byID, err := s.PersonBy(ctx, testProject, "alias 3")
	if err != nil || byID == nil {
		t.Fatal(byID, err)
	}
	wanted := capture.StoredPerson{ID: byID.ID, Person: *person(t, `{"email":"Mail3@Example.com","name":"Ünal 3","n":3}`, "p3").Persons[0].Person, DistinctIDs: []string{"alias 3", "p3"}}
	if diff := gocmp.Diff(wanted, *byID); diff != "" {
		t.Errorf("by distinct id (-want +got):\n%s", diff)
	}
	byUUID, err := s.PersonByUUID(ctx, testProject, uuidOf("p3"))
	if err != nil || gocmp.Diff(byID, byUUID) != "" {
		t.Errorf("by uuid: %+v, %v", byUUID, err)
	}
	byNumber, err := s.PersonByID(ctx, testProject, byID.ID)
	if err != nil || gocmp.Diff(byID, byNumber) != "" {
		t.Errorf("by number: %+v, %v", byNumber, err)
	}
	for name, find := range map[string]func() (*capture.StoredPerson, error){
		"distinct id": func() (*capture.StoredPerson, error) { return s.PersonBy(ctx, testProject, "nobody") },
		"uuid":        func() (*capture.StoredPerson, error) { return s.PersonByUUID(ctx, testProject, uuidOf("nobody")) },
		"number":      func() (*capture.StoredPerson, error) { return s.PersonByID(ctx, 2, byID.ID) },
	} {
		if p, err := find(); err != nil || p != nil {
			t.Errorf("unknown %s: %+v, %v", name, p, err)
		}
	}
	for project, want := range map[int64]int64{testProject: 25, 2: 1, 3: 0} {
		if n, err := s.CountPeople(ctx, project); err != nil || n != want {
			t.Errorf("project %d: %d persons, %v, want %d", project, n, err, want)
		}
	}
}

// boundedSearch: a page of a search looks at SearchScan persons and then says
// where to go on.
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
			if err != nil {
				t.Fatal(err)
			}
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
		if diff := gocmp.Diff(all, list("", limit)); diff != "" {
			t.Errorf("limit %d (-want +got):\n%s", limit, diff)
		}
	}
	if diff := gocmp.Diff([]string{"Group 04"}, list("gROUP 04", 3)); diff != "" {
		t.Errorf("by key (-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff([]string{"Group 10"}, list("rgüP 10", 3)); diff != "" {
		t.Errorf("by property (-want +got):\n%s", diff)
	}
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
	name := capture.Seen{ProjectID: testProject, Kind: capture.SeenEventProperty, Name: "b", Type: "String", At: epoch}
	other := name
	other.Name = "a"
	call := capture.FlagCalls{ProjectID: testProject, FlagCall: capture.FlagCall{Flag: "f", Value: "true"}, Calls: 3, First: epoch, Last: epoch.Add(time.Minute)}
	second := call
	second.Flag = "g"
	save(t, s, capture.Changes{Warnings: []capture.Warning{warning, later}, Seen: []capture.Seen{name, other}, Calls: []capture.FlagCalls{call, second}})

	warnings, err := s.Warnings(ctx, testProject, 10, 0)
	if diff := gocmp.Diff([]capture.StoredWarning{{Warning: later, First: later.At}, {Warning: warning, First: epoch}}, warnings); diff != "" || err != nil {
		t.Errorf("warnings, %v (-want +got):\n%s", err, diff)
	}
	if warnings, err = s.Warnings(ctx, testProject, 1, 1); err != nil || len(warnings) != 1 || warnings[0].DistinctID != "u" {
		t.Errorf("second page: %+v, %v", warnings, err)
	}
	names, err := s.SeenNames(ctx, testProject, capture.SeenEventProperty, 10, 0)
	if diff := gocmp.Diff([]capture.Seen{other, name}, names); diff != "" || err != nil {
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

func erasePerson(t testing.TB, s HistoryStore, id string, withEvents bool) (found bool) {
	t.Helper()
	err := s.Commit(context.Background(), []int64{testProject}, func(tx capture.Tx) (err error) {
		found, err = s.ErasePerson(context.Background(), tx, testProject, uuidOf(id), withEvents)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func erase(t *testing.T, s HistoryStore) {
	ctx := context.Background()
	anns := person(t, `{}`, "ann", "ann2")
	anns.Persons[0].Version = 7
	save(t, s, anns)
	save(t, s, person(t, `{}`, "bob"))
	var all []capture.Record
	for n := range 1600 {
		all = append(all, event(n, "a", []string{"ann", "ann2", "bob"}[n%3], epoch.Add(time.Duration(n)*time.Second)))
	}
	inChunks(t, s, all[:1200], true)
	inChunks(t, s, all[1200:], false)
	save(t, s, capture.Changes{Warnings: []capture.Warning{{ProjectID: testProject, Type: capture.WarnTimestamp, DistinctID: "ann2", Count: 1, At: epoch}}})
	if erasePerson(t, s, "nobody", true) {
		t.Error("nobody was found")
	}
	if !erasePerson(t, s, "ann", true) {
		t.Error("ann was not found")
	}
	index(t, s)
	if got := pages(t, s, capture.EventQuery{Limit: 100, DistinctIDs: []string{"ann", "ann2"}}); len(got) > 0 {
		t.Errorf("%d events are left", len(got))
	}
	for name, q := range map[string]capture.EventQuery{"by time": {Limit: 100}, "by name": {Limit: 100, Name: "a"}, "by id": {Limit: 100, DistinctIDs: []string{"bob"}}} {
		bobs := q
		bobs.DistinctIDs = []string{"bob"}
		if diff := gocmp.Diff(wanted(all, bobs), pages(t, s, q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for _, id := range []string{"ann", "ann2"} {
		if p, err := s.PersonBy(ctx, testProject, id); err != nil || p != nil {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
	if w, err := s.Warnings(ctx, testProject, 10, 0); err != nil || len(w) > 0 {
		t.Errorf("warnings: %+v, %v", w, err)
	}
	if n, err := s.CountPeople(ctx, testProject); err != nil || n != 1 {
		t.Errorf("%d persons, %v", n, err)
	}
	// Who comes back begins at the last version + 100 (decision 17), and the same
	// event is a new one.
	back := person(t, `{}`, "ann")
	back.Events = all[:1]
	save(t, s, back)
	if p, err := s.PersonBy(ctx, testProject, "ann"); err != nil || p == nil || p.Version != 107 {
		t.Errorf("back: %+v, %v", p, err)
	}
	if !erasePerson(t, s, "bob", false) {
		t.Error("bob was not found")
	}
	if got := pages(t, s, capture.EventQuery{Limit: 100, DistinctIDs: []string{"bob"}}); len(got) != len(wanted(all, capture.EventQuery{DistinctIDs: []string{"bob"}})) {
		t.Errorf("without events: %d are left", len(got))
	}
}

func retain(t *testing.T, s HistoryStore) {
	var all []capture.Record
	for n := range 1000 {
		all = append(all, event(n, "a", "u", epoch.Add(-time.Duration(n)*time.Hour)))
	}
	inChunks(t, s, all[:800], true)
	inChunks(t, s, all[800:], false)
	before := all[500].CreatedAt
	n, err := s.DeleteEventsBefore(context.Background(), before, 300)
	if err != nil || n != 300 {
		t.Errorf("first %d, %v", n, err)
	}
	left, err := s.DeleteEventsBefore(context.Background(), before, 100_000)
	// The events of the other project, made beside the first of each chunk, go with them.
	if err != nil || left < 200 || left > 202 {
		t.Errorf("then %d, %v", left, err)
	}
	index(t, s)
	for name, q := range map[string]capture.EventQuery{"by time": {Limit: 100}, "by name": {Limit: 100, Name: "a"}, "by id": {Limit: 100, DistinctIDs: []string{"u"}}} {
		if diff := gocmp.Diff(wanted(all[500:], q), pages(t, s, q)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if again, err := s.DeleteEventsBefore(context.Background(), before, 100); err != nil || again != 0 {
		t.Errorf("again %d, %v", again, err)
	}
	found, err := s.Event(context.Background(), testProject, all[3].UUID)
	if err != nil || found != nil {
		t.Errorf("the key of a deleted event: %+v, %v", found, err)
	}
	if strings.Count(fmt.Sprint(pages(t, s, capture.EventQuery{Limit: 1000})), "n") != 500 {
		t.Error("others have gone too")
	}
}
