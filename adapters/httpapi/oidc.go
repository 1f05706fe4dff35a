package httpapi

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

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

const (
	// providerID is how paths name the one provider.
	providerID = "sso"
	// flowLife is how long somebody has to sign in with the provider, in seconds.
	flowLife = 600
	// maxFlow bounds what a browser brings back, in bytes.
	maxFlow = 4096
)

// oidcEndpoints sign in with a provider of OpenID Connect (console.md N2). They are pages
// of a browser: what goes wrong is said by the page "Sign in".
var oidcEndpoints = resource(atSignIn, public, signInOf, []row[signInDesk]{
	by(http.MethodGet, "/session/oidc/{provider}", "Go to the provider to sign in", goToProvider).answering(http.StatusFound).
		asking(parameterDoc{"next", "string", "the page of the console to go to then"}),
	by(http.MethodGet, "/session/oidc/{provider}/callback", "Come back from the provider, and be signed in", backFromProvider).answering(http.StatusSeeOther).
		asking(parameterDoc{"code", "string", "what the provider gave"}, parameterDoc{"state", "string", "what it was sent"}, parameterDoc{"error", "string", "why it gave nothing"}),
})

// flow is what a browser keeps while it is with the provider: only the one that went may
// come back.
type flow struct {
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
	Next     string `json:"p"` // a path of the console
}

// What the page "Sign in" is told where nobody was signed in.
const (
	failedExpired  = "expired"
	failedRefused  = "refused"
	failedProvider = "provider"
)

// provider is the one that a path names.
func (of signInDesk) provider(c *call) (organizations.Provider, error) {
	p := of.Management.Organizations.Provider
	if p == nil || !of.sessions() || c.part("provider") != providerID {
		return nil, management.ErrNotFound()
	}
	return p, nil
}

// redirectTo is the address that the provider sends a browser back to.
func (of signInDesk) redirectTo(c *call) string {
	base := strings.TrimSuffix(of.SignIn.SiteURL, "/")
	if base == "" {
		base = of.scheme(c.r) + "://" + c.r.Host + of.mountedAt(c.r)
	}
	return base + "/api/session/oidc/" + providerID + "/callback"
}

// flowCookie is what keeps a flow, without a value.
func flowCookie(session *http.Cookie) *http.Cookie {
	own := *session
	own.Name += "-oidc"
	own.MaxAge = flowLife
	return &own
}

func goToProvider(of signInDesk, c *call) (any, error) {
	p, err := of.provider(c)
	if err != nil {
		return nil, err
	}
	session, err := of.mayTry(c, "oidc ")
	if err != nil {
		return nil, err
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), Next: consolePath(of.mountedAt(c.r)+"/console/", c.query().Get("next"))}
	to, err := p.Begin(c.ctx, of.redirectTo(c), f.State, f.Nonce, f.Verifier)
	if err != nil {
		return of.failed(c, failedProvider, err), nil
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	kept := flowCookie(session)
	kept.Value = base64.RawURLEncoding.EncodeToString(raw)
	if len(kept.Value) > maxFlow {
		return nil, invalid("next", "Ensure this field has no more than %d characters.", maxFlow/2)
	}
	http.SetCookie(c.w, kept)
	return redirected(c, http.StatusFound, to), nil
}

func backFromProvider(of signInDesk, c *call) (any, error) {
	p, err := of.provider(c)
	if err != nil {
		return nil, err
	}
	session, err := of.mayTry(c, "oidc ")
	if err != nil {
		return nil, err
	}
	spent := flowCookie(session)
	f, came := flowOf(c.r, spent.Name)
	spent.MaxAge = -1
	http.SetCookie(c.w, spent)
	params := c.query()
	switch {
	case !came || subtle.ConstantTimeCompare([]byte(f.State), []byte(params.Get("state"))) != 1:
		return of.failed(c, failedExpired, nil), nil
	case params.Get("code") == "":
		return of.failed(c, failedRefused, nil), nil
	}
	who, err := p.Finish(c.ctx, of.redirectTo(c), params.Get("code"), f.Nonce, f.Verifier)
	if err != nil {
		return of.failed(c, failedProvider, err), nil
	}
	token, err := of.BeginAs(c.ctx, *who, organizations.Visit{Address: of.clientIP(c.r).String(), Agent: c.r.UserAgent(), Token: of.tokenOf(c.r)})
	var why *management.Error
	if errors.As(err, &why) {
		return of.failed(c, cmp.Or(why.Code, failedRefused), nil), nil
	}
	if err != nil {
		return nil, err
	}
	session.Value = token
	http.SetCookie(c.w, session)
	return redirected(c, http.StatusSeeOther, of.mountedAt(c.r)+"/console/"+consolePath(of.mountedAt(c.r)+"/console/", f.Next)), nil
}

// flowOf is what a browser has kept.
func flowOf(r *http.Request, name string) (f flow, ok bool) {
	kept, err := r.Cookie(name)
	if err != nil || len(kept.Value) > maxFlow {
		return f, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(kept.Value)
	if err != nil || json.Unmarshal(raw, &f) != nil {
		return f, false
	}
	return f, f.State != "" && f.Nonce != "" && f.Verifier != ""
}

// failed sends a browser to the page "Sign in", which says why; what the provider did
// wrong is for the log.
func (of signInDesk) failed(c *call, why string, err error) answer {
	if err != nil {
		of.Logger.Warn("nobody could sign in with the provider of OpenID Connect", "error", err.Error())
	}
	return redirected(c, http.StatusSeeOther, of.mountedAt(c.r)+"/console/sign-in?"+url.Values{"failed": {why}}.Encode())
}

func redirected(c *call, status int, to string) answer {
	c.w.Header().Set("Location", to)
	c.w.Header().Set("Cache-Control", "no-store")
	c.w.Header().Set("Referrer-Policy", "no-referrer")
	return answer{status: status}
}
