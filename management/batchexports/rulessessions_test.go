package batchexports_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// A session is exported by the run in which its last known event was ingested, keyed by $session_id
// (decision 23). Its columns are of all its events.
func TestBatchExports_Sessions(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"totals": sessionTotalRows, "how far back": sessionReachRows, "backfills": sessionBackfillRows, "ids": sessionIDRows} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			calls := w.calls(t)
			calls["rows"] = writtenRows(w)
			// happened adds an event of a session that arrives now, with a time of its own.
			calls["happened"] = func(scope *management.Scope, path, properties string) (any, error) {
				if _, err := calls["old"](scope, path, ""); err != nil {
					return nil, err
				}
				w.ledger.events[len(w.ledger.events)-1].Properties = properties
				return nil, nil
			}
			w.Run(t, calls, rows)
		})
	}
}

// Entry and exit, and the distinct id and the person, follow the times of the events and not the
// order in which they arrived. Events without an address count, and do not change entry and exit.
var sessionTotalRows = []ruletest.Row{
	{"decision 23", "bob", "create", files(`,"model":"sessions"`), `{"model":"sessions"}`},
	{"decision 23", "bob", "at 2026-01-02 12:50", ``, `null`},
	{"the second", "bob", "happened b 2026-01-02 12:20", `{"$session_id":"s","$current_url":"/second"}`, `null`},
	{"the last", "bob", "happened $autocapture:d 2026-01-02 12:40:30", `{"$session_id":"s"}`, `null`},
	{"the first", "bob", "happened $pageview:a 2026-01-02 12:10", `{"$session_id":"s","$current_url":"/first"}`, `null`},
	{"the third", "bob", "happened $pageview:c 2026-01-02 12:30", `{"$session_id":"s","$current_url":"/third"}`, `null`},
	{"decision 23", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"decision 23", "bob", "work", ``, `["01-02T12:00 01-02T13:00: s"]`},
	{"30 minutes and 30 seconds", "bob", "rows", ``, `{"rows":[["s",1,"d-$pageview:a","p-$autocapture:d","2026-01-02T12:10:00Z","2026-01-02T12:40:30Z",1830,4,2,1,"/first","/third"]]}`},
	{"an address that is no text", "bob", "happened e 2026-01-02 12:45", `{"$session_id":"s","$current_url":7}`, `null`},
	{"decision 23", "bob", "at 2026-01-02 14:00:30", ``, `null`},
	{"decision 23", "bob", "work", ``, `["01-02T12:00 01-02T13:00: s","01-02T13:00 01-02T14:00: s"]`},
	{"an address that is no text", "bob", "rows", ``, `{"newer":"end_timestamp","key":"team_id session_id","rows":[["s",1,"d-$pageview:a","p-e","2026-01-02T12:10:00Z","2026-01-02T12:45:00Z",2100,5,2,1,"/first","/third"]]}`},
}

// The remaining events of a session are searched in the 48 hours before the run.
var sessionReachRows = []ruletest.Row{
	{"decision 23", "bob", "create => it", files(`,"model":"sessions","interval":"day"`), `{"model":"sessions"}`},
	{"decision 23", "bob", "at 2026-01-01 23:59:59", ``, `null`},
	{"more than 48 hours before the run of the 4th", "bob", "came a", `{"$session_id":"s"}`, `null`},
	{"48 hours before it", "bob", "came b", `{"$session_id":"s"}`, `null`},
	{"48 hours before it", "bob", "came c", `{"$session_id":"t"}`, `null`},
	{"decision 23", "bob", "at 2026-01-03 00:00:30", ``, `null`},
	{"decision 23", "bob", "work", ``, `["01-02T00:00 01-03T00:00: s t"]`},
	{"an event of the day before belongs to the session", "bob", "rows", ``, `{"rows":[["s",1,"d-a","p-b","2026-01-01T23:59:59Z","2026-01-02T00:00:00Z",1,2,0,0,"",""],["t",1,"d-c","p-c","2026-01-02T00:00:01Z","2026-01-02T00:00:01Z",0,1,0,0,"",""]]}`},
	{"decision 23", "bob", "at 2026-01-04 10:00", ``, `null`},
	{"decision 23", "bob", "came d", `{"$session_id":"s"}`, `null`},
	{"decision 23", "bob", "at 2026-01-05 00:00:30", ``, `null`},
	{"decision 23 each in the run of its last event", "bob", "work", ``, `["01-02T00:00 01-03T00:00: s t","01-03T00:00 01-04T00:00:","01-04T00:00 01-05T00:00: s"]`},
	{"without the first one, which is too old", "bob", "rows", ``, `{"rows":[["s",1,"d-b","p-d","2026-01-02T00:00:00Z","2026-01-04T10:00:00Z",208800,2,0,0,"",""]]}`},
}

