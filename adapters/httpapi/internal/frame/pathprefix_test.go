package frame

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
)

// The prefix of a pattern of net/http or chi is removed from the escaped path, segment by segment.
func TestMount_CutPattern(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, pattern, want string
		ok                  bool
	}{
		{"/ph/flags", "/ph/", "/flags", true},
		{"/ph/flags/", "/ph/*", "/flags/", true},
		{"/ph/", "/ph/", "/", true},
		{"/ph", "/ph/", "/", true},
		{"/a/b/x/y", "/a/b/*", "/x/y", true},
		{"/t/acme/ph/x", "GET example.com/t/{tenant}/ph/{rest...}", "/x", true},
		{"/t/a%2Fb/x", "/t/{tenant}/", "/x", true},
		{"/a%20b/x", "/a b/", "/x", true},
		{"/ph/a%2Fb", "/ph/", "/a%2Fb", true},
		{"/other/flags", "/ph/", "", false},
		{"/PH/flags", "/ph/", "", false},
		{"/t//x", "/t/{tenant}/", "", false},
		{"/%zz/x", "/{tenant}/", "", false},
		{"/flags", "/flags", "", false},
		{"/a/flags", "/a/flags", "", false},
		{"/a/b", "/a/{id}", "", false},
		{"/x", "/", "", false},
		{"/x", "", "", false},
	} {
		got, ok := CutPattern(c.path, c.pattern)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s of %s: %q, %v, want %q, %v", c.pattern, c.path, got, ok, c.want, c.ok)
		}
	}
}

// The prefix as the client sees it is the part of the request line before the path that is left for
// the router. A prefix of two slashes would be the name of another host in a link.
func TestMount_PrefixOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ requestURI, path, want string }{
		{"/flags", "/flags", ""},
		{"/ph/flags?a=/b", "/flags", "/ph"},
		{"/ph/flags/", "/flags", "/ph"},
		{"/ph/flags", "/flags/", "/ph"},
		{"/ph//flags", "/flags", "/ph"},
		{"/ph/", "/", "/ph"},
		{"/a/b/flags", "/flags", "/a/b"},
		{"/ph/a%2Fb", "/a%2Fb", "/ph"},
		{"//evil.example/flags", "/flags", ""},
		{"//flags", "/flags", ""},
		{"/flags", "/other", ""},
		{"", "/flags", ""},
		{"x y", "/flags", ""},
		{"http://h.example/ph/flags", "/flags", "/ph"},
	} {
		u, err := url.Parse(c.path)
		if err != nil {
			t.Fatal(err)
		}
		if got := PrefixOf(&http.Request{RequestURI: c.requestURI, URL: u}); got != c.want {
			t.Errorf("%s for %s: %q, want %q", c.requestURI, c.path, got, c.want)
		}
	}
}

// Runs of slashes count as one (decision 41); an encoded slash is part of a name.
func TestMount_OneSlash(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"": "", "/": "/", "//": "/", "///": "/", "/a": "/a", "//a": "/a", "/a//b///c//": "/a/b/c/", "a//b": "a/b", "/a%2F%2Fb": "/a%2F%2Fb", "/é//é": "/é/é",
	} {
		if got := OneSlash(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}

// Slashes in the path are collapsed before the router reads it, the path is unescaped correctly, and
// the request line stays the same, for links.
func TestMount_CollapseSlashes(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]struct{ path, raw string }{
		"/a/b":            {"/a/b", ""},
		"//a//b/":         {"/a/b/", ""},
		"/api//x%2F%2Fy/": {"/api/x//y/", "/api/x%2F%2Fy/"},
		"/x%2Fy//":        {"/x/y/", "/x%2Fy/"},
	} {
		requests := 0
		s := plainServer()
		h := s.Observe(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			requests++
			if r.URL.Path != want.path || r.URL.RawPath != want.raw || r.RequestURI != target {
				t.Errorf("%s: %q, %q, line %q", target, r.URL.Path, r.URL.RawPath, r.RequestURI)
			}
		}))
		r := httptest.NewRequest("GET", "http://h.example/", nil)
		var err error
		if r.URL, err = url.ParseRequestURI(target); err != nil {
			t.Fatal(err)
		}
		r.RequestURI = target
		if h.ServeHTTP(httptest.NewRecorder(), r); requests != 1 {
			t.Errorf("%s: %d requests", target, requests)
		}
	}
}

// Products that Bunting does not have by design (decision 37): below a project, an environment, an
// organization, and on the older paths without one. A path that only begins alike is not meant.
func TestNotPart_Paths(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{
		"/api/projects/1/hog_functions":                          true,
		"/api/projects/1/hog_functions/":                         true,
		"/api/projects/1/hog_functions/7/logs/":                  true,
		"/api/environments/1/session_recordings/":                true,
		"/api/organizations/o/proxy_records/":                    true,
		"/api/projects/1/error_tracking/symbol_sets/":            true,
		"/api/projects/1/error_tracking/stack_frames/batch_get/": true,
		"/api/plugin_configs/":                                   true,
		"/api/session_recordings":                                true,
		"/api/projects/1/error_tracking/":                        false,
		"/api/projects/1/error_tracking/issues/":                 false,
		"/api/projects/1/hog_functions_x/":                       false,
		"/api/projects/1/":                                       false,
		"/api/projects/hog_functions":                            false,
		"/api/projects/1/insights/hog_functions/":                false,
		"/api/error_tracking/symbol_sets/":                       false, // it never had an older path
		"/projects/1/hog_functions/":                             false,
		"/api":                                                   false,
		"":                                                       false,
	} {
		if got := isUnsupportedPath(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if UnsupportedProduct.Status != 404 || UnsupportedProduct.Detail != "Not part of Bunting." {
		t.Errorf("%+v", UnsupportedProduct)
	}
}

// Which kind of object, and which one, access rules apply to (spec/clients.md §11.1).
func TestAccess_PathParts(t *testing.T) {
	t.Parallel()
	for path, want := range map[string][2]string{
		"/feature_flags":                  {"feature_flag", ""},
		"/feature_flags/{id}":             {"feature_flag", "id"},
		"/feature_flags/{flag}/pins/{id}": {"feature_flag", "flag"},
		"/feature_flags/bulk_delete":      {"feature_flag", ""},
		"/changes":                        {"activity_log", ""},
		"/insights/{insight}/sharing":     {"insight", "insight"},
		"/surveys/":                       {"survey", ""},
		"/persons/{id}":                   {"", ""},
		"/feature_flag":                   {"", ""},
		"/":                               {"", ""},
		"":                                {"", ""},
	} {
		if kind, parameter := AccessPathParts(path); kind != want[0] || parameter != want[1] {
			t.Errorf("%s: %q, %q", path, kind, parameter)
		}
	}
}

// The names of the parameters of a path, in their order.
func TestRows_ParameterNames(t *testing.T) {
	t.Parallel()
	if got := parameterNames("/a/{first}/b/{second}/c"); len(got) != 2 || got[0] != "first" || got[1] != "second" {
		t.Error(got)
	}
	if got := parameterNames("/a/b"); got != nil {
		t.Error(got)
	}
}
