package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/management/batchexports"
)

// exported is a row of an export.
type exported map[string]any

// capture stores events of project 1 that arrive at sentAt.
func (o *office) capture(t *testing.T, sentAt time.Time, events ...string) {
	t.Helper()
	now := o.clock.Swap(sentAt.UnixMicro())
	defer o.clock.Store(now)
	o.do(t, "POST /batch/", `{"api_key":"phc_1","batch":[`+strings.Join(events, ",")+`]}`, 200)
}

// event returns an event of a person with some properties.
func event(name, person string, sentAt time.Time, properties string) string {
	return fmt.Sprintf(`{"event":%q,"distinct_id":%q,"timestamp":%q,"properties":{%s}}`, name, person, sentAt.Format(time.RFC3339Nano), properties)
}

// export creates an export to files in a folder, and returns its path in the API.
func (o *office) export(t *testing.T, folder, model, interval, more string) string {
	t.Helper()
	body := fmt.Sprintf(`{"name":"x","model":%q,"interval":%q,"destination":{"type":"Files","config":{"path":%q}}%s}`, model, interval, folder, more)
	id, ok := dig(o.do(t, "POST /api/projects/1/batch_exports/", body, 201), "id")
	if !ok {
		t.Fatal("no id")
	}
	return "/api/projects/1/batch_exports/" + id
}

