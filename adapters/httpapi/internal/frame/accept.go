package frame

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Bearer returns the key of the Authorization header, or an empty string if it has none. The scheme
// may be Bearer or Token, in any case.
func Bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(strings.TrimSpace(r.Header.Get("Authorization")), " ")
	if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "Token") {
		return ""
	}
	return strings.TrimSpace(key)
}

// KeyOutsideBody returns the key of the Authorization header or, if there is none, of the query
// string.
func KeyOutsideBody(r *http.Request) (key, location string) {
	if key = Bearer(r); key != "" {
		return key, "Authorization header"
	}
	return strings.TrimSpace(r.URL.Query().Get("personal_api_key")), "query string"
}

// Header returns the first value of a header, or an empty string. The name must have the
// canonical form of net/http.
func Header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// HTML is the media type of HTML pages.
const HTML = "text/html"

// PrefersPage reports whether the caller prefers HTML.
func PrefersPage(r *http.Request) bool { return Prefers(r, "text/html") }

// Prefers reports whether the Accept header names a media type, with a weight of at least that of
// JSON.
func Prefers(r *http.Request, mediaType string) bool {
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
