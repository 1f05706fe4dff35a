package httpapi

import "net/http"

// warningHeader tells a caller that 80 % of its rate limit is used.
const warningHeader = "X-Posthog-Rate-Limit-Warning"

var (
	corsTrue   = []string{"true"}
	corsExpose = []string{"x-posthog-rate-limit-warning"}
	varyOrigin = []string{"Origin"}
)

// cors is allowOrigin, which also answers a preflight.
func cors(w http.ResponseWriter, r *http.Request) (preflight bool) {
	preflight = allowOrigin(w, r)
	if preflight {
		w.WriteHeader(http.StatusOK)
	}
	return preflight
}

// allowOrigin lets any page read the public answers, errors included: the origin
// is mirrored and credentials are allowed (§9.1). It reports a preflight.
func allowOrigin(w http.ResponseWriter, r *http.Request) (preflight bool) {
	h := w.Header()
	if len(h["Vary"]) == 0 {
		h["Vary"] = varyOrigin // full: who adds to it makes a copy
	} else {
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
	if wanted := r.Header["Access-Control-Request-Headers"]; len(wanted) > 0 {
		h["Access-Control-Allow-Headers"] = wanted
	}
	h.Set("Access-Control-Max-Age", "3600")
	h.Add("Vary", "Access-Control-Request-Method, Access-Control-Request-Headers")
	return true
}
