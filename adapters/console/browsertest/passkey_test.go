package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/webauthn"
)

// console.md §3.9, §5.2, Passkey: a passkey is created in Account, signs in without a name, and is
// not accepted after its removal. The authenticator is Chromium's virtual one, which creates real
// signatures.
func TestPasskey(t *testing.T) {
	s := serve(t)
	s.url = strings.Replace(s.url, "127.0.0.1", "localhost", 1) // passkeys need a host name instead of an IP address
	p := s.open(t, "account")
	p.authenticator()
	p.click("button", "Add passkey")
	p.node("dialog", "Name the passkey")
	p.accessible()
	p.fill("laptop", "dialog", "Name the passkey", "textbox", "Name")
	p.click("dialog", "Name the passkey", "button", "Save")
	p.waitAnnounced("Saved")
	p.node("table", "Passkeys", "cell", "laptop")
	p.node("table", "Passkeys", "cell", "never")
	p.accessible()
	p.click("button", "Account menu")
	p.click("menuitem", "Sign out")
	p.click("button", "Sign in with a passkey")
	p.node("heading", "Home")
	p.visit("account")
	p.node("table", "Sessions", "cell", "This session")
	p.click("button", "Remove laptop")
	p.click("alertdialog", "Remove laptop?", "button", "Remove")
	p.waitAnnounced("Removed laptop")
	p.click("button", "Account menu")
	p.click("menuitem", "Sign out")
	p.expect("401 POST /api/session/")
	p.click("button", "Sign in with a passkey")
	p.node("alert", "")
	if text := js[string](p, "document.querySelector('[role=alert]').innerText"); text != "This passkey is not registered on this server." {
		t.Errorf("of a passkey that was removed: %q", text)
	}
	p.accessible()
}

// authenticator adds a virtual authenticator to the tab that verifies its user.
func (p *page) authenticator() {
	p.t.Helper()
	call(p, webauthn.Enable, webauthn.EnableParams{})
	call(p, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}})
}
