package sqlstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/database"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// A scan has every event of its snapshot once, although blocks are built of new chunks and merged
// while it reads, and events are added.
func TestBlocks_WhileReading(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *Store{"sqlite": sqliteStores["disk"], "postgres": postgresStore} {
		t.Run(name, func(t *testing.T) {
			m := &eventModel{T: t, random: rand.New(rand.NewPCG(31, 32)), store: open(t)}
			m.change = func(_ int, e *capture.Record) { e.ProjectID = 1 }
			for range 30 {
				m.commit(300)
			}
			r, err := m.store.Open(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []int64
			for i := range m.list {
				want = append(want, m.list[i].ID)
			}
			for _, columns := range []port.Columns{port.IDs, port.IDs | port.Properties} {
				m.commit(300)
				got = got[:0]
				if err := r.Scan(t.Context(), port.Scan{Columns: columns}, func(b *port.Batch) error {
					if len(got) == 0 {
						indexAll(t, m.store)
					}
					got = append(got, b.ID...)
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				if slices.Sort(got); !slices.Equal(want, got) {
					t.Errorf("%d events, want %d", len(got), len(want))
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Of the events that a client has sent with one UUID, however many, the newest one of the project is
// returned.
func TestEvent_SameUUID(t *testing.T) {
	for name, open := range allStores {
		t.Run(name, func(t *testing.T) {
			m, uuid := &eventModel{T: t, random: rand.New(rand.NewPCG(33, 34)), store: open(t)}, capture.UUID{15: 9}
			var keys []capture.EventKey
			var list []capture.Record
			for i := range 400 {
				e := capture.Record{
					ProjectID: int64(1 + i%2), UUID: uuid, Name: fmt.Sprint("name ", i), DistinctID: "ann", Properties: fmt.Sprintf(`{"n":%d}`, i), PersonProperties: "{}",
					Timestamp: database.FromMicros(int64(i * 7919 % 1009)), CreatedAt: database.FromMicros(1),
				}
				keys, list = append(keys, capture.EventKey{ProjectID: e.ProjectID, UUID: uuid, Name: e.Name, DistinctID: e.DistinctID}), append(list, e)
			}
			if err := m.store.Commit(t.Context(), []int64{1, 2}, func(tx capture.Tx) error {
				if _, err := tx.Claim(keys); err != nil {
					return err
				}
				return tx.Save(&capture.Changes{Events: list})
			}); err != nil {
				t.Fatal(err)
			}
			for project := int64(1); project <= 2; project++ {
				var want *capture.Record
				for i := range list {
					if e := &list[i]; e.ProjectID == project && (want == nil || e.Timestamp.After(want.Timestamp)) {
						want = e
					}
				}
				got, err := m.store.Event(t.Context(), project, uuid)
				if err != nil || got == nil || got.Name != want.Name || got.Properties != want.Properties {
					t.Errorf("project %d: %+v, %v; want %+v", project, got, err, want)
				}
			}
			if got, err := m.store.Event(t.Context(), 3, uuid); got != nil || err != nil {
				t.Errorf("another project: %+v, %v", got, err)
			}
		})
	}
}
