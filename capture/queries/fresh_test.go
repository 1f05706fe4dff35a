package queries

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// prepare returns a query as it is prepared at a time.
func prepare(t *testing.T, r *Request, now time.Time, state State) *preparedQuery {
	t.Helper()
	q, err := insights.Parse(r.Query, r.Project)
	if err != nil {
		t.Fatal(err)
	}
	return newPreparedQuery(q, r, now, state)
}

// trendWith returns a TrendsQuery with more members.
func trendWith(members string) string {
	return `{"kind":"TrendsQuery","series":[{"kind":"EventsNode","event":"a"}]` + members + `}`
}

// §1.6: relative dates have the same meaning in one day of the project, in one hour if they are in
// hours, and in one minute if they are in minutes. Lists of rows end now, so they have no day.
func TestFresh_Period(t *testing.T) {
	t.Parallel()
	dates := func(from, to string) string {
		return trendWith(`,"dateRange":{"date_from":"` + from + `","date_to":"` + to + `"}`)
	}
	// 23:30 in Berlin on 21 January; one minute, one hour and one day later.
	now := time.Date(2020, 1, 21, 22, 30, 15, 0, time.UTC)
	for _, c := range []struct {
		of, query             string
		second, minute, later bool // whether a result is valid 30 s, 20 min and 40 min later: midnight in Berlin is after 30
	}{
		{"days", trendWith(""), true, true, false},
		{"weeks", trendWith(`,"interval":"week"`), true, true, false},
		{"absolute dates have a day as well", dates("2020-01-01", "2020-01-02"), true, true, false},
		{"hours", trendWith(`,"interval":"hour"`), true, true, false},
		{"minutes", trendWith(`,"interval":"minute"`), true, false, false},
		{"a relative date in hours", dates("-24h", ""), true, true, false},
		{"a relative date in minutes", dates("-90M", ""), true, false, false},
		{"a relative date in seconds", dates("-90s", ""), true, false, false},
		{"the end in minutes", dates("-24h", "-5M"), true, false, false},
		{"months are no minutes", dates("-1m", ""), true, true, false},
		{"rows", `{"kind":"HogQLQuery","query":"SELECT 1"}`, true, false, false},
	} {
		zone, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		r := &Request{Project: &port.Project{ID: 1, Location: zone}, Query: json.RawMessage(c.query)}
		period := func(after time.Duration) int64 { return prepare(t, r, now.Add(after), State{}).period }
		for after, want := range map[time.Duration]bool{30 * time.Second: c.second, 20 * time.Minute: c.minute, 40 * time.Minute: c.later} {
			if got := period(after) == period(0); got != want {
				t.Errorf("%s: valid after %v: %v, want %v", c.of, after, got, want)
			}
		}
		r.Project.Location = nil // midnight in UTC is 90 minutes later
		if got, want := period(40*time.Minute) == period(0), c.minute && !strings.Contains(c.query, "hour") && !strings.Contains(c.query, "-24h"); got != want {
			t.Errorf("%s in UTC: valid after 40 minutes: %v, want %v", c.of, got, want)
		}
	}
}

// §1.6, §5.2: after new events a result is fresh while it is younger than ten times its cost, at most
// the age of its interval; the lazy age is independent of the cost, and so is the minute of shares.
func TestFresh_Ages(t *testing.T) {
	t.Parallel()
	const h = time.Hour
	for _, c := range []struct {
		of, query    string
		cost         time.Duration
		usual, lazy  time.Duration // the greatest ages; the result is no longer fresh at them
		sharedMinute bool
	}{
		{"by cost", trendWith(""), 3 * time.Second, 30 * time.Second, 12 * h, true},
		{"days", trendWith(""), 2 * h, 6 * h, 12 * h, true},
		{"minutes", trendWith(`,"interval":"minute"`), 2 * h, 5 * time.Minute, 15 * time.Minute, true},
		{"hours", trendWith(`,"interval":"hour"`), 2 * h, h, 2 * h, true},
		{"weeks", trendWith(`,"interval":"week"`), 20 * h, 24 * h, 24 * h, true},
		{"months", trendWith(`,"interval":"month"`), 20 * h, 48 * h, 48 * h, true},
		{"no interval", `{"kind":"HogQLQuery","query":"SELECT 1"}`, 2 * h, 5 * time.Minute, 15 * time.Minute, true},
	} {
		now := time.Date(2020, 1, 21, 12, 0, 0, 0, time.UTC)
		r := &Request{Project: &port.Project{ID: 1}, Query: json.RawMessage(c.query)}
		a := prepare(t, r, now, State{Events: 2})
		e := &entry{period: a.period, cost: c.cost, ages: a.ages, state: State{Events: 1}}
		at := func(age time.Duration, lazy, shared bool) bool {
			r.Shared = shared
			e.computedAt = now.Add(-age)
			return a.isFresh(e, lazy)
		}
		for _, step := range []struct {
			of     string
			age    time.Duration
			lazy   bool
			shared bool
			want   bool
		}{
			{"usual", c.usual - 1, false, false, true}, {"usual", c.usual, false, false, false},
			{"lazy", c.lazy - 1, true, false, true}, {"lazy", max(c.lazy, c.usual), true, false, false},
			{"shared", time.Minute - 1, false, true, true}, {"shared", time.Minute, false, true, false},
		} {
			if got := at(step.age, step.lazy, step.shared); got != step.want {
				t.Errorf("%s, %s: fresh after %v: %v", c.of, step.of, step.age, got)
			}
		}
		e.state = a.state
		if !at(100*h, false, true) {
			t.Errorf("%s: without new events the age does not matter", c.of)
		}
		e.period++
		if at(0, true, true) {
			t.Errorf("%s: a result of another period is fresh", c.of)
		}
	}
}

