package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// longOffice returns an office with a project that has enough flags for responses above 1 KB.
func longOffice(t *testing.T) (o *office, key string) {
	t.Helper()
	o = newOffice(t, "sqlite::memory:")
	key = "Bearer " + o.key(t, "owner")
	for i := range 40 {
		body := fmt.Sprintf(`{"key": "long-%d", "name": "one of many", "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "\"a payload\""}}}`, i)
		if w := ask(o.handler, "POST", "/api/projects/1/feature_flags/", body, "Authorization", key); w.Code != 201 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	long := `{"key": "settings", "is_remote_configuration": true, "active": true, "filters": {"groups": [{"properties": [], "rollout_percentage": 100}], "payloads": {"true": "{\"text\":\"` + strings.Repeat("settings ", 300) + `\"}"}}}`
	if w := ask(o.handler, "POST", "/api/projects/1/feature_flags/", long, "Authorization", key); w.Code != 201 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return o, key
}

// Responses above 1 KB are compressed according to Accept-Encoding (RFC 9110 §12.5.3): with zstd if
// it is listed first, otherwise with gzip. Decompressed, they are the same bytes.
func TestHTTP_CompressedAnswers(t *testing.T) {
	o, key := longOffice(t)
	flagsBody := `{"api_key":"phc_1","distinct_id":"u1"}`
	for _, c := range []struct{ method, path, body, key string }{
		{"POST", "/flags?v=2", flagsBody, ""},
		{"POST", "/decide?v=4", flagsBody, ""},
		{"GET", "/flags/definitions?token=phc_1", "", key},
		{"GET", "/api/projects/1/feature_flags/local_evaluation/", "", key},
		{"POST", "/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":"u1"}}`, "Bearer phc_1"},
		{"GET", "/api/projects/1/feature_flags/", "", key},
		{"GET", "/api/projects/1/feature_flags/settings/remote_config", "", key},
		{"GET", "/api/projects/1/activity_log/", "", key},
		{"GET", "/api/projects/1/", "", key},
		{"GET", "/api/schema/", "", key},
	} {
		get := func(accepted string) *httptest.ResponseRecorder {
			headers := []string{"Authorization", c.key}
			if accepted != "" {
				headers = append(headers, "Accept-Encoding", accepted)
			}
			return ask(o.handler, c.method, c.path, c.body, headers...)
		}
		plain := get("")
		if plain.Code != 200 || plain.Header().Get("Content-Encoding") != "" || plain.Body.Len() < 1024 {
			t.Fatalf("%s: %d with %d bytes, %v", c.path, plain.Code, plain.Body.Len(), plain.Header())
		}
		for accepted, want := range map[string]string{
			"gzip": "gzip", "gzip, deflate, br, zstd": "gzip", "zstd, gzip": "zstd", "zstd": "zstd", "zstd;q=0.5, gzip;q=0.9": "gzip",
			"GZIP": "gzip", "ZStd, gzip": "zstd", "gzip;q=0, zstd": "zstd", "br, gzip;q=0.5": "gzip", "zstd;q=0, gzip": "gzip",
			"gzip;q=0": "", "identity": "", "br": "", "deflate, gzip;q=0, zstd;q=0": "",
		} {
			got := get(accepted)
			h := got.Header()
			if got.Code != 200 || h.Get("Content-Encoding") != want || !slices.Contains(h.Values("Vary"), "Accept-Encoding") {
				t.Errorf("%s with %q: %d %v, want %q", c.path, accepted, got.Code, h, want)
				continue
			}
			if want != "" && (got.Body.Len()*2 > plain.Body.Len() || h.Get("Content-Length") != "") {
				t.Errorf("%s with %q: %d bytes of %d, %v", c.path, accepted, got.Body.Len(), plain.Body.Len(), h)
			}
			unpacked := &httptest.ResponseRecorder{Body: bytes.NewBufferString(unpackedBody(t, got))}
			if withoutID(t, unpacked) != withoutID(t, plain) {
				t.Errorf("%s with %q is another answer: %.200s", c.path, accepted, unpacked.Body)
			}
			if h.Get("Etag") != plain.Header().Get("Etag") || h.Get("Etag") != "" && !strings.HasPrefix(h.Get("Etag"), "W/") {
				t.Errorf("%s with %q: ETag %s, plain %s", c.path, accepted, h.Get("Etag"), plain.Header().Get("Etag"))
			}
		}
		if tag := plain.Header().Get("Etag"); tag != "" {
			w := ask(o.handler, c.method, c.path, c.body, "Authorization", c.key, "Accept-Encoding", "gzip", "If-None-Match", tag)
			if w.Code != 304 || w.Body.Len() != 0 || w.Header().Get("Content-Encoding") != "" {
				t.Errorf("%s, known: %d %v", c.path, w.Code, w.Header())
			}
		}
	}
}

// Several lines of Accept-Encoding are one list (RFC 9110 §5.3).
func TestHTTP_CompressedByTheSecondLine(t *testing.T) {
	o, key := longOffice(t)
	for second, want := range map[string]string{"gzip": "gzip", "zstd": "zstd", "gzip;q=0": ""} {
		w := ask(o.handler, "GET", "/api/projects/1/feature_flags/", "", "Authorization", key, "Accept-Encoding", "br", "Accept-Encoding", second)
		if w.Code != 200 || w.Header().Get("Content-Encoding") != want {
			t.Errorf("br, then %s: %d %v", second, w.Code, w.Header())
		}
	}
}

// HEAD has the headers of GET also for compressed responses, including Content-Length (RFC 9110
// §8.6, §9.3.2). The test uses a connection, since net/http completes the headers.
func TestHTTP_CompressedHead(t *testing.T) {
	o, key := longOffice(t)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "array.js"), []byte(strings.Repeat("let a = 1;\n", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	scripts, err := httpapi.OpenPosthogJS(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = scripts.Close() }()
	s := o.serve(t, func(c *httpapi.Config) { c.PosthogJS = scripts })
	for _, path := range []string{
		"/flags/definitions?token=phc_1", "/api/projects/1/feature_flags/local_evaluation/", "/api/projects/1/feature_flags/", "/api/projects/1/feature_flags/settings/remote_config",
		"/api/projects/1/activity_log/", "/api/projects/1/", "/api/schema/", "/static/array.js", "/_liveness", "/api/projects/1/persons/nobody/", "/flags/definitions/stream?token=phc_1",
	} {
		for _, accepted := range []string{"identity", "gzip", "zstd"} {
			headers := func(method string) http.Header {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel() // a stream has no end
				r, err := http.NewRequestWithContext(ctx, method, s.URL+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Authorization", key)
				r.Header.Set("Accept-Encoding", accepted)
				res, err := s.Client().Do(r)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				out := res.Header.Clone()
				out.Set("Status", res.Status)
				for _, name := range []string{"Date", "X-Request-Id"} {
					out.Del(name)
				}
				return out
			}
			get, head := headers(http.MethodGet), headers(http.MethodHead)
			if diff := cmp.Diff(get, head); diff != "" {
				t.Errorf("HEAD %s with %s: headers (-GET +HEAD)\n%s", path, accepted, diff)
			}
			if long := path != "/_liveness" && !strings.Contains(path, "nobody") && !strings.Contains(path, "stream"); long && accepted != "identity" && head.Get("Content-Encoding") != accepted {
				t.Errorf("HEAD %s with %s: %v", path, accepted, head)
			}
		}
	}
}

// Some responses are not compressed: short responses, responses without a body or with a new secret
// (BREACH), and streams.
func TestHTTP_UncompressedAnswers(t *testing.T) {
	o, key := longOffice(t)
	long := strings.Repeat("n", 1500)
	for _, c := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/_liveness", "", 200},
		{"POST", "/flags?v=2", `{"api_key":"phc_1","distinct_id":"u1","flag_keys":["long-1"]}`, 200},
		{"POST", "/flags?v=2", `{`, 400},
		{"DELETE", "/api/projects/1/feature_flags/long-2/", "", 405},
		{"POST", "/api/personal_api_keys/", `{"label": "k", "scopes": ["feature_flag:read"], "scoped_teams": [], "scoped_organizations": []}`, 201},
		{"PATCH", "/api/projects/1/rotate_secret_token/", "", 200},
		{"PATCH", "/api/projects/2/reset_token/", "", 200},
		{"POST", "/api/organizations/@current/projects/", `{"name": "another"}`, 201},
		{"POST", "/api/organizations/@current/invites/", `{"target_email": "guest@example.com", "message": "` + long[:900] + `"}`, 201},
	} {
		w := ask(o.handler, c.method, c.path, c.body, "Authorization", key, "Accept-Encoding", "gzip")
		if w.Code != c.status || w.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s %s: %d %v %.100s", c.method, c.path, w.Code, w.Header(), w.Body)
		}
	}
	o.serve(t, func(c *httpapi.Config) {
		c.Backup = func(context.Context) (*httpapi.Backup, error) {
			return &httpapi.Backup{Name: "b.db", Size: 1500, Close: func() error { return nil }, Copy: func(_ context.Context, w io.Writer) error {
				_, err := io.WriteString(w, long)
				return err
			}}, nil
		}
	})
	o.ownAll(t) // allows a backup; a client checks the length of a backup
	if w := ask(o.handler, "POST", "/api/instance/backup/", "", "Authorization", key, "Accept-Encoding", "gzip"); w.Code != 200 || w.Body.String() != long || w.Header().Get("Content-Length") != "1500" {
		t.Errorf("backup: %d %v", w.Code, w.Header())
	}
	s := httptest.NewServer(o.handler)
	defer s.Close()
	r, err := http.NewRequest("GET", s.URL+"/flags/definitions/stream?token=phc_1", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", key)
	r.Header.Set("Accept-Encoding", "gzip")
	res, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 2000)
	_, err = io.ReadFull(res.Body, first)
	_ = res.Body.Close()
	if err != nil || res.Header.Get("Content-Encoding") != "" || !strings.HasPrefix(string(first), "retry: ") {
		t.Errorf("stream: %v %v %.100s", err, res.Header, first)
	}
}

// A panic in a compressed route is a 500.
func TestHTTP_CompressedPanic(t *testing.T) {
	w := sharedWorld(t)
	h := w.handler(t, nil, nil)
	w.panicked = "a mistake"
	defer func() { w.panicked = nil }()
	checkError(t, ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`, "Accept-Encoding", "gzip"), 500)
}
