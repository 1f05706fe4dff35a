package batchexports_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// A run of the schedule covers the events that arrived in its interval, and begins half a minute
// after its end, so that requests that arrived before the end are committed (§4.3.6 scheduling,
// decision 23). The result of work is every run so far, with its interval in UTC and its events.
func TestBatchExports_Schedule(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"hours": hourRows, "short intervals": shortRows, "days": dayRows, "weeks": weekRows,
		"days of 23 and 25 hours": clockRows, "a week of 167 hours": clockWeekRows, "an hour that is not there": gapRows,
		"bounds": boundRows, "pauses": pauseRows, "late events": lateRows, "changes of the plan": planRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Run(t, w.calls(t), rows)
		})
	}
}

var hourRows = []ruletest.Row{
	{"§4.3.6", "bob", "at 2026-01-02 12:20", ``, `null`},
	{"§4.3.6", "bob", "came before", `{}`, `null`},
	{"§4.3.6 hours align to the epoch", "bob", "create => it", files(``), `{"latest_runs":[]}`},
	{"§4.3.6", "bob", "came after", `{}`, `null`},
	{"§4.3.6 the interval is not over", "bob", "work", ``, `[]`},
	{"§4.3.6 the interval is not over", "bob", "at 2026-01-02 12:59:59", ``, `null`},
	{"§4.3.6 the last moment", "bob", "came last", `{}`, `null`},
	{"§4.3.6 the next interval begins", "bob", "came next", `{}`, `null`},
	{"decision 23 what came in before may not be committed yet", "bob", "work", ``, `[]`},
	{"decision 23 what came in before may not be committed yet", "bob", "at 2026-01-02 13:00:29", ``, `null`},
	{"decision 23 what came in before may not be committed yet", "bob", "work", ``, `[]`},
	{"decision 23", "bob", "work", ``, `["01-02T12:00 01-02T13:00: before after last"]`},
	{"decision 23 once", "bob", "work", ``, `["01-02T12:00 01-02T13:00: before after last"]`},
	{"§4.3.5 the run", "bob", "runs <it>", ``, `{"next":"","previous":"","results":[{"batch_export":"<it>","status":"Completed","records_completed":3,"records_failed":0,"records_total_count":3,
		"latest_error":null,"cursor":null,"backfill":null,"data_interval_start":"2026-01-02T12:00:00Z","data_interval_end":"2026-01-02T13:00:00Z",
		"created_at":"2026-01-02T13:00:30Z","finished_at":"2026-01-02T13:00:30Z","last_updated_at":"2026-01-02T13:00:30Z"}]}`},
	{"§4.3.6 each hour", "bob", "at 2026-01-02 14:30", ``, `null`},
	{"§4.3.6 each hour", "bob", "work", ``, `["01-02T12:00 01-02T13:00: before after last","01-02T13:00 01-02T14:00: next"]`},
	{"§4.3.6 all that were missed", "bob", "at 2026-01-02 18:00:30", ``, `null`},
	{"§4.3.6 all that were missed", "bob", "work", ``, `["01-02T12:00 01-02T13:00: before after last","01-02T13:00 01-02T14:00: next",
		"01-02T14:00 01-02T15:00:","01-02T15:00 01-02T16:00:","01-02T16:00 01-02T17:00:","01-02T17:00 01-02T18:00:"]`},
	{"§4.3.1 latest_runs", "bob", "get <it>", ``, `{"latest_runs":[{"data_interval_end":"2026-01-02T18:00:00Z"},{"data_interval_end":"2026-01-02T17:00:00Z"},{"data_interval_end":"2026-01-02T16:00:00Z"},
		{"data_interval_end":"2026-01-02T15:00:00Z"},{"data_interval_end":"2026-01-02T14:00:00Z"},{"data_interval_end":"2026-01-02T13:00:00Z"}]}`},
}

