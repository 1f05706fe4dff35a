package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// httpCase is one request and its response, from testdata/http/cases.
type httpCase struct {
	Name string `json:"name"`
	// Clause is the clause that the case proves: a section of spec/flags.md, or a decision.
	Clause  string      `json:"clause"`
	Request httpRequest `json:"request"`
	Want    want        `json:"want"`
}

type httpRequest struct {
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"`
	// Body is sent as compact JSON, Bytes unchanged.
	Body  json.RawMessage `json:"body"`
	Bytes []byte          `json:"body_base64"`
}

func (r *httpRequest) body(t testing.TB) []byte {
	if r.Body == nil {
		return r.Bytes
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, r.Body); err != nil {
		t.Fatal(err)
	}
	return compact.Bytes()
}

// over sends a request over a connection.
func (r *httpRequest) over(t testing.TB, s *httptest.Server) *httptest.ResponseRecorder {
	t.Helper()
	req, err := http.NewRequest(r.Method, s.URL+r.Path, bytes.NewReader(r.body(t)))
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range r.Headers {
		req.Header.Set(name, v)
	}
	return exchange(t, s.Client(), req)
}

func exchange(t testing.TB, c *http.Client, req *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, res)
}

// readAll reads and closes a response.
func readAll(t testing.TB, res *http.Response) *httptest.ResponseRecorder {
	t.Helper()
	defer func() { _ = res.Body.Close() }()
	out := httptest.NewRecorder()
	for name, values := range res.Header {
		out.Header()[name] = values
	}
	out.WriteHeader(res.StatusCode)
	if _, err := io.Copy(out, res.Body); err != nil {
		t.Fatal(err)
	}
	return out
}

func caseFiles(t testing.TB) map[string][]httpCase {
	t.Helper()
	paths, err := filepath.Glob("../../testdata/http/cases/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	out := map[string][]httpCase{}
	for _, path := range paths {
		name := filepath.Base(path)
		d := json.NewDecoder(bytes.NewReader(read(t, "cases/"+name)))
		d.DisallowUnknownFields()
		var cases []httpCase
		if err := d.Decode(&cases); err != nil {
			t.Fatal(name, err)
		}
		out[strings.TrimSuffix(name, ".json")] = cases
	}
	return out
}

func TestHTTP_Cases(t *testing.T) {
	text := func(s string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, s) })
	}
	h := sharedWorld(t).handler(t, nil, func(c *httpapi.Config) {
		c.Metrics = text("metrics\n")
		c.Extra = map[string]http.Handler{"/extra": text("extra\n")}
	})
	s := httptest.NewServer(h)
	defer s.Close()
	s.Client().Transport.(*http.Transport).DisableCompression = true
	for file, cases := range caseFiles(t) {
		for _, c := range cases {
			t.Run(c.Clause+"/"+file+"/"+c.Name, func(t *testing.T) {
				got := c.Request.over(t, s)
				c.Want.check(t, got, "")
				switch ofrep := strings.HasPrefix(c.Request.Path, "/ofrep/"); {
				case ofrep:
					checkOFREP(t, got)
				case got.Code >= 400 && c.Request.Method != http.MethodHead:
					checkError(t, got, c.Want.Status)
				}
			})
		}
	}
}

// fileOf returns the name of the file with a route's cases.
func fileOf(path string) string {
	name := strings.NewReplacer("/", "_", "{", "", "}", "").Replace(strings.TrimPrefix(path, "/"))
	if name == "" {
		return "root"
	}
	return name
}

// Every row of the table of routes has a file of cases, which covers each of its methods, OPTIONS,
// and a method that it lacks.
func TestHTTP_EveryRouteHasCases(t *testing.T) {
	files := caseFiles(t)
	for path, methods := range httpapi.RoutesForTest() {
		cases := files[fileOf(path)]
		if len(cases) == 0 {
			t.Errorf("no cases/%s.json for the route %s", fileOf(path), path)
			continue
		}
		requests := map[string]bool{}
		hasUnauthorized := false
		for _, c := range cases {
			requests[c.Request.Method] = true
			hasUnauthorized = hasUnauthorized || c.Want.Status == http.StatusMethodNotAllowed
		}
		for _, method := range append(slices.Clone(methods), http.MethodOptions) {
			if !requests[method] {
				t.Errorf("cases/%s.json never asks %s %s", fileOf(path), method, path)
			}
		}
		if !hasUnauthorized {
			t.Errorf("cases/%s.json never asks a method that %s lacks", fileOf(path), path)
		}
	}
}

// unpackedBody decodes a body according to the response's Content-Encoding.
func unpackedBody(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var r io.Reader = bytes.NewReader(w.Body.Bytes())
	var err error
	switch w.Header().Get("Content-Encoding") {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
