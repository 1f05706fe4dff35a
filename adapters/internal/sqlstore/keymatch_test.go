package sqlstore

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/events"
	"github.com/bunting-flags/bunting/capture"
)

// §13.3: many events that are sent a second time are compared with stored events before the
// transaction, in which other writers wait. Events that are erased, sealed or sent by another client
// after the comparison and before the transaction are recognized nevertheless.
func TestKeys_13_3_ComparedBefore(t *testing.T) {
	const n = 1000
	ctx := context.Background()
	stores := withSegments(sqliteStores)
	stores["postgres"] = postgresStore
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if err := commitEvents(s, 0, n); err != nil {
				t.Fatal(err)
			}
			indexAll(t, s)
			keys, list := eventsFrom(0, n+10)
			var isNew []bool
			work := func(tx capture.Tx) (err error) {
				if isNew, err = tx.Claim(keys); err != nil {
					return err
				}
				c := &capture.Changes{}
				for i, ok := range isNew {
					if ok {
						c.Events = append(c.Events, list[i])
					}
				}
				return tx.Save(c)
			}
			var late *events.UncomparedError
			if err := s.commit(ctx, []int64{1}, nil, work); !errors.As(err, &late) {
				t.Fatalf("%v, want an error before the events are compared", err)
			}
			compared, err := s.events.Compare(ctx, late, nil)
			if err != nil {
				t.Fatal(err)
			}
			if name == "segments" {
				sealAll(t, s)
			}
			if err := commitEvents(s, n, 5); err != nil { // another client
				t.Fatal(err)
			}
			erased := capture.PersonID(1, "id 3")
			if err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
				if err := tx.Save(&capture.Changes{IDs: []capture.ProjectID{{ProjectID: 1, DistinctID: "id 3", Person: erased}}}); err != nil {
					return err
				}
				_, err := tx.EraseEvents(1, erased)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if err := s.commit(ctx, []int64{1}, compared, work); !errors.As(err, &late) {
				t.Fatalf("%v, want an error because the comparisons are not valid any more", err)
			}
			if compared, err = s.events.Compare(ctx, late, compared); err != nil {
				t.Fatal(err)
			}
			if err := s.commit(ctx, []int64{1}, compared, work); err != nil {
				t.Fatal(err)
			}
			for i, k := range keys {
				if want := k.DistinctID == "id 3" || i >= n+5; isNew[i] != want {
					t.Errorf("event %d of %s is new: %t", i, k.DistinctID, isNew[i])
				}
			}
			if err := s.Commit(ctx, []int64{1}, work); err != nil || slices.Contains(isNew, true) {
				t.Errorf("a third time: %v, %v", isNew, err)
			}
			if stored := countEvents(t, s); stored != n+10 {
				t.Errorf("%d events, want %d", stored, n+10)
			}
		})
	}
}

// §13.3: of many stored events that are sent a second time, near each other or far from each other, no one is
// stored twice, whether they are in segments, in blocks or newer. An event with the UUID of another
// one, and an event that was erased, are new.
func TestKeys_13_3_ManySentTwice(t *testing.T) {
	const part = 3000
	ctx := context.Background()
	stores := withSegments(sqliteStores)
	stores["postgres"] = postgresStore
	for name, open := range stores {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			commit := func(n int) {
				t.Helper()
				for first := n * part; first < (n+1)*part; first += part / 3 {
					if err := commitEvents(s, first, part/3); err != nil {
						t.Fatal(err)
					}
				}
			}
			commit(0)
			indexAll(t, s)
			if name == "segments" {
				sealAll(t, s)
			}
			erased := capture.PersonID(1, "id 3") // of one of seven events
			if err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) error {
				if err := tx.Save(&capture.Changes{IDs: []capture.ProjectID{{ProjectID: 1, DistinctID: "id 3", Person: erased}}}); err != nil {
					return err
				}
				_, err := tx.EraseEvents(1, erased)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			commit(1)
			indexAll(t, s)
			commit(2)
			keys, _ := eventsFrom(0, 3*part)
			for _, step := range []int{1, 2, 13, 500, 2999} {
				var list []capture.EventKey
				var want []bool
				for i := 0; i < len(keys); i += step {
					list = append(list, keys[i])
					want = append(want, i < part && keys[i].DistinctID == "id 3")
					other := keys[i]
					other.Name += " of another event"
					list, want = append(list, other), append(want, true)
				}
				var got []bool
				err := s.Commit(ctx, []int64{1}, func(tx capture.Tx) (err error) {
					got, err = tx.Claim(list)
					return err
				})
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("one of %d events: %v, other events are new: %s", step, err, diff)
				}
			}
		})
	}
}
