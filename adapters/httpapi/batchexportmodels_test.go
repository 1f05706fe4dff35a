package httpapi_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// Backfills cover event times, in intervals or, without a start, in one run.
func TestBatchExport_Backfill(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	export := o.export(t, "a", "events", "hour", "")
	var events []string
	for hour := range 5 {
		events = append(events, event(fmt.Sprint("e", hour), "u", noon.Add(time.Duration(hour-6)*time.Hour+20*time.Minute), ""))
	}
	o.capture(t, noon, events...)
	id, _ := dig(o.do(t, "POST "+export+"/backfills/", `{"start_at":"2026-01-01T07:10:00Z","end_at":"2026-01-01T09:30:00Z"}`, 200), "backfill_id")
	o.work(t)
	differ(t, "the backfill", "", o.compare(`{"...": 1, "status": "Completed", "finished_at": "<time>", "progress": {"total_runs": 3, "finished_runs": 3, "progress": 1}}`, o.do(t, "GET "+export+"/backfills/"+id+"/", "", 200)))
	differ(t, "runs", []string{"09:00 Completed 1", "08:00 Completed 1", "07:10 Completed 1"}, o.runs(t, export))
	differ(t, "events", map[string][]string{
		"20260101T071000Z-20260101T080000Z": {"e1"}, "20260101T080000Z-20260101T090000Z": {"e2"}, "20260101T090000Z-20260101T093000Z": {"e3"},
	}, column(o.rows(t, "a"), "event"))
	o.do(t, "POST "+export+"/backfills/", `{"start_at":null,"end_at":null}`, 200)
	o.work(t)
	if got := o.runs(t, export)[0]; got != "06:20 Completed 5" {
		t.Errorf("everything: %s, want one run with 5 events", got)
	}
	page := o.do(t, "GET "+export+"/runs/?start=2026-01-01T08:00:00Z&end=2026-01-01T09:00:00Z", "", 200)
	differ(t, "runs of a time", "", o.compare(`{"next": null, "previous": null, "results": [{"...": 1, "data_interval_start": "2026-01-01T08:00:00Z", "backfill": "`+id+`"}]}`, page))
}

// A backfill with an end in the future does not block the backfills after it.
func TestBatchExport_BackfillIntoTheFuture(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	export := o.export(t, "a", "events", "hour", "")
	o.capture(t, noon, event("e", "u", noon.Add(-2*time.Hour), ""))
	status := func(id string) string {
		s, _ := dig(o.do(t, "GET "+export+"/backfills/"+id+"/", "", 200), "status")
		return s
	}
	future, _ := dig(o.do(t, "POST "+export+"/backfills/", `{"start_at":"2026-01-01T12:00:00Z","end_at":"2026-01-01T12:50:00Z"}`, 200), "backfill_id")
	past, _ := dig(o.do(t, "POST "+export+"/backfills/", `{"start_at":"2026-01-01T09:00:00Z","end_at":"2026-01-01T11:00:00Z"}`, 200), "backfill_id")
	o.work(t)
	if got := status(past) + ", " + status(future); got != "Completed, Starting" {
		t.Errorf("the one of the past, the one of the future: %s", got)
	}
	o.clock.Add(time.Hour.Microseconds())
	o.work(t)
	if got := status(future); got != "Completed" {
		t.Errorf("when its time has come: %s", got)
	}
}

// A run exports the persons that changed in its interval, in any way (decision 23).
func TestBatchExport_Persons(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	export := o.export(t, "a", "persons", "hour", `,"filters":[{"key":"hidden","type":"person","operator":"is_not_set","value":"is_not_set"}]`)
	o.capture(t, noon.Add(time.Minute), event("$set", "ann", noon, `"$set":{"plan":"pro"}`), event("a", "bob", noon, ""), event("$set", "eve", noon, `"$set":{"hidden":true}`))
	o.capture(t, noon.Add(70*time.Minute), event("a", "ann", noon, ""), event("$identify", "ann", noon, `"$anon_distinct_id":"ann-2"`))
	o.clock.Store(noon.Add(3 * time.Hour).UnixMicro())
	o.work(t)
	rows := o.rows(t, "a")
	differ(t, "distinct ids", map[string][]string{
		"20260101T120000Z-20260101T130000Z": {"ann", "ann-2", "bob"}, "20260101T130000Z-20260101T140000Z": {"ann", "ann-2"},
	}, column(rows, "distinct_id"))
	differ(t, "runs", 2, len(o.runs(t, export)))
	o.do(t, "POST "+export+"/backfills/", `{"start_at":null,"end_at":null}`, 200)
	o.work(t)
	if got := o.runs(t, export)[0]; !strings.HasSuffix(got, "Completed 3") {
		t.Errorf("everybody: %s, want 3 distinct ids", got)
	}
}

