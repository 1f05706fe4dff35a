// Package remotetest runs the client for Go services, adapters/remote, against the server. It has
// only tests: the client's module must not depend on the server.
package remotetest

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/adapters/remote"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// serverFlags are the flags of the server in the tests of a Client.
const serverFlags = `
	{"id": 1, "key": "on", "active": true, "version": 3, "has_experiment": false, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "{\"limit\": 10}"}}},
	{"id": 2, "key": "off", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 0}]}},
	{"id": 3, "key": "color", "active": true, "version": 7, "has_experiment": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 100, "variant": "blue"}],
		"multivariate": {"variants": [{"key": "red", "rollout_percentage": 50}, {"key": "blue", "rollout_percentage": 50}]}, "payloads": {"blue": "hello"}}},
	{"id": 4, "key": "for-pro", "active": true, "version": 1, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro"}], "rollout_percentage": 100}]}},
	{"id": 5, "key": "inactive", "active": false, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]}},
	{"id": 6, "key": "size", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100, "variant": "12.5"}],
		"multivariate": {"variants": [{"key": "12.5", "rollout_percentage": 100}]}}},
	{"id": 7, "key": "limit", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "42"}}},
	{"id": 8, "key": "same", "active": true, "version": 1, "ensure_experience_continuity": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 50}]}},
	{"id": 9, "key": "for-gold", "active": true, "version": 1, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 13}], "rollout_percentage": 100}]}},
	{"id": 10, "key": "broken", "active": true, "version": 1, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 99}], "rollout_percentage": 100}]}}`

const serverFile = `{
	"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "house"},
	"projects": [
		{"id": 1, "api_key": "phc_x", "secret_api_keys": ["phs_x"], "cohorts": {"13": {"is_static": true, "members": ["user_1"]}}, "flags": [` + serverFlags + `,
			{"id": 11, "key": "withheld", "active": true, "version": 1, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}]}}]},
		{"id": 2, "api_key": "phc_paused", "quota_limited": ["feature_flags"], "flags": [` + serverFlags + `]}
	]}`

// localFlags are the definitions that a Client gets: one flag is withheld, and the members of the
// static cohort are unknown.
func localFlags(more string) string { return `{"flags": [` + serverFlags + `]` + more + `}` }

var ctx = context.Background()

const unknownMembers = `, "static_cohorts": [13]`

// testServer is a server with the setup of cmd/bunting and a store in memory. If proxy is set, it
// handles requests first. received are the requests so far.
type testServer struct {
	*httptest.Server
	handler *httpapi.Handler
	store   *sqlstore.Store
	proxy   func(w http.ResponseWriter, r *http.Request, next http.Handler)
	// local, if set, are the definitions that clients get instead of the server's.
	local string

	mu       sync.Mutex
	received []receivedRequest
}

type receivedRequest struct {
	path, query, agent string
	body               map[string]any
}