var shortRows = []ruletest.Row{
	{"§4.3.6 multiples of five minutes", "bob", "at 2026-01-02 12:03", ``, `null`},
	{"§4.3.6 multiples of five minutes", "bob", "create", files(`,"interval":"every 5 minutes"`), `{"interval":"every 5 minutes"}`},
	{"§4.3.6 multiples of five minutes", "bob", "at 2026-01-02 12:10:30", ``, `null`},
	{"§4.3.6 multiples of five minutes", "bob", "work", ``, `["01-02T12:00 01-02T12:05:","01-02T12:05 01-02T12:10:"]`},
	{"§4.3.6 of a quarter of an hour", "bob", "create", files(`,"interval":"every 15 minutes","paused":false`), `{"interval":"every 15 minutes"}`},
	{"§4.3.6 of a quarter of an hour", "bob", "at 2026-01-02 12:15:30", ``, `null`},
	{"§4.3.6 of a quarter of an hour", "bob", "work", ``, `["01-02T12:00 01-02T12:05:","01-02T12:05 01-02T12:10:","01-02T12:10 01-02T12:15:","01-02T12:00 01-02T12:15:"]`},
}

var dayRows = []ruletest.Row{
	{"decision 23 days are UTC", "bob", "create => utc", files(`,"interval":"day"`), `{"timezone":"UTC"}`},
	{"decision 23 days are UTC", "bob", "at 2026-01-03 00:00:30", ``, `null`},
	{"decision 23 days are UTC", "bob", "work", ``, `["01-02T00:00 01-03T00:00:"]`},
	{"§4.3.3 DELETE", "bob", "delete <utc>", ``, `null`},
	{"§4.3.6 offset_hour", "bob", "create => five", files(`,"interval":"day","offset_hour":5`), `{"offset_hour":5}`},
	{"§4.3.6 offset_hour: of 2 January 05:00 to the 3rd", "bob", "at 2026-01-03 05:00:30", ``, `null`},
	{"§4.3.6 offset_hour", "bob", "work", ``, `["01-02T00:00 01-03T00:00:","01-02T05:00 01-03T05:00:"]`},
	{"§4.3.3 DELETE", "bob", "delete <five>", ``, `null`},
	{"§4.3.6 offset_hour is local: 05:00 in Tokyo is 20:00 UTC the day before", "bob", "create", files(`,"interval":"day","offset_hour":5,"timezone":"Asia/Tokyo"`), `{"timezone":"Asia/Tokyo"}`},
	{"§4.3.6 offset_hour is local", "bob", "at 2026-01-03 20:00:30", ``, `null`},
	{"§4.3.6 offset_hour is local", "bob", "work", ``, `["01-02T00:00 01-03T00:00:","01-02T05:00 01-03T05:00:","01-02T20:00 01-03T20:00:"]`},
}

// 2 January 2026 is a Friday.
var weekRows = []ruletest.Row{
	{"§4.3.1 weeks begin on Sunday", "bob", "create => it", files(`,"interval":"week"`), `{"offset_day":null}`},
	{"§4.3.1 weeks begin on Sunday", "bob", "at 2026-01-04 00:00:30", ``, `null`},
	{"§4.3.1 weeks begin on Sunday", "bob", "work", ``, `["12-28T00:00 01-04T00:00:"]`},
	{"§4.3.3", "bob", "delete <it>", ``, `null`},
	{"§4.3.6 offset_day and offset_hour: Wednesday 09:00", "bob", "create => it", files(`,"interval":"week","offset_day":3,"offset_hour":9`), `{"offset_day":3}`},
	{"§4.3.6 from Wednesday 31 December", "bob", "at 2026-01-07 09:00:30", ``, `null`},
	{"§4.3.6 to Wednesday 7 January", "bob", "work", ``, `["12-28T00:00 01-04T00:00:","12-31T09:00 01-07T09:00:"]`},
	{"§4.3.6 the next one a week later", "bob", "at 2026-01-14 09:00:30", ``, `null`},
	{"§4.3.6 the next one a week later", "bob", "work", ``, `["12-28T00:00 01-04T00:00:","12-31T09:00 01-07T09:00:","01-07T09:00 01-14T09:00:"]`},
}

