package browsertest

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recordedDefinitions has the project of the requests in testdata/http/recorded. The owner's key comes
// first, because the start prints it.
const recordedDefinitions = `{"organization": {"id": "0191f0a2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "name": "Shop"}, "projects": [{"id": 1, "name": "shop",
	"api_key": "phc_testtoken0000000000000000000000000000000000",
	"personal_api_keys": [{"key": "phx_owner", "scopes": ["*"]}, {"key": "phx_personal", "scopes": ["feature_flag:read"]}],
	"group_type_mapping": {"0": "company"},
	"flags": [{"id": 1, "key": "beta-feature", "active": true, "version": 4, "is_remote_configuration": true,
		"filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "{\"limit\":5}"}}}]}]}`

// recordedRequest is a recorded request of an SDK.
type recordedRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    []byte            `json:"raw_body_base64"`
}

// recordedAnswer is the response to a recorded request in a page.
type recordedAnswer struct {
	Status int
	Body   string
}

// ownHeaders are headers that a browser sets itself and that a page cannot set.
var ownHeaders = regexp.MustCompile(`^(host|cookie|connection|content-length|accept-encoding|origin|referer|user-agent|keep-alive|te|sec-.*|access-control-request-.*)$`)

// changing are the parts of a response that differ from request to request.
var changing = regexp.MustCompile(`"(requestId|evaluatedAt|request_id)":("[^"]*"|\d+)`)

// send sends the request from the page, with the page's cookies or without.
func (r *recordedRequest) send(p *page, credentials string) recordedAnswer {
	p.t.Helper()
	headers := map[string]string{}
	for name, value := range r.Headers {
		if !ownHeaders.MatchString(name) {
			headers[name] = value
		}
	}
	text, _ := json.Marshal([]any{r.URL, r.Method, headers, base64.StdEncoding.EncodeToString(r.Body), credentials})
	got := js[recordedAnswer](p, `(async (url, method, headers, body, credentials) => {
		const bytes = Uint8Array.from(atob(body), c => c.charCodeAt(0));
		const got = await fetch(url, {method, headers, credentials, body: bytes.length ? bytes : undefined});
		return {Status: got.status, Body: await got.text()};
	})(...`+string(text)+`)`)
	got.Body = changing.ReplaceAllString(got.Body, `"$1":0`)
	return got
}

// storedEvents returns the number of events of the project.
func (s *server) storedEvents() (n int) {
	s.t.Helper()
	var got struct{ Results [][]int }
	s.api("POST", "/api/projects/1/query/", map[string]any{"refresh": "force_blocking", "query": map[string]any{"kind": "HogQLQuery", "query": "SELECT count() FROM events"}}, &got)
	return got.Results[0][0]
}

// T32: recorded requests of SDKs have the same responses and effects from a page with a session of the
// console as without its cookie: flags, settings, definitions and events.
func TestConsole_T32_RequestsOfSDKsWithASession(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.json")
	if err := os.WriteFile(file, []byte(recordedDefinitions), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--definitions", file)
	p := s.open(t, "p/1/flags")
	p.waitLoaded()
	if status := js[int](p, `fetch("/api/users/@me/").then(r => r.status)`); status != 200 {
		t.Fatalf("the session answers %d, want 200", status)
	}
	var paths []string
	for _, folder := range []string{"", "capture/"} {
		found, err := filepath.Glob("../../../testdata/http/recorded/" + folder + "*.json")
		if err != nil || len(found) == 0 {
			t.Fatal("no recorded requests", err)
		}
		paths = append(paths, found...)
	}
	without := map[string]recordedAnswer{}
	events := map[string]int{}
	for _, credentials := range []string{"omit", "include"} {
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var r recordedRequest
			if err := json.Unmarshal(text, &r); err != nil {
				t.Fatal(err)
			}
			if r.Method == "OPTIONS" { // a preflight, which the browser sends itself
				continue
			}
			got := r.send(p, credentials)
			name := filepath.Base(path)
			if got.Status != 200 || strings.Contains(name, "POST-flags") && !strings.Contains(got.Body, `"beta-feature"`) {
				t.Errorf("%s, cookies: %s: %d %.300s", name, credentials, got.Status, got.Body)
			}
			if credentials == "omit" {
				without[name] = got
			} else if got != without[name] {
				t.Errorf("%s: %+v with the cookie, %+v without", name, got, without[name])
			}
		}
		events[credentials] = s.storedEvents()
	}
	if events["omit"] == 0 || events["include"] != events["omit"] { // the same events are duplicates the second time
		t.Errorf("events stored after the requests without and with the cookie: %v", events)
	}
}
