package signin

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

const (
	// providerID is the name of the only provider in paths.
	providerID = "sso"
	// flowLife is how long a sign-in with the provider may take, in seconds.
	flowLife = 600
	// maxFlow is the maximum length of the flow cookie, in bytes.
	maxFlow = 4096
)

// oidcEndpoints are the endpoints for signing in with a provider of OpenID Connect (console.md
// N2). Browsers navigate to them, so most errors redirect to the page "Sign in", which displays
// them.
var oidcEndpoints = frame.Resource(frame.InSignIn, frame.Public, signInOf, []frame.Row[signInService]{
	frame.Handle(http.MethodGet, "/session/oidc/{provider}", "Redirect to the OpenID Connect provider to sign in", beginProviderSignIn).WithStatus(http.StatusFound).
		WithQuery(frame.Param("next", "string", "path of the console page to open after sign-in")),
	frame.Handle(http.MethodGet, "/session/oidc/{provider}/callback", "Complete a sign-in with the OpenID Connect provider", finishProviderSignIn).WithStatus(http.StatusSeeOther).
		WithQuery(frame.Param("code", "string", "authorization code from the provider"), frame.Param("state", "string", "state that was sent to the provider"), frame.Param("error", "string", "error code from the provider, if the sign-in failed")),
})

// flow is the state of a sign-in in a cookie while the browser is at the provider. It ensures
// that the browser that started the sign-in also completes it.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Next     string `json:"p"` // a path of the console
}

// Reasons of a failed sign-in, in the query of the page "Sign in".
const (
	failedExpired  = "expired"
	failedDenied   = "refused"
	failedProvider = "provider"
)

// provider returns the provider of the request's path. The error is not found if there is no
// provider.
func (svc signInService) provider(c *frame.Call) (organizations.Provider, error) {
	p := svc.Management.Organizations.Provider
	if p == nil || !svc.HasSessions() || c.Part("provider") != providerID {
		return nil, management.ErrNotFound()
	}
	return p, nil
}

// callbackURL returns the URL of our callback, for the provider.
func (svc signInService) callbackURL(c *frame.Call) string {
	base := strings.TrimSuffix(svc.SignIn.SiteURL, "/")
	if base == "" {
		base = svc.Scheme(c.R) + "://" + c.R.Host + svc.MountPrefix(c.R)
	}
	return base + "/api/session/oidc/" + providerID + "/callback"
}

// flowCookie returns the cookie for a flow, without a value. It has the attributes of the session
// cookie.
func flowCookie(session *http.Cookie) *http.Cookie {
	own := *session
	own.Name += "-oidc"
	own.MaxAge = flowLife
	return &own
}

// beginProviderSignIn starts a sign-in: it stores a new flow in a cookie and redirects to the provider.
func beginProviderSignIn(svc signInService, c *frame.Call) (any, error) {
	p, err := svc.provider(c)
	if err != nil {
		return nil, err
	}
	session, err := svc.checkTries(c, "oidc ")
	if err != nil {
		return nil, err
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), Next: ConsolePath(svc.MountPrefix(c.R)+"/console/", c.Query().Get("next"))}
	location, err := p.Begin(c.Ctx, svc.callbackURL(c), f.State, f.Nonce, f.Verifier)
	if err != nil {
		return svc.redirectFailed(c, failedProvider, err), nil
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	flowState := flowCookie(session)
	flowState.Value = base64.RawURLEncoding.EncodeToString(raw)
	if len(flowState.Value) > maxFlow {
		return nil, problem.Invalid("next", "Ensure this field has no more than %d characters.", maxFlow/2)
	}
	http.SetCookie(c.W, flowState)
	return redirect(c, http.StatusFound, location), nil
}

// finishProviderSignIn completes a sign-in: it checks the state against the cookie, exchanges the
// code for an identity and begins a session.
func finishProviderSignIn(svc signInService, c *frame.Call) (any, error) {
	p, err := svc.provider(c)
	if err != nil {
		return nil, err
	}
	session, err := svc.checkTries(c, "oidc ")
	if err != nil {
		return nil, err
	}
	flowState := flowCookie(session)
	f, hasFlow := flowOf(c.R, flowState.Name)
	flowState.MaxAge = -1
	http.SetCookie(c.W, flowState)
	params := c.Query()
	switch {
	case !hasFlow || subtle.ConstantTimeCompare([]byte(f.State), []byte(params.Get("state"))) != 1:
		return svc.redirectFailed(c, failedExpired, nil), nil
	case params.Get("code") == "":
		return svc.redirectFailed(c, failedDenied, nil), nil
	}
	identity, err := p.Finish(c.Ctx, svc.callbackURL(c), params.Get("code"), f.Nonce, f.Verifier)
	if err != nil {
		return svc.redirectFailed(c, failedProvider, err), nil
	}
	token, _, err := svc.Begin(c.Ctx, organizations.SignIn{Identity: identity, Address: svc.ClientIP(c.R).String(), Agent: c.R.UserAgent(), Token: svc.SessionToken(c.R)})
	var why *management.Error
	if errors.As(err, &why) {
		return svc.redirectFailed(c, cmp.Or(why.Code, failedDenied), nil), nil
	}
	if err != nil {
		return nil, err
	}
	session.Value = token
	http.SetCookie(c.W, session)
	return redirect(c, http.StatusSeeOther, svc.MountPrefix(c.R)+"/console/"+ConsolePath(svc.MountPrefix(c.R)+"/console/", f.Next)), nil
}

// flowOf returns the flow in the cookie of a request. ok is false if there is no valid flow.
func flowOf(r *http.Request, name string) (f flow, ok bool) {
	cookie, err := r.Cookie(name)
	if err != nil || len(cookie.Value) > maxFlow {
		return f, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil || json.Unmarshal(raw, &f) != nil {
		return f, false
	}
	return f, f.State != "" && f.Nonce != "" && f.Verifier != ""
}

// redirectFailed redirects to the page "Sign in" with the reason. err is an error of the
// provider; it is only logged.
func (svc signInService) redirectFailed(c *frame.Call, why string, err error) frame.Answer {
	if err != nil {
		svc.Logger.Warn("a sign-in with the OpenID Connect provider has failed", "error", err.Error())
	}
	return redirect(c, http.StatusSeeOther, svc.MountPrefix(c.R)+"/console/sign-in?"+url.Values{"failed": {why}}.Encode())
}

func redirect(c *frame.Call, status int, location string) frame.Answer {
	c.W.Header().Set("Location", location)
	c.W.Header().Set("Cache-Control", "no-store")
	c.W.Header().Set("Referrer-Policy", "no-referrer")
	return frame.Answer{Status: status}
}
