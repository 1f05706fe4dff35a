package frame

import "net/http"

var (
	corsTrue   = []string{"true"}
	corsExpose = []string{"x-posthog-rate-limit-warning"}
	varyOrigin = []string{"Origin"}
	varyBoth   = []string{varyEncoding[0], varyOrigin[0]}
)

// cors calls allowOrigin and also writes the response to a preflight request.
func cors(w http.ResponseWriter, r *http.Request) (preflight bool) {
	preflight = allowOrigin(w, r)
	if preflight {
		w.WriteHeader(http.StatusOK)
	}
	return preflight
}

// allowOrigin sets the headers that allow pages of all origins to read public responses, including
// errors: it repeats the origin of the request and allows credentials (§9.1). It reports whether
// the request is a preflight.
func allowOrigin(w http.ResponseWriter, r *http.Request) (preflight bool) {
	h := w.Header()
	switch vary := h["Vary"]; { // the shared slices have no spare capacity, so append copies them
	case len(vary) == 0:
		h["Vary"] = varyOrigin
	case len(vary) == 1 && vary[0] == varyEncoding[0]:
		h["Vary"] = varyBoth
	default:
		h.Add("Vary", "Origin")
	}
	origin := r.Header["Origin"]
	if len(origin) == 0 {
		return false
	}
	h["Access-Control-Allow-Origin"] = origin[:1]
	h["Access-Control-Allow-Credentials"] = corsTrue
	h["Access-Control-Expose-Headers"] = corsExpose
	method := r.Header["Access-Control-Request-Method"]
	if r.Method != http.MethodOptions || len(method) == 0 {
		return false
	}
	h["Access-Control-Allow-Methods"] = method[:1]
	if requested := r.Header["Access-Control-Request-Headers"]; len(requested) > 0 {
		h["Access-Control-Allow-Headers"] = requested
	}
	h.Set("Access-Control-Max-Age", "3600")
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	return true
}
