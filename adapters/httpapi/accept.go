package httpapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// bearer returns the key of the Authorization header, or an empty string if it has none. The scheme
// may be Bearer or Token, in any case.
func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") {
		return ""
	}
	return strings.TrimSpace(key)
}

// keyOutsideBody returns the key of the Authorization header or, if there is none, of the query
// string.
func keyOutsideBody(r *http.Request) (key, location string) {
	if key = bearer(r); key != "" {
		return key, "Authorization header"
	}
	return strings.TrimSpace(r.URL.Query().Get("personal_api_key")), "query string"
}

// header returns the first value of a header, or an empty string. The name must have the
// canonical form of net/http.
func header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// html is the media type of HTML pages.
const html = "text/html"

// prefersPage reports whether the caller prefers HTML.
func prefersPage(r *http.Request) bool { return prefers(r, "text/html") }

// prefers reports whether the Accept header names a media type, with a weight of at least that of
// JSON.
func prefers(r *http.Request, mediaType string) bool {
	page, data, wildcard := -1.0, -1.0, -1.0
	for _, line := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(line, ",") {
			kind, parameters, _ := strings.Cut(part, ";")
			switch weight := acceptWeight(parameters); strings.ToLower(strings.TrimSpace(kind)) {
			case mediaType:
				page = max(page, weight)
			case "application/json":
				data = max(data, weight)
			case "*/*":
				wildcard = max(wildcard, weight)
			}
		}
	}
	if data < 0 {
		data = wildcard
	}
	return page > 0 && page >= data
}

// acceptWeight returns the q of an entry of Accept. It is 1 if there is no valid q.
func acceptWeight(parameters string) float64 {
	list := strings.Split(parameters, ";")
	index := slices.IndexFunc(list, func(p string) bool { return strings.HasPrefix(strings.ToLower(strings.TrimSpace(p)), "q=") })
	if index < 0 {
		return 1
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(list[index])[2:], 64)
	if err != nil {
		return 1
	}
	return q
}
