package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// signInService has the dependencies of endpoints for signing in.
type signInService struct {
	*server
	organizations.Sessions
}

func signInOf(s *server) signInService { return signInService{s, s.Management.Organizations.Sessions} }

var (
	mailFields = management.Fields{
		{Name: "email", Type: management.Text, Required: true, MaxLength: 254},
		{Name: "next", Type: management.Text, MaxLength: 2000, Help: "path of the console page to open after sign-in"},
	}
	othersParameter = param("others", "boolean", "must be true: end all sessions except that of the request")
)

// sessionEndpoints are the endpoints for signing in and for sessions (console.md §2.4: N1 to N3).
var sessionEndpoints = slices.Concat(
	resource(inSignIn, "user", signInOf, []row[signInService]{
		handle(http.MethodGet, "/session", "Read the calling user and their permissions", whoami).withScope(anyKey),
		handle(http.MethodDelete, "/session", "Sign out", signOut).withScope(anyKey).withStatus(http.StatusNoContent),
		handle(http.MethodPost, "/session/proof", "Verify the user again; the session gets a new token", renewProof).withBody(organizations.SignInFields).withScope(anyKey).created().uncompressed(),
		handle(http.MethodGet, "/sessions", "List the calling user's sessions", func(svc signInService, c *call) (management.List[organizations.Session], error) {
			return svc.List(c.ctx, c.scope, c.page())
		}),
		handle(http.MethodDelete, "/sessions", "End the calling user's other sessions", endOtherSessions).withQuery(othersParameter).withStatus(http.StatusNoContent),
		handle(http.MethodDelete, "/sessions/{id}", "End one of the calling user's sessions", func(svc signInService, c *call) (any, error) {
			return nil, svc.EndOne(c.ctx, c.scope, c.part("id"))
		}).withStatus(http.StatusNoContent),
	}),
	resource(inSignIn, public, signInOf, []row[signInService]{
		handle(http.MethodGet, "/session/methods", "List the ways to sign in", signInMethods),
		handle(http.MethodPost, "/session", "Sign in; the response sets the session cookie", postSession).withBody(organizations.SignInFields).created().uncompressed(),
		handle(http.MethodPost, "/session/link/look", "Read whose account a sign-in link is for, without using the link", viewLink).withBody(organizations.LinkFields),
		handle(http.MethodPost, "/session/mail", "Send a sign-in link by email, if the address belongs to a user", mailLink).withBody(mailFields).withStatus(http.StatusAccepted),
	}),
)

// methodsOfSignIn are the available ways to sign in.
type methodsOfSignIn struct {
	Link    bool     `json:"link"`
	Key     bool     `json:"key"`
	Mail    bool     `json:"mail"`
	Passkey bool     `json:"passkey"`
	OIDC    []object `json:"oidc"`
	// Secure reports whether the browser may sign in over the connection of this request.
	Secure bool `json:"secure"`
}

func signInMethods(svc signInService, c *call) (*methodsOfSignIn, error) {
	own, providers := svc.hasSessions(), []object{}
	if p := svc.Management.Organizations.Provider; own && p != nil {
		providers = append(providers, object{"id": providerID, "name": p.Name()})
	}
	_, secure := svc.cookieOf(c.r)
	return &methodsOfSignIn{Link: own, Key: own, Mail: own && svc.CanMail(), Passkey: own && svc.site(c.r) != organizations.Site{}, OIDC: providers, Secure: secure}, nil
}

// whoami returns the caller and its permissions.
func whoami(svc signInService, c *call) (*organizations.Whoami, error) {
	return svc.describe(c, c.scope.Caller)
}

func (svc signInService) describe(c *call, caller *management.Caller) (*organizations.Whoami, error) {
	forbidCaching(c)
	out, err := svc.Whoami(c.ctx, caller)
	if err != nil {
		return nil, err
	}
	if out.Mode, out.Version = "full", svc.SignIn.Version; svc.SignIn.ReadOnly && caller.Session != nil {
		out.Mode = "read_only"
	}
	return out, nil
}

