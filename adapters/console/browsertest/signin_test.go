package browsertest

import (
	"net/http"
	"strings"
	"testing"
)

// J1: the link of the first start names its user, requires a click, leads to the first steps, and
// works only once (console.md §5.2).
func TestFirstRun_Link(t *testing.T) {
	s := serve(t)
	p := s.openAnonymous(t)
	p.visit(strings.TrimPrefix(s.link, s.url+"/console/"))
	eventually(t, "whose link it is", func() bool { return js[bool](p, "(document.body?.innerText ?? '').includes('owner@localhost')") })
	if got := js[string](p, "location.hash"); got != "" {
		t.Errorf("the address has %q: the link stays in it", got)
	}
	p.accessible()
	p.click("button", "Sign in")
	p.node("heading", "First steps")
	p.accessible()
	p.click("button", "Account menu")
	p.click("menuitem", "Sign out")
	p.node("heading", "Sign in")
	p.visit("p/1/flags")
	p.node("heading", "Sign in")
	if got := js[int](p, "fetch('../../../api/users/@me/').then(r => r.status)"); got != http.StatusUnauthorized {
		t.Errorf("after signing out the API answers %d, want 401", got)
	}
	again := s.openAnonymous(t)
	again.visit(strings.TrimPrefix(s.link, s.url+"/console/"))
	again.node("button", "Sign in with key")
	again.waitRemoved("button", "Sign in")
}

// A wrong key is reported, and does not sign in (console.md §3.2).
func TestSignIn_WrongKey(t *testing.T) {
	s := serve(t)
	p := s.openAnonymous(t)
	p.visit("sign-in")
	p.node("button", "Sign in with key")
	js[bool](p, "document.querySelector('input[type=password]').value = 'phx_wrong', true")
	p.click("button", "Sign in with key")
	eventually(t, "what is wrong", func() bool { return js[bool](p, "document.querySelector('[role=alert]') !== null") })
	p.accessible()
}
