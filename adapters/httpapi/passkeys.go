package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// passkeyOptions are what a browser is asked: the argument of navigator.credentials.get or
// create, whose bytes are in base64url.
type passkeyOptions struct {
	PublicKey json.RawMessage `json:"publicKey"`
}

// passkeyEndpoints are those of passkeys (console.md N2, N4).
var passkeyEndpoints = slices.Concat(
	resource(atSignIn, "user", signInOf, []row[signInDesk]{
		by(http.MethodGet, "/passkeys", "List the calling user's passkeys", func(of signInDesk, c *call) (management.List[organizations.Passkey], error) {
			return of.passkeys().List(c.ctx, c.standing, c.page())
		}),
		by(http.MethodPost, "/passkeys", "Keep the passkey that the browser has made", func(of signInDesk, c *call) (*organizations.Passkey, error) {
			return of.passkeys().Add(c.ctx, c.standing, of.site(c.r), c.body)
		}).taking(organizations.PasskeyFields).created().proven(),
		by(http.MethodPost, "/passkeys/options", "Begin to make a passkey: what the browser is to be asked", func(of signInDesk, c *call) (*passkeyOptions, error) {
			options, err := of.passkeys().Options(c.ctx, c.standing, of.site(c.r))
			return &passkeyOptions{options}, err
		}).proven(),
		by(http.MethodPatch, "/passkeys/{id}", "Give a passkey another name", func(of signInDesk, c *call) (*organizations.Passkey, error) {
			return of.passkeys().Rename(c.ctx, c.standing, c.part("id"), c.body)
		}).taking(organizations.PasskeyNameFields),
		by(http.MethodDelete, "/passkeys/{id}", "Remove a passkey", func(of signInDesk, c *call) (any, error) {
			return nil, of.passkeys().Remove(c.ctx, c.standing, c.part("id"))
		}).answering(http.StatusNoContent),
	}),
	resource(atSignIn, public, signInOf, []row[signInDesk]{
		by(http.MethodPost, "/session/passkey", "Ask for a passkey, to sign in with: what the browser is to be asked", askPasskey),
	}),
)

func (of signInDesk) passkeys() organizations.Passkeys { return of.Management.Organizations.Passkeys }

func askPasskey(of signInDesk, c *call) (*passkeyOptions, error) {
	if _, err := of.mayTry(c, "passkey "); err != nil {
		return nil, err
	}
	options, err := of.passkeys().Ask(c.ctx, of.site(c.r))
	return &passkeyOptions{options}, err
}
