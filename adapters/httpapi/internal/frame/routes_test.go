package frame

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/management"
)

// plainServer returns a server without data and without a log.
func plainServer() *Server {
	return &Server{Logger: slog.New(slog.DiscardHandler), MaxBody: 1 << 20}
}

// serveRows sends a request to a server with a table of endpoints.
func serveRows(s *Server, table []Endpoint, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.Observe(s.Router(table, nil, nil)).ServeHTTP(w, r)
	return w
}

// bodyOf returns a handler that writes a body as text.
func bodyOf(text string) Handler {
	return func(w http.ResponseWriter, _ *http.Request) error { return Send(w, PlainText, []byte(text)) }
}

// Every route is served with and without its slash at the end. HEAD has the response of GET (decision
// 41), and a method that a path does not have is 405 with the methods that it has.
func TestRoutes_Methods(t *testing.T) {
	t.Parallel()
	table := append(Serving(ForMonitors, "/m", Methods{"GET": bodyOf("m"), "DELETE": bodyOf("d")}), Serving(ForSDKs, "/sdk", Methods{"POST": bodyOf("p"), "GET": bodyOf("g")})...)
	table = append(table, Serving(ForIntake, "/e", Methods{"POST": bodyOf("p"), "GET": bodyOf("g"), "HEAD": HeadJSON})...)
	for _, c := range []struct {
		method, target string
		status         int
		allow, body    string
	}{
		{"GET", "/m", 200, "", "m"}, {"GET", "/m/", 200, "", "m"}, {"DELETE", "/m", 200, "", "d"}, {"HEAD", "/m", 200, "", "m"}, // the recorder keeps the body of HEAD, which net/http omits
		{"OPTIONS", "/m", 204, "DELETE, GET, HEAD, OPTIONS", ""},
		{"POST", "/m", 405, "DELETE, GET, HEAD, OPTIONS", `{"type":"invalid_request","code":"method_not_allowed","detail":"Method not allowed.","attr":null}`},
		{"BREW", "/m", 405, "DELETE, GET, HEAD, OPTIONS", "method_not_allowed"},
		{"PUT", "/sdk/", 405, "GET, POST, OPTIONS, HEAD", "method_not_allowed"},
		{"OPTIONS", "/sdk", 204, "GET, POST, OPTIONS, HEAD", ""},
		{"OPTIONS", "/e", 200, "", `{"status":1}`}, // capture.md §1.4
		{"HEAD", "/e", 200, "", ""},
		{"GET", "/m/x", 404, "", `"detail":"Not found."`}, {"GET", "/M", 404, "", "not_found"}, {"GET", "/", 404, "", "not_found"},
		{"GET", "//m", 200, "", "m"}, {"GET", "/m//", 200, "", "m"},
	} {
		r := httptest.NewRequest(c.method, "http://h.example/", nil)
		r.URL.Path, r.RequestURI = c.target, c.target
		w := serveRows(plainServer(), table, r)
		if w.Code != c.status || w.Header().Get("Allow") != c.allow || !strings.Contains(w.Body.String(), c.body) || c.body == "" && w.Body.Len() > 0 {
			t.Errorf("%s %s: %d, allows %q, %s", c.method, c.target, w.Code, w.Header().Get("Allow"), w.Body)
		}
		if w.Code >= 400 && w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: the error is %s", c.method, c.target, w.Header().Get("Content-Type"))
		}
		if !IsUUID(w.Header().Get("X-Request-Id")) {
			t.Errorf("%s %s: no id", c.method, c.target)
		}
	}
}

