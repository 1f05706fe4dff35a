package frame

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/capture/ids"
	"github.com/bunting-flags/bunting/management"
)

// headerRequestID is the header with the id of a request. The id is also in each log line of the
// request.
const headerRequestID = "X-Request-Id"

// maxRequestID is the maximum length in bytes of a request id that the caller chooses. If the id
// is longer, or has characters other than those of isRequestID, the server generates one.
const maxRequestID = 128

// exchange is one request and its response. It is the context of the request, and also returns
// the context of chi, which avoids a second copy of the request. It is also the
// http.ResponseWriter of the response, to record its status and length.
type exchange struct {
	context.Context
	http.ResponseWriter
	route   *chi.Context  // nil if the handler is mounted in a router of chi's
	row     *routeLatency // nil until the router has matched a route
	started time.Time
	ID      string
	lists   struct{ id, length headerList }
	status  int
	bytes   int64
	head    bool // the method is HEAD; the compressor is passed a GET request instead
	// The fields below are set by handlers, for the log.
	project int64
	token   [48]byte
	length  int
}

// headerList is the memory of a header with one value, to avoid an allocation.
type headerList [1]string

func (l *headerList) set(value string) []string {
	l[0] = value
	return l[:]
}

// exchangeKey is the key of the exchange in a context.
type exchangeKey struct{}

// Value implements context.Context.
func (x *exchange) Value(key any) any {
	switch key {
	case exchangeKey{}:
		return x
	case chi.RouteCtxKey:
		if x.route != nil {
			return x.route
		}
	}
	return x.Context.Value(key)
}

// WriteHeader implements http.ResponseWriter.
func (x *exchange) WriteHeader(status int) {
	if x.status == 0 && status >= http.StatusOK {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	n, err := x.ResponseWriter.Write(b)
	x.bytes += int64(n)
	return n, err
}

// Unwrap implements the interface of http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// NoteToken records the project key of a request for the log. A key longer than all valid keys is
// cut. NoteToken copies the key, so its memory may be reused.
func (x *exchange) NoteToken(token string) {
	if x != nil {
		x.length = copy(x.token[:], token)
	}
}

// noteProject records the project of a request for the log.
func (x *exchange) noteProject(id int64) {
	if x != nil {
		x.project = id
	}
}

// ExchangeOf returns the exchange of a request. It is nil if the handler of a route is called
// without the middleware.
func ExchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

var chiContexts = sync.Pool{New: func() any { return chi.NewRouteContext() }}

// Observe assigns an id to each request, measures the time until the response is complete, logs the
// request, and records its span.
func (s *Server) Observe(next http.Handler) http.Handler {
	routes, _ := next.(chi.Routes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Context: r.Context(), ResponseWriter: w, started: time.Now(), ID: s.nameRequest(r)}
		if s.Tracer != nil {
			x.Context = s.startSpan(r)
		}
		w.Header()[headerRequestID] = x.lists.id.set(x.ID)
		if parent, _ := r.Context().Value(chi.RouteCtxKey).(*chi.Context); parent == nil {
			x.route = chiContexts.Get().(*chi.Context)
			x.route.Reset()
			x.route.Routes = routes
		}
		defer s.finish(x, r)
		r = r.WithContext(x)
		chi.RouteContext(x).RouteMethod = everyMethod
		collapseSlashes(r)
		if len(r.Pattern) > 1 { // a router around this one has matched a pattern other than its root
			stripMount(r, routes)
		}
		next.ServeHTTP(x, r)
	})
}

// nameRequest returns the id of a request: the one that the caller sent, otherwise that of
// Config.NewID, otherwise a random one. Invalid ids are ignored.
func (s *Server) nameRequest(r *http.Request) string {
	if provided := r.Header[headerRequestID]; len(provided) > 0 && isRequestID(provided[0]) {
		return provided[0]
	}
	if s.NewID != nil {
		if id := s.NewID(r); isRequestID(id) {
			return id
		}
	}
	return ids.Random()
}

func isRequestID(s string) bool {
	return s != "" && len(s) <= maxRequestID && isOnlyLetters(s, "-_.:/+=@")
}

// isOnlyLetters reports whether s consists only of ASCII letters, digits and the characters in
// extra.
func isOnlyLetters(s, extra string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', strings.IndexByte(extra, c) >= 0:
		default:
			return false
		}
	}
	return true
}

