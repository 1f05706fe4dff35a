package batchexports_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Changes of a schedule omit and repeat no event, and its intervals follow the clock of its time zone
// (§4.3.1, §4.3.4, §4.3.6, decisions 23 and 44).
func TestBatchExports_Plans(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"a start within an interval": startRows, "the moment of start_at": startMomentRows, "a start that moves": movedStartRows, "the moment of end_at": endMomentRows, "days with a start": dayStartRows,
		"created paused": createdPausedRows, "paused within an interval": shortPauseRows, "paused by a change": patchPauseRows, "shorter intervals": shorterRows,
		"another time zone": zoneRows, "another hour": hourChangeRows, "weeks to days": weekChangeRows, "failures that pass": failingRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.Run(t, w.calls(t), rows)
		})
	}
}

// The run at 15:00 would be before start_at, and that at 16:00 is not. It covers its whole interval.
var startRows = []ruletest.Row{
	{"§4.3.1 start_at", "bob", "create", files(`,"start_at":"2026-01-02T15:20:00Z"`), `{"start_at":"2026-01-02T15:20:00Z"}`},
	{"§4.3.1", "bob", "came early", `{}`, `null`},
	{"§4.3.1 no run before", "bob", "at 2026-01-02 15:10", ``, `null`},
	{"§4.3.1 in the interval of start_at", "bob", "came a", `{}`, `null`},
	{"§4.3.1 no run before", "bob", "at 2026-01-02 15:59", ``, `null`},
	{"§4.3.1 no run before", "bob", "work", ``, `[]`},
	{"§4.3.1", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"§4.3.1", "bob", "work", ``, `["01-02T15:00 01-02T16:00: a"]`},
}

// A run that ends at start_at is not before it, and one that ends a microsecond earlier is.
var startMomentRows = []ruletest.Row{
	{"§4.3.1 start_at", "bob", "create", files(`,"start_at":"2026-01-02T15:00:00.000001Z"`), `{"paused":false}`},
	{"§4.3.1", "bob", "at 2026-01-02 15:30", ``, `null`},
	{"§4.3.1 the run at 15:00 is before", "bob", "work", ``, `[]`},
	{"§4.3.1", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"§4.3.1", "bob", "work", ``, `["01-02T15:00 01-02T16:00:"]`},
}

