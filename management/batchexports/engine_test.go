package batchexports_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// A failed attempt is repeated, and the same run replaces its earlier output. A permanent error
// ends the run (§4.3.5, §7).
func TestBatchExports_Runs(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"failures": failureRows, "refusals": refusalRows, "giving up": givingUpRows, "cancelling": cancelRows, "retries": retryRows,
		"lists": runListRows, "orders": runOrderRows, "logs": runLogRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			calls := w.calls(t)
			// fails makes a number of attempts fail, and the attempt after them fail permanently.
			calls["fails"] = func(_ *management.Scope, path, _ string) (any, error) {
				n, message, _ := strings.Cut(path, " ")
				for range len(n) {
					w.destination.fails = append(w.destination.fails, errors.New(message))
				}
				return nil, nil
			}
			calls["refuses"] = func(_ *management.Scope, path, _ string) (any, error) {
				w.destination.fails = append(w.destination.fails, fmt.Errorf("writing: %w", &batchexports.PermanentError{Reason: path}))
				return nil, nil
			}
			calls["done"] = func(*management.Scope, string, string) (any, error) {
				done := w.results
				w.results = nil
				return done, nil
			}
			w.Run(t, calls, rows)
		})
	}
}

// The pauses between attempts: 5 seconds, then twice as long each time, at most 10 minutes.
var failureRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", exportTo("Postgres", `{`+postgres+`}`), `{"latest_runs":[]}`},
	{"§4.3.5", "bob", "came a", `{}`, `null`},
	{"§4.3.5 two attempts fail", "bob", "fails || the password secret is wrong", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.5 the first attempt", "bob", "work", ``, `[]`},
	{"§4.3.5 it is still running; no secret in its error", "bob", "get <it>", ``, `{"latest_runs":[{"status":"Running","latest_error":"the password *** is wrong","records_completed":null,"finished_at":null,
		"data_interval_start":"2026-01-02T12:00:00Z"}]}`},
	{"JobDone", "bob", "done", ``, `[{"Job":"batch_export","Project":1,"ExportName":"x","Status":"Running","Failure":"the password *** is wrong","Again":true,"Rows":0}]`},
	{"not before 5 seconds", "bob", "at 2026-01-02 13:00:34", ``, `null`},
	{"not before 5 seconds", "bob", "work", ``, `[]`},
	{"not before 5 seconds", "bob", "done", ``, `null`},
	{"the second attempt", "bob", "work", ``, `[]`},
	{"the second attempt", "bob", "done", ``, `[{"Again":true}]`},
	{"then after 10 more", "bob", "at 2026-01-02 13:00:45", ``, `null`},
	{"the third attempt was due", "bob", "work", ``, `[]`},
	{"the third attempt", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.5", "bob", "done", ``, `[{"Status":"Completed","Rows":1,"Failure":"","Again":false}]`},
	{"§4.3.5 one run", "bob", "runs <it>", ``, `{"results":[{"status":"Completed","latest_error":null,"records_completed":1,"records_failed":0}]}`},
	{"§4.3.6 the schedule waits for it and goes on", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"§4.3.6 the schedule waits for it and goes on", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00:","01-02T14:00 01-02T15:00:"]`},
}

var refusalRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.5", "bob", "came a", `{}`, `null`},
	{"§4.3.5 what lasts ends the run", "bob", "refuses there is no such bucket", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `[]`},
	{"§4.3.5 Failed", "bob", "get <it>", ``, `{"latest_runs":[{"status":"Failed","latest_error":"writing: there is no such bucket","finished_at":"2026-01-02T13:00:30Z"}]}`},
	{"§4.3.5", "bob", "done", ``, `[{"Status":"Failed","Again":false,"Failure":"writing: there is no such bucket"}]`},
	{"§4.3.6 the next interval is tried", "bob", "came b", `{}`, `null`},
	{"§4.3.6 the next interval is tried", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"§4.3.6 the next interval is tried", "bob", "work", ``, `["01-02T13:00 01-02T14:00: b"]`},
}

// A run has ten attempts. After failures of 5+10+20+40+80+160+320+600+600 seconds, the last one is
// half an hour and 35 seconds after the first one.
var givingUpRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.5 ten attempts", "bob", "fails |||||||||| the disk is full", ``, `null`},
	{"the 1st, at 13:00:30", "bob", "at 2026-01-02 13:00:30", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 2nd, 5 s later", "bob", "at 2026-01-02 13:00:35", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 3rd, 10 s later", "bob", "at 2026-01-02 13:00:45", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 4th, 20 s later", "bob", "at 2026-01-02 13:01:05", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 5th, 40 s later", "bob", "at 2026-01-02 13:01:45", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 6th, 80 s later", "bob", "at 2026-01-02 13:03:05", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 7th, 160 s later", "bob", "at 2026-01-02 13:05:45", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 8th, 320 s later", "bob", "at 2026-01-02 13:11:05", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 9th, 600 s later", "bob", "at 2026-01-02 13:21:05", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"the 10th is not yet due", "bob", "at 2026-01-02 13:31:04", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"a run with attempts left has not failed", "bob", "failing", ``, `null`},
	{"nine have failed", "bob", "get <it>", ``, `{"latest_runs":[{"status":"Running"}]}`},
	{"the 10th, 600 s later", "bob", "at 2026-01-02 13:31:05", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"§4.3.5 FailedRetryable", "bob", "get <it>", ``, `{"latest_runs":[{"status":"FailedRetryable","latest_error":"the disk is full","finished_at":"2026-01-02T13:31:05Z"}]}`},
	{"the last run of the export failed", "bob", "failing", ``, `["x"]`},
}

var cancelRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.5", "bob", "came a", `{}`, `null`},
	{"§4.3.5", "bob", "fails | the disk is full", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `[]`},
	{"§4.3.5", "bob", "newest <it> => run", ``, `{"status":"Running"}`},
	{"§4.3.5 cancel", "bob", "cancel <it> <run>", ``, `{"cancelled":true}`},
	{"§4.3.5 cancel", "bob", "run <it> <run>", ``, `{"status":"Cancelled","finished_at":"2026-01-02T13:00:32Z"}`},
	{"§4.3.5 only Running or Starting", "bob", "cancel <it> <run>", ``, `400 invalid_input - Cannot cancel a run that is in 'Cancelled' status`},
	{"§4.3.5 it is not tried again", "bob", "at 2026-01-02 13:59", ``, `null`},
	{"§4.3.5 it is not tried again", "bob", "work", ``, `[]`},
	{"§4.3.6 the schedule goes on", "bob", "came b", `{}`, `null`},
	{"§4.3.6 the schedule goes on", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"§4.3.6 the schedule goes on", "bob", "work", ``, `["01-02T13:00 01-02T14:00: b"]`},
	{"§4.3.5 complete", "bob", "newest <it> => done", ``, `{"status":"Completed"}`},
	{"§4.3.5 complete", "bob", "cancel <it> <done>", ``, `400 invalid_input - Cannot cancel a run that is in 'Completed' status`},
	{"§4.3.5 unknown", "bob", "cancel <it> " + nowhere, ``, notFound},
	{"§4.3.5 unknown", "bob", "run <it> 17", ``, notFound},
	{"§4.3.5 unknown", "bob", "run " + nowhere + " <done>", ``, notFound},
	{"§1.5 another organization's", "dan", "run <it> <done>", ``, notFound},
	{"§1.5 another organization's", "dan", "cancel <it> <done>", ``, notFound},
	{"§1.5 another organization's", "dan", "retry <it> <done>", ``, notFound},
	{"§1.5 another organization's", "dan", "runlog <it> <done>", ``, notFound},
}

var retryRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.5", "bob", "came a b", `{}`, `null`},
	{"§4.3.5", "bob", "refuses the password is wrong", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `[]`},
	{"§4.3.5", "bob", "newest <it> => run", ``, `{"status":"Failed"}`},
	{"§4.3.5 an event that came in since then", "bob", "came c", `{}`, `null`},
	{"§4.3.5 retry", "bob", "retry <it> <run>", ``, `{"backfill_id":"(like) ^[0-9a-f-]{36}$"}`},
	{"§4.3.5 retry is a backfill", "bob", "backfills <it>", ``, `{"results":[{"start_at":"2026-01-02T12:00:00Z","end_at":"2026-01-02T13:00:00Z","status":"Starting","team":1,"batch_export":"<it>","progress":null}]}`},
	{"§4.3.5 the same events as before", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a b"]`},
	{"§4.3.6", "bob", "backfills <it>", ``, `{"results":[{"status":"Completed","finished_at":"2026-01-02T13:00:35Z","progress":{"total_runs":1,"finished_runs":1,"progress":1}}]}`},
	{"§4.3.5 the first run stays as it was", "bob", "run <it> <run>", ``, `{"status":"Failed","backfill":null}`},
	{"§4.3.5 the second is of the backfill", "bob", "newest <it> => second", ``, `{"status":"Completed","backfill":"(like) ^[0-9a-f-]{36}$","records_completed":2}`},
	{"§4.3.5 one that was complete is repeated too", "bob", "retry <it> <second>", ``, `{"backfill_id":"(like) ^[0-9a-f-]{36}$"}`},
	{"§4.3.5 which may be waited for", "bob", "fails | no", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a b"]`},
	{"§4.3.5 under way", "bob", "newest <it> => third", ``, `{"status":"Running"}`},
	{"§4.3.5 under way", "bob", "retry <it> <third>", ``, `400 invalid_input - Cannot retry a run that is in 'Running' status`},
	{"§4.3.5 unknown", "bob", "retry <it> " + nowhere, ``, notFound},
}

// §4.3.5: after (-7d by default), before (now by default), start, end, ordering, status.
var runListRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.5", "bob", "came a", `{}`, `null`},
	{"§4.3.5", "bob", "refuses no", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`}, {"", "bob", "work", ``, `[]`},
	{"§4.3.5", "bob", "at 2026-01-02 14:00:30", ``, `null`}, {"", "bob", "work", ``, `["01-02T13:00 01-02T14:00:"]`},
	{"§4.3.5 newest first", "bob", "runs <it>", ``, `{"next":"","previous":"","results":[{"status":"Completed"},{"status":"Failed"}]}`},
	{"§4.3.5 status", "bob", "runs <it>", `{"Status":"Failed"}`, `{"results":[{"status":"Failed","data_interval_end":"2026-01-02T13:00:00Z"}]}`},
	{"§4.3.5 status", "bob", "runs <it>", `{"Status":"FailedBilling"}`, `{"results":[]}`},
	{"§4.3.5 status", "bob", "runs <it>", `{"Status":"Broken"}`, `400 invalid_choice status "Broken" is not a valid choice.`},
	{"§4.3.5 start", "bob", "runs <it>", `{"Start":"2026-01-02T13:00:00Z"}`, `{"results":[{"data_interval_start":"2026-01-02T13:00:00Z"}]}`},
	{"§4.3.5 start", "bob", "runs <it>", `{"Start":"2026-01-02T13:00:01Z"}`, `{"results":[]}`},
	{"§4.3.5 end", "bob", "runs <it>", `{"End":"2026-01-02T13:00:00Z"}`, `{"results":[{"data_interval_end":"2026-01-02T13:00:00Z"}]}`},
	{"§4.3.5 end", "bob", "runs <it>", `{"End":"2026-01-02T12:59:59Z"}`, `{"results":[]}`},
	{"§4.3.5 after, of when they were made", "bob", "runs <it>", `{"After":"2026-01-02T14:00:00Z"}`, `{"results":[{"data_interval_end":"2026-01-02T14:00:00Z"}]}`},
	{"§4.3.5 before, of when they were made", "bob", "runs <it>", `{"Before":"2026-01-02T14:00:00Z"}`, `{"results":[{"data_interval_end":"2026-01-02T13:00:00Z"}]}`},
	{"§4.3.5 a plus sign that became a space", "bob", "runs <it>", `{"Before":"2026-01-02T15:00:00 01:00"}`, `{"results":[{"data_interval_end":"2026-01-02T13:00:00Z"}]}`},
	{"§4.3.5 relative", "bob", "runs <it>", `{"After":"-1h"}`, `{"results":[{"data_interval_end":"2026-01-02T14:00:00Z"}]}`},
	{"§4.3.5 no time", "bob", "runs <it>", `{"After":"soon"}`, `400 invalid_input after`},
	{"§4.3.5 no time", "bob", "runs <it>", `{"End":"-5"}`, `400 invalid_input end`},
	{"§4.3.5 after is a week ago", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.5 after is a week ago", "bob", "at 2026-01-09 13:00:31", ``, `null`},
	{"§4.3.5 after is a week ago", "bob", "runs <it>", ``, `{"results":[{"data_interval_end":"2026-01-02T14:00:00Z"}]}`},
	{"§4.3.5 after", "bob", "runs <it>", `{"After":"-2w"}`, `{"results":[{"data_interval_end":"2026-01-02T14:00:00Z"},{"data_interval_end":"2026-01-02T13:00:00Z"}]}`},
	{"§4.3.5 after", "bob", "runs <it>", `{"After":"-1m"}`, `{"results":[{"status":"Completed"},{"status":"Failed"}]}`},
	{"§4.3.5 unknown", "bob", "runs " + nowhere, ``, notFound},
}

// A run that repeats an earlier interval is created later, so the two orders differ.
var runOrderRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.5", "bob", "came a", `{}`, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`}, {"", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.5", "bob", "newest <it> => first", ``, `{"status":"Completed"}`},
	{"§4.3.5", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00:"]`},
	{"§4.3.5", "bob", "retry <it> <first>", ``, `{"id":"(absent)","backfill_id":"(like) ^[0-9a-f-]{36}$"}`},
	{"§4.3.5", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00:","01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.5 created_at", "bob", "runs <it>", `{"Ordering":"created_at"}`, `{"results":[{"id":"<first>"},{"backfill":null,"data_interval_start":"2026-01-02T13:00:00Z"},{"backfill":"(like) .","data_interval_start":"2026-01-02T12:00:00Z"}]}`},
	{"§4.3.5 -created_at", "bob", "runs <it>", `{"Ordering":"-created_at"}`, `{"results":[{"backfill":"(like) ."},{"data_interval_start":"2026-01-02T13:00:00Z"},{"id":"<first>"}]}`},
	{"§4.3.5 data_interval_start", "bob", "runs <it>", `{"Ordering":"data_interval_start"}`, `{"results":[{"id":"<first>"},{"backfill":"(like) ."},{"data_interval_start":"2026-01-02T13:00:00Z"}]}`},
	{"§4.3.5 -data_interval_start", "bob", "runs <it>", `{"Ordering":"-data_interval_start"}`, `{"results":[{"data_interval_start":"2026-01-02T13:00:00Z"},{"backfill":"(like) ."},{"id":"<first>"}]}`},
	{"§3 an order that is not known", "bob", "runs <it>", `{"Ordering":"colour"}`, `{"results":[{"backfill":"(like) ."},{"data_interval_start":"2026-01-02T13:00:00Z"},{"id":"<first>"}]}`},
	{"§3 no cursor", "bob", "runs <it>", `{"Cursor":"what"}`, `404 not_found - Invalid cursor`},
}

var runLogRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.5", "bob", "fails | the disk is full", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `[]`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:35", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `["01-02T12:00 01-02T13:00:"]`},
	{"§4.3.5", "bob", "newest <it> => run", ``, `{"status":"Completed"}`},
	{"§4.3.5 logs", "bob", "runlog <it> <run>", ``, `{"count":4,"results":[
		{"level":"INFO","timestamp":"2026-01-02T13:00:30Z"},{"level":"WARNING","message":"(like) the disk is full","timestamp":"2026-01-02T13:00:30Z"},
		{"level":"INFO","timestamp":"2026-01-02T13:00:35Z"},{"level":"INFO","timestamp":"2026-01-02T13:00:35Z"}]}`},
	{"§4.3.5 logs", "bob", "runlog <it> " + nowhere, ``, notFound},
}

// §4.3.5: pages of 100 by cursor, in both directions.
func TestBatchExports_RunPages(t *testing.T) {
	w := newWorld(t)
	scope := w.Scope(t, "bob")
	e, err := w.BatchExports.Create(t.Context(), scope, ruletest.Body(t, files(`,"interval":"every 5 minutes"`)))
	if err != nil {
		t.Fatal(err)
	}
	const all = 205
	w.Clock = w.Clock.Add(all*5*time.Minute + time.Minute)
	if _, err := w.work(t); err != nil {
		t.Fatal(err)
	}
	pages, seen, cursor := []int{}, map[string]bool{}, ""
	var last batchexports.CursorPage[batchexports.BatchExportRun]
	for {
		last, err = w.BatchExports.Runs(t.Context(), scope, e.ID, batchexports.RunQuery{Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, len(last.Results))
		for _, r := range last.Results {
			seen[r.ID] = true
		}
		if cursor = last.Next; cursor == "" {
			break
		}
	}
	if fmt.Sprint(pages) != "[100 100 5]" || len(seen) != all {
		t.Errorf("%d runs in pages of %d", len(seen), pages)
	}
	back, err := w.BatchExports.Runs(t.Context(), scope, e.ID, batchexports.RunQuery{Cursor: last.Previous})
	if err != nil || len(back.Results) != 100 || back.Results[99].From != last.Results[0].To {
		t.Errorf("back: %d runs, %v", len(back.Results), err)
	}
	oldest, err1 := w.BatchExports.Runs(t.Context(), scope, e.ID, batchexports.RunQuery{Ordering: "created_at"})
	next, err2 := w.BatchExports.Runs(t.Context(), scope, e.ID, batchexports.RunQuery{Ordering: "created_at", Cursor: oldest.Next})
	if err1 != nil || err2 != nil || len(next.Results) != 100 || next.Results[0].From != oldest.Results[99].To {
		t.Errorf("the other way: %d runs, %v, %v", len(next.Results), err1, err2)
	}
	got, err := w.BatchExports.Get(t.Context(), scope, e.ID)
	if err != nil || len(got.LatestRuns) != 10 { // §4.3.1
		t.Errorf("%d latest runs, %v", len(got.LatestRuns), err)
	}
}

// startWorld returns a world with an export of one event whose run is due. Each attempt sends to
// begun when it begins, and continues when let receives a value.
func startWorld(t *testing.T) (w *world, export string, begun chan struct{}, let chan error) {
	t.Helper()
	w = newWorld(t)
	e, err := w.BatchExports.Create(t.Context(), w.Scope(t, "bob"), ruletest.Body(t, files(``)))
	if err != nil {
		t.Fatal(err)
	}
	w.ledger.add("a", "2026-01-02 12:30", "{}")
	w.Clock = moment("2026-01-02 13:00:30")
	begun, let = make(chan struct{}, 4), make(chan error, 4)
	w.destination.onRun = func(ctx context.Context, _ *batchexports.Job) error {
		begun <- struct{}{}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-let:
			return err
		}
	}
	return w, e.ID, begun, let
}

// newest returns the newest run of an export.
func (w *world) newest(t *testing.T, export string) batchexports.BatchExportRun {
	t.Helper()
	e, err := w.BatchExports.Get(t.Context(), w.Scope(t, "bob"), export)
	if err != nil || len(e.LatestRuns) == 0 {
		t.Fatal(e, err)
	}
	return e.LatestRuns[0]
}

// §4.3.5, §4.3.3: cancelling a run stops it while the destination works.
func TestBatchExports_CancelAtWork(t *testing.T) {
	for name, cancel := range map[string]func(w *world, scope *management.Scope, export, run string) error{
		"the run": func(w *world, scope *management.Scope, export, run string) error {
			_, err := w.BatchExports.CancelRun(t.Context(), scope, export, run)
			return err
		},
		"the export": func(w *world, scope *management.Scope, export, _ string) error {
			return w.BatchExports.Delete(t.Context(), scope, export)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
			w, export, begun, _ := startWorld(t)
			worked := make(chan error, 1)
			go func() {
				_, err := w.BatchExports.Work(t.Context())
				worked <- err
			}()
			<-begun
			run := w.newest(t, export)
			if err := cancel(w, w.Scope(t, "bob"), export, run.ID); err != nil {
				t.Fatal(err)
			}
			if err := <-worked; err != nil { // it would block forever unless its context ends
				t.Error(err)
			}
			if len(w.destination.written) != 0 {
				t.Error("it was written", w.destination.written)
			}
			if name == "the run" && w.newest(t, export).Status != "Cancelled" {
				t.Errorf("%+v", w.newest(t, export))
			}
			if more, err := w.BatchExports.Work(t.Context()); name == "the export" && more || err != nil {
				t.Error("there is more to do", err)
			}
		})
	}
}

