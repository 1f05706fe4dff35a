package signin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// signInService has the dependencies of endpoints for signing in.
type signInService struct {
	*frame.Server
	organizations.Sessions
}

func signInOf(s *frame.Server) signInService {
	return signInService{s, s.Management.Organizations.Sessions}
}

var (
	mailFields = management.Fields{
		{Name: "email", Type: management.Text, Required: true, MaxLength: 254},
		{Name: "next", Type: management.Text, MaxLength: 2000, Help: "path of the console page to open after sign-in"},
	}
	projectParameter = frame.Param("project", "integer", "a project of which the position of the last change is returned in changes")
	othersParameter  = frame.Param("others", "boolean", "must be true: end all sessions except that of the request")
)

// sessionEndpoints are the endpoints for signing in and for sessions (console.md §2.4: N1 to N3).
var sessionEndpoints = slices.Concat(
	frame.Resource(frame.InSignIn, "user", signInOf, []frame.Row[signInService]{
		frame.Handle(http.MethodGet, "/session", "Read the calling user and their permissions", whoami).WithScope(frame.AnyKey),
		frame.Handle(http.MethodDelete, "/session", "Sign out", signOut).WithScope(frame.AnyKey).WithStatus(http.StatusNoContent),
		frame.Handle(http.MethodPost, "/session/proof", "Verify the user again; the session gets a new token", renewProof).WithBody(organizations.Bodies.SignIn).WithScope(frame.AnyKey).Created().Uncompressed(),
		frame.Paged("/sessions", "List the calling user's sessions", signInService.List),
		frame.Handle(http.MethodDelete, "/sessions", "End the calling user's other sessions", endOtherSessions).WithQuery(othersParameter).WithStatus(http.StatusNoContent),
		frame.Remove("/sessions/{id}", "End one of the calling user's sessions", signInService.Delete),
	}),
	frame.Resource(frame.InSignIn, frame.Public, signInOf, []frame.Row[signInService]{
		frame.Handle(http.MethodGet, "/session/current", "Read the user whom the browser has signed in and their permissions, or null", currentSession).WithQuery(projectParameter),
		frame.Handle(http.MethodGet, "/session/methods", "List the ways to sign in", signInMethods),
		frame.Handle(http.MethodPost, "/session", "Sign in; the response sets the session cookie", postSession).WithBody(organizations.Bodies.SignIn).Created().Uncompressed(),
		frame.Handle(http.MethodPost, "/session/link/look", "Read whose account a sign-in link is for, without using the link; null if it was used or has expired", viewLink).WithBody(organizations.Bodies.Link),
		frame.Handle(http.MethodPost, "/session/mail", "Send a sign-in link by email, if the address belongs to a user", mailLink).WithBody(mailFields).WithStatus(http.StatusAccepted),
	}),
)

// methodsOfSignIn are the available ways to sign in.
type methodsOfSignIn struct {
	Link    bool           `json:"link"`
	Key     bool           `json:"key"`
	Mail    bool           `json:"mail"`
	Passkey bool           `json:"passkey"`
	OIDC    []frame.Object `json:"oidc"`
	// Secure reports whether the browser may sign in over the connection of this request.
	Secure bool `json:"secure"`
}

func signInMethods(svc signInService, c *frame.Call) (*methodsOfSignIn, error) {
	own, providers := svc.HasSessions(), []frame.Object{}
	if p := svc.Management.Organizations.Provider; own && p != nil {
		providers = append(providers, frame.Object{"id": providerID, "name": p.Name()})
	}
	_, secure := svc.SessionCookie(c.R)
	return &methodsOfSignIn{Link: own, Key: own, Mail: own && svc.Mailer != nil, Passkey: own && svc.Site(c.R) != organizations.Site{}, OIDC: providers, Secure: secure}, nil
}

// whoami returns the caller and its permissions.
func whoami(svc signInService, c *frame.Call) (*organizations.Whoami, error) {
	return svc.describe(c, c.Scope.Caller)
}

// currentSession is like whoami, but without a session it returns null instead of an error, which
// browsers would log. It adds the position of the last change of the parameter project.
func currentSession(svc signInService, c *frame.Call) (*organizations.Whoami, error) {
	forbidCaching(c)
	caller, err := svc.Visitor(c)
	if err != nil || caller == nil {
		return nil, err
	}
	out, err := svc.describe(c, caller)
	if ref := c.Query().Get("project"); ref != "" && err == nil {
		out.Changes, err = svc.lastChange(c, caller, ref)
	}
	return out, err
}

