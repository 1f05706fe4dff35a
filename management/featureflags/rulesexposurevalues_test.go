package featureflags_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// hour returns the count of a value of one hour of January 1st and 2nd 2026; hours go on after 23.
func hour(flag, value string, hour int, n int64) memstore.FlagHour {
	return memstore.FlagHour{Project: ruletest.Project, FlagHour: management.FlagHour{Flag: flag, Value: value, At: time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC), N: n}}
}

// countedWorld returns a World with counts of the flags a, busy, calm, wide and fit. A World starts
// at noon of January 2nd.
func countedWorld(t *testing.T) *ruletest.World {
	evaluated := hour("a", "true", 10, 50)
	evaluated.Evaluations = true
	theirs := hour("a", "true", 10, 100)
	theirs.Project = ruletest.TheirProject
	counts := []memstore.FlagHour{
		hour("a", "true", 10, 3), hour("a", "true", 11, 1), hour("a", "false", 24+9, 2), evaluated, theirs,
		hour("busy", "true", 10, 1_000_000), hour("busy", "false", 10, 1), hour("calm", "true", 10, 1_000_000),
	}
	for i := range 27 { // v00 has 100 calls, v01 has 99, and so on
		counts = append(counts, hour("wide", fmt.Sprintf("v%02d", i), 10, int64(100-i)))
	}
	for i := range 25 {
		counts = append(counts, hour("fit", fmt.Sprintf("v%02d", i), 10, 1))
	}
	day := func(d, h int) time.Time { return time.Date(2026, 1, d, h, 30, 0, 0, time.UTC) }
	return ruletest.New(t, memstore.New(memstore.ExternalData{FlagHours: counts, FlagCalls: map[memstore.Flag][]management.FlagCall{
		{Project: ruletest.Project, Key: "a"}: {
			{Value: "true", Calls: 4, First: day(1, 10), Last: day(1, 11)}, {Value: "false", Calls: 2, First: day(2, 9), Last: day(2, 9)},
		},
	}}))
}

// countedCalls adds the calls about exposures. The number of events is always 7, in a series with
// the query as its value.
func countedCalls(t *testing.T, w *ruletest.World) ruletest.Calls {
	out := allFlagCalls(t, w)
	series := func(count func(context.Context, featureflags.CallQuery) (*featureflags.CallCounts, error)) func(flagtest.Scope, string, string) (any, error) {
		return func(scope flagtest.Scope, path, b string) (any, error) {
			q := featureflags.ExposureQuery{CountCalls: count}
			ruletest.Read(t, b, &q)
			return w.FeatureFlags.Exposures(t.Context(), scope, flagtest.Number(t, path), q)
		}
	}
	out["series"] = series(func(_ context.Context, q featureflags.CallQuery) (*featureflags.CallCounts, error) {
		query := fmt.Sprintf("%s %s people=%v %d from %s to %s", q.Key, q.Interval, q.People, len(q.Buckets), q.Buckets[0].UTC().Format(time.RFC3339), q.To.UTC().Format(time.RFC3339))
		n := int64(7)
		return &featureflags.CallCounts{Series: []featureflags.ExposureSeries{{Value: query, Data: []int64{n}, Total: &n}}, Total: n}, nil
	})
	out["hourly"] = series(nil) // a server that does not query events
	out["counts"] = func(scope flagtest.Scope, days, b string) (any, error) {
		var ids []int64
		ruletest.Read(t, b, &ids)
		return w.FeatureFlags.ExposuresByID(t.Context(), scope, ids, flagtest.Number(t, days))
	}
	return out
}

// exposureFlags are the flags of countedWorld. Each row advances the clock by a second.
var exposureFlags = []ruletest.Row{
	{"console.md N7", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"console.md N7", "bob", "create", `{"key":"busy"}`, `{"id":2}`},
	{"console.md N7", "bob", "create", `{"key":"calm"}`, `{"id":3}`},
	{"console.md N7", "bob", "create", `{"key":"wide"}`, `{"id":4}`},
	{"console.md N7", "bob", "create", `{"key":"fit"}`, `{"id":5}`},
	{"console.md N7", "bob", "create", `{"key":"quiet"}`, `{"id":6}`},
}

