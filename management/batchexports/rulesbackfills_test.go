package batchexports_test

import (
	"errors"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The first data of the project are of 10 March 2026, 12:00 UTC, and the time is 10 April, 12:00.
func TestBatchExports_BackfillPlans(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"days of 23 hours": backfillClockRows, "the first day": firstDayRows, "weeks": backfilledWeekRows, "the end": backfillEndRows,
		"progress": backfillProgressRows, "the worst run": worstRunRows, "in order": backfillOrderRows, "of a deleted export": deletedBackfillRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Clock = moment("2026-04-10 12:00")
			for _, e := range [][2]string{{"first", "2026-03-10 12:00"}, {"a", "2026-03-29 21:59:59"}, {"b", "2026-03-29 22:00"}, {"c", "2026-04-08 10:30"}, {"d", "2026-04-08 11:30"}, {"e", "2026-04-08 12:30"}} {
				w.ledger.add(e[0], e[1], `{}`)
			}
			calls := w.calls(t)
			// then sets the results of the next attempts: + for one that succeeds, - for one that
			// fails, and ! for one that is refused. toil works for two hours.
			calls["then"] = func(_ *management.Scope, results, _ string) (any, error) {
				for _, c := range results {
					w.destination.fails = append(w.destination.fails, map[rune]error{'+': nil, '-': errors.New("busy"), '!': &batchexports.PermanentError{Reason: "no"}}[c])
				}
				return nil, nil
			}
			calls["toil"] = func(*management.Scope, string, string) (any, error) {
				for range 12 {
					if _, err := w.work(t); err != nil {
						return nil, err
					}
					w.Clock = w.Clock.Add(10 * time.Minute)
				}
				return nil, nil
			}
			w.Run(t, calls, rows)
		})
	}
}

// The clocks of Berlin change from UTC+1 to UTC+2 on 29 March 2026.
var backfillClockRows = []ruletest.Row{
	{"clients §16", "bob", "create => it", files(`,"interval":"day","timezone":"Europe/Berlin","paused":true`), `{"interval":"day"}`},
	{"clients §16 three days", "bob", "backfill <it> => fill", `{"start_at":"2026-03-28","end_at":"2026-03-31"}`, `{"backfill_id":"(like) ."}`},
	{"clients §16 three days", "bob", "getbackfill <it> <fill>", ``, `{"start_at":"2026-03-27T23:00:00Z","end_at":"2026-03-30T22:00:00Z"}`},
	{"clients §16 the second has 23 hours", "bob", "work", ``, `["03-27T23:00 03-28T23:00:","03-28T23:00 03-29T22:00: a","03-29T22:00 03-30T22:00: b"]`},
	{"clients §16 three days", "bob", "getbackfill <it> <fill>", ``, `{"status":"Completed","progress":{"total_runs":3,"finished_runs":3,"progress":1}}`},
}

