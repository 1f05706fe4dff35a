package batchexports_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// A backfill covers a range of event time (§4.3.6 of management.md, decision 23), and for days and
// weeks its range consists of dates (spec/clients.md §16).
func TestBatchExports_Backfills(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"times": backfillTimeRows, "dates": backfillDateRows, "weeks": backfillWeekRows, "hours": backfillRows, "from the beginning": fullRows,
		"into the future": futureRows, "cancelling": cancelBackfillRows, "failures": backfillFailureRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			// The events are of 11:00, 12:10 and 14:00.
			w.ledger.add("a", "2026-01-01 11:00", `{}`)
			w.ledger.add("b", "2026-01-01 12:10", `{}`)
			w.ledger.add("c", "2026-01-01 14:00", `{}`)
			w.Run(t, w.calls(t), rows)
		})
	}
}

var backfillTimeRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6 no time", "bob", "backfill <it>", `{"start_at":"yesterday","end_at":null}`, `400 invalid_input start_at Input yesterday is not a valid ISO formatted datetime.`},
	{"§4.3.6 no time", "bob", "backfill <it>", `{"start_at":null,"end_at":"2026-13-01T00:00:00Z"}`, `400 invalid_input end_at Input 2026-13-01T00:00:00Z is not a valid ISO formatted datetime.`},
	{"§4.3.6 no time", "bob", "backfill <it>", `{"start_at":17,"end_at":null}`, `400 invalid_input start_at Input 17 is not a valid ISO formatted datetime.`},
	{"§4.3.6 without a zone", "bob", "backfill <it>", `{"start_at":"2026-01-01T12:00:00","end_at":null}`, `400 invalid_input start_at Input 2026-01-01T12:00:00 is naive.`},
	{"§4.3.6 without a zone", "bob", "backfill <it>", `{"start_at":null,"end_at":"2026-01-01T12:00:00.5"}`, `400 invalid_input end_at Input 2026-01-01T12:00:00.5 is naive.`},
	{"clients §16 a date of an hourly one", "bob", "backfill <it>", `{"start_at":"2026-01-01","end_at":null}`, `400 invalid_input start_at Input 2026-01-01 is naive.`},
	{"§4.3.6 start after end", "bob", "backfill <it>", `{"start_at":"2026-01-01T13:00:00Z","end_at":"2026-01-01T12:00:00Z"}`, `400 invalid_input - The initial backfill datetime 'start_at' must be before 'end_at'`},
	{"§4.3.6 start equal to end", "bob", "backfill <it>", `{"start_at":"2026-01-01T13:00:00Z","end_at":"2026-01-01T14:00:00+01:00"}`, `400 invalid_input - The initial backfill datetime 'start_at' must be before 'end_at'`},
	{"§4.3.6 more than an interval ahead of 12:00:10", "bob", "backfill <it>", `{"start_at":null,"end_at":"2026-01-02T13:00:11Z"}`, `400 invalid_input - The provided 'end_at' (2026-01-02T13:00:11Z) is in the future. Cannot backfill beyond 1 batch period into the future.`},
	{"§4.3.6 an interval ahead of 12:00:11", "bob", "backfill <it>", `{"start_at":null,"end_at":"2026-01-02T13:00:11Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 before the first data", "bob", "backfill <it>", `{"start_at":"2025-01-01T00:00:00Z","end_at":"2025-12-31T00:00:00Z"}`, `400 invalid_input - The provided backfill date range contains no data.`},
	{"§4.3.6 before the first data", "bob", "backfill <it>", `{"start_at":null,"end_at":"2026-01-01T11:00:00Z"}`, `400 invalid_input - The provided backfill date range contains no data.`},
	{"§4.3.6 of the model", "bob", "create => persons", files(`,"model":"persons"`), `{"model":"persons"}`},
	{"§4.3.6 no data", "bob", "backfill <persons>", `{"start_at":null,"end_at":null}`, `400 invalid_input - There is no data to backfill for this model.`},
	{"§4.3.6 unknown", "bob", "backfill " + nowhere, `{"start_at":null,"end_at":null}`, notFound},
	{"§1.5 another organization's", "dan", "backfill <it>", `{"start_at":null,"end_at":null}`, notFound},
}

// A date is that day at the export's offset_hour in its time zone.
var backfillDateRows = []ruletest.Row{
	{"clients §16 days", "bob", "create => utc", files(`,"interval":"day"`), `{"interval":"day"}`},
	{"clients §16 days", "bob", "backfill <utc> => fill", `{"start_at":"2026-01-01","end_at":"2026-01-02"}`, `{"backfill_id":"(like) ."}`},
	{"clients §16 days", "bob", "getbackfill <utc> <fill>", ``, `{"start_at":"2026-01-01T00:00:00Z","end_at":"2026-01-02T00:00:00Z","status":"Starting"}`},
	{"clients §16 05:00 in New York is 10:00 UTC", "bob", "create => ny", files(`,"interval":"day","offset_hour":5,"timezone":"America/New_York"`), `{"interval":"day"}`},
	{"clients §16 05:00 in New York is 10:00 UTC", "bob", "backfill <ny> => fill", `{"start_at":"2026-01-01","end_at":"2026-01-02"}`, `{"backfill_id":"(like) ."}`},
	{"clients §16 05:00 in New York is 10:00 UTC", "bob", "getbackfill <ny> <fill>", ``, `{"start_at":"2026-01-01T10:00:00Z","end_at":"2026-01-02T10:00:00Z"}`},
	{"clients §16 midnight of the zone is accepted", "bob", "create => berlin", files(`,"interval":"day","timezone":"Europe/Berlin"`), `{"interval":"day"}`},
	{"clients §16 midnight of the zone is accepted", "bob", "backfill <berlin> => fill", `{"start_at":"2026-01-01T00:00:00+01:00","end_at":"2026-01-02T00:00:00+01:00"}`, `{"backfill_id":"(like) ."}`},
	{"clients §16 midnight of the zone is accepted", "bob", "getbackfill <berlin> <fill>", ``, `{"start_at":"2025-12-31T23:00:00Z","end_at":"2026-01-01T23:00:00Z"}`},
	{"clients §16 no such day", "bob", "backfill <utc>", `{"start_at":"2026-02-30","end_at":null}`, `400 invalid_input start_at Input '2026-02-30' is not a valid ISO formatted date.`},
	{"clients §16 no date", "bob", "backfill <utc>", `{"start_at":"x","end_at":null}`, `400 invalid_input start_at Input 'x' is not a valid ISO formatted date.`},
	{"clients §16 a time", "bob", "backfill <berlin>", `{"start_at":"2021-01-01T00:00:00+00:00","end_at":null}`, `400 invalid_input start_at Input '2021-01-01T00:00:00+00:00' is not a valid ISO formatted date. Daily or weekly batch export backfills expect only the date component, but a time was included.`},
	{"clients §16 a time without a zone", "bob", "backfill <utc>", `{"start_at":null,"end_at":"2026-01-01T00:00:00"}`, `400 invalid_input end_at Input '2026-01-01T00:00:00' is not a valid ISO formatted date. Daily`},
	{"clients §16 midnight is the day", "bob", "backfill <ny> => fill", `{"start_at":"2026-01-01T00:00:00-05:00","end_at":"2026-01-02"}`, `{"backfill_id":"(like) ."}`},
	{"clients §16 midnight is the day", "bob", "getbackfill <ny> <fill>", ``, `{"start_at":"2026-01-01T10:00:00Z","end_at":"2026-01-02T10:00:00Z"}`},
	{"§4.3.6 an interval of a day ahead", "bob", "backfill <utc>", `{"start_at":null,"end_at":"2026-01-03"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 more than a day ahead", "bob", "backfill <utc>", `{"start_at":null,"end_at":"2026-01-04"}`, `400 invalid_input -`},
}

// 31 December 2025 is a Wednesday, 4 January 2026 a Sunday.
var backfillWeekRows = []ruletest.Row{
	{"clients §16 weeks", "bob", "create => it", files(`,"interval":"week","offset_day":3`), `{"interval":"week"}`},
	{"clients §16 on another day", "bob", "backfill <it>", `{"start_at":"2026-01-01","end_at":null}`, `400 invalid_input start_at Input 2026-01-01 is not on the correct day of the week for this batch export.`},
	{"clients §16 on another day", "bob", "backfill <it>", `{"start_at":null,"end_at":"2026-01-04"}`, `400 invalid_input end_at Input 2026-01-04 is not on the correct day of the week for this batch export.`},
	{"clients §16 on the day", "bob", "backfill <it> => fill", `{"start_at":"2025-12-31","end_at":"2026-01-07"}`, `{"backfill_id":"(like) ."}`},
	{"clients §16 on the day", "bob", "getbackfill <it> <fill>", ``, `{"start_at":"2025-12-31T00:00:00Z","end_at":"2026-01-07T00:00:00Z"}`},
}

var backfillRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6 a start before the first data is moved forward", "bob", "backfill <it> => fill", `{"start_at":"2026-01-01T00:00:00Z","end_at":"2026-01-01T13:30:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 a start before the first data is moved forward", "bob", "getbackfill <it> <fill>", ``, `{"id":"<fill>","team":1,"batch_export":"<it>","status":"Starting","start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T13:30:00Z",
		"created_at":"2026-01-02T12:00:02Z","finished_at":null,"last_updated_at":"2026-01-02T12:00:02Z","progress":null}`},
	{"§4.3.6 a run for each interval, by the events' own time", "bob", "work", ``, `["01-01T11:00 01-01T12:00: a","01-01T12:00 01-01T13:00: b","01-01T13:00 01-01T13:30:"]`},
	{"§4.3.6 progress", "bob", "getbackfill <it> <fill>", ``, `{"status":"Completed","finished_at":"2026-01-02T12:00:04Z","progress":{"total_runs":3,"finished_runs":3,"progress":1}}`},
	{"§4.3.5 its runs", "bob", "runs <it>", ``, `{"results":[{"backfill":"<fill>","status":"Completed"},{"backfill":"<fill>"},{"backfill":"<fill>"}]}`},
	{"§4.3.6 of a paused export too", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.6 happened then, came in now", "bob", "old d 2026-01-01 13:10", ``, `null`},
	{"§4.3.6 of a paused export too", "bob", "backfill <it> => again", `{"start_at":"2026-01-01T13:00:00Z","end_at":"2026-01-01T14:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 half-open: 14:00 is of the next hour", "bob", "work", ``, `["01-01T11:00 01-01T12:00: a","01-01T12:00 01-01T13:00: b","01-01T13:00 01-01T13:30:","01-01T13:00 01-01T14:00: d"]`},
	{"§4.3.6 list, newest first", "bob", "backfills <it>", ``, `{"next":"","previous":"","results":[{"id":"<again>"},{"id":"<fill>"}]}`},
	{"§4.3.6 unknown", "bob", "getbackfill <it> " + nowhere, ``, notFound},
	{"§4.3.6 no UUID", "bob", "getbackfill <it> 1", ``, notFound},
	{"§4.3.6 unknown", "bob", "backfills " + nowhere, ``, notFound},
	{"§1.5 another organization's", "dan", "getbackfill <it> <fill>", ``, notFound},
	{"§1.5 another organization's", "dan", "cancelbackfill <it> <fill>", ``, notFound},
	{"§4.3.6 forward, never back", "bob", "old e 2026-01-01 10:20", ``, `null`},
	{"§4.3.6 forward, never back", "bob", "backfill <it> => early", `{"start_at":"2026-01-01T10:10:00Z","end_at":"2026-01-01T11:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 forward, never back", "bob", "getbackfill <it> <early>", ``, `{"start_at":"2026-01-01T10:10:00Z"}`},
}

var fullRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6 null start: from the beginning", "bob", "backfill <it> => fill", `{"start_at":null,"end_at":"2026-01-01T13:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 null start: from the beginning", "bob", "getbackfill <it> <fill>", ``, `{"start_at":null,"end_at":"2026-01-01T13:00:00Z"}`},
	{"§4.3.6 in one run", "bob", "work", ``, `["01-01T11:00 01-01T13:00: a b"]`},
	{"§4.3.6 null end: until now", "bob", "backfill <it> => all", `{"start_at":null,"end_at":null}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 null end: until now", "bob", "getbackfill <it> <all>", ``, `{"start_at":null,"end_at":null}`},
	{"§4.3.6 until now", "bob", "at 2026-01-02 12:01", ``, `null`},
	{"§4.3.6 until now", "bob", "work", ``, `["01-01T11:00 01-01T13:00: a b","01-01T11:00 01-02T12:00: a b c"]`},
	{"§4.3.6 both may be left out", "bob", "backfill <it>", `{}`, `{"backfill_id":"(like) ."}`},
}

// A backfill with an end in the future waits for it, and does not block other backfills.
var futureRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.6 an end ahead", "bob", "backfill <it> => later", `{"start_at":"2026-01-02T12:00:00Z","end_at":"2026-01-02T13:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6", "bob", "backfill <it> => now", `{"start_at":"2026-01-01T14:00:00Z","end_at":"2026-01-01T15:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6", "bob", "came d", `{}`, `null`},
	{"§4.3.6", "bob", "work", ``, `["01-01T14:00 01-01T15:00: c"]`},
	{"§4.3.6", "bob", "getbackfill <it> <later>", ``, `{"status":"Starting"}`},
	{"§4.3.6", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.6", "bob", "work", ``, `["01-01T14:00 01-01T15:00: c","01-02T12:00 01-02T13:00: d"]`},
	{"§4.3.6", "bob", "getbackfill <it> <later>", ``, `{"status":"Completed"}`},
}

var cancelBackfillRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6", "bob", "backfill <it> => first", `{"start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T15:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 cancel", "cyd", "cancelbackfill <it> <first>", ``, `{"cancelled":true}`},
	{"§4.3.6 cancel", "bob", "getbackfill <it> <first>", ``, `{"status":"Cancelled","finished_at":"2026-01-02T12:00:03Z"}`},
	{"§4.3.6 nothing is done", "bob", "work", ``, `[]`},
	{"§4.3.6 as for runs", "bob", "cancelbackfill <it> <first>", ``, `400 invalid_input - Cannot cancel a backfill that is in 'Cancelled' status`},
	{"§4.3.6", "bob", "backfill <it> => second", `{"start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T12:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6", "bob", "work", ``, `["01-01T11:00 01-01T12:00: a"]`},
	{"§4.3.6 as for runs", "bob", "cancelbackfill <it> <second>", ``, `400 invalid_input - Cannot cancel a backfill that is in 'Completed' status`},
	{"§4.3.6 unknown", "bob", "cancelbackfill <it> " + nowhere, ``, notFound},
	{"§4.3.6 its run that is under way too", "bob", "backfill <it> => third", `{"start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T14:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 its run that is under way too", "bob", "fail", ``, `null`},
	{"§4.3.6 its run that is under way too", "bob", "work", ``, `["01-01T11:00 01-01T12:00: a"]`},
	{"§4.3.6 its run that is under way too", "bob", "newest <it>", ``, `{"backfill":"<third>","status":"Running"}`},
	{"§4.3.6 its run that is under way too", "bob", "getbackfill <it> <third>", ``, `{"status":"Running","progress":{"total_runs":3,"finished_runs":0,"progress":0}}`},
	{"§4.3.6 its run that is under way too", "bob", "cancelbackfill <it> <third>", ``, `{"cancelled":true}`},
	{"§4.3.6 its run that is under way too", "bob", "newest <it>", ``, `{"backfill":"<third>","status":"Cancelled"}`},
	{"§4.3.6 and it is not tried again", "bob", "at 2026-01-02 12:30", ``, `null`},
	{"§4.3.6 and it is not tried again", "bob", "work", ``, `["01-01T11:00 01-01T12:00: a"]`},
}

// §4.3.6: the status of a backfill with failed runs.
var backfillFailureRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6", "bob", "backfill <it> => fill", `{"start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T13:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 the first run is refused", "bob", "refuse", ``, `null`},
	{"§4.3.6 the others are done", "bob", "work", ``, `["01-01T12:00 01-01T13:00: b"]`},
	{"§4.3.6 it has failed", "bob", "getbackfill <it> <fill>", ``, `{"status":"Failed","progress":{"total_runs":2,"finished_runs":2,"progress":1}}`},
}

// §4.3.6: pages of 50 by cursor.
func TestBatchExports_BackfillPages(t *testing.T) {
	w := newWorld(t)
	w.ledger.add("a", "2026-01-01 11:00", `{}`)
	scope := w.Scope(t, "bob")
	e, err := w.BatchExports.Create(t.Context(), scope, ruletest.Body(t, files(``)))
	if err != nil {
		t.Fatal(err)
	}
	for range 55 {
		w.Clock = w.Clock.Add(time.Millisecond)
		if _, err := w.BatchExports.AddBackfill(t.Context(), scope, e.ID, ruletest.Body(t, `{"start_at":"2026-01-01T11:00:00Z","end_at":"2026-01-01T12:00:00Z"}`)); err != nil {
			t.Fatal(err)
		}
	}
	first, err1 := w.BatchExports.Backfills(t.Context(), scope, e.ID, "")
	second, err2 := w.BatchExports.Backfills(t.Context(), scope, e.ID, first.Next)
	back, err3 := w.BatchExports.Backfills(t.Context(), scope, e.ID, second.Previous)
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	if got := fmt.Sprint(len(first.Results), len(second.Results), len(back.Results), first.Previous == "", second.Next == "", back.Results[0] == first.Results[0]); got != "50 5 50 true true true" {
		t.Error(got)
	}
}

// Decision 23: a run exports the persons that changed in its interval, in the state that they have
// when the run begins, and the sessions whose last event arrived in its interval.
func TestBatchExports_Models(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"persons": personRows, "sessions": sessionRows, "selection": selectionRows, "tables": tableRows} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			calls := w.calls(t)
			calls["changed"] = changedPerson(w)
			calls["rows"] = writtenRows(w)
			w.Run(t, calls, rows)
		})
	}
}

