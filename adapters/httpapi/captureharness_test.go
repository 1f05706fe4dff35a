package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/geoip"
)

// lab is a server with the setup of cmd/bunting, a store in memory, and a clock that only a step
// changes.
type lab struct {
	*httptest.Server
	config  httpapi.Config
	handler *httpapi.Handler
	intake  *capture.Intake
	store   *sqlstore.Store
	now     atomic.Int64 // microseconds since 1970
}

// labFile has the projects of a lab. Its argument is the organization's quotas.
const labFile = `{
	"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "lab", "quotas": %s},
	"projects": [
		{"id": 1, "api_key": "phc_x", "secret_api_keys": ["phs_x"], "flags": []},
		{"id": 2, "api_key": "phc_other", "flags": []},
		{"id": 3, "api_key": "phc_noevents", "flags": [], "quota_limited": ["events"]},
		{"id": 4, "api_key": "phc_norecordings", "flags": [], "quota_limited": ["recordings"]},
		{"id": 7, "api_key": "` + recordedToken + `", "flags": []}
	]}`

// labStart is the initial time of a lab's clock: the time of §17.3.
var labStart = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func newLab(t testing.TB, quotas string) *lab {
	t.Helper()
	return newLabSealed(t, quotas, nothingSealed)
}

// newLabSealed is newLab with events in segments.
func newLabSealed(t testing.TB, quotas string, sealed sealing) *lab {
	t.Helper()
	ctx := context.Background()
	l := &lab{}
	l.setClock(labStart)
	config := sealed.config(t)
	config.Now = l.clock
	var err error
	if l.store, err = sqlstore.Open(ctx, pgtest.SQLiteMigrated(t, "sqlite::memory:", sqlstore.Open), config); err != nil {
		t.Fatal(err)
	}
	raw := fmt.Appendf(nil, labFile, quotas)
	file, err := flags.ParseFile(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.store.ApplyFile(ctx, "lab.json", file, raw); err != nil {
		t.Fatal(err)
	}
	geo, err := geoip.Open("../../testdata/geoip/city.mmdb")
	if err != nil {
		t.Fatal(err)
	}
	recorder := capture.NewRecorder(capture.RecorderConfig{Ledger: sealed.ledger(l.store), OnFailure: func(err error) { t.Error("a commit failed:", err) }})
	l.intake, err = capture.NewIntake(capture.IntakeConfig{
		Keys: l.store.CaptureKeys(), Appender: recorder, Usage: l.store, Locator: geo, Now: l.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	decider, err := serving.NewDecider(serving.Config{Source: l.store, People: l.store, Continuity: l.store, Usage: l.store, Now: l.clock})
	if err != nil {
		t.Fatal(err)
	}
	l.config = httpapi.Config{Decider: decider, Intake: l.intake, History: l.store}
	if l.handler, err = httpapi.New(l.config); err != nil {
		t.Fatal(err)
	}
	l.Server = httptest.NewServer(l.handler)
	client := l.Client()
	client.Transport.(*http.Transport).DisableCompression = true
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(func() {
		l.Close()
		recorder.Close()
		_ = geo.Close()
		if err := l.store.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *lab) clock() time.Time       { return time.UnixMicro(l.now.Load()).UTC() }
func (l *lab) setClock(now time.Time) { l.now.Store(now.UnixMicro()) }

// labCase is one case of testdata/capture/edgecases: requests, one after the other, to a new
// server, their responses, and the stored data at the end.
type labCase struct {
	// Row is a row of §18, or Clause a section that the case proves.
	Row    string `json:"row"`
	Clause string `json:"clause"`
	Name   string `json:"name"`
	// Source is the source of the expected values. Note explains a choice that the row leaves open
	// or that a decision overrides.
	Source string    `json:"source"`
	Note   string    `json:"note"`
	Steps  []labStep `json:"steps"`
	// Quotas are the organization's.
	Quotas json.RawMessage `json:"quotas"`
	labState
}

// labStep is one request, by default POST /i/v0/e/.
type labStep struct {
	captureRequest
	// At is the time of the clock.
	At *time.Time `json:"at"`
	// Gzip is the number of gzip members of the body, each with the whole text.
	Gzip int `json:"gzip"`
	// Fill replaces every "~" of the body with Text, repeated Times times.
	Fill *struct {
		Text  string `json:"text"`
		Times int    `json:"times"`
	} `json:"fill"`
	// Items builds a batch of phc_x from one item: "{n}" counts from 0.
	Items *struct {
		Times int             `json:"times"`
		Item  json.RawMessage `json:"item"`
	} `json:"items"`
	// V1 adds the headers of §6.1 that the step does not have; a header with an empty value is not
	// sent.
	V1 bool `json:"v1"`
	// Chunked bodies have no Content-Length.
	Chunked bool `json:"chunked"`
	// Megabytes is the maximum that the process may allocate for the request.
	Megabytes uint64 `json:"allocated_mb"`
	// Want defaults to 200 with {"status":1}.
	Want *want `json:"want"`
}

var acceptedWant = &want{Status: http.StatusOK, Exact: json.RawMessage(`{"status":1}`), Headers: map[string]*string{"Content-Type": ptr("application/json")}}

func ptr[T any](v T) *T { return &v }

var labHeadersV1 = map[string]string{
	"Authorization": "Bearer phc_x", "Content-Type": "application/json", "PostHog-Sdk-Info": "posthog-node/5.70.0", "PostHog-Attempt": "1",
	"PostHog-Request-Id": "01a1f992-0000-7000-8000-000000000000", "PostHog-Request-Timestamp": "2026-01-01T12:00:00Z", "User-Agent": "posthog-node/5.70.0",
}

func (s *labStep) payload(t testing.TB) []byte {
	t.Helper()
	if s.Text != nil {
		s.Bytes = []byte(*s.Text)
	}
	body := s.body(t)
	if s.Items != nil {
		items := make([]string, s.Items.Times)
		for n := range items {
			items[n] = strings.ReplaceAll(string(s.Items.Item), "{n}", strconv.Itoa(n))
		}
		body = []byte(`{"api_key":"phc_x","batch":[` + strings.Join(items, ",") + `]}`)
	}
	if s.Fill != nil {
		body = bytes.ReplaceAll(body, []byte("~"), bytes.Repeat([]byte(s.Fill.Text), s.Fill.Times))
	}
	if s.Gzip > 0 {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := z.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		body = bytes.Repeat(packed.Bytes(), s.Gzip)
	}
	return body
}

// run sends a step and checks the response.
func (s *labStep) run(t *testing.T, l *lab) {
	t.Helper()
	if s.At != nil {
		l.setClock(*s.At)
	}
	method, path := s.Method, s.Path
	if method == "" {
		method = http.MethodPost
	}
	if path == "" {
		path = "/i/v0/e/"
	}
	var body io.Reader = bytes.NewReader(s.payload(t))
	if s.Chunked {
		body = io.MultiReader(body)
	}
	req, err := http.NewRequest(method, l.URL+path, body)
	if err != nil {
		t.Fatal(err)
	}
	if s.V1 {
		for name, v := range labHeadersV1 {
			req.Header.Set(name, v)
		}
	}
	for name, v := range s.Headers {
		if v == "" && name != "User-Agent" { // net/http has a default value for it
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, v)
	}
	before := allocated()
	got := exchange(t, l.Client(), req)
	if grown := (allocated() - before) >> 20; s.Megabytes > 0 && grown > s.Megabytes {
		t.Errorf("%d MiB were allocated, want at most %d", grown, s.Megabytes)
	}
	expected := s.Want
	if expected == nil {
		expected = acceptedWant
	}
	expected.check(t, got, "")
	if got.Code >= 400 && !strings.HasPrefix(path, "/i/v1/") {
		checkError(t, got, expected.Status)
	}
}

// run executes the requests of a case and checks the stored data.
func (c *labCase) run(t *testing.T) { c.runSealed(t, nothingSealed) }

// runSealed is run with events in segments.
func (c *labCase) runSealed(t *testing.T, sealed sealing) {
	quotas := "{}"
	if c.Quotas != nil {
		quotas = string(c.Quotas)
	}
	l := newLabSealed(t, quotas, sealed)
	for i := range c.Steps {
		c.Steps[i].run(t, l)
		if t.Failed() {
			t.Logf("at step %d", i)
		}
	}
	for _, d := range l.differences(&c.labState) {
		t.Error(d)
	}
	if inUse := l.handler.Stats().BudgetInUse; inUse != 0 {
		t.Errorf("%d bytes of the budget were not given back", inUse)
	}
}

// labCases reads the matching files of testdata/capture/edgecases.
func labCases(t testing.TB, pattern string) []labCase {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/capture/edgecases/" + pattern)
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", pattern, err)
	}
	slices.Sort(paths)
	var all []labCase
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(data))
		d.DisallowUnknownFields()
		var cases []labCase
		if err := d.Decode(&cases); err != nil {
			t.Fatal(filepath.Base(path), err)
		}
		for i := range cases {
			if c := &cases[i]; c.Name == "" || c.Source == "" || len(c.Steps) == 0 || c.Row == "" == (c.Clause == "") {
				t.Errorf("%s: case %d: a name, a source, steps, and either row or clause are wanted", filepath.Base(path), i)
			}
		}
		all = append(all, cases...)
	}
	return all
}

// labState is the stored data at the end. Events, warnings and drops are always compared; persons,
// groups and group types only if present.
type labState struct {
	// Project is the project id, by default 1. No other project may have events, persons or
	// warnings.
	Project int64 `json:"project"`
	// Events are in the order in which they were recorded.
	Events     []labEvent  `json:"events"`
	Persons    []labPerson `json:"persons"`
	Groups     []labGroup  `json:"groups"`
	GroupTypes []string    `json:"group_types"`
	// Warnings are counts by type.
	Warnings map[capture.WarningType]int64 `json:"warnings"`
	// Dropped are the counts of dropped events of accepted requests, by reason. By default it is
	// the counts in Warnings of the types that are reasons too.
	Dropped map[capture.DropReason]uint64 `json:"dropped"`
	// FlagCalls are counts by "flag=value".
	FlagCalls map[string]int64 `json:"flag_calls"`
}

// labEvent is a stored event; members that are absent are not compared.
type labEvent struct {
	Event      string     `json:"event"`
	DistinctID string     `json:"distinct_id"`
	UUID       string     `json:"uuid"`
	Timestamp  *time.Time `json:"timestamp"`
	// Properties are some of the stored properties; Absent are names of properties that must not be
	// stored.
	Properties map[string]json.RawMessage `json:"properties"`
	Absent     []string                   `json:"absent"`
	Elements   string                     `json:"elements_chain"`
	// Person is the distinct id from which the person's uuid is derived (§9.2).
	Person           string          `json:"person"`
	Mode             string          `json:"mode"`
	PersonProperties json.RawMessage `json:"person_properties"`
	Historical       *bool           `json:"historical"`
}

// labPerson is a stored person; persons are compared in the order of their first ids.
type labPerson struct {
	IDs []string `json:"ids"`
	// IDCount is the number of ids if IDs are only some of them.
	IDCount int `json:"id_count"`
	// From is the distinct id from which the uuid is derived, UUID the uuid itself.
	From       string     `json:"from"`
	UUID       string     `json:"uuid"`
	Identified bool       `json:"identified"`
	Created    *time.Time `json:"created"`
	Version    *int64     `json:"version"`
	// Properties are all properties; $creator_event_uuid is ignored if it is not in them.
	Properties json.RawMessage `json:"properties"`
	// Has are some of the properties, Absent names that must not be present.
	Has    map[string]json.RawMessage `json:"has"`
	Absent []string                   `json:"absent"`
}

type labGroup struct {
	Type       string          `json:"type"`
	Key        string          `json:"key"`
	Created    *time.Time      `json:"created"`
	Properties json.RawMessage `json:"properties"`
}
