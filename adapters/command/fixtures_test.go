package command

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/command/internal/clitest"
)

// recordedRequest is a request as an SDK sent it (testdata/http/recorded).
type recordedRequest struct {
	Method, URL string
	Headers     map[string]string
	Body        []byte `json:"raw_body_base64"`
}

func recordedRequests(t *testing.T, name string) recordedRequest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../testdata/http/recorded", name))
	var r recordedRequest
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// send sends the request to a server and returns the response's body. It requires the status 200.
func (r recordedRequest) send(t *testing.T, server, key string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method, server+r.URL, strings.NewReader(string(r.Body)))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range r.Headers {
		if name != "host" && name != "accept-encoding" && name != "content-length" {
			req.Header.Set(name, value)
		}
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", r.URL, res.StatusCode, body, err)
	}
	return string(body)
}

// serve --fixtures returns the values of the file in every response format that SDKs use, for
// requests recorded from an SDK, and returns other values as soon as the file changes.
func TestServe_Fixtures(t *testing.T) {
	const token = "phc_testtoken0000000000000000000000000000000000" // the token of the recorded requests
	fixtures := func(layout string) string {
		return `{"api_key": "` + token + `", "fixtures": {"search": true, "layout": {"value": "` + layout + `", "payload": {"columns": 3}, "for": {"bob": false}}, "old": false}}`
	}
	path := clitest.TempFile(t, "fixtures.json", fixtures("wide"))
	s := serve(t, time.Minute, "--fixtures", path)

	flags := recordedRequests(t, "posthog-go-1.23.1.batch-default-and-flags.001-POST-flags.json") // a request for user_1
	var v2 struct {
		Flags map[string]struct {
			Enabled  bool
			Variant  string
			Metadata struct{ Payload string }
		}
	}
	if err := json.Unmarshal([]byte(flags.send(t, s.url, "")), &v2); err != nil {
		t.Fatal(err)
	}
	if l := v2.Flags["layout"]; !l.Enabled || l.Variant != "wide" || l.Metadata.Payload != `{"columns": 3}` || !v2.Flags["search"].Enabled || v2.Flags["old"].Enabled || len(v2.Flags) != 3 {
		t.Errorf("%+v", v2)
	}

	decide := recordedRequest{Method: "POST", URL: "/decide?v=3", Body: []byte(`{"api_key": "` + token + `", "distinct_id": "bob"}`)}
	for _, want := range []string{`"layout":false`, `"search":true`, `"old":false`} {
		if body := decide.send(t, s.url, ""); !strings.Contains(body, want) {
			t.Errorf("/decide has no %s: %s", want, body)
		}
	}
	local := recordedRequests(t, "posthog-go-1.23.1.flags-local-evaluation.001-GET-flags_definitions.json")
	local.URL = strings.ReplaceAll(local.URL, "<token>", token)
	if body := local.send(t, s.url, "phs_test"); !strings.Contains(body, `"key":"layout"`) || !strings.Contains(body, `"variant":"wide"`) {
		t.Errorf("definitions: %s", body)
	}
	ofrep := recordedRequest{Method: "POST", URL: "/ofrep/v1/evaluate/flags/layout", Body: []byte(`{"context": {"targetingKey": "ana"}}`)}
	if body := ofrep.send(t, s.url, token); !strings.Contains(body, `"value":"wide"`) {
		t.Errorf("OFREP: %s", body)
	}

	if err := os.WriteFile(path, []byte(fixtures("narrow")), 0o600); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(clitest.WaitTimeout)
	for !strings.Contains(ofrep.send(t, s.url, token), `"value":"narrow"`) {
		if time.Now().After(deadline) {
			t.Fatal("the change is not in use")
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	s.wait(0)
}

// --fixtures excludes the other options, and faults of its file are reported.
func TestServe_FixturesRejected(t *testing.T) {
	bad := clitest.TempFile(t, "fixtures.json", `{"fixtures": {"f": 5}}`)
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--fixtures", bad}, "not 5"},
		{[]string{"--fixtures", bad, "--definitions", demo}, "--fixtures: cannot be used with"},
	} {
		if r := call(t, "", nil, append([]string{"serve", "--listen", "127.0.0.1:0"}, tt.args...)...); r.Code == 0 || !strings.Contains(r.Stderr, tt.want) {
			t.Errorf("%q: %d %s", tt.args, r.Code, r.Stderr)
		}
	}
}
