package frame

import (
	"cmp"
	"errors"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// BrowserSignIn configures the permissions of sessions: see SignIn.
type BrowserSignIn struct {
	SiteURL  string
	ReadOnly bool
	Version  string
	Docs     bool
}

var (
	problemKeyRequired     = problem.Problem{Status: 403, Type: "authentication_error", Code: "key_required", Detail: "A GET request that changes data requires a key instead of a session."}
	problemConsoleReadOnly = problem.Problem{Status: 403, Type: "authentication_error", Code: "read_only", Detail: "The console of this server is read-only: changes require a key."}
	// Insecure is the problem of signing in without HTTPS.
	Insecure           = problem.Problem{Status: 403, Type: "authentication_error", Code: "https_required", Detail: "The console requires HTTPS here: use a proxy with HTTPS, set --tls-cert, or set --site-url https://…; http://localhost works without HTTPS."}
	problemSessionBody = MediaType.With("Requests with a session must have the content type application/json or multipart/form-data.", "")
)

// HasSessions reports whether requests may have a session. They may not if the service has its
// own sign-in.
func (s *Server) HasSessions() bool {
	return s.SignIn != nil && s.Authenticate == nil && s.Management != nil && s.Management.Organizations != nil
}

// isSecure reports whether the browser has sent a request over HTTPS.
func (s *Server) isSecure(r *http.Request) bool {
	if s.Scheme(r) == "https" {
		return true
	}
	site, err := url.Parse(s.SignIn.SiteURL)
	return err == nil && site.Scheme == "https" && site.Host != "" && strings.EqualFold(site.Host, r.Host)
}

// isLoopback reports whether the host in the address bar is this machine. It is false for other
// names that resolve to a loopback address, so that a page with such a name cannot get a session.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.IsLoopback()
}

// SessionCookie returns the session cookie for a request (console.md §5.1), without a value. It
// returns false over plain HTTP to other hosts than loopback, where there are no sessions.
func (s *Server) SessionCookie(r *http.Request) (*http.Cookie, bool) {
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
	if prefix := strings.Trim(s.MountPrefix(r), "/"); prefix != "" {
		c.Name += "-" + strings.Map(foldLetterOrDigit, prefix)
	}
	return c, true
}

// foldLetterOrDigit maps all runes except ASCII letters and digits to a minus sign.
func foldLetterOrDigit(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}

// MountPrefix returns the path prefix of this API as the browser sees it: the prefix that a trusted
// proxy has stripped, followed by the prefix of the request line, or the path of the site URL.
func (s *Server) MountPrefix(r *http.Request) string {
	if cut := r.Header.Get("X-Forwarded-Prefix"); cut != "" && s.isTrusted(r) {
		return strings.TrimSuffix(cut, "/") + PrefixOf(r)
	}
	if here := PrefixOf(r); here != "" {
		return here
	}
	if site, err := url.Parse(s.SignIn.SiteURL); err == nil && strings.EqualFold(site.Host, r.Host) {
		return site.Path
	}
	return ""
}

// SessionToken returns the session token in a request, or an empty string if there is none.
func (s *Server) SessionToken(r *http.Request) string {
	want, ok := s.SessionCookie(r)
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

// Site returns the site of passkeys for a request: that of Config.SignIn if there is one,
// otherwise that of the request's host. It is zero if browsers cannot create passkeys, as over
// plain HTTP and for IP addresses (console.md §5.2).
func (s *Server) Site(r *http.Request) organizations.Site {
	if _, ok := s.SessionCookie(r); !ok || s.Management.Organizations.Authenticators == nil {
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

// bySession sets c.authenticated to the caller of the session in the request. It remains nil if
// there is no session, or if there is a key in the headers or the query.
func (s *Server) bySession(c *Call) error {
	if !s.HasSessions() {
		return nil
	}
	if key, _ := KeyOutsideBody(c.R); key != "" {
		return nil
	}
	token := s.SessionToken(c.R)
	if token == "" {
		return nil
	}
	if err := checkOrigin(c.R); err != nil {
		return err
	}
	caller, err := s.Management.Organizations.Sessions.Caller(c.Ctx, token, !c.isAdmitted)
	c.authenticated = caller
	return problem.OfManagement(err)
}

// checkOrigin returns an error for requests that pages of other sites can make a browser send.
func checkOrigin(r *http.Request) error {
	if OtherSites.Check(r) != nil {
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

// checkSession checks the rules of sessions that do not apply to keys with the same scopes:
// sessions may be read-only, need a recent proof for some endpoints, and cannot use GET for
// changes.
func (s *Server) checkSession(caller *management.Caller, e *Endpoint, r *http.Request) error {
	if caller.Session == nil {
		return nil
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	writes := strings.HasSuffix(e.KeyScope, ":write") || strings.HasSuffix(e.SecondScope, ":write") || e.KeyScope == management.InternalScope && !reads
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

// problemSignIn has no details, because they are for the log of the service.
var (
	problemSignIn      = problem.Problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "The sign-in was not accepted."}
	problemCrossOrigin = problem.Problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "A page of another site may not send this request."}
)

// OtherSites detects requests that a page of another site makes a browser send with the cookies
// of this site.
var OtherSites = http.NewCrossOriginProtection()

// signIn sets c.authenticated to the caller that Config.Authenticate returns, or to that of the
// session. It remains nil if the request needs a key.
func (s *Server) signIn(c *Call) error {
	if s.Authenticate == nil {
		return s.bySession(c)
	}
	caller, err := s.Authenticate(c.R)
	if caller == nil && err == nil {
		return nil
	}
	if err == nil {
		var rejection *management.Error
		if c.authenticated, err = s.Management.Admit(c.Ctx, caller); err != nil && !errors.As(err, &rejection) {
			return problem.OfManagement(err)
		}
	}
	if err == nil {
		if OtherSites.Check(c.R) != nil {
			return &problemCrossOrigin
		}
		return nil
	}
	if s.failureLines.Allow() {
		s.Logger.InfoContext(c.R.Context(), "a sign-in was not accepted", "error", err)
	}
	return s.Limits.CountFailure(c.R, &problemSignIn)
}

// Visitor returns the caller whom a browser has signed in, or nil if it has not, or if the session
// has ended. It is for public endpoints, and keys do not count.
func (s *Server) Visitor(c *Call) (*management.Caller, error) {
	var rejection *problem.Problem
	err := s.signIn(c)
	if errors.As(err, &rejection) && rejection.Status == http.StatusUnauthorized {
		return nil, nil
	}
	if err != nil || c.authenticated == nil {
		return nil, err
	}
	return c.authenticated, s.Limits.Limit(c.authenticated.Key.Hash, true)
}

// NoCredentials returns the error for a request without a readable key.
func NoCredentials(r *http.Request) error {
	if r.Header.Get("Authorization") == "" {
		return &problem.NoCredentials
	}
	return problem.NoCredentials.With("The Authorization header has to be: Bearer, a space, and a personal API key.", "")
}
