package featureflags_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// hourCount returns the number of exposures of a flag of Project with a value in the hour that
// begins at a time.
func hourCount(flag, value, at string, n int64) memstore.FlagHour {
	hour, err := time.Parse(time.RFC3339, at)
	if err != nil {
		panic(err)
	}
	return memstore.FlagHour{Project: ruletest.Project, FlagHour: management.FlagHour{Flag: flag, Value: value, At: hour, N: n}}
}

// exposureHours are the counts of TestFlags_Exposures.
func exposureHours() []memstore.FlagHour {
	evaluated, theirs := hourCount("a", "true", "2026-01-02T11:00:00Z", 100), hourCount("a", "true", "2026-01-02T11:00:00Z", 50)
	evaluated.Evaluations, theirs.Project = true, ruletest.TheirProject
	out := []memstore.FlagHour{
		evaluated, theirs,
		hourCount("a", "true", "2026-01-01T09:00:00Z", 3), hourCount("a", "true", "2026-01-02T00:00:00Z", 4), hourCount("a", "true", "2026-01-02T11:00:00Z", 5),
		hourCount("a", "false", "2026-01-01T23:00:00Z", 2),
		hourCount("b", "test", "2026-01-02T10:00:00Z", 7),
		// The day of 2025-10-26 has 25 hours in Berlin: this is its last hour.
		hourCount("autumn", "true", "2025-10-26T22:00:00Z", 1),
		hourCount("million", "true", "2026-01-02T10:00:00Z", 999_999), hourCount("million", "false", "2026-01-02T10:00:00Z", 1),
		hourCount("more", "true", "2026-01-02T10:00:00Z", 1_000_000), hourCount("more", "false", "2026-01-02T10:00:00Z", 1),
		hourCount("named", "other", "2026-01-02T10:00:00Z", 90),
	}
	for i := range 27 {
		n := int64(2)
		if i >= 24 {
			n = 1
		}
		out = append(out, hourCount("many", fmt.Sprintf("v%02d", i), "2026-01-02T10:00:00Z", n))
	}
	for i := range 25 {
		out = append(out, hourCount("fit", fmt.Sprintf("v%02d", i), "2026-01-02T10:00:00Z", 1))
	}
	for i := range 26 {
		out = append(out, hourCount("named", fmt.Sprintf("v%02d", i), "2026-01-02T10:00:00Z", 3))
	}
	return out
}

// exposureWorld is a World with exposureHours and the times of calls.
func exposureWorld(t *testing.T, zone string) *ruletest.World {
	t.Helper()
	at := func(text string) time.Time { return hourCount("", "", text, 0).At }
	w := ruletest.New(t, memstore.New(memstore.ExternalData{FlagHours: exposureHours(), FlagCalls: map[memstore.Flag][]management.FlagCall{
		{Project: ruletest.Project, Key: "a"}: {
			{Value: "true", Calls: 12, First: at("2025-11-01T08:00:00Z"), Last: at("2026-01-02T11:30:00Z")},
			{Value: "false", Calls: 2, First: at("2025-10-01T08:00:00Z"), Last: at("2026-01-01T23:10:00Z")},
		},
		{Project: ruletest.Project, Key: "b"}: {{Value: "test", Calls: 7, First: at("2026-01-02T10:00:00Z"), Last: at("2026-01-02T10:59:00Z")}},
	}}), func(*rooms.Config) {})
	if zone != "" {
		w.InZone(t, zone)
	}
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"flag 1", "bob", "create", `{"key":"a"}`, `{"id":1}`}, {"flag 2", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"flag 3", "bob", "create", `{"key":"autumn"}`, `{"id":3}`}, {"flag 4", "bob", "create", `{"key":"million"}`, `{"id":4}`},
		{"flag 5", "bob", "create", `{"key":"more"}`, `{"id":5}`}, {"flag 6", "bob", "create", `{"key":"many"}`, `{"id":6}`},
		{"flag 7", "bob", "create", `{"key":"named"}`, `{"id":7}`}, {"flag 8 of the other project", "dan", "create", `{"key":"a"}`, `{"id":8}`},
		{"flag 9", "bob", "create", `{"key":"fit"}`, `{"id":9}`},
	})
	return w
}

