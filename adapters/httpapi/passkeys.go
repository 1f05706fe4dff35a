package httpapi

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
)

// passkeyOptions are the argument of the browser's navigator.credentials.get or create, with
// bytes in base64url.
type passkeyOptions struct {
	PublicKey json.RawMessage `json:"publicKey"`
}

// passkeyEndpoints are the endpoints of passkeys (console.md N2, N4).
var passkeyEndpoints = slices.Concat(
	resource(inSignIn, "user", signInOf, []row[signInService]{
		handle(http.MethodGet, "/passkeys", "List the calling user's passkeys", func(of signInService, c *call) (management.List[organizations.Passkey], error) {
			return of.passkeys().List(c.ctx, c.scope, c.page())
		}),
		handle(http.MethodPost, "/passkeys", "Keep the passkey that the browser has made", func(of signInService, c *call) (*organizations.Passkey, error) {
			return of.passkeys().Add(c.ctx, c.scope, of.site(c.r), c.body)
		}).withBody(organizations.PasskeyFields).created().withProof(),
		handle(http.MethodPost, "/passkeys/options", "Begin to make a passkey: what the browser is to be asked", func(of signInService, c *call) (*passkeyOptions, error) {
			options, err := of.passkeys().RegistrationOptions(c.ctx, c.scope, of.site(c.r))
			return &passkeyOptions{options}, err
		}).withProof(),
		handle(http.MethodPatch, "/passkeys/{id}", "Give a passkey another name", func(of signInService, c *call) (*organizations.Passkey, error) {
			return of.passkeys().Rename(c.ctx, c.scope, c.part("id"), c.body)
		}).withBody(organizations.PasskeyNameFields),
		handle(http.MethodDelete, "/passkeys/{id}", "Remove a passkey", func(of signInService, c *call) (any, error) {
			return nil, of.passkeys().Remove(c.ctx, c.scope, c.part("id"))
		}).withStatus(http.StatusNoContent),
	}),
	resource(inSignIn, public, signInOf, []row[signInService]{
		handle(http.MethodPost, "/session/passkey", "Ask for a passkey, to sign in with: what the browser is to be asked", requestPasskey),
	}),
)

func (svc signInService) passkeys() organizations.Passkeys {
	return svc.Management.Organizations.Passkeys
}

// requestPasskey returns the options for signing in with a passkey.
func requestPasskey(svc signInService, c *call) (*passkeyOptions, error) {
	if _, err := svc.checkTries(c, "passkey "); err != nil {
		return nil, err
	}
	options, err := svc.passkeys().LoginOptions(c.ctx, svc.site(c.r))
	return &passkeyOptions{options}, err
}
