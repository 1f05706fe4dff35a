package httpapi

import (
	"net/http"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// flagEndpoints are the endpoints with their own handlers that need a Decider. Each path is
// served with and without a trailing slash.
var flagEndpoints = slices.Concat(
	serving(forSDKs, "/flags", methods{"POST": withFormat(flagsFormat, (*server).evaluate), "GET": withFormat(flagsFormat, (*server).minimal)}),
	serving(forSDKs, "/decide", methods{"POST": withFormat(decideFormat, (*server).evaluate), "GET": withFormat(decideFormat, (*server).minimal)}),
	serving(forSDKs, "/flags/definitions", methods{"GET": getDefinitions}),
	uncompressed(serving(forSDKs, "/flags/definitions/stream", methods{"GET": getDefinitionsStream})),
	serving(forSDKs, "/api/feature_flag/local_evaluation", methods{"GET": getOldLocalEvaluation}),
	serving(forSDKs, "/api/projects/{project}/feature_flags/local_evaluation", methods{"GET": getLocalEvaluation}),
	serving(forSDKs, "/api/environments/{project}/feature_flags/local_evaluation", methods{"GET": getLocalEvaluation}),
	serving(forBrowser, "/api/projects/{project}/feature_flags/{flag}/remote_config", methods{"GET": getRemoteConfig}),
	serving(forBrowser, "/array/config", methods{"GET": getArrayConfig}), // for /array//config, where the token is missing
	serving(forBrowser, "/array/config.js", methods{"GET": getArrayConfigJS}),
	serving(forBrowser, "/array/{token}/config", methods{"GET": getArrayConfig}),
	serving(forBrowser, "/array/{token}/config.js", methods{"GET": getArrayConfigJS}),
)

// commonEndpoints are always served.
var commonEndpoints = slices.Concat(
	serving(forBrowser, "/array/{token}/array.js", methods{"GET": getArrayScript}),
	serving(forBrowser, "/static/{file}", methods{"GET": getScript}),
	serving(forBrowser, "/static/{version}/{file}", methods{"GET": getScript}),
	serving(forMonitors, "/_liveness", methods{"GET": getLiveness}),
	serving(forMonitors, "/_readiness", methods{"GET": getReadiness}),
	serving(forMonitors, "/", methods{"GET": getRoot}),
)

// tables returns the endpoints that this server has, which depend on its Config.
func (s *server) tables() []endpoint {
	out := slices.Clone(commonEndpoints)
	if s.Decider != nil {
		out = slices.Concat(out, flagEndpoints, ofrepEndpoints)
	}
	if s.Intake != nil {
		out = append(out, captureEndpoints...)
	}
	if s.Intake != nil && s.Decider != nil {
		out = append(out, pageEndpoints...)
	}
	if s.History != nil && s.Management != nil {
		out = append(out, historyRows(s.Management)...)
	}
	if s.Queries != nil && s.Management != nil {
		out = append(out, queryEndpoints...)
		if s.Management.FeatureFlags != nil {
			out = append(out, slices.Concat(experimentResultEndpoints, experimentSeriesEndpoints, surveyStatEndpoints)...)
		}
	}
	if s.Management != nil {
		out = append(out, managementRows(s.Management)...)
	}
	return slices.DeleteFunc(out, func(e endpoint) bool { return e.area == inSignIn && !s.servesSignIn(&e) })
}

// servesSignIn reports whether an endpoint for signing in is served. If the service has its own
// sign-in, only the endpoints that change nothing are.
func (s *server) servesSignIn(e *endpoint) bool {
	return s.hasSessions() || s.SignIn != nil && e.method == http.MethodGet && e.path != "/sessions"
}

// everyMethod is the method under which every route is registered and every request is
// routed. The rows check methods themselves, including methods that chi does not know, and
// chi would otherwise store each route ten times.
const everyMethod = http.MethodGet

// router returns the handler of all routes. It is called once.
func (s *server) router() http.Handler {
	mux := chi.NewRouter()
	// chi walks all routes that exist when NotFound is set, so this comes first.
	mux.NotFound(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case cors(w, r):
		case s.Partial:
			s.fail(w, r, &problemUnavailable)
		case s.Management != nil && isUnsupportedPath(r.URL.Path):
			s.fail(w, r, &problemUnsupportedProduct)
		case s.Management != nil && strings.HasPrefix(r.URL.Path, "/api/"):
			s.fail(w, r, &problemEndpoint)
		default:
			s.fail(w, r, &problemNotFound)
		}
	})
	for _, row := range s.routesOf(s.tables()) {
		h := s.serve(row)
		mux.Method(everyMethod, row.path, h)
		if row.path != "/" {
			mux.Method(everyMethod, row.path+"/", h)
		}
	}
	if s.Metrics != nil {
		for _, row := range s.routesOf(serving(forMonitors, "/metrics", methods{"GET": getMetrics})) {
			mux.Method(everyMethod, row.path, s.serve(row))
		}
	}
	if s.Console != nil {
		console := foreignHandler(s.Console)
		mux.Method(everyMethod, "/console", console)
		mux.Method(everyMethod, "/console/*", console)
	}
	for path, h := range s.Extra {
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
func (s *server) serve(row *route) http.HandlerFunc {
	measured := s.measure(row.path)
	var answer http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		if x, ok := w.(*exchange); ok {
			x.row = measured
		}
		defer s.recover(w, r)
		h := row.methods[r.Method]
		if row.area.pages {
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
			if row.area.missing != nil {
				err = row.area.missing(s, row.area, w, r)
			}
			s.fail(w, r, err)
			return
		}
		if err := h(s, w, r); err != nil {
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

// recover converts a panic into a 500 response and a line in the log.
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
