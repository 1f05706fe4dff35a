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
		handle(http.MethodGet, "/passkeys", "List the calling user's passkeys", func(svc signInService, c *call) (management.List[organizations.Passkey], error) {
			return svc.passkeys().List(c.ctx, c.scope, c.page())
		}),
		handle(http.MethodPost, "/passkeys", "Register the passkey that the browser created", func(svc signInService, c *call) (*organizations.Passkey, error) {
			return svc.passkeys().Add(c.ctx, c.scope, svc.site(c.r), c.body)
		}).withBody(organizations.PasskeyFields).created().withProof(),
		handle(http.MethodPost, "/passkeys/options", "Start registering a passkey: the options for navigator.credentials.create", func(svc signInService, c *call) (*passkeyOptions, error) {
			options, err := svc.passkeys().RegistrationOptions(c.ctx, c.scope, svc.site(c.r))
			return &passkeyOptions{options}, err
		}).withProof(),
		handle(http.MethodPatch, "/passkeys/{id}", "Rename a passkey", func(svc signInService, c *call) (*organizations.Passkey, error) {
			return svc.passkeys().Rename(c.ctx, c.scope, c.part("id"), c.body)
		}).withBody(organizations.PasskeyNameFields),
		handle(http.MethodDelete, "/passkeys/{id}", "Delete a passkey", func(svc signInService, c *call) (any, error) {
			return nil, svc.passkeys().Remove(c.ctx, c.scope, c.part("id"))
		}).withStatus(http.StatusNoContent),
	}),
	resource(inSignIn, public, signInOf, []row[signInService]{
		handle(http.MethodPost, "/session/passkey", "Start signing in with a passkey: the options for navigator.credentials.get", requestPasskey),
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
