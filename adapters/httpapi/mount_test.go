package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The routes, their parameters, and the responses for missing paths do not depend on where the
// handler is mounted.
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
			for path, wantBody := range map[string]string{
				"/_liveness": "ok\n",
				"/api/projects/%40current/feature_flags/a%2Fb%20%22c%22%20%C3%A9/remote_config": "1",
			} {
				w := ask(h, "GET", m.prefix+path, "", "Authorization", "Bearer phs_test")
				if w.Code != 200 || w.Body.String() != wantBody && w.Body.String() != `"`+wantBody+`"` {
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

// The handler's links to itself are valid wherever it is mounted.
func TestHTTP_MountedLinks(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	service, err := rooms.Open(rooms.Config{Store: o.store.Management()}) // without a SiteURL
	if err != nil {
		t.Fatal(err)
	}
	o.serve(t, func(c *httpapi.Config) { c.Management = service })
	key, guests := "Bearer "+o.key(t, "owner"), 0
	for name, m := range mountings {
		t.Run(name, func(t *testing.T) {
			h := m.mount(o.handler)
			get := func(path string, header ...string) string {
				t.Helper()
				w := ask(h, "GET", path, "", append(header, "Authorization", key)...)
				if w.Code != 200 {
					t.Fatalf("%s: %d %s", path, w.Code, w.Body)
				}
				return w.Body.String()
			}
			var list struct{ Next, Previous *string }
			decodeJSON(t, []byte(get(m.prefix+"/api/organizations/@current/members/?limit=1")), &list)
			if want := "http://example.com" + m.prefix + "/api/organizations/@current/members/?limit=1&offset=1"; list.Next == nil || *list.Next != want {
				t.Errorf("the next page: %v, want %s", list.Next, want)
			}
			get(strings.TrimPrefix(*list.Next, "http://example.com"))
			var schema struct{ Servers []struct{ URL string } }
			if decodeJSON(t, []byte(get(m.prefix+"/api/schema/")), &schema); len(schema.Servers) != 1 || schema.Servers[0].URL != m.prefix+"/" {
				t.Errorf("the description names %v", schema.Servers)
			}
			var root struct{ Links map[string]string }
			if decodeJSON(t, []byte(get(m.prefix+"/")), &root); root.Links["flags"] != m.prefix+"/flags" {
				t.Errorf("the root names %v", root.Links)
			}
			guests++
			w := ask(h, "POST", m.prefix+"/api/organizations/@current/invites/", fmt.Sprintf(`{"target_email": "guest%d@example.com"}`, guests), "Authorization", key)
			var invite struct {
				URL string `json:"accept_url"`
			}
			if decodeJSON(t, w.Body.Bytes(), &invite); w.Code != 201 || !strings.HasPrefix(invite.URL, "http://example.com"+m.prefix+"/signup/") {
				t.Errorf("an invitation: %d %s", w.Code, w.Body)
			}
		})
	}
}

// Two handlers in one process share no state.
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

// A router around the handler may have a lower limit for bodies.
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

// A handler needs only a Decider; New returns an error without one.
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

// A browser at the root of a handler gets valid links, with and without the trailing slash.
func TestHTTP_MountedPage(t *testing.T) {
	r := chi.NewRouter()
	r.Mount("/a/ph", sharedWorld(t).handler(t, nil, nil))
	for path, want := range map[string]string{"/a/ph/": `href="./flags"`, "/a/ph": `href="./ph/flags"`} {
		if w := ask(r, "GET", path, "", "Accept", "text/html"); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d, no %s in %s", path, w.Code, want, w.Body)
		}
	}
}

// A path with the form of another host is not used as a host in links.
func TestHTTP_MountedPrefixNamesNoHost(t *testing.T) {
	h := handled("/{a}/{b}/ph/")(sharedWorld(t).handler(t, nil, nil))
	q := httptest.NewRequest("GET", "/x/evil.example/ph/", nil)
	q.RequestURI = "//evil.example/ph/"
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	if w.Code != 200 || strings.Contains(w.Body.String(), "evil") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// A handler for events only needs no flags, and one for flags needs no store.
func TestHTTP_CaptureOnly(t *testing.T) {
	l := newLab(t, "{}")
	h, err := httpapi.New(httpapi.Config{Intake: l.intake})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/batch", `{"api_key": "phc_x", "batch": [{"event": "e", "distinct_id": "d"}]}`, 200},
		{"POST", "/i/v0/e", `{"api_key": "phc_nobody", "event": "e", "distinct_id": "d"}`, 401},
		{"GET", "/", "", 200}, {"GET", "/_readiness", "", 200}, {"GET", "/static/array.js", "", 200},
		{"POST", "/flags?v=2", `{"api_key": "phc_x", "distinct_id": "d"}`, 404},
		{"GET", "/array/phc_x/config", "", 404}, {"GET", "/api/surveys/?token=phc_x", "", 404},
		{"POST", "/ofrep/v1/evaluate/flags", "{}", 404},
	} {
		w := ask(h, tt.method, tt.path, tt.body)
		if w.Code != tt.status || tt.path == "/" && strings.Contains(w.Body.String(), "/flags") {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, w.Code, w.Body)
		}
	}
	if got := l.intake.Stats().Accepted; got != 1 {
		t.Errorf("%d events were accepted", got)
	}
	if _, err := httpapi.New(httpapi.Config{Intake: l.intake, Management: &rooms.Rooms{Service: &management.Service{}}}); err == nil {
		t.Error("management without flags")
	}
}

// A service can take request ids from its middleware.
func TestHTTP_NewID(t *testing.T) {
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) {
		c.NewID = func(r *http.Request) string { return r.Header.Get("Traceparent") }
	})
	for trace, want := range map[string]int{"4bf92f3577b34da6a3ce929d0e0e4736": 32, "no id\r\nat all": 36, "": 36} {
		if id := ask(h, "GET", "/_liveness", "", "Traceparent", trace).Header().Get("X-Request-Id"); len(id) != want || want == 32 && id != trace {
			t.Errorf("%q is named %q", trace, id)
		}
	}
}

// frame.CutPattern returns a path that consists of whole segments of the original, and removes as many
// segments as the pattern has.
func FuzzCutPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"/ph/flags", "/ph/"}, {"/ph", "/ph/"}, {"/t/a%2Fb/ph/x", "GET example.com/t/{t}/ph/{rest...}"}, {"/ph/flags", "/ph/*"},
		{"//flags", "/{a}/{b}/"}, {"/%zz/x", "/{a}/"}, {"", "/a/"}, {"/a", ""}, {"/a/", "/*"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, path, pattern string) {
		rest, ok := httpapi.CutPattern(path, pattern)
		if !ok {
			if rest != "" {
				t.Errorf("%q of %q is no cut and leaves %q", pattern, path, rest)
			}
			return
		}
		if !strings.HasPrefix(rest, "/") || !strings.HasSuffix("/"+path+"/", rest) && !strings.HasSuffix(path, rest) && rest != "/" {
			t.Errorf("%q without %q is %q", path, pattern, rest)
		}
		_, pattern, _ = strings.Cut(pattern, "/")
		if cut := strings.Count(path, "/") - strings.Count(rest, "/"); cut > strings.Count(pattern, "/") {
			t.Errorf("%q takes %d parts of %q away", pattern, cut, path)
		}
	})
}
