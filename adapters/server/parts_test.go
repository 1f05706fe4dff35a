package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/adapters/server"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// goroutines has the parts by names that occur in the stacks of their goroutines.
var goroutines = map[string]server.Parts{
	"capture.(*Recorder)": server.Capture,
	"reportMerges":        server.Capture,
	"(*parts).schedule":   server.Management,
	"(*parts).runExports": server.Exports,
	"(*parts).follow":     server.ErrorTracking,
}

func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}

// waitUntil waits for a condition.
func waitUntil(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s have passed without: %s\n%s", patience, condition, stacks())
		}
	}
}

// An omitted part has no routes and no goroutines; the other parts have both.
func TestServer_Without(t *testing.T) {
	key := "phx_demo"
	routes := []struct {
		part               server.Parts
		method, path, body string
	}{
		{server.Flags, "POST", "/flags?v=2", `{"api_key": "phc_demo", "distinct_id": "user-1"}`},
		{server.Capture, "POST", "/batch", `{"api_key": "phc_demo", "batch": [{"event": "e", "distinct_id": "d"}]}`},
		{server.Capture | server.Management, "GET", "/api/projects/1/events/", ""},
		{server.Management, "GET", "/api/users/@me/", ""},
		{server.Management | server.Exports, "GET", "/api/projects/1/batch_exports/", ""},
		{server.Management | server.ErrorTracking, "GET", "/api/projects/1/error_tracking/assignment_rules/", ""},
	}
	for name, without := range map[string]server.Parts{
		"nothing": 0, "exports": server.Exports, "error tracking": server.ErrorTracking, "capture": server.Capture, "management": server.Management,
		"flags alone": server.Capture | server.Management, "capture alone": server.Flags | server.Management,
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, server.Options{Data: t.TempDir(), Definitions: []string{demo}, Without: without})
			out := without
			if without&server.Management != 0 {
				out |= server.Exports | server.ErrorTracking
			}
			for _, r := range routes {
				status, body := ask(t, s, r.method, r.path, key, r.body)
				if excluded := r.part&out != 0; excluded != (status == http.StatusNotFound) || status >= 500 {
					t.Errorf("%s, left out %v: %d %s", r.path, excluded, status, body)
				}
			}
			for running, part := range goroutines {
				if out&part == 0 {
					waitUntil(t, running+" runs", func() bool { return strings.Contains(stacks(), running) })
				} else if strings.Contains(stacks(), running) {
					t.Errorf("%s runs", running)
				}
			}
			if (s.Intake() == nil) != (out&server.Capture != 0) || (s.Management() == nil) != (out&server.Management != 0) {
				t.Error("parts that are left out can be had, or others not")
			}
			if err := s.Reader("").For(t.Context(), &flags.Subject{DistinctID: "u"}).Track("x", nil); errors.Is(err, errors.ErrUnsupported) != (out&server.Capture != 0) {
				t.Error("tracked without capture, or not with it:", err)
			}
			if on := s.Reader("").Bool(t.Context(), "new-onboarding", &flags.Subject{DistinctID: "user-1"}, false); !on {
				t.Error("the process is not told of flags")
			}
			if status, _ := ask(t, s, "GET", "/metrics", "", ""); status != http.StatusOK {
				t.Error("metrics:", status)
			}
		})
	}
}

// Flags of files need no store: the start creates no file, one goroutine watches, and changes are
// applied.
func TestServer_FlagsOfFiles(t *testing.T) {
	before := runtime.NumGoroutine()
	path := filepath.Join(t.TempDir(), "flags.json")
	text := func(active string) string {
		return `{"projects": [{"id": 1, "api_key": "phc_p", "secret_api_keys": ["phs_p"], "flags": [{"id": 1, "key": "moved", "active": ` + active + `, "filters": {"groups": [{}]}}]}]}`
	}
	write(t, path, text("false"))
	s := open(t, server.Options{Definitions: []string{path}, Without: server.Capture | server.Management})
	// filesource and fsnotify have a goroutine each; others of the start end soon.
	waitUntil(t, "two goroutines run", func() bool { return runtime.NumGoroutine()-before <= 2 })
	if on := enabledFlags(t, s, "phc_p"); on["moved"] {
		t.Errorf("on: %v", on)
	}
	if status, body := ask(t, s, "GET", "/flags/definitions?token=phc_p", "phs_p", ""); status != http.StatusOK {
		t.Errorf("definitions: %d %s", status, body)
	}
	if status, _ := ask(t, s, "GET", "/flags/definitions?token=phc_p", "phs_q", ""); status != http.StatusUnauthorized {
		t.Errorf("another key: %d", status)
	}
	if status, body := ask(t, s, "GET", "/_readiness", "", ""); status != http.StatusOK {
		t.Errorf("readiness: %d %s", status, body)
	}
	write(t, path, text("true"))
	reader := s.Reader("phc_p")
	waitUntil(t, "the flag is on", func() bool { return reader.Bool(t.Context(), "moved", &flags.Subject{DistinctID: "u"}, false) })
}

