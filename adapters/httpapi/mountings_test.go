package httpapi_test

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// mountings are ways of mounting the handler in a service.
var mountings = map[string]struct {
	prefix string
	mount  func(h http.Handler) http.Handler
}{
	"alone": {"", func(h http.Handler) http.Handler { return h }},
	"chi Mount": {"/ph", func(h http.Handler) http.Handler {
		r := chi.NewRouter()
		r.Mount("/ph", h)
		return r
	}},
	"chi Mount in a Mount with a parameter": {"/t/acme/ph", func(h http.Handler) http.Handler {
		inner := chi.NewRouter()
		inner.Mount("/ph", h)
		r := chi.NewRouter()
		r.Mount("/t/{token}", inner)
		return r
	}},
	"chi Handle and StripPrefix": {"/ph", func(h http.Handler) http.Handler {
		r := chi.NewRouter()
		r.Handle("/ph/*", http.StripPrefix("/ph", h))
		return r
	}},
	"net/http StripPrefix": {"/ph", func(h http.Handler) http.Handler {
		m := http.NewServeMux()
		m.Handle("/ph/", http.StripPrefix("/ph", h))
		return m
	}},
	"net/http":                                {"/ph", handled("/ph/")},
	"net/http, a wildcard":                    {"/ph", handled("/ph/{rest...}")},
	"net/http, a parameter":                   {"/t/acme%2Fb/ph", handled("/t/{token}/ph/")},
	"net/http, a host":                        {"/ph", handled("example.com/ph/", "127.0.0.1/ph/")},
	"net/http, like a route":                  {"/api", handled("/api/")},
	"net/http, some routes":                   {"", handled("/flags", "/flags/", "/api/", "/array/", "/ofrep/", "/_liveness", "/nowhere", "/{$}")},
	"net/http in a StripPrefix":               {"/a/ph", func(h http.Handler) http.Handler { return http.StripPrefix("/a", handled("/ph/")(h)) }},
	"net/http, StripPrefix of a name of ours": {"/api", func(h http.Handler) http.Handler { return handled("/api/")(http.StripPrefix("/api", h)) }},
	"chi Handle": {"/ph", func(h http.Handler) http.Handler {
		r := chi.NewRouter()
		r.Handle("/ph/*", h)
		return r
	}},
	"chi Handle and StripPrefix in a Mount": {"/b/ph", func(h http.Handler) http.Handler {
		inner, r := chi.NewRouter(), chi.NewRouter()
		inner.Handle("/ph/*", http.StripPrefix("/b/ph", h))
		r.Mount("/b", inner)
		return r
	}},
	"chi Handle in a Mount in net/http": {"/a/b/ph", func(h http.Handler) http.Handler {
		inner, r := chi.NewRouter(), chi.NewRouter()
		inner.Handle("/ph/*", h)
		r.Mount("/b", inner)
		return handled("/a/")(http.StripPrefix("/a", r))
	}},
	"net/http at the root": {"", func(h http.Handler) http.Handler {
		m := http.NewServeMux()
		m.Handle("/", h)
		return m
	}},
}

// handled returns a router of net/http that serves patterns, without stripping prefixes.
func handled(patterns ...string) func(http.Handler) http.Handler {
	return func(h http.Handler) http.Handler {
		m := http.NewServeMux()
		for _, p := range patterns {
			m.Handle(p, h)
		}
		return m
	}
}