// §1.6, §5.2: the cache key contains all that the result depends on, and nothing of its appearance.
func TestFresh_Key(t *testing.T) {
	t.Parallel()
	tests := json.RawMessage(`[{"key":"email","value":"x"}]`)
	base := func() *Request { return &Request{Project: &port.Project{ID: 1}, Query: json.RawMessage(trendWith(""))} }
	key := func(change func(*Request)) string {
		r := base()
		change(r)
		return prepare(t, r, time.Date(2020, 1, 21, 12, 0, 0, 0, time.UTC), State{}).key
	}
	same := key(func(*Request) {})
	if !strings.HasPrefix(same, "cache_") || len(same) != len("cache_")+32 {
		t.Errorf("the key %s", same)
	}
	for name, c := range map[string]struct {
		change func(*Request)
		equal  bool
	}{
		"the order of members": {func(r *Request) {
			r.Query = json.RawMessage(`{"series":[{"event":"a","kind":"EventsNode"}], "kind":"TrendsQuery"}`)
		}, true},
		"tags and version": {func(r *Request) { r.Query = json.RawMessage(trendWith(`,"tags":{"scene":"x"},"version":2`)) }, true},
		"a wrapper": {func(r *Request) {
			r.Query = json.RawMessage(`{"kind":"InsightVizNode","source":` + trendWith("") + `}`)
		}, true},
		"the zone UTC":                {func(r *Request) { r.Project.Location = time.UTC }, true},
		"the name, id and mode":       {func(r *Request) { r.Name, r.ID, r.Mode = "n", "i", Async }, true},
		"filters of tests not in use": {func(r *Request) { r.Project.TestAccountFilters = tests }, true},
		"another zone":                {func(r *Request) { r.Project.Location = time.FixedZone("X", 3600) }, false},
		"another project":             {func(r *Request) { r.Project.ID = 2 }, false},
		"the first day of the week":   {func(r *Request) { r.Project.WeekStart = time.Monday }, false},
		"how properties are compared": {func(r *Request) { r.Project.PropertyMatchingVersion = 2 }, false},
		"the default mode of persons": {func(r *Request) { r.Project.PersonMode = "disabled" }, false},
		"how paths are cleaned":       {func(r *Request) { r.Project.PathCleaning = json.RawMessage(`[{"regex":"a","alias":"b"}]`) }, false},
		"the display name of persons": {func(r *Request) { r.Project.PersonDisplay = []string{"nick"} }, false},
		"an action":                   {func(r *Request) { r.Project.Actions = map[int64]port.Action{1: {Name: "x"}} }, false},
		"another event":               {func(r *Request) { r.Query = json.RawMessage(trendOf("b")) }, false},
		"a member of the query":       {func(r *Request) { r.Query = json.RawMessage(trendWith(`,"interval":"week"`)) }, false},
		"filters of tests are in use": {func(r *Request) { r.Query = json.RawMessage(trendWith(`,"filterTestAccounts":true`)) }, false},
	} {
		if got := key(c.change) == same; got != c.equal {
			t.Errorf("%s: equal keys: %v, want %v", name, got, c.equal)
		}
	}
	used := func(filters json.RawMessage) string {
		return key(func(r *Request) {
			r.Query, r.Project.TestAccountFilters = json.RawMessage(trendWith(`,"filterTestAccounts":true`)), filters
		})
	}
	if used(tests) == used(nil) {
		t.Error("the filters of test accounts are not part of the key of a query that uses them")
	}
}

// §5.2: which entries a cache removes: the least recently used of the project, then of all. An older
// computation does not replace a newer one.
func TestCache_Put(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Unix(int64(second), 0) }
	c := &cache{}
	c.put(&entry{key: "a", project: 1, size: 10, computedAt: at(5)})
	c.put(&entry{key: "a", project: 1, size: 20, computedAt: at(4)})
	if c.get("a").size != 10 || c.size != 10 {
		t.Errorf("an older computation replaces a newer one: %d bytes", c.size)
	}
	c.put(&entry{key: "a", project: 1, size: 30, computedAt: at(5)})
	if c.get("a").size != 30 || c.size != 30 || c.bytesByProject[1] != 30 {
		t.Errorf("one of the same time: %d bytes", c.size)
	}
	c.put(&entry{key: "a", project: 1, size: cacheEntryBytes + 1, computedAt: at(6)})
	if c.get("a") != nil || c.size != 0 || len(c.bytesByProject) != 0 {
		t.Errorf("a newer result that is too large: the older one is still there, %d bytes", c.size)
	}
	// Four entries of 4 MiB are as much as a project may have; another project has 16 MiB of its own.
	for i := range 4 {
		c.put(&entry{key: fmt.Sprint("b", i), project: 1, size: cacheEntryBytes})
		c.put(&entry{key: fmt.Sprint("c", i), project: 2, size: cacheEntryBytes})
	}
	if len(c.entries) != 8 {
		t.Fatalf("%d entries at the bound, want 8", len(c.entries))
	}
	c.get("b0")
	c.put(&entry{key: "b4", project: 1, size: 1})
	for key, want := range map[string]bool{"b0": true, "b1": false, "b2": true, "b3": true, "b4": true, "c0": true, "c3": true} {
		if got := c.get(key) != nil; got != want {
			t.Errorf("one byte more: %s is there: %v, want %v", key, got, want)
		}
	}
}
