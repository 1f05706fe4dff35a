package browsertest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
)

// provider is an OpenID Connect provider that signs in the user with the given address without a
// login.
type provider struct {
	*httptest.Server
	key *rsa.PrivateKey

	mu           sync.Mutex
	email, nonce string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p := &provider{key: key}
	mux := http.NewServeMux()
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	respond := func(path string, what func() any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(what())
		})
	}
	type object = map[string]any
	respond("/.well-known/openid-configuration", func() any {
		return object{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}}
	})
	respond("/keys", func() any {
		text := base64.RawURLEncoding.EncodeToString
		return object{"keys": []object{{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "one", "n": text(key.N.Bytes()), "e": text(big.NewInt(int64(key.E)).Bytes())}}}
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.nonce = r.FormValue("nonce")
		p.mu.Unlock()
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?"+url.Values{"state": {r.FormValue("state")}, "code": {"one"}}.Encode(), http.StatusFound)
	})
	respond("/token", func() any { return object{"access_token": "x", "token_type": "Bearer", "id_token": p.token(t)} })
	return p
}

func (p *provider) token(t *testing.T) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	part := func(v any) string {
		raw, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(map[string]any{"alg": "RS256", "kid": "one"}) + "." + part(map[string]any{
		"iss": p.URL, "aud": "bunting", "sub": "of " + p.email, "exp": time.Now().Add(time.Minute).Unix(), "nonce": p.nonce, "email": p.email, "email_verified": true,
	})
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Error(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func (p *provider) signsIn(email string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.email = email
}

// console.md §5.2, row OIDC: a link leads through the provider to the requested page, and a user
// without an account gets an error.
func TestSignIn_Provider(t *testing.T) {
	provider := newProvider(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("of the test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serve(t, "--oidc-issuer", provider.URL, "--oidc-client-id", "bunting", "--oidc-client-secret-file", secret, "--oidc-name", "Example")
	s.provider = provider.URL
	p := s.openAnonymous(t)
	provider.signsIn("stranger@example.com")
	p.visit("sign-in")
	p.node("link", "Sign in with Example")
	p.accessible()
	p.goThrough("Sign in with Example", "Ask for an invitation")
	p.accessible()
	provider.signsIn("owner@localhost")
	p.visit("p/1/flags")
	p.node("heading", "Sign in")
	p.goThrough("Sign in with Example", "No flags yet")
	p.visit("account")
	p.node("heading", "Account")
}

// goThrough clicks on a link that leads through another server, and waits for a text of the page behind
// it. Chromium crashes at times if it keeps the accessibility tree while documents replace one another.
func (p *page) goThrough(link, text string) {
	p.t.Helper()
	p.node("link", link)
	call(p, accessibility.Disable, cdp.Empty{})
	js[any](p, fmt.Sprintf("{ const a = [...document.querySelectorAll('a')].find(a => a.innerText.includes(%q)); setTimeout(() => a.click()); null }", link))
	eventually(p.t, text, func() bool { return js[bool](p, fmt.Sprintf("(document.body?.innerText ?? '').includes(%q)", text)) })
	call(p, accessibility.Enable, cdp.Empty{})
}
