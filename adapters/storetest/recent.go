package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// followsRecent checks that Recent returns the events of one project in the order of
// recording, not of time, and the newest if there are more than the limit.
func followsRecent(t *testing.T, s HistoryStore) {
	ctx := context.Background()
	readRecent := func(after int64, limit int) capture.Recent {
		t.Helper()
		// The position of a recent commit may need a moment to become final.
		var out capture.Recent
		for range 3 {
			r, err := s.Recent(ctx, testProject, after, limit)
			must(t, err)
			out = r
		}
		return out
	}
	want := func(got capture.Recent, remaining int64, numbers ...int) {
		t.Helper()
		var names []string
		for _, e := range got.Events {
			names = append(names, e.Name)
		}
		var expected []string
		for _, n := range numbers {
			expected = append(expected, fmt.Sprint("e", n))
		}
		if !slices.Equal(names, expected) || got.Remaining != remaining {
			t.Errorf("%v and %d more, want %v and %d", names, got.Remaining, expected, remaining)
		}
	}
	one := func(n int, properties string) capture.Record {
		e := event(n, fmt.Sprint("e", n), "ann", epoch.Add(-time.Duration(n)*time.Hour)) // later events have earlier times
		if properties != "" {
			e.Properties = properties
		}
		return e
	}
	inChunks(t, s, []capture.Record{one(0, "")}, true)
	start := readRecent(-1, 10)
	want(start, 0)
	if again := readRecent(start.Position, 10); again.Position != start.Position {
		t.Errorf("place %d, then %d: nothing was recorded", start.Position, again.Position)
	}
	var all []capture.Record
	for n := range 30 {
		all = append(all, one(n+1, ""))
	}
	inChunks(t, s, all, false)
	want(readRecent(start.Position, 3), 27, 28, 29, 30)
	next := readRecent(start.Position, 100)
	if len(next.Events) != 30 || next.Remaining != 0 || next.Events[0].Properties != all[0].Properties || next.Events[0].PersonID != all[0].PersonID {
		t.Errorf("%d events, %d left, first %+v", len(next.Events), next.Remaining, next.Events[0])
	}
	want(readRecent(next.Position, 100), 0)
	large := `{"x":"` + strings.Repeat("y", capture.RecentBytes/2) + `"}`
	inChunks(t, s, []capture.Record{one(40, large), one(41, large), one(42, large)}, false)
	want(readRecent(next.Position, 100), 2, 42)
	want(readRecent(next.Position, 0), 0)
}