// Two servers share the work: only the server with the lease works on an export.
func TestBatchExports_Leases(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	w, export, begun, let := startWorld(t)
	worked := make(chan error, 1)
	go func() {
		_, err := w.BatchExports.Work(t.Context())
		worked <- err
	}()
	<-begun
	if more, err := w.BatchExports.Work(t.Context()); more || err != nil {
		t.Error("a second server works on it too", err)
	}
	let <- nil
	if err := <-worked; err != nil {
		t.Error(err)
	}
	if run := w.newest(t, export); run.Status != "Completed" || len(w.destination.order) != 1 {
		t.Errorf("%+v, %v", run, w.destination.order)
	}
}

// Decision 23: if a server stops during a run, the next one repeats the same run.
func TestBatchExports_ServerEnds(t *testing.T) {
	w, export, begun, let := startWorld(t)
	ctx, stop := context.WithCancel(t.Context())
	var server sync.WaitGroup
	server.Go(func() {
		ticks := make(chan time.Time, 1)
		ticks <- time.Time{}
		w.BatchExports.RunExports(ctx, ticks, func(err error) { t.Error(err) })
	})
	<-begun
	run := w.newest(t, export)
	stop()
	server.Wait()
	if got := w.newest(t, export); got.Status != "Running" || got.LatestError != nil {
		t.Errorf("the end of a server is no failure of a run: %+v", got)
	}
	w.ledger.add("b", "2026-01-02 13:00:31", "{}") // which does not belong to the run
	let <- nil
	if more, err := w.BatchExports.Work(t.Context()); !more || err != nil {
		t.Fatal("nothing to do", err)
	}
	if got := w.newest(t, export); got.ID != run.ID || got.Status != "Completed" || w.written(run.ID) != "01-02T12:00 01-02T13:00: a" {
		t.Errorf("%+v wrote %s", got, w.written(run.ID))
	}
}

// §4.3.5: a server without a Runner or without Rows runs no exports, and its methods return an
// error.
func TestBatchExports_NotHere(t *testing.T) {
	w := newWorld(t)
	w.BatchExports.Rows, w.BatchExports.Runner = nil, nil
	calls := w.calls(t)
	const unavailable = `503 unavailable - This server does not run batch exports.`
	w.Run(t, calls, []ruletest.Row{
		{"§4.3.3", "bob", "create => it", files(``), `{"name":"x"}`},
		{"§4.3.6", "bob", "backfill <it>", `{"start_at":null,"end_at":null}`, unavailable},
		{"§4.3.4", "bob", "pause <it>", ``, `{"paused":true}`},
		{"§4.3.4", "bob", "unpause <it>", `{"backfill":true}`, unavailable},
		{"§4.3.4", "bob", "unpause <it>", ``, `{"paused":false}`},
		{"§4.3.7", "bob", "test <it>", ``, unavailable},
		{"§4.3.7", "bob", "steps S3", ``, `null`},
		{"§4.3.5", "bob", "work", ``, unavailable},
	})
}
