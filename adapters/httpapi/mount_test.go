package httpapi_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/go-chi/chi/v5"
)

// mountings are the ways in which a service of its own may take the handler in.
var mountings = map[string]struct {
	prefix string
	mount  func(h http.Handler) http.Handler
}{
	"alone": {"", func(h http.Handler) http.Handler { return h }},
	"chi Mount": {"/ph", func(h http.Handler) http.Handler {
		r := chi.NewRouter()
		r.Mount("/ph", h)
		return r
	}},
	"chi Mount in a Mount with a parameter": {"/t/acme/ph", func(h http.Handler) http.Handler {
		inner := chi.NewRouter()
		inner.Mount("/ph", h)
		r := chi.NewRouter()
		r.Mount("/t/{token}", inner)
		return r
	}},
	"chi Handle and StripPrefix": {"/ph", func(h http.Handler) http.Handler {
		r := chi.NewRouter()
		r.Handle("/ph/*", http.StripPrefix("/ph", h))
		return r
	}},
	"net/http StripPrefix": {"/ph", func(h http.Handler) http.Handler {
		m := http.NewServeMux()
		m.Handle("/ph/", http.StripPrefix("/ph", h))
		return m
	}},
	"net/http at the root": {"", func(h http.Handler) http.Handler {
		m := http.NewServeMux()
		m.Handle("/", h)
		return m
	}},
}

// The routes, their parameters, and the answers to what is not there are the
// same wherever the handler is mounted.
func TestHTTP_Mounting(t *testing.T) {
	shared := sharedWorld(t)
	for name, m := range mountings {
		t.Run(name, func(t *testing.T) {
			h := m.mount(shared.handler(t, nil, nil))
			for _, slash := range []string{"", "/"} {
				got := decoded(t, ask(h, "POST", m.prefix+"/flags"+slash+"?v=2", `{"api_key":"phc_test","distinct_id":"u1"}`))
				if got.Status != 200 || !got.on("plain") {
					t.Errorf("/flags%s: %+v", slash, got)
				}
			}
			for path, wanted := range map[string]string{
				"/_liveness": "ok\n",
				"/api/projects/%40current/feature_flags/a%2Fb%20%22c%22%20%C3%A9/remote_config": "1",
			} {
				w := ask(h, "GET", m.prefix+path, "", "Authorization", "Bearer phs_test")
				if w.Code != 200 || w.Body.String() != wanted && w.Body.String() != `"`+wanted+`"` {
					t.Errorf("%s: %d %s", path, w.Code, w.Body)
				}
			}
			if w := ask(h, "GET", m.prefix+"/flags/definitions?token=phc_test", "", "Authorization", "Bearer phs_test"); w.Code != 200 {
				t.Errorf("definitions: %d %s", w.Code, w.Body)
			}
			var config struct {
				Token string `json:"token"`
			}
			if decodeJSON(t, ask(h, "GET", m.prefix+"/array/phc_test/config", "").Body.Bytes(), &config); config.Token != "phc_test" {
				t.Errorf("the token of the path is read as %q", config.Token)
			}
			checkError(t, ask(h, "GET", m.prefix+"/nowhere", ""), 404)
			if w := ask(h, "DELETE", m.prefix+"/flags", ""); w.Header().Get("Allow") != "GET, POST, OPTIONS, HEAD" {
				t.Errorf("Allow %q", w.Header().Get("Allow"))
			}
		})
	}
}

// Two handlers in one process share nothing.
func TestHTTP_TwoHandlers(t *testing.T) {
	one, two := sharedWorld(t), sharedWorld(t)
	delete(two.projects, "phc_other")
	r := chi.NewRouter()
	r.Mount("/one", one.handler(t, nil, nil))
	r.Mount("/two", two.handler(t, nil, func(c *httpapi.Config) {
		c.MaxBody = 60
		c.RateLimits = httpapi.RateLimits{IP: httpapi.Rate{PerSecond: 1e-9, Burst: 1}}
	}))
	const text = `{"api_key":"phc_other","distinct_id":"u1"}`
	for range 3 {
		if w := ask(r, "POST", "/one/flags?v=2", text); w.Code != 200 {
			t.Errorf("one: %d %s", w.Code, w.Body)
		}
	}
	checkError(t, ask(r, "POST", "/two/flags?v=2", text), 401)
	checkError(t, ask(r, "POST", "/two/flags?v=2", text), 429)
}

// A router around the handler may bound bodies more tightly than it does.
func TestHTTP_OuterBodyLimit(t *testing.T) {
	h := http.MaxBytesHandler(sharedWorld(t).handler(t, nil, nil), 10)
	s := httptest.NewServer(h)
	defer s.Close()
	for _, length := range []int64{41, -1} {
		r, err := http.NewRequest("POST", s.URL+"/flags?v=2", io.MultiReader(body(`{"api_key":"phc_test","distinct_id":"u1"}`)))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		checkError(t, exchange(t, s.Client(), r), 413)
	}
}

// A Decider is all that a handler needs; without one there is none.
func TestHTTP_New(t *testing.T) {
	if _, err := httpapi.New(httpapi.Config{}); err == nil {
		t.Error("no error without a Decider")
	}
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.Keys, c.NewID = nil, nil })
	checkError(t, ask(h, "GET", "/flags/definitions?token=phc_test", "", "Authorization", "Bearer phs_test"), 401)
	checkError(t, ask(h, "GET", "/metrics", ""), 404)
	seen := map[string]bool{}
	for range 20 {
		got := decideFlags(t, h, `{"api_key":"phc_test","distinct_id":"u1"}`)
		id := got.RequestID
		if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[14] != '4' || id[18] != '-' || id[23] != '-' || seen[id] {
			t.Errorf("request id %q", id)
		}
		seen[id] = true
	}
}
