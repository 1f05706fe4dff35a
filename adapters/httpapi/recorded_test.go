package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// recording is a request of an official SDK from testdata/http/recorded.
type recording struct {
	SDK     string            `json:"sdk"`
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"raw_body_base64"`
}

// recordedToken is the key of the recorded requests.
const recordedToken = "phc_testtoken0000000000000000000000000000000000"

// recordedProject has the flags that the recorded SDKs request, and one with all values that are
// hard to decode: null as well as absent members, fractions, group indexes.
const recordedProject = `{"projects": [{
  "id": 7, "api_key": "` + recordedToken + `", "personal_api_keys": [{"key": "phx_personal", "scopes": ["feature_flag:read"]}],
  "group_type_mapping": {"0": "company"},
  "cohorts": {"42": {"type": "AND", "values": [{"key": "email", "type": "person", "operator": "icontains", "value": "@b.c"}]}},
  "flags": [
    {"id": 1, "key": "beta-feature", "name": "Beta", "version": 4, "active": true, "is_remote_configuration": true,
     "filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "{\"limit\":5}"}}},
    {"id": 2, "key": "multi", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": null, "variant": "b"}],
     "multivariate": {"variants": [{"key": "a", "rollout_percentage": 33.3}, {"key": "b", "rollout_percentage": 66.7}]}, "payloads": {"b": "\"x\""}}},
    {"id": 3, "key": "gold", "active": true, "filters": {"aggregation_group_type_index": 0, "groups": [
     {"properties": [{"key": "tier", "type": "group", "group_type_index": 0, "operator": "exact", "value": "gold"}], "rollout_percentage": 100},
     {"properties": [], "rollout_percentage": 0, "aggregation_group_type_index": null}]}},
    {"id": 4, "key": "member", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 42}]}]}},
    {"id": 5, "key": "child", "active": true, "filters": {"groups": [{"properties": [{"key": "1", "type": "flag", "operator": "flag_evaluates_to", "value": true}]}]}},
    {"id": 6, "key": "for-servers", "active": true, "evaluation_runtime": "server", "filters": {"groups": [{}]}},
    {"id": 8, "key": "for-clients", "active": true, "evaluation_runtime": "client", "filters": {"groups": [{}]}},
    {"id": 9, "key": "inactive", "active": false, "filters": {"groups": [{}]}},
    {"id": 10, "key": "broken", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 77}]}]}}
  ]}]}`

func recordings(t testing.TB) map[string]recording {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/http/recorded/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no recorded requests", err)
	}
	out := map[string]recording{}
	for _, path := range paths {
		name := filepath.Base(path)
		var r recording
		decodeJSON(t, read(t, "recorded/"+name), &r)
		out[strings.TrimSuffix(name, ".json")] = r
	}
	return out
}

// onTheWire returns the bytes of the request; headers are sorted by name, since HTTP ignores their
// order.
func (r *recording) onTheWire() []byte {
	names := make([]string, 0, len(r.Headers))
	for name := range r.Headers {
		names = append(names, name)
	}
	sort.Strings(names)
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\n", r.Method, r.URL)
	for _, name := range names {
		fmt.Fprintf(&out, "%s: %s\r\n", name, r.Headers[name])
	}
	out.WriteString("\r\n")
	out.Write(r.Body)
	return out.Bytes()
}

// replay sends a recording over a new connection.
func replay(t *testing.T, s *httptest.Server, r *recording) *httptest.ResponseRecorder {
	t.Helper()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(r.onTheWire()); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: r.Method})
	if err != nil {
		t.Fatal(err)
	}
	got := readAll(t, res)
	got.Body = bytes.NewBufferString(unpackedBody(t, got))
	return got
}

// Every recorded request gets the response that its SDK needs (§10.4, §11).
func TestFlags_10_4_RecordedRequests(t *testing.T) {
	h := newWorld(t, []byte(recordedProject)).handler(t, nil, nil)
	s := httptest.NewServer(h)
	defer s.Close()
	for name, r := range recordings(t) {
		t.Run(name, func(t *testing.T) { r.check(t, s) })
	}
}

// check replays a recording and checks the response.
func (r *recording) check(t *testing.T, s *httptest.Server) {
	t.Helper()
	got := replay(t, s, r)
	if origin := r.Headers["origin"]; got.Header().Get("Access-Control-Allow-Origin") != origin {
		t.Errorf("Access-Control-Allow-Origin %q for the origin %q", got.Header().Get("Access-Control-Allow-Origin"), origin)
	}
	if got.Code != http.StatusOK {
		t.Fatalf("status %d: %s", got.Code, truncate(got.Body.Bytes()))
	}
	switch {
	case r.Method == http.MethodOptions:
		checkPreflight(t, r, got)
	case strings.HasPrefix(r.URL, "/array/"):
		checkArrayConfig(t, got)
	case strings.HasPrefix(r.URL, "/api/projects/"):
		checkRemoteConfig(t, got)
	case strings.HasPrefix(r.URL, "/flags/definitions"):
		checkDefinitions(t, s, r, got)
	default:
		checkFlags(t, r, got.Body.Bytes())
	}
}

// goFlag is a flag of a response as posthog-go 1.23.1 decodes it.
type goFlag struct {
	Key     string  `json:"key"`
	Enabled bool    `json:"enabled"`
	Variant *string `json:"variant"`
	Reason  *struct {
		Code           string `json:"code"`
		Description    string `json:"description"`
		ConditionIndex *int   `json:"condition_index"`
	} `json:"reason"`
	Metadata struct {
		ID      int             `json:"id"`
		Version int             `json:"version"`
		Payload json.RawMessage `json:"payload"`
	} `json:"metadata"`
	Failed *bool `json:"failed"`
}

// clientAnswer is a response of /flags?v=2 as posthog-js and posthog-node read it: required members
// are pointers.
type clientAnswer struct {
	Flags       *map[string]goFlag `json:"flags"`
	Errors      *bool              `json:"errorsWhileComputingFlags"`
	RequestID   *string            `json:"requestId"`
	EvaluatedAt *int64             `json:"evaluatedAt"`
	Quota       []string           `json:"quotaLimited"`
}

func checkFlags(t *testing.T, r *recording, body []byte) {
	t.Helper()
	var got clientAnswer
	decodeJSON(t, body, &got)
	if got.Flags == nil || got.Errors == nil || got.RequestID == nil || got.EvaluatedAt == nil || got.Quota != nil {
		t.Fatalf("a member is missing: %s", truncate(body))
	}
	list := *got.Flags
	beta, ok := list["beta-feature"]
	if !ok || !beta.Enabled || beta.Key != "beta-feature" || beta.Metadata.ID != 1 || beta.Metadata.Version != 4 || beta.Reason == nil || beta.Failed != nil {
		t.Errorf("beta-feature: %+v", beta)
	}
	// A payload is a string that contains JSON: Go unquotes it, JavaScript parses it.
	var text string
	if decodeJSON(t, beta.Metadata.Payload, &text); text != `{"limit":5}` {
		t.Errorf("payload %s", beta.Metadata.Payload)
	}
	sent := requestOf(t, r)
	if sent.FlagKeys != nil {
		if len(list) != 1 || *got.Errors {
			t.Errorf("asked for one flag, got %s", truncate(body))
		}
		return
	}
	if f := list["broken"]; !*got.Errors || f.Failed == nil || !*f.Failed || f.Enabled || f.Reason.ConditionIndex != nil {
		t.Errorf("posthog-js keeps old values only of flags that are listed as failed: %s", truncate(body))
	}
	if f := list["multi"]; f.Variant == nil || *f.Variant != "b" || f.Reason.ConditionIndex == nil || *f.Reason.ConditionIndex != 0 {
		t.Errorf("multi: %+v", f)
	}
	_, server := list["for-servers"]
	_, client := list["for-clients"]
	if browser := strings.HasPrefix(r.SDK, "posthog-js"); server == browser || client != browser {
		t.Errorf("%s: for-servers %v, for-clients %v", r.SDK, server, client)
	}
	if gold := list["gold"].Enabled; gold != (sent.GroupProperties["company"]["tier"] == "gold") {
		t.Errorf("gold is %v for %v", gold, sent.GroupProperties)
	}
	if member := list["member"].Enabled; member != (sent.Person["email"] == "a@b.c") {
		t.Errorf("member is %v for %v", member, sent.Person)
	}
	if _, there := list["inactive"]; there || !list["child"].Enabled {
		t.Errorf("inactive or child: %s", truncate(body))
	}
}

// recordedBody is a body as decoded by the recorder.
type recordedBody struct {
	FlagKeys        []string                  `json:"flag_keys_to_evaluate"`
	Person          map[string]any            `json:"person_properties"`
	GroupProperties map[string]map[string]any `json:"group_properties"`
}

func requestOf(t *testing.T, r *recording) (sent recordedBody) {
	t.Helper()
	for name, otherRecording := range recordings(t) {
		if bytes.Equal(otherRecording.Body, r.Body) && otherRecording.URL == r.URL {
			var file struct {
				Body recordedBody `json:"body_decoded"`
			}
			decodeJSON(t, read(t, "recorded/"+name+".json"), &file)
			return file.Body
		}
	}
	t.Fatal("not among the recordings")
	return sent
}

// goDefinitions is the payload as posthog-go 1.23.1 decodes it. If a number has the wrong type, it
// rejects all flags (§11).
type goDefinitions struct {
	Flags []struct {
		Key        string `json:"key"`
		Active     bool   `json:"active"`
		Continuity *bool  `json:"ensure_experience_continuity"`
		Filters    struct {
			Aggregation *uint8 `json:"aggregation_group_type_index"`
			Groups      []struct {
				Properties  []map[string]any `json:"properties"`
				Rollout     *float64         `json:"rollout_percentage"`
				Variant     *string          `json:"variant"`
				Aggregation *uint8           `json:"aggregation_group_type_index"`
			} `json:"groups"`
			Multivariate *struct {
				Variants []struct {
					Key     string   `json:"key"`
					Rollout *float64 `json:"rollout_percentage"`
				} `json:"variants"`
			} `json:"multivariate"`
			Payloads map[string]json.RawMessage `json:"payloads"`
		} `json:"filters"`
	} `json:"flags"`
	GroupTypes *map[string]string `json:"group_type_mapping"`
	Cohorts    *map[string]struct {
		Type   string           `json:"type"`
		Values []map[string]any `json:"values"`
	} `json:"cohorts"`
}

func checkDefinitions(t *testing.T, s *httptest.Server, r *recording, got *httptest.ResponseRecorder) {
	t.Helper()
	var d goDefinitions
	decodeJSON(t, got.Body.Bytes(), &d)
	if len(d.Flags) != 9 || d.GroupTypes == nil || (*d.GroupTypes)["0"] != "company" || d.Cohorts == nil || len(*d.Cohorts) != 1 || (*d.Cohorts)["42"].Type != "AND" {
		t.Fatalf("definitions: %s", truncate(got.Body.Bytes()))
	}
	var keys []string
	for _, f := range d.Flags {
		keys = append(keys, f.Key)
		if f.Filters.Multivariate == nil {
			continue
		}
		for _, v := range f.Filters.Multivariate.Variants {
			if v.Rollout == nil {
				t.Errorf("posthog-go dereferences the share of %s/%s", f.Key, v.Key)
			}
		}
	}
	if !slices.IsSorted(keys) {
		t.Errorf("flags are not ordered by key: %q", keys)
	}
	if dep := d.Flags[slices.Index(keys, "child")].Filters.Groups[0].Properties[0]; dep["key"] != "beta-feature" || fmt.Sprint(dep["dependency_chain"]) != "[beta-feature]" {
		t.Errorf("the dependency of child: %v", dep)
	}
	// The next poll repeats the ETag unchanged, and costs no request of the quota.
	again := *r
	again.Headers = map[string]string{"if-none-match": got.Header().Get("ETag")}
	for name, v := range r.Headers {
		if name != "if-none-match" {
			again.Headers[name] = v
		}
	}
	next := replay(t, s, &again)
	if next.Code != http.StatusNotModified || next.Body.Len() > 0 || next.Header().Get("ETag") != got.Header().Get("ETag") {
		t.Errorf("the next poll: %d %q %s", next.Code, next.Header(), truncate(next.Body.Bytes()))
	}
}

func checkRemoteConfig(t *testing.T, got *httptest.ResponseRecorder) {
	t.Helper()
	var text string // a JSON string with JSON in it
	if decodeJSON(t, got.Body.Bytes(), &text); text != `{"limit":5}` {
		t.Errorf("remote config: %s", truncate(got.Body.Bytes()))
	}
}

// checkArrayConfig checks the parts of the script that a browser executes.
func checkArrayConfig(t *testing.T, got *httptest.ResponseRecorder) {
	t.Helper()
	const start, end = `(function(){var c=window._POSTHOG_REMOTE_CONFIG=window._POSTHOG_REMOTE_CONFIG||{};c["` + recordedToken + `"]={config:`, ",siteApps:[]}})();\n"
	script := got.Body.String()
	if !strings.HasPrefix(script, start) || !strings.HasSuffix(script, end) || got.Header().Get("Content-Type") != "application/javascript" {
		t.Fatalf("%q %s", got.Header().Get("Content-Type"), script)
	}
	var config struct {
		Token        string   `json:"token"`
		HasFlags     *bool    `json:"hasFeatureFlags"`
		Compressions []string `json:"supportedCompression"`
	}
	decodeJSON(t, []byte(strings.TrimSuffix(strings.TrimPrefix(script, start), end)), &config)
	if config.Token != recordedToken || config.HasFlags == nil || !*config.HasFlags || !slices.Contains(config.Compressions, "gzip-js") {
		t.Errorf("%+v", config)
	}
}

func checkPreflight(t *testing.T, r *recording, got *httptest.ResponseRecorder) {
	t.Helper()
	for name, v := range map[string]string{
		"Access-Control-Allow-Methods":     r.Headers["access-control-request-method"],
		"Access-Control-Allow-Headers":     r.Headers["access-control-request-headers"],
		"Access-Control-Allow-Credentials": "true",
	} {
		if got := got.Header().Get(name); got != v {
			t.Errorf("%s: %q, want %q", name, got, v)
		}
	}
	if got.Body.Len() > 0 {
		t.Errorf("a body: %s", truncate(got.Body.Bytes()))
	}
}
