package frame

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
)

// signInServer returns a server with sessions behind a proxy at 10.0.0.0/8.
func signInServer(site string) *Server {
	return &Server{SignIn: &BrowserSignIn{SiteURL: site}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
}

// Hosts on this machine need no HTTPS. Names that only resolve to it do, since any page could have
// such a name.
func TestSession_Loopback(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8000": true, "LOCALHOST": true, "localhost.": true, "app.localhost": true, "a.b.localhost:80": true,
		"127.0.0.1": true, "127.0.0.1:8000": true, "127.255.255.254": true, "::1": true, "[::1]": true, "[::1]:8000": true, "[::ffff:127.0.0.1]:80": true,
		"": false, "example.com": false, "notlocalhost": false, "localhost.example.com": false, "127.0.0.1.nip.io": false, "128.0.0.1": false, "0.0.0.0": false,
		"[::2]": false, "192.168.0.1": false, "127.1": false, "2130706433": false, "localtest.me": false,
	} {
		if got := isLoopback(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// spec/console.md §5.1: the cookie has the prefix __Host- and is Secure over HTTPS. On this machine
// its name has the port, since cookies do not distinguish ports. Elsewhere there are no sessions
// without HTTPS. The prefix where the API is mounted is part of the name.
func TestSession_Cookie(t *testing.T) {
	t.Parallel()
	const site = "https://flags.example"
	for name, c := range map[string]struct {
		site, host, peer string
		headers          map[string]string
		tls              bool
		want             string // "" if there are no sessions
	}{
		"HTTPS":                       {"", "flags.example", "1.2.3.4:5", nil, true, "__Host-bunting"},
		"plain HTTP":                  {"", "flags.example", "1.2.3.4:5", nil, false, ""},
		"HTTPS at a proxy":            {"", "flags.example", "10.1.1.1:5", map[string]string{"X-Forwarded-Proto": "https"}, false, "__Host-bunting"},
		"in capital letters":          {"", "flags.example", "10.1.1.1:5", map[string]string{"X-Forwarded-Proto": "HTTPS"}, false, "__Host-bunting"},
		"HTTP at a proxy":             {"", "flags.example", "10.1.1.1:5", map[string]string{"X-Forwarded-Proto": "http"}, false, ""},
		"a header of anybody":         {"", "flags.example", "11.1.1.1:5", map[string]string{"X-Forwarded-Proto": "https"}, false, ""},
		"a proxy in IPv6 form":        {"", "flags.example", "[::ffff:10.1.1.1]:5", map[string]string{"X-Forwarded-Proto": "https"}, false, "__Host-bunting"},
		"the site":                    {site, "flags.example", "1.2.3.4:5", nil, false, "__Host-bunting"},
		"the site's name, other case": {site, "Flags.Example", "1.2.3.4:5", nil, false, "__Host-bunting"},
		"another host than the site":  {site, "other.example", "1.2.3.4:5", nil, false, ""},
		"another port than the site":  {site, "flags.example:8000", "1.2.3.4:5", nil, false, ""},
		"a site without HTTPS":        {"http://flags.example", "flags.example", "1.2.3.4:5", nil, false, ""},
		"a site that is no URL":       {"://", "flags.example", "1.2.3.4:5", nil, false, ""},
		"this machine":                {"", "localhost:8000", "127.0.0.1:5", nil, false, "bunting-8000"},
		"another port of it":          {"", "127.0.0.1:8001", "127.0.0.1:5", nil, false, "bunting-8001"},
		"the port of HTTP":            {"", "localhost", "127.0.0.1:5", nil, false, "bunting-80"},
		"this machine with HTTPS":     {"", "localhost:8443", "127.0.0.1:5", nil, true, "__Host-bunting"},
		"below a prefix":              {site + "/ph", "flags.example", "1.2.3.4:5", nil, false, "__Host-bunting-ph"},
		"below a longer prefix":       {site + "/a/ph_1/", "flags.example", "1.2.3.4:5", nil, false, "__Host-bunting-a-ph-1"},
		"a prefix of a proxy":         {"", "flags.example", "10.1.1.1:5", map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/ph/"}, false, "__Host-bunting-ph"},
		"a prefix with line breaks":   {"", "flags.example", "10.1.1.1:5", map[string]string{"X-Forwarded-Proto": "https", "X-Forwarded-Prefix": "/a;é=b"}, false, "__Host-bunting-a---b"},
		"a prefix of anybody":         {"", "flags.example", "1.2.3.4:5", map[string]string{"X-Forwarded-Prefix": "/ph"}, true, "__Host-bunting"},
	} {
		r := httptest.NewRequest("GET", "/api/users/@me/", nil)
		r.Host, r.RemoteAddr = c.host, c.peer
		for header, value := range c.headers {
			r.Header.Set(header, value)
		}
		if c.tls {
			r.TLS = &tls.ConnectionState{}
		}
		got, ok := signInServer(c.site).SessionCookie(r)
		switch {
		case ok != (c.want != ""):
			t.Errorf("%s: %v", name, got)
		case !ok:
		case got.Name != c.want, !got.HttpOnly, got.SameSite != http.SameSiteLaxMode, got.Path != "/", got.Domain != "", got.Secure != strings.HasPrefix(c.want, "__Host-"):
			t.Errorf("%s: %v, want %s", name, got, c.want)
		}
		// The token is that of this cookie only.
		r.AddCookie(&http.Cookie{Name: "bunting", Value: "other"})
		want := ""
		if ok {
			r.AddCookie(&http.Cookie{Name: c.want, Value: "token"})
			want = "token"
		}
		if token := signInServer(c.site).SessionToken(r); token != want {
			t.Errorf("%s: the token is %q", name, token)
		}
	}
}

// The prefix of paths as the browser sees it.
func TestSession_MountPrefix(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ site, host, peer, forwarded, requestURI, path, want string }{
		"none":                     {"", "h", "1.2.3.4:5", "", "/api/x", "/api/x", ""},
		"of the router":            {"", "h", "1.2.3.4:5", "", "/ph/api/x?a=/b", "/api/x", "/ph"},
		"of a proxy":               {"", "h", "10.0.0.1:5", "/out/", "/api/x", "/api/x", "/out"},
		"of both":                  {"", "h", "10.0.0.1:5", "/out", "/ph/api/x", "/api/x", "/out/ph"},
		"of an unknown proxy":      {"", "h", "1.2.3.4:5", "/out", "/api/x", "/api/x", ""},
		"of the site":              {"https://h/ph", "h", "1.2.3.4:5", "", "/api/x", "/api/x", "/ph"},
		"of the site, other host":  {"https://h/ph", "i", "1.2.3.4:5", "", "/api/x", "/api/x", ""},
		"of the router and a site": {"https://h/site", "h", "1.2.3.4:5", "", "/ph/api/x", "/api/x", "/ph"},
	} {
		r := httptest.NewRequest("GET", c.path, nil)
		r.Host, r.RemoteAddr, r.RequestURI = c.host, c.peer, c.requestURI
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-Prefix", c.forwarded)
		}
		if got := signInServer(c.site).MountPrefix(r); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Requests that a page of another site can make a browser send are refused: by the headers of
// browsers, and since a form of another site cannot send JSON.
func TestSession_Origin(t *testing.T) {
	t.Parallel()
	const ok, crossOrigin, mediaType = 0, 403, 415
	for name, c := range map[string]struct {
		method, body string
		headers      map[string]string
		want         int
	}{
		"a read":                 {"GET", "", nil, ok},
		"a link of another site": {"GET", "", map[string]string{"Sec-Fetch-Site": "cross-site"}, ok},
		"the same site":          {"POST", "{}", map[string]string{"Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"}, ok},
		"another site":           {"POST", "{}", map[string]string{"Sec-Fetch-Site": "cross-site", "Content-Type": "application/json"}, crossOrigin},
		"a neighbour":            {"POST", "{}", map[string]string{"Sec-Fetch-Site": "same-site", "Content-Type": "application/json"}, crossOrigin},
		"another origin":         {"DELETE", "", map[string]string{"Origin": "https://evil.example"}, crossOrigin},
		"no origin":              {"POST", "{}", map[string]string{"Origin": "null", "Content-Type": "application/json"}, crossOrigin},
		"its own origin":         {"POST", "{}", map[string]string{"Origin": "https://example.com", "Content-Type": "application/json; charset=utf-8"}, ok},
		"nothing sent":           {"POST", "", nil, ok},
		"no type":                {"POST", "{}", nil, mediaType},
		"a form":                 {"POST", "a=1", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, mediaType},
		"a text":                 {"POST", "{}", map[string]string{"Content-Type": "text/plain"}, mediaType},
		"a text that says JSON":  {"POST", "{}", map[string]string{"Content-Type": "text/plain; application/json"}, mediaType},
		"a file":                 {"POST", "x", map[string]string{"Content-Type": "multipart/form-data; boundary=x"}, ok},
		"an empty form":          {"POST", "", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, mediaType},
		"a removal":              {"DELETE", "", nil, ok},
	} {
		r := httptest.NewRequest(c.method, "https://example.com/api/x/", strings.NewReader(c.body))
		for header, value := range c.headers {
			r.Header.Set(header, value)
		}
		err := checkOrigin(r)
		status := ok
		var p *problem.Problem
		if errors.As(err, &p) {
			status = p.Status
		}
		if status != c.want || (err == nil) != (c.want == ok) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Actions that a session may not do although its user may: GET requests that write, all writes if the
// console is read-only, and some endpoints without a recent proof. Keys have no such rules.
func TestSession_Rules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method   string
		e        Endpoint
		readOnly bool
		want     string
	}{
		"a read":                 {"GET", Endpoint{KeyScope: "feature_flag:read"}, true, ""},
		"a write":                {"POST", Endpoint{KeyScope: "feature_flag:write"}, false, ""},
		"a write of a read-only": {"POST", Endpoint{KeyScope: "feature_flag:write"}, true, "read_only"},
		"a second scope":         {"POST", Endpoint{KeyScope: "feature_flag:read", SecondScope: "cohort:write"}, true, "read_only"},
		"a query is no write":    {"POST", Endpoint{KeyScope: "query:read"}, true, ""},
		"a GET that writes":      {"GET", Endpoint{KeyScope: "cohort:write"}, false, "key_required"},
		"a HEAD that writes":     {"HEAD", Endpoint{KeyScope: "cohort:write"}, true, "key_required"},
		"an internal read":       {"GET", Endpoint{KeyScope: management.InternalScope}, true, ""},
		"an internal write":      {"POST", Endpoint{KeyScope: management.InternalScope}, true, "read_only"},
		"any key":                {"POST", Endpoint{KeyScope: AnyKey}, true, ""},
	} {
		s := signInServer("")
		s.SignIn.ReadOnly = c.readOnly
		err := s.checkSession(&management.Caller{Session: &management.Session{}}, &c.e, httptest.NewRequest(c.method, "/", nil))
		code := ""
		var p *problem.Problem
		if errors.As(err, &p) {
			code = p.Code
		}
		if code != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.checkSession(&management.Caller{}, &c.e, httptest.NewRequest(c.method, "/", nil)); err != nil {
			t.Errorf("%s with a key: %v", name, err)
		}
	}
}
