package frame

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// stripMount removes the prefix where this handler is mounted from the path of a request. The
// prefix is in the pattern of the outer router: for "/ph/" of net/http and for "/ph/*" of chi,
// /ph/flags becomes /flags, whether or not the outer router has stripped the prefix already. A
// path that matches a route of this handler is not changed. r must be a copy of the original
// request; its RequestURI keeps the prefix, for links.
func stripMount(r *http.Request, routes chi.Routes) {
	outer := chi.RouteContext(r.Context()) // without an outer chi router, this is the context of our own router
	rest, ok := CutPattern(r.URL.EscapedPath(), r.Pattern)
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
	if r.RequestURI == "" { // a request that was not read by net/http
		r.RequestURI = r.URL.RequestURI()
	}
	u := *r.URL
	if u.Path = path; u.RawPath != "" {
		u.RawPath = rest
	}
	r.URL, outer.RoutePath = &u, rest
}

// collapseSlashes replaces runs of slashes in the path of a request by one slash, since clients
// that join a base address with a trailing slash and a path request //flags. An encoded slash is
// part of a name and is not changed. r must be a copy of the original request.
func collapseSlashes(r *http.Request) {
	if outer := chi.RouteContext(r.Context()); strings.Contains(outer.RoutePath, "//") {
		outer.RoutePath = OneSlash(outer.RoutePath)
	}
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	if !strings.Contains(path, "//") {
		return
	}
	if r.RequestURI == "" { // a request that was not read by net/http
		r.RequestURI = r.URL.RequestURI()
	}
	u := *r.URL
	if u.Path = OneSlash(path); u.RawPath != "" {
		u.RawPath = u.Path
		u.Path, _ = url.PathUnescape(u.RawPath) // RawPath is a valid encoding, otherwise net/url ignores it
	}
	r.URL = &u
}

// OneSlash replaces runs of slashes in a path by one slash.
func OneSlash(path string) string {
	if !strings.Contains(path, "//") {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := range len(path) {
		if path[i] != '/' || len(b) == 0 || b[len(b)-1] != '/' {
			b = append(b, path[i])
		}
	}
	return string(b)
}

func isRoute(routes chi.Routes, u *url.URL) bool {
	return routes.Match(chi.NewRouteContext(), everyMethod, cmp.Or(u.RawPath, u.Path))
}

// CutPattern removes the prefix of a pattern from an escaped path. The prefix of "GET
// example.com/t/{tenant}/ph/{rest...}" has three segments. ok is false if the pattern has no
// prefix, if the path has a different prefix, and if the pattern matches only one path.
func CutPattern(path, pattern string) (rest string, ok bool) {
	_, pattern, _ = strings.Cut(pattern, "/") // after the method and the host
	parts := strings.Split(pattern, "/")
	last := len(parts) - 1
	if end := parts[last]; last == 0 || end != "" && end != "*" && !strings.HasSuffix(end, "...}") {
		return "", false
	}
	for _, part := range parts[:last] {
		var segment string
		segment, path, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
		path = "/" + path
		if plain, err := url.PathUnescape(segment); err != nil || segment == "" || plain != part && !strings.HasPrefix(part, "{") {
			return "", false
		}
	}
	return path, true
}

// PrefixOf returns the prefix of a request's path as the client sees it, such as /ph, or an empty
// string if there is no prefix. It compares the request line with the path that is left for our
// router.
func PrefixOf(r *http.Request) string {
	target, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	path := target.EscapedPath()
	prefix, ok := strings.CutSuffix(strings.TrimSuffix(OneSlash(path), "/"), strings.TrimSuffix(r.URL.EscapedPath(), "/"))
	if !ok || prefix != "" && strings.HasPrefix(path, "//") { // two slashes would name another host
		return ""
	}
	return prefix
}

// everyMethod is the method under which every route is registered and every request is
// routed. The rows check methods themselves, including methods that chi does not know, and
// chi would otherwise store each route ten times.
const everyMethod = http.MethodGet
