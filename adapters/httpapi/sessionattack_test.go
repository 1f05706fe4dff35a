package httpapi_test

import (
	"database/sql"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// console.md §5.1 and 5.4, CSRF: with the cookie, requests from another site or another origin of
// the same site, forms, and GET requests cannot change data on any route. Other pages cannot read a
// response that requires the cookie.
func TestSession_CrossSite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "office.db")
	o := newOffice(t, "sqlite:"+file)
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	cookie := o.ownerSession(t)
	before := contents(t, db)
	for _, e := range httpapi.EndpointsForTest() {
		request := e.Method + " " + walkPath(e.Path, unknownUUID)
		open := e.Scope == "public" && !strings.HasPrefix(e.Path, "/api/session/")
		if e.Method == http.MethodGet {
			if strings.HasSuffix(e.Scope, ":write") {
				o.wantResponse(t, visit{request: request, cookie: cookie}, 403, `"key_required"`)
			}
			res, _ := o.visits(t, o.Server, visit{request: request, cookie: cookie, headers: []string{"Origin", "https://evil.example"}})
			if !open && res.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s may be read by pages of others", request)
			}
			continue
		}
		if open {
			continue
		}
		for what, v := range map[string]visit{
			"another site":             {headers: []string{"Sec-Fetch-Site", "cross-site"}},
			"another origin":           {headers: []string{"Sec-Fetch-Site", "same-site"}},
			"another site, old":        {headers: []string{"Origin", "https://evil.example"}},
			"another port, old":        {headers: []string{"Origin", "http://127.0.0.1:1"}},
			"a sandbox":                {headers: []string{"Origin", "null"}},
			"a form":                   {body: "a=b", headers: []string{"Content-Type", "application/x-www-form-urlencoded"}},
			"a form that looks like":   {body: "{}", headers: []string{"Content-Type", "text/plain"}},
			"a body of no stated kind": {body: "{}", headers: []string{"Content-Type", ""}},
		} {
			v.request, v.cookie = request, cookie
			status, part := 403, "another site"
			if v.body != "" {
				status, part = 415, "unsupported_media_type"
			}
			res, body := o.visits(t, o.Server, v)
			if res.StatusCode != status || !strings.Contains(body, part) {
				t.Errorf("%s of %s: %d %s", request, what, res.StatusCode, body)
			}
		}
	}
	if diff := difference(before, contents(t, db)); diff != "" {
		t.Errorf("something has changed: %s", diff)
	}
}

// console.md §5.1, Where a cookie counts: only the management API reads it.
func TestSession_NotForPublicRows(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	cookie := o.ownerSession(t)
	for _, request := range []string{
		"GET /flags/definitions/?token=phc_1", "GET /api/feature_flag/local_evaluation/?token=phc_1", "GET /api/projects/1/feature_flags/local_evaluation/",
		"GET /api/projects/1/feature_flags/x/remote_config/", "GET /flags/definitions/stream/?token=phc_1",
		"GET /shared/x/", "GET /api/surveys/", "GET /api/early_access_features/", "GET /ofrep/v1/configuration", "POST /flags/?v=2", "GET /array/phc_1/config",
	} {
		with, a := o.visits(t, o.Server, visit{request: request, cookie: cookie})
		without, b := o.visits(t, o.Server, visit{request: request})
		if with.StatusCode != without.StatusCode || with.StatusCode < 400 && len(a) != len(b) {
			t.Errorf("%s: %d with the cookie, %d without", request, with.StatusCode, without.StatusCode)
		}
	}
}

// console.md §5.4, DNS rebinding: a request for another host name has no session.
func TestSession_ForeignHost(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	cookie := o.ownerSession(t)
	port := cookie[:strings.IndexByte(cookie, '=')][len("bunting-"):]
	for host, status := range map[string]int{"127.0.0.1:" + port: 200, "localhost:" + port: 200, "evil.example:" + port: 401, "localhost.evil.example:" + port: 401, "127.0.0.1.nip.io:" + port: 401} {
		o.wantResponse(t, visit{request: "GET /api/users/@me/", cookie: cookie, host: host}, status, "")
	}
}

// console.md §5.2: next can only refer to pages of the console.
func TestSession_Next(t *testing.T) {
	const base = "/ph/console/"
	for next, want := range map[string]string{
		"/ph/console/p/1/flags": "p/1/flags", "p/1/flags?search=a%20b": "p/1/flags?search=a%20b", "/ph/console/p/1/people?search=a:b": "p/1/people?search=a:b",
		"": "", "/": "", "/ph": "", "/ph/": "", "/ph/console": "", "/console/p": "", "//evil.example": "", "//evil.example/ph/console/": "", "https://evil.example/ph/console/": "",
		"https:evil.example": "", "javascript:alert(1)": "", "data:text/html,x": "", "/ph/console//evil.example": "", "/ph/console/../x": "", "/ph/console/%2e%2e/x": "", "../x": "", "./x": "",
		"p/1/%2E%2E/%2e%2e/x": "", `/ph/console/\evil.example`: "", "/ph/console/%5cevil.example": "", `\\evil.example`: "", "/ph/console/%2f%2fevil.example": "",
		"/ph/console/a\nb": "", "/ph/console/%0d%0aSet-Cookie:x": "", "/ph/console/%zz": "", "\t//evil.example": "", "/ph/console/%00": "",
	} {
		if got := httpapi.ConsolePathForTest(base, next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}
