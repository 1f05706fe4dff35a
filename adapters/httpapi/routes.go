package httpapi

import (
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/go-chi/chi/v5"
)

// route is one row of the table. A handler returns an error for what it has not
// answered itself.
type route struct {
	path    string
	methods map[string]handler
	// allow is the Allow header of OPTIONS and of methods that are missing.
	allow string
	// public answers may be read by pages of any origin.
	public bool
}

// missing is the method under which a row keeps what answers those that it lacks.
const missing = "missing"

type handler func(*server, http.ResponseWriter, *http.Request) error

const (
	allowFlags       = "GET, POST, OPTIONS, HEAD"
	allowDefinitions = "GET, OPTIONS, HEAD"
	allowGet         = "GET, HEAD, OPTIONS"
)

// THE TABLE: every route that is served always. A path serves with and without a trailing slash.
var routes = []route{
	{"/flags", methods{"POST": postFlags, "GET": getFlags, "HEAD": headJSON}, allowFlags, true},
	{"/decide", methods{"POST": postDecide, "GET": getDecide, "HEAD": headJSON}, allowFlags, true},
	{"/flags/definitions", methods{"GET": getDefinitions, "HEAD": headJSON}, allowDefinitions, true},
	{"/flags/definitions/stream", methods{"GET": getDefinitionsStream, "HEAD": headJSON}, allowDefinitions, true},
	{"/api/feature_flag/local_evaluation", methods{"GET": getOldLocalEvaluation, "HEAD": headJSON}, allowDefinitions, true},
	{"/api/projects/{project}/feature_flags/local_evaluation", methods{"GET": getLocalEvaluation, "HEAD": headJSON}, allowDefinitions, true},
	{"/api/environments/{project}/feature_flags/local_evaluation", methods{"GET": getLocalEvaluation, "HEAD": headJSON}, allowDefinitions, true},
	{"/api/projects/{project}/feature_flags/{flag}/remote_config", methods{"GET": getRemoteConfig, "HEAD": headJSON}, allowGet, true},
	{"/array/{token}/config", methods{"GET": getArrayConfig, "HEAD": headJSON}, allowGet, true},
	{"/array/{token}/config.js", methods{"GET": getArrayConfigJS, "HEAD": headJSON}, allowGet, true},
	{"/array/{token}/array.js", methods{"GET": getArrayScript, "HEAD": getArrayScript}, allowGet, true},
	{"/static/{file}", methods{"GET": getScript, "HEAD": getScript}, allowGet, true},
	{"/static/{version}/{file}", methods{"GET": getScript, "HEAD": getScript}, allowGet, true},
	{"/_liveness", methods{"GET": getLiveness, "HEAD": getLiveness}, allowGet, false},
	{"/_readiness", methods{"GET": getReadiness, "HEAD": getReadiness}, allowGet, false},
	{"/", methods{"GET": getRoot, "HEAD": getRoot}, allowGet, false},
}

type methods = map[string]handler

func (s *server) router() http.Handler {
	mux := chi.NewRouter()
	s.mount(mux, routes)
	s.mount(mux, ofrepRoutes)
	if s.Intake != nil {
		s.mount(mux, captureRoutes)
	}
	if s.History != nil {
		s.mount(mux, s.historyRoutes(s.History, s.People))
	}
	if s.Management != nil {
		s.mount(mux, s.managementRoutes())
	}
	if s.Metrics != nil {
		metrics := func(s *server, w http.ResponseWriter, r *http.Request) error {
			s.Metrics.ServeHTTP(w, r)
			return nil
		}
		mux.Handle("/metrics", s.serve(&route{"/metrics", methods{"GET": metrics, "HEAD": metrics}, allowGet, false}))
	}
	for path, h := range s.Extra {
		mux.Handle(path, h)
	}
	mux.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		// chi does not know the method: the row of the path answers, as to any
		// other method that it lacks.
		chi.RouteContext(r.Context()).RouteMethod = http.MethodTrace
		mux.ServeHTTP(w, r)
	})
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case cors(w, r):
		case s.Partial:
			s.fail(w, r, &problemUnavailable)
		case s.Management != nil && isNotPart(r.URL.Path):
			s.fail(w, r, &problemNotPart)
		case s.Management != nil && strings.HasPrefix(r.URL.Path, "/api/"):
			s.fail(w, r, &problemEndpoint)
		default:
			s.fail(w, r, &problemNotFound)
		}
	})
	return mux
}

func (s *server) mount(mux *chi.Mux, rows []route) {
	for i := range rows {
		h := s.serve(&rows[i])
		mux.Handle(rows[i].path, h)
		if slashed := rows[i].path + "/"; rows[i].path != "/" {
			mux.Handle(slashed, h)
		}
	}
}

// serve answers a row of the table: CORS, OPTIONS and missing methods, panics,
// errors.
func (s *server) serve(row *route) http.HandlerFunc {
	measured := s.measure(row.path)
	return func(w http.ResponseWriter, r *http.Request) {
		if x, ok := w.(*exchange); ok {
			x.row = measured
		}
		defer s.recover(w, r)
		h := row.methods[r.Method]
		if row.public {
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
			var err error = &problemMethod
			if h := row.methods[missing]; h != nil {
				err = h(s, w, r)
			}
			s.fail(w, r, err)
			return
		}
		if err := h(s, w, r); err != nil {
			s.fail(w, r, err)
		}
	}
}

// recover turns a mistake of ours into a 500 and a line in the log.
func (s *server) recover(w http.ResponseWriter, r *http.Request) {
	v := recover()
	switch v {
	case nil:
		return
	case http.ErrAbortHandler:
		panic(v)
	}
	s.stats.panics.Add(1)
	s.Logger.ErrorContext(r.Context(), "panic", "method", r.Method, "path", r.URL.Path, "panic", v, "stack", string(debug.Stack()))
	s.fail(w, r, &problemInternal)
}

// headJSON answers HEAD: JSON, no body.
func headJSON(_ *server, w http.ResponseWriter, _ *http.Request) error {
	w.Header()["Content-Type"] = contentTypeJSON
	w.WriteHeader(http.StatusOK)
	return nil
}

// parameter is a part of the path. chi matches the escaped form of a path
// that has one, and then the part is escaped too.
func parameter(r *http.Request, name string) string {
	part := chi.URLParam(r, name)
	if r.URL.RawPath != "" {
		if plain, err := url.PathUnescape(part); err == nil {
			return plain
		}
	}
	return part
}
