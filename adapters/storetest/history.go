package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture"
)

// History is the contract test of capture.History, and of erasing.
func History(t *testing.T, open func(testing.TB) HistoryStore) {
	t.Run("Events", func(t *testing.T) { events(t, open(t)) })
	t.Run("EventsByUUID", func(t *testing.T) { eventByUUID(t, open(t)) })
	t.Run("StableCursor", func(t *testing.T) { stableCursor(t, open(t)) })
	t.Run("Ledger", func(t *testing.T) { ledger(t, open(t)) })
	t.Run("Recent", func(t *testing.T) { followsRecent(t, open(t)) })
	t.Run("People", func(t *testing.T) { people(t, open(t)) })
	t.Run("PeopleSearchIsBounded", func(t *testing.T) { boundedSearch(t, open(t)) })
	t.Run("Groups", func(t *testing.T) { groups(t, open(t)) })
	t.Run("Lists", func(t *testing.T) { lists(t, open(t)) })
	t.Run("Erase", func(t *testing.T) { erase(t, open(t)) })
	t.Run("Retain", func(t *testing.T) {
		s := open(t)
		if w, ok := s.(interface{ DeletesFiles() bool }); ok && w.DeletesFiles() {
			return // whole files of events are deleted, so the numbers differ
		}
		retain(t, s)
	})
}

// events compares pages with a search through a list of all events. Their times are in
// and out of order, some are equal, and their ids span several epochs.
func events(t *testing.T, s HistoryStore) {
	random := rand.New(rand.NewPCG(1, 2))
	var all []capture.Record
	for n := range 18_000 {
		at := epoch.Add(time.Duration(n/3) * time.Second)
		if n%50 == 0 { // a late event
			at = epoch.Add(time.Duration(random.IntN(6000)) * time.Second)
		}
		all = append(all, event(n, fmt.Sprint("name ", n%7), fmt.Sprint("id ", random.IntN(2000)), at))
	}
	all[12].Name, all[12].DistinctID = "rare", "rare id"
	all[17_000].Name = "rare"
	inChunks(t, s, all[:17_500], true)
	inChunks(t, s, all[17_500:], false) // not indexed yet, if the store indexes after commits
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
		equal(t, wantPage(all, q), pages(t, s, q), "%s", name)
	}
	page, err := s.Events(context.Background(), testProject, capture.EventQuery{Limit: 1})
	if err != nil || len(page) != 1 {
		t.Fatalf("%d events, %v", len(page), err)
	}
	want := all[len(all)-1]
	want.ID = page[0].ID
	if page[0].Properties != wantPage(all, capture.EventQuery{})[0] || want.ID == 0 {
		t.Errorf("newest: %+v", page[0])
	}
	if empty, err := s.Events(context.Background(), testProject, capture.EventQuery{}); err != nil || len(empty) > 0 {
		t.Errorf("limit 0: %d events, %v", len(empty), err)
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

// stableCursor checks that events that arrive between two pages do not shift the
// second.
func stableCursor(t *testing.T, s HistoryStore) {
	var all []capture.Record
	for n := range 20 {
		all = append(all, event(n, "a", "u", epoch.Add(time.Duration(n/4)*time.Second)))
	}
	inChunks(t, s, all, true)
	q := capture.EventQuery{Limit: 7}
	page, err := s.Events(context.Background(), testProject, q)
	must(t, err)
	save(t, s, capture.Changes{Events: []capture.Record{event(100, "a", "u", epoch.Add(time.Hour)), event(101, "a", "u", page[6].Timestamp)}})
	q.After = &capture.EventCursor{Timestamp: page[6].Timestamp, ID: page[6].ID}
	equal(t, wantPage(all, capture.EventQuery{})[7:], pages(t, s, q), "")
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
		must(t, err)
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
	equal(t, want, got, "")
}