func TestFlags_Exposures(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{
		"periods": exposurePeriodRows, "refusals": exposureRefusalRows, "events": exposureEventRows, "many values": exposureValueRows(), "many flags": exposureManyRows,
	} {
		t.Run(name, func(t *testing.T) {
			w := exposureWorld(t, "")
			w.Run(t, flagtest.RoomCalls(t, w), rows)
		})
	}
	for zone, rows := range map[string][]ruletest.Row{"Asia/Kolkata": exposureHalfHourRows, "Europe/Berlin": exposureAutumnRows} {
		t.Run(zone, func(t *testing.T) {
			w := exposureWorld(t, zone)
			w.Run(t, flagtest.RoomCalls(t, w), rows)
		})
	}
}

// The requests are made on 2026-01-02 shortly after 12:00.
var exposurePeriodRows = []ruletest.Row{
	{"N7 calls of the last seven days by day", "bob", "exposed 1", ``, `{"interval":"day","labels":["2025-12-26T00:00:00Z","2025-12-27T00:00:00Z","2025-12-28T00:00:00Z","2025-12-29T00:00:00Z","2025-12-30T00:00:00Z",
		"2025-12-31T00:00:00Z","2026-01-01T00:00:00Z","2026-01-02T00:00:00Z"],"series":[{"value":"true","data":[0,0,0,0,0,0,3,9],"total":12},{"value":"false","data":[0,0,0,0,0,0,2,0],"total":2}],"total":14,
		"first_called_at":"2025-10-01T08:00:00Z","last_called_at":"2026-01-02T11:30:00Z","last":null}`},
	{"N7 the start defaults to seven days before the end", "bob", "exposed 1", `{"To":"2026-01-01T12:00:00Z"}`, `{"labels":["2025-12-25T00:00:00Z","2025-12-26T00:00:00Z","2025-12-27T00:00:00Z","2025-12-28T00:00:00Z",
		"2025-12-29T00:00:00Z","2025-12-30T00:00:00Z","2025-12-31T00:00:00Z","2026-01-01T00:00:00Z"],"total":5}`},
	{"N7 the end defaults to now", "bob", "exposed 1", `{"From":"2026-01-02T10:59:59Z","Interval":"hour"}`, `{"labels":["2026-01-02T10:00:00Z","2026-01-02T11:00:00Z","2026-01-02T12:00:00Z"],"series":[{"value":"true","data":[0,5,0],"total":5}],"total":5}`},
	{"N7 the end is not part of the period", "bob", "exposed 1", `{"From":"2026-01-01T22:00:00Z","To":"2026-01-02T00:00:00Z","Interval":"hour"}`,
		`{"labels":["2026-01-01T22:00:00Z","2026-01-01T23:00:00Z"],"series":[{"value":"false","data":[0,2],"total":2}],"total":2}`},
	{"N7 the hour that contains the end is", "bob", "exposed 1", `{"From":"2026-01-01T23:00:00Z","To":"2026-01-02T00:00:01Z","Interval":"hour"}`,
		`{"labels":["2026-01-01T23:00:00Z","2026-01-02T00:00:00Z"],"series":[{"value":"true","data":[0,4]},{"value":"false","data":[2,0]}],"total":6}`},
	{"N7 the hour that contains the start is", "bob", "exposed 1", `{"From":"2026-01-01T09:59:59Z","To":"2026-01-01T10:00:00Z","Interval":"hour"}`, `{"labels":["2026-01-01T09:00:00Z"],"series":[{"value":"true","data":[3]}],"total":3}`},
	{"N7 evaluations are counted apart from calls", "bob", "exposed 1", `{"From":"2026-01-02T00:00:00Z","Count":"evaluations"}`, `{"labels":["2026-01-02T00:00:00Z"],"series":[{"value":"true","data":[100],"total":100}],"total":100,"last_called_at":"2026-01-02T11:30:00Z"}`},
	{"N7 evaluations by hour", "bob", "exposed 1", `{"From":"2026-01-02T10:00:00Z","To":"2026-01-02T12:00:00Z","Count":"evaluations","Interval":"hour"}`, `{"series":[{"data":[0,100]}]}`},
	{"N7 a period without calls", "bob", "exposed 1", `{"From":"2025-12-01T00:00:00Z","To":"2025-12-02T00:00:00Z"}`, `{"series":[],"total":0,"first_called_at":"2025-10-01T08:00:00Z"}`},
	{"N7 a flag without calls", "bob", "exposed 3", `{"From":"2026-01-02T00:00:00Z"}`, `{"series":[],"total":0,"first_called_at":null,"last_called_at":null}`},
	{"N7 the same key in another project", "dan", "exposed 8", `{"From":"2026-01-02T00:00:00Z"}`, `{"series":[{"value":"true","data":[50]}],"total":50,"last_called_at":null}`},
	{"§1.5 a flag of another project", "dan", "exposed 1", ``, `404 not_found - Not found.`},
	{"N7 no such flag", "bob", "exposed 99", ``, `404 not_found - Not found.`},
	{"clients.md §11.3 a viewer may read", "ann", "rule feature_flag 1", `{"access_level":"viewer","organization_member":"CYD"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 a viewer may read", "cyd", "exposed 1", `{"From":"2026-01-02T00:00:00Z"}`, `{"total":9}`},
	{"clients.md §11.3 without access", "ann", "rule feature_flag 1", `{"access_level":"none","organization_member":"CYD"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 without access", "cyd", "exposed 1", `{"From":"2026-01-02T00:00:00Z"}`, `403 permission_denied - You do not have viewer access to this resource.`},
	{"clients.md §11.3 without access", "cyd", "exposedmany 1", `[1,2]`, `{"results":{"1":"(absent)","2":{"calls":7}}}`},
}

const (
	tooManyPoints = `400 invalid_input interval There are more than 1000 points: choose a longer interval or a shorter time.`
	emptyPeriod   = `400 invalid_input date_to The end of the period must be after its start.`
	notEvaluated  = `400 invalid_input interval Evaluations are counted by the hour: choose hour or day.`
	notStored     = `400 invalid_input date_from Counts are kept for 92 days.`
	noEvents      = `400 invalid_input count This server does not query events: choose calls or evaluations by hour or day.`
)

// 1,000 minutes after midnight is 16:40. Counters are stored for 92 days, and one day more is
// accepted, because the first day of a period may begin up to a day before its start:
// 2026-01-02 12:00 less 93 days is 2025-10-01 12:00.
var exposureRefusalRows = flagtest.Rows(
	flagtest.Each("N7 at most 1,000 points", "bob", "exposedevents 1",
		[2]string{`{"From":"2026-01-01T00:00:00Z","To":"2026-01-01T16:40:00Z","Interval":"minute"}`, `{"total":7}`},
		[2]string{`{"From":"2026-01-01T00:00:00Z","To":"2026-01-01T16:40:01Z","Interval":"minute"}`, tooManyPoints},
		[2]string{`{"From":"2025-11-01T00:00:00Z","To":"2025-12-12T16:00:00Z","Interval":"hour"}`, `{"total":0}`},
		[2]string{`{"From":"2025-11-01T00:00:00Z","To":"2025-12-12T16:00:01Z","Interval":"hour"}`, tooManyPoints},
	),
	flagtest.Each("N7 a period has a length", "bob", "exposed 1",
		[2]string{`{"From":"2026-01-01T00:00:00Z","To":"2026-01-01T00:00:00Z"}`, emptyPeriod},
		[2]string{`{"From":"2026-01-02T00:00:00Z","To":"2026-01-01T00:00:00Z"}`, emptyPeriod},
		[2]string{`{"From":"2026-02-01T00:00:00Z"}`, emptyPeriod},
		[2]string{`{"From":"2026-01-01T00:00:00Z","To":"2026-01-01T00:00:01Z"}`, `{"labels":["2026-01-01T00:00:00Z"]}`},
	),
	flagtest.Each("N7 evaluations have hourly counters only", "bob", "exposedevents 1",
		[2]string{`{"From":"2026-01-02T11:00:00Z","Interval":"minute","Count":"evaluations"}`, notEvaluated},
		[2]string{`{"From":"2026-01-02T11:00:00Z","Interval":"minute","Count":"calls"}`, `{"total":7}`},
	),
	flagtest.Each("N7 counters that are no longer stored", "bob", "exposedevents 1",
		[2]string{`{"From":"2025-10-01T13:00:00Z","To":"2025-10-01T15:00:00Z","Interval":"hour"}`, `{"labels":["2025-10-01T13:00:00Z","2025-10-01T14:00:00Z"],"total":0}`},
		[2]string{`{"From":"2025-10-01T12:00:00Z","To":"2025-10-01T15:00:00Z","Interval":"hour"}`, notStored},
		[2]string{`{"From":"2025-10-02T00:00:00Z","To":"2025-10-03T00:00:00Z"}`, `{"total":0}`},
		[2]string{`{"From":"2025-10-01T23:59:59Z","To":"2025-10-03T00:00:00Z"}`, notStored},
		[2]string{`{"From":"2025-10-01T12:00:00Z","To":"2025-10-02T12:00:00Z","Count":"evaluations"}`, notStored},
		// Events have no such limit.
		[2]string{`{"From":"2025-01-01T00:00:00Z","To":"2025-01-03T00:00:00Z","Count":"people"}`, `{"total":7}`},
		[2]string{`{"From":"2025-01-01T00:00:00Z","To":"2025-01-01T01:00:00Z","Interval":"minute"}`, `{"total":7}`},
	),
	flagtest.Each("a server without events", "bob", "exposed 1",
		[2]string{`{"Count":"people"}`, noEvents},
		[2]string{`{"From":"2026-01-02T11:00:00Z","Interval":"minute"}`, noEvents},
	),
	[]ruletest.Row{{"§1.5 no such flag goes before a server without events", "bob", "exposed 99", `{"Count":"people"}`, `404 not_found - Not found.`}},
)

var exposureEventRows = []ruletest.Row{
	{"N7 people are counted from events", "bob", "exposedevents 1", `{"From":"2026-01-01T00:00:00Z","To":"2026-01-02T09:00:00Z","Count":"people"}`,
		`{"interval":"day","labels":["2026-01-01T00:00:00Z","2026-01-02T00:00:00Z"],"series":[{"value":"a by day until 09:00:00, people true","data":[2],"total":null}],"total":7,"first_called_at":"2025-10-01T08:00:00Z"}`},
	{"N7 people by hour", "bob", "exposedevents 1", `{"From":"2026-01-02T08:00:00Z","To":"2026-01-02T09:00:00Z","Count":"people","Interval":"hour"}`, `{"series":[{"value":"a by hour until 09:00:00, people true","data":[1]}]}`},
	{"N7 calls by minute", "bob", "exposedevents 2", `{"From":"2026-01-02T08:00:59Z","To":"2026-01-02T08:02:00Z","Interval":"minute"}`,
		`{"labels":["2026-01-02T08:00:00Z","2026-01-02T08:01:00Z"],"series":[{"value":"b by minute until 08:02:00, people false","data":[2]}]}`},
	{"N7 calls by hour need no events", "bob", "exposedevents 1", `{"From":"2026-01-02T11:00:00Z","Interval":"hour"}`, `{"series":[{"value":"true","data":[5,0]}]}`},
	{"N7 people are counted up to 1,000,000 calls", "bob", "exposedevents 4", `{"From":"2026-01-02T00:00:00Z","Count":"people"}`, `{"total":7}`},
	{"N7 and are null above", "bob", "exposedevents 5", `{"From":"2026-01-02T00:00:00Z","Count":"people"}`, `{"series":[{"value":"true","data":null,"total":null},{"value":"false","data":null,"total":null}],"total":null}`},
	{"N7 also where there are no events", "bob", "exposed 5", `{"From":"2026-01-02T00:00:00Z","Count":"people"}`, `{"total":null}`},
	{"only the calls of the period count", "bob", "exposedevents 5", `{"From":"2026-01-01T00:00:00Z","To":"2026-01-02T00:00:00Z","Count":"people"}`, `{"total":7}`},
	{"minutes of 1,000,000 calls", "bob", "exposedevents 4", `{"From":"2026-01-02T10:00:00Z","To":"2026-01-02T11:00:00Z","Interval":"minute"}`, `{"total":7}`},
	{"minutes of more calls", "bob", "exposedevents 5", `{"From":"2026-01-02T10:00:00Z","To":"2026-01-02T11:00:00Z","Interval":"minute"}`, `400 invalid_input interval There are more than 1000000 calls: choose hour or day.`},
	{"minutes of a part of their hour", "bob", "exposedevents 5", `{"From":"2026-01-02T10:00:00Z","To":"2026-01-02T10:05:00Z","Interval":"minute"}`, `400 invalid_input interval There are more than 1000000 calls: choose hour or day.`},
	{"minutes of another hour", "bob", "exposedevents 5", `{"From":"2026-01-02T11:00:00Z","To":"2026-01-02T11:05:00Z","Interval":"minute"}`, `{"total":7}`},
	{"hours of more calls", "bob", "exposedevents 5", `{"From":"2026-01-02T10:00:00Z","To":"2026-01-02T11:00:00Z","Interval":"hour"}`, `{"total":1000001}`},
}

// exposureValueRows proves the limit of 25 values. Flag 6 has 24 values with two calls and three
// with one call, flag 7 has 26 values with three calls and the value "other" with 90, and flag 9 has
// 25 values with one call.
func exposureValueRows() []ruletest.Row {
	var once []string
	twice, thrice := "", ""
	for i := range 25 {
		once = append(once, fmt.Sprintf(`{"value":"v%02d","data":[1],"total":1}`, i))
		if i < 24 {
			twice += fmt.Sprintf(`{"value":"v%02d","data":[2],"total":2},`, i)
		}
		thrice += fmt.Sprintf(`{"value":"v%02d","data":[3],"total":3},`, i)
	}
	const day = `{"From":"2026-01-02T00:00:00Z"}`
	return []ruletest.Row{
		{"N7 at most 25 values, the rest summed as other: 1 + 1", "bob", "exposed 6", day, `{"series":[` + twice + `{"value":"v24","data":[1],"total":1},{"value":"other","data":[2],"total":2}],"total":51}`},
		{"N7 a variant named other belongs to the rest: 90 + 3", "bob", "exposed 7", day, `{"series":[` + thrice + `{"value":"other","data":[93],"total":93}],"total":168}`},
		{"N7 25 values without others", "bob", "exposed 9", day, `{"series":[` + strings.Join(once, ",") + `],"total":25}`},
	}
}

var exposureManyRows = flagtest.Rows(
	[]ruletest.Row{
		{"N8 days, today last, and the last call", "bob", "exposedmany 3", `[1,2,3]`, `{"results":{"1":{"calls":14,"days":[0,5,9],"last_called_at":"2026-01-02T11:30:00Z"},"2":{"calls":7,"days":[0,0,7],"last_called_at":"2026-01-02T10:59:00Z"},
			"3":{"calls":0,"days":[0,0,0],"last_called_at":null}}}`},
		{"N8 only today", "bob", "exposedmany 1", `[1]`, `{"results":{"1":{"calls":9,"days":[9]}}}`},
		{"N8 other flags are left out", "bob", "exposedmany 1", `[99,8,0,-1]`, `{"results":{}}`},
		{"N8 one of two flags", "bob", "exposedmany 1", `[99,2]`, `{"results":{"99":"(absent)","2":{"calls":7}}}`},
		{"N8 another project", "dan", "exposedmany 1", `[1,8]`, `{"results":{"1":"(absent)","8":{"calls":50,"last_called_at":null}}}`},
		{"N8 a deleted flag is left out", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
		{"N8 a deleted flag is left out", "bob", "exposedmany 1", `[1,2]`, `{"results":{"1":{"calls":9},"2":"(absent)"}}`},
		{"N8 no ids", "bob", "exposedmany 7", `[]`, `400 required ids This field is required.`},
		{"N8 200 ids", "bob", "exposedmany 7", flagtest.List(200, `1`), `{"results":{"1":{"calls":14}}}`},
		{"N8 201 ids", "bob", "exposedmany 7", flagtest.List(201, `1`), `400 invalid_input ids Give at most 200 ids.`},
		{"N8 31 days", "bob", "exposedmany 31", `[1]`, `{"results":{"1":{"days":[` + strings.Repeat(`0,`, 29) + `5,9]}}}`},
		{"N8 32 days", "bob", "exposedmany 32", `[1]`, `400 invalid_input days Ensure this value is between 1 and 31.`},
		{"N8 no days", "bob", "exposedmany 0", `[1]`, `400 invalid_input days Ensure this value is between 1 and 31.`},
		{"at midnight, the day has begun", "bob", "until 2026-01-02T23:59:59Z", ``, `null`},
		{"at midnight, the day has begun", "bob", "exposedmany 2", `[1]`, `{"results":{"1":{"calls":9,"days":[9,0]}}}`},
	},
)

// Hours begin at 30 minutes past the hour in Kolkata (UTC+5:30). A counter of a UTC hour counts at
// its beginning: 11:00 UTC lies in the hour from 10:30, and days begin at 18:30 UTC.
var exposureHalfHourRows = []ruletest.Row{
	{"N7 hours of the project", "bob", "exposed 1", `{"From":"2026-01-02T09:00:00Z","To":"2026-01-02T12:00:00Z","Interval":"hour"}`,
		`{"labels":["2026-01-02T08:30:00Z","2026-01-02T09:30:00Z","2026-01-02T10:30:00Z","2026-01-02T11:30:00Z"],"series":[{"value":"true","data":[0,0,5,0],"total":5}],"total":5}`},
	{"N7 an hour that begins before the first point has no series", "bob", "exposed 1", `{"From":"2026-01-02T11:30:00Z","To":"2026-01-02T12:00:00Z","Interval":"hour"}`, `{"labels":["2026-01-02T11:30:00Z"],"series":[],"total":0}`},
	{"N7 days of the project", "bob", "exposed 1", `{"From":"2026-01-01T12:00:00Z","To":"2026-01-02T12:00:00Z"}`,
		`{"labels":["2025-12-31T18:30:00Z","2026-01-01T18:30:00Z"],"series":[{"value":"true","data":[3,9]},{"value":"false","data":[0,2]}],"total":14}`},
	{"N8 days of the project", "bob", "exposedmany 2", `[1]`, `{"results":{"1":{"calls":14,"days":[3,11]}}}`},
}

// Clocks in Berlin change from UTC+2 to UTC+1 in the morning of 2025-10-26.
var exposureAutumnRows = []ruletest.Row{
	{"N7 a day of 25 hours", "bob", "exposed 3", `{"From":"2025-10-25T12:00:00Z","To":"2025-10-27T12:00:00Z"}`,
		`{"labels":["2025-10-24T22:00:00Z","2025-10-25T22:00:00Z","2025-10-26T23:00:00Z"],"series":[{"value":"true","data":[0,1,0]}],"total":1}`},
	{"N8 a day of 25 hours", "bob", "until 2025-10-27T12:00:00Z", ``, `null`},
	{"N8 a day of 25 hours", "bob", "exposedmany 3", `[3]`, `{"results":{"3":{"days":[0,1,0]}}}`},
}
