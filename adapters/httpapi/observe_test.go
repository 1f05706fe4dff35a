package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// logged returns a handler that logs JSON, and a function that returns the lines about requests
// since its last call.
func logged(t *testing.T, change func(*httpapi.Config)) (http.Handler, func() []map[string]any) {
	var log bytes.Buffer
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) {
		c.Logger = slog.New(slog.NewJSONHandler(&log, nil))
		change(c)
	})
	return h, func() (lines []map[string]any) {
		for line := range strings.Lines(log.String()) {
			var v map[string]any
			decodeJSON(t, []byte(line), &v)
			if v["msg"] == "request" {
				lines = append(lines, v)
			}
		}
		log.Reset()
		return lines
	}
}

// Each request has an id: the client's if that is valid. The response and every log line contain
// it.
func TestRequests_ID(t *testing.T) {
	h, lines := logged(t, func(c *httpapi.Config) { c.LogRequests = httpapi.LogAllRequests })
	for _, c := range []struct{ sent, want string }{
		{"", fixedID},
		{"0191F0A2-5b1c-7d3e-8f40-1a2b3c4d5e6f", "0191F0A2-5b1c-7d3e-8f40-1a2b3c4d5e6f"},
		{"trace:4/abc_1.2+3=@", "trace:4/abc_1.2+3=@"},
		{strings.Repeat("a", 128), strings.Repeat("a", 128)},
		{strings.Repeat("a", 129), fixedID},
		{"a b", fixedID},
		{"a\" status=200", fixedID},
		{"é", fixedID},
	} {
		got := ask(h, "POST", "/flags?v=2", good, "X-Request-Id", c.sent)
		if id := got.Header().Get("X-Request-Id"); id != c.want {
			t.Errorf("X-Request-Id %q is answered with %q, want %q", c.sent, id, c.want)
		}
		if found := lines(); len(found) != 1 || found[0]["request_id"] != c.want {
			t.Errorf("X-Request-Id %q: lines %v", c.sent, found)
		}
	}
	for _, path := range []string{"/nowhere", "/_liveness", "/flags/definitions"} {
		if id := ask(h, "GET", path, "").Header().Get("X-Request-Id"); id != fixedID {
			t.Errorf("%s: X-Request-Id %q", path, id)
		}
	}
}

// A line has method, route, status, time, size, the masked key and the project, but neither keys
// nor data of the body or the query.
func TestRequests_Lines(t *testing.T) {
	type line map[string]any
	h, lines := logged(t, func(c *httpapi.Config) { c.LogRequests = httpapi.LogAllRequests })
	for _, c := range []struct {
		name, method, target, body string
		headers                    []string
		want                       line
	}{
		{"flags", "POST", "/flags?v=2&secret=1", good, nil,
			line{"level": "INFO", "method": "POST", "route": "/flags", "status": 200.0, "key": "********", "project": 1.0}},
		{"unknown key", "POST", "/flags", `{"api_key": "phc_0123456789abcdef", "distinct_id": "secret"}`, nil,
			line{"level": "INFO", "method": "POST", "route": "/flags", "status": 401.0, "key": "phc_...cdef", "ip": "192.0.2.1"}},
		{"definitions", "GET", "/flags/definitions?token=phc_test", "", []string{"Authorization", "Bearer phx_wrong_secret_1234"},
			line{"level": "INFO", "method": "GET", "route": "/flags/definitions", "status": 401.0, "key": "phx_...1234", "ip": "192.0.2.1"}},
		{"bad body", "POST", "/flags", `{"secret`, nil, line{"level": "INFO", "method": "POST", "route": "/flags", "status": 400.0}},
		{"no such path", "GET", "/secret/secret", "", nil, line{"level": "INFO", "method": "GET", "route": "other", "status": 404.0}},
		{"a name in the path", "GET", "/array/phc_test/config", "", nil, line{"level": "INFO", "method": "GET", "route": "/array/{token}/config", "status": 200.0}},
		{"a method of whoever asks", "SECRETSECRETSECRET", "/flags", "", nil, line{"level": "INFO", "method": "SECRETSECRETSECR", "route": "/flags", "status": 405.0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := ask(h, c.method, c.target, c.body, c.headers...)
			found := lines()
			if len(found) != 1 {
				t.Fatalf("%d lines: %v", len(found), found)
			}
			c.want["msg"], c.want["request_id"], c.want["bytes"] = "request", fixedID, float64(got.Body.Len())
			if diff := cmp.Diff(map[string]any(c.want), found[0], cmpopts.IgnoreMapEntries(func(k string, _ any) bool { return k == "time" || k == "ms" })); diff != "" {
				t.Errorf("line (-want +got):\n%s", diff)
			}
			if ms, ok := found[0]["ms"].(float64); !ok || ms < 0 {
				t.Errorf("ms %v", found[0]["ms"])
			}
			if text, _ := json.Marshal(found[0]); c.method == "POST" && strings.Contains(string(text), "secret") {
				t.Errorf("the line tells too much: %s", text)
			}
		})
	}
}

