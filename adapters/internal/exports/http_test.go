package exports_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/exports"
	"github.com/bunting-flags/bunting/management/batchexports"
)

// fakeReceiver is a server that sends its responses one after the other, repeats the last one, and
// records the bodies of requests.
type fakeReceiver struct {
	*httptest.Server
	calls  atomic.Int32
	bodies chan []byte
}

func newFakeReceiver(t *testing.T, answers ...http.HandlerFunc) *fakeReceiver {
	a := &fakeReceiver{bodies: make(chan []byte, 100)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.bodies <- body
		n := int(a.calls.Add(1))
		answers[min(n, len(answers))-1](w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

func status(code int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, `{"detail":"said by the server"}`)
	}
}

func httpConfig(url string) map[string]any { return map[string]any{"url": url, "token": "phc_s3cret"} }

func newRunner() *exports.Runner { return exports.New(exports.Config{Allowed: loopback}) }

func TestHTTP_Batches(t *testing.T) {
	a := newFakeReceiver(t, status(200))
	done := run(t, newRunner(), job("HTTP", httpConfig(a.URL+"/batch/"), 2500))
	if done.Rows != 2500 || a.calls.Load() != 3 {
		t.Errorf("%d rows in %d requests, want 2500 in 3", done.Rows, a.calls.Load())
	}
	var sent int64
	seen := map[string]bool{}
	for range 3 {
		raw := <-a.bodies
		sent += int64(len(raw))
		var body struct {
			Key   string           `json:"api_key"`
			Old   *bool            `json:"historical_migration"`
			Batch []map[string]any `json:"batch"`
		}
		if err := json.Unmarshal(raw, &body); err != nil {
			t.Fatal(err)
		}
		if body.Key != "phc_s3cret" || body.Old == nil || !*body.Old || len(body.Batch) > 1000 {
			t.Errorf("key %q, historical %v, %d events", body.Key, body.Old, len(body.Batch))
		}
		for _, e := range body.Batch {
			seen[e["uuid"].(string)] = true
		}
		if len(seen) == 1000 {
			want := map[string]any{
				"uuid": uuid(1), "event": "page viewed", "distinct_id": "user-1", "timestamp": "2026-01-01T10:00:00.000001Z",
				"properties": map[string]any{"n": 1., "$geoip_disable": true, "$ip": nil},
			}
			if diff := cmp.Diff(want, body.Batch[1]); diff != "" {
				t.Error(diff)
			}
		}
	}
	if len(seen) != 2500 || sent != done.Bytes {
		t.Errorf("%d different events and %d bytes, done %+v", len(seen), sent, done)
	}
}

// Events of the last two days are not marked as a migration (decision 16), and large events are
// sent in small batches.
func TestHTTP_RecentAndLarge(t *testing.T) {
	a := newFakeReceiver(t, status(200))
	var rows [][]any
	for i := range 5 {
		values := make([]any, len(columns))
		row(values, i)
		values[3] = time.Now()
		values[4] = json.RawMessage(`{"a":"` + strings.Repeat("a", 900_000) + `"}`)
		rows = append(rows, values)
	}
	run(t, newRunner(), jobOf(job("HTTP", httpConfig(a.URL), 0), rows...))
	if n := a.calls.Load(); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	if body := <-a.bodies; len(body) > 3<<20 || strings.Contains(string(body[:200]), "historical") {
		t.Errorf("%d bytes: %.200s", len(body), body)
	}
}

func TestHTTP_Answers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []http.HandlerFunc
		text    string // of the error, empty if there is no error
		lasts   bool
		calls   int32
	}{
		{"a bad request", []http.HandlerFunc{status(400)}, "answers 400: said by the server", true, 1},
		{"a bad token", []http.HandlerFunc{status(401)}, "does not take the token", true, 1},
		{"nothing there", []http.HandlerFunc{status(404)}, "answers 404", true, 1},
		{"too large", []http.HandlerFunc{status(413)}, "answers 413", true, 1},
		{"not modified", []http.HandlerFunc{status(304)}, "answers 304", true, 1},
		{"busy, then well", []http.HandlerFunc{status(503, "Retry-After", "1"), status(200)}, "", false, 2},
		{"limited, then well", []http.HandlerFunc{status(429, "Retry-After", time.Now().Add(2*time.Second).UTC().Format(http.TimeFormat)), status(200)}, "", false, 2},
		{"broken, then well", []http.HandlerFunc{status(500), status(200)}, "", false, 2},
		{"busy for an hour", []http.HandlerFunc{status(503, "Retry-After", "3600")}, "answers 503", false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := newFakeReceiver(t, tt.answers...)
			_, err := newRunner().Run(t.Context(), job("HTTP", httpConfig(a.URL), 3))
			if tt.text != "" {
				wantError(t, err, tt.text, tt.lasts)
			} else if err != nil {
				t.Error(err)
			}
			if n := a.calls.Load(); n != tt.calls {
				t.Errorf("%d requests, want %d", n, tt.calls)
			}
			first := <-a.bodies
			for range a.calls.Load() - 1 {
				if diff := cmp.Diff(string(first), string(<-a.bodies)); diff != "" {
					t.Error("the request changed:", diff)
				}
			}
		})
	}
}

