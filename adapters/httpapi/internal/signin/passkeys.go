package signin

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
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
	frame.Resource(frame.InSignIn, "user", signInOf, []frame.Row[signInService]{
		frame.Handle(http.MethodGet, "/passkeys", "List the calling user's passkeys", func(svc signInService, c *frame.Call) (management.List[organizations.Passkey], error) {
			return svc.passkeys().List(c.Ctx, c.Scope, c.Page())
		}),
		frame.Handle(http.MethodPost, "/passkeys", "Register the passkey that the browser created", func(svc signInService, c *frame.Call) (*organizations.Passkey, error) {
			return svc.passkeys().Add(c.Ctx, c.Scope, svc.Site(c.R), c.Body)
		}).WithBody(organizations.PasskeyFields).Created().WithProof(),
		frame.Handle(http.MethodPost, "/passkeys/options", "Start registering a passkey: the options for navigator.credentials.create", func(svc signInService, c *frame.Call) (*passkeyOptions, error) {
			options, err := svc.passkeys().RegistrationOptions(c.Ctx, c.Scope, svc.Site(c.R))
			return &passkeyOptions{options}, err
		}).WithProof(),
		frame.Handle(http.MethodPatch, "/passkeys/{id}", "Rename a passkey", func(svc signInService, c *frame.Call) (*organizations.Passkey, error) {
			return svc.passkeys().Rename(c.Ctx, c.Scope, c.Part("id"), c.Body)
		}).WithBody(organizations.PasskeyNameFields),
		frame.Handle(http.MethodDelete, "/passkeys/{id}", "Delete a passkey", func(svc signInService, c *frame.Call) (any, error) {
			return nil, svc.passkeys().Remove(c.Ctx, c.Scope, c.Part("id"))
		}).WithStatus(http.StatusNoContent),
	}),
	frame.Resource(frame.InSignIn, frame.Public, signInOf, []frame.Row[signInService]{
		frame.Handle(http.MethodPost, "/session/passkey", "Start signing in with a passkey: the options for navigator.credentials.get", requestPasskey),
	}),
)

func (svc signInService) passkeys() organizations.Passkeys {
	return svc.Management.Organizations.Passkeys
}

// requestPasskey returns the options for signing in with a passkey.
func requestPasskey(svc signInService, c *frame.Call) (*passkeyOptions, error) {
	if _, err := svc.checkTries(c, "passkey "); err != nil {
		return nil, err
	}
	options, err := svc.passkeys().LoginOptions(c.Ctx, svc.Site(c.R))
	return &passkeyOptions{options}, err
}
