//go:build sdk

package browser_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

const ofrepDefinitions = `{"flags": [
	{"id": 1, "key": "for-all", "active": true, "filters": {"groups": [{"properties": []}]}},
	{"id": 2, "key": "for-pro", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}]}]}},
	{"id": 3, "key": "layout", "active": true, "filters": {"groups": [{"properties": [{"key": "plan", "type": "person", "operator": "exact", "value": ["pro"]}], "variant": "two"}],
		"multivariate": {"variants": [{"key": "one", "rollout_percentage": 100}, {"key": "two", "rollout_percentage": 0}]}}},
	{"id": 4, "key": "limits", "active": true, "is_remote_configuration": true, "filters": {"groups": [{}], "payloads": {"true": "{\"max\": 5}"}}},
	{"id": 5, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 99}]}]}},
	{"id": 6, "key": "on-servers", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{}]}}
]}`

// detail is the SDK's result for one flag; browserReport is a report of ofrep.html.
type (
	detail struct {
		Value     any    `json:"value"`
		Variant   string `json:"variant"`
		Reason    string `json:"reason"`
		ErrorCode string `json:"errorCode"`
	}
	browserReport struct {
		Step    string            `json:"step"`
		Events  []string          `json:"events"`
		Details map[string]detail `json:"details"`
	}
)

// The steps of the page. A flag that is off and has no value yields the default without an error
// (ADR 6).
func ofrepWant() []browserReport {
	first := map[string]detail{
		"for-all":    {Value: true, Reason: "STATIC"},
		"for-pro":    {Value: false, Reason: "DEFAULT"},
		"layout":     {Value: "none", Reason: "DEFAULT"},
		"limits":     {Value: map[string]any{"max": 5.0}, Reason: "STATIC"},
		"broken":     {Value: true, Reason: "ERROR", ErrorCode: "PARSE_ERROR"},
		"on-servers": {Value: true, Reason: "ERROR", ErrorCode: "FLAG_NOT_FOUND"},
		"nowhere":    {Value: true, Reason: "ERROR", ErrorCode: "FLAG_NOT_FOUND"},
		"mistaken":   {Value: "none", Reason: "ERROR", ErrorCode: "TYPE_MISMATCH"},
	}
	with := func(details map[string]detail, changes map[string]detail) map[string]detail {
		out := map[string]detail{}
		for _, m := range []map[string]detail{details, changes} {
			for key, d := range m {
				out[key] = d
			}
		}
		return out
	}
	second := with(first, map[string]detail{
		"for-pro": {Value: true, Reason: "TARGETING_MATCH"}, "layout": {Value: "two", Variant: "two", Reason: "TARGETING_MATCH"},
	})
	return []browserReport{
		{Step: "first", Events: []string{}, Details: first},
		{Step: "another context", Events: []string{}, Details: second},
		{Step: "bad key", Events: []string{"PROVIDER_FATAL", "FATAL"}, Details: map[string]detail{}},
		{Step: "changed", Events: []string{"for-all"}, Details: with(second, map[string]detail{"for-all": {Value: false, Reason: "SPLIT"}})},
	}
}

// changingSource is a Source whose definitions can be replaced.
type changingSource struct {
	mu       sync.Mutex
	revision int64
	defs     flags.Definitions
}

func (c *changingSource) set(t *testing.T, text string) {
	d, err := flags.ParseDefinitions([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revision++
	c.defs = d
}

func (c *changingSource) ProjectByKey(_ context.Context, key string) (flags.Project, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key != projectKey {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return flags.Project{ID: 1, APIKey: key, Revision: c.revision}, nil
}

func (c *changingSource) Definitions(context.Context, flags.Project) (flags.Definitions, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.defs, nil
}

// The web SDK with its OFREP provider, on a page with another origin, by polling: flags, another
// context, an unknown key, responses with status 304, and a change.
func TestOFREP_Browser(t *testing.T) {
	source := &changingSource{}
	source.set(t, ofrepDefinitions)
	decider, err := serving.NewDecider(serving.Config{Source: source})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := httpapi.New(httpapi.Config{Decider: decider})
	if err != nil {
		t.Fatal(err)
	}
	unchanged := make(chan struct{}, 1)
	bunting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		writer := &statusWriter{ResponseWriter: w}
		handler.ServeHTTP(writer, r)
		if writer.status == http.StatusNotModified {
			select {
			case unchanged <- struct{}{}:
			default:
			}
		}
	}))
	defer bunting.Close()
	reports := make(chan browserReport, 16)
	page := httptest.NewServer(ofrepPage(t, reports))
	defer page.Close()
	stop := browse(t, page.URL+"/?"+url.Values{"host": {bunting.URL}, "key": {projectKey}, "detection": {"polling"}}.Encode())
	defer stop()
	for _, want := range ofrepWant() {
		if want.Step == "changed" {
			select {
			case <-unchanged:
			case <-time.After(served.WaitTimeout):
				t.Fatal("no answer was 304")
			}
			source.set(t, strings.Replace(ofrepDefinitions, `{"groups": [{"properties": []}]}`, `{"groups": [{"rollout_percentage": 0}]}`, 1))
		}
		select {
		case got := <-reports:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", want.Step, diff)
			}
		case <-time.After(served.WaitTimeout):
			t.Fatalf("the page did not come to %q", want.Step)
		}
	}
}

