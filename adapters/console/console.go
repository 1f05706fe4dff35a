// Package console serves the web console: an HTML document and the scripts and styles that it
// loads. It uses no API and no session of its own; the scripts send requests to the management API
// of the same server, as any program may.
package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"html/template"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/accept"
)

//go:generate go run -C build .

// dist is the output of build: the HTML document, and assets that are stored compressed.
//
//go:embed dist
var dist embed.FS

// shells are the documents by language. Each one loads the scripts of its language.
var shells = map[string]*template.Template{
	defaultLanguage: template.Must(template.ParseFS(dist, "dist/shell.html")),
	"de":            template.Must(template.ParseFS(dist, "dist/shell.de.html")),
}

const (
	defaultLanguage = "en"
	languageCookie  = "bunting-language" // the language that the account has chosen; pages set it
)

// shellHeaders are exactly the headers of the document (§5.3).
var shellHeaders = [][2]string{
	{"Cache-Control", "no-store"},
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Permissions-Policy", "camera=(), microphone=(), geolocation=(), payment=(), usb=()"},
}

// New returns the handler of /console and everything below it. Its links are relative, so that it
// works below any prefix, also one that a proxy removes.
func New() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the console is only read", http.StatusMethodNotAllowed)
			return
		}
		// The path is compared in its escaped form, because an escaped slash does not separate
		// segments, in browsers either.
		below, ok := strings.CutPrefix(r.URL.EscapedPath(), "/console/")
		switch {
		case !ok:
			w.Header().Set("Location", "console/")
			w.WriteHeader(http.StatusSeeOther)
		case path.Ext(below) != "":
			serveAsset(w, r, path.Base(below))
		default:
			serveShell(w, shells[languageOf(r)], below)
		}
	})
}

// serveShell sends the document, with a base that leads back to /console/.
func serveShell(w http.ResponseWriter, shell *template.Template, below string) {
	base := strings.Repeat("../", strings.Count(below, "/"))
	if base == "" {
		base = "./"
	}
	var page bytes.Buffer
	if err := shell.Execute(&page, base); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for _, h := range shellHeaders {
		w.Header().Set(h[0], h[1])
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(page.Bytes()) // an error means that the client has disconnected
}

var types = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

// serveAsset sends a file whose name includes its hash. It is stored compressed, and decompressed
// for clients that do not accept gzip.
func serveAsset(w http.ResponseWriter, r *http.Request, name string) {
	packed, err := dist.ReadFile("dist/" + name + ".gz")
	if err != nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", types[path.Ext(name)])
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	if accept.Gzip(r.Header.Values("Accept-Encoding")) {
		h.Set("Content-Encoding", "gzip")
		h.Set("Content-Length", strconv.Itoa(len(packed)))
		_, _ = w.Write(packed)
		return
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.Copy(w, unpacked)
}

// languageOf returns the language of the pages for a request: the language of the account, or the
// language that the browser prefers (RFC 9110 §12.5.4).
func languageOf(r *http.Request) string {
	if cookie, err := r.Cookie(languageCookie); err == nil && shells[cookie.Value] != nil {
		return cookie.Value
	}
	best, most := defaultLanguage, 0.0
	for tag, weight := range accept.Weights(r.Header.Values("Accept-Language")) {
		primary, _, _ := strings.Cut(strings.ToLower(tag), "-")
		if shells[primary] != nil && weight > most {
			best, most = primary, weight
		}
	}
	return best
}