var movedStartRows = []ruletest.Row{
	{"§4.3.1", "bob", "create => it", files(``), `{"start_at":null}`},
	{"§4.3.1", "bob", "came a", `{}`, `null`},
	{"§4.3.1", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.1", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.1 later", "bob", "change <it>", `{"start_at":"2026-01-02T16:00:00Z"}`, `{"start_at":"2026-01-02T16:00:00Z"}`},
	{"§4.3.1", "bob", "came skipped", `{}`, `null`},
	{"§4.3.1", "bob", "at 2026-01-02 15:30", ``, `null`},
	{"§4.3.1 what came before start_at is not exported", "bob", "came b", `{}`, `null`},
	{"§4.3.1", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"§4.3.1 the run at start_at", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T15:00 01-02T16:00: b"]`},
	{"§4.3.1 earlier: nothing comes twice", "bob", "change <it>", `{"start_at":"2026-01-02T10:00:00Z"}`, `{"start_at":"2026-01-02T10:00:00Z"}`},
	{"§4.3.1 earlier: nothing comes twice", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T15:00 01-02T16:00: b"]`},
}

// A run that ends at end_at is not after it.
var endMomentRows = []ruletest.Row{
	{"§4.3.1 end_at", "bob", "create => it", files(`,"end_at":"2026-01-02T14:00:00Z"`), `{"paused":false}`},
	{"§4.3.1", "bob", "at 2026-01-02 16:00", ``, `null`},
	{"§4.3.1 the run at end_at", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:"]`},
	{"§4.3.1", "bob", "change <it>", `{"end_at":"2026-01-02T14:59:59.999999Z"}`, `{"paused":false}`},
	{"§4.3.1 the run at 15:00 is after", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:"]`},
	{"§4.3.6 a backfill is none of the schedule", "bob", "came a", `{}`, `null`},
	{"§4.3.6 a backfill is none of the schedule", "bob", "backfill <it>", `{"start_at":"2026-01-02T16:00:00Z","end_at":"2026-01-02T17:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 a backfill is none of the schedule", "bob", "at 2026-01-02 17:00:30", ``, `null`},
	{"§4.3.6 a backfill is none of the schedule", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:","01-02T16:00 01-02T17:00: a"]`},
}

// Midnight in Tokyo is 15:00 UTC. 4 January, 00:00 there, is the first run that is not before.
var dayStartRows = []ruletest.Row{
	{"§4.3.1 start_at", "bob", "create", files(`,"interval":"day","timezone":"Asia/Tokyo","start_at":"2026-01-03T12:00:00Z","end_at":"2026-01-05T14:00:00Z"`), `{"paused":false}`},
	{"§4.3.1 start_at", "bob", "at 2026-01-10 00:00", ``, `null`},
	{"§4.3.1 two runs: the next one would end on the 5th, 15:00 UTC", "bob", "work", ``, `["01-02T15:00 01-03T15:00:","01-03T15:00 01-04T15:00:"]`},
}

var createdPausedRows = []ruletest.Row{
	{"§4.3.1 paused", "bob", "create => it", files(`,"paused":true`), `{"paused":true,"last_paused_at":null}`},
	{"§4.3.1 paused", "bob", "came a", `{}`, `null`},
	{"§4.3.1 paused", "bob", "at 2026-01-02 15:10", ``, `null`},
	{"§4.3.1 paused", "bob", "work", ``, `[]`},
	{"§4.3.4 unpause", "bob", "unpause <it>", ``, `{"paused":false}`},
	{"§4.3.4 with the interval that has begun", "bob", "came b", `{}`, `null`},
	{"§4.3.4 with the interval that has begun", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"§4.3.4 with the interval that has begun", "bob", "work", ``, `["01-02T15:00 01-02T16:00: b"]`},
}

// A pause that begins and ends within an interval has no effect.
var shortPauseRows = []ruletest.Row{
	{"§4.3.4", "bob", "create => it", files(``), `{"paused":false}`},
	{"§4.3.4", "bob", "came a", `{}`, `null`},
	{"§4.3.4", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.4", "bob", "came b", `{}`, `null`},
	{"§4.3.4", "bob", "unpause <it>", ``, `{"paused":false}`},
	{"§4.3.4", "bob", "came c", `{}`, `null`},
	{"§4.3.4", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.4", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a b c"]`},
	{"§4.3.4 across the end of one: the interval that has ended is left out", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.4", "bob", "came d", `{}`, `null`},
	{"§4.3.4", "bob", "at 2026-01-02 14:10", ``, `null`},
	{"§4.3.4", "bob", "came e", `{}`, `null`},
	{"§4.3.4", "bob", "unpause <it>", ``, `{"paused":false}`},
	{"§4.3.4", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"§4.3.4", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a b c","01-02T14:00 01-02T15:00: e"]`},
}

var patchPauseRows = []ruletest.Row{
	{"§4.3.4", "bob", "create => it", files(``), `{"paused":false}`},
	{"§4.3.4", "bob", "change <it>", `{"paused":true}`, `{"paused":true}`},
	{"§4.3.4 as pause", "bob", "at 2026-01-02 15:10", ``, `null`},
	{"§4.3.4 as pause", "bob", "came a", `{}`, `null`},
	{"§4.3.4 as pause", "bob", "work", ``, `[]`},
	{"§4.3.4 as unpause", "bob", "change <it>", `{"paused":false}`, `{"paused":false}`},
	{"§4.3.4 without a backfill", "bob", "backfills <it>", ``, `{"results":[]}`},
	{"§4.3.4 as unpause", "bob", "at 2026-01-02 16:00:30", ``, `null`},
	{"§4.3.4 as unpause", "bob", "work", ``, `["01-02T15:00 01-02T16:00: a"]`},
}

// The change to shorter intervals continues at the end of the last run.
var shorterRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(``), `{"interval":"hour"}`},
	{"§4.3.6", "bob", "came a", `{}`, `null`},
	{"§4.3.6", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.6", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a"]`},
	{"§4.3.6", "bob", "at 2026-01-02 13:02", ``, `null`},
	{"§4.3.6", "bob", "came b", `{}`, `null`},
	{"§4.3.6 five minutes", "bob", "change <it>", `{"interval":"every 5 minutes"}`, `{"interval":"every 5 minutes"}`},
	{"§4.3.6 five minutes", "bob", "at 2026-01-02 13:10:30", ``, `null`},
	{"§4.3.6 five minutes", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T13:05: b","01-02T13:05 01-02T13:10:"]`},
	{"§4.3.6 fifteen: the rest of the quarter", "bob", "change <it>", `{"interval":"every 15 minutes"}`, `{"interval":"every 15 minutes"}`},
	{"§4.3.6 fifteen: the rest of the quarter", "bob", "at 2026-01-02 13:30:30", ``, `null`},
	{"§4.3.6 fifteen: the rest of the quarter", "bob", "work", ``, `["01-02T12:00 01-02T13:00: a","01-02T13:00 01-02T13:05: b","01-02T13:05 01-02T13:10:","01-02T13:10 01-02T13:15:","01-02T13:15 01-02T13:30:"]`},
}

// Days begin at 00:00 UTC, then at 05:00 UTC, which is midnight in New York.
var zoneRows = []ruletest.Row{
	{"decision 23", "bob", "create => it", files(`,"interval":"day"`), `{"timezone":"UTC"}`},
	{"decision 23", "bob", "came a", `{}`, `null`},
	{"decision 23", "bob", "at 2026-01-03 00:00:30", ``, `null`},
	{"decision 23", "bob", "work", ``, `["01-02T00:00 01-03T00:00: a"]`},
	{"decision 23 timezone", "bob", "change <it>", `{"timezone":"America/New_York"}`, `{"timezone":"America/New_York"}`},
	{"decision 23", "bob", "came b", `{}`, `null`},
	{"decision 23 the rest of the day there", "bob", "at 2026-01-03 05:00:30", ``, `null`},
	{"decision 23 the rest of the day there", "bob", "work", ``, `["01-02T00:00 01-03T00:00: a","01-03T00:00 01-03T05:00: b"]`},
	{"decision 23 then whole days", "bob", "at 2026-01-04 05:00:30", ``, `null`},
	{"decision 23 then whole days", "bob", "work", ``, `["01-02T00:00 01-03T00:00: a","01-03T00:00 01-03T05:00: b","01-03T05:00 01-04T05:00:"]`},
	{"decision 23 null is UTC", "bob", "change <it>", `{"timezone":null}`, `{"timezone":"UTC"}`},
	{"decision 23 null is UTC", "bob", "at 2026-01-05 00:00:30", ``, `null`},
	{"decision 23 null is UTC", "bob", "work", ``, `["01-02T00:00 01-03T00:00: a","01-03T00:00 01-03T05:00: b","01-03T05:00 01-04T05:00:","01-04T05:00 01-05T00:00:"]`},
	{"the zone of the server has no name", "bob", "change <it>", `{"timezone":"Local"}`, `400 * timezone`},
	{"an empty name", "bob", "change <it>", `{"timezone":""}`, `400 blank timezone This field may not be blank.`},
}

var hourChangeRows = []ruletest.Row{
	{"§4.3.1", "bob", "create => it", files(`,"interval":"day"`), `{"offset_hour":null}`},
	{"§4.3.1", "bob", "at 2026-01-03 00:00:30", ``, `null`},
	{"§4.3.1", "bob", "work", ``, `["01-02T00:00 01-03T00:00:"]`},
	{"§4.3.1 offset_hour", "bob", "change <it>", `{"offset_hour":6}`, `{"offset_hour":6}`},
	{"§4.3.1 offset_hour", "bob", "at 2026-01-04 06:00:30", ``, `null`},
	{"§4.3.1 six hours, then a day", "bob", "work", ``, `["01-02T00:00 01-03T00:00:","01-03T00:00 01-03T06:00:","01-03T06:00 01-04T06:00:"]`},
	{"§4.3.1 midnight", "bob", "change <it>", `{"offset_hour":null}`, `{"offset_hour":null}`},
	{"§4.3.1 midnight", "bob", "at 2026-01-05 00:00:30", ``, `null`},
	{"§4.3.1 eighteen hours", "bob", "work", ``, `["01-02T00:00 01-03T00:00:","01-03T00:00 01-03T06:00:","01-03T06:00 01-04T06:00:","01-04T06:00 01-05T00:00:"]`},
}

// 2 January 2026 is a Friday, and weeks begin on Sunday.
var weekChangeRows = []ruletest.Row{
	{"§4.3.1", "bob", "create => it", files(`,"interval":"week","offset_day":1`), `{"offset_day":1}`},
	{"§4.3.1 Monday to Monday", "bob", "at 2026-01-05 00:00:30", ``, `null`},
	{"§4.3.1 Monday to Monday", "bob", "work", ``, `["12-29T00:00 01-05T00:00:"]`},
	{"§4.3.1 offset_day of days", "bob", "change <it>", `{"interval":"day"}`, `400 invalid_input offset_day offset_day is not applicable for non-weekly intervals`},
	{"§4.3.1 another day of the week", "bob", "change <it>", `{"offset_day":3}`, `{"offset_day":3}`},
	{"§4.3.1 two days, to Wednesday", "bob", "at 2026-01-07 00:00:30", ``, `null`},
	{"§4.3.1 two days, to Wednesday", "bob", "work", ``, `["12-29T00:00 01-05T00:00:","01-05T00:00 01-07T00:00:"]`},
	{"§4.3.1 days", "bob", "change <it>", `{"interval":"day","offset_day":null}`, `{"interval":"day","offset_day":null}`},
	{"§4.3.1 days", "bob", "at 2026-01-09 00:00:30", ``, `null`},
	{"§4.3.1 days", "bob", "work", ``, `["12-29T00:00 01-05T00:00:","01-05T00:00 01-07T00:00:","01-07T00:00 01-08T00:00:","01-08T00:00 01-09T00:00:"]`},
}

// Failing lists an export while its last finished run has failed and it is not paused.
var failingRows = []ruletest.Row{
	{"§4.3.5", "bob", "create => it", files(``), `{"name":"x"}`},
	{"§4.3.5", "bob", "create => other", files(`,"name":"other"`), `{"name":"other"}`},
	{"§4.3.5 without a run", "-", "failing", ``, `null`},
	{"§4.3.5 one of the two is refused", "bob", "refuse", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `["01-02T12:00 01-02T13:00:"]`},
	{"§4.3.5 the last run has failed", "-", "failing", ``, `["x"]`},
	{"§4.3.4 paused", "bob", "pause <it>", ``, `{"paused":true}`},
	{"§4.3.4 paused", "-", "failing", ``, `null`},
	{"§4.3.4 unpaused", "bob", "unpause <it>", ``, `{"paused":false}`},
	{"§4.3.4 unpaused", "-", "failing", ``, `["x"]`},
	{"§4.3.5 the next attempt fails, and is repeated", "bob", "fail", ``, `null`},
	{"§4.3.5", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:"]`},
	{"§4.3.5 a run that has attempts left is not finished", "-", "failing", ``, `["x"]`},
	{"§4.3.5", "bob", "wait 5s", ``, `null`},
	{"§4.3.5", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:","01-02T13:00 01-02T14:00:"]`},
	{"§4.3.5 the last run is complete", "-", "failing", ``, `null`},
	{"§4.3.3 deleted", "bob", "refuse", ``, `null`},
	{"§4.3.3 deleted", "bob", "at 2026-01-02 15:00:30", ``, `null`},
	{"§4.3.3 deleted", "bob", "work", ``, `["01-02T12:00 01-02T13:00:","01-02T13:00 01-02T14:00:","01-02T13:00 01-02T14:00:","01-02T14:00 01-02T15:00:"]`},
	{"§4.3.3 deleted", "-", "failing", ``, `["x"]`},
	{"§4.3.3 deleted", "bob", "delete <it>", ``, `null`},
	{"§4.3.3 deleted", "-", "failing", ``, `null`},
}