// By default an embedded handler logs only failed authentication; LogFailedRequests adds refused
// and failed requests, LogAllRequests all requests.
func TestRequests_WhatIsLogged(t *testing.T) {
	for log, want := range map[httpapi.RequestLog][]float64{
		httpapi.LogNoRequests:     {401},
		httpapi.LogFailedRequests: {400, 401, 404},
		httpapi.LogAllRequests:    {200, 400, 401, 404},
	} {
		h, lines := logged(t, func(c *httpapi.Config) { c.LogRequests = log })
		ask(h, "POST", "/flags?v=2", good)
		ask(h, "POST", "/flags?v=2", "{")
		ask(h, "POST", "/flags?v=2", `{"api_key":"phc_no","distinct_id":"u"}`)
		ask(h, "GET", "/nowhere", "")
		var got []float64
		for _, line := range lines() {
			got = append(got, line["status"].(float64))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("log %d (-want +got):\n%s", log, diff)
		}
	}
}

// Failing requests cannot fill the disk with log lines: a hundred are logged immediately, further
// requests are counted in the next line.
func TestRequests_LinesAreBounded(t *testing.T) {
	h, lines := logged(t, func(c *httpapi.Config) { c.LogRequests = httpapi.LogFailedRequests })
	const sent = 20000
	for range sent {
		ask(h, "GET", "/nowhere", "")
	}
	found := lines()
	reported := len(found)
	for _, line := range found {
		n, _ := line["unsaid"].(float64)
		reported += int(n)
	}
	if len(found) < 100 || len(found) > sent/2 || reported > sent {
		t.Errorf("%d lines which tell of %d requests out of %d", len(found), reported, sent)
	}
}

// Responses are counted by route and class of status; unknown paths do not add routes.
func TestRequests_Latencies(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil).(*httpapi.Handler)
	for range 3 {
		ask(h, "POST", "/flags/?v=2", good)
	}
	ask(h, "POST", "/flags?v=2", "{")
	for i := range 100 {
		ask(h, "GET", fmt.Sprintf("/array/phc_no%d/config", i), "")
		ask(h, "GET", fmt.Sprintf("/nowhere%d", i), "")
	}
	type count struct {
		Route, Class string
		Count        uint64
	}
	var got []count
	for _, l := range h.Latencies() {
		got = append(got, count{l.Route, l.Class, l.Count})
		if l.Sum <= 0 || len(l.Within) == 0 {
			t.Errorf("%s %s: sum %s, buckets %v", l.Route, l.Class, l.Sum, l.Within)
		}
		for bound, n := range l.Within {
			if n > l.Count {
				t.Errorf("%s: %d of %d within %v s", l.Route, n, l.Count, bound)
			}
		}
	}
	want := []count{{"/flags", "2xx", 3}, {"/flags", "4xx", 1}, {"/array/{token}/config", "4xx", 100}, {"other", "4xx", 100}}
	if diff := cmp.Diff(want, got, cmpopts.SortSlices(func(a, b count) bool { return a.Route+a.Class < b.Route+b.Class })); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}
