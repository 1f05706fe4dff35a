package frame

import (
	"net/http"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// Responses of at least compressedFrom bytes are compressed for clients that accept gzip or zstd.
// gzipLevel is a fast level; bench/README.md documents its cost and benefit.
const (
	compressedFrom = 1024
	gzipLevel      = 3
)

var (
	preferringGzip = compression(false)
	preferringZstd = compression(true)
)

// compression returns a middleware that compresses responses, except for event streams. zstdFirst
// selects zstd if the client accepts both encodings.
func compression(zstdFirst bool) func(http.Handler) http.HandlerFunc {
	wrap, err := gzhttp.NewWrapper(
		gzhttp.MinSize(compressedFrom), gzhttp.CompressionLevel(gzipLevel), gzhttp.PreferZstd(zstdFirst),
		gzhttp.ContentTypeFilter(func(kind string) bool {
			return gzhttp.DefaultContentTypeFilter(kind) && !strings.HasPrefix(kind, EventStream)
		}),
	)
	if err != nil {
		panic(err) // cannot happen, the options are constants
	}
	return wrap
}

var varyEncoding = []string{"Accept-Encoding"}

// compressResponses compresses the responses of a handler if the client accepts it: with zstd if
// Accept-Encoding names it first, and with gzip otherwise. All ETags are weak, so they are valid
// for each encoding of a response. HEAD is handled like GET, so that its headers are the same.
func compressResponses(answer http.HandlerFunc) http.HandlerFunc {
	var inner http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		x := ExchangeOf(r.Context())
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
		r = joinAcceptEncoding(r)
		accepted := strings.ToLower(Header(r.Header, "Accept-Encoding"))
		gzip, zstd := strings.Index(accepted, "gzip"), strings.Index(accepted, "zstd")
		if gzip < 0 && zstd < 0 {
			if h := w.Header(); len(h["Vary"]) == 0 {
				h["Vary"] = varyEncoding // cap equals len, so append copies it
			} else if !slices.Contains(h["Vary"], varyEncoding[0]) {
				h.Add("Vary", varyEncoding[0])
			}
			answer(w, r)
			return
		}
		if x, ok := w.(*exchange); ok {
			w = x.ResponseWriter
			if x.head = r.Method == http.MethodHead; x.head { // gzhttp does not compress HEAD
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

// joinAcceptEncoding returns the request with its Accept-Encoding headers joined to one (RFC 9110
// §5.3), because gzhttp reads only the first.
func joinAcceptEncoding(r *http.Request) *http.Request {
	const name = "Accept-Encoding"
	if len(r.Header[name]) < 2 {
		return r
	}
	joined := *r
	joined.Header = r.Header.Clone()
	joined.Header.Set(name, strings.Join(r.Header[name], ", "))
	return &joined
}

// Uncompressed marks endpoints whose responses are never compressed: event streams, files that
// clients verify by their length, and responses with a new secret, which the length of a compressed
// response could reveal (BREACH).
func Uncompressed(rows []Endpoint) []Endpoint {
	for i := range rows {
		rows[i].Uncompressed = true
	}
	return rows
}

// Uncompressed is like the function uncompressed, for one row.
func (r Row[S]) Uncompressed() Row[S] { r.Endpoint.Uncompressed = true; return r }