func newTestServer(t testing.TB) *testServer {
	t.Helper()
	h, stop, err := startTestServer(serverFile, func(err error) { t.Error("a commit failed:", err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// startTestServer serves the projects of a definitions file, with the keys of testServerKeys.
func startTestServer(projects string, onFailure func(error)) (h *testServer, stop func() error, err error) {
	h = &testServer{}
	if h.store, err = sqlstore.Open(ctx, "sqlite::memory:", sqlstore.Config{}); err != nil {
		return nil, nil, err
	}
	file, err := flags.ParseFile([]byte(projects))
	if err != nil {
		return nil, nil, err
	}
	if err := h.store.ApplyFile(ctx, "house.json", file, []byte(projects)); err != nil {
		return nil, nil, err
	}
	recorder := capture.NewRecorder(capture.RecorderConfig{Ledger: h.store, OnFailure: onFailure})
	intake, err := capture.NewIntake(capture.IntakeConfig{Keys: h.store.CaptureKeys(), Appender: recorder, Usage: h.store})
	if err != nil {
		return nil, nil, err
	}
	decider, err := serving.NewDecider(serving.Config{Source: h.store, People: h.store, Continuity: h.store, Usage: h.store, Members: h.store})
	if err != nil {
		return nil, nil, err
	}
	if h.handler, err = httpapi.New(httpapi.Config{Decider: decider, Intake: intake, History: h.store, Keys: testServerKeys{}}); err != nil {
		return nil, nil, err
	}
	h.Server = httptest.NewServer(h)
	return h, func() error {
		h.handler.CloseStreams()
		h.Close()
		recorder.Close()
		return h.store.Close()
	}, nil
}

// testServerKeys: the secret key phs_… has access to the project phc_….
type testServerKeys struct{}

func (testServerKeys) Key(_ context.Context, key string) (httpapi.Key, error) {
	name, ok := strings.CutPrefix(key, "phs_")
	if !ok {
		return httpapi.Key{}, flags.ErrUnknownKey
	}
	return httpapi.Key{Secret: true, Projects: []string{"phc_" + name}}, nil
}

func (h *testServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	local := h.local
	h.mu.Unlock()
	if local != "" && r.URL.Path == "/flags/definitions" {
		_, _ = io.WriteString(w, local)
		return
	}
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	plain := raw
	if r.Header.Get("Content-Encoding") == "gzip" {
		if unzip, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			plain, _ = io.ReadAll(unzip)
		}
	}
	s := receivedRequest{path: r.URL.Path, query: r.URL.RawQuery, agent: r.UserAgent()}
	_ = json.Unmarshal(plain, &s.body)
	h.mu.Lock()
	h.received = append(h.received, s)
	h.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(raw))
	if h.proxy != nil {
		h.proxy(w, r, h.handler)
		return
	}
	h.handler.ServeHTTP(w, r)
}

// requests returns the requests to a path and removes all recorded requests.
func (h *testServer) requests(path string) (out []receivedRequest) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.received {
		if s.path == path {
			out = append(out, s)
		}
	}
	h.received = nil
	return out
}

// stored returns all events of project 1, with their properties.
func (h *testServer) stored(t testing.TB) (out []storedEvent) {
	t.Helper()
	var after *capture.EventCursor
	for {
		page, err := h.store.Events(context.Background(), 1, capture.EventQuery{Limit: 100, After: after})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			e := storedEvent{Record: r}
			if err := json.Unmarshal([]byte(r.Properties), &e.properties); err != nil {
				t.Fatal(err)
			}
			out = append(out, e)
			after = &capture.EventCursor{Timestamp: r.Timestamp, ID: r.ID}
		}
		if len(page) < 100 {
			return out
		}
	}
}

type storedEvent struct {
	capture.Record
	properties map[string]any
}

// client returns a Client of the server with localFlags.
func (h *testServer) client(t testing.TB, change func(*remote.Config)) *remote.Client {
	t.Helper()
	c := remote.Config{URL: h.URL, ProjectKey: "phc_x", Key: "phs_x"}
	if change != nil {
		change(&c)
	}
	return h.clientOn(t, c, localFlags(unknownMembers))
}

// clientOn returns a Client with the given definitions, which do not change.
func (h *testServer) clientOn(t testing.TB, c remote.Config, definitions string) *remote.Client {
	t.Helper()
	h.mu.Lock()
	h.local = definitions
	h.mu.Unlock()
	c.NoCopy, c.NoStream, c.Poll = true, true, time.Hour
	client := started(t, c)
	waiting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := client.WaitForReady(waiting); err != nil {
		t.Fatal(err)
	}
	return client
}

func started(t testing.TB, c remote.Config) *remote.Client {
	t.Helper()
	client, err := remote.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(t.Context()) }) // the context is already cancelled: unsent events are dropped
	return client
}

func flush(t testing.TB, c *remote.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Flush(ctx); err != nil {
		t.Fatal(err)
	}
}

// show returns a result in one word.
func show(d flags.Decision, found bool, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case !found:
		return "no such flag"
	case d.Undecided != nil:
		return d.Undecided.Error()
	case d.Failed():
		return "failed: " + d.Reason.Code.String()
	}
	return fmt.Sprint(d.Value())
}

func track(t *testing.T, c *remote.Client, from, n int) {
	t.Helper()
	for i := range n {
		if err := c.Track(ctx, "u", fmt.Sprint("e", from+i), map[string]any{"n": from + i}, nil); err != nil {
			t.Fatal(err)
		}
	}
}
