package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/management"
)

// headerRequestID names a request in the answer and in every line of the log.
const headerRequestID = "X-Request-Id"

// maxRequestID bounds the id that a caller may give its request, in bytes; with a
// longer one, and with characters beyond those of ids, the request gets one of ours.
const maxRequestID = 128

// exchange is one request and its answer. It is the context of the request, where
// chi finds its own part too, so that nothing has to be copied twice; and the
// writer of the answer, so that its status is known.
type exchange struct {
	context.Context
	http.ResponseWriter
	route   *chi.Context  // nil where the handler is mounted in a router of chi's
	row     *routeLatency // nil before the router has found it
	started time.Time
	id      string
	lists   struct{ id, length headerList }
	status  int
	bytes   int64
	head    bool // the method is HEAD, though what compresses is told GET
	// What the handlers have noted for the log.
	project int64
	token   [48]byte
	length  int
}

// headerList is the memory of a header with one value.
type headerList [1]string

func (l *headerList) set(value string) []string {
	l[0] = value
	return l[:]
}

// header is the first value of a header whose name is written as net/http keeps it.
func header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// exchangeKey finds the exchange of a context.
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

// Unwrap is for http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

// noteToken keeps the project key of a request for the log; one that is longer
// than any of ours is cut. The text may be changed afterwards.
func (x *exchange) noteToken(token string) {
	if x != nil {
		x.length = copy(x.token[:], token)
	}
}

// noteProject keeps the project of a request for the log.
func (x *exchange) noteProject(id int64) {
	if x != nil {
		x.project = id
	}
}

// exchangeOf is the exchange of a request, nil where the handler of a route is
// called without the whole.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

var chiContexts = sync.Pool{New: func() any { return chi.NewRouteContext() }}

// observe names each request, measures how long its answer takes, and logs it.
func (s *server) observe(next http.Handler) http.Handler {
	routes, _ := next.(chi.Routes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{Context: r.Context(), ResponseWriter: w, started: time.Now(), id: s.nameRequest(r)}
		w.Header()[headerRequestID] = x.lists.id.set(x.id)
		if parent, _ := r.Context().Value(chi.RouteCtxKey).(*chi.Context); parent == nil {
			x.route = chiContexts.Get().(*chi.Context)
			x.route.Reset()
			x.route.Routes = routes
		}
		defer s.finish(x, r)
		r = r.WithContext(x)
		collapseSlashes(r)
		if len(r.Pattern) > 1 { // of a router around this one, and not its root
			stripMount(r, routes)
		}
		next.ServeHTTP(x, r)
	})
}

// nameRequest is the id that the caller gives its request, else that of Config.NewID,
// else a random one.
func (s *server) nameRequest(r *http.Request) string {
	if provided := r.Header[headerRequestID]; len(provided) > 0 && isRequestID(provided[0]) {
		return provided[0]
	}
	if s.NewID != nil {
		if id := s.NewID(r); isRequestID(id) {
			return id
		}
	}
	return wire.RandomUUID()
}

func isRequestID(s string) bool {
	return s != "" && len(s) <= maxRequestID && isOnlyLetters(s, "-_.:/+=@")
}

// isOnlyLetters reports whether a text has nothing but ASCII letters, digits and others.
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

// finish counts an answer that is complete, and logs it where that is asked for.
// What http.ErrAbortHandler ended counts too.
func (s *server) finish(x *exchange, r *http.Request) {
	elapsed := time.Since(x.started)
	row := x.row
	if row == nil {
		row = s.unrouted
	}
	if x.status != 0 && !isStream(x.Header()) { // 0: the connection has been taken over by a stream
		row.add(x.status, elapsed)
	}
	if s.logs(x.status) {
		s.logRequest(r, x, row.route, elapsed)
	}
	if route := x.route; route != nil {
		x.route = nil
		chiContexts.Put(route)
	}
}

// eventStream is the media type of server-sent events.
const eventStream = "text/event-stream"

func isStream(h http.Header) bool {
	kind := h["Content-Type"]
	return len(kind) > 0 && kind[0] == eventStream
}

// RequestLog says which requests are logged. Failed authentication (401) is logged
// with each of them, where there is a Logger.
type RequestLog uint8

const (
	// LogNoRequests logs failed authentication alone.
	LogNoRequests RequestLog = iota
	// LogFailedRequests logs what is answered with 400 or above: at most
	// errorLines a second; how many were left out is told in the next line.
	LogFailedRequests
	// LogAllRequests logs every request.
	LogAllRequests
)

// errorLines bounds the lines a second that callers can cause with requests that
// fail; errorLinesAtOnce may come at once.
const (
	errorLines       = 10
	errorLinesAtOnce = 100
)

// logs reports whether a request is logged. Lines of requests are no warnings: what
// went wrong inside has one of its own, with the same request_id.
func (s *server) logs(status int) bool {
	switch {
	case s.LogRequests == LogAllRequests:
		return true
	case status == http.StatusUnauthorized, s.LogRequests == LogFailedRequests && status >= http.StatusBadRequest:
		if s.failureLines.Allow() {
			return true
		}
		s.unloggedFailures.Add(1)
	}
	return false
}

// logRequest writes the line of a request: no secrets, no bodies, no query, and of
// the path the route alone.
func (s *server) logRequest(r *http.Request, x *exchange, route string, elapsed time.Duration) {
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
		line = append(line, slog.String("ip", s.clientIP(r).String()))
	}
	if unsaid := s.unloggedFailures.Swap(0); unsaid > 0 {
		line = append(line, slog.Uint64("unsaid", unsaid))
	}
	s.Logger.LogAttrs(x, slog.LevelInfo, "request", line...)
}

// loggedProject is the project of a request, 0 where it is not known.
func (s *server) loggedProject(x *exchange, key string) int64 {
	if x.project != 0 || s.Decider == nil || x.status == http.StatusUnauthorized || !strings.HasPrefix(key, "phc_") {
		return x.project
	}
	p, _, err := s.Decider.Project(context.WithoutCancel(x.Context), key)
	if err != nil {
		return 0
	}
	return p.ID
}

// keySent is the key that a request was made with, as far as it is known: what the
// body said, else what stands in the header or the query.
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

// truncate cuts what a caller wrote to what fits into a line.
func truncate(s string) string { return s[:min(len(s), 16)] }

// withRequestID adds the id of the request to each line that is logged in its
// context.
type withRequestID struct{ slog.Handler }

// Handle implements slog.Handler.
func (h withRequestID) Handle(ctx context.Context, line slog.Record) error {
	if x := exchangeOf(ctx); x != nil {
		line.AddAttrs(slog.String("request_id", x.id))
	}
	return h.Handler.Handle(ctx, line)
}

// WithAttrs implements slog.Handler.
func (h withRequestID) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withRequestID{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h withRequestID) WithGroup(name string) slog.Handler {
	return withRequestID{h.Handler.WithGroup(name)}
}