// The same without polling: the browser's own EventSource receives a change, and after a restart of
// the server a change from the meantime.
func TestOFREP_BrowserStream(t *testing.T) {
	source := &changingSource{}
	source.set(t, ofrepDefinitions)
	serve := func() *httpapi.Handler {
		decider, err := serving.NewDecider(serving.Config{Source: source})
		if err != nil {
			t.Fatal(err)
		}
		h, err := httpapi.New(httpapi.Config{Decider: decider})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(h.CloseStreams)
		return h
	}
	first, second := serve(), serve()
	var front atomic.Pointer[httpapi.Handler]
	front.Store(first)
	var requests, heard atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/below/ofrep/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			requests.Add(1)
			if r.URL.Query().Get("flagConfigEtag") != "" {
				heard.Add(1)
			}
		}
		http.StripPrefix("/below", front.Load()).ServeHTTP(w, r)
	})
	bunting := httptest.NewServer(mux)
	defer bunting.Close()
	reports := make(chan browserReport, 16)
	page := httptest.NewServer(ofrepPage(t, reports))
	defer page.Close()
	stop := browse(t, page.URL+"/?"+url.Values{"host": {bunting.URL + "/below"}, "key": {projectKey}, "detection": {"sse"}}.Encode())
	defer stop()
	steps := ofrepWant()
	back := browserReport{Step: "changed", Events: []string{"for-all"}, Details: steps[1].Details}
	for i, want := range append(steps, back) {
		switch i {
		case 3: // while a stream is open
			for deadline := time.Now().Add(served.WaitTimeout); first.Stats().PublicStreams != 1; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the page opens no stream")
				}
			}
			source.set(t, strings.Replace(ofrepDefinitions, `{"groups": [{"properties": []}]}`, `{"groups": [{"rollout_percentage": 0}]}`, 1))
		case 4: // while it has no server
			front.Store(second)
			first.CloseStreams()
			source.set(t, ofrepDefinitions)
		}
		select {
		case got := <-reports:
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", want.Step, diff)
			}
		case <-time.After(served.WaitTimeout):
			t.Fatalf("the page did not come to %q", want.Step)
		}
	}
	// Two contexts, an unknown key, and the two changes.
	if requests.Load() != 5 || heard.Load() != 2 {
		t.Errorf("%d requests, %d of them after an event; want 5 and 2", requests.Load(), heard.Load())
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// ofrepPage serves the page and the modules of the client, in the versions of package-lock.json,
// and forwards reports.
func ofrepPage(t *testing.T, reports chan<- browserReport) http.Handler {
	text, err := os.ReadFile("../package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for folder, file := range map[string]string{
		"node_modules/@openfeature/web-sdk":                                                 "dist/esm/index.js",
		"node_modules/@openfeature/core":                                                    "dist/esm/index.js",
		"node_modules/@openfeature/ofrep-web-provider":                                      "index.esm.js",
		"node_modules/@openfeature/ofrep-web-provider/node_modules/@openfeature/ofrep-core": "index.esm.js",
	} {
		locked, name := lock.Packages[folder], path.Base(folder)
		module := fetchFile(t, "@openfeature/"+name+"@"+locked.Version, locked.Integrity, file)
		mux.HandleFunc("GET /"+name+".js", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/javascript")
			_, _ = w.Write(module)
		})
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "ofrep.html") })
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		var l browserReport
		if err := json.NewDecoder(r.Body).Decode(&l); err != nil {
			t.Errorf("report: %v", err)
		}
		select {
		case reports <- l:
		default: // too late for the test
		}
	})
	return mux
}
