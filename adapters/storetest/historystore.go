package storetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture"
)

// HistoryStore is the store for History.
type HistoryStore interface {
	capture.History
	capture.Ledger
	// DeleteEventsBefore deletes old events.
	DeleteEventsBefore(ctx context.Context, before time.Time, most int) (int64, error)
}

// index runs the indexing after commits until it is complete.
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

// event returns the n-th event of a test.
func event(n int, name, id string, t time.Time) capture.Record {
	return capture.Record{
		ProjectID: testProject, UUID: uuidOf(fmt.Sprint("event ", n)), Name: name, DistinctID: id,
		Properties: fmt.Sprintf(`{"n":%d}`, n), Timestamp: t, CreatedAt: epoch.Add(time.Duration(n) * time.Second),
		PersonID: uuidOf(id), PersonCreatedAt: epoch, PersonProperties: "{}", PersonMode: capture.PersonMode(n % 3),
		Historical: n%2 == 0, ElementsChain: "a",
	}
}

// inChunks saves events in chunks of some hundred, with events of other projects in
// between.
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

// wantPage selects and sorts events according to the interface.
func wantPage(all []capture.Record, q capture.EventQuery) []string {
	var matching []int
	for i, e := range all {
		switch {
		case !q.From.IsZero() && e.Timestamp.Before(q.From), !q.To.IsZero() && !e.Timestamp.Before(q.To):
		case q.Name != "" && e.Name != q.Name, q.DistinctIDs != nil && !slices.Contains(q.DistinctIDs, e.DistinctID):
		default:
			matching = append(matching, i)
		}
	}
	slices.SortFunc(matching, func(a, b int) int {
		return cmp.Or(all[b].Timestamp.Compare(all[a].Timestamp), cmp.Compare(b, a))
	})
	out := []string{}
	for _, i := range matching {
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
		must(t, err)
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
