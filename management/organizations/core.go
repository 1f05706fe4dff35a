package organizations

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/resource"
)

// ErrMailRejected is the error for mails that a mail server refuses permanently.
var ErrMailRejected = errors.New("the mail server has permanently rejected the mail")

// Config is the environment of a Service. Only Env is required.
type Config struct {
	Env management.Env[Tx]
	// SiteURL is the public address of the server for links in e-mails, such as
	// https://flags.example.com, without a final slash. It is required with a Mailer, because mails
	// must not contain an address that a request has supplied.
	SiteURL string
	// Resolver looks up DNS records of domains. If nil, no domain can be verified.
	Resolver Resolver
	// ChallengeHost is the label in front of a domain in the name of its TXT record. If empty, it
	// is DefaultChallengeHost.
	ChallengeHost string
	// Mailer hands mails to a mail server. If nil, no mails are sent.
	Mailer Mailer
	// MailQueued is called when there may be new mails in the outbox, so that the program calls
	// Service.Mails.Deliver. It must not block. It may be nil.
	MailQueued func()
	// Poster sends webhooks. If nil, no webhooks are sent.
	Poster Poster
	// JobDone is called for mails and webhooks that will not be sent. It may be called concurrently. If nil,
	// they are not reported.
	JobDone func(management.JobDone)
	// SessionIdle is the life of a browser's session without use, and SessionLife its life in all.
	// If zero, they are defaultSessionIdle and defaultSessionLife.
	SessionIdle, SessionLife time.Duration
	// Authenticators checks passkeys. If nil, there are no passkeys.
	Authenticators Authenticators
	// Provider signs users in with OpenID Connect. If nil, there is no such sign-in.
	Provider Provider
	// SurveysRun reports whether a project has a running survey; browsers are configured to load
	// surveys only then. If nil, no project has one.
	SurveysRun func(tx management.Tx, project int64) (bool, error)
}

// core is the state that all services of this package share: the configuration, and the resource
// that several of them use.
type core struct {
	Config
	keys resource.Resource[Tx, ownKey, APIKey]
}

// organizationParent is the Spec.Parent of resources that belong to organizations.
func organizationParent(scope *management.Scope) string { return scope.Organization.ID }

// custom marks fields as Custom: the rules of their resource apply all of them.
func custom(fields management.Fields) management.Fields {
	for i := range fields {
		fields[i].Custom = true
	}
	return fields
}

// view is a View with a transaction of this package.
type view = resource.View[Tx]

// Resolver looks up DNS records. It must be safe for concurrent use, like the other interfaces of
// Config.
type Resolver interface {
	// TXT returns the TXT records of a host, the first string of each. An error is treated like a
	// host without records.
	TXT(ctx context.Context, host string) ([]string, error)
}

// Mail is one e-mail. ID is the same in each attempt to send it, so that duplicates can be
// detected. Text and HTML are two forms of the same content.
type Mail struct {
	ID, To, Subject, Text, HTML string
}

// Mailer hands mails to a mail server.
type Mailer interface {
	// Send sends a mail. ErrMailRejected means that the server refuses this mail permanently; after
	// all other errors it is retried.
	Send(ctx context.Context, m Mail) error
}

// Poster sends webhooks.
type Poster interface {
	// Check returns an error if no webhook can be sent to an address. It may also be found out only
	// by Post, because names may resolve to any address.
	Check(address string) error
	// Post sends a POST request with a JSON body. It returns an error unless the status is 2xx. It
	// follows no redirects.
	Post(ctx context.Context, address string, headers map[string]string, body []byte) error
}

// ErrPasskey is the error for a browser's answer that is not valid.
var ErrPasskey = errors.New("the passkey could not be verified")

// Site is the web site that a passkey is bound to: the host without port, and the origin, such as
// https://flags.example.com.
type Site struct{ Host, Origin string }

// PasskeyOwner is the user of passkeys. Credentials are the results of FinishRegistration and
// FinishLogin.
type PasskeyOwner struct {
	UUID, Email string
	Credentials []json.RawMessage
}

// Challenge is a request to a browser. Options are sent to it, State is needed to check its answer,
// and Text is the challenge that the answer signs.
type Challenge struct {
	Text           string
	Options, State json.RawMessage
}

// Authenticators is an implementation of WebAuthn (console.md §5.2). Errors about an answer are
// ErrPasskey.
type Authenticators interface {
	// BeginRegistration returns the challenge for a new passkey. FinishRegistration checks the
	// answer and returns the passkey's id and its credential for the store.
	BeginRegistration(site Site, owner PasskeyOwner) (*Challenge, error)
	FinishRegistration(site Site, owner PasskeyOwner, state, answer json.RawMessage) (id string, credential json.RawMessage, err error)
	// BeginLogin returns a challenge for any passkey of the site. ReadAnswer returns the challenge
	// and the id of the passkey from an answer, without checking it. FinishLogin checks the answer
	// and returns the updated credential for the store.
	BeginLogin(site Site) (*Challenge, error)
	ReadAnswer(answer json.RawMessage) (challenge, id string, err error)
	FinishLogin(site Site, owner PasskeyOwner, state, answer json.RawMessage) (json.RawMessage, error)
}

// unauthenticated returns an error of kind Unauthenticated.
func unauthenticated(text string) error {
	return &management.Error{Kind: management.Unauthenticated, Code: "authentication_failed", Message: strings.TrimSpace(text)}
}

// Identity is an account at a provider of OpenID Connect. Issuer and Subject identify it.
type Identity struct {
	Issuer, Subject string
	// Email is empty if the provider does not return it. Verified reports whether the provider has
	// verified that it belongs to the account.
	Email    string
	Verified bool
	Name     string
}

// ErrProvider is the error for a provider that does not respond or sends an invalid response.
var ErrProvider = errors.New("the provider's response is invalid")

// Provider is a provider of OpenID Connect (console.md §5.2). Its errors are ErrProvider.
type Provider interface {
	// Name returns the provider's display name.
	Name() string
	// Begin returns the address to which a browser is sent. The provider sends it back to redirect
	// with state.
	Begin(ctx context.Context, redirect, state, nonce, verifier string) (url string, err error)
	// Finish exchanges the code that the browser came back with for the account. It checks issuer,
	// audience, expiry and nonce.
	Finish(ctx context.Context, redirect, code, nonce, verifier string) (*Identity, error)
}
