package httpapi

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// atSignIn is where people sign in; what it has is served with Config.SignIn alone.
var atSignIn = &area{prefixes: []string{"/api"}, missing: missingManaged}

// signInDesk is what signing in touches.
type signInDesk struct {
	*server
	organizations.Sessions
}

func signInOf(s *server) signInDesk { return signInDesk{s, s.Management.Organizations.Sessions} }

var (
	mailFields = management.Fields{
		{Name: "email", Type: management.Text, Required: true, Max: 254},
		{Name: "next", Type: management.Text, Max: 2000, Help: "the page of the console to go to"},
	}
	othersParameter = parameterDoc{"others", "boolean", "true: all but the calling one"}
)

// sessionEndpoints are those of signing in, and of what has signed in (console.md §2.4:
// N1 to N3).
var sessionEndpoints = slices.Concat(
	resource(atSignIn, "user", signInOf, []row[signInDesk]{
		by(http.MethodGet, "/session", "Say who sends the request, and what they may", whoami).needs(anyKey),
		by(http.MethodDelete, "/session", "Sign out", signOut).needs(anyKey).answering(http.StatusNoContent),
		by(http.MethodPost, "/session/proof", "Prove again who is there: the session gets another token", proveAgain).taking(organizations.SignInFields).needs(anyKey).created().uncompressed(),
		by(http.MethodGet, "/sessions", "List the calling user's sessions", func(of signInDesk, c *call) (management.List[organizations.Session], error) {
			return of.List(c.ctx, c.standing, c.page())
		}),
		by(http.MethodDelete, "/sessions", "End the calling user's other sessions", endOthers).asking(othersParameter).answering(http.StatusNoContent),
		by(http.MethodDelete, "/sessions/{id}", "End one of the calling user's sessions", func(of signInDesk, c *call) (any, error) {
			return nil, of.EndOne(c.ctx, c.standing, c.part("id"))
		}).answering(http.StatusNoContent),
	}),
	resource(atSignIn, public, signInOf, []row[signInDesk]{
		by(http.MethodGet, "/session/methods", "List the ways to sign in", signInMethods),
		by(http.MethodPost, "/session", "Sign in: the answer has a cookie", signInNow).taking(organizations.SignInFields).created().uncompressed(),
		by(http.MethodPost, "/session/link/look", "Say whose a link is, without using it", lookAtLink).taking(organizations.LinkFields),
		by(http.MethodPost, "/session/mail", "Mail a link that signs in, if the address is somebody's", mailLink).taking(mailFields).answering(http.StatusAccepted),
	}),
)

// methodsOfSignIn are the ways to sign in.
type methodsOfSignIn struct {
	Link    bool     `json:"link"`
	Key     bool     `json:"key"`
	Mail    bool     `json:"mail"`
	Passkey bool     `json:"passkey"`
	OIDC    []object `json:"oidc"`
	// Secure: the browser may sign in over the connection that it asks with.
	Secure bool `json:"secure"`
}

func signInMethods(of signInDesk, c *call) (*methodsOfSignIn, error) {
	own, providers := of.sessions(), []object{}
	if p := of.Management.Organizations.Provider; own && p != nil {
		providers = append(providers, object{"id": providerID, "name": p.Name()})
	}
	_, secure := of.cookieOf(c.r)
	return &methodsOfSignIn{Link: own, Key: own, Mail: own && of.Mails(), Passkey: own && of.site(c.r) != organizations.Site{}, OIDC: providers, Secure: secure}, nil
}

func whoami(of signInDesk, c *call) (*organizations.Whoami, error) {
	return of.describe(c, c.standing.Caller)
}

func (of signInDesk) describe(c *call, caller *management.Caller) (*organizations.Whoami, error) {
	c.once()
	out, err := of.Whoami(c.ctx, caller)
	if err != nil {
		return nil, err
	}
	if out.Mode, out.Version = "full", of.SignIn.Version; of.SignIn.ReadOnly && caller.Session != nil {
		out.Mode = "read_only"
	}
	return out, nil
}

// mayTry refuses who may not have a cookie, and who tries too often.
func (of signInDesk) mayTry(c *call, what string) (*http.Cookie, error) {
	c.once()
	cookie, ok := of.cookieOf(c.r)
	if !ok {
		return nil, &problemInsecure
	}
	if wait := of.manageLimits.signIns.take(what+of.clientIP(c.r).String(), of.manageLimits.now()); wait > 0 {
		return nil, of.throttled(wait)
	}
	return cookie, nil
}

func signInNow(of signInDesk, c *call) (*organizations.Whoami, error) {
	cookie, err := of.mayTry(c, "")
	if err != nil {
		return nil, err
	}
	token, caller, err := of.Begin(c.ctx, c.body, organizations.Visit{
		Address: of.clientIP(c.r).String(), Agent: c.r.UserAgent(), Token: of.tokenOf(c.r), Site: of.site(c.r),
	})
	if err != nil {
		return nil, err
	}
	cookie.Value = token
	http.SetCookie(c.w, cookie)
	return of.describe(c, caller)
}

func proveAgain(of signInDesk, c *call) (*organizations.Whoami, error) {
	cookie, err := of.mayTry(c, "")
	if err != nil {
		return nil, err
	}
	token, caller, err := of.Prove(c.ctx, c.standing.Caller, c.body, of.site(c.r))
	if err != nil {
		return nil, err
	}
	cookie.Value = token
	http.SetCookie(c.w, cookie)
	return of.describe(c, caller)
}

func signOut(of signInDesk, c *call) (any, error) {
	if err := of.End(c.ctx, c.standing.Caller); err != nil {
		return nil, err
	}
	if cookie, ok := of.cookieOf(c.r); ok {
		cookie.MaxAge = -1
		http.SetCookie(c.w, cookie)
	}
	return nil, nil
}

func endOthers(of signInDesk, c *call) (any, error) {
	if c.query().Get("others") != "true" {
		return nil, management.Fault("others", "Want others=true: the calling session is ended with DELETE /api/session/.")
	}
	return nil, of.EndOthers(c.ctx, c.standing)
}

// linkOwner is whose a link is.
type linkOwner struct {
	Email string `json:"email"`
}

func lookAtLink(of signInDesk, c *call) (*linkOwner, error) {
	if _, err := of.mayTry(c, "look "); err != nil {
		return nil, err
	}
	email, err := of.Look(c.ctx, c.body)
	return &linkOwner{email}, err
}

// mailLink answers the same for whatever address, also where it has had its mails of the
// hour.
func mailLink(of signInDesk, c *call) (any, error) {
	if _, err := of.mayTry(c, ""); err != nil {
		return nil, err
	}
	email := textMember(c.body, "email")
	mailbox := management.HashKey(management.EmailKey(email))
	if of.Mails() && of.manageLimits.signInMails.take(mailbox, of.manageLimits.now()) > 0 {
		return nil, nil
	}
	next := ""
	if path := consolePath(of.mountedAt(c.r)+"/console/", textMember(c.body, "next")); path != "" {
		next = "?next=" + url.QueryEscape(path)
	}
	return nil, of.MailLink(c.ctx, email, next)
}

// consolePath is a path below the console's base that somebody may be sent to, relative
// to it; empty for what is none (console.md §5.2). next may stand relative already.
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