// checkTries returns the session cookie of a request. It returns an error if the connection
// allows no cookie, or if the address has tried to sign in too often. The attempts are counted by
// what and the address.
func (svc signInService) checkTries(c *call, what string) (*http.Cookie, error) {
	forbidCaching(c)
	cookie, ok := svc.cookieOf(c.r)
	if !ok {
		return nil, &problemInsecure
	}
	if wait := svc.manageLimits.SignIns.Add(what+svc.ClientIP(c.r).String(), svc.manageLimits.Now()); wait > 0 {
		return nil, svc.manageLimits.Throttle(wait)
	}
	return cookie, nil
}

// postSession begins a session and sets its cookie.
func postSession(svc signInService, c *call) (*organizations.Whoami, error) {
	cookie, err := svc.checkTries(c, "")
	if err != nil {
		return nil, err
	}
	token, caller, err := svc.Begin(c.ctx, c.body, organizations.ClientInfo{
		Address: svc.ClientIP(c.r).String(), Agent: c.r.UserAgent(), Token: svc.tokenOf(c.r), Site: svc.site(c.r),
	})
	if err != nil {
		return nil, err
	}
	cookie.Value = token
	http.SetCookie(c.w, cookie)
	return svc.describe(c, caller)
}

// renewProof renews the proof of the session and sets a new token.
func renewProof(svc signInService, c *call) (*organizations.Whoami, error) {
	cookie, err := svc.checkTries(c, "")
	if err != nil {
		return nil, err
	}
	token, caller, err := svc.Prove(c.ctx, c.scope.Caller, c.body, svc.site(c.r))
	if err != nil {
		return nil, err
	}
	cookie.Value = token
	http.SetCookie(c.w, cookie)
	return svc.describe(c, caller)
}

func signOut(svc signInService, c *call) (any, error) {
	if err := svc.End(c.ctx, c.scope.Caller); err != nil {
		return nil, err
	}
	if cookie, ok := svc.cookieOf(c.r); ok {
		cookie.MaxAge = -1
		http.SetCookie(c.w, cookie)
	}
	return nil, nil
}

func endOtherSessions(svc signInService, c *call) (any, error) {
	if c.query().Get("others") != "true" {
		return nil, management.Fault("others", "others=true is required. To end the session of this request, use DELETE /api/session/.")
	}
	return nil, svc.EndOthers(c.ctx, c.scope)
}

// linkOwner is the user of a sign-in link.
type linkOwner struct {
	Email string `json:"email"`
}

func viewLink(svc signInService, c *call) (*linkOwner, error) {
	if _, err := svc.checkTries(c, "look "); err != nil {
		return nil, err
	}
	email, err := svc.LinkEmail(c.ctx, c.body)
	return &linkOwner{email}, err
}

// mailLink mails a sign-in link. The response is the same for all addresses, even if there is no
// such user or the address has reached its hourly limit.
func mailLink(svc signInService, c *call) (any, error) {
	if _, err := svc.checkTries(c, ""); err != nil {
		return nil, err
	}
	email := textMember(c.body, "email")
	mailbox := management.HashKey(management.EmailKey(email))
	if svc.CanMail() && svc.manageLimits.SignInMails.Add(mailbox, svc.manageLimits.Now()) > 0 {
		return nil, nil
	}
	next := ""
	if path := consolePath(svc.mountPrefix(c.r)+"/console/", textMember(c.body, "next")); path != "" {
		next = "?next=" + url.QueryEscape(path)
	}
	return nil, svc.MailLink(c.ctx, email, next)
}

// consolePath returns the part of next below the console's base, or an empty string if next is
// not a safe path below it (console.md §5.2). next may be relative to the base.
func consolePath(base, next string) string {
	if !strings.HasPrefix(next, "/") {
		first, _, _ := strings.Cut(next, "/")
		if strings.ContainsAny(first, ":") { // a scheme
			return ""
		}
		next = base + next
	}
	path, ok := strings.CutPrefix(next, base)
	plain, err := url.PathUnescape(next)
	control := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }
	if !ok || err != nil || strings.Contains(plain, "//") || strings.Contains(plain, `\`) || strings.ContainsFunc(plain, control) {
		return ""
	}
	plain, _, _ = strings.Cut(plain, "?")
	for part := range strings.SplitSeq(plain, "/") {
		if part == "." || part == ".." {
			return ""
		}
	}
	return path
}