// finish counts a complete response and logs it if required. It is deferred, so responses aborted
// with http.ErrAbortHandler are counted too.
func (s *Server) finish(x *exchange, r *http.Request) {
	elapsed := time.Since(x.started)
	row := x.row
	if row == nil {
		row = s.unrouted
	}
	if x.status != 0 && !isStream(x.Header()) { // the status is 0 if a stream has taken over the connection
		row.add(x.status, elapsed)
	}
	if s.logs(x.status) {
		s.logRequest(r, x, row.route, elapsed)
	}
	if s.Tracer != nil {
		s.endSpan(r, x, row.route)
	}
	if route := x.route; route != nil {
		x.route = nil
		chiContexts.Put(route)
	}
}

// EventStream is the media type of server-sent events.
const EventStream = "text/event-stream"

func isStream(h http.Header) bool {
	kind := h["Content-Type"]
	return len(kind) > 0 && kind[0] == EventStream
}

// errorLines is the maximum number of log lines per second that callers can cause with failing
// requests; errorLinesAtOnce is the burst.
const (
	errorLines       = 10
	errorLinesAtOnce = 100
)

// logs reports whether a request is logged. Log lines of requests are not warnings: errors inside
// the server have their own line with the same request_id.
func (s *Server) logs(status int) bool {
	switch {
	case s.LogAll:
		return true
	case status == http.StatusUnauthorized, s.LogFailed && status >= http.StatusBadRequest:
		if s.failureLines.Allow() {
			return true
		}
		s.unloggedFailures.Add(1)
	}
	return false
}

// logRequest writes the log line of a request. It has no secrets, no bodies, no query, and the
// route instead of the path.
func (s *Server) logRequest(r *http.Request, x *exchange, route string, elapsed time.Duration) {
	if !s.Logger.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	line := []slog.Attr{
		slog.String("method", truncate(r.Method)), slog.String("route", route), slog.Int("status", x.status),
		slog.Float64("ms", float64(elapsed.Microseconds())/1000), slog.Int64("bytes", x.bytes),
	}
	key := keySent(r, string(x.token[:x.length]))
	if key != "" {
		line = append(line, slog.String("key", management.MaskKey(key)))
	}
	if project := s.loggedProject(x, key); project != 0 {
		line = append(line, slog.Int64("project", project))
	}
	if x.status == http.StatusUnauthorized {
		line = append(line, slog.String("ip", s.ClientIP(r).String()))
	}
	if omitted := s.unloggedFailures.Swap(0); omitted > 0 {
		line = append(line, slog.Uint64("unsaid", omitted))
	}
	s.Logger.LogAttrs(x, slog.LevelInfo, "request", line...)
}

// loggedProject returns the project of a request, or 0 if it is unknown.
func (s *Server) loggedProject(x *exchange, key string) int64 {
	if x.project != 0 || s.Decider == nil || x.status == http.StatusUnauthorized || !strings.HasPrefix(key, "phc_") {
		return x.project
	}
	p, _, err := s.Decider.Project(context.WithoutCancel(x.Context), key)
	if err != nil {
		return 0
	}
	return p.ID
}

// keySent returns the key of a request for the log: token, which is the key in the body, if not
// empty, otherwise the key in the Authorization header or the query, otherwise an empty string.
func keySent(r *http.Request, token string) string {
	if token != "" {
		return token
	}
	if _, key, ok := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " "); ok {
		return strings.TrimSpace(key)
	}
	q := r.URL.Query()
	for _, name := range []string{"token", "api_key", "personal_api_key"} {
		if key := q.Get(name); key != "" {
			return key
		}
	}
	return ""
}

// truncate limits text from a caller to 16 bytes for the log.
func truncate(s string) string { return s[:min(len(s), 16)] }

// WithRequestID is a slog.Handler that adds the id of the request to each record that is logged
// in the context of a request.
type WithRequestID struct{ slog.Handler }

// Handle implements slog.Handler.
func (h WithRequestID) Handle(ctx context.Context, line slog.Record) error {
	if x := ExchangeOf(ctx); x != nil {
		line.AddAttrs(slog.String("request_id", x.ID))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h WithRequestID) WithAttrs(attrs []slog.Attr) slog.Handler {
	return WithRequestID{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h WithRequestID) WithGroup(name string) slog.Handler {
	return WithRequestID{h.Handler.WithGroup(name)}
}