// work executes all runs that are due.
func (o *office) work(t *testing.T) {
	t.Helper()
	for n := 0; ; n++ {
		more, err := o.service.BatchExports.Work(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
		if n > 1000 {
			t.Fatal("the work does not end")
		}
	}
}

// rows returns the rows of all files below a folder of exports, by file.
func (o *office) rows(t *testing.T, folder string) map[string][]exported {
	t.Helper()
	out := map[string][]exported{}
	root := filepath.Join(o.folder, folder)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		name := strings.SplitN(filepath.Base(path), ".", 2)[0]
		for lines := bufio.NewScanner(f); lines.Scan(); {
			var row exported
			if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
				return err
			}
			out[name] = append(out[name], row)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// column returns one column of the rows by file, sorted.
func column(rows map[string][]exported, name string) map[string][]string {
	out := map[string][]string{}
	for file, list := range rows {
		for _, row := range list {
			out[file] = append(out[file], fmt.Sprint(row[name]))
		}
		slices.Sort(out[file])
	}
	return out
}

// runs returns the runs of an export as start, status and number of rows, newest first.
func (o *office) runs(t *testing.T, export string) (out []string) {
	t.Helper()
	var page struct{ Results []batchexports.BatchExportRun }
	if err := json.Unmarshal(o.do(t, "GET "+export+"/runs/?after=-30d", "", 200), &page); err != nil {
		t.Fatal(err)
	}
	for _, r := range page.Results {
		n := int64(-1)
		if r.Completed != nil {
			n = *r.Completed
		}
		out = append(out, fmt.Sprintf("%s %s %d", r.From.Format("15:04"), r.Status, n))
	}
	return out
}

func differ(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

var noon = officeStart // 2026-01-01 12:00 UTC, a Thursday

// Each run covers its interval by the time of arrival; missed intervals are caught up, one after
// the other (§4.3, decision 23).
func TestBatchExport_Schedule(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	o.capture(t, noon.Add(-time.Minute), event("before", "u", noon.Add(-time.Minute), ""))
	o.clock.Store(noon.Add(10 * time.Minute).UnixMicro())
	export := o.export(t, "a", "events", "hour", "")
	o.capture(t, noon.Add(5*time.Minute), event("first", "u", noon.Add(-9*time.Hour), `"plan":"pro"`))
	o.capture(t, noon.Add(time.Hour-time.Microsecond), event("second", "u", noon, ""))
	o.capture(t, noon.Add(time.Hour), event("third", "u", noon, ""))
	o.clock.Store(noon.Add(time.Hour + 29*time.Second).UnixMicro())
	o.work(t)
	differ(t, "runs before the interval has settled", []string(nil), o.runs(t, export))
	o.clock.Store(noon.Add(3*time.Hour + time.Minute).UnixMicro())
	o.work(t)
	differ(t, "runs", []string{"14:00 Completed 0", "13:00 Completed 1", "12:00 Completed 2"}, o.runs(t, export))
	differ(t, "events", map[string][]string{
		"20260101T120000Z-20260101T130000Z": {"first", "second"}, "20260101T130000Z-20260101T140000Z": {"third"},
	}, column(o.rows(t, "a"), "event"))

	run := o.do(t, "GET "+export+"/runs/?ordering=data_interval_start", "", 200)
	id, _ := dig(run, "results.0.id")
	differ(t, "a run", "", o.compare(`{"id": "<uuid>", "batch_export": "<uuid>", "status": "Completed", "records_completed": 2, "records_failed": 0, "latest_error": null,
		"data_interval_start": "2026-01-01T12:00:00Z", "data_interval_end": "2026-01-01T13:00:00Z", "cursor": null, "created_at": "2026-01-01T15:01:00Z", "finished_at": "2026-01-01T15:01:00Z",
		"last_updated_at": "2026-01-01T15:01:00Z", "records_total_count": 2, "bytes_exported": "<int>", "backfill": null}`, o.do(t, "GET "+export+"/runs/"+id+"/", "", 200)))
	differ(t, "its log", "", o.compare(`{"count": 2, "next": null, "previous": null, "results": [{"...": 1, "level": "INFO", "message": "The run started."}, {"...": 1, "level": "INFO"}]}`,
		o.do(t, "GET "+export+"/runs/"+id+"/logs/", "", 200)))
	o.do(t, "POST "+export+"/runs/"+id+"/cancel/", "", 400)
	differ(t, "newest runs", "", o.compare(`{"...": 1, "latest_runs": [{"...": 1, "records_completed": 0}, {"...": 1, "records_completed": 1}, {"...": 1, "id": "`+id+`"}]}`,
		o.do(t, "GET "+export+"/", "", 200)))
	for _, row := range o.rows(t, "a")["20260101T120000Z-20260101T130000Z"] {
		if row["event"] == "first" {
			differ(t, "columns", []string{
				"created_at", "distinct_id", "elements_chain", "event", "person_id", "person_properties", "properties", "set", "set_once", "team_id", "timestamp", "uuid",
			}, slices.Sorted(maps.Keys(row)))
			differ(t, "timestamp", "2026-01-01T03:00:00.000000Z", row["timestamp"])
		}
	}
}

// start_at, end_at and pause prevent runs; intervals follow the clock of the time zone.
func TestBatchExport_Bounds(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	bounded := o.export(t, "a", "events", "hour", `,"start_at":"2026-01-01T14:30:00Z","end_at":"2026-01-01T16:00:00Z"`)
	daily := o.export(t, "b", "events", "day", `,"timezone":"America/New_York","offset_hour":6`)
	weekly := o.export(t, "c", "events", "week", "")
	quarter := o.export(t, "d", "events", "every 15 minutes", "")
	for hour := range 8 {
		o.capture(t, noon.Add(time.Duration(hour)*time.Hour+30*time.Minute), event(fmt.Sprint("e", hour), "u", noon, ""))
	}
	o.clock.Store(noon.Add(20 * time.Minute).UnixMicro())
	o.work(t)
	differ(t, "every 15 minutes", []string{"12:00 Completed 0"}, o.runs(t, quarter))
	o.do(t, "POST "+quarter+"/pause/", "", 200)
	o.clock.Store(noon.Add(8 * 24 * time.Hour).UnixMicro())
	o.work(t)
	differ(t, "with start and end", []string{"15:00 Completed 1", "14:00 Completed 1"}, o.runs(t, bounded))
	differ(t, "paused", []string{"12:00 Completed 0"}, o.runs(t, quarter))
	got := o.runs(t, daily)
	differ(t, "daily", []string{"11:00 Completed 8", "11:00 Completed 0"}, []string{got[len(got)-1], got[0]})
	differ(t, "weekly", []string{"00:00 Completed 8"}, o.runs(t, weekly))
	o.do(t, "POST "+quarter+"/unpause/", "", 200)
	o.clock.Store(noon.Add(8*24*time.Hour + 16*time.Minute).UnixMicro())
	o.work(t)
	if got := o.runs(t, quarter); len(got) != 2 || got[0] != "12:00 Completed 0" {
		t.Errorf("after unpause: %q, want one more run, of the interval of the unpause", got)
	}
}

// Every event is exported to exactly one file, even with late events, irregular runs and repeated
// pauses.
func TestBatchExport_EveryEventOnce(t *testing.T) {
	for seed := range int64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewSource(seed))
			o := newOffice(t, "sqlite::memory:")
			export := o.export(t, "a", "events", "every 5 minutes", "")
			want := map[string]int{}
			now := noon
			for n := range 150 {
				now = now.Add(time.Duration(random.Intn(100)) * time.Second)
				o.clock.Store(now.UnixMicro())
				late := time.Duration(random.Intn(3)*random.Intn(400)) * time.Second // up to 13 minutes
				name := fmt.Sprint("e", n)
				if sentAt := now.Add(-late); !sentAt.Before(noon) {
					o.capture(t, sentAt, event(name, "u", sentAt, ""))
					want[name] = 1
				}
				switch random.Intn(8) {
				case 0, 1, 2:
					o.work(t)
				case 3:
					o.do(t, "POST "+export+"/pause/", "", 200)
				case 4:
					o.do(t, "POST "+export+"/unpause/", `{"backfill": true}`, 200)
				}
			}
			o.do(t, "POST "+export+"/unpause/", `{"backfill": true}`, 200)
			o.clock.Store(now.Add(20 * time.Minute).UnixMicro())
			o.work(t)
			got := map[string]int{}
			for _, list := range o.rows(t, "a") {
				for _, row := range list {
					got[row["event"].(string)]++
				}
			}
			differ(t, "events by how often they were exported", want, got)
		})
	}
}