// A start before the first data is moved to the beginning of their day, by the clock of the zone and
// the hour of the export.
var firstDayRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => berlin", files(`,"interval":"day","timezone":"Europe/Berlin"`), `{"interval":"day"}`},
	{"§4.3.6", "bob", "backfill <berlin> => fill", `{"start_at":"2026-01-01","end_at":"2026-03-12"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 moved forward", "bob", "getbackfill <berlin> <fill>", ``, `{"start_at":"2026-03-09T23:00:00Z","end_at":"2026-03-11T23:00:00Z"}`},
	{"§4.3.6", "bob", "create => noon", files(`,"interval":"day","offset_hour":13`), `{"interval":"day"}`},
	{"§4.3.6", "bob", "backfill <noon> => fill", `{"start_at":"2026-01-01","end_at":"2026-03-12"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 the day began at 13:00 of the 9th", "bob", "getbackfill <noon> <fill>", ``, `{"start_at":"2026-03-09T13:00:00Z","end_at":"2026-03-12T13:00:00Z"}`},
	{"§4.3.6 up to the first data", "bob", "backfill <berlin>", `{"start_at":null,"end_at":"2026-03-10"}`, `400 invalid_input - The provided backfill date range contains no data.`},
	{"§4.3.6 the day of the first data", "bob", "backfill <berlin>", `{"start_at":null,"end_at":"2026-03-11"}`, `{"backfill_id":"(like) ."}`},
}

// 9 and 16 March 2026 are Mondays.
var backfilledWeekRows = []ruletest.Row{
	{"clients §16", "bob", "create => it", files(`,"interval":"week","offset_day":1,"offset_hour":6,"timezone":"America/New_York","paused":true`), `{"interval":"week"}`},
	{"clients §16 06:00 in New York is 10:00 UTC in summer", "bob", "backfill <it> => fill", `{"start_at":"2026-03-16","end_at":"2026-03-30"}`, `{"backfill_id":"(like) ."}`},
	{"clients §16 06:00 in New York is 10:00 UTC in summer", "bob", "work", ``, `["03-16T10:00 03-23T10:00:","03-23T10:00 03-30T10:00: a b"]`},
	{"§4.3.6 two weeks", "bob", "getbackfill <it> <fill>", ``, `{"progress":{"total_runs":2,"finished_runs":2,"progress":1}}`},
	{"clients §16 a Tuesday", "bob", "backfill <it>", `{"start_at":"2026-03-17","end_at":"2026-03-30"}`, `400 invalid_input start_at Input 2026-03-17 is not on the correct day of the week for this batch export.`},
	{"clients §16 the first week", "bob", "backfill <it> => fill", `{"start_at":"2026-03-02","end_at":"2026-03-16"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 moved forward by a week", "bob", "getbackfill <it> <fill>", ``, `{"start_at":"2026-03-09T10:00:00Z"}`},
}

// The end is at most one interval ahead of 12:00 on 10 April.
var backfillEndRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => day", files(`,"interval":"day","timezone":"Europe/Berlin"`), `{"interval":"day"}`},
	{"§4.3.6 22:00 UTC on the 10th", "bob", "backfill <day>", `{"start_at":"2026-04-01","end_at":"2026-04-11"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 22:00 UTC on the 11th", "bob", "backfill <day>", `{"start_at":"2026-04-01","end_at":"2026-04-12"}`, `400 invalid_input - The provided 'end_at' (2026-04-11T22:00:00Z) is in the future.`},
	{"§4.3.6", "bob", "create => quick", files(`,"interval":"every 5 minutes"`), `{"interval":"every 5 minutes"}`},
	{"§4.3.6 five minutes after 12:00:05", "bob", "backfill <quick>", `{"start_at":"2026-04-10T11:00:00Z","end_at":"2026-04-10T12:05:05Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 more than five minutes after 12:00:06", "bob", "backfill <quick>", `{"start_at":"2026-04-10T11:00:00Z","end_at":"2026-04-10T12:05:07Z"}`, `400 invalid_input - The provided 'end_at' (2026-04-10T12:05:07Z) is in the future.`},
	{"§4.3.6 a start in the future", "bob", "backfill <quick>", `{"start_at":"2026-04-10T12:03:00Z","end_at":null}`, `400 invalid_input -`},
}

var backfillProgressRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(`,"paused":true`), `{"interval":"hour"}`},
	{"§4.3.6", "bob", "backfill <it> => fill", `{"start_at":"2026-04-08T10:00:00Z","end_at":"2026-04-08T13:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 before it begins: null", "bob", "getbackfill <it> <fill>", ``, `{"status":"Starting","progress":null,"finished_at":null}`},
	{"§4.3.6 the second of three runs fails for now", "bob", "then +-", ``, `null`},
	{"§4.3.6 the second of three runs fails for now", "bob", "work", ``, `["04-08T10:00 04-08T11:00: c"]`},
	{"§4.3.6 one of three", "bob", "getbackfill <it> <fill>", ``, `{"status":"Running","progress":{"total_runs":3,"finished_runs":1,"progress":0.3333333333333333},"finished_at":null,"last_updated_at":"2026-04-10T12:00:05Z"}`},
	{"§4.3.5 the run", "bob", "newest <it>", ``, `{"status":"Running","backfill":"<fill>","data_interval_start":"2026-04-08T11:00:00Z"}`},
	{"§4.3.5 five seconds later", "bob", "wait 5s", ``, `null`},
	{"§4.3.5 five seconds later", "bob", "work", ``, `["04-08T10:00 04-08T11:00: c","04-08T11:00 04-08T12:00: d","04-08T12:00 04-08T13:00: e"]`},
	{"§4.3.6", "bob", "getbackfill <it> <fill>", ``, `{"status":"Completed","progress":{"total_runs":3,"finished_runs":3,"progress":1},"finished_at":"2026-04-10T12:00:14Z"}`},
}

// A backfill has the status of its worst run: Failed is worse than FailedRetryable, which a run has
// after ten attempts.
var worstRunRows = func() (out []ruletest.Row) {
	for _, c := range [][2]string{
		{"+++", "Completed"}, {"+!+", "Failed"}, {"!++", "Failed"}, {"++!", "Failed"}, {"----------++", "FailedRetryable"}, {"++----------", "FailedRetryable"},
		{"!----------+", "Failed"}, {"----------!+", "Failed"}, {"---------+++", "Completed"},
	} {
		out = append(out,
			ruletest.Row{"§4.3.6", "bob", "create => it", files(`,"paused":true`), `{"interval":"hour"}`},
			ruletest.Row{"§4.3.6", "bob", "backfill <it> => fill", `{"start_at":"2026-04-08T10:00:00Z","end_at":"2026-04-08T13:00:00Z"}`, `{"backfill_id":"(like) ."}`},
			ruletest.Row{"§4.3.6", "bob", "then " + c[0], ``, `null`},
			ruletest.Row{"§4.3.6", "bob", "toil", ``, `null`},
			ruletest.Row{"§4.3.6 attempts " + c[0], "bob", "getbackfill <it> <fill>", ``, `{"status":"` + c[1] + `","progress":{"total_runs":3,"finished_runs":3,"progress":1}}`})
	}
	return out
}()

// Backfills of an export run one after the other, in the order in which they were created.
var backfillOrderRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(`,"paused":true`), `{"interval":"hour"}`},
	{"§4.3.6", "bob", "backfill <it> => later", `{"start_at":"2026-04-08T11:00:00Z","end_at":"2026-04-08T13:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6", "bob", "backfill <it> => earlier", `{"start_at":"2026-04-08T10:00:00Z","end_at":"2026-04-08T11:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6", "bob", "then -", ``, `null`},
	{"§4.3.6 the second waits for the first", "bob", "work", ``, `[]`},
	{"§4.3.6 the second waits for the first", "bob", "getbackfill <it> <earlier>", ``, `{"status":"Starting"}`},
	{"§4.3.6 unless the first is cancelled", "bob", "cancelbackfill <it> <later>", ``, `{"cancelled":true}`},
	{"§4.3.6 unless the first is cancelled", "bob", "work", ``, `["04-08T10:00 04-08T11:00: c"]`},
	{"§4.3.6", "bob", "getbackfill <it> <later>", ``, `{"status":"Cancelled","progress":{"total_runs":2,"finished_runs":0,"progress":0}}`},
	{"§4.3.5 its run", "bob", "runs <it>", `{"Status":"Cancelled"}`, `{"results":[{"backfill":"<later>","finished_at":"2026-04-10T12:00:07Z"}]}`},
}

var deletedBackfillRows = []ruletest.Row{
	{"§4.3.3", "bob", "create => it", files(`,"paused":true`), `{"interval":"hour"}`},
	{"§4.3.3", "bob", "backfill <it>", `{"start_at":"2026-04-08T10:00:00Z","end_at":"2026-04-08T13:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.3", "bob", "then +-", ``, `null`},
	{"§4.3.3", "bob", "work", ``, `["04-08T10:00 04-08T11:00: c"]`},
	{"§4.3.3 DELETE cancels what is under way", "bob", "delete <it>", ``, `null`},
	{"§4.3.3 DELETE cancels what is under way", "bob", "toil", ``, `null`},
	{"§4.3.3 DELETE cancels what is under way", "bob", "work", ``, `["04-08T10:00 04-08T11:00: c"]`},
}
