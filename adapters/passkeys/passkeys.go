// Package passkeys checks what authenticators sign, by WebAuthn: it is
// organizations.Authenticators. It keeps nothing; spec/console.md §5.2 says what holds.
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

// Authenticators implements organizations.Authenticators. The zero value is ready.
type Authenticators struct{}

var _ organizations.Authenticators = Authenticators{}

// at is the relying party at a site. A person has to be verified by the authenticator, and
// the passkey has to be found without a name.
func at(site organizations.Site) (*webauthn.WebAuthn, error) {
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

// owner is a user as the library asks for one.
type owner struct {
	organizations.PasskeyOwner
	credentials []webauthn.Credential
}

func (o *owner) WebAuthnID() []byte                         { return []byte(o.UUID) }
func (o *owner) WebAuthnName() string                       { return o.Email }
func (o *owner) WebAuthnDisplayName() string                { return o.Email }
func (o *owner) WebAuthnCredentials() []webauthn.Credential { return o.credentials }

func newOwner(of organizations.PasskeyOwner) (*owner, error) {
	o := &owner{PasskeyOwner: of, credentials: make([]webauthn.Credential, len(of.Credentials))}
	for i, raw := range of.Credentials {
		if err := json.Unmarshal(raw, &o.credentials[i]); err != nil {
			return nil, fmt.Errorf("passkeys: a credential of %s is not stored as it should be: %w", of.Email, err)
		}
	}
	return o, nil
}

// begun is what a browser is asked, and what is kept of it.
func begun(options any, session *webauthn.SessionData) (*organizations.Challenge, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	state, err := json.Marshal(session)
	return &organizations.Challenge{Text: session.Challenge, Options: text, State: state}, err
}

// Register implements organizations.Authenticators.
func (Authenticators) Register(site organizations.Site, of organizations.PasskeyOwner) (*organizations.Challenge, error) {
	w, err := at(site)
	if err != nil {
		return nil, err
	}
	o, err := newOwner(of)
	if err != nil {
		return nil, err
	}
	options, session, err := w.BeginRegistration(o, webauthn.WithExclusions(webauthn.Credentials(o.credentials).CredentialDescriptors()))
	if err != nil {
		return nil, err
	}
	return begun(options.Response, session)
}

// Registered implements organizations.Authenticators.
func (Authenticators) Registered(site organizations.Site, of organizations.PasskeyOwner, state, answer json.RawMessage) (id string, credential json.RawMessage, err error) {
	w, session, err := resumed(site, state)
	if err != nil {
		return "", nil, err
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return "", nil, refused(err)
	}
	o, err := newOwner(of)
	if err != nil {
		return "", nil, err
	}
	made, err := w.CreateCredential(o, *session, parsed)
	if err != nil {
		return "", nil, refused(err)
	}
	credential, err = json.Marshal(made)
	return string(made.ID), credential, err
}

// Ask implements organizations.Authenticators.
func (Authenticators) Ask(site organizations.Site) (*organizations.Challenge, error) {
	w, err := at(site)
	if err != nil {
		return nil, err
	}
	options, session, err := w.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, err
	}
	return begun(options.Response, session)
}

// Answered implements organizations.Authenticators.
func (Authenticators) Answered(answer json.RawMessage) (challenge, id string, err error) {
	var members struct {
		RawID    protocol.URLEncodedBase64 `json:"rawId"`
		Response struct {
			ClientData protocol.URLEncodedBase64 `json:"clientDataJSON"`
		} `json:"response"`
	}
	if err := json.Unmarshal(answer, &members); err != nil {
		return "", "", refused(err)
	}
	var client struct {
		Challenge string `json:"challenge"`
	}
	if err := json.Unmarshal(members.Response.ClientData, &client); err != nil {
		return "", "", refused(err)
	}
	return client.Challenge, string(members.RawID), nil
}

// Asserted implements organizations.Authenticators.
func (Authenticators) Asserted(site organizations.Site, of organizations.PasskeyOwner, state, answer json.RawMessage) (json.RawMessage, error) {
	w, session, err := resumed(site, state)
	if err != nil {
		return nil, err
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, refused(err)
	}
	o, err := newOwner(of)
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
		return nil, refused(err)
	}
	if used.Authenticator.CloneWarning {
		return nil, refused(errors.New("its counter went back: there may be a copy of it"))
	}
	return json.Marshal(used)
}

func resumed(site organizations.Site, state json.RawMessage) (*webauthn.WebAuthn, *webauthn.SessionData, error) {
	w, err := at(site)
	if err != nil {
		return nil, nil, err
	}
	session := &webauthn.SessionData{}
	if err := json.Unmarshal(state, session); err != nil {
		return nil, nil, fmt.Errorf("passkeys: a challenge is not stored as it should be: %w", err)
	}
	return w, session, nil
}

// refused is an answer of a browser that does not hold.
func refused(err error) error { return fmt.Errorf("%w: %w", organizations.ErrPasskey, err) }
