package docs_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/internal/docs"
)

func request(t *testing.T, method, path string, header ...string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	docs.New().ServeHTTP(w, r)
	res := w.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

// A file has its type, loads only files of the same server, and is validated by its ETag.
func TestDocs_Headers(t *testing.T) {
	types := map[string]string{
		"":                                      "text/html; charset=utf-8",
		"index.html":                            "text/html; charset=utf-8",
		"README.md":                             "text/markdown; charset=utf-8",
		"llms.txt":                              "text/plain; charset=utf-8",
		"openapi.json":                          "application/json",
		"style.css":                             "text/css; charset=utf-8",
		"search.js":                             "text/javascript; charset=utf-8",
		"icon.svg":                              "image/svg+xml",
		"cmd/bunting/":                          "text/html; charset=utf-8",
		"adapters/console/pictures/console.png": "image/png",
	}
	for name, kind := range types {
		res, body := request(t, "GET", "/docs/"+name)
		tag := res.Header.Get("ETag")
		want := http.Header{
			"Cache-Control":                {"no-cache"},
			"Content-Length":               {strconv.Itoa(len(body))},
			"Content-Security-Policy":      {"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
			"Content-Type":                 {kind},
			"Cross-Origin-Opener-Policy":   {"same-origin"},
			"Cross-Origin-Resource-Policy": {"same-origin"},
			"Etag":                         {tag},
			"Referrer-Policy":              {"same-origin"},
			"Vary":                         {"Accept-Encoding"},
			"X-Content-Type-Options":       {"nosniff"},
			"X-Frame-Options":              {"DENY"},
		}
		if diff := cmp.Diff(want, res.Header); diff != "" || res.StatusCode != 200 || len(body) == 0 || !strings.HasPrefix(tag, `W/"`) {
			t.Errorf("%s: %d, ETag %s, %d bytes (-want +got)\n%s", name, res.StatusCode, tag, len(body), diff)
		}
	}
}

// A response is compressed if the client accepts gzip and the file is not a compressed picture. HEAD
// has the same headers as GET, and no body.
func TestDocs_Compression(t *testing.T) {
	for _, c := range []struct{ path, accepted, encoding string }{
		{"/docs/CHANGELOG.html", "br, gzip", "gzip"},
		{"/docs/CHANGELOG.html", "gzip;q=0", ""},
		{"/docs/CHANGELOG.html", "", ""},
		{"/docs/adapters/console/pictures/console.png", "gzip", ""},
	} {
		_, plain := request(t, "GET", c.path)
		res, body := request(t, "GET", c.path, "Accept-Encoding", c.accepted)
		if got := res.Header.Get("Content-Encoding"); got != c.encoding || res.Header.Get("Content-Length") != strconv.Itoa(len(body)) {
			t.Errorf("%s for %q: encoding %q, want %q; %s for %d bytes", c.path, c.accepted, got, c.encoding, res.Header.Get("Content-Length"), len(body))
		}
		head, none := request(t, "HEAD", c.path, "Accept-Encoding", c.accepted)
		if diff := cmp.Diff(res.Header, head.Header); diff != "" || none != "" {
			t.Errorf("HEAD %s: %d bytes (-GET +HEAD)\n%s", c.path, len(none), diff)
		}
		if c.encoding == "gzip" {
			r, err := gzip.NewReader(strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			unpacked, err := io.ReadAll(r) // checks the length and the checksum of the trailer
			if err != nil {
				t.Fatal(err)
			}
			body = string(unpacked)
		}
		if body != plain {
			t.Errorf("%s for %q has another content", c.path, c.accepted)
		}
	}
}

// RFC 9110 §13.1.2: a client that has the current version gets 304 without a body.
func TestDocs_NotModified(t *testing.T) {
	res, _ := request(t, "GET", "/docs/llms.txt")
	tag := res.Header.Get("ETag")
	for header, want := range map[string]int{
		tag: 304, `"old", ` + tag: 304, strings.TrimPrefix(tag, "W/"): 304, "*": 304, `W/"old"`: 200, "": 200,
	} {
		res, body := request(t, "GET", "/docs/llms.txt", "If-None-Match", header)
		if res.StatusCode != want || (body == "") != (want == 304) {
			t.Errorf("If-None-Match: %s: %d with %d bytes, want %d", header, res.StatusCode, len(body), want)
		}
	}
}

// Folders are redirected to their page, relative to the request. A path that is not in the
// documentation is 404, whatever it would be as a path of files.
func TestDocs_Paths(t *testing.T) {
	for path, want := range map[string]struct {
		status   int
		location string
	}{
		"/docs":                        {303, "docs/"},
		"/docs/":                       {200, ""},
		"/docs/cmd/bunting":            {303, "bunting/"},
		"/docs/cmd":                    {404, ""},
		"/docs/cmd/":                   {404, ""},
		"/docs/site.zip":               {404, ""},
		"/docs/../docs.go":             {404, ""},
		"/docs/..%2fdocs.go":           {404, ""},
		"/docs/%2e%2e/docs.go":         {404, ""},
		"/docs/cmd/../index.html":      {404, ""},
		"/docs//index.html":            {404, ""},
		"/docs/%2findex.html":          {404, ""},
		"/docs/index.html%00":          {404, ""},
		"/docs/..%5c..%5cetc%5cpasswd": {404, ""},
		"/docs//etc/passwd":            {404, ""},
	} {
		res, _ := request(t, "GET", path)
		if res.StatusCode != want.status || res.Header.Get("Location") != want.location {
			t.Errorf("%s: %d to %q, want %d to %q", path, res.StatusCode, res.Header.Get("Location"), want.status, want.location)
		}
	}
}

func TestDocs_OnlyRead(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
		if res, _ := request(t, method, "/docs/"); res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow: %s", method, res.StatusCode, res.Header.Get("Allow"))
		}
	}
}
