package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// below makes the path of a request begin where this handler is mounted, as the
// pattern of the outer router says: /ph/flags is /flags below "/ph/" of net/http and
// below "/ph/*" of chi, whether or not the prefix is stripped. A path that is one of
// ours as it stands stays. r is a copy already; its RequestURI keeps the prefix, for
// links.
func below(r *http.Request, routes chi.Routes) {
	outer := chi.RouteContext(r.Context()) // without an outer router of chi's: this one's
	rest, ok := cutPattern(r.URL.EscapedPath(), r.Pattern)
	switch {
	case isRoute(routes, r.URL):
		outer.RoutePath = ""
		return
	case !ok:
		rest = outer.RoutePath
	}
	path, err := url.PathUnescape(rest)
	if err != nil || rest == "" {
		return
	}
	if r.RequestURI == "" { // made by hand
		r.RequestURI = r.URL.RequestURI()
	}
	u := *r.URL
	if u.Path = path; u.RawPath != "" {
		u.RawPath = rest
	}
	r.URL, outer.RoutePath = &u, rest
}

func isRoute(routes chi.Routes, u *url.URL) bool {
	return routes.Match(chi.NewRouteContext(), http.MethodGet, cmp.Or(u.RawPath, u.Path))
}

// cutPattern takes the beginning of an escaped path away that a pattern names:
// "GET example.com/t/{tenant}/ph/{rest...}" names three parts. False where it names
// none, or others, or one path alone.
func cutPattern(path, pattern string) (rest string, ok bool) {
	_, pattern, _ = strings.Cut(pattern, "/") // behind a method and a host
	parts := strings.Split(pattern, "/")
	last := len(parts) - 1
	if end := parts[last]; last == 0 || end != "" && end != "*" && !strings.HasSuffix(end, "...}") {
		return "", false
	}
	for _, part := range parts[:last] {
		var sent string
		sent, path, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
		path = "/" + path
		if plain, err := url.PathUnescape(sent); err != nil || sent == "" || plain != part && !strings.HasPrefix(part, "{") {
			return "", false
		}
	}
	return path, true
}

// prefixOf is what stands before the path of a request where its client sees it, as
// far as the request line tells: empty, or /ph.
func prefixOf(r *http.Request) string {
	seen, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	prefix, ok := strings.CutSuffix(strings.TrimSuffix(seen.EscapedPath(), "/"), strings.TrimSuffix(r.URL.EscapedPath(), "/"))
	if !ok || strings.HasPrefix(prefix, "//") { // two slashes would name another host
		return ""
	}
	return prefix
}
