// Package docs serves the documentation: the pages of this repository as HTML and as Markdown, and
// the description of the HTTP API. The program in build creates the files from the pages.
package docs

import (
	"archive/zip"
	_ "embed" // for site.zip
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/bunting-flags/bunting/adapters/internal/accept"
)

//go:generate go run -C build . -zip ../site.zip

// site is the output of build. A file that is compressed in the archive is sent to clients as it is.
//
//go:embed site.zip
var site string

// prefix is the path of the documentation.
const prefix = "/docs/"

// headers are the headers of every file.
var headers = [][2]string{
	{"Cache-Control", "no-cache"},
	{"Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"},
	{"X-Content-Type-Options", "nosniff"},
	{"X-Frame-Options", "DENY"},
	{"Referrer-Policy", "same-origin"},
	{"Cross-Origin-Opener-Policy", "same-origin"},
	{"Cross-Origin-Resource-Policy", "same-origin"},
	{"Vary", "Accept-Encoding"},
}

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".md": "text/markdown; charset=utf-8", ".txt": "text/plain; charset=utf-8",
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".json": "application/json",
	".svg": "image/svg+xml", ".png": "image/png", ".webp": "image/webp",
}

// New returns the handler of /docs and everything below it. Links of the pages are relative, so that
// it works below any prefix, also one that a proxy removes.
func New() http.Handler {
	archive, err := zip.NewReader(strings.NewReader(site), int64(len(site)))
	if err != nil {
		panic(fmt.Errorf("docs: site.zip: %w", err)) // cannot happen, the archive is embedded
	}
	files := map[string]*zip.File{}
	for _, f := range archive.File {
		files[f.Name] = f
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "the documentation can only be read", http.StatusMethodNotAllowed)
			return
		}
		// The escaped path is looked up as it is: only the names in the archive have a file.
		name, isBelow := strings.CutPrefix(r.URL.EscapedPath(), prefix)
		if !isBelow {
			redirect(w, path.Base(prefix))
			return
		}
		if name == "" || strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		switch f := files[name]; {
		case f != nil:
			if err := serve(w, r, f); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		case files[name+"/index.html"] != nil:
			redirect(w, path.Base(name))
		default:
			http.NotFound(w, r)
		}
	})
}

// redirect sends the client to a folder, which is next to the path of the request.
func redirect(w http.ResponseWriter, folder string) {
	w.Header().Set("Location", folder+"/")
	w.WriteHeader(http.StatusSeeOther)
}

// serve sends a file. Errors are returned only before the response begins.
func serve(w http.ResponseWriter, r *http.Request, f *zip.File) error {
	h := w.Header()
	for _, header := range headers {
		h.Set(header[0], header[1])
	}
	tag := fmt.Sprintf(`W/"%08x-%x"`, f.CRC32, f.UncompressedSize64)
	h.Set("ETag", tag)
	if isCurrent(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	content, size, err := open(f, accept.Gzip(r.Header.Values("Accept-Encoding")), h)
	if err != nil {
		return err
	}
	h.Set("Content-Type", types[path.Ext(f.Name)])
	h.Set("Content-Length", strconv.FormatUint(size, 10))
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, content) // an error means that the client has disconnected
	}
	return nil
}

// open returns the content of a file and its size: compressed if the client accepts gzip and the file
// is compressed in the archive, and then sets the header.
func open(f *zip.File, takesGzip bool, h http.Header) (io.Reader, uint64, error) {
	if !takesGzip || f.Method != zip.Deflate {
		content, err := f.Open()
		return content, f.UncompressedSize64, err
	}
	raw, err := f.OpenRaw()
	if err != nil {
		return nil, 0, err
	}
	h.Set("Content-Encoding", "gzip")
	// A file in gzip is the same deflated data between a header and a trailer (RFC 1952 §2.3).
	const header = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
	trailer := binary.LittleEndian.AppendUint32(nil, f.CRC32)
	trailer = binary.LittleEndian.AppendUint32(trailer, uint32(f.UncompressedSize64))
	content := io.MultiReader(strings.NewReader(header), raw, strings.NewReader(string(trailer)))
	return content, uint64(len(header)) + f.CompressedSize64 + uint64(len(trailer)), nil
}

// isCurrent reports whether If-None-Match has a tag (RFC 9110 §13.1.2). Tags are compared weakly.
func isCurrent(values []string, tag string) bool {
	for value := range strings.SplitSeq(strings.Join(values, ","), ",") {
		value = strings.TrimSpace(value)
		if value == "*" || strings.TrimPrefix(value, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
