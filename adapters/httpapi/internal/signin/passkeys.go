package signin

import (
	"context"
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
	frame.Resource(frame.InSignIn, "user", passkeysOf, []frame.Row[passkeyService]{
		frame.Paged("/passkeys", "List the calling user's passkeys", passkeyService.List),
		frame.Handle(http.MethodPost, "/passkeys", "Register the passkey that the browser created", withSite(organizations.Passkeys.Create)).WithBody(organizations.Bodies.Passkey).Created().WithProof(),
		frame.Handle(http.MethodPost, "/passkeys/options", "Start registering a passkey: the options for navigator.credentials.create", func(svc passkeyService, c *frame.Call) (*passkeyOptions, error) {
			return svc.options(c, c.Scope)
		}).WithProof(),
		frame.Update("/passkeys/{id}", "Rename a passkey", "", organizations.Bodies.PasskeyName, passkeyService.Update),
		frame.Remove("/passkeys/{id}", "Delete a passkey", passkeyService.Delete),
	}),
	frame.Resource(frame.InSignIn, frame.Public, passkeysOf, []frame.Row[passkeyService]{
		frame.Handle(http.MethodPost, "/session/passkey", "Start signing in with a passkey: the options for navigator.credentials.get", requestPasskey),
	}),
)

// passkeyService has the dependencies of endpoints for passkeys.
type passkeyService struct {
	organizations.Passkeys
	server signInService
}

func passkeysOf(s *frame.Server) passkeyService {
	return passkeyService{s.Management.Organizations.Passkeys, signInOf(s)}
}

// withSite adapts a method that needs the site of the request and its body.
func withSite[T any](do func(organizations.Passkeys, context.Context, *management.Scope, organizations.Site, management.Body) (T, error)) func(passkeyService, *frame.Call) (T, error) {
	return func(svc passkeyService, c *frame.Call) (T, error) {
		return do(svc.Passkeys, c.Ctx, c.Scope, svc.server.Site(c.R), c.Body)
	}
}

// options returns options with a challenge, for signing in if scope is nil.
func (svc passkeyService) options(c *frame.Call, scope *management.Scope) (*passkeyOptions, error) {
	options, err := svc.Options(c.Ctx, scope, svc.server.Site(c.R))
	return &passkeyOptions{options}, err
}

// requestPasskey returns the options for signing in with a passkey.
func requestPasskey(svc passkeyService, c *frame.Call) (*passkeyOptions, error) {
	if _, err := svc.server.checkTries(c, "passkey "); err != nil {
		return nil, err
	}
	return svc.options(c, nil)
}
