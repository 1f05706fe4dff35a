package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// world is the backend of a handler under test: projects and keys in memory, and a clock that only
// advance changes.
type world struct {
	mu       sync.Mutex
	now      time.Time
	projects map[string]flags.FileProject // by API key
	failure  error                        // returned by every call of the source
	panicked any                          // if not nil, the source panics with it
}

func newWorld(t testing.TB, file []byte) *world {
	t.Helper()
	f, err := flags.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{now: time.Date(2026, 7, 15, 12, 0, 0, 0, time.UTC), projects: map[string]flags.FileProject{}}
	for _, p := range f.Projects {
		w.projects[p.APIKey] = p
	}
	return w
}

// sharedWorld returns a world with the projects of testdata/http/project.json.
func sharedWorld(t testing.TB) *world { return newWorld(t, read(t, "project.json")) }

var (
	_ serving.Source = (*world)(nil)
	_ httpapi.Keys   = (*world)(nil)
)

// change edits a project, increments its revision and advances the clock by the second after which
// revisions are checked.
func (w *world) change(apiKey string, edit func(*flags.FileProject)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.projects[apiKey]
	edit(&p)
	p.Revision++
	w.projects[apiKey] = p
	w.now = w.now.Add(time.Second)
}

func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func (w *world) Now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) ProjectByKey(_ context.Context, apiKey string) (flags.Project, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.panicked != nil {
		panic(w.panicked)
	}
	if w.failure != nil {
		return flags.Project{}, w.failure
	}
	p, ok := w.projects[apiKey]
	if !ok {
		return flags.Project{}, flags.ErrUnknownKey
	}
	return p.Project, nil
}

func (w *world) Definitions(_ context.Context, p flags.Project) (flags.Definitions, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.projects[p.APIKey].Definitions, w.failure
}

// brokenKey is a key for which the store of keys returns an error.
const brokenKey = "phx_unreadable"

// Key implements httpapi.Keys.
func (w *world) Key(_ context.Context, key string) (httpapi.Key, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key == brokenKey {
		return httpapi.Key{}, errors.New("store of keys is down")
	}
	for apiKey, p := range w.projects {
		for _, personal := range p.PersonalKeys {
			if personal.Key == key {
				return httpapi.Key{Scopes: personal.Scopes, Projects: []string{apiKey}}, nil
			}
		}
		for _, secret := range p.SecretKeys {
			if secret == key {
				return httpapi.Key{Secret: true, Projects: []string{apiKey}}, nil
			}
		}
	}
	return httpapi.Key{}, flags.ErrUnknownKey
}

const fixedID = "00000000-0000-4000-8000-000000000001"

// handler returns a handler for the world. The functions change the configuration; they may be nil.
func (w *world) handler(t testing.TB, decider func(*serving.Config), config func(*httpapi.Config)) http.Handler {
	t.Helper()
	dc := serving.Config{Source: w, Now: w.Now}
	if decider != nil {
		decider(&dc)
	}
	d, err := serving.NewDecider(dc)
	if err != nil {
		t.Fatal(err)
	}
	c := httpapi.Config{Decider: d, Keys: w, NewID: func(*http.Request) string { return fixedID }}
	if config != nil {
		config(&c)
	}
	h, err := httpapi.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// read reads a file of testdata/http.
func read(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("../../testdata/http/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// body returns text as a request body, nil if it is empty.
func body(text string) io.Reader {
	if text == "" {
		return nil
	}
	return strings.NewReader(text)
}

// ask sends one request directly to a handler. headers are alternating names and values.
func ask(h http.Handler, method, target, text string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, body(text))
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// flagsAnswer is a response of POST /flags, or an error response.
type flagsAnswer struct {
	Status int
	Errors bool `json:"errorsWhileComputingFlags"`
	Flags  map[string]struct {
		Enabled bool    `json:"enabled"`
		Failed  bool    `json:"failed"`
		Variant *string `json:"variant"`
		Reason  struct {
			Code string `json:"code"`
		} `json:"reason"`
	} `json:"flags"`
	QuotaLimited []string `json:"quotaLimited"`
	Twin         []string `json:"quota_limited"`
	RequestID    string   `json:"requestId"`
	Code         string   `json:"code"`
	Detail       string   `json:"detail"`
	Attr         *string  `json:"attr"`
}

// decideFlags posts a body to /flags?v=2 and decodes the response.
func decideFlags(t testing.TB, h http.Handler, text string, headers ...string) flagsAnswer {
	t.Helper()
	return decoded(t, ask(h, "POST", "/flags?v=2", text, headers...))
}

func decoded(t testing.TB, w *httptest.ResponseRecorder) flagsAnswer {
	t.Helper()
	out := flagsAnswer{Status: w.Code}
	decodeJSON(t, w.Body.Bytes(), &out)
	return out
}

// on reports whether a flag is in the response and enabled.
func (a *flagsAnswer) on(key string) bool { return a.Flags[key].Enabled }

// checkError checks that a response is an error as decision 10 defines it: JSON with exactly type,
// code, detail and attr.
func checkError(t testing.TB, w *httptest.ResponseRecorder, status int) (problem map[string]any) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d: %s", w.Code, status, truncate(w.Body.Bytes()))
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type %q", got)
	}
	if got, want := w.Header().Get("Content-Length"), fmt.Sprint(w.Body.Len()); got != want {
		t.Errorf("Content-Length %s of %s bytes", got, want)
	}
	decodeJSON(t, w.Body.Bytes(), &problem)
	for _, name := range []string{"type", "code", "detail"} {
		if s, _ := problem[name].(string); s == "" {
			t.Errorf("no %s in %s", name, truncate(w.Body.Bytes()))
		}
	}
	switch attr := problem["attr"].(type) {
	case nil, string:
	default:
		t.Errorf("attr is %v", attr)
	}
	if _, has := problem["attr"]; !has || len(problem) != 4 {
		t.Errorf("members other than type, code, detail, attr: %s", truncate(w.Body.Bytes()))
	}
	return problem
}

func truncate(b []byte) string {
	if len(b) > 600 {
		return string(b[:600]) + "…"
	}
	return string(bytes.TrimSpace(b))
}