// In 2026 the clocks in Berlin change from UTC+1 to UTC+2 on 29 March, 02:00, and back on 25
// October, 03:00: days begin at 22:00 UTC in summer and at 23:00 UTC otherwise.
var clockRows = []ruletest.Row{
	{"decision 23 timezone", "bob", "at 2026-03-28 12:00", ``, `null`},
	{"decision 23 timezone", "bob", "create => it", files(`,"interval":"day","timezone":"Europe/Berlin"`), `{"timezone":"Europe/Berlin"}`},
	{"decision 23 a day of 23 hours", "bob", "at 2026-03-30 22:00:30", ``, `null`},
	{"decision 23 a day of 23 hours", "bob", "work", ``, `["03-27T23:00 03-28T23:00:","03-28T23:00 03-29T22:00:","03-29T22:00 03-30T22:00:"]`},
	{"decision 23 timezone", "bob", "pause <it>", ``, `{"paused":true}`},
	{"decision 23 timezone", "bob", "at 2026-10-24 12:00", ``, `null`},
	{"decision 23 timezone", "bob", "unpause <it>", ``, `{"paused":false}`},
	{"decision 23 a day of 25 hours", "bob", "at 2026-10-26 23:00:30", ``, `null`},
	{"decision 23 a day of 25 hours", "bob", "work", ``, `["03-27T23:00 03-28T23:00:","03-28T23:00 03-29T22:00:","03-29T22:00 03-30T22:00:",
		"10-23T22:00 10-24T22:00:","10-24T22:00 10-25T23:00:","10-25T23:00 10-26T23:00:"]`},
}

// In 2026 the clocks in New York change from UTC-5 to UTC-4 on 8 March, 02:00.
var clockWeekRows = []ruletest.Row{
	{"decision 23 timezone", "bob", "at 2026-03-05 12:00", ``, `null`},
	{"decision 23 timezone", "bob", "create", files(`,"interval":"week","offset_day":1,"offset_hour":8,"timezone":"America/New_York"`), `{"offset_hour":8}`},
	{"decision 23 Monday 08:00 was 13:00 UTC and is 12:00 UTC", "bob", "at 2026-03-16 12:00:30", ``, `null`},
	{"decision 23 Monday 08:00 was 13:00 UTC and is 12:00 UTC", "bob", "work", ``, `["03-02T13:00 03-09T12:00:","03-09T12:00 03-16T12:00:"]`},
}

// 02:00 on 29 March does not exist in Berlin. The day begins at 01:00 UTC, when the clocks change
// to 03:00.
var gapRows = []ruletest.Row{
	{"decision 23 timezone", "bob", "at 2026-03-28 12:00", ``, `null`},
	{"decision 23 timezone", "bob", "create", files(`,"interval":"day","offset_hour":2,"timezone":"Europe/Berlin"`), `{"offset_hour":2}`},
	{"decision 23 nothing is left out", "bob", "at 2026-03-31 00:00:30", ``, `null`},
	{"decision 23 nothing is left out", "bob", "work", ``, `["03-28T01:00 03-29T01:00:","03-29T01:00 03-30T00:00:","03-30T00:00 03-31T00:00:"]`},
}

// §4.3.1 start_at, end_at: no run before, no run after.
var boundRows = []ruletest.Row{
	{"§4.3.1 start_at", "bob", "create => it", files(`,"start_at":"2026-01-02T15:00:00Z","end_at":"2026-01-02T17:30:00Z"`), `{"paused":false}`},
	{"§4.3.1 no run before", "bob", "at 2026-01-02 14:59", ``, `null`},
	{"§4.3.1 no run before", "bob", "work", ``, `[]`},
	{"§4.3.1 the run at start_at", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"§4.3.1 the run at start_at", "bob", "work", ``, `["01-02T14:00 01-02T15:00:"]`},
	{"§4.3.1 no run after", "bob", "at 2026-01-02 20:00", ``, `null`},
	{"§4.3.1 no run after", "bob", "work", ``, `["01-02T14:00 01-02T15:00:","01-02T15:00 01-02T16:00:","01-02T16:00 01-02T17:00:"]`},
	{"§4.3.1 a later end", "bob", "change <it>", `{"end_at":null}`, `{"end_at":null}`},
	{"§4.3.1 a later end: what was left is done", "bob", "work", ``, `["01-02T14:00 01-02T15:00:","01-02T15:00 01-02T16:00:","01-02T16:00 01-02T17:00:",
		"01-02T17:00 01-02T18:00:","01-02T18:00 01-02T19:00:"]`},
}

