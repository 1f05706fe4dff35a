package httpapi_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/oidc"
	"github.com/bunting-flags/bunting/adapters/internal/oidctest"
)

// ssoOffice returns an office with a provider of OpenID Connect.
func ssoOffice(t *testing.T) (*office, *oidctest.Provider) {
	t.Helper()
	o, provider := newOffice(t, "sqlite::memory:"), oidctest.New(t)
	p, err := oidc.New(oidc.Config{Issuer: provider.URL, ClientID: oidctest.ClientID, ClientSecret: oidctest.ClientSecret, Name: "Example"})
	if err != nil {
		t.Fatal(err)
	}
	o.service.Organizations.Provider = p
	return o, provider
}

// newBrowser returns a browser with its own cookies, which follows redirects.
func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// follow opens a URL and returns the final URL.
func follow(t *testing.T, c *http.Client, to string) *url.URL {
	t.Helper()
	res, err := c.Get(to)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.Request.URL
}

// sessionUser returns the email of the signed-in user, empty if there is no session, and the method.
func (o *office) sessionUser(t *testing.T, c *http.Client) (email, method string) {
	t.Helper()
	res, err := c.Get(o.URL + "/api/session/")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var account struct {
		User   struct{ Email string }
		Method string
	}
	if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode == http.StatusOK && json.Unmarshal(body, &account) != nil {
		t.Fatal(string(body), err)
	}
	return account.User.Email, account.Method
}

func person(sub, email string) map[string]any {
	return map[string]any{"sub": sub, "email": email, "email_verified": true, "name": "Ada Lovelace"}
}

func withClaim(claims map[string]any, name string, v any) map[string]any {
	out := maps.Clone(claims)
	out[name] = v
	return out
}

// console.md §5.2, row OIDC: the first sign-in matches a verified address, later ones issuer and
// subject; the requested page is opened at the end.
func TestOIDC_SignsIn(t *testing.T) {
	o, provider := ssoOffice(t)
	o.wantResponse(t, visit{request: "GET /api/session/methods/"}, http.StatusOK, `"oidc":[{"id":"sso","name":"Example"}]`)
	browser := newBrowser(t)
	provider.SignsIn(person("17", "Member@example.com"))
	if end := follow(t, browser, o.URL+"/api/session/oidc/sso/?next=flags"); end.Path != "/console/flags" || end.RawQuery != "" {
		t.Fatalf("it ends at %s, want /console/flags", end)
	}
	if email, method := o.sessionUser(t, browser); email != "member@example.com" || method != "oidc" {
		t.Fatalf("signed in is %q by %q", email, method)
	}
	provider.SignsIn(withClaim(person("17", "other@example.net"), "email_verified", false)) // the same account
	again := newBrowser(t)
	follow(t, again, o.URL+"/api/session/oidc/sso/")
	if email, _ := o.sessionUser(t, again); email != "member@example.com" {
		t.Errorf("the account is of %q then", email)
	}
	if email, _ := o.sessionUser(t, browser); email != "member@example.com" {
		t.Errorf("the other browser is of %q", email)
	}
}

// A user who is refused is redirected to "Sign in" with the reason, and has no session.
func TestOIDC_Refuses(t *testing.T) {
	member := person("17", "member@example.com")
	for name, c := range map[string]struct {
		claims map[string]any
		want   string
	}{
		"the provider refuses":        {nil, "refused"},
		"an address that is not said": {withClaim(member, "email", ""), "sso_unverified"},
		"an address not known":        {withClaim(member, "email_verified", false), "sso_unverified"},
		"verified said as false text": {withClaim(member, "email_verified", "false"), "sso_unverified"},
		"nobody here":                 {person("18", "nobody@example.com"), "sso_no_account"},
		"another audience":            {withClaim(member, "aud", "other"), "provider"},
		"another issuer":              {withClaim(member, "iss", "https://accounts.example.com"), "provider"},
		"expired":                     {withClaim(member, "exp", time.Now().Add(-time.Hour).Unix()), "provider"},
		"another nonce":               {withClaim(member, "nonce", "x"), "provider"},
	} {
		t.Run(name, func(t *testing.T) {
			o, provider := ssoOffice(t)
			provider.SignsIn(c.claims)
			browser := newBrowser(t)
			if end := follow(t, browser, o.URL+"/api/session/oidc/sso/?next=flags"); end.Path != "/console/sign-in" || end.Query().Get("failed") != c.want {
				t.Errorf("it ends at %s, want failed=%s", end, c.want)
			}
			if email, _ := o.sessionUser(t, browser); email != "" {
				t.Errorf("signed in is %s", email)
			}
		})
	}
}

