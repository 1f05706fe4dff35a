// Package passkeys verifies the signatures of authenticators with WebAuthn. It implements
// organizations.Authenticators and stores nothing; spec/console.md §5.2 specifies its behavior.
package passkeys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/bunting-flags/bunting/management/organizations"
)

// Authenticators implements organizations.Authenticators. The zero value is ready to use.
type Authenticators struct{}

var _ organizations.Authenticators = Authenticators{}

// newWebAuthn returns the relying party for a site. The authenticator must verify the person, and
// the passkey must be discoverable without a user name.
func newWebAuthn(site organizations.Site) (*webauthn.WebAuthn, error) {
	w, err := webauthn.New(&webauthn.Config{
		RPID: site.Host, RPDisplayName: "Bunting", RPOrigins: []string{site.Origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(), UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("passkeys: %w", err)
	}
	return w, nil
}

// owner implements the library's interface of a user.
type owner struct {
	organizations.PasskeyOwner
	credentials []webauthn.Credential
}

func (o *owner) WebAuthnID() []byte                         { return []byte(o.UUID) }
func (o *owner) WebAuthnName() string                       { return o.Email }
func (o *owner) WebAuthnDisplayName() string                { return o.Email }
func (o *owner) WebAuthnCredentials() []webauthn.Credential { return o.credentials }

// newOwner returns an owner with its decoded credentials.
func newOwner(passkeyOwner organizations.PasskeyOwner) (*owner, error) {
	o := &owner{PasskeyOwner: passkeyOwner, credentials: make([]webauthn.Credential, len(passkeyOwner.Credentials))}
	for i, raw := range passkeyOwner.Credentials {
		if err := json.Unmarshal(raw, &o.credentials[i]); err != nil {
			return nil, fmt.Errorf("passkeys: a credential of %s is not stored as it should be: %w", passkeyOwner.Email, err)
		}
	}
	return o, nil
}

// newChallenge returns the challenge for the browser, with the state that is stored until its
// response.
func newChallenge(options any, session *webauthn.SessionData) (*organizations.Challenge, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(session)
	return &organizations.Challenge{Text: session.Challenge, Options: text, State: state}, err
}

// BeginRegistration implements organizations.Authenticators.
func (Authenticators) BeginRegistration(site organizations.Site, passkeyOwner organizations.PasskeyOwner) (*organizations.Challenge, error) {
	w, err := newWebAuthn(site)
	if err != nil {
		return nil, err
	}
	o, err := newOwner(passkeyOwner)
	if err != nil {
		return nil, err
	}
	options, session, err := w.BeginRegistration(o, webauthn.WithExclusions(webauthn.Credentials(o.credentials).CredentialDescriptors()))
	if err != nil {
		return nil, err
	}
	return newChallenge(options.Response, session)
}

// FinishRegistration implements organizations.Authenticators.
func (Authenticators) FinishRegistration(site organizations.Site, passkeyOwner organizations.PasskeyOwner, state, answer json.RawMessage) (id string, credential json.RawMessage, err error) {
	w, session, err := resumeSession(site, state)
	if err != nil {
		return "", nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return "", nil, wrapRejection(err)
	}
	o, err := newOwner(passkeyOwner)
	if err != nil {
		return "", nil, err
	}
	created, err := w.CreateCredential(o, *session, parsed)
	if err != nil {
		return "", nil, wrapRejection(err)
	}
	credential, err = json.Marshal(created)
	return string(created.ID), credential, err
}

// BeginLogin implements organizations.Authenticators.
func (Authenticators) BeginLogin(site organizations.Site) (*organizations.Challenge, error) {
	w, err := newWebAuthn(site)
	if err != nil {
		return nil, err
	}
	options, session, err := w.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, err
	}
	return newChallenge(options.Response, session)
}

// ReadAnswer implements organizations.Authenticators.
func (Authenticators) ReadAnswer(answer json.RawMessage) (challenge, id string, err error) {
	var members struct {
		RawID    protocol.URLEncodedBase64 `json:"rawId"`
		Response struct {
			ClientData protocol.URLEncodedBase64 `json:"clientDataJSON"`
		} `json:"response"`
	}
	if err := json.Unmarshal(answer, &members); err != nil {
		return "", "", wrapRejection(err)
	}
	var client struct {
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal(members.Response.ClientData, &client); err != nil {
		return "", "", wrapRejection(err)
	}
	return client.Challenge, string(members.RawID), nil
}

// FinishLogin implements organizations.Authenticators.
func (Authenticators) FinishLogin(site organizations.Site, passkeyOwner organizations.PasskeyOwner, state, answer json.RawMessage) (json.RawMessage, error) {
	w, session, err := resumeSession(site, state)
	if err != nil {
		return nil, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, wrapRejection(err)
	}
	o, err := newOwner(passkeyOwner)
	if err != nil {
		return nil, err
	}
	found := func(_, handle []byte) (webauthn.User, error) {
		if !bytes.Equal(handle, o.WebAuthnID()) {
			return nil, errors.New("the passkey is another user's")
		}
		return o, nil
	}
	used, err := w.ValidateDiscoverableLogin(found, *session, parsed)
	if err != nil {
		return nil, wrapRejection(err)
	}
	if used.Authenticator.CloneWarning {
		return nil, wrapRejection(errors.New("its counter went back: there may be a copy of it"))
	}
	return json.Marshal(used)
}

// resumeSession decodes the state of a challenge.
func resumeSession(site organizations.Site, state json.RawMessage) (*webauthn.WebAuthn, *webauthn.SessionData, error) {
	w, err := newWebAuthn(site)
	if err != nil {
		return nil, nil, err
	}
	session := &webauthn.SessionData{}
	if err := json.Unmarshal(state, session); err != nil {
		return nil, nil, fmt.Errorf("passkeys: a challenge is not stored as it should be: %w", err)
	}
	return w, session, nil
}

// wrapRejection returns the error for a response of a browser that is not valid.
func wrapRejection(err error) error { return fmt.Errorf("%w: %w", organizations.ErrPasskey, err) }
