package httpapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/serving"
)

// never returns a rate that does not refill within a test.
func never(burst int) httpapi.Rate { return httpapi.Rate{PerSecond: 1e-9, Burst: burst} }

func withReadLimits(t *testing.T, limits httpapi.RateLimits, logger *slog.Logger) http.Handler {
	return sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.RateLimits, c.Logger = limits, logger })
}

const warning = "X-PostHog-Rate-Limit-Warning"

func checkLimited(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	problem := checkError(t, w, 429)
	if problem["type"] != "validation_error" || problem["code"] != "rate_limit_exceeded" || problem["detail"] != "Rate limit exceeded" {
		t.Errorf("%v", problem)
	}
	if w.Header().Get("Retry-After") == "" || w.Header().Get(warning) != "true" {
		t.Errorf("headers %v", w.Header())
	}
}

// The defaults are the limits of §10.2; the zero value disables limits.
func TestFlags_10_2_Defaults(t *testing.T) {
	want := httpapi.RateLimits{
		Token: httpapi.Rate{PerSecond: 10, Burst: 625}, IP: httpapi.Rate{PerSecond: 50, Burst: 1250},
		Definitions: httpapi.Rate{PerSecond: 10, Burst: 600}, RemoteConfig: httpapi.Rate{PerSecond: 10, Burst: 600},
	}
	if got := httpapi.DefaultRateLimits(); got != want {
		t.Errorf("%+v", got)
	}
	h := withReadLimits(t, httpapi.RateLimits{}, nil)
	for range 2000 {
		if w := ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u","flag_keys":[]}`); w.Code != 200 || w.Header().Get(warning) != "" {
			t.Fatal(w.Code, w.Header())
		}
	}
}

// Each token has a bucket; from 80 % on responses have a warning; a request without a token counts
// for its address; GET, HEAD and OPTIONS are not counted.
func TestFlags_10_2_PerToken(t *testing.T) {
	h := withReadLimits(t, httpapi.RateLimits{Token: never(10)}, nil)
	for i := 1; i <= 10; i++ {
		w := ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`)
		// The eighth is on the boundary: the clock that refills the bucket continues to run.
		if warned := w.Header().Get(warning) == "true"; w.Code != 200 || i != 8 && warned != (i > 8) {
			t.Errorf("request %d: %d, warned %v", i, w.Code, warned)
		}
	}
	checkLimited(t, ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`))
	checkLimited(t, ask(h, "POST", "/decide?v=3", `{"token":"phc_test","distinct_id":"u1"}`))
	if w := ask(h, "POST", "/flags?v=2", `{"api_key":"phc_other","distinct_id":"u1"}`); w.Code != 200 {
		t.Errorf("another token: %d", w.Code)
	}
	for range 10 {
		checkError(t, ask(h, "POST", "/flags?v=2", `{`), 400)
	}
	checkLimited(t, ask(h, "POST", "/flags?v=2", `{`))
	for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
		for range 10 {
			if w := ask(h, method, "/flags", ""); w.Code >= 300 {
				t.Fatal(method, w.Code)
			}
		}
	}
}

