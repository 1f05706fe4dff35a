package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/capture"
)

// ingestedEvents records the events that a handler under test stores.
type ingestedEvents struct {
	mu           sync.Mutex
	events       []ingestedEvent
	block        chan struct{} // if not nil, calls block until it is closed
	blockedCalls atomic.Int32  // number of calls that have blocked
}

type ingestedEvent struct {
	capture.Event
	Project int64
}

// Append implements capture.Appender. The store of project 4 is unavailable.
func (k *ingestedEvents) Append(_ context.Context, b *capture.Batch) error {
	if k.block != nil {
		k.blockedCalls.Add(1)
		<-k.block
	}
	if b.ProjectID == 4 {
		return capture.ErrUnavailable
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range b.Events {
		k.events = append(k.events, ingestedEvent{e, b.ProjectID})
	}
	return nil
}

// take returns the stored events and clears the store.
func (k *ingestedEvents) take() []ingestedEvent {
	k.mu.Lock()
	defer k.mu.Unlock()
	events := k.events
	k.events = nil
	return events
}

// captureKeys are the projects of the capture cases by token.
type captureKeys map[string]capture.Project

func (k captureKeys) Project(_ context.Context, token string) (capture.Project, error) {
	if p, ok := k[token]; ok {
		return p, nil
	}
	return capture.Project{}, capture.ErrUnknownKey
}

var captureProjects = captureKeys{
	"phc_x":       {ID: 1, APIKey: "phc_x", OrganizationID: "o1"},
	"phs_x":       {ID: 1, APIKey: "phc_x", OrganizationID: "o1", Secret: true},
	"phc_other":   {ID: 2, APIKey: "phc_other", OrganizationID: "o1"},
	"phc_spent":   {ID: 3, APIKey: "phc_spent", OrganizationID: "o2", Paused: []capture.Resource{capture.ResourceEvents, capture.ResourceRecordings}},
	"phc_down":    {ID: 4, APIKey: "phc_down", OrganizationID: "o1"},
	recordedToken: {ID: 7, APIKey: recordedToken, OrganizationID: "o1"},
}

// captureHandler returns a handler with an Intake, and the events that it stores. Its clock is
// fixed at 2026-07-15T12:00:00Z.
func captureHandler(t testing.TB, config func(*httpapi.Config)) (*httpapi.Handler, *ingestedEvents) {
	t.Helper()
	w, into := sharedWorld(t), &ingestedEvents{}
	in, err := capture.NewIntake(capture.IntakeConfig{Keys: captureProjects, Appender: into, Now: w.Now})
	if err != nil {
		t.Fatal(err)
	}
	h := w.handler(t, nil, func(c *httpapi.Config) {
		c.Intake = in
		if config != nil {
			config(c)
		}
	})
	return h.(*httpapi.Handler), into
}

// captureCase is one request, its response, and the events that it stores, from testdata/capture.
type captureCase struct {
	Name    string          `json:"name"`
	Clause  string          `json:"clause"`
	Request captureRequest  `json:"request"`
	Want    want            `json:"want"`
	Events  []expectedEvent `json:"events"`
}

type captureRequest struct {
	httpRequest
	// Text is sent unchanged.
	Text *string `json:"body_text"`
}

// expectedEvent is a stored event; members that are absent are not compared.
type expectedEvent struct {
	Event      string     `json:"event"`
	DistinctID string     `json:"distinct_id"`
	Project    int64      `json:"project"`
	Timestamp  *time.Time `json:"timestamp"`
	// Properties are compared; null means that the property must be absent.
	Properties map[string]json.RawMessage `json:"properties"`
}

func captureCases(t testing.TB, file string) []captureCase {
	t.Helper()
	data, err := os.ReadFile("../../testdata/capture/" + file)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var cases []captureCase
	if err := d.Decode(&cases); err != nil {
		t.Fatal(file, err)
	}
	for i := range cases {
		if text := cases[i].Request.Text; text != nil {
			cases[i].Request.Bytes = []byte(*text)
		}
	}
	return cases
}

func checkEvents(t *testing.T, want []expectedEvent, got []ingestedEvent) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events were stored, want %d: %+v", len(got), len(want), got)
	}
	for i, e := range want {
		if e.Event != got[i].Name || e.DistinctID != got[i].DistinctID {
			t.Errorf("event %d is %q of %q, want %q of %q", i, got[i].Name, got[i].DistinctID, e.Event, e.DistinctID)
		}
		if e.Project != 0 && e.Project != got[i].Project {
			t.Errorf("event %d went to project %d, want %d", i, got[i].Project, e.Project)
		}
		if e.Timestamp != nil && !e.Timestamp.Equal(got[i].Timestamp) {
			t.Errorf("event %d is of %v, want %v", i, got[i].Timestamp, e.Timestamp)
		}
		var properties map[string]json.RawMessage
		decodeJSON(t, []byte(got[i].Properties), &properties)
		for name, v := range e.Properties {
			p, there := properties[name]
			switch {
			case string(v) == "null" && there:
				t.Errorf("event %d has %s: %s", i, name, p)
			case string(v) != "null" && string(p) != string(v):
				t.Errorf("event %d has %s: %s, want %s", i, name, p, v)
			}
		}
	}
}