func TestHTTP_Redirects(t *testing.T) {
	good := newFakeReceiver(t, status(200))
	for _, tt := range []struct {
		name, text string
		answers    []http.HandlerFunc
	}{
		{"with the body", "", []http.HandlerFunc{status(307, "Location", good.URL)}},
		{"for good", "", []http.HandlerFunc{status(308, "Location", "/again"), status(308, "Location", good.URL)}},
		{"without the body", "loses the request's body", []http.HandlerFunc{status(302, "Location", good.URL)}},
		{"for ever", "redirects more than 3 times", []http.HandlerFunc{status(307, "Location", "/again")}},
		{"to a private network", "is not public, and this server does not allow it", []http.HandlerFunc{status(307, "Location", "http://10.0.0.1/batch/")}},
		{"to metadata", "is not public, and this server does not allow it", []http.HandlerFunc{status(307, "Location", "http://169.254.169.254/latest/")}},
		{"to a file", "unsupported protocol scheme", []http.HandlerFunc{status(307, "Location", "file:///etc/passwd")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := newFakeReceiver(t, tt.answers...)
			_, err := newRunner().Run(t.Context(), job("HTTP", httpConfig(a.URL), 3))
			if tt.text == "" {
				if err != nil {
					t.Fatal(err)
				}
				var first, last any
				_ = json.Unmarshal(<-a.bodies, &first)
				_ = json.Unmarshal(<-good.bodies, &last)
				if diff := cmp.Diff(first, last); diff != "" {
					t.Error(diff)
				}
				return
			}
			wantError(t, err, tt.text, tt.name != "to a file")
			if n := a.calls.Load(); n > 4 {
				t.Errorf("%d requests", n)
			}
		})
	}
	secure := httptest.NewTLSServer(status(307, "Location", good.URL))
	defer secure.Close()
	roots := secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	_, err := exports.New(exports.Config{Allowed: loopback, RootCAs: roots}).Run(t.Context(), job("HTTP", httpConfig(secure.URL), 3))
	wantError(t, err, "from https to http", true)
	_, err = newRunner().Run(t.Context(), job("HTTP", httpConfig(secure.URL), 3))
	wantError(t, err, "certificate is not trusted", true)
}

func TestHTTP_Rejected(t *testing.T) {
	a := newFakeReceiver(t, status(200))
	persons := job("HTTP", httpConfig(a.URL), 1)
	persons.Model = "persons"
	few := job("HTTP", httpConfig(a.URL), 1)
	few.Columns = []batchexports.Column{{Name: "event"}}
	for name, tt := range map[string]struct {
		runner *exports.Runner
		job    *batchexports.Job
		text   string
		lasts  bool
	}{
		"private":     {exports.New(exports.Config{}), job("HTTP", httpConfig(a.URL), 1), "is not public, and this server does not allow it", true},
		"by name":     {exports.New(exports.Config{}), job("HTTP", httpConfig(strings.Replace(a.URL, "127.0.0.1", "localhost", 1)), 1), "is not public, and this server does not allow it", true},
		"persons":     {newRunner(), persons, "HTTP batch exports only support the events model", true},
		"few columns": {newRunner(), few, "need the columns", true},
		"no url":      {newRunner(), job("HTTP", map[string]any{"token": "x"}, 1), "missing required field: 'url'", true},
		"no token":    {newRunner(), job("HTTP", map[string]any{"url": a.URL}, 1), "missing required field: 'token'", true},
		"a file":      {newRunner(), job("HTTP", httpConfig("file:///etc/passwd"), 1), "not an http or https URL", true},
		"nobody":      {newRunner(), job("HTTP", httpConfig("http://127.0.0.1:1/batch/"), 1), "connection refused", false},
	} {
		_, err := tt.runner.Run(t.Context(), tt.job)
		t.Run(name, func(t *testing.T) { wantError(t, err, tt.text, tt.lasts) })
	}
	if a.calls.Load() != 0 {
		t.Error("the server was asked")
	}
}

func TestHTTP_Silent(t *testing.T) {
	a := newFakeReceiver(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	r := exports.New(exports.Config{Allowed: loopback, Timeout: 200 * time.Millisecond})
	_, err := r.Run(t.Context(), job("HTTP", httpConfig(a.URL), 1))
	wantError(t, err, "timeout", false)
}

func TestHTTP_Secrets(t *testing.T) {
	echo := newFakeReceiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(400)
		_, _ = fmt.Fprint(w, `{"detail":"phc_s3cret is bad, and so is pa%20ss"}`)
	})
	config := httpConfig(strings.Replace(echo.URL, "http://", "http://ann:pa%20ss@", 1))
	_, err := newRunner().Run(t.Context(), job("HTTP", config, 1))
	wantError(t, err, "*** is bad, and so is ***", true)
	config["url"] = "http://ann:pa%20ss@127.0.0.1:1/batch/?key=phc_s3cret"
	_, err = newRunner().Run(t.Context(), job("HTTP", config, 1))
	wantError(t, err, "connection refused", false)
	wantNoSecret(t, err, "phc_s3cret", "pa%20ss", "pa ss")
	config["token"] = []string{"phc_s3cret"}
	_, err = newRunner().Run(t.Context(), job("HTTP", config, 1))
	wantError(t, err, "token", true)
	wantNoSecret(t, err, "phc_s3cret")
}

func TestHTTP_Steps(t *testing.T) {
	d := destination("HTTP", httpConfig(newFakeReceiver(t, status(400), status(200)).URL))
	allSteps(t, newRunner(), d, nil)
	d = destination("HTTP", httpConfig(newFakeReceiver(t, status(401)).URL))
	wantError(t, newRunner().Test(t.Context(), d, 1), "does not take the token", true)
	d = destination("HTTP", httpConfig("http://127.0.0.1:1/"))
	wantError(t, newRunner().Test(t.Context(), d, 0), "The test step failed with an unknown error: ", true)
	wantError(t, exports.New(exports.Config{}).Test(t.Context(), d, 0), "not public", true)
	wantError(t, newRunner().Test(t.Context(), destination("HTTP", nil), 0), "The test step cannot run as it's not configured.", true)
}
