package batchexports_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// An attempt that takes more than six hours fails, and the status after the last of ten attempts is
// TimedOut (§4.3.5).
func TestBatchExports_TimedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.BatchExports.Watch = time.Hour
		scope := w.Scope(t, "bob")
		e, err := w.BatchExports.Create(t.Context(), scope, ruletest.Body(t, files(``)))
		if err != nil {
			t.Fatal(err)
		}
		w.destination.onRun = func(ctx context.Context, _ *batchexports.Job) error {
			<-ctx.Done() // a destination that does not respond
			return ctx.Err()
		}
		w.Clock = moment("2026-01-02 13:00:30")
		for n := 1; n <= 10; n++ {
			begun := time.Now()
			if more, err := w.BatchExports.Work(t.Context()); !more || err != nil {
				t.Fatal(n, more, err)
			}
			if took := time.Since(begun); took != 6*time.Hour {
				t.Errorf("attempt %d has taken %s", n, took)
			}
			if status := w.newest(t, e.ID).Status; (status == "TimedOut") != (n == 10) {
				t.Errorf("after attempt %d: %s", n, status)
			}
			w.Clock = w.Clock.Add(10 * time.Minute)
		}
	})
}

// If a server crashes, another one repeats its run a minute later.
func TestBatchExports_LeaseRunsOut(t *testing.T) {
	w, export, begun, _ := startWorld(t)
	w.BatchExports.Watch = time.Hour // the lease is not renewed
	ctx, kill := context.WithCancel(t.Context())
	worked := make(chan error, 1)
	go func() {
		_, err := w.BatchExports.Work(ctx)
		worked <- err
	}()
	<-begun
	run := w.newest(t, export)
	defer func() { // the first server finds that it has lost the lease, and does not change the run
		kill()
		if err := <-worked; err != nil {
			t.Error(err)
		}
		if got := w.newest(t, export); got.ID != run.ID || got.Status != "Completed" || *got.Completed != 1 {
			t.Errorf("%+v", got)
		}
	}()
	w.destination.onRun = nil
	w.Clock = moment("2026-01-02 13:01:29")
	if more, err := w.BatchExports.Work(t.Context()); more || err != nil {
		t.Error("before the minute is over:", err)
	}
	w.Clock = moment("2026-01-02 13:01:30")
	if more, err := w.BatchExports.Work(t.Context()); !more || err != nil {
		t.Error("after the minute:", err)
	}
	if got := w.newest(t, export); got.ID != run.ID || got.Status != "Completed" {
		t.Errorf("%+v", got)
	}
}

