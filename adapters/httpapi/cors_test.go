package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

const Range = "https://shop.example"

// isPublic reports whether pages may read the responses of a route (§9.1).
func isPublic(path string) bool { return path != "/" && !strings.HasPrefix(path, "/_") }

// anyPath replaces the parameters of a route.
func anyPath(route string) string {
	return strings.NewReplacer("{token}", "phc_test", "{project}", "1", "{flag}", "settings").Replace(route)
}

// The page that sent a request may read every response of a public route, including errors.
func TestFlags_9_1_CORSOnEveryAnswer(t *testing.T) {
	w := sharedWorld(t)
	h := w.handler(t, nil, func(c *httpapi.Config) {
		c.RateLimits = httpapi.RateLimits{Token: httpapi.Rate{PerSecond: 1e-9, Burst: 3}}
	})
	check := func(name string, got *httptest.ResponseRecorder, status int) {
		t.Helper()
		if got.Code != status {
			t.Errorf("%s: status %d, want %d", name, got.Code, status)
		}
		header := got.Header()
		if header.Get("Access-Control-Allow-Origin") != Range || header.Get("Access-Control-Allow-Credentials") != "true" ||
			header.Get("Access-Control-Expose-Headers") != "x-posthog-rate-limit-warning" || !slices.Contains(header.Values("Vary"), "Origin") {
			t.Errorf("%s: %v", name, header)
		}
	}
	good := `{"api_key":"phc_test","distinct_id":"u1"}`
	for _, c := range []struct {
		name, method, path, text string
		status                   int
	}{
		{"200", "POST", "/flags?v=2", good, 200},
		{"400", "POST", "/flags?v=2", `{`, 400},
		{"401", "POST", "/flags?v=2", `{"api_key":"phc_unknown","distinct_id":"u1"}`, 401},
		{"402", "GET", "/flags/definitions?token=phc_limited", "", 402},
		{"403", "GET", "/flags/definitions?token=phc_other", "", 401},
		{"404", "POST", "/nowhere", "", 404},
		{"404 of a row", "GET", "/api/projects/2/feature_flags/nowhere/remote_config", "", 404},
		{"405", "PUT", "/flags", "", 405},
		{"405, unknown method", "PROPFIND", "/flags", "", 405},
		{"GET", "GET", "/flags?v=2", "", 200},
		{"HEAD", "HEAD", "/flags", "", 200},
		{"413", "POST", "/flags?v=2", strings.Repeat(" ", httpapi.DefaultMaxBody+1), 413},
	} {
		check(c.name, ask(h, c.method, c.path, c.text, "Origin", Range, "Authorization", "Bearer phs_limited"), c.status)
	}
	ask(h, "POST", "/flags?v=2", good)
	ask(h, "POST", "/flags?v=2", good)
	check("429", ask(h, "POST", "/flags?v=2", good, "Origin", Range), 429)
	h = w.handler(t, nil, nil)
	w.panicked = "a mistake"
	check("500", ask(h, "POST", "/flags?v=2", good, "Origin", Range), 500)
}

// A preflight request is allowed on every public route.
func TestFlags_9_1_Preflight(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil)
	for route := range httpapi.RoutesForTest() {
		w := ask(h, "OPTIONS", anyPath(route), "", "Origin", Range, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "content-type,x-custom")
		header := w.Header()
		if !isPublic(route) {
			if w.Code != 204 || header.Get("Access-Control-Allow-Origin") != "" || header.Get("Allow") == "" {
				t.Errorf("%s: %d %v", route, w.Code, header)
			}
			continue
		}
		if w.Code != 200 || w.Body.Len() > 0 ||
			header.Get("Access-Control-Allow-Origin") != Range ||
			header.Get("Access-Control-Allow-Credentials") != "true" ||
			header.Get("Access-Control-Allow-Methods") != "POST" ||
			header.Get("Access-Control-Allow-Headers") != "content-type,x-custom" {
			t.Errorf("%s: %d %v", route, w.Code, header)
		}
		// Without Access-Control-Request-Method it is an ordinary OPTIONS request.
		if w := ask(h, "OPTIONS", anyPath(route), "", "Origin", Range); w.Code != 204 || w.Header().Get("Allow") == "" {
			t.Errorf("%s: %d %v", route, w.Code, w.Header())
		}
	}
}

// Without an Origin the response has no CORS headers except Vary, and values that a middleware put
// into Vary remain.
func TestFlags_9_1_NoOrigin(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, nil)
	outer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		h.ServeHTTP(w, r)
		w.Header().Add("Vary", "X-Outer")
	})
	for range 2 { // the values of one request do not affect the next
		w := ask(outer, "GET", "/array/phc_test/config", "")
		if got, want := w.Header().Values("Vary"), []string{"Accept-Encoding", "Origin", "X-Outer"}; !slices.Equal(got, want) {
			t.Errorf("Vary %q, want %q", got, want)
		}
		for name := range w.Header() {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("%s without an Origin", name)
			}
		}
		if got := ask(h, "GET", "/flags", "").Header().Values("Vary"); !slices.Equal(got, []string{"Accept-Encoding", "Origin"}) {
			t.Errorf("Vary %q", got)
		}
	}
}

// HEAD responses have no body on the wire, for any status.
func TestFlags_9_1_HeadHasNoBody(t *testing.T) {
	s := httptest.NewServer(sharedWorld(t).handler(t, nil, nil))
	defer s.Close()
	paths := []string{"/nowhere"}
	for route := range httpapi.RoutesForTest() {
		paths = append(paths, anyPath(route))
	}
	for _, path := range paths {
		r, err := http.NewRequest("HEAD", s.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := exchange(t, s.Client(), r); got.Body.Len() > 0 || got.Code >= 500 {
			t.Errorf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}