// Pages of all origins may read the responses of SDKs' endpoints, errors included: the origin is
// repeated and credentials are allowed (spec/flags.md §9.1). Other endpoints allow no origin.
func TestRoutes_Origins(t *testing.T) {
	t.Parallel()
	table := append(Serving(ForSDKs, "/sdk", Methods{"POST": bodyOf("p")}), Serving(ForMonitors, "/m", Methods{"GET": bodyOf("m")})...)
	send := func(method, target string, headers ...string) http.Header {
		r := requestWith(target, headers...)
		r.Method = method
		return serveRows(plainServer(), table, r).Header()
	}
	const origin = "https://shop.example"
	for name, h := range map[string]http.Header{"a response": send("POST", "/sdk", "Origin", origin), "an error": send("PUT", "/sdk", "Origin", origin), "no such path": send("GET", "/x", "Origin", origin)} {
		if h.Get("Access-Control-Allow-Origin") != origin || h.Get("Access-Control-Allow-Credentials") != "true" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") || h.Get("Access-Control-Allow-Methods") != "" {
			t.Errorf("%s: %v", name, h)
		}
	}
	if h := send("POST", "/sdk"); h.Get("Access-Control-Allow-Origin") != "" || !strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
		t.Errorf("without an origin: %v", h)
	}
	if h := send("GET", "/m", "Origin", origin); h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("of a monitor: %v", h)
	}
	preflight := send("OPTIONS", "/sdk", "Origin", origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "content-type,x-a")
	want := map[string]string{"Access-Control-Allow-Methods": "POST", "Access-Control-Allow-Headers": "content-type,x-a", "Access-Control-Max-Age": "3600", "Access-Control-Allow-Origin": origin}
	for header, value := range want {
		if preflight.Get(header) != value {
			t.Errorf("a preflight has the %s %q, want %q", header, preflight.Get(header), value)
		}
	}
}

// A panic is a 500 without details, counted and logged; http.ErrAbortHandler still aborts the
// response.
func TestRoutes_Panics(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := plainServer()
	s.Logger = slog.New(slog.NewTextHandler(&log, nil))
	table := Serving(ForMonitors, "/m", Methods{"GET": func(http.ResponseWriter, *http.Request) error { panic("secret detail") }, "POST": func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) }})
	h := s.Observe(s.Router(table, nil, nil))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, requestWith("/m"))
	if w.Code != 500 || strings.Contains(w.Body.String(), "secret") || !strings.Contains(w.Body.String(), `"code":"internal_error"`) || s.PanicCount() != 1 {
		t.Errorf("%d, %s, %d panics", w.Code, w.Body, s.PanicCount())
	}
	if !strings.Contains(log.String(), "secret detail") || !strings.Contains(log.String(), "path=/m") {
		t.Errorf("the log: %s", &log)
	}
	defer func() {
		if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) || s.PanicCount() != 1 {
			t.Errorf("%v, %d panics", err, s.PanicCount())
		}
	}()
	r := requestWith("/m")
	r.Method = "POST"
	h.ServeHTTP(httptest.NewRecorder(), r)
}

// Errors of handlers: their status and headers, and whether the log reports them as errors of the
// server. Failures that are logged or counted elsewhere are not.
func TestRoutes_Failures(t *testing.T) {
	t.Parallel()
	quiet := problem.Unavailable
	quiet.Quiet = true
	own := problem.NotFound
	own.Body = []byte(`{"errorCode":"FLAG_NOT_FOUND"}`)
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, c := range map[string]struct {
		err     error
		ctx     context.Context
		status  int
		body    string
		headers map[string]string
		logged  bool
	}{
		"unauthorized":       {&problem.NoCredentials, nil, 401, "not_authenticated", map[string]string{"WWW-Authenticate": "Bearer"}, false},
		"not found":          {&problem.NotFound, nil, 404, `"attr":null`, map[string]string{"WWW-Authenticate": "", "Retry-After": ""}, false},
		"a place":            {problem.Invalid("a.b", "Bad %d.", 7), nil, 400, `"detail":"Bad 7.","attr":"a.b"`, nil, false},
		"a body of its own":  {&own, nil, 404, `{"errorCode":"FLAG_NOT_FOUND"}`, nil, false},
		"unavailable":        {&problem.Unavailable, nil, 503, "service_unavailable", map[string]string{"Retry-After": "1"}, true},
		"unknown":            {errors.New("secret"), nil, 500, "internal_error", nil, true},
		"wrapped":            {fmt.Errorf("x: %w", &problem.NotFound), nil, 404, "not_found", nil, false},
		"counted elsewhere":  {&quiet, nil, 503, "service_unavailable", nil, false},
		"the capture store":  {fmt.Errorf("x: %w", capture.ErrUnavailable), nil, 500, "", nil, false},
		"a client that left": {errors.New("secret"), canceled, 500, "internal_error", nil, false},
	} {
		var log bytes.Buffer
		s := plainServer()
		s.Logger = slog.New(slog.NewTextHandler(&log, nil))
		r := requestWith("/m")
		if c.ctx != nil {
			r = r.WithContext(c.ctx)
		}
		w := serveRows(s, Serving(ForMonitors, "/m", Methods{"GET": func(http.ResponseWriter, *http.Request) error { return c.err }}), r)
		if w.Code != c.status && c.body != "" || !strings.Contains(w.Body.String(), c.body) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d, %s", name, w.Code, w.Body)
		}
		for header, value := range c.headers {
			if got := w.Header().Get(header); got != value {
				t.Errorf("%s: %s is %q, want %q", name, header, got, value)
			}
		}
		if got := strings.Contains(log.String(), "level=ERROR"); got != c.logged {
			t.Errorf("%s: the log is %q", name, &log)
		}
	}
}

