package organizations

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// ErrMailRejected is for mails that a mail server refuses for good.
var ErrMailRejected = errors.New("the mail server refuses the mail for good")

// Config says what a Service stands on. Only Desk is required.
type Config struct {
	Env management.Env[Tx]
	// SiteURL is where people reach the server, for links in e-mails, such as
	// https://flags.example.com; without a slash at its end. It is required with a
	// Mailer: what a request says of the server must not come into mails.
	SiteURL string
	// Resolver asks the DNS for domains. Nil: no domain can be verified.
	Resolver Resolver
	// ChallengeHost is where a domain's TXT record stands, DefaultChallengeHost when
	// empty.
	ChallengeHost string
	// Mailer hands mails to a mail server. Nil: no mails are sent.
	Mailer Mailer
	// MailQueued is called when mails may have come into the outbox, for whoever calls
	// Service.DeliverMail. It must not block. May be nil.
	MailQueued func()
	// JobDone is told of mails that will not be sent. It may be called by several
	// goroutines. Nil: nobody is told.
	JobDone func(management.JobDone)
	// SessionIdle is how long a session of a browser lives without use, SessionLife how
	// long in all: DefaultSessionIdle and DefaultSessionLife when zero.
	SessionIdle, SessionLife time.Duration
	// Authenticators checks passkeys. Nil: nobody signs in with one.
	Authenticators Authenticators
	// Provider signs people in with OpenID Connect. Nil: nobody does.
	Provider Provider
	// SurveysRun reports whether a survey of a project is being shown, which browsers
	// are told. Nil: none ever is.
	SurveysRun func(tx management.Tx, project int64) (bool, error)
}

// core is what all resources share.
type core struct {
	Config
	roles management.Resource[Tx, storedRole, role]
	keys  management.Resource[Tx, ownKey, APIKey]
}

// organizationParent is the Parent of what belongs to organizations.
func organizationParent(scope *management.Scope) string { return scope.Organization.ID }

// view is a transaction of this room and in whose name it runs.
type view = management.View[Tx]

// Resolver asks the DNS.
type Resolver interface {
	// TXT returns the TXT records of a host, each as its first string. An error is
	// the same as none.
	TXT(ctx context.Context, host string) ([]string, error)
}

// Mail is one e-mail. ID is the same for each attempt to send it, so that a mail
// that comes twice can be known as such; HTML says the same as Text.
type Mail struct {
	ID, To, Subject, Text, HTML string
}

// Mailer hands mails to a mail server. An error that is ErrMailRejected means that
// the server will never take this mail; after any other one it is tried again.
type Mailer interface {
	Send(ctx context.Context, m Mail) error
}

// ErrPasskey is what does not hold in the answer of a browser.
var ErrPasskey = errors.New("the passkey does not hold")

// Site is what a browser signs for: the host of the address bar, without its port, and the
// origin, such as https://flags.example.com.
type Site struct{ Host, Origin string }

// PasskeyOwner is whose passkeys they are. Credentials are as Registered and Asserted gave
// them.
type PasskeyOwner struct {
	UUID, Email string
	Credentials []json.RawMessage
}

// Challenge is what a browser is asked: Options are for it, State is for who checks its
// answer, Text is in what it signs.
type Challenge struct {
	Text           string
	Options, State json.RawMessage
}

// Authenticators checks what authenticators sign (console.md §5.2). Errors about the answer
// of a browser are ErrPasskey.
type Authenticators interface {
	// BeginRegistration asks for a new passkey; Registered takes it.
	BeginRegistration(site Site, owner PasskeyOwner) (*Challenge, error)
	FinishRegistration(site Site, owner PasskeyOwner, state, answer json.RawMessage) (id string, credential json.RawMessage, err error)
	// BeginLogin asks for any passkey of the site; Answered says to which challenge an answer
	// is, and with which passkey; Asserted checks it, and returns the credential as it is
	// to be kept then.
	BeginLogin(site Site) (*Challenge, error)
	ReadAnswer(answer json.RawMessage) (challenge, id string, err error)
	FinishLogin(site Site, owner PasskeyOwner, state, answer json.RawMessage) (json.RawMessage, error)
}

func unauthenticated(text string) error {
	return &management.Error{Kind: management.Unauthenticated, Code: "authentication_failed", Message: strings.TrimSpace(text)}
}

// Identity is whom a provider has signed in.
type Identity struct {
	Issuer, Subject string
	// Email is empty where the provider says none; Verified: it is known to be theirs.
	Email    string
	Verified bool
	Name     string
}

// ErrProvider is that a provider of OpenID Connect does not answer, or not as it should.
var ErrProvider = errors.New("the provider does not answer as it should")

// Provider is a provider of OpenID Connect (console.md §5.2). Errors are ErrProvider.
type Provider interface {
	// Name is what people call it.
	Name() string
	// Begin is where a browser is sent, to come back to the address redirect with state.
	Begin(ctx context.Context, redirect, state, nonce, verifier string) (url string, err error)
	// Finish takes the code that the browser came back with. Issuer, audience, expiry and
	// nonce hold of what it returns.
	Finish(ctx context.Context, redirect, code, nonce, verifier string) (*Identity, error)
}
