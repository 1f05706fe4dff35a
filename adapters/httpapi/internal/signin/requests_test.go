package signin

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
)

// Limits by address count an IPv4 address, and the /64 of an IPv6 address, in which one client may
// have every address.
func TestNetworkOf(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2:ffff::": "2001:db8:1:2::/64", "2001:db8:1:3::1": "2001:db8:1:3::/64",
		"fe80::1%eth0": "fe80::/64", "::1": "::/64",
	} {
		if got := networkOf(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// console.md §5.2: the state of a sign-in is in a cookie of ten minutes. A cookie that is not one of
// ours is no sign-in, and not an error.
func TestFlow_OfCookie(t *testing.T) {
	t.Parallel()
	encoded := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	const good = `{"s":"state","n":"nonce","v":"verifier","p":"p/1/flags"}`
	padded := func(n int) string { // a cookie of n characters
		head := `{"s":"state","n":"nonce","v":"verifier","p":"`
		return encoded(head + strings.Repeat("x", n/4*3-len(head)-2) + `"}`)
	}
	for name, c := range map[string]struct {
		cookie string
		want   bool
	}{
		"complete":              {encoded(good), true},
		"without a page":        {encoded(`{"s":"state","n":"nonce","v":"verifier"}`), true},
		"without a state":       {encoded(`{"n":"nonce","v":"verifier"}`), false},
		"with an empty state":   {encoded(`{"s":"","n":"nonce","v":"verifier"}`), false},
		"without a nonce":       {encoded(`{"s":"state","v":"verifier"}`), false},
		"without a verifier":    {encoded(`{"s":"state","n":"nonce"}`), false},
		"a list":                {encoded(`["state"]`), false},
		"another type":          {encoded(`{"s":1,"n":"nonce","v":"verifier"}`), false},
		"cut off":               {encoded(good[:20]), false},
		"not base64":            {"{}", false},
		"base64 with padding":   {encoded(good) + "=", false},
		"empty":                 {"", false},
		"as long as it may be":  {padded(maxFlow), true},
		"longer than it may be": {padded(maxFlow + 4), false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Cookie", "bunting-80-oidc="+c.cookie)
		f, ok := flowOf(r, "bunting-80-oidc")
		if ok != c.want || ok && (f.State != "state" || f.Nonce != "nonce" || f.Verifier != "verifier") {
			t.Errorf("%s: %v, %+v", name, ok, f)
		}
		if _, ok := flowOf(r, "bunting-81-oidc"); ok {
			t.Errorf("%s: the cookie of another server is used", name)
		}
	}
	session := &http.Cookie{Name: "__Host-bunting", Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode}
	own := flowCookie(session)
	if own.Name != "__Host-bunting-oidc" || own.MaxAge != 600 || !own.Secure || !own.HttpOnly || own.SameSite != http.SameSiteLaxMode || own.Path != "/" {
		t.Errorf("%+v", own)
	}
	if session.Name != "__Host-bunting" || session.MaxAge != 0 {
		t.Errorf("the session's cookie is %+v", session)
	}
}

// A browser gets pages, a program JSON. A client that accepts both gets the page.
func TestWantsJSON(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"": false, "*/*": false, "application/json": true, "Application/JSON; q=0.9": true, "text/html,application/xhtml+xml,*/*;q=0.8": false, "application/json, text/html": false, "text/HTML, application/json": false, "text/plain, application/json": true,
	} {
		r := httptest.NewRequest("GET", "/signup/x", nil)
		r.Header.Set("Accept", accept)
		if got := wantsJSON(r); got != want {
			t.Errorf("%q: %v", accept, got)
		}
	}
	r := httptest.NewRequest("GET", "/signup/x", nil)
	r.Header["Accept"] = []string{"application/json", "text/html"}
	if wantsJSON(r) {
		t.Error("the second line of a header is ignored")
	}
}

// The secret of an invitation: of the body, else of the query. Neither the page nor its address may
// be kept or passed on.
func TestSecret(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, body, want string }{
		{"", "", ""}, {"?secret=q", "", "q"}, {"?secret=q", `"b"`, "b"}, {"", `" b "`, "b"}, {"?secret=q", `""`, "q"}, {"?secret=q", `" "`, "q"}, {"?secret=q", `5`, "q"}, {"?secret=a&secret=b", "", "a"}, {"?Secret=q", "", ""}, {"?secret=a%2Bb+c", "", "a+b c"},
	} {
		call := &frame.Call{R: httptest.NewRequest("POST", "/signup/x"+c.query, nil), W: httptest.NewRecorder()}
		if c.body != "" {
			call.Body = management.Body{Members: map[string]json.RawMessage{"secret": json.RawMessage(c.body)}}
		}
		if got := secret(call); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.query, c.body, got, c.want)
		}
		forbidCaching(call)
		if h := call.W.Header(); h.Get("Cache-Control") != "no-store" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%v", h)
		}
	}
}

