package provider

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/open-feature/go-sdk/openfeature"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/ofprovider"
	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// testServer is a server with the setup of cmd/bunting and a store in memory. Its project has flags
// that require requests to the server: a variant flag that depends on a stored identifier, and one
// for which only the reason depends on the plan. While isDown is set it responds with 503.
type testServer struct {
	*httptest.Server
	store  *sqlstore.Store
	isDown atomic.Bool
}

const serverFile = `{
	"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "house"},
	"projects": [{"id": 1, "api_key": "phc_test", "secret_api_keys": ["phs_test"], "flags": [
		{"id": 1, "key": "color", "version": 3, "active": true, "filters": {"groups": [{}], "multivariate": {"variants": [{"key": "blue", "rollout_percentage": 100}]}}},
		{"id": 2, "key": "same", "active": true, "ensure_experience_continuity": true, "filters": {"groups": [{"rollout_percentage": 99.9999}], "multivariate": {"variants": [{"key": "red", "rollout_percentage": 100}]}}},
		{"id": 3, "key": "open", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}]}, {}]}}
	]}]}`

func newTestServer(t *testing.T) *testServer {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	h := &testServer{}
	var err error
	h.store, err = sqlstore.Open(ctx, "sqlite::memory:", sqlstore.Config{})
	must(err)
	file, err := flags.ParseFile([]byte(serverFile))
	must(err)
	must(h.store.ApplyFile(ctx, "house.json", file, []byte(serverFile)))
	recorder := capture.NewRecorder(capture.RecorderConfig{Ledger: h.store, OnFailure: func(err error) { t.Error(err) }})
	intake, err := capture.NewIntake(capture.IntakeConfig{Keys: h.store.CaptureKeys(), Appender: recorder, Usage: h.store})
	must(err)
	decider, err := serving.NewDecider(serving.Config{Source: h.store, People: h.store, Continuity: h.store, Usage: h.store})
	must(err)
	handler, err := httpapi.New(httpapi.Config{Decider: decider, Intake: intake, Keys: keys{}})
	must(err)
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.isDown.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		handler.CloseStreams()
		h.Close()
		recorder.Close()
		must(h.store.Close())
	})
	return h
}

// client returns a remote client of the server, which is closed before the server.
func (h *testServer) client(t *testing.T, ask bool) *remote.Client {
	t.Helper()
	c, err := remote.New(remote.Config{URL: h.URL, ProjectKey: apiKey, Key: "phs_test", NoCopy: true, NoStream: true, Poll: 20 * time.Millisecond,
		AskServer: ask})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return c
}

// stored returns the properties of the events of the server's project.
func (h *testServer) stored(t *testing.T) (out []map[string]any) {
	t.Helper()
	page, err := h.store.Events(context.Background(), 1, capture.EventQuery{Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range page {
		p := map[string]any{"event": r.Name, "distinct_id": r.DistinctID}
		if err := json.Unmarshal([]byte(r.Properties), &p); err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

// Evaluations with OpenFeature's SDK arrive at the server as one exposure (§10.3) for each value;
// with NoExposures none arrive.
func TestProvider_10_3_Exposures(t *testing.T) {
	for _, off := range []bool{false, true} {
		h := newTestServer(t)
		c := h.client(t, false)
		client := client(t, ofprovider.NewRemote(ofprovider.Config{Client: c, NoExposures: off}))
		ec := openfeature.NewEvaluationContext("ana", members{"groups": members{"company": "acme"}})
		for range 3 {
			if got, _ := evaluate(client, "color", "none", ec); got.Value != "blue" {
				t.Fatalf("%+v", got)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err := c.Flush(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		got := h.stored(t)
		for _, p := range got {
			for _, name := range []string{"$lib", "$lib_version", "$sent_at", "$ip", "$group_0"} {
				delete(p, name)
			}
		}
		var want []map[string]any
		if !off {
			want = []map[string]any{{
				"event": "$feature_flag_called", "distinct_id": "ana", "$groups": map[string]any{"company": "acme"}, "$is_server": true, "$geoip_disable": true,
				"$feature_flag": "color", "$feature_flag_response": "blue", "$feature/color": "blue", "$feature_flag_id": 1.0, "$feature_flag_version": 3.0,
				"$feature_flag_reason": "Matched condition set 1", "$feature_flag_has_experiment": false, "locally_evaluated": true,
			}}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("without exposures %v (-want +got)\n%s", off, diff)
		}
	}
}

// A variant that was requested from the server is a string, like one that is decided locally.
func TestProvider_2_2_RequestedVariant(t *testing.T) {
	h := newTestServer(t)
	client := client(t, ofprovider.NewRemote(ofprovider.Config{Client: h.client(t, true)}))
	if got, d := evaluate(client, "same", "none", anySubject); got.Value != "red" || got.Code != "" {
		t.Errorf("%+v %s", got, d.ErrorMessage)
	}
}

// Requirement 2.2.5: if only the reason is open it is UNKNOWN, and the value is returned.
func TestProvider_2_2_5_OpenReason(t *testing.T) {
	h := newTestServer(t)
	client := client(t, ofprovider.NewRemote(ofprovider.Config{Client: h.client(t, false)}))
	got, d := evaluate(client, "open", false, anySubject)
	if got != (outcome{true, "", "UNKNOWN", ""}) {
		t.Errorf("%+v %s", got, d.ErrorMessage)
	}
	if _, there := d.FlagMetadata["reason_code"]; there {
		t.Errorf("%+v", d.FlagMetadata)
	}
}

// Requirements 5.1.1, 5.3.5: STALE if a remote client's definitions cannot be refreshed; READY when
// they can be refreshed.
func TestProvider_5_1_1_RemoteStale(t *testing.T) {
	h := newTestServer(t)
	l := listen(t)
	if err := l.api.SetProviderAndWait(t.Context(), ofprovider.NewRemote(ofprovider.Config{Client: h.client(t, false)})); err != nil {
		t.Fatal(err)
	}
	c := l.api.NewClient()
	l.until(t, openfeature.ProviderReady)
	h.isDown.Store(true)
	l.until(t, openfeature.ProviderStale)
	for range 10 {
		if got, _ := evaluate(c, "color", "none", anySubject); got.Value != "blue" {
			t.Errorf("%+v", got)
		}
	}
	h.isDown.Store(false)
	l.until(t, openfeature.ProviderReady)
	eventually(t, func() bool { return c.State() == openfeature.ReadyState })
}

// until waits for an event, ignoring other events.
func (l *listener) until(t *testing.T, kind openfeature.EventType) {
	t.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case got := <-l.events:
			if got == kind {
				return
			}
		case <-end:
			t.Fatalf("waited in vain for %s", kind)
		}
	}
}