// A session is in the run in which its last event arrived, with all of its events.
func TestBatchExport_Sessions(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.export(t, "a", "sessions", "hour", "")
	o.capture(t, noon.Add(time.Minute),
		event("$pageview", "ann", noon.Add(time.Minute), `"$session_id":"s1","$current_url":"https://x/1"`), event("a", "ann", noon, `"inner":{"$session_id":"s3"}`),
		event("$autocapture", "ann", noon.Add(2*time.Minute), `"$session_id":"s1","$current_url":"https://x/2"`), event("a", "bob", noon, `"$session_id":"s2"`))
	o.capture(t, noon.Add(61*time.Minute), event("a", "ann-2", noon.Add(61*time.Minute), `"$session_id":"s1"`))
	o.clock.Store(noon.Add(3 * time.Hour).UnixMicro())
	o.work(t)
	rows := o.rows(t, "a")
	differ(t, "sessions", map[string][]string{
		"20260101T120000Z-20260101T130000Z": {"s1", "s2"}, "20260101T130000Z-20260101T140000Z": {"s1"},
	}, column(rows, "session_id"))
	row := rows["20260101T130000Z-20260101T140000Z"][0]
	delete(row, "person_id")
	differ(t, "a session", exported{
		"session_id": "s1", "team_id": 1.0, "distinct_id": "ann", "start_timestamp": "2026-01-01T12:01:00.000000Z", "end_timestamp": "2026-01-01T13:01:00.000000Z", "duration": 3600.0,
		"event_count": 3.0, "pageview_count": 1.0, "autocapture_count": 1.0, "entry_current_url": "https://x/1", "exit_current_url": "https://x/2",
	}, row)
}

// Filters, event names and queries select the rows and their columns.
func TestBatchExport_Selection(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	destination := func(folder, more string) string {
		return `,"destination":{"type":"Files","config":{"path":"` + folder + `"` + more + `}}`
	}
	o.export(t, "x", "events", "hour", destination("a", `,"include_events":["a","b"],"exclude_events":["b"]`))
	o.export(t, "x", "events", "hour", destination("b", "")+`,"filters":[{"key":"n","type":"event","operator":"gt","value":1},{"key":"plan","type":"person","value":["pro"]}]`)
	o.export(t, "x", "events", "hour", destination("c", "")+`,"hogql_query":"select event, properties.n as n, person.properties.plan as plan from events"`)
	o.capture(t, noon.Add(time.Minute), event("a", "ann", noon, `"n":1,"$set":{"plan":"pro"}`), event("b", "ann", noon, `"n":2`), event("c", "bob", noon, `"n":3`))
	o.clock.Store(noon.Add(61 * time.Minute).UnixMicro())
	o.work(t)
	const file = "20260101T120000Z-20260101T130000Z"
	differ(t, "by name", map[string][]string{file: {"a"}}, column(o.rows(t, "a"), "event"))
	differ(t, "by properties", map[string][]string{file: {"b"}}, column(o.rows(t, "b"), "event"))
	differ(t, "by query", map[string][]exported{file: {
		{"event": "a", "n": "1", "plan": "pro"}, {"event": "b", "n": "2", "plan": "pro"}, {"event": "c", "n": "3", "plan": nil},
	}}, o.rows(t, "c"))
}

// Pages of runs are linked in both directions.
func TestBatchExport_Pages(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	export := o.export(t, "a", "events", "every 5 minutes", "")
	o.clock.Store(noon.Add(150*5*time.Minute + time.Minute).UnixMicro())
	o.work(t)
	for _, ordering := range []string{"created_at", "-created_at", "data_interval_start", "-data_interval_start"} {
		path := export + "/runs/?ordering=" + ordering
		var sizes []int
		var starts []string
		var back *string
		for path != "" {
			var page struct {
				Next, Previous *string
				Results        []batchexports.BatchExportRun
			}
			if err := json.Unmarshal(o.do(t, "GET "+path, "", 200), &page); err != nil {
				t.Fatal(err)
			}
			for _, r := range page.Results {
				starts = append(starts, r.From.Format("0215:04"))
			}
			sizes, back, path = append(sizes, len(page.Results)), page.Previous, ""
			if page.Next != nil {
				path = strings.TrimPrefix(*page.Next, o.URL)
			}
		}
		differ(t, ordering, []int{100, 50}, sizes)
		sorted := slices.IsSorted(starts)
		if strings.HasPrefix(ordering, "-") {
			sorted = slices.IsSortedFunc(starts, func(a, b string) int { return strings.Compare(b, a) })
		}
		if !sorted || back == nil {
			t.Errorf("%s: sorted %v, previous %v", ordering, sorted, back)
		}
		first, _ := dig(o.do(t, "GET "+strings.TrimPrefix(*back, o.URL), "", 200), "results.0.id")
		if want, _ := dig(o.do(t, "GET "+export+"/runs/?ordering="+ordering, "", 200), "results.0.id"); first != want {
			t.Errorf("%s: the page before the last one begins with %s, want %s", ordering, first, want)
		}
	}
}