// TestFlags_ExposureCounts proves console.md N7: calls and evaluations from hourly counts, people and
// minutes from events.
func TestFlags_ExposureCounts(t *testing.T) {
	w := countedWorld(t)
	w.Run(t, countedCalls(t, w), flagtest.Rows(exposureFlags,
		[]ruletest.Row{
			// From December 26th at noon there are eight days, the first and the last in part.
			{"console.md N7 by default calls of seven days by day", "bob", "series 1", ``, `{"interval":"day","labels":["2025-12-26T00:00:00Z","2025-12-27T00:00:00Z","2025-12-28T00:00:00Z","2025-12-29T00:00:00Z","2025-12-30T00:00:00Z","2025-12-31T00:00:00Z","2026-01-01T00:00:00Z","2026-01-02T00:00:00Z"],
				"series":[{"value":"true","data":[0,0,0,0,0,0,4,0],"total":4},{"value":"false","data":[0,0,0,0,0,0,0,2],"total":2}],"total":6,
				"first_called_at":"2026-01-01T10:30:00Z","last_called_at":"2026-01-02T09:30:00Z","last":null}`},
			{"console.md N7 never called", "bob", "series 6", ``, `{"series":[],"total":0,"first_called_at":null,"last_called_at":null}`},
			{"console.md N7 what the service answered", "bob", "series 1", `{"Count":"evaluations"}`, `{"series":[{"value":"true","data":[0,0,0,0,0,0,50,0],"total":50}],"total":50,"last_called_at":"2026-01-02T09:30:00Z"}`},
		},
		flagtest.Each("console.md N7 from and to, full hours", "bob", "series 1",
			[2]string{`{"Interval":"hour","From":"2026-01-01T10:30:00Z","To":"2026-01-01T12:00:00Z"}`, `{"labels":["2026-01-01T10:00:00Z","2026-01-01T11:00:00Z"],"series":[{"value":"true","data":[3,1]}],"total":4}`},
			[2]string{`{"Interval":"hour","From":"2026-01-01T10:00:00Z","To":"2026-01-01T11:00:00Z"}`, `{"labels":["2026-01-01T10:00:00Z"],"series":[{"data":[3]}],"total":3}`},
			[2]string{`{"Interval":"hour","From":"2026-01-01T10:00:00Z","To":"2026-01-01T11:00:01Z"}`, `{"labels":["2026-01-01T10:00:00Z","2026-01-01T11:00:00Z"],"total":4}`},
			[2]string{`{"Interval":"hour","From":"2026-01-01T11:00:00Z","To":"2026-01-01T12:00:00Z"}`, `{"series":[{"data":[1]}],"total":1}`},
			[2]string{`{"From":"2026-01-02T00:00:00Z"}`, `{"labels":["2026-01-02T00:00:00Z"],"series":[{"value":"false","data":[2]}],"total":2}`},
			[2]string{`{"From":"2026-01-01T10:00:00Z","To":"2026-01-01T10:00:00Z"}`, `400 invalid_input date_to The end of the period must be after its start.`},
			[2]string{`{"From":"2026-01-03T00:00:00Z"}`, `400 invalid_input date_to`},
		),
		// 1,000 hours before January 2nd at noon are 41 days and 16 hours.
		flagtest.Each("console.md N7 at most 1,000 points", "bob", "series 1",
			[2]string{`{"Interval":"hour","From":"2025-11-21T20:00:00Z","To":"2026-01-02T12:00:00Z"}`, `{"total":6}`},
			[2]string{`{"Interval":"hour","From":"2025-11-21T19:59:59Z","To":"2026-01-02T12:00:00Z"}`, `400 invalid_input interval There are more than 1000 points: choose a longer interval or a shorter time.`},
			[2]string{`{"Interval":"minute","From":"2026-01-01T19:20:00Z","To":"2026-01-02T12:00:00Z"}`, `{"series":[{"value":"a minute people=false 1000 from 2026-01-01T19:20:00Z to 2026-01-02T12:00:00Z"}]}`},
			[2]string{`{"Interval":"minute","From":"2026-01-01T19:19:00Z","To":"2026-01-02T12:00:00Z"}`, `400 invalid_input interval`},
		),
		// Counts are stored for 92 days, and one more day is tolerated: from October 1st at noon.
		flagtest.Each("console.md N7 how long counts are kept", "bob", "series 1",
			[2]string{`{"From":"2025-10-02T00:00:00Z"}`, `{"total":6}`},
			[2]string{`{"From":"2025-10-01T23:00:00Z"}`, `400 invalid_input date_from Counts are kept for 92 days.`},
			[2]string{`{"From":"2025-10-01T23:00:00Z","Count":"people"}`, `{"total":7}`}, // events have a time of their own
		),
		[]ruletest.Row{
			{"console.md N7 people are counted from events", "bob", "series 1", `{"Count":"people","From":"2026-01-01T10:30:00Z","To":"2026-01-02T11:00:00Z"}`,
				`{"series":[{"value":"a day people=true 2 from 2026-01-01T00:00:00Z to 2026-01-02T11:00:00Z","data":[7],"total":7}],"total":7,"last_called_at":"2026-01-02T09:30:00Z"}`},
			{"console.md N7 and minutes", "bob", "series 1", `{"Interval":"minute","From":"2026-01-01T10:30:30Z","To":"2026-01-01T10:32:00Z"}`, `{"interval":"minute","series":[{"value":"a minute people=false 2 from 2026-01-01T10:30:00Z to 2026-01-01T10:32:00Z"}],"total":7}`},
			{"console.md N7 evaluations are no events", "bob", "series 1", `{"Interval":"minute","Count":"evaluations","From":"2026-01-02T11:00:00Z"}`, `400 invalid_input interval Evaluations are counted by the hour: choose hour or day.`},
			{"console.md N7 a server that does not query events", "bob", "hourly 1", `{"Count":"people"}`, `400 invalid_input count This server does not query events: choose calls or evaluations by hour or day.`},
			{"console.md N7 a server that does not query events", "bob", "hourly 1", `{}`, `{"total":6}`},
			{"console.md N7 people null above 1,000,000 calls", "bob", "series 2", `{"Count":"people"}`, `{"series":[{"value":"true","data":null,"total":null},{"value":"false","data":null,"total":null}],"total":null}`},
			{"console.md N7 up to 1,000,000 calls they are counted", "bob", "series 3", `{"Count":"people"}`, `{"total":7}`},
			{"console.md N7 nor minutes of so many", "bob", "series 2", `{"Interval":"minute","From":"2026-01-01T10:00:00Z","To":"2026-01-01T11:00:00Z"}`, `400 invalid_input interval There are more than 1000000 calls: choose hour or day.`},
			{"console.md N7 nor a part of their hour", "bob", "series 2", `{"Interval":"minute","From":"2026-01-01T10:00:00Z","To":"2026-01-01T10:05:00Z"}`, `400 invalid_input interval There are more than 1000000 calls: choose hour or day.`},
			{"console.md N7 other times of it", "bob", "series 2", `{"Interval":"minute","From":"2026-01-01T12:00:00Z","To":"2026-01-01T12:05:00Z"}`, `{"total":7}`},
			{"§1.5 unknown", "bob", "series 9", ``, `404 not_found - Not found.`},
			{"§1.5 another project's", "dan", "series 1", ``, `404 not_found - Not found.`},
			{"clients.md §11.3 none", "ann", "rule feature_flag 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
			{"clients.md §11.3 none", "cyd", "series 1", ``, noViewer},
		},
	))
}

// console.md N7: the 25 most frequent values have a series each, the rest are summed up.
func TestFlags_ExposureSeries(t *testing.T) {
	w := countedWorld(t)
	var fit, wide string
	for i := range 25 { // in the order of their names, since they are equally frequent
		fit += fmt.Sprintf(`{"value":"v%02d","data":[1],"total":1},`, i)
		wide += fmt.Sprintf(`{"value":"v%02d","data":[%d],"total":%d},`, i, 100-i, 100-i)
	}
	const firstOfJanuary = `{"From":"2026-01-01T00:00:00Z","To":"2026-01-02T00:00:00Z"}`
	w.Run(t, countedCalls(t, w), flagtest.Rows(exposureFlags, []ruletest.Row{
		{"console.md N7 25 values", "bob", "series 5", firstOfJanuary, `{"series":[` + fit[:len(fit)-1] + `],"total":25}`},
		// v25 has 75 calls and v26 has 74; all together have 27 · 100 − (0 + 1 + … + 26) = 2349.
		{"console.md N7 the rest as other", "bob", "series 4", firstOfJanuary, `{"series":[` + wide + `{"value":"other","data":[149],"total":149}],"total":2349}`},
	}))
}

// Days and hours begin in the time zone of the project: in Kolkata 5 h 30 min earlier than in UTC.
func TestFlags_ExposureZone(t *testing.T) {
	w := countedWorld(t)
	w.InZone(t, "Asia/Kolkata")
	w.Run(t, countedCalls(t, w), flagtest.Rows(exposureFlags, []ruletest.Row{
		{"console.md N7 days", "bob", "series 1", `{"From":"2026-01-01T19:00:00Z"}`, `{"labels":["2026-01-01T18:30:00Z"],"series":[{"value":"false","data":[2]}]}`},
		{"console.md N7 hours", "bob", "series 1", `{"Interval":"hour","From":"2026-01-01T10:00:00Z","To":"2026-01-01T10:30:00Z"}`, `{"labels":["2026-01-01T09:30:00Z"],"series":[{"value":"true","data":[3]}]}`},
		{"console.md N7 an hour that begins before the first point has no series", "bob", "series 1", `{"Interval":"hour","From":"2026-01-02T09:30:00Z","To":"2026-01-02T10:30:00Z"}`, `{"labels":["2026-01-02T09:30:00Z"],"series":[]}`},
		{"console.md N8 today", "bob", "counts 1", `[1]`, `{"results":{"1":{"days":[2],"calls":2}}}`},
	}))
}

// TestFlags_ManyExposures proves console.md N8: the calls of several flags in one request.
func TestFlags_ManyExposures(t *testing.T) {
	w := countedWorld(t)
	w.Run(t, countedCalls(t, w), flagtest.Rows(exposureFlags,
		[]ruletest.Row{
			{"console.md N8 today is the last day", "bob", "counts 3", `[1,6]`, `{"results":{"1":{"calls":6,"days":[0,4,2],"last_called_at":"2026-01-02T09:30:00Z"},"6":{"calls":0,"days":[0,0,0],"last_called_at":null}}}`},
			{"console.md N8 one day is today", "bob", "counts 1", `[1]`, `{"results":{"1":{"calls":2,"days":[2]}}}`},
			{"console.md N8 31 days", "bob", "counts 31", `[1]`, `{"results":{"1":{"calls":6}}}`},
			{"console.md N8 at most 31 days", "bob", "counts 32", `[1]`, `400 invalid_input days Ensure this value is between 1 and 31.`},
			{"console.md N8 at least one day", "bob", "counts 0", `[1]`, `400 invalid_input days`},
			{"console.md N8 which flags", "bob", "counts 7", `[]`, `400 required ids This field is required.`},
			{"console.md N8 at most 200 ids", "bob", "counts 7", flagtest.List(200, "1"), `{"results":{"1":{"calls":6}}}`},
			{"console.md N8 at most 200 ids", "bob", "counts 7", flagtest.List(201, "1"), `400 invalid_input ids Give at most 200 ids.`},
			{"console.md N8 those that are not there are left out", "bob", "counts 7", `[99,1]`, `{"results":{"1":{"calls":6},"99":"(absent)"}}`},
			{"§1.5 another project's", "dan", "counts 7", `[1]`, `{"results":{}}`},
			{"§5.1.3 deleted", "bob", "change 6", `{"deleted":true}`, `{"deleted":true}`},
			{"§5.1.3 deleted", "bob", "counts 7", `[1,6]`, `{"results":{"1":{"calls":6},"6":"(absent)"}}`},
			{"clients.md §11.3 hidden ones are left out", "ann", "rule feature_flag 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
			{"clients.md §11.3 hidden ones are left out", "cyd", "counts 7", `[1,2]`, `{"results":{"1":"(absent)","2":{"calls":1000001}}}`},
		},
	))
}

// console.md N5: if an SDK reported no version, it is the version in force at the time of the call.
func TestFlags_FillManyVersions(t *testing.T) {
	w := countedWorld(t)
	changes := []ruletest.Row{{"§5.1.1", "bob", "create", `{"key":"a"}`, `{"created_at":"2026-01-02T12:00:01Z"}`}}
	for n := 2; n <= 103; n++ { // version n is created n seconds after the start
		changes = append(changes, ruletest.Row{"§5.1.1", "bob", "change 1", fmt.Sprintf(`{"name":"%d"}`, n), fmt.Sprintf(`{"version":%d}`, n)})
	}
	w.Run(t, allFlagCalls(t, w), changes)
	at := func(seconds float64) time.Time {
		return ruletest.Start.Add(time.Duration(seconds * float64(time.Second)))
	}
	for _, c := range []struct {
		what string
		call featureflags.LastCall
		want int64
	}{
		{"the SDK named a version", featureflags.LastCall{At: at(50), Version: 7}, 7},
		{"now", featureflags.LastCall{At: at(200)}, 103},
		{"at the last change", featureflags.LastCall{At: at(103)}, 103},
		{"just before it", featureflags.LastCall{At: at(102.9)}, 102},
		{"at a change", featureflags.LastCall{At: at(50)}, 50},
		{"between two changes", featureflags.LastCall{At: at(50.5)}, 50},
		{"the oldest of the 100 that are searched", featureflags.LastCall{At: at(4)}, 4},
		{"before these", featureflags.LastCall{At: at(3)}, 0},
	} {
		call := c.call
		if err := w.FeatureFlags.FillVersions(t.Context(), w.Scope(t, "bob"), map[int64]*featureflags.LastCall{1: &call}); err != nil || call.Version != c.want {
			t.Errorf("%s: version %d, %v; want %d", c.what, call.Version, err, c.want)
		}
	}
	if err := w.FeatureFlags.FillVersions(t.Context(), w.Scope(t, "bob"), map[int64]*featureflags.LastCall{9: {At: at(1)}}); err == nil {
		t.Error("no error for a flag that does not exist")
	}
}