// A project key may have its own rate, in the notation of §10.2; at most 100 keys may.
func TestFlags_10_2_RatesOfKeys(t *testing.T) {
	for text, want := range map[string]httpapi.Rate{
		"1200/minute": {PerSecond: 20, Burst: 1200}, "5/second": {PerSecond: 5, Burst: 5}, "7200 / hour": {PerSecond: 2, Burst: 7200},
	} {
		if got, err := httpapi.ParseRate(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "5", "/minute", "0/minute", "-1/minute", "5/moment", "five/minute", "1.5/minute"} {
		if got, err := httpapi.ParseRate(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) {
		c.RateLimits, c.TokenRates = httpapi.RateLimits{Token: never(2)}, map[string]httpapi.Rate{"phc_other": never(4)}
	})
	for key, burst := range map[string]int{"phc_test": 2, "phc_other": 4} {
		body := `{"api_key":"` + key + `","distinct_id":"u1"}`
		for i := range burst {
			if w := ask(h, "POST", "/flags?v=2", body); w.Code != 200 {
				t.Errorf("%s, request %d: %d", key, i+1, w.Code)
			}
		}
		checkLimited(t, ask(h, "POST", "/flags?v=2", body))
	}
	many := map[string]httpapi.Rate{}
	for i := range 101 {
		many[strconv.Itoa(i)] = never(1)
	}
	d, err := serving.NewDecider(serving.Config{Source: serving.StaticSource("phc_x", flags.Project{}, flags.Definitions{})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := httpapi.New(httpapi.Config{Decider: d, TokenRates: many}); err == nil {
		t.Error("101 keys have rates of their own")
	}
}

// The limit is checked before the token and the distinct id (§9.10).
func TestFlags_9_10_LimitsComeFirst(t *testing.T) {
	h := withReadLimits(t, httpapi.RateLimits{Token: never(1)}, nil)
	checkError(t, ask(h, "POST", "/flags?v=2", `{"api_key":"phc_unknown"}`), 401)
	checkLimited(t, ask(h, "POST", "/flags?v=2", `{"api_key":"phc_unknown"}`))
	h = withReadLimits(t, httpapi.RateLimits{IP: never(1)}, nil)
	checkError(t, ask(h, "POST", "/flags?v=2", `{`), 400)
	checkLimited(t, ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`))
}

// from sends a request from a peer, with a forwarded header unless that is empty.
func from(h http.Handler, peer, forwarded string) int {
	r := httptest.NewRequest("POST", "/flags?v=2", strings.NewReader(`{"api_key":"phc_test","distinct_id":"u1"}`))
	r.RemoteAddr = peer
	if forwarded != "" {
		r.Header.Set("X-Forwarded-For", forwarded)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// Only trusted proxies can set the address that a limit counts, and they are read from the right
// (decision 7).
func TestFlags_Decision7_LimitedAddress(t *testing.T) {
	for name, c := range map[string]struct {
		first, firstFor, second, secondFor string
		same                               bool
	}{
		"a stranger names others":            {"203.0.113.7:1", "198.51.100.1", "203.0.113.7:2", "198.51.100.2", true},
		"a proxy names its clients":          {"10.0.0.1:1", "198.51.100.1", "10.0.0.1:1", "198.51.100.2", false},
		"two proxies name one":               {"10.0.0.1:1", "198.51.100.1", "10.0.0.2:1", "198.51.100.1", true},
		"the client wrote the left":          {"10.0.0.1:1", "192.0.2.1, 198.51.100.1", "10.0.0.1:1", "192.0.2.2, 198.51.100.1", true},
		"garbage counts as the proxy":        {"10.0.0.1:1", "\x00\xff, ,,", "10.0.0.1:1", "not an address", true},
		"the literal header is no proxy's":   {"203.0.113.7:1", "", "203.0.113.7:2", "", true},
		"a unix socket is one client":        {"@", "198.51.100.1", "@", "198.51.100.2", true},
		"version 6 and 4 of one address":     {"203.0.113.7:1", "", "[::ffff:203.0.113.7]:1", "", true},
		"different strangers are different":  {"203.0.113.7:1", "", "203.0.113.8:1", "", false},
		"a proxy without a header is itself": {"10.0.0.1:1", "", "10.0.0.2:1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			h := withReadLimits(t, httpapi.RateLimits{IP: never(1)}, nil)
			if got := from(h, c.first, c.firstFor); got != 200 {
				t.Fatalf("first: %d", got)
			}
			if got := from(h, c.second, c.secondFor); (got == 429) != c.same {
				t.Errorf("second: %d", got)
			}
		})
	}
}

// Definitions are limited by project, remote configuration by key, both after the key has been
// checked (§1.8).
func TestFlags_10_2_DefinitionsAndRemoteConfig(t *testing.T) {
	h := withReadLimits(t, httpapi.RateLimits{Definitions: never(2), RemoteConfig: never(2)}, nil)
	definitions := func(key string) *httptest.ResponseRecorder {
		return ask(h, "GET", "/flags/definitions?token=phc_test", "", "Authorization", "Bearer "+key)
	}
	for range 5 {
		checkError(t, definitions("phx_unknown"), 401)
	}
	tag := definitions("phs_test").Header().Get("ETag")
	if w := ask(h, "GET", "/flags/definitions?token=phc_test", "", "Authorization", "Bearer phx_read", "If-None-Match", tag); w.Code != 304 {
		t.Errorf("%d", w.Code)
	}
	checkLimited(t, definitions("phx_all"))
	if w := ask(h, "GET", "/flags/definitions?token=phc_empty", "", "Authorization", "Bearer phs_empty"); w.Code != 200 {
		t.Errorf("another project: %d", w.Code)
	}
	remote := func(key string) *httptest.ResponseRecorder {
		return ask(h, "GET", "/api/projects/1/feature_flags/settings/remote_config", "", "Authorization", "Bearer "+key)
	}
	for range 2 {
		if w := remote("phx_read"); w.Code != 200 {
			t.Errorf("%d", w.Code)
		}
	}
	checkLimited(t, remote("phx_read"))
	if w := remote("phx_all"); w.Code != 200 {
		t.Errorf("another key: %d", w.Code)
	}
	if w := ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`); w.Code != 200 {
		t.Errorf("/flags: %d", w.Code)
	}
}

// In log-only mode requests over the limit are logged and get a warning, but are served.
func TestFlags_10_2_LogOnly(t *testing.T) {
	var log bytes.Buffer
	h := withReadLimits(t, httpapi.RateLimits{Token: never(1), LogOnly: true}, slog.New(slog.NewTextHandler(&log, nil)))
	for range 3 {
		w := ask(h, "POST", "/flags?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`)
		if w.Code != 200 || w.Header().Get(warning) != "true" {
			t.Errorf("%d %v", w.Code, w.Header())
		}
	}
	if got := strings.Count(log.String(), `msg="rate limit exceeded, request allowed because limits are only logged" limit=token key=phc_test`); got != 2 {
		t.Errorf("%d lines: %s", got, log.String())
	}
	// Personal keys are secrets and must not be in the log.
	log.Reset()
	h = withReadLimits(t, httpapi.RateLimits{RemoteConfig: never(1), LogOnly: true}, slog.New(slog.NewTextHandler(&log, nil)))
	for range 2 {
		ask(h, "GET", "/api/projects/1/feature_flags/settings/remote_config", "", "Authorization", "Bearer phx_read")
	}
	if got := log.String(); !strings.Contains(got, "limit=remote_config") || strings.Contains(got, "phx_read") {
		t.Errorf("%s", got)
	}
}

// The memory for rate limits is small: 64 tokens of a megabyte each are not stored, and count for
// the address that sends them.
func TestFlags_10_2_LongTokensAreNotRemembered(t *testing.T) {
	h := withReadLimits(t, httpapi.RateLimits{Token: never(1000)}, nil)
	long := strings.Repeat("x", 1<<20)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 64 {
		checkError(t, ask(h, "POST", "/flags?v=2", fmt.Sprintf(`{"api_key":"%d%s"}`, i, long)), 401)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 20<<20 {
		t.Errorf("%d MB are kept", grown>>20)
	}
	h = withReadLimits(t, httpapi.RateLimits{Token: never(1)}, nil)
	checkError(t, ask(h, "POST", "/flags?v=2", `{"api_key":"a`+long+`"}`), 401)
	checkLimited(t, ask(h, "POST", "/flags?v=2", `{"api_key":"b`+long+`"}`))
}
