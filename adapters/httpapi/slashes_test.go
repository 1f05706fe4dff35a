package httpapi_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Repeated slashes are treated as one, with the same query, body and method: clients that append a
// path to an address with a trailing slash send //flags. A POST is never redirected.
func TestHTTP_RepeatedSlashes(t *testing.T) {
	shared := sharedWorld(t)
	body, key := `{"api_key":"phc_test","distinct_id":"u1"}`, "Bearer phs_test"
	for _, c := range []struct{ method, plain, doubled, body string }{
		{"POST", "/flags?v=2", "//flags?v=2", body},
		{"POST", "/flags?v=2", "/flags//?v=2", body},
		{"POST", "/decide?v=3", "///decide//?v=3", body},
		{"GET", "/flags/definitions?token=phc_test", "//flags///definitions?token=phc_test", ""},
		{"GET", "/array/phc_test/config", "//array//phc_test//config", ""},
		{"POST", "/ofrep/v1/evaluate/flags/plain", "//ofrep/v1/evaluate//flags/plain", `{"context":{"targetingKey":"u1"}}`},
		{"GET", "/api/projects/%40current/feature_flags/a%2Fb%20%22c%22%20%C3%A9/remote_config", "//api//projects/%40current/feature_flags/a%2Fb%20%22c%22%20%C3%A9//remote_config", ""},
		{"GET", "/api/projects/1/feature_flags/a%2F%2Fb/remote_config", "//api/projects/1/feature_flags/a%2F%2Fb/remote_config", ""},
		{"GET", "/nowhere", "//nowhere", ""},
		{"DELETE", "/flags", "//flags", ""},
	} {
		for name, prefix := range map[string]string{"alone": "", "chi Mount": "/ph", "net/http StripPrefix": ""} {
			m := mountings[name]
			h := m.mount(shared.handler(t, nil, nil))
			if name == "net/http StripPrefix" {
				h = http.StripPrefix("/ph", shared.handler(t, nil, nil)) // net/http's own router redirects
				prefix = "/ph"
			}
			authorization := key
			if strings.Contains(c.plain, "/ofrep/") {
				authorization = "Bearer phc_test"
			}
			want := ask(h, c.method, prefix+c.plain, c.body, "Authorization", authorization)
			got := ask(h, c.method, prefix+c.doubled, c.body, "Authorization", authorization)
			if got.Code != want.Code || withoutID(t, got) != withoutID(t, want) || got.Header().Get("Location") != "" {
				t.Errorf("%s, %s %s: %d %s, want %d %s", name, c.method, c.doubled, got.Code, got.Body, want.Code, want.Body)
			}
		}
	}
}

// withoutID returns a response without the request's id and time.
func withoutID(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var object map[string]any
	if json.Unmarshal(w.Body.Bytes(), &object) != nil {
		return w.Body.String()
	}
	delete(object, "requestId")
	delete(object, "evaluatedAt")
	out, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The same applies to the management API, capture and history, over a connection.
func TestHTTP_RepeatedSlashesManaged(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	key := "Bearer " + o.key(t, "owner")
	if w := ask(o.handler, "POST", "//api//projects/1//feature_flags/", `{"key": "doubled"}`, "Authorization", key); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{
		"//api/projects/1/feature_flags/?search=doubled", "/api//projects/1/feature_flags//?search=doubled", "//api/projects//", "//api/projects/1/persons/", "//api/schema/",
	} {
		w := ask(o.handler, "GET", path, "", "Authorization", key)
		if w.Code != 200 || strings.Contains(path, "search") && !strings.Contains(w.Body.String(), `"key":"doubled"`) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	// Links in a response do not refer to another host.
	var root struct{ Links map[string]string }
	if decodeJSON(t, ask(o.handler, "GET", "//", "").Body.Bytes(), &root); root.Links["flags"] != "/flags" {
		t.Errorf("links %v", root.Links)
	}
	l := newLab(t, "{}")
	if w := ask(l.handler, "POST", "//batch//", `{"api_key": "phc_x", "batch": [{"event": "e", "distinct_id": "d"}]}`); w.Code != 200 {
		t.Errorf("//batch//: %d %s", w.Code, w.Body)
	}
}
