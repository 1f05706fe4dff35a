package frame

import (
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/go-chi/chi/v5"
	"golang.org/x/time/rate"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

// Router returns the handler of the routes for a table of endpoints, and for other handlers, which
// may be nil: metrics serves /metrics, and extra maps paths to their handlers. It is called once.
func (s *Server) Router(table []Endpoint, metrics http.Handler, extra map[string]http.Handler) http.Handler {
	s.unrouted = s.measure(unroutedName)
	s.failureLines = rate.NewLimiter(errorLines, errorLinesAtOnce)
	mux := chi.NewRouter()
	// chi walks all routes that exist when NotFound is set, so this comes first.
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case cors(w, r):
		case s.Partial:
			s.fail(w, r, &problem.Unavailable)
		case s.Management != nil && isUnsupportedPath(r.URL.Path):
			s.fail(w, r, &UnsupportedProduct)
		case s.Management != nil && strings.HasPrefix(r.URL.Path, "/api/"):
			s.fail(w, r, &problemEndpoint)
		default:
			s.fail(w, r, &problem.NotFound)
		}
	})
	for _, row := range s.RoutesOf(table) {
		h := s.serve(row)
		mux.Method(everyMethod, row.Path, h)
		if row.Path != "/" {
			mux.Method(everyMethod, row.Path+"/", h)
		}
	}
	if metrics != nil {
		get := func(w http.ResponseWriter, r *http.Request) error {
			metrics.ServeHTTP(w, r)
			return nil
		}
		for _, row := range s.RoutesOf(Serving(ForMonitors, "/metrics", Methods{"GET": get})) {
			mux.Method(everyMethod, row.Path, s.serve(row))
		}
	}
	if s.Console != nil {
		console := foreignHandler(s.Console)
		mux.Method(everyMethod, "/console", console)
		mux.Method(everyMethod, "/console/*", console)
	}
	for path, h := range extra {
		mux.Method(everyMethod, path, foreignHandler(h))
	}
	return mux
}

// foreignHandler wraps a handler of another package, which may be a chi router: it routes by
// the method in chi's context, so the request's own method is restored there.
func foreignHandler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chi.RouteContext(r.Context()).RouteMethod = r.Method
		h.ServeHTTP(w, r)
	})
}

// serve returns the handler of a route. It handles CORS, OPTIONS, missing methods, panics and
// errors, and compresses responses.
func (s *Server) serve(row *route) http.HandlerFunc {
	measured := s.measure(row.Path)
	var answer http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		if x, ok := w.(*exchange); ok {
			x.row = measured
		}
		defer s.recover(w, r)
		h := row.Methods[r.Method]
		if row.area.Pages {
			if preflight := allowOrigin(w, r); preflight && h == nil {
				w.WriteHeader(http.StatusOK)
				return
			}
		}
		if h == nil {
			w.Header().Set("Allow", row.allow)
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			var err error = &problem.Method
			if row.area.Missing != nil {
				err = row.area.Missing(s, row.area, w, r)
			}
			s.fail(w, r, err)
			return
		}
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	}
	compressed := compressResponses(answer)
	return func(w http.ResponseWriter, r *http.Request) {
		if row.uncompressed[r.Method] {
			answer(w, r)
		} else {
			compressed(w, r)
		}
	}
}

// PanicCount returns the number of panics since the start.
func (s *Server) PanicCount() uint64 { return s.panics.Load() }

// recover converts a panic into a 500 response and a line in the log.
func (s *Server) recover(w http.ResponseWriter, r *http.Request) {
	v := recover()
	switch v {
	case nil:
		return
	case http.ErrAbortHandler:
		panic(v)
	}
	s.panics.Add(1)
	s.Logger.ErrorContext(r.Context(), "panic", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	s.fail(w, r, &problem.Internal)
}