// A backfill selects sessions by the time of their last event, and has their events of 48 hours
// before it.
var sessionBackfillRows = []ruletest.Row{
	{"§4.3.6", "bob", "create => it", files(`,"model":"sessions","paused":true`), `{"model":"sessions"}`},
	{"§4.3.6", "bob", "happened a 2026-01-01 09:59:59", `{"$session_id":"before"}`, `null`},
	{"§4.3.6", "bob", "happened b 2026-01-01 10:00", `{"$session_id":"at the beginning"}`, `null`},
	{"§4.3.6", "bob", "happened c 2025-12-30 10:00", `{"$session_id":"long"}`, `null`},
	{"§4.3.6 too old", "bob", "happened d 2025-12-30 09:59:59", `{"$session_id":"long"}`, `null`},
	{"§4.3.6", "bob", "happened e 2026-01-01 10:59:59", `{"$session_id":"long"}`, `null`},
	{"§4.3.6", "bob", "happened f 2026-01-01 11:00", `{"$session_id":"at the end"}`, `null`},
	{"§4.3.6", "bob", "happened g 2026-01-01 10:30", `{"$session_id":"goes on"}`, `null`},
	{"§4.3.6", "bob", "happened h 2026-01-01 11:30", `{"$session_id":"goes on"}`, `null`},
	{"§4.3.6", "bob", "backfill <it>", `{"start_at":"2026-01-01T10:00:00Z","end_at":"2026-01-01T11:00:00Z"}`, `{"backfill_id":"(like) ."}`},
	{"§4.3.6 by their last event", "bob", "work", ``, `["01-01T10:00 01-01T11:00: at the beginning long"]`},
	{"§4.3.6 48 hours", "bob", "rows", ``, `{"rows":[["at the beginning",1,"d-b","p-b","2026-01-01T10:00:00Z","2026-01-01T10:00:00Z",0,1,0,0,"",""],["long",1,"d-c","p-e","2025-12-30T10:00:00Z","2026-01-01T10:59:59Z",176399,2,0,0,"",""]]}`},
}

// Only a text is the id of a session, in whatever form the JSON has it.
var sessionIDRows = []ruletest.Row{
	{"decision 23", "bob", "create", files(`,"model":"sessions"`), `{"model":"sessions"}`},
	{"no text", "bob", "came a", `{"$session_id":null}`, `null`},
	{"no text", "bob", "came b", `{"$session_id":["s"]}`, `null`},
	{"empty", "bob", "came c", `{"$session_id":""}`, `null`},
	{"inside another property", "bob", "came d", `{"x":{"$session_id":"inner"}}`, `null`},
	{"with escapes", "bob", "came e", `{"\u0024session_id":"\u0073"}`, `null`},
	{"with blanks", "bob", "came f", `{ "$session_id" : "s" }`, `null`},
	{"another case", "bob", "came g", `{"$session_id":"S"}`, `null`},
	{"with a quote", "bob", "came h", `{"$session_id":"a\"b"}`, `null`},
	{"decision 23", "bob", "at 2026-01-02 13:00:30", ``, `null`},
	{"decision 23 in the order of their ids", "bob", "work", ``, `["01-02T12:00 01-02T13:00: S a\"b s"]`},
	{"two events", "bob", "rows", ``, `{"rows":[["S",1,"d-g","p-g","2026-01-02T12:00:08Z","2026-01-02T12:00:08Z",0,1,0,0,"",""],["a\"b",1,"d-h","p-h","2026-01-02T12:00:09Z","2026-01-02T12:00:09Z",0,1,0,0,"",""],["s",1,"d-e","p-f","2026-01-02T12:00:06Z","2026-01-02T12:00:07Z",1,2,0,0,"",""]]}`},
}