// The addresses of our own pages: below the public address of the server if it is set, else where
// the client has reached it, with the prefix that a trusted proxy has removed.
func TestSignIn_Addresses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		site    string
		target  string // as the client has requested it
		path    string // as the handler sees it
		headers [2]string
		console string
	}{
		"as requested":           {"", "/api/cli-auth/device-code", "/api/cli-auth/device-code", [2]string{}, "http://flags.test:8000/console/connect"},
		"a public address":       {"https://flags.example.com", "/api/x", "/api/x", [2]string{}, "https://flags.example.com/console/connect"},
		"with a slash":           {"https://flags.example.com/ph/", "/api/x", "/api/x", [2]string{}, "https://flags.example.com/ph/console/connect"},
		"mounted below a prefix": {"", "/ph/api/x", "/api/x", [2]string{}, "http://flags.test:8000/ph/console/connect"},
		"a prefix of the proxy":  {"", "/api/x", "/api/x", [2]string{"X-Forwarded-Prefix", "/cut/"}, "http://flags.test:8000/cut/console/connect"},
		"HTTPS at the proxy":     {"", "/api/x", "/api/x", [2]string{"X-Forwarded-Proto", "https"}, "https://flags.test:8000/console/connect"},
	} {
		r := httptest.NewRequest("POST", "http://flags.test:8000"+c.path, nil)
		r.RequestURI, r.RemoteAddr = c.target, "127.0.0.1:5"
		if c.headers[0] != "" {
			r.Header.Set(c.headers[0], c.headers[1])
		}
		svc := signInService{Server: &frame.Server{SignIn: &frame.BrowserSignIn{SiteURL: c.site}, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}
		call := &frame.Call{R: r}
		if got := svc.consoleURL(call, "connect"); got != c.console {
			t.Errorf("%s: %s, want %s", name, got, c.console)
		}
		if got, want := svc.callbackURL(call), strings.Replace(c.console, "/console/connect", "/api/session/oidc/sso/callback", 1); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
		svc.TrustedProxies = nil
		if got := svc.consoleURL(call, "connect"); c.headers[0] != "" && got != "http://flags.test:8000/console/connect" {
			t.Errorf("%s, of anybody: %s", name, got)
		}
	}
}

// clients.md §14.2: the answers to polls without a key, in the terms of RFC 8628 §3.5.
func TestProgram_Answers(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]string{
		"pending":   `202 {"status":"pending"}`,
		"slow_down": `400 {"status":"pending","error":"slow_down"`,
		"denied":    `400 {"status":"denied","error":"access_denied"`,
		"expired":   `400 {"status":"expired","error":"expired_token"`,
	} {
		a, there := programAnswers[state]
		text, err := json.Marshal(a.Body)
		if got := fmt.Sprintf("%d %s", a.Status, text); !there || err != nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, %v, want %s", state, got, err, want)
		}
	}
}
