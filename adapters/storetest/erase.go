package storetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

func erasePerson(t testing.TB, s HistoryStore, id string, withEvents bool) (found bool, events int64) {
	t.Helper()
	err := s.Commit(context.Background(), []int64{testProject}, func(tx capture.Tx) (err error) {
		found, events, err = tx.ErasePerson(testProject, uuidOf(id), withEvents)
		return err
	})
	must(t, err)
	return found, events
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
	if found, _ := erasePerson(t, s, "nobody", true); found {
		t.Error("nobody was found")
	}
	if found, events := erasePerson(t, s, "ann", true); !found || events != 1067 { // two of three
		t.Error("ann was not found")
	}
	index(t, s)
	if got := pages(t, s, capture.EventQuery{Limit: 100, DistinctIDs: []string{"ann", "ann2"}}); len(got) > 0 {
		t.Errorf("%d events are left", len(got))
	}
	for name, q := range map[string]capture.EventQuery{"by time": {Limit: 100}, "by name": {Limit: 100, Name: "a"}, "by id": {Limit: 100, DistinctIDs: []string{"bob"}}} {
		bobs := q
		bobs.DistinctIDs = []string{"bob"}
		equal(t, wantPage(all, bobs), pages(t, s, q), "%s", name)
	}
	for _, id := range []string{"ann", "ann2"} {
		if p, err := s.PersonForDistinctID(ctx, testProject, id); err != nil || p != nil {
			t.Errorf("%s: %+v, %v", id, p, err)
		}
	}
	if w, err := s.Warnings(ctx, testProject, 10, 0); err != nil || len(w) > 0 {
		t.Errorf("warnings: %+v, %v", w, err)
	}
	if n, err := s.CountPeople(ctx, testProject); err != nil || n != 1 {
		t.Errorf("%d persons, %v", n, err)
	}
	// A person created after the erasure begins at the last version + 100 (decision
	// 17), and an event sent before is not a duplicate.
	back := person(t, `{}`, "ann")
	back.Events = all[:1]
	save(t, s, back)
	if p, err := s.PersonForDistinctID(ctx, testProject, "ann"); err != nil || p == nil || p.Version != 107 {
		t.Errorf("back: %+v, %v", p, err)
	}
	if found, events := erasePerson(t, s, "bob", false); !found || events != 0 {
		t.Error("bob was not found")
	}
	if got := pages(t, s, capture.EventQuery{Limit: 100, DistinctIDs: []string{"bob"}}); len(got) != len(wantPage(all, capture.EventQuery{DistinctIDs: []string{"bob"}})) {
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
	remaining, err := s.DeleteEventsBefore(context.Background(), before, 100_000)
	// The other project's events, created after the first of each chunk, are deleted
	// with them.
	if err != nil || remaining < 200 || remaining > 202 {
		t.Errorf("then %d, %v", remaining, err)
	}
	index(t, s)
	for name, q := range map[string]capture.EventQuery{"by time": {Limit: 100}, "by name": {Limit: 100, Name: "a"}, "by id": {Limit: 100, DistinctIDs: []string{"u"}}} {
		equal(t, wantPage(all[500:], q), pages(t, s, q), "%s", name)
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
