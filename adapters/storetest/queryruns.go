package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/capture/queries"
)

// QueryRuns is the contract test of queries.RunStore.
func QueryRuns(t *testing.T, runs queries.RunStore) {
	ctx, now := context.Background(), time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	run := func(project int64, id, server string, at time.Duration) *queries.StoredRun {
		return &queries.StoredRun{Project: project, ID: id, Server: server, Seen: now.Add(at), Status: []byte(`{"text":"ü\u0000'"}`)}
	}
	ended := func(r *queries.StoredRun, result string) *queries.StoredRun {
		r.Ended, r.Result = true, []byte(result)
		return r
	}
	bounds := queries.RunBounds{Before: now.Add(-time.Hour), Count: 3, Bytes: 90}
	begin := func(r *queries.StoredRun, want bool) {
		t.Helper()
		if isNew, err := runs.BeginRun(ctx, r, now.Add(-time.Minute), bounds); isNew != want || err != nil {
			t.Errorf("%s begins: %t, %v, want %t", r.ID, isNew, err, want)
		}
	}
	update := func(r *queries.StoredRun, want bool) {
		t.Helper()
		if running, err := runs.UpdateRun(ctx, r); running != want || err != nil {
			t.Errorf("%s is told of by %s: %t, %v, want %t", r.ID, r.Server, running, err, want)
		}
	}
	stored := func(project int64, id string, want *queries.StoredRun) {
		t.Helper()
		got, err := runs.Run(ctx, project, id)
		if err != nil || cmp.Diff(got, want) != "" {
			t.Errorf("%d/%s: %v\n%s", project, id, err, cmp.Diff(want, got))
		}
	}

	stored(1, "a", nil)
	first := run(1, "a", "one", 0)
	begin(first, true)
	stored(1, "a", first)
	begin(run(1, "a", "two", time.Second), false) // it is running
	begin(run(2, "a", "two", 0), true)            // of another project
	stored(1, "a", first)
	update(ended(run(1, "a", "one", time.Second), `{"results":[1]}`), true)
	stored(1, "a", ended(run(1, "a", "one", time.Second), `{"results":[1]}`))
	update(ended(run(1, "a", "one", time.Minute), `{}`), false) // it has ended
	stored(1, "a", ended(run(1, "a", "one", time.Second), `{"results":[1]}`))
	begin(run(1, "a", "two", time.Second), true) // a finished name may be reused
	stored(1, "a", run(1, "a", "two", time.Second))
	update(ended(run(1, "a", "one", time.Second), `{}`), false) // a run of another server
	begin(run(1, "dead", "one", -2*time.Minute), true)
	begin(run(1, "dead", "two", 0), true) // its server has not updated it for a minute

	boundsRuns(t, runs, run, bounds)
	stored(2, "a", run(2, "a", "two", 0)) // not within the bounds of project 1
	if err := runs.DeleteRuns(ctx, now.Add(4*time.Second)); err != nil {
		t.Fatal(err)
	}
	stored(2, "a", nil)
	stored(1, "last 1", nil)
	stored(1, "old 4", ended(run(1, "old 4", "one", 4*time.Second), `{"results":[1234567890123456789]}`))
}

// boundsRuns checks that the latest finished runs stay, within the bounds of number and
// size.
func boundsRuns(t *testing.T, runs queries.RunStore, run func(project int64, id, server string, at time.Duration) *queries.StoredRun, bounds queries.RunBounds) {
	t.Helper()
	begin := func(r *queries.StoredRun) {
		if isNew, err := runs.BeginRun(t.Context(), r, r.Seen.Add(-time.Hour), bounds); !isNew || err != nil {
			t.Errorf("%s begins: %t, %v", r.ID, isNew, err)
		}
	}
	for n := range 5 { // of 33 bytes each, with a bound of 90
		r := run(1, fmt.Sprint("old ", n), "one", time.Duration(n)*time.Second)
		r.Ended, r.Result = true, []byte(`{"results":[1234567890123456789]}`)
		begin(r)
	}
	for _, limit := range []int{3, 1} {
		bounds.Count = limit
		begin(run(1, fmt.Sprint("last ", limit), "one", 0))
		for n := range 5 {
			remaining := n >= 5-min(limit, 2)
			if got, err := runs.Run(t.Context(), 1, fmt.Sprint("old ", n)); (got != nil) != remaining || err != nil {
				t.Errorf("run %d of five is kept: %t, want %t, %v", n, got != nil, remaining, err)
			}
		}
	}
}