// §4.3.4: pausing an export stops its schedule, and unpause can export the data that arrived
// meanwhile.
var pauseRows = []ruletest.Row{
	{"§4.3.4", "bob", "create => it", files(``), `{"paused":false}`},
	{"§4.3.4", "bob", "came a", `{}`, `null`},
	{"§4.3.4", "bob", "at 2026-01-02 13:10", ``, `null`},
	{"§4.3.4", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.4", "bob", "came b", `{}`, `null`},
	{"§4.3.4 pause", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.4", "bob", "at 2026-01-02 14:30", ``, `null`},
	{"§4.3.4", "bob", "came c", `{}`, `null`},
	{"§4.3.4 the schedule is stopped", "bob", "at 2026-01-02 16:30", ``, `null`},
	{"§4.3.4 the schedule is stopped", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.4 unpause", "bob", "unpause <it>", ``, `{"paused":false}`},
	{"§4.3.4 goes on with the interval that has begun", "bob", "came d", `{}`, `null`},
	{"§4.3.4 goes on with the interval that has begun", "bob", "at 2026-01-02 17:00:30", ``, `null`},
	{"§4.3.4 goes on with the interval that has begun", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T16:00 01-02T17:00: d"]`},
	{"§4.3.4 pause again", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.4", "bob", "at 2026-01-02 17:40", ``, `null`},
	{"§4.3.4", "bob", "came e", `{}`, `null`},
	{"§4.3.4", "bob", "at 2026-01-02 18:20", ``, `null`},
	{"§4.3.4", "bob", "came f", `{}`, `null`},
	{"§4.3.4 backfill from last_paused_at to now", "bob", "unpause <it>", `{"backfill":true}`, `{"paused":false}`},
	{"§4.3.4 backfill from last_paused_at to now", "bob", "backfills <it>", ``, `{"results":[{"start_at":"2026-01-02T17:00:31Z","end_at":"2026-01-02T18:20:01Z","status":"Starting"}]}`},
	{"§4.3.4", "bob", "came g", `{}`, `null`},
	{"§4.3.4 nothing is left out, nothing comes twice", "bob", "at 2026-01-02 19:00:30", ``, `null`},
	{"§4.3.4 nothing is left out, nothing comes twice", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T16:00 01-02T17:00: d","01-02T18:20 01-02T19:00: g",
		"01-02T17:00 01-02T18:00: e","01-02T18:00 01-02T18:20: f"]`},
}

// Decision 23: runs cover ingestion time and not event time. Events that are committed late belong
// to the next run.
var lateRows = []ruletest.Row{
	{"decision 23", "bob", "create => it", files(``), `{"paused":false}`},
	{"decision 23 happened long ago, came in now", "bob", "old a 2020-01-01 00:00", ``, `null`},
	{"decision 23", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"decision 23", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"decision 23 came in before the end, committed after the run", "bob", "late b 2026-01-02 12:59:58", ``, `null`},
	{"decision 23 a change of something else keeps the place", "bob", "change <it>", `{"name":"y"}`, `{"name":"y"}`},
	{"decision 23", "bob", "came c", `{}`, `null`},
	{"decision 23", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"decision 23 the next run has it", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00: b c"]`},
	{"decision 23 committed in the wrong order", "bob", "came e", `{}`, `null`},
	{"decision 23 committed in the wrong order", "bob", "late d 2026-01-02 13:59:59", ``, `null`},
	{"decision 23", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"decision 23 once", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T14:00: b c","01-02T14:00 01-02T15:00: e d","01-02T15:00 01-02T16:00:"]`},
}

// Changing the schedule omits and repeats no event.
var planRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6", "bob", "came a", `{}`, `null`},
	{"§4.3.6", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.6", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.6", "bob", "came b", `{}`, `null`},
	{"§4.3.6 to days", "bob", "change <it>", `{"interval":"day"}`, `{"interval":"day"}`},
	{"§4.3.6 to days", "bob", "at 2026-01-03 00:00:30", ``, `null`},
	{"§4.3.6 the rest of the day", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-03T00:00: b"]`},
	{"§4.3.6 back to hours", "bob", "change <it>", `{"interval":"hour"}`, `{"interval":"hour"}`},
	{"§4.3.6 back to hours", "bob", "came c", `{}`, `null`},
	{"§4.3.6 back to hours", "bob", "at 2026-01-03 01:00:30", ``, `null`},
	{"§4.3.6 back to hours", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-03T00:00: b","01-03T00:00 01-03T01:00: c"]`},
	{"§4.3.1 another model begins anew", "bob", "change <it>", `{"model":"persons"}`, `{"model":"persons"}`},
	{"§4.3.1 another model begins anew", "bob", "at 2026-01-03 02:00:30", ``, `null`},
	{"§4.3.1 another model begins anew", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-03T00:00: b","01-03T00:00 01-03T01:00: c","01-03T01:00 01-03T02:00:"]`},
}
