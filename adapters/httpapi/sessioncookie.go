package httpapi

import (
	"cmp"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// SignIn is how people sign in with a browser, and what their sessions may
// (Config.SignIn).
type SignIn struct {
	// SiteURL is where people reach the server, such as https://flags.example.com: with
	// https a request to that host counts as one over HTTPS. Empty: only TLS does, and what
	// a trusted proxy says.
	SiteURL string
	// ReadOnly sessions read only: what takes a scope to write is 403.
	ReadOnly bool
	// Version of the program, which pages show.
	Version string
}

var (
	problemKeyRequired     = problem{Status: 403, Type: "authentication_error", Code: "key_required", Detail: "A GET that changes something wants a key: a session does not do."}
	problemConsoleReadOnly = problem{Status: 403, Type: "authentication_error", Code: "read_only", Detail: "The console of this server is read-only: changes want a key."}
	problemInsecure        = problem{Status: 403, Type: "authentication_error", Code: "https_required", Detail: "The console needs HTTPS here: put a proxy with HTTPS in front, give --tls-cert, or name the address with --site-url https://…; http://localhost works without."}
	problemSessionBody     = problemMediaType.with("A session sends application/json or multipart/form-data.", "")
)

// hasSessions reports whether requests may come with a session: there is none where a
// service has a sign-in of its own.
func (s *server) hasSessions() bool {
	return s.SignIn != nil && s.Authenticate == nil && s.Management != nil && s.Management.Organizations != nil
}

// isSecure reports whether the browser has sent a request over HTTPS.
func (s *server) isSecure(r *http.Request) bool {
	if s.scheme(r) == "https" {
		return true
	}
	site, err := url.Parse(s.SignIn.SiteURL)
	return err == nil && site.Scheme == "https" && site.Host != "" && strings.EqualFold(site.Host, r.Host)
}

// isLoopback reports whether the address bar names this machine. A foreign name that
// resolves to it does not: so another page cannot have a session of ours.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}

// cookieOf is the session's cookie for a request (console.md §5.1), without a value;
// false over plain HTTP elsewhere than on this machine, where there are no sessions.
func (s *server) cookieOf(r *http.Request) (*http.Cookie, bool) {
	c := &http.Cookie{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	switch {
	case s.isSecure(r):
		c.Name, c.Secure = "__Host-bunting", true
	case isLoopback(r.Host):
		_, port, _ := net.SplitHostPort(r.Host)
		c.Name = "bunting-" + cmp.Or(port, "80")
	default:
		return nil, false
	}
	if prefix := strings.Trim(s.mountedAt(r), "/"); prefix != "" {
		c.Name += "-" + strings.Map(foldLetterOrDigit, prefix)
	}
	return c, true
}

func foldLetterOrDigit(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// mountedAt is what stands before our paths where the browser sees them: that of the
// request line behind that which a trusted proxy has cut off, or that of the site.
func (s *server) mountedAt(r *http.Request) string {
	if cut := r.Header.Get("X-Forwarded-Prefix"); cut != "" && s.isTrusted(r) {
		return strings.TrimSuffix(cut, "/") + prefixOf(r)
	}
	if here := prefixOf(r); here != "" {
		return here
	}
	if site, err := url.Parse(s.SignIn.SiteURL); err == nil && strings.EqualFold(site.Host, r.Host) {
		return site.Path
	}
	return ""
}

// isTrusted reports whether a request comes from a trusted proxy.
func (s *server) isTrusted(r *http.Request) bool {
	peer := geoip.ParseRemote(r.RemoteAddr).Unmap()
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}

// tokenOf is the token of the session that a request comes with, empty for none.
func (s *server) tokenOf(r *http.Request) string {
	want, ok := s.cookieOf(r)
	if !ok {
		return ""
	}
	got, err := r.Cookie(want.Name)
	if err != nil {
		return ""
	}
	return got.Value
}

var siteName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)

// site is what passkeys are for that are used at the address of a request: that of
// Config.SignIn, where there is one, else that of the address bar. Empty: browsers make
// none there, as over plain HTTP and for addresses of numbers (console.md §5.2).
func (s *server) site(r *http.Request) organizations.Site {
	if _, ok := s.cookieOf(r); !ok || !s.Management.Organizations.HasPasskeys() {
		return organizations.Site{}
	}
	origin := &url.URL{Scheme: "http", Host: r.Host}
	if s.isSecure(r) {
		origin.Scheme = "https"
	}
	if named, err := url.Parse(s.SignIn.SiteURL); err == nil && named.Host != "" {
		if !strings.EqualFold(named.Host, r.Host) {
			return organizations.Site{}
		}
		origin.Scheme = named.Scheme
	}
	name := strings.ToLower(origin.Hostname())
	if _, err := netip.ParseAddr(name); err == nil || !siteName.MatchString(name) {
		return organizations.Site{}
	}
	return organizations.Site{Host: name, Origin: strings.ToLower(origin.Scheme + "://" + origin.Host)}
}

// bySession finds whose session a request comes with: c.signed stays nil where it comes
// with none, and where a key stands in its header or query.
func (s *server) bySession(c *call) error {
	if !s.hasSessions() {
		return nil
	}
	if key, _ := keyOutsideBody(c.r); key != "" {
		return nil
	}
	token := s.tokenOf(c.r)
	if token == "" {
		return nil
	}
	if err := checkOrigin(c.r); err != nil {
		return err
	}
	find := s.Management.Organizations.Sessions.Caller
	if c.isAdmitted {
		find = s.Management.Organizations.Sessions.PeekCaller
	}
	caller, err := find(c.ctx, token)
	c.authenticated = caller
	return managementProblem(err)
}

// checkOrigin refuses what pages of other sites can make a browser send.
func checkOrigin(r *http.Request) error {
	if otherSites.Check(r) != nil {
		return &problemCrossOrigin
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Method == http.MethodOptions {
		return nil
	}
	site := r.Header.Get("Content-Type")
	if site == "" && r.ContentLength == 0 {
		return nil
	}
	switch kind, _, _ := mime.ParseMediaType(site); kind {
	case "application/json", "multipart/form-data":
		return nil
	}
	return problemSessionBody
}

// checkSession looks at what sessions may not though a key of their scopes may.
func (s *server) checkSession(caller *management.Caller, e *endpoint, r *http.Request) error {
	if caller.Session == nil {
		return nil
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	writes := strings.HasSuffix(e.keyScope, ":write") || strings.HasSuffix(e.secondScope, ":write") || e.keyScope == management.InternalScope && !reads
	switch {
	case writes && reads:
		return &problemKeyRequired
	case writes && s.SignIn.ReadOnly:
		return &problemConsoleReadOnly
	case e.needsProof:
		return caller.RequireProof(s.Management.Env.Now())
	}
	return nil
}
