package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
	"github.com/bunting-flags/bunting/management/rooms"
)

// plannedRows calls a function while a run is planned.
type plannedRows struct {
	batchexports.Rows
	planned func()
}

func (r plannedRows) Horizon(ctx context.Context, projectID int64) (int64, error) {
	n, err := r.Rows.Horizon(ctx, projectID)
	r.planned()
	return n, err
}

// An export that is paused and unpaused while a run of its schedule is planned, running, or waiting
// for a retry, continues after that run: events are exported once, and without a backfill the
// paused time is not caught up.
func TestBatchExport_PauseInRun(t *testing.T) {
	const planned, underWay, failed = "planned", "under way", "failed"
	for _, when := range []string{planned, underWay, failed} {
		for unpause, want := range map[string]map[string]int{
			`{"backfill": true}`: {"first": 1, "second": 1, "third": 1, "fourth": 1},
			"":                   {"first": 1, "third": 1, "fourth": 1},
		} {
			t.Run(fmt.Sprint(when, " ", unpause), func(t *testing.T) {
				if when == planned && unpause == "" { // in this case no run had started that ends normally
					want = map[string]int{"third": 1, "fourth": 1}
				}
				o := newOffice(t, "sqlite::memory:")
				export := o.export(t, "a", "events", "hour", "")
				o.capture(t, noon.Add(time.Minute), event("first", "u", noon, ""))
				o.capture(t, noon.Add(61*time.Minute), event("second", "u", noon, ""))
				paused := false
				pause := func() {
					if paused {
						return
					}
					paused = true
					o.do(t, "POST "+export+"/pause/", "", 200)
					o.capture(t, noon.Add(185*time.Minute), event("third", "u", noon, ""))
					o.clock.Store(noon.Add(190 * time.Minute).UnixMicro())
					o.do(t, "POST "+export+"/unpause/", unpause, 200)
				}
				rows := plannedRows{o.store.Exports(), func() {
					if when == planned {
						pause()
					}
				}}
				runner := scriptedRunner{exports.New(exports.Config{Folder: o.folder}), func(context.Context, *batchexports.Job) error {
					if paused {
						return nil
					}
					pause()
					if when == failed {
						return errors.New("not now")
					}
					return nil
				}}
				s, err := rooms.Open(rooms.Config{
					Store: o.store.Management(), Now: o.now, ExportRows: rows, ExportRunner: runner,
				})
				if err != nil {
					t.Fatal(err)
				}
				o.clock.Store(noon.Add(61 * time.Minute).UnixMicro())
				if _, err := s.BatchExports.Work(context.Background()); err != nil {
					t.Fatal(err)
				}
				if !paused {
					t.Fatal("nothing was due")
				}
				o.capture(t, noon.Add(200*time.Minute), event("fourth", "u", noon, ""))
				o.clock.Store(noon.Add(5 * time.Hour).UnixMicro())
				o.work(t)
				got := map[string]int{}
				for _, list := range o.rows(t, "a") {
					for _, row := range list {
						got[row["event"].(string)]++
					}
				}
				differ(t, "events by how often they were exported", want, got)
				written := 0 // a run may have overwritten another one's file
				for _, run := range o.runs(t, export) {
					var begin, status string
					var n int
					if _, err := fmt.Sscan(run, &begin, &status, &n); err != nil {
						t.Fatal(err)
					}
					written += n
				}
				differ(t, "rows of all runs", len(want), written)
			})
		}
	}
}