var personRows = []ruletest.Row{
	{"decision 23", "bob", "create => it", files(`,"model":"persons"`), `{"model":"persons"}`},
	{"decision 23", "bob", "changed ann 2025-12-01 10:00", `{"n":1}`, `null`},
	{"decision 23", "bob", "changed bea 2026-01-02 12:30", `{}`, `null`},
	{"decision 23", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"decision 23 changed in the interval", "bob", "work", ``, `["01-02T12:00 01-02T13:00: 1 1"]`},
	{"§4.3.1 their columns", "bob", "rows", ``, `{"columns":"team_id distinct_id person_id properties person_version person_distinct_id_version created_at is_identified","key":"team_id distinct_id",
		"rows":[[1,"d-ann","ann",{"n":1},3,3,"2025-12-01T10:00:00Z",true],[1,"d-bea","bea",{},3,3,"2026-01-02T12:30:00Z",true]]}`},
	{"§4.3.6 backfills by when they were first seen", "bob", "backfill <it>", `{"start_at":"2025-12-01T10:00:00Z","end_at":"2025-12-01T11:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 backfills by when they were first seen", "bob", "work", ``, `["01-02T12:00 01-02T13:00: 1 1","12-01T10:00 12-01T11:00: 1"]`},
	{"§4.3.6 backfills by when they were first seen", "bob", "rows", ``, `{"rows":[[1,"d-ann","ann",{"n":1},3,3,"2025-12-01T10:00:00Z",true]]}`},
	{"§4.3.1 filters", "bob", "change <it>", `{"filters":[{"key":"n","type":"person","operator":"gt","value":1}]}`, `{"model":"persons"}`},
	{"§4.3.1 filters", "bob", "changed cat 2026-01-01 00:00", `{"n":2}`, `null`},
	{"§4.3.1 filters", "bob", "changed dot 2026-01-01 00:00", `{"n":1}`, `null`},
	{"§4.3.1 filters", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"§4.3.1 filters", "bob", "work", ``, `["01-02T12:00 01-02T13:00: 1 1","12-01T10:00 12-01T11:00: 1","01-02T13:00 01-02T14:00: 1"]`},
	{"§4.3.1 filters", "bob", "rows", ``, `{"rows":[[1,"d-cat","cat",{"n":2},3,3,"2026-01-01T00:00:00Z",true]]}`},
	{"flags.md §8.2 the present one stands in for an initial one that is missing", "bob", "change <it>", `{"filters":[{"key":"$initial_browser","type":"person","value":"Safari"}]}`, `{"model":"persons"}`},
	{"flags.md §8.2", "bob", "changed eva 2026-01-01 00:00", `{"$browser":"Safari"}`, `null`},
	{"flags.md §8.2", "bob", "changed fin 2026-01-01 00:00", `{"$browser":"Safari","$initial_browser":"Firefox"}`, `null`},
	{"flags.md §8.2", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"flags.md §8.2", "bob", "work", ``, `["01-02T12:00 01-02T13:00: 1 1","12-01T10:00 12-01T11:00: 1","01-02T13:00 01-02T14:00: 1","01-02T14:00 01-02T15:00: 1"]`},
	{"flags.md §8.2", "bob", "rows", ``, `{"rows":[[1,"d-eva","eva",{"$browser":"Safari"},3,3,"2026-01-01T00:00:00Z",true]]}`},
}

var sessionRows = []ruletest.Row{
	{"decision 23", "bob", "create", files(`,"model":"sessions"`), `{"model":"sessions"}`},
	{"decision 23", "bob", "at 2026-01-02 12:50", ``, `null`},
	{"decision 23", "bob", "came a", `{"$session_id":"s1","$current_url":"https://x/in"}`, `null`},
	{"decision 23", "bob", "came b", `{"$session_id":"s2"}`, `null`},
	{"§4.3.1 views and clicks", "bob", "came $pageview:e $autocapture:f $autocapture:g", `{"$session_id":"s3","$current_url":"` + strings.Repeat("u", 3000) + `"}`, `null`},
	{"decision 23 a session of no text", "bob", "came h", `{"$session_id":7}`, `null`},
	{"decision 23 without a session", "bob", "came c", `{}`, `null`},
	{"decision 23", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"decision 23", "bob", "work", ``, `["01-02T12:00 01-02T13:00: s1 s2 s3"]`},
	{"§4.3.1 their columns", "bob", "rows", ``, `{"columns":"session_id team_id distinct_id person_id start_timestamp end_timestamp duration event_count pageview_count autocapture_count entry_current_url exit_current_url",
		"key":"team_id session_id","rows":[["s1",1,"d-a","p-a","2026-01-02T12:50:00Z","2026-01-02T12:50:00Z",0,1,0,0,"https://x/in","https://x/in"],["s2",1,"d-b","p-b","2026-01-02T12:50:01Z","2026-01-02T12:50:01Z",0,1,0,0,"",""],
		["s3",1,"d-$pageview:e","p-$autocapture:g","2026-01-02T12:50:02Z","2026-01-02T12:50:02Z",0,3,1,2,"` + strings.Repeat("u", 2048) + `","` + strings.Repeat("u", 2048) + `"]]}`},
	{"decision 23 a later event of the session", "bob", "at 2026-01-02 13:10", ``, `null`},
	{"decision 23 a later event of the session", "bob", "came d", `{"$session_id":"s1","$current_url":"https://x/out"}`, `null`},
	{"decision 23 a later event of the session", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"decision 23 exported again, whole", "bob", "work", ``, `["01-02T12:00 01-02T13:00: s1 s2 s3","01-02T13:00 01-02T14:00: s1"]`},
	{"decision 23 exported again, whole: 20 minutes", "bob", "rows", ``, `{"rows":[["s1",1,"d-a","p-d","2026-01-02T12:50:00Z","2026-01-02T13:10:00Z",1200,2,0,0,"https://x/in","https://x/out"]]}`},
}

// The events and columns of a run depend on include_events, exclude_events, filters and
// hogql_query. Tables in PostgreSQL have PostHog's columns, unless a query selects its own
// (spec/clients.md §16).
var tableRows = []ruletest.Row{
	{"clients §16", "bob", "create => it", exportTo("Postgres", `{`+postgres+`}`), `{"name":"x"}`},
	{"clients §16", "bob", "came a", `{"$ip":"1.2.3.4","$set":{"x":1}}`, `null`},
	{"clients §16", "bob", "came b", `{"$ip":7}`, `null`},
	{"clients §16", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"clients §16", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a b"]`},
	{"clients §16 events", "bob", "rows", ``, `{"columns":"uuid event properties elements set set_once distinct_id team_id ip site_url timestamp","key":"team_id uuid event distinct_id","newer":"","appended":true,
		"rows":[["a","seen",{"$ip":"1.2.3.4","$set":{"x":1}},"\"\"",{"x":1},null,"d-a",1,"1.2.3.4",null,"2026-01-02T12:00:02Z"],["b","seen",{"$ip":7},"\"\"",null,null,"d-b",1,null,null,"2026-01-02T12:00:03Z"]]}`},
	{"clients §16 a query has its own columns", "bob", "change <it>", `{"hogql_query":"SELECT uuid, event, distinct_id, team_id, elements_chain FROM events"}`, `{"name":"x"}`},
	{"clients §16", "bob", "came c", `{}`, `null`},
	{"clients §16", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"clients §16", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a b","01-02T13:00 01-02T14:00: c"]`},
	{"clients §16 a query has its own columns", "bob", "rows", ``, `{"columns":"uuid event distinct_id team_id elements_chain","key":"team_id uuid event distinct_id","appended":false,"rows":[["c","seen","d-c",1,""]]}`},
	{"clients §16 persons", "bob", "change <it>", `{"hogql_query":null,"model":"persons"}`, `{"model":"persons"}`},
	{"clients §16 persons", "bob", "changed ann 2025-12-01 10:00", `{"n":1}`, `null`},
	{"clients §16 persons", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"clients §16 persons", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a b","01-02T13:00 01-02T14:00: c","01-02T14:00 01-02T15:00: 1"]`},
	{"clients §16 persons", "bob", "rows", ``, `{"columns":"team_id distinct_id person_id properties person_version person_distinct_id_version created_at","key":"team_id distinct_id","newer":"person_version person_distinct_id_version","appended":false,
		"rows":[[1,"d-ann","ann",{"n":1},3,3,"2025-12-01T10:00:00Z"]]}`},
}

// Decision 40: an operator has the same meaning as in flags, where a date without an offset is in
// the project's time zone (spec/flags.md §4.7): midnight in Berlin is 23:00 UTC.
func TestFilters_DatesOfTheProject(t *testing.T) {
	w := newWorld(t)
	w.InZone(t, "Europe/Berlin")
	w.Run(t, w.calls(t), []ruletest.Row{
		{"decision 40", "bob", "create", files(`,"filters":[{"key":"at","operator":"is_date_before","value":"2026-01-02"}]`), `{"name":"x"}`},
		{"before midnight", "bob", "came a", `{"at":"2026-01-01T22:59:59Z"}`, `null`},
		{"after midnight", "bob", "came b", `{"at":"2026-01-01T23:00:01Z"}`, `null`},
		{"decision 40", "bob", "at 2026-01-02 13:00:30", ``, `null`},
		{"decision 40", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	})
}

var selectionRows = []ruletest.Row{
	{"§4.3.1", "bob", "create => it", files(``), `{"name":"x"}`},
	{"§4.3.1", "bob", "came a", `{"plan":"pro","n":1,"$set":{"x":1},"$set_once":{"y":2}}`, `null`},
	{"§4.3.1", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.1", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.1 columns of events", "bob", "rows", ``, `{"columns":"uuid team_id timestamp created_at event distinct_id properties elements_chain person_id person_properties set set_once","key":"team_id uuid event distinct_id",
		"rows":[["a",1,"2026-01-02T12:00:02Z","2026-01-02T12:00:02Z","seen","d-a",{"plan":"pro","n":1,"$set":{"x":1},"$set_once":{"y":2}},"","p-a",{"plan":"pro"},{"x":1},{"y":2}]]}`},
	{"§4.3.1 filters, all have to hold", "bob", "change <it>", `{"filters":[{"key":"plan","value":"pro"},{"key":"n","operator":"gt","value":1}]}`, `{"name":"x"}`},
	{"§4.3.1 filters", "bob", "came b", `{"plan":"pro","n":1}`, `null`},
	{"§4.3.1 filters", "bob", "came c", `{"plan":"pro","n":2}`, `null`},
	{"§4.3.1 filters", "bob", "came d", `{"plan":"free","n":2}`, `null`},
	{"§4.3.1 filters", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"§4.3.1 filters", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00: c"]`},
	{"§4.3.1 filters of persons", "bob", "change <it>", `{"filters":[{"key":"plan","type":"person","value":"free"}]}`, `{"name":"x"}`},
	{"§4.3.1 filters of persons", "bob", "came e", `{"plan":"free"}`, `null`},
	{"§4.3.1 filters of persons", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"§4.3.1 filters of persons", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00: c","01-02T14:00 01-02T15:00:"]`},
	{"§4.3.2 exclude_events", "bob", "change <it>", `{"filters":null,"destination":{"config":{"exclude_events":["seen"]}}}`, `{"name":"x"}`},
	{"§4.3.2 exclude_events", "bob", "came f", `{}`, `null`},
	{"§4.3.2 exclude_events", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"§4.3.2 exclude_events", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00: c","01-02T14:00 01-02T15:00:","01-02T15:00 01-02T16:00:"]`},
	{"§4.3.2 include_events", "bob", "change <it>", `{"destination":{"config":{"include_events":["other","seen"],"exclude_events":[]}}}`, `{"name":"x"}`},
	{"§4.3.1 hogql_query", "bob", "change <it>", `{"hogql_query":"SELECT distinct_id AS who, properties.n AS n, properties.none, person.properties.plan FROM events"}`, `{"name":"x"}`},
	{"§4.3.1 hogql_query", "bob", "came g", `{"n":{"deep":[1]}}`, `null`},
	{"§4.3.1 hogql_query", "bob", "at 2026-01-02 17:00:30", ``, `null`},
	{"§4.3.1 hogql_query", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00: c","01-02T14:00 01-02T15:00:","01-02T15:00 01-02T16:00:","01-02T16:00 01-02T17:00: d-g"]`},
	{"§4.3.1 hogql_query", "bob", "rows", ``, `{"columns":"who n properties_none person_properties_plan","key":"","rows":[["d-g","{\"deep\":[1]}",null,"pro"]]}`},
}