// A wrong signing key, a second account with an existing address, a reused code, a sign-in that
// another browser started, and malformed requests are refused.
func TestOIDC_Attacks(t *testing.T) {
	o, provider := ssoOffice(t)
	provider.SignsIn(person("17", "member@example.com"))
	follow(t, newBrowser(t), o.URL+"/api/session/oidc/sso/")
	provider.SignsIn(person("99", "member@example.com")) // another account got the address later
	thief := newBrowser(t)
	if end := follow(t, thief, o.URL+"/api/session/oidc/sso/"); end.Query().Get("failed") != "sso_taken" {
		t.Errorf("another account with the address ends at %s", end)
	}

	provider.SignsIn(person("17", "member@example.com"))
	stopped := newBrowser(t)
	stopped.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if strings.Contains(r.URL.Path, "/callback") {
			return http.ErrUseLastResponse
		}
		return nil
	}
	res, err := stopped.Get(o.URL + "/api/session/oidc/sso/")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	back := res.Header.Get("Location")
	victim := newBrowser(t)
	if end := follow(t, victim, back); end.Query().Get("failed") != "expired" {
		t.Errorf("the way of another browser ends at %s", end)
	}
	if email, _ := o.sessionUser(t, victim); email != "" {
		t.Errorf("a link has signed somebody in as %s", email)
	}
	stopped.CheckRedirect = nil
	if end := follow(t, stopped, back); end.Path != "/console/" {
		t.Errorf("the own way ends at %s", end)
	}
	if end := follow(t, stopped, back); end.Query().Get("failed") != "expired" {
		t.Errorf("the same once more ends at %s", end)
	}

	for _, next := range []string{"https://evil.example", "//evil.example", `/\evil.example`, "..%2f..%2fapi", "/other/", "javascript:alert(1)"} {
		if end := follow(t, newBrowser(t), o.URL+"/api/session/oidc/sso/?next="+url.QueryEscape(next)); end.Path != "/console/" || end.Host != strings.TrimPrefix(o.URL, "http://") {
			t.Errorf("next=%s ends at %s", next, end)
		}
		o.wait(time.Minute) // a limited number per minute is allowed
	}
	o.wantResponse(t, visit{request: "GET /api/session/oidc/other/"}, http.StatusNotFound, "not_found")
	o.wantResponse(t, visit{request: "GET /api/session/oidc/sso/callback?state=&code=x"}, http.StatusNotFound, "") // the console's page, after the redirect

	provider.Forge(t)
	if end := follow(t, newBrowser(t), o.URL+"/api/session/oidc/sso/"); end.Query().Get("failed") != "provider" {
		t.Errorf("a forged signature ends at %s", end)
	}
}

// The cookie of a sign-in is bound to the browser, and expires after ten minutes.
func TestOIDC_Cookie(t *testing.T) {
	o, _ := ssoOffice(t)
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := c.Get(o.URL + "/api/session/oidc/sso/?next=flags")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	to, _ := url.Parse(res.Header.Get("Location"))
	if q := to.Query(); res.StatusCode != http.StatusFound || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("nonce") == "" ||
		q.Get("redirect_uri") != o.URL+"/api/session/oidc/sso/callback" || !slices.Contains(strings.Fields(q.Get("scope")), "email") {
		t.Errorf("it is sent to %s with %d", to, res.StatusCode)
	}
	k := res.Cookies()[0]
	if !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.MaxAge != 600 || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the cookie is %v, of an answer with %q", k, res.Header.Get("Cache-Control"))
	}
}

