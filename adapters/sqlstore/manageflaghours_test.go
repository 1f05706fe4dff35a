package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/rooms"
)

// console.md N7: what the service answers is added up by the hour, on both databases, and
// old hours go.
func TestStore_FlagHours(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *Store{"memory": sqliteStores["memory"], "postgres": postgresStore} {
		t.Run(name, func(t *testing.T) { flagHoursOf(t, loggedStore(t, open)) })
	}
}

func flagHoursOf(t *testing.T, s ManagementStore) {
	ctx, at := context.Background(), time.Date(2026, 1, 1, 10, 59, 0, 0, time.UTC)
	add := func(at time.Time, list ...Evaluated) {
		t.Helper()
		if err := s.AddEvaluated(ctx, at, list); err != nil {
			t.Fatal(err)
		}
	}
	want := func(said string, want ...string) {
		t.Helper()
		q := featureflags.HoursQuery{Project: 1, Evaluations: true, Keys: []string{"f"}, Values: []string{"true", "a"}, From: at.Add(-24 * time.Hour), To: at.Add(24 * time.Hour)}
		var got []featureflags.FlagHour
		err := s.Read(ctx, func(tx rooms.Tx) (err error) {
			got, err = tx.FlagHours(q)
			return err
		})
		texts := map[string]bool{}
		for _, h := range got {
			texts[fmt.Sprintf("%s %s %d", h.At.Format("15:04"), h.Value, h.N)] = true
		}
		for _, w := range want {
			if !texts[w] {
				t.Errorf("%s: no %q in %v", said, w, texts)
			}
		}
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, want %q, %v", said, texts, want, err)
		}
	}
	add(at, Evaluated{"phc_1", "f", "true", 2}, Evaluated{"phc_1", "f", "a", 1}, Evaluated{"phc_gone", "f", "true", 9}, Evaluated{"phc_2", "f", "true", 9})
	add(at.Add(time.Minute), Evaluated{"phc_1", "f", "true", 4})
	add(at, Evaluated{"phc_1", "f", "true", 3})
	want("added up", "10:00 true 5", "10:00 a 1", "11:00 true 4")
	many := make([]Evaluated, hoursPiece+1) // more than one transaction
	for i := range many {
		many[i] = Evaluated{"phc_1", fmt.Sprint("g", i), "true", 1}
	}
	add(at.Add(-3*time.Hour), many...)
	for _, left := range []bool{true, false} {
		if more, err := s.DropFlagHours(ctx, at.Add(time.Minute)); more != left || err != nil {
			t.Fatalf("more %v, %v, want %v", more, err, left)
		}
	}
	want("before 11:00 nothing is kept", "11:00 true 4")
}
