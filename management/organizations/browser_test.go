package organizations_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Projects without browser settings get them at the next start of the server, and only then
// (spec/capture.md §16.1).
func TestRefreshBrowserSettings(t *testing.T) {
	store := memstore.New(memstore.ExternalData{})
	d, err := rooms.Open(rooms.Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id int64, meta string, browserSettings string) {
		t.Helper()
		err := store.Write(t.Context(), func(tx rooms.Tx) error {
			return tx.PutProject(&management.ProjectRecord{
				ID: id, Organization: "0191f0a2-5b1c-7d3e-8f40-00000000000a", APIKey: fmt.Sprint("phc_", id), CreatedAt: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Meta: json.RawMessage(meta), Browser: json.RawMessage(browserSettings),
			})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put(1, `{}`, "")
	put(2, `{"settings":{"autocapture_opt_out":true}}`, "")
	put(3, `{"default_access":"none"}`, "")
	err = store.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.Put(&management.Record{Kind: "survey", Parent: management.ProjectParent(3), ID: "s", Data: []byte(`{"id":"s","start_date":"2026-01-01T12:00:00Z"}`)})
	})
	if err != nil {
		t.Fatal(err)
	}
	browserSettings := func(id int64) string {
		t.Helper()
		var out string
		err := store.Read(t.Context(), func(tx rooms.Tx) error {
			p, err := tx.Project(id)
			if err == nil && p == nil {
				err = errors.New("no project")
			}
			if err == nil {
				out = string(p.Browser)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	const rest = `"autocaptureExceptions":false,"errorTracking":{"autocaptureExceptions":false,"suppressionRules":[]},"captureDeadClicks":false,"capturePerformance":false,"heatmaps":false,"sessionRecording":false,`
	if err := d.Organizations.RefreshBrowserSettings(t.Context()); err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]string{
		1: "",
		2: `{"autocapture_opt_out":true,` + rest + `"surveys":false}`,
		3: `{"autocapture_opt_out":false,` + rest + `"surveys":true}`,
	} {
		if got := browserSettings(id); got != want {
			t.Errorf("project %d tells %s\nwant %s", id, got, want)
		}
	}
	put(4, `{"settings":{"autocapture_opt_out":true}}`, `{"kept":true}`)
	if err := d.Organizations.RefreshBrowserSettings(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := browserSettings(4); got != `{"kept":true}` {
		t.Errorf("made again at the second start: %s", got)
	}
}