// Without the provider the server works, and reports the error to users who sign in with it.
func TestOIDC_ProviderAway(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	p, err := oidc.New(oidc.Config{Issuer: "http://127.0.0.1:1", ClientID: "a", ClientSecret: "b"})
	if err != nil {
		t.Fatal(err)
	}
	o.service.Organizations.Provider = p
	for range 2 {
		if end := follow(t, newBrowser(t), o.URL+"/api/session/oidc/sso/"); end.Path != "/console/sign-in" || end.Query().Get("failed") != "provider" {
			t.Errorf("it ends at %s", end)
		}
	}
}

// console.md §5.2, row Domains act: users of the provider with a verified domain become members, as
// in their invitation; with enforcement there is no other way to sign in, not even for an owner.
func TestOIDC_Domains(t *testing.T) {
	o, provider := ssoOffice(t)
	domains := "/api/organizations/" + officeOrg + "/domains/"
	var created struct {
		ID        string
		Challenge string `json:"verification_challenge"`
	}
	key := []string{"Authorization", "Bearer " + o.key(t, "owner *")}
	ask := func(request, body string) string {
		t.Helper()
		res, got := o.visits(t, o.Server, visit{request: request, body: body, headers: key})
		if res.StatusCode >= 300 {
			t.Fatalf("%s: %d %s", request, res.StatusCode, got)
		}
		return got
	}
	if err := json.Unmarshal([]byte(ask("POST "+domains, `{"domain": "example.com"}`)), &created); err != nil {
		t.Fatal(err)
	}
	o.dns.mu.Lock()
	o.dns.hosts = map[string][]string{"_posthog-challenge.example.com": {created.Challenge}}
	o.dns.mu.Unlock()
	ask("POST "+domains+created.ID+"/verify/", "")

	provider.SignsIn(person("40", "ada@example.com"))
	if end := follow(t, newBrowser(t), o.URL+"/api/session/oidc/sso/"); end.Query().Get("failed") != "sso_no_account" {
		t.Errorf("a domain that makes nobody a member ends at %s", end)
	}
	ask("PATCH "+domains+created.ID+"/", `{"jit_provisioning_enabled": true}`)
	browser := newBrowser(t)
	follow(t, browser, o.URL+"/api/session/oidc/sso/")
	if email, _ := o.sessionUser(t, browser); email != "ada@example.com" {
		t.Fatalf("signed in is %q", email)
	}
	if list := ask("GET /api/organizations/"+officeOrg+"/members/?email=ada@example.com", ""); !strings.Contains(list, `"level":1`) || !strings.Contains(list, `"first_name":"Ada"`) {
		t.Errorf("the members are %s", list)
	}
	ask("POST /api/organizations/"+officeOrg+"/invites/", `{"target_email": "bea@example.com", "level": 8, "send_email": false}`)
	provider.SignsIn(person("41", "bea@example.com"))
	follow(t, newBrowser(t), o.URL+"/api/session/oidc/sso/")
	if list := ask("GET /api/organizations/"+officeOrg+"/members/?email=bea@example.com", ""); !strings.Contains(list, `"level":8`) {
		t.Errorf("who was invited as an administrator: %s", list)
	}
	provider.SignsIn(person("42", "eve@example.org"))
	if end := follow(t, newBrowser(t), o.URL+"/api/session/oidc/sso/"); end.Query().Get("failed") != "sso_no_account" {
		t.Errorf("an address of another domain ends at %s", end)
	}

	o.wait(2 * time.Minute)
	ask("PATCH "+domains+created.ID+"/", `{"sso_enforcement": "saml"}`)
	token, err := o.service.Organizations.Sessions.OwnerLink(t.Context(), "owner@example.com", "", true)
	if err != nil {
		t.Fatal(err)
	}
	o.wantResponse(t, visit{request: "POST /api/session/", body: `{"link": "` + token + `"}`}, http.StatusForbidden, "sso_enforced")
	provider.SignsIn(person("43", "owner@example.com"))
	owner := newBrowser(t)
	follow(t, owner, o.URL+"/api/session/oidc/sso/")
	if email, _ := o.sessionUser(t, owner); email != "owner@example.com" {
		t.Errorf("by single sign-on the owner is %q", email)
	}
	o.service.Organizations.Provider = nil
	o.wantResponse(t, visit{request: "POST /api/session/", body: `{"link": "` + token + `"}`}, http.StatusCreated, "owner@example.com")
}
