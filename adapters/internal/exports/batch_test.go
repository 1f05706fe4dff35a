package exports_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// newBunting starts a Bunting server with an empty project 1 whose key is phc_s3cret.
func newBunting(t *testing.T) (url string, store *sqlstore.Store) {
	t.Helper()
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, pgtest.SQLiteMigrated(t, "sqlite::memory:", sqlstore.Open), sqlstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	raw := []byte(`{"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "o"}, "projects": [{"id": 1, "api_key": "phc_s3cret", "flags": []}]}`)
	file, err := flags.ParseFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.ApplyFile(ctx, "file.json", file, raw); err != nil {
		t.Fatal(err)
	}
	recorder := capture.NewRecorder(capture.RecorderConfig{Ledger: store, OnFailure: func(err error) { t.Error(err) }})
	intake, err := capture.NewIntake(capture.IntakeConfig{Keys: store.CaptureKeys(), Appender: recorder, Usage: store})
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: store, People: store, Continuity: store, Usage: store})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider, Intake: intake, History: store})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.Close()
		recorder.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL, store
}

// A Bunting server accepts the exported events, and stores each once however often it is sent.
func TestHTTP_Bunting(t *testing.T) {
	url, store := newBunting(t)
	config := httpConfig(url + "/batch/")
	j := job("HTTP", config, 2000)
	all := j.Rows
	lost := errors.New("the store is gone")
	j.Rows = func(ctx context.Context, yield func([]any) error) error {
		n := 0
		return all(ctx, func(row []any) error {
			if n++; n > 1500 {
				return lost
			}
			return yield(row)
		})
	}
	if _, err := newRunner().Run(t.Context(), j); !errors.Is(err, lost) {
		t.Fatalf("error %v, want that of the rows", err)
	}
	j.Rows = all
	if done := run(t, newRunner(), j); done.Rows != 2000 {
		t.Errorf("done %+v", done)
	}
	stored, err := store.Events(t.Context(), 1, capture.EventQuery{Limit: 5000})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]capture.Record{}
	for _, e := range stored {
		seen[e.UUID.String()] = e
	}
	if len(stored) != 2000 || len(seen) != 2000 {
		t.Fatalf("%d events, %d different ones, want 2000", len(stored), len(seen))
	}
	e := seen[uuid(1999)]
	if e.Name != "page viewed" || e.DistinctID != "user-9" || !e.Timestamp.Equal(from.Add(1999*time.Microsecond)) {
		t.Errorf("the last event is %+v", e)
	}
	var properties map[string]any
	if err := json.Unmarshal([]byte(e.Properties), &properties); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"n": 1999., "$geoip_disable": true, "$ip": nil}, properties); diff != "" {
		t.Error(diff)
	}

	allSteps(t, newRunner(), destination("HTTP", config), nil)
	config["token"] = "phc_wrong_one"
	_, err = newRunner().Run(t.Context(), job("HTTP", config, 1))
	wantError(t, err, "does not take the token", true)
	wantNoSecret(t, err, "phc_wrong_one")
}
