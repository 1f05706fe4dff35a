package sqlstore

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// console.md N7: evaluations are summed up by hour on both databases, and old hours are
// deleted.
func TestStore_FlagHours(t *testing.T) {
	for name, open := range map[string]func(testing.TB) *Store{"memory": sqliteStores["memory"], "postgres": postgresStore} {
		t.Run(name, func(t *testing.T) { testFlagHours(t, loggedStore(t, open)) })
	}
}

func testFlagHours(t *testing.T, s managementStore) {
	ctx, when := context.Background(), time.Date(2026, 1, 1, 10, 59, 0, 0, time.UTC)
	add := func(when time.Time, list ...Evaluation) {
		t.Helper()
		if err := s.AddEvaluations(ctx, when, list); err != nil {
			t.Fatal(err)
		}
	}
	want := func(what string, want ...string) {
		t.Helper()
		q := management.HoursQuery{Project: 1, Evaluations: true, Keys: []string{"f"}, Values: []string{"true", "a"}, From: when.Add(-24 * time.Hour), To: when.Add(24 * time.Hour)}
		var got []management.FlagHour
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
				t.Errorf("%s: no %q in %v", what, w, texts)
			}
		}
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, want %q, %v", what, texts, want, err)
		}
	}
	add(when, Evaluation{"phc_1", "f", "true", 2}, Evaluation{"phc_1", "f", "a", 1}, Evaluation{"phc_gone", "f", "true", 9}, Evaluation{"phc_2", "f", "true", 9})
	add(when.Add(time.Minute), Evaluation{"phc_1", "f", "true", 4})
	add(when, Evaluation{"phc_1", "f", "true", 3})
	want("added up", "10:00 true 5", "10:00 a 1", "11:00 true 4")
	many := make([]Evaluation, hoursChunk+1) // more than one transaction
	for i := range many {
		many[i] = Evaluation{"phc_1", fmt.Sprint("g", i), "true", 1}
	}
	add(when.Add(-3*time.Hour), many...)
	for _, hasMore := range []bool{true, false} {
		if more, err := s.DeleteFlagHours(ctx, when.Add(time.Minute)); more != hasMore || err != nil {
			t.Fatalf("more %v, %v, want %v", more, err, hasMore)
		}
	}
	want("before 11:00 nothing is kept", "11:00 true 4")
}