// lastChange returns the position of the last change of a project, or nil if there is no such project
// that the caller can access.
func (svc signInService) lastChange(c *frame.Call, caller *management.Caller, ref string) (*int64, error) {
	scope, err := svc.Management.Service.Project(c.Ctx, caller, ref)
	if err != nil {
		if _, isRefusal := errors.AsType[*management.Error](err); isRefusal {
			err = nil
		}
		return nil, err
	}
	_, position, err := svc.Management.Service.ChangesAfter(c.Ctx, scope, -1)
	return &position, err
}

func (svc signInService) describe(c *frame.Call, caller *management.Caller) (*organizations.Whoami, error) {
	forbidCaching(c)
	out, err := svc.Whoami(c.Ctx, caller)
	if err != nil {
		return nil, err
	}
	out.Docs = svc.SignIn.Docs
	if out.Mode, out.Version = "full", svc.SignIn.Version; svc.SignIn.ReadOnly && caller.Session != nil {
		out.Mode = "read_only"
	}
	return out, nil
}

// checkTries returns the session cookie of a request. It returns an error if the connection
// allows no cookie, or if the address has tried to sign in too often. The attempts are counted by
// what and the address.
func (svc signInService) checkTries(c *frame.Call, what string) (*http.Cookie, error) {
	forbidCaching(c)
	cookie, ok := svc.SessionCookie(c.R)
	if !ok {
		return nil, &frame.Insecure
	}
	if wait := svc.Limits.SignIns.Add(what+svc.ClientIP(c.R).String(), svc.Limits.Now()); wait > 0 {
		return nil, svc.Limits.Throttle(wait)
	}
	return cookie, nil
}

// postSession begins a session and sets its cookie.
func postSession(svc signInService, c *frame.Call) (*organizations.Whoami, error) {
	cookie, err := svc.checkTries(c, "")
	if err != nil {
		return nil, err
	}
	token, caller, err := svc.Begin(c.Ctx, organizations.SignIn{
		Body: c.Body, Address: svc.ClientIP(c.R).String(), Agent: c.R.UserAgent(), Token: svc.SessionToken(c.R), Site: svc.Site(c.R),
	})
	if err != nil {
		return nil, err
	}
	cookie.Value = token
	http.SetCookie(c.W, cookie)
	return svc.describe(c, caller)
}

// renewProof renews the proof of the session and sets a new token.
func renewProof(svc signInService, c *frame.Call) (*organizations.Whoami, error) {
	cookie, err := svc.checkTries(c, "")
	if err != nil {
		return nil, err
	}
	token, caller, err := svc.Prove(c.Ctx, c.Scope.Caller, c.Body, svc.Site(c.R))
	if err != nil {
		return nil, err
	}
	cookie.Value = token
	http.SetCookie(c.W, cookie)
	return svc.describe(c, caller)
}

func signOut(svc signInService, c *frame.Call) (any, error) {
	if err := svc.Delete(c.Ctx, c.Scope, ""); err != nil {
		return nil, err
	}
	if cookie, ok := svc.SessionCookie(c.R); ok {
		cookie.MaxAge = -1
		http.SetCookie(c.W, cookie)
	}
	return nil, nil
}

func endOtherSessions(svc signInService, c *frame.Call) (any, error) {
	if c.Query().Get("others") != "true" {
		return nil, management.Fault("others", "others=true is required. To end the session of this request, use DELETE /api/session/.")
	}
	return nil, svc.EndOthers(c.Ctx, c.Scope)
}

// linkOwner is the user of a sign-in link. Email is null if the link was used, has expired or never
// existed: an error instead would be logged by the browser that shows the page of the link.
type linkOwner struct {
	Email *string `json:"email"`
}

func viewLink(svc signInService, c *frame.Call) (*linkOwner, error) {
	if _, err := svc.checkTries(c, "look "); err != nil {
		return nil, err
	}
	email, err := svc.LinkEmail(c.Ctx, c.Body)
	return &linkOwner{email}, err
}

// mailLink mails a sign-in link. The response is the same for all addresses, even if there is no
// such user or the address has reached its hourly limit.
func mailLink(svc signInService, c *frame.Call) (any, error) {
	if _, err := svc.checkTries(c, ""); err != nil {
		return nil, err
	}
	email := frame.TextMember(c.Body, "email")
	mailbox := management.HashKey(management.EmailKey(email))
	if svc.Mailer != nil && svc.Limits.SignInMails.Add(mailbox, svc.Limits.Now()) > 0 {
		return nil, nil
	}
	next := ""
	if path := ConsolePath(svc.MountPrefix(c.R)+"/console/", frame.TextMember(c.Body, "next")); path != "" {
		next = "?next=" + url.QueryEscape(path)
	}
	return nil, svc.MailLink(c.Ctx, email, next)
}

// ConsolePath returns the part of next below the console's base, or an empty string if next is
// not a safe path below it (console.md §5.2). next may be relative to the base.
func ConsolePath(base, next string) string {
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