// The error names a part that cannot be omitted, and an option that needs an omitted part.
func TestServer_WithoutFaults(t *testing.T) {
	signIn := func(*http.Request) (*management.Caller, error) { return nil, nil }
	for want, o := range map[string]server.Options{
		"which Management needs":                {Without: server.Flags},
		"nothing is left to serve":              {Without: server.Flags | server.Capture | server.Management},
		"set Options.Definitions":               {Without: server.Capture | server.Management},
		"Options.Stream.URL is for the part":    {Without: server.Capture, Stream: server.Stream{URL: "nats://127.0.0.1:1"}},
		"Options.RetainDays is for the part":    {Without: server.Capture, RetainDays: 1},
		"Options.SMTP.URL is for the part":      {Without: server.Management, SMTP: server.SMTP{URL: "smtp://127.0.0.1:1"}},
		"Options.Authenticate is for the part ": {Without: server.Management, Authenticate: signIn},
	} {
		s, err := server.Open(t.Context(), o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A program that embeds a server can accept events, read flags and manage them with its own
// sign-in; HTTP below a prefix has the same data.
func TestServer_Inside(t *testing.T) {
	s := open(t, server.Options{
		APIKey: "phc_ours",
		NewID:  func(r *http.Request) string { return "trace-" + r.Header.Get("Trace") },
		Authenticate: func(r *http.Request) (*management.Caller, error) {
			if r.Header.Get("Cookie") != "session=ana" {
				return nil, errors.New("secret-reason")
			}
			return &management.Caller{User: &management.User{Email: server.DefaultOwnerEmail}, Key: &management.KeyRecord{Scopes: []string{"feature_flag:write", "query:read"}}}, nil
		},
	})
	outer := chi.NewRouter()
	outer.Mount("/a", http.StripPrefix("/a", func() http.Handler {
		m := http.NewServeMux()
		m.Handle("/ph/", s.Handler())
		return m
	}()))
	get := func(method, path, body, cookie string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "/a/ph"+path, strings.NewReader(body))
		r.Header.Set("Cookie", cookie)
		r.Header.Set("Trace", "7")
		w := httptest.NewRecorder()
		outer.ServeHTTP(w, r)
		return w
	}
	const flag = `{"key": "new", "active": true, "filters": {"groups": [{"rollout_percentage": 100}]}}`
	if w := get("POST", "/api/projects/1/feature_flags/", flag, "session=bob"); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "secret") || w.Header().Get("X-Request-Id") != "trace-7" {
		t.Errorf("%d %s %v", w.Code, w.Body, w.Header())
	}
	if w := get("POST", "/api/projects/1/feature_flags/", flag, "session=ana"); w.Code != http.StatusCreated {
		t.Fatal(w.Code, w.Body)
	}
	if w := get("GET", "/api/users/@me/", "", "session=ana"); w.Code != http.StatusForbidden {
		t.Errorf("a scope that the service has not named: %d %s", w.Code, w.Body)
	}
	if !s.Reader("").Bool(t.Context(), "new", &flags.Subject{DistinctID: "ana"}, false) {
		t.Error("the flag is not read")
	}
	for range 2 {
		if err := s.Intake().Capture(t.Context(), "phc_ours", "ana", "ordered", map[string]any{"total": 49}); err != nil {
			t.Fatal(err)
		}
	}
	// A tracked event has the flags that were read (capture.md: $feature/<key>), and the subject's
	// groups and device.
	flagID := s.Reader("").For(t.Context(), &flags.Subject{DistinctID: "ana", Groups: map[string]string{"company": "acme"}, DeviceID: "d"})
	flagID.Bool("new", false)
	if err := flagID.Track("paid", map[string]any{"total": 50, "$device_id": "mine"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Reader("").For(t.Context(), &flags.Subject{}).Track("paid", nil); !errors.Is(err, flags.ErrNoDistinctID) {
		t.Error(err)
	}
	w := get("GET", "/api/projects/1/events/?event=paid", "", "session=ana")
	for _, want := range []string{`"$feature/new":true`, `"$active_feature_flags":["new"]`, `"total":50`, `"$device_id":"mine"`, `"$groups":{"company":"acme"}`, `"distinct_id":"ana"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
	if w := get("GET", "/api/projects/1/events/?event=ordered&limit=1", "", "session=ana"); !strings.Contains(w.Body.String(), `"total":49`) || !strings.Contains(w.Body.String(), `"next":"http://example.com/a/ph/api/projects/1/events/?`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if s.Management().FeatureFlags == nil {
		t.Error("no room of flags")
	}
}

// With several projects Reader needs an API key.
func TestServer_ReaderOfSeveral(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flags.json")
	write(t, path, `{"projects": [{"id": 1, "api_key": "phc_p", "flags": []}, {"id": 2, "api_key": "phc_q", "flags": []}]}`)
	s := open(t, server.Options{Definitions: []string{path}, Without: server.Capture | server.Management})
	_, d := s.Reader("").BoolDetail(t.Context(), "x", &flags.Subject{DistinctID: "ana"}, false)
	if !errors.Is(d.Err, flags.ErrUnknownKey) || !strings.Contains(d.Err.Error(), "2 projects") {
		t.Error(d.Err)
	}
	if _, d := s.Reader("phc_q").BoolDetail(t.Context(), "x", &flags.Subject{DistinctID: "ana"}, false); !errors.Is(d.Err, flags.ErrUnknownFlag) {
		t.Error(d.Err)
	}
}

// Close returns when its context ends, and still stops everything.
func TestServer_CloseInTime(t *testing.T) {
	s := open(t, server.Options{})
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ended); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	closeServer(t, s)
	if _, err := s.Projects(t.Context()); err == nil {
		t.Error("the store is open")
	}
}

// Measures a start with all parts and with fewer.
func BenchmarkOpen(b *testing.B) {
	for name, o := range map[string]server.Options{
		"all": {Definitions: []string{demo}}, "flags of files": {Definitions: []string{demo}, Without: server.Capture | server.Management},
		"without management": {Definitions: []string{demo}, Without: server.Management},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := server.Open(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A query that needs more memory than it may have is 400 with what helps (spec/insights.md §5.4), such as a larger
// --memory of the server. With more memory, the same query returns its result.
func TestServer_MemoryOfQueries(t *testing.T) {
	const query = `{"query": {"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "e", "math": "dau"}], "dateRange": {"date_from": "-1d"}}}`
	o := server.Options{Data: filepath.Join(t.TempDir(), "data"), APIKey: "phc_demo", Queries: queries.Limits{Memory: 4 << 10}}
	var key string
	o.OwnerKey = func() (server.OwnerKey, error) {
		return server.OwnerKey{Show: func(text string) error { key = text; return nil }}, nil
	}
	s, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var batch []string
	for i := range 200 {
		batch = append(batch, fmt.Sprintf(`{"event": "e", "distinct_id": "id %d"}`, i))
	}
	if status, body := ask(t, s, "POST", "/batch", "", `{"api_key": "phc_demo", "batch": [`+strings.Join(batch, ",")+`]}`); status != http.StatusOK {
		t.Fatal(status, body)
	}
	status, body := ask(t, s, "POST", "/api/projects/1/query/", key, query)
	if status != http.StatusBadRequest || !strings.Contains(body, `"query_too_large"`) || !strings.Contains(body, "choose a shorter period") || !strings.Contains(body, "--memory") {
		t.Errorf("with 4 KiB: %d %s", status, body)
	}
	closeServer(t, s)
	o.Queries, o.Memory = queries.Limits{}, 257<<20
	status, body = ask(t, open(t, o), "POST", "/api/projects/1/query/", key, query)
	var result struct {
		Results []struct{ Data []float64 }
	}
	if err := json.Unmarshal([]byte(body), &result); err != nil || status != http.StatusOK || len(result.Results) != 1 || slices.Max(result.Results[0].Data) != 200 {
		t.Errorf("with 257 MiB: %d %s", status, body)
	}
}
