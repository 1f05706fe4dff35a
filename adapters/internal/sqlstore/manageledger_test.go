package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
	"github.com/bunting-flags/bunting/management/rooms"
)

// loggedStore returns a store with the projects 1 and 2.
func loggedStore(t testing.TB, open func(testing.TB) *Store) managementStore {
	t.Helper()
	s := managementStore{Store: open(t)}
	err := s.Write(context.Background(), func(tx rooms.Tx) error {
		for id := int64(1); id <= 2; id++ {
			if err := tx.PutProject(&management.ProjectRecord{ID: id, Name: "p", APIKey: fmt.Sprint("phc_", id), CreatedAt: database.FromMicros(1)}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// followLog reads the log from a position to its end.
func followLog(t testing.TB, s managementStore, name string, after int64, limit int) (ids []int64, last int64) {
	t.Helper()
	for {
		events, next, err := s.EventsAfter(context.Background(), name, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) > limit {
			t.Fatalf("%d events, the limit is %d", len(events), limit)
		}
		for i := range events {
			if events[i].Position <= after || events[i].Position > next {
				t.Fatalf("event %d between %d and %d", events[i].Position, after, next)
			}
			ids = append(ids, events[i].Position)
		}
		if next == after {
			return ids, after
		}
		after = next
	}
}

// idsOf returns the ids of the events with a name.
func idsOf(t testing.TB, s managementStore, name string) (ids []int64) {
	t.Helper()
	for _, e := range storedEvents(t, s.Store, 1, 2) {
		if e.Name == name {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// Every event with the name is returned exactly once and in order, indexed or not.
func TestEventsAfter(t *testing.T) {
	const total = 3*events.IndexChunk + 300
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := loggedStore(t, open), context.Background()
			for first := 0; first < total; first += 700 {
				if err := commitEvents(s.Store, first, min(700, total-first)); err != nil {
					t.Fatal(err)
				}
			}
			want := idsOf(t, s, "name 1")
			for pieces := 0; ; pieces++ {
				limit := [...]int{7000, 999}[pieces%2]
				ids, last := followLog(t, s, "name 1", 0, limit)
				if diff := cmp.Diff(want, ids); diff != "" {
					t.Fatalf("%d pieces are indexed (-want +got):\n%s", pieces, diff)
				}
				if more, again := followLog(t, s, "name 1", last, limit); more != nil || again != last {
					t.Fatalf("behind the end, %d, there are %v", last, more)
				}
				if more, err := s.Index(ctx, true); err != nil || !more {
					break
				}
			}
			if ids, _ := followLog(t, s, "name 1", want[len(want)-3], 10); len(ids) != 2 {
				t.Error(ids)
			}
			if ids, last := followLog(t, s, "no such name", 0, 10); ids != nil || last < want[len(want)-1] {
				t.Error(ids, last)
			}
		})
	}
}

// Events are returned with their contents, and large events in smaller pages.
func TestEventsAfter_Content(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			s, ctx := loggedStore(t, open), context.Background()
			keys, events := eventsFrom(0, 30)
			long := `{"long":"` + strings.Repeat("x", followBytes/8) + `"}`
			for i := range events {
				keys[i].Name, events[i].Name = "e", "e"
				events[i].Properties, events[i].PersonProperties = long, fmt.Sprintf(`{"n":%d}`, i)
			}
			err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
				if _, err := tx.Claim(keys); err != nil {
					return err
				}
				return tx.Save(&capture.Changes{Events: events})
			})
			if err != nil {
				t.Fatal(err)
			}
			page, last, err := s.EventsAfter(ctx, "e", 0, 30)
			if err != nil || len(page) < 2 || len(page) > 10 || last != page[len(page)-1].Position {
				t.Fatalf("%d events up to %d, %v", len(page), last, err)
			}
			want := errortracking.LoggedEvent{Position: events[1].ID, Project: 1, Timestamp: events[1].Timestamp, Properties: long, PersonProperties: `{"n":1}`}
			if page[1] != want {
				t.Errorf("place %d of project %d at %s", page[1].Position, page[1].Project, page[1].Timestamp)
			}
			if ids, _ := followLog(t, s, "e", 0, 30); len(ids) != 30 {
				t.Errorf("%d events, want 30", len(ids))
			}
		})
	}
}

// An event that is committed later than an event with a greater id is not missed.
func TestEventsAfter_LateCommit(t *testing.T) {
	s := loggedStore(t, postgresStore)
	ctx := context.Background()
	commit := func(project int64, name string, between func()) {
		key := capture.EventKey{ProjectID: project, UUID: capture.PersonID(project, name), Name: "e", DistinctID: name}
		err := s.Commit(ctx, []int64{project}, func(tx capture.Tx) error {
			if _, err := tx.Claim([]capture.EventKey{key}); err != nil {
				return err
			}
			between()
			return tx.Save(&capture.Changes{Events: []capture.Record{{
				ProjectID: project, UUID: key.UUID, Name: "e", DistinctID: name, Properties: "{}", PersonProperties: "{}", Timestamp: database.FromMicros(1), CreatedAt: database.FromMicros(1),
			}}})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var seen []int64
	last := int64(0)
	follow := func() {
		var ids []int64
		ids, last = followLog(t, s, "e", last, 10)
		seen = append(seen, ids...)
	}
	commit(1, "first", func() {})
	follow()
	if len(seen) != 1 {
		t.Fatal(seen)
	}
	commit(1, "slow", func() {
		commit(2, "quick", func() {})
		follow()
		commit(2, "later", func() {})
		follow()
		if len(seen) != 1 {
			t.Errorf("%v: the log goes on before %d is committed", seen, seen[0]+1)
		}
	})
	follow()
	if diff := cmp.Diff(idsOf(t, s, "e"), seen); diff != "" || len(seen) != 4 {
		t.Errorf("-want +got:\n%s", diff)
	}

	// The log advances even if there is always a writing transaction.
	for i := range 3 {
		commit(1, fmt.Sprint("a", i), func() {
			commit(2, fmt.Sprint("b", i), func() {})
			follow()
		})
	}
	if len(seen) < 8 {
		t.Errorf("%d events are seen", len(seen))
	}
	follow()
	if diff := cmp.Diff(idsOf(t, s, "e"), seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	// Ids of a transaction that was rolled back do not delay the log.
	failed := errors.New("no")
	err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
		_, err := tx.Claim([]capture.EventKey{{ProjectID: 1, Name: "e"}})
		return errors.Join(err, failed)
	})
	if !errors.Is(err, failed) {
		t.Fatal(err)
	}
	commit(1, "last", func() {})
	follow()
	if diff := cmp.Diff(idsOf(t, s, "e"), seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
