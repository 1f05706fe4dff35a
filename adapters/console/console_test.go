package console_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/adapters/console"
)

func get(t *testing.T, path string, header ...string) *http.Response {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	console.New().ServeHTTP(w, r)
	return w.Result()
}

// The headers are exactly those of console.md §5.3.
func TestShell_Headers(t *testing.T) {
	want := http.Header{
		"Cache-Control":                {"no-store"},
		"Content-Security-Policy":      {"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
		"X-Content-Type-Options":       {"nosniff"},
		"X-Frame-Options":              {"DENY"},
		"Referrer-Policy":              {"same-origin"},
		"Cross-Origin-Opener-Policy":   {"same-origin"},
		"Cross-Origin-Resource-Policy": {"same-origin"},
		"Permissions-Policy":           {"camera=(), microphone=(), geolocation=(), payment=(), usb=()"},
		"Content-Type":                 {"text/html; charset=utf-8"},
	}
	got := get(t, "/console/p/1/flags")
	if diff := cmp.Diff(want, got.Header); diff != "" || got.StatusCode != 200 {
		t.Errorf("%d (-want +got)\n%s", got.StatusCode, diff)
	}
}

// §6.1: a path with an extension that is not an asset is 404, every other path is the document,
// whose base leads back to the console. An escaped slash does not separate segments.
func TestConsole_Paths(t *testing.T) {
	for path, want := range map[string]struct {
		status int
		base   string
	}{
		"/console/":                         {200, "./"},
		"/console/sign-in":                  {200, "./"},
		"/console/p/1":                      {200, "../"},
		"/console/p/1/flags/7":              {200, "../../../"},
		"/console/p/1/groups/company/a%2Fb": {200, "../../../../"},
		"/console/nothing.js":               {404, ""},
		"/console/p/1/main.css":             {404, ""},
		"/console":                          {303, ""},
	} {
		got := get(t, path)
		text, err := io.ReadAll(got.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got.StatusCode != want.status || want.base != "" && !strings.Contains(string(text), `<base href="`+want.base+`">`) {
			t.Errorf("%s: %d, want %d and base %q\n%s", path, got.StatusCode, want.status, want.base, text)
		}
		if want.status == 303 && got.Header.Get("Location") != "console/" {
			t.Errorf("%s leads to %q", path, got.Header.Get("Location"))
		}
	}
}

// The document has the language that the account has chosen, or else the one that the browser prefers
// most (RFC 9110 §12.5.4); English is the default.
func TestShell_Language(t *testing.T) {
	for _, c := range []struct{ accepted, cookie, want string }{
		{"", "", "en"},
		{"de", "", "de"},
		{"de-AT, de;q=0.9, en;q=0.8", "", "de"},
		{"en-GB, de;q=0.9", "", "en"},
		{"en;q=0.5, DE-ch;q=0.7", "", "de"},
		{"fr, de;q=0.3", "", "de"},
		{"fr, *;q=0.5", "", "en"},
		{"de;q=0", "", "en"},
		{"de;q=0, en;q=0.1", "", "en"},
		{"den", "", "en"},
		{"", "de", "de"},
		{"de", "en", "en"},
		{"de", "fr", "de"},
		{"de", "../x", "de"},
	} {
		header := []string{"Accept-Language", c.accepted}
		if c.cookie != "" {
			header = append(header, "Cookie", "other=1; bunting-language="+c.cookie)
		}
		text, err := io.ReadAll(get(t, "/console/p/1", header...).Body)
		if err != nil {
			t.Fatal(err)
		}
		if got := regexp.MustCompile(`<html lang="(\w+)"`).FindSubmatch(text); got == nil || string(got[1]) != c.want {
			t.Errorf("Accept-Language %q, cookie %q: %q, want %s", c.accepted, c.cookie, got, c.want)
		}
	}
}

// §5.3: assets are immutable, have their type, and are compressed for clients that accept it. The
// document has no inline script and no inline style.
func TestAssets(t *testing.T) {
	for _, language := range []string{"en", "de"} {
		t.Run(language, func(t *testing.T) { checkAssets(t, language) })
	}
}

func checkAssets(t *testing.T, language string) {
	t.Helper()
	shell, err := io.ReadAll(get(t, "/console/", "Accept-Language", language).Body)
	if err != nil {
		t.Fatal(err)
	}
	if regexp.MustCompile(`<style|style=|<script[^>]*>[^<]`).Match(shell) {
		t.Errorf("the shell has a script or style inside\n%s", shell)
	}
	types := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
	links := regexp.MustCompile(`(?:src|href)="([\w-]+\.(js|css|svg))"`).FindAllStringSubmatch(string(shell), -1)
	if len(links) < 3 {
		t.Fatalf("the shell links to %v", links)
	}
	for _, link := range links {
		packed, plain := get(t, "/console/"+link[1], "Accept-Encoding", "br, gzip"), get(t, "/console/"+link[1])
		want := http.Header{
			"Cache-Control": {"public, max-age=31536000, immutable"}, "Content-Type": {types[link[2]]},
			"X-Content-Type-Options": {"nosniff"}, "Cross-Origin-Resource-Policy": {"same-origin"}, "Vary": {"Accept-Encoding"},
		}
		if diff := cmp.Diff(want, plain.Header); diff != "" {
			t.Errorf("%s (-want +got)\n%s", link[1], diff)
		}
		for accepted, encoding := range map[string]string{"gzip": "gzip", "br, GZIP;q=0.5": "gzip", "gzip;q=0": "", "gzip; q=0.000, *": "", "x-gzip": "", "br": ""} {
			if got := get(t, "/console/"+link[1], "Accept-Encoding", accepted).Header.Get("Content-Encoding"); got != encoding {
				t.Errorf("%s for who accepts %s: encoding %q, want %q", link[1], accepted, got, encoding)
			}
		}
		r, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		one, err1 := io.ReadAll(r)
		plainBody, err2 := io.ReadAll(plain.Body)
		if err1 != nil || err2 != nil || string(one) != string(plainBody) || len(one) == 0 {
			t.Errorf("%s: %d bytes compressed, %d plain; %v %v", link[1], len(one), len(plainBody), err1, err2)
		}
	}
}

func TestConsole_IsOnlyRead(t *testing.T) {
	w := httptest.NewRecorder()
	console.New().ServeHTTP(w, httptest.NewRequest("POST", "/console/", nil))
	if w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("%d, Allow %q", w.Code, w.Header().Get("Allow"))
	}
}
