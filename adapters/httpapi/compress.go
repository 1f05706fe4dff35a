package httpapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// Answers of compressedFrom bytes and more are compressed for clients that accept gzip or
// zstd. gzipLevel is a quick one; bench/README.md has what it costs and saves.
const (
	compressedFrom = 1024
	gzipLevel      = 3
)

var (
	preferringGzip = compression(false)
	preferringZstd = compression(true)
)

func compression(zstdFirst bool) func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(compressedFrom), gzhttp.CompressionLevel(gzipLevel), gzhttp.PreferZstd(zstdFirst),
		gzhttp.ContentTypeFilter(func(kind string) bool {
			return gzhttp.DefaultContentTypeFilter(kind) && !strings.HasPrefix(kind, eventStream)
		}),
	)
	if err != nil {
		panic(err) // the options are constants
	}
	return wrap
}

var varyEncoding = []string{"Accept-Encoding"}

// compressing compresses the answers of a handler as the client accepts it: with zstd where
// it is named first, else with gzip. ETags are weak everywhere, so they hold for each form
// of an answer. HEAD is compressed as GET is, for the same headers.
func compressing(answer http.HandlerFunc) http.HandlerFunc {
	var inner http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r.Context())
		if x == nil {
			answer(w, r)
			return
		}
		if x.head {
			head := *r
			head.Method, r = http.MethodHead, &head
		}
		original := x.ResponseWriter
		x.ResponseWriter = w
		defer func() { x.ResponseWriter = original }()
		answer(x, r)
	}
	byGzip, byZstd := preferringGzip(inner), preferringZstd(inner)
	return func(w http.ResponseWriter, r *http.Request) {
		r = acceptingInOneLine(r)
		accepted := strings.ToLower(header(r.Header, "Accept-Encoding"))
		gzip, zstd := strings.Index(accepted, "gzip"), strings.Index(accepted, "zstd")
		if gzip < 0 && zstd < 0 {
			if h := w.Header(); len(h["Vary"]) == 0 {
				h["Vary"] = varyEncoding // full: who adds to it makes a copy
			} else if !slices.Contains(h["Vary"], varyEncoding[0]) {
				h.Add("Vary", varyEncoding[0])
			}
			answer(w, r)
			return
		}
		if x, ok := w.(*exchange); ok {
			w = x.ResponseWriter
			if x.head = r.Method == http.MethodHead; x.head { // gzhttp leaves it as it is
				get := *r
				get.Method, r = http.MethodGet, &get
			}
		}
		if zstd >= 0 && (gzip < 0 || zstd < gzip) {
			byZstd(w, r)
		} else {
			byGzip(w, r)
		}
	}
}

// acceptingInOneLine is a request whose Accept-Encoding is one line (RFC 9110 §5.3), as
// gzhttp reads no other.
func acceptingInOneLine(r *http.Request) *http.Request {
	const name = "Accept-Encoding"
	if len(r.Header[name]) < 2 {
		return r
	}
	joined := *r
	joined.Header = r.Header.Clone()
	joined.Header.Set(name, strings.Join(r.Header[name], ", "))
	return &joined
}

// uncompressed marks endpoints whose answers are sent as they are: event streams, files
// that are checked by their length, and what holds a secret that was just made, which the
// length of a compressed answer could betray (BREACH).
func uncompressed(rows []endpoint) []endpoint {
	for i := range rows {
		rows[i].uncompressed = true
	}
	return rows
}

// uncompressed is that of one row.
func (r row[S]) uncompressed() row[S] { r.endpoint.uncompressed = true; return r }