// Responses of at least 1 KB are compressed with the encoding that the client names first (decision
// 42), except for event streams and uncompressed rows. All of them vary by it.
func TestRoutes_Compression(t *testing.T) {
	t.Parallel()
	long, short := strings.Repeat("a", compressedFrom), strings.Repeat("a", compressedFrom-1)
	stream := func(w http.ResponseWriter, _ *http.Request) error { return Send(w, EventStream, []byte(long)) }
	table := Serving(ForMonitors, "/long", Methods{"GET": bodyOf(long)})
	table = append(table, Serving(ForMonitors, "/short", Methods{"GET": bodyOf(short)})...)
	table = append(table, Serving(ForMonitors, "/stream", Methods{"GET": stream})...)
	table = append(table, Uncompressed(Serving(ForMonitors, "/secret", Methods{"GET": bodyOf(long)}))...)
	for _, c := range []struct {
		target, accept, second, want string
	}{
		{"/long", "", "", ""}, {"/long", "gzip", "", "gzip"}, {"/long", "GZIP", "", "gzip"}, {"/long", "zstd", "", "zstd"}, {"/long", "br", "", ""}, {"/long", "identity", "", ""},
		{"/long", "gzip, zstd", "", "gzip"}, {"/long", "zstd, gzip", "", "zstd"}, {"/long", "br", "gzip", "gzip"}, {"/long", "br, deflate", "zstd, gzip", "zstd"},
		{"/long", "gzip;q=0", "", ""}, {"/short", "gzip", "", ""}, {"/stream", "gzip", "", ""}, {"/secret", "gzip, zstd", "", ""},
	} {
		r := requestWith(c.target, "Accept-Encoding", c.accept)
		if c.second != "" {
			r.Header.Add("Accept-Encoding", c.second)
		}
		w := serveRows(plainServer(), table, r)
		var body io.Reader = w.Body
		var err error
		switch c.want {
		case "gzip":
			body, err = gzip.NewReader(w.Body)
		case "zstd":
			var d *zstd.Decoder
			d, err = zstd.NewReader(w.Body, zstd.WithDecoderConcurrency(1))
			defer d.Close()
			body = d
		}
		if got := w.Header().Get("Content-Encoding"); err != nil || got != c.want {
			t.Errorf("%s, %q %q: encoded as %q, %v, want %q", c.target, c.accept, c.second, got, err, c.want)
			continue
		}
		text, err := io.ReadAll(body)
		if want := map[bool]string{true: short, false: long}[c.target == "/short"]; err != nil || string(text) != want {
			t.Errorf("%s, %q: %d bytes, %v", c.target, c.accept, len(text), err)
		}
		if vary := strings.Join(w.Header().Values("Vary"), ","); (c.target != "/secret") != strings.Contains(vary, "Accept-Encoding") {
			t.Errorf("%s, %q: varies by %q", c.target, c.accept, vary)
		}
	}
}

