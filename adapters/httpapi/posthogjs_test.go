package httpapi_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// scriptFolder returns a folder like posthog-js/dist, next to files that must not be served.
func scriptFolder(t *testing.T) string {
	t.Helper()
	outside := t.TempDir()
	folder := filepath.Join(outside, "dist")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(folder, "src", "folder.js"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(outside, "secret.js"), "secret")
	write(filepath.Join(folder, "array.js"), "the library")
	write(filepath.Join(folder, "surveys.js"), "surveys")
	write(filepath.Join(folder, "array.js.map"), "{}")
	write(filepath.Join(folder, "array.d.ts"), "secret")
	write(filepath.Join(folder, ".hidden.js"), "secret")
	write(filepath.Join(folder, "src", "inner.js"), "secret")
	write(filepath.Join(folder, "large.js"), strings.Repeat("secret", 8<<20/6+1))
	link("../secret.js", "out.js")
	link(filepath.Join(outside, "secret.js"), "far.js")
	link("surveys.js", "alias.js")
	if err := os.Mkdir(filepath.Join(folder, "folder.js"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.js"), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

func scriptServer(t *testing.T, folder string) *httptest.Server {
	t.Helper()
	copied, err := httpapi.OpenPosthogJS(folder)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(sharedWorld(t).handler(t, nil, func(c *httpapi.Config) { c.PosthogJS = copied }))
	t.Cleanup(func() {
		s.Close()
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// spec/capture.md §16.2: the files are served under any version, with their caching headers.
func TestPosthogJS(t *testing.T) {
	const loose, exact = "public, max-age=300", "public, max-age=31536000, immutable"
	const script = "application/javascript; charset=utf-8"
	s := scriptServer(t, scriptFolder(t))
	for path, want := range map[string]struct{ body, kept, kind string }{
		"/static/array.js":                             {"the library", loose, script},
		"/static/array.js/":                            {"the library", loose, script},
		"/static/1/array.js":                           {"the library", loose, script},
		"/static/latest/array.js":                      {},
		"/static/1.449.2/array.js":                     {"the library", exact, script},
		"/static/9.9.9-beta.1/surveys.js":              {"surveys", exact, script},
		"/static/surveys.js?v=1.260.0":                 {"surveys", exact, script},
		"/static/surveys.js?v=1":                       {"surveys", loose, script},
		"/static/alias.js":                             {"surveys", loose, script},
		"/static/1.449.2/array.js.map":                 {"{}", exact, "application/json"},
		"/array/phc_test/array.js":                     {"the library", loose, script},
		"/static/toolbar.js":                           {},
		"/static/array.d.ts":                           {},
		"/static/.hidden.js":                           {},
		"/static/out.js":                               {},
		"/static/far.js":                               {},
		"/static/folder.js":                            {},
		"/static/pipe.js":                              {},
		"/static/large.js":                             {},
		"/static/src/inner.js":                         {},
		"/static/1.0.0/src/inner.js":                   {},
		"/static/1.0.0/src%2finner.js":                 {},
		"/static/../secret.js":                         {},
		"/static/..%2fsecret.js":                       {},
		"/static/..%5csecret.js":                       {},
		"/static/%2e%2e/secret.js":                     {},
		"/static/1.0.0/..%2fsecret.js":                 {},
		"/static/1.0.0/..%252fsecret.js":               {},
		"/static/%2fetc%2fpasswd":                      {},
		"/static/array.js%00.map":                      {},
		"/static/1.0.0%2f../array.js":                  {},
		"/static/" + strings.Repeat("a", 5000) + ".js": {},
		"/array/..%2f..%2f/array.js":                   {},
	} {
		got := get(t, s, path, nil)
		if want.body == "" {
			if got.Code != http.StatusNotFound || strings.Contains(got.Body.String(), "secret") {
				t.Errorf("%.60s: %d %.100s", path, got.Code, got.Body)
			}
			continue
		}
		h := got.Header()
		if got.Code != 200 || got.Body.String() != want.body || h.Get("Cache-Control") != want.kept || h.Get("Content-Type") != want.kind ||
			h.Get("Access-Control-Allow-Origin") != "https://shop.example.com" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %.40s %v", path, got.Code, got.Body, h)
		}
	}
}

func get(t *testing.T, s *httptest.Server, path string, headers map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, s.URL+path, bytes.NewReader(nil))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://shop.example.com")
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	return exchange(t, s.Client(), r)
}

// An ETag depends on the content: a request with it returns 304, it is the same under all addresses
// of a file, and it changes as soon as the file is replaced.
func TestPosthogJS_ETag(t *testing.T) {
	folder := scriptFolder(t)
	s := scriptServer(t, folder)
	first := get(t, s, "/static/array.js", nil).Header().Get("ETag")
	if first == "" || get(t, s, "/static/1.0.0/array.js", nil).Header().Get("ETag") != first {
		t.Fatalf("ETag %q", first)
	}
	same := get(t, s, "/static/array.js", map[string]string{"If-None-Match": first})
	if same.Code != http.StatusNotModified || same.Body.Len() > 0 {
		t.Errorf("the same: %d %s", same.Code, same.Body)
	}
	if err := os.WriteFile(filepath.Join(folder, "array.js"), []byte("a newer library"), 0o600); err != nil {
		t.Fatal(err)
	}
	newer := get(t, s, "/static/array.js", map[string]string{"If-None-Match": first})
	if newer.Code != 200 || newer.Body.String() != "a newer library" || newer.Header().Get("ETag") == first {
		t.Errorf("replaced: %d %s %s", newer.Code, newer.Body, newer.Header().Get("ETag"))
	}
}

func TestOpenPosthogJS(t *testing.T) {
	for name, folder := range map[string]string{"no folder": filepath.Join(t.TempDir(), "none"), "no library": t.TempDir()} {
		if _, err := httpapi.OpenPosthogJS(folder); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