// The rows of §17.1, §18.1 and §18.2 and the related clauses.
func TestCapture_Cases(t *testing.T) {
	for _, file := range []string{"http.json", "httpv1.json"} {
		h, into := captureHandler(t, nil)
		s := httptest.NewServer(h)
		defer s.Close()
		s.Client().Transport.(*http.Transport).DisableCompression = true
		for _, c := range captureCases(t, file) {
			t.Run(c.Clause+"/"+c.Name, func(t *testing.T) {
				got := c.Request.over(t, s)
				c.Want.check(t, got, "")
				if got.Code >= 400 && !strings.HasPrefix(c.Request.Path, "/i/v1/") {
					checkError(t, got, c.Want.Status)
				}
				checkEvents(t, c.Events, into.take())
			})
		}
		if inUse := h.Stats().BudgetInUse; inUse != 0 {
			t.Errorf("%s: %d bytes of the budget were not given back", file, inUse)
		}
	}
}

// Every route responds with and without a trailing slash and refuses other methods; without an
// Intake the routes do not exist (§1.1, §1.2).
func TestCapture_1_1_Routes(t *testing.T) {
	h, _ := captureHandler(t, nil)
	without := sharedWorld(t).handler(t, nil, nil)
	bodies := map[string]string{
		"/i/v0/e": "GET HEAD OPTIONS POST", "/e": "GET HEAD OPTIONS POST", "/capture": "GET HEAD OPTIONS POST", "/batch": "GET HEAD OPTIONS POST",
		"/track": "GET HEAD OPTIONS POST", "/engage": "GET HEAD OPTIONS POST", "/i/v0/ai/batch": "GET HEAD OPTIONS POST",
		"/s": "OPTIONS POST", "/i/v1/analytics/events": "OPTIONS POST", "/i/v1/ai/events": "OPTIONS POST", "/test/black_hole": "OPTIONS POST",
		"/api/surveys": "GET HEAD OPTIONS POST", "/surveys": "GET HEAD OPTIONS POST", "/api/early_access_features": "GET HEAD OPTIONS",
	}
	got := map[string]string{}
	for path, methods := range httpapi.CaptureRoutesForTest() {
		got[path] = strings.Join(methods, " ")
		for _, path := range []string{path, path + "/"} {
			for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE", "PATCH", "PROPFIND"} {
				served := slices.Contains(methods, method)
				w := ask(h, method, path, "", "Origin", Range)
				if (w.Code == http.StatusMethodNotAllowed) == served || w.Code >= 500 || w.Header().Get("Location") != "" {
					t.Errorf("%s %s: %d", method, path, w.Code)
				}
				if w.Header().Get("Access-Control-Allow-Origin") != Range || w.Header().Get("Access-Control-Allow-Credentials") != "true" {
					t.Errorf("%s %s: %v", method, path, w.Header())
				}
				if method == http.MethodOptions && (w.Code != 200 || w.Body.String() != `{"status":1}`) {
					t.Errorf("OPTIONS %s: %d %s", path, w.Code, w.Body)
				}
			}
			checkError(t, ask(without, "POST", path, ""), 404)
		}
	}
	if diff := cmp.Diff(bodies, got); diff != "" {
		t.Errorf("routes (-want +got)\n%s", diff)
	}
	if w := ask(without, "GET", "/", ""); w.Code != 200 || strings.Contains(w.Body.String(), "/batch") {
		t.Errorf("/ without an Intake: %s", w.Body)
	}
}

// pagePaths are requested by pages that send events too.
var pagePaths = []string{"/api/surveys", "/surveys", "/api/early_access_features"}

// HEAD responses have no body on the wire, and require the same authorization as GET.
func TestCapture_1_1_HeadHasNoBody(t *testing.T) {
	h, _ := captureHandler(t, nil)
	s := httptest.NewServer(h)
	defer s.Close()
	for path, methods := range httpapi.CaptureRoutesForTest() {
		r, err := http.NewRequest("HEAD", s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := 405
		switch {
		case slices.Contains(pagePaths, path): // they require a project's key
			want = 401
		case slices.Contains(methods, "HEAD"):
			want = 200
		}
		if got := exchange(t, s.Client(), r); got.Code != want || got.Body.Len() > 0 {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// Accepted and refused requests, and memory in use, are counted (decision 15).
func TestCapture_Decision15_Stats(t *testing.T) {
	h, _ := captureHandler(t, nil)
	ask(h, "POST", "/e/", `{"api_key":"phc_x","event":"e","distinct_id":"u"}`)
	ask(h, "POST", "/e/", `{`)
	ask(h, "POST", "/i/v1/analytics/events", `{}`)
	ask(h, "POST", "/s/", `[]`)
	ask(h, "OPTIONS", "/e/", "")
	want := httpapi.Stats{CaptureRequests: 4, CaptureRefused: 3}
	if diff := cmp.Diff(want, h.Stats()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A panic in capture is a 500 that pages may read, and its memory is released.
func TestCapture_4_2_Panic(t *testing.T) {
	in, err := capture.NewIntake(capture.IntakeConfig{Keys: captureProjects, Appender: panicking{}})
	if err != nil {
		t.Fatal(err)
	}
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.Intake = in }).(*httpapi.Handler)
	w := ask(h, "POST", "/e/", `{"api_key":"phc_x","event":"e","distinct_id":"u"}`, "Origin", Range)
	checkError(t, w, 500)
	if w.Header().Get("Access-Control-Allow-Origin") != Range {
		t.Errorf("%v", w.Header())
	}
	if s := h.Stats(); s.BudgetInUse != 0 || s.Panics != 1 {
		t.Errorf("%+v", s)
	}
}

type panicking struct{}

func (panicking) Append(context.Context, *capture.Batch) error { panic("a mistake") }
