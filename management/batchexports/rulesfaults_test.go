package batchexports_test

import (
	"errors"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// faultyWorld returns a world with a store that can fail, and the function that RunFaulty needs. Leases are
// not renewed during an attempt, since the store counts its calls.
func faultyWorld(t *testing.T) (*world, ruletest.Calls, func(after int) bool) {
	faulty := &memstore.Faulty{Store: memstore.New(memstore.ExternalData{}), After: -1}
	w := worldOn(t, faulty)
	w.BatchExports.Watch = time.Hour
	calls := w.calls(t)
	work := calls["work"]
	calls["work"] = func(scope *management.Scope, path, body string) (any, error) {
		faulty.After = -1 // TestFaults_Runs tests failures of runs
		return work(scope, path, body)
	}
	return w, calls, func(after int) bool {
		failed := faulty.Failed
		faulty.After, faulty.Failed = after, false
		return failed
	}
}

// If any call of the store fails, the request fails with that error and changes no data: repeating
// it has the same result as without the failure.
func TestFaults(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"changes": changeRows, "places": placeRows, "pausing": pausingRows, "deletion": deletionRows[1:13], "pauses": pauseRows, "plans": planRows,
		"backfills": backfillRows, "cancelled backfills": cancelBackfillRows, "failed backfills": backfillFailureRows,
	} {
		t.Run(name, func(t *testing.T) {
			w, calls, fail := faultyWorld(t)
			if name == "deletion" {
				rows = append([]ruletest.Row{{"§4.3.3", "bob", "create => it", files(``), `{"name":"x"}`}}, rows...)
			}
			w.ledger.add("a", "2026-01-01 11:00", `{}`)
			w.ledger.add("b", "2026-01-01 12:10", `{}`)
			w.ledger.add("c", "2026-01-01 14:00", `{}`)
			w.RunFaulty(t, calls, rows, memstore.ErrDisk, fail)
		})
	}
}

// If any call of the store fails while an export runs, each interval is written exactly one time, with
// one run (decision 23). The third interval is that of a backfill.
func TestFaults_Runs(t *testing.T) {
	attempts := 0
	for after := 0; ; after++ {
		w, _, fail := faultyWorld(t)
		scope := w.Scope(t, "bob")
		w.ledger.add("old", "2026-01-01 11:00", `{}`)
		e, err := w.BatchExports.Create(t.Context(), scope, ruletest.Body(t, files(``)))
		if err != nil {
			t.Fatal(err)
		}
		w.ledger.add("a", "2026-01-02 12:30", `{}`)
		w.ledger.add("b", "2026-01-02 13:30", `{}`)
		if _, err := w.BatchExports.AddBackfill(t.Context(), scope, e.ID, ruletest.Body(t, `{"start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T12:00:00Z"}`)); err != nil {
			t.Fatal(err)
		}
		w.Clock = moment("2026-01-02 14:00:30")
		fail(after)
		_, err = w.work(t)
		failed := fail(-1)
		switch {
		case failed && err == nil:
			attempts++ // it has failed within an attempt, which is repeated
		case failed && !errors.Is(err, memstore.ErrDisk) || !failed && err != nil:
			t.Errorf("call %d fails, failed: %v: %v", after, failed, err)
		}
		// The lease of a server that could not release it is over after a minute.
		w.Clock = w.Clock.Add(time.Minute)
		if _, err := w.work(t); err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		for _, run := range w.destination.order {
			got[w.written(run)]++
		}
		for _, want := range []string{"01-02T12:00 01-02T13:00: a", "01-02T13:00 01-02T14:00: b", "01-01T11:00 01-01T12:00: old"} {
			if got[want] != 1 {
				t.Errorf("call %d fails: %q is written %d times: %v", after, want, got[want], got)
			}
		}
		export, err := w.BatchExports.Get(t.Context(), scope, e.ID)
		if err != nil || len(export.LatestRuns) != 3 {
			t.Fatalf("call %d fails: %d runs, %v", after, len(export.LatestRuns), err)
		}
		for _, run := range export.LatestRuns {
			if run.Status != "Completed" {
				t.Errorf("call %d fails: %+v", after, run)
			}
		}
		if !failed {
			if after < 50 || attempts != 3 { // three runs need more calls than that, and one each while rows are read
				t.Errorf("only %d calls, of which %d are attempts", after, attempts)
			}
			return
		}
	}
}
