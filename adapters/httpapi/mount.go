package httpapi

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-chi/chi/v5"
)

// stripMount makes the path of a request begin where this handler is mounted, as the
// pattern of the outer router says: /ph/flags is /flags below "/ph/" of net/http and
// below "/ph/*" of chi, whether or not the prefix is stripped. A path that is one of
// ours as it stands stays. r is a copy already; its RequestURI keeps the prefix, for
// links.
func stripMount(r *http.Request, routes chi.Routes) {
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

// collapseSlashes makes one slash of several in the path of a request, since clients that
// join an address with a slash at its end to a path ask for //flags. An encoded slash is a
// part of a name and stays. r is a copy already.
func collapseSlashes(r *http.Request) {
	if outer := chi.RouteContext(r.Context()); strings.Contains(outer.RoutePath, "//") {
		outer.RoutePath = oneSlash(outer.RoutePath)
	}
	path := cmp.Or(r.URL.RawPath, r.URL.Path)
	if !strings.Contains(path, "//") {
		return
	}
	if r.RequestURI == "" { // made by hand
		r.RequestURI = r.URL.RequestURI()
	}
	u := *r.URL
	if u.Path = oneSlash(path); u.RawPath != "" {
		u.RawPath = u.Path
		u.Path, _ = url.PathUnescape(u.RawPath) // RawPath is a valid encoding, or net/url ignores it
	}
	r.URL = &u
}

func oneSlash(path string) string {
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
		var segment string
		segment, path, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
		path = "/" + path
		if plain, err := url.PathUnescape(segment); err != nil || segment == "" || plain != part && !strings.HasPrefix(part, "{") {
			return "", false
		}
	}
	return path, true
}

// prefixOf is what stands before the path of a request where its client sees it, as
// far as the request line tells: empty, or /ph.
func prefixOf(r *http.Request) string {
	target, err := url.ParseRequestURI(r.RequestURI)
	if err != nil {
		return ""
	}
	path := target.EscapedPath()
	prefix, ok := strings.CutSuffix(strings.TrimSuffix(oneSlash(path), "/"), strings.TrimSuffix(r.URL.EscapedPath(), "/"))
	if !ok || prefix != "" && strings.HasPrefix(path, "//") { // two slashes would name another host
		return ""
	}
	return prefix
}
