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

// recent follows what is recorded: by place and not by time, of one project, the newest
// where there is more than was asked for.
func recent(t *testing.T, s HistoryStore) {
	ctx := context.Background()
	look := func(after int64, limit int) capture.Recent {
		t.Helper()
		// Who has just committed may hold its place for a moment more.
		var out capture.Recent
		for range 3 {
			r, err := s.Recent(ctx, testProject, after, limit)
			must(t, err)
			out = r
		}
		return out
	}
	want := func(got capture.Recent, left int64, numbers ...int) {
		t.Helper()
		var names []string
		for _, e := range got.Events {
			names = append(names, e.Name)
		}
		var wanted []string
		for _, n := range numbers {
			wanted = append(wanted, fmt.Sprint("e", n))
		}
		if !slices.Equal(names, wanted) || got.Left != left {
			t.Errorf("%v and %d more, want %v and %d", names, got.Left, wanted, left)
		}
	}
	one := func(n int, properties string) capture.Record {
		e := event(n, fmt.Sprint("e", n), "ann", epoch.Add(-time.Duration(n)*time.Hour)) // later ones are of earlier times
		if properties != "" {
			e.Properties = properties
		}
		return e
	}
	inChunks(t, s, []capture.Record{one(0, "")}, true)
	start := look(-1, 10)
	want(start, 0)
	if again := look(start.Place, 10); again.Place != start.Place {
		t.Errorf("place %d, then %d: nothing was recorded", start.Place, again.Place)
	}
	var all []capture.Record
	for n := range 30 {
		all = append(all, one(n+1, ""))
	}
	inChunks(t, s, all, false)
	want(look(start.Place, 3), 27, 28, 29, 30)
	next := look(start.Place, 100)
	if len(next.Events) != 30 || next.Left != 0 || next.Events[0].Properties != all[0].Properties || next.Events[0].PersonID != all[0].PersonID {
		t.Errorf("%d events, %d left, first %+v", len(next.Events), next.Left, next.Events[0])
	}
	want(look(next.Place, 100), 0)
	large := `{"x":"` + strings.Repeat("y", capture.RecentBytes/2) + `"}`
	inChunks(t, s, []capture.Record{one(40, large), one(41, large), one(42, large)}, false)
	want(look(next.Place, 100), 2, 42)
	want(look(next.Place, 0), 0)
}