// §4.3.4: unpause with a backfill during a run of the schedule continues behind that run.
func TestBatchExports_TakeOverInRun(t *testing.T) {
	w := newWorld(t)
	calls := w.calls(t)
	calls["fails"] = func(*management.Scope, string, string) (any, error) {
		w.destination.fails = append(w.destination.fails, errors.New("the disk is full"))
		return nil, nil
	}
	w.Run(t, calls, []ruletest.Row{
		{"§4.3.4", "bob", "create => it", files(``), `{"paused":false}`},
		{"§4.3.4", "bob", "came a", `{}`, `null`},
		{"§4.3.4", "bob", "fails", ``, `null`},
		{"§4.3.4", "bob", "at 2026-01-02 13:00:30", ``, `null`},
		{"§4.3.4 the run of 12:00 is tried again later", "bob", "work", ``, `[]`},
		{"§4.3.4", "bob", "pause <it>", ``, `{"paused":true}`},
		{"§4.3.4", "bob", "came b", `{}`, `null`},
		{"§4.3.4", "bob", "at 2026-01-02 14:20", ``, `null`},
		{"§4.3.4", "bob", "unpause <it>", `{"backfill":true}`, `{"paused":false}`},
		{"§4.3.4", "bob", "came c", `{}`, `null`},
		{"§4.3.4 the run, then what came behind it", "bob", "at 2026-01-02 15:00:30", ``, `null`},
		{"§4.3.4 each event once", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T14:20 01-02T15:00: c","01-02T13:00 01-02T14:00: b","01-02T14:00 01-02T14:20:"]`},
		{"§4.3.4 there is nothing to take over", "bob", "pause <it>", ``, `{"paused":true}`},
		{"§4.3.4 there is nothing to take over", "bob", "at 2026-01-02 15:00:30", ``, `null`},
		{"§4.3.4 there is nothing to take over", "bob", "unpause <it>", `{"backfill":true}`, `{"paused":false}`},
	})
}

// §4.3.1 hogql_query: the values of every column of events, and of properties.
func TestBatchExports_Columns(t *testing.T) {
	for _, tt := range []struct{ expression, want string }{
		{"uuid", `"e"`}, {"team_id", `1`}, {"timestamp", `"2026-01-02T12:00:02Z"`}, {"created_at", `"2026-01-02T12:00:02Z"`}, {"event", `"seen"`}, {"distinct_id", `"d-e"`},
		{"properties", `{"text":"a","n":1.50,"yes":true,"list":[1],"none":null,"$set":{"x":1},"$set_once":"no object"}`}, {"elements_chain", `""`}, {"person_id", `"p-e"`}, {"person_properties", `{"plan":"pro"}`},
		{"set", `{"x":1}`}, {"set_once", `null`},
		{"properties.text", `"a"`}, {"properties.n", `"1.50"`}, {"properties.yes", `"true"`}, {"properties.list", `"[1]"`}, {"properties.none", `null`}, {"properties.absent", `null`}, {"properties.$set", `"{\"x\":1}"`},
		{"person.properties.plan", `"pro"`}, {"person.properties.absent", `null`},
	} {
		t.Run(tt.expression, func(t *testing.T) {
			w := newWorld(t)
			calls := w.calls(t)
			calls["rows"] = writtenRows(w)
			w.Run(t, calls, []ruletest.Row{
				{"§4.3.1", "bob", "create", query(`"SELECT ` + tt.expression + ` AS x FROM events"`), `{"name":"x"}`},
				{"§4.3.1", "bob", "came e", `{"text":"a","n":1.50,"yes":true,"list":[1],"none":null,"$set":{"x":1},"$set_once":"no object"}`, `null`},
				{"§4.3.1", "bob", "at 2026-01-02 13:00:30", ``, `null`},
				{"§4.3.1", "bob", "work", ``, `["(like) ^01-02T12:00 01-02T13:00: "]`},
				{"§4.3.1", "bob", "rows", ``, `{"columns":"x","rows":[[` + tt.want + `]]}`},
			})
		})
	}
}

// Every list of an export has a limit, and exceeding it is an error.
func TestBatchExports_Bounds(t *testing.T) {
	many := func(n int) string {
		return `[` + strings.TrimSuffix(strings.Repeat(`{"key":"a","value":1},`, n), ",") + `]`
	}
	t.Run("filters", func(t *testing.T) {
		w := newWorld(t)
		w.Run(t, w.calls(t), []ruletest.Row{
			{"100", "bob", "create", files(`,"filters":` + many(100)), `{"name":"x"}`},
			{"101", "bob", "create", files(`,"filters":` + many(101)), `400 max_length filters Ensure this field has no more than 100 elements.`},
		})
	})
	t.Run("backfills that wait", func(t *testing.T) {
		w := newWorld(t)
		w.ledger.add("a", "2026-01-01 11:00", `{}`)
		rows := []ruletest.Row{{"", "bob", "create => it", files(``), `{"name":"x"}`}}
		const hour = `{"start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T12:00:00Z"}`
		for n := range 100 {
			rows = append(rows, ruletest.Row{fmt.Sprint("backfill ", n), "bob", "backfill <it> => last", hour, `{"backfill_id":"(like) ."}`})
		}
		w.Run(t, w.calls(t), append(rows,
			ruletest.Row{"one too many", "bob", "backfill <it>", hour, `429 too_many_concurrent_backfills - There are already 100 waiting backfills. Cancel one of them first.`},
			ruletest.Row{"one less", "bob", "cancelbackfill <it> <last>", ``, `{"cancelled":true}`},
			ruletest.Row{"one less", "bob", "backfill <it>", hour, `{"backfill_id":"(like) ."}`},
		))
	})
	t.Run("runs of a backfill", func(t *testing.T) {
		w := newWorld(t)
		w.ledger.add("a", "2025-01-01 00:00", `{}`)
		w.Run(t, w.calls(t), []ruletest.Row{
			{"", "bob", "create => it", files(`,"interval":"every 5 minutes"`), `{"name":"x"}`},
			{"10,000 times 5 minutes are 34 days, 17 hours and 20 minutes", "bob", "backfill <it>", `{"start_at":"2025-01-01T00:00:00Z","end_at":"2025-02-04T17:20:00Z"}`, `{"backfill_id":"(like) ."}`},
			{"one more", "bob", "backfill <it>", `{"start_at":"2025-01-01T00:00:00Z","end_at":"2025-02-04T17:20:01Z"}`, `400 invalid_input - The backfill would have more than 10000 runs: choose a shorter date range.`},
			{"in one run", "bob", "backfill <it>", `{"start_at":null,"end_at":null}`, `{"backfill_id":"(like) ."}`},
		})
	})
	t.Run("errors", func(t *testing.T) {
		w := newWorld(t)
		w.destination.fails = []error{&batchexports.PermanentError{Reason: strings.Repeat("ä", 600)}} // 1200 bytes
		w.Run(t, w.calls(t), []ruletest.Row{
			{"", "bob", "create => it", files(``), `{"name":"x"}`},
			{"", "bob", "at 2026-01-02 13:00:30", ``, `null`},
			{"", "bob", "work", ``, `[]`},
			{"1000 bytes, whole characters", "bob", "newest <it>", ``, `{"latest_error":"` + strings.Repeat("ä", 500) + `"}`},
		})
	})
}

// If the ledger cannot be read, the run waits, and the server reports the error.
func TestBatchExports_LedgerBroken(t *testing.T) {
	w := newWorld(t)
	scope := w.Scope(t, "bob")
	e, err := w.BatchExports.Create(t.Context(), scope, ruletest.Body(t, files(``)))
	if err != nil {
		t.Fatal(err)
	}
	w.Clock = moment("2026-01-02 13:00:30")
	errDisk := errors.New("the disk is gone")
	rows := w.BatchExports.Rows
	w.BatchExports.Rows = brokenLedger{rows, errDisk}
	if _, err := w.BatchExports.Work(t.Context()); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	if _, err := w.BatchExports.AddBackfill(t.Context(), scope, e.ID, ruletest.Body(t, `{}`)); !errors.Is(err, errDisk) {
		t.Error(err)
	}
	w.BatchExports.Rows = rows
	if more, err := w.BatchExports.Work(t.Context()); !more || err != nil {
		t.Error(err)
	}
	if run := w.newest(t, e.ID); run.Status != "Completed" {
		t.Errorf("%+v", run)
	}
}

// brokenLedger is a ledger that cannot be read.
type brokenLedger struct {
	batchexports.Rows
	err error
}

func (l brokenLedger) Horizon(context.Context, int64) (int64, error) { return 0, l.err }

func (l brokenLedger) FirstEvent(context.Context, int64) (time.Time, bool, error) {
	return time.Time{}, false, l.err
}