// The response of a row: its status and JSON, no body, the body that a caller
// prefers (decision 18), raw text, or the output of the handler itself.
func TestRow_Responses(t *testing.T) {
	t.Parallel()
	const prefers = "return=representation"
	object := func(*Server, *Call) (Success, error) { return Success{true}, nil }
	answer := func(a Answer) Row[*Server] {
		return Handle("GET", "/x", "", func(*Server, *Call) (any, error) { return a, nil })
	}
	for name, c := range map[string]struct {
		row     Row[*Server]
		prefer  string
		status  int
		body    string
		kind    string
		applied string
	}{
		"JSON":                {Handle("GET", "/x", "", object), "", 200, `{"success":true}`, "application/json", ""},
		"created":             {Handle("GET", "/x", "", object).Created(), "", 201, `{"success":true}`, "application/json", ""},
		"a preference for it": {Handle("GET", "/x", "", object), prefers, 200, `{"success":true}`, "application/json", ""},
		"no body":             {Handle("GET", "/x", "", object).WithoutBody(), "", 200, "", "", ""},
		"the preferred body":  {Handle("GET", "/x", "", object).WithoutBody(), prefers, 200, `{"success":true}`, "application/json", prefers},
		"nothing to prefer":   {Handle("GET", "/x", "", NoBody[*Server]).WithoutBody(), prefers, 200, "", "", ""},
		"without a response":  {Handle("GET", "/x", "", NoBody[*Server]).WithStatus(204), "", 204, "", "", ""},
		"raw":                 {answer(Answer{Status: 202, Raw: []byte("a,b"), Kind: "text/csv"}), "", 202, "a,b", "text/csv", ""},
		"only a status":       {answer(Answer{Status: 409}), "", 409, "", "", ""},
		"another status":      {answer(Answer{Status: 202, Body: Success{}}), "", 202, `{"success":false}`, "application/json", ""},
		"written already":     {Handle("GET", "/x", "", func(_ *Server, c *Call) (any, error) { return Answer{Sent: true}, Send(c.W, "text/x", []byte("own")) }), "", 200, "own", "text/x", ""},
		"a list":              {Handle("GET", "/x", "", func(_ *Server, c *Call) (management.List[int], error) { return CountedPage(c, []int{7}), nil }), "", 200, `{"count":1,"next":null,"previous":null,"results":[7]}`, "application/json", ""},
		"a deletion":          {Handle("GET", "/x", "", RefuseDeletion[*Server]), "", 405, "", "", ""},
		"a failed check":      {Handle("GET", "/x", "", object).WithCheck(func(*Call) error { return management.Denied("no") }), "", 403, `"detail":"no"`, "application/json", ""},
		"a passed check":      {Handle("GET", "/x", "", object).WithCheck(func(*Call) error { return nil }), "", 200, `{"success":true}`, "application/json", ""},
		"an error":            {Handle("GET", "/x", "", func(*Server, *Call) (any, error) { return nil, management.Missing("No %s.", "x") }), "", 404, `"detail":"No x."`, "application/json", ""},
	} {
		s := plainServer()
		rows := Resource(AtTop, Public, func(s *Server) *Server { return s }, []Row[*Server]{c.row})
		for i := range rows {
			rows[i].NoTimeout = true
		}
		w := httptest.NewRecorder()
		r := requestWith("/x", "Prefer", c.prefer)
		call := &Call{Ctx: r.Context(), W: w, R: r, Scheme: "http"}
		result, err := rows[0].bind(s)(call)
		if err != nil {
			s.fail(w, r, problem.OfManagement(err))
		} else if err := s.answer(call, &rows[0], result); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if body := strings.TrimSpace(w.Body.String()); w.Code != c.status || !strings.Contains(body, c.body) || c.body == "" && body != "" || w.Header().Get("Content-Type") != c.kind || w.Header().Get("Preference-Applied") != c.applied {
			t.Errorf("%s: %d, %q, %v", name, w.Code, body, w.Header())
		}
	}
}

// The scope of a row: read for GET and write for other methods, unless it has its own. PUT is a row
// of its own with the same scope.
func TestResource_Scopes(t *testing.T) {
	t.Parallel()
	do := func(*Server, *Call) (Success, error) { return Success{}, nil }
	rows := []Row[*Server]{
		Handle("GET", "/x", "read", do), Handle("POST", "/x", "create", do), Handle("PATCH", "/x", "change", do).WithPut("replace"), Handle("DELETE", "/x", "remove", do),
		Handle("POST", "/q", "query", do).WithScope("query:read"),
	}
	for object, want := range map[string][]string{
		"cohort": {"GET cohort:read read", "POST cohort:write create", "PATCH cohort:write change", "PUT cohort:write replace", "DELETE cohort:write remove", "POST query:read query"},
		Public:   {"GET public read", "POST public create", "PATCH public change", "PUT public replace", "DELETE public remove", "POST query:read query"},
	} {
		var got []string
		for _, e := range Resource(InProject, object, func(s *Server) *Server { return s }, rows) {
			got = append(got, e.Method+" "+e.KeyScope+" "+e.Summary)
			if e.Area != InProject || e.bind == nil {
				t.Errorf("%s %s has no area or no handler", e.Method, e.Path)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", object, diff)
		}
	}
}
