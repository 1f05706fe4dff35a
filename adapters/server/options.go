package server

import (
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/management"
)

// DatabaseFile is the SQLite file in the data folder.
const DatabaseFile = "bunting.db"

const (
	// DefaultOwnerEmail is Options.OwnerEmail where it is empty.
	DefaultOwnerEmail = "owner@localhost"
	// defaultGrace is Options.Grace where it is zero.
	defaultGrace = 10 * time.Second
)

// Options say what a server runs with. The zero value is a server that has all parts,
// keeps everything in memory, makes a first project and listens nowhere. Errors and
// lines of the log name options as they are written in Go: Options.Data.
type Options struct {
	// Data is the folder of everything that is stored, made when it is missing. One
	// server uses it at a time. Without it and Database nothing is kept.
	Data string
	// Database is where everything is stored instead of in Data, such as
	// postgres://USER@HOST/NAME.
	Database string
	// Logger gets what an operator wants to know. Nil: nothing is logged.
	Logger *slog.Logger
	// Version of the program, for metrics.
	Version string
	// Without leaves parts out, such as Capture|Management for flags alone. With these
	// and Definitions, and without Data and Database, there is no store at all: what
	// experience continuity keeps, and counts of quotas, end with the process.
	Without Parts

	// Definitions are files with projects and flags, watched for changes.
	Definitions []string
	// APIKey, such as phc_shop, is the project key of a file that is a bare definitions
	// payload, and without Definitions that of the project which a first start makes. Empty:
	// one is made, see Server.Projects.
	APIKey string
	// OwnerEmail is who owns what the first start makes, or finds in Definitions:
	// DefaultOwnerEmail when empty.
	OwnerEmail string
	// OwnerKey is asked for that owner's personal key where there is to be one. Nil:
	// one is made, which Server.OwnerKey returns.
	OwnerKey func() (OwnerKey, error)
	// RetainDays is how many days events are kept; zero: for ever.
	RetainDays int

	// GeoIP is a City or Country database (.mmdb) that locates addresses, watched for
	// changes. StrictGeoIP locates only addresses that a trusted proxy vouches for.
	GeoIP       string
	StrictGeoIP bool
	// PosthogJS is a copy of posthog-js/dist that browsers load scripts from.
	PosthogJS string
	// TrustedProxies may speak for a client's address; nil: loopback and private networks.
	TrustedProxies []netip.Prefix
	// ExportNetworks may be the target of batch exports, beside public addresses.
	ExportNetworks []netip.Prefix
	// MaxBody bounds the body of a flags request, in bytes: httpapi.DefaultMaxBody when zero.
	MaxBody int64
	// RateLimits of flags are off when zero; TokenRates are those of single project keys.
	RateLimits httpapi.RateLimits
	TokenRates map[string]httpapi.Rate
	// ManagementLimits are the default ones when nil, off when they point to a zero value.
	ManagementLimits *httpapi.ManagementLimits
	// Queries bound questions about events; zero members are the defaults, Workers
	// half of the cores.
	Queries queries.Limits
	// LogRequests says which requests are logged, httpapi.LogNoRequests when zero.
	LogRequests httpapi.RequestLog
	// NewID makes the ids of requests whose caller gives none: httpapi.Config.NewID.
	NewID func(*http.Request) string
	// Authenticate lets the program use its own sign-in for management: it says who
	// sends a request, by an e-mail address of a user of this server for example, and
	// what the caller may at most (management.Service.Admit). Nil, and where it returns
	// neither a caller nor an error: personal keys say so. An error is answered 401,
	// which does not tell it.
	Authenticate func(*http.Request) (*management.Caller, error)

	// Console serves /console, pages for people: adapters/console has one. Nil: there
	// is none.
	Console http.Handler

	// SignIn lets people sign in with a browser, for Console. Nil: there are keys and
	// Authenticate alone.
	SignIn *SignIn

	// SiteURL is where people reach the server, such as https://flags.example.com, for
	// links in mails. SMTP sends these.
	SiteURL string
	SMTP    SMTP
	// DNSResolver is asked for the TXT records of domains, HOST:PORT; empty: that of
	// the system. ChallengeHost stands before a domain in the record's name.
	DNSResolver   string
	ChallengeHost string

	// RolloutInterval is how often guarded rollouts are judged, 10 s to an hour: a minute
	// when zero.
	RolloutInterval time.Duration

	Stream Stream
	Shadow Shadow

	// Listen is the address that Run serves, HOST:PORT, taken by Open. Empty: none,
	// Handler is served by somebody else.
	Listen string
	TLS    TLS
	// Drain is how long Run goes on when it is to end, and /_readiness says 503, so
	// that a balancer sends no more. Then requests have Grace to end: 10 seconds
	// when zero.
	Drain, Grace time.Duration
}

// SignIn says how long sessions of browsers live, and what they may.
type SignIn struct {
	// Idle is how long one lives without use, Life how long in all: 12 hours and 30 days
	// when zero.
	Idle, Life time.Duration
	// ReadOnly sessions change nothing.
	ReadOnly bool
	// OIDC is a provider of OpenID Connect that people sign in with.
	OIDC OIDC
}

// OIDC is a provider of OpenID Connect. It sends browsers back to
// /api/session/oidc/sso/callback.
type OIDC struct {
	// Issuer is its address, such as https://accounts.example.com. Empty: there is none.
	Issuer string
	// ClientID is what the provider knows the server by, ClientSecretFile has the secret
	// that goes with it.
	ClientID, ClientSecretFile string
	// Name is what people call it; empty: the host of Issuer.
	Name string
}

// OwnerKey is the first personal key of an owner.
type OwnerKey struct {
	// Text is the key; empty: one is made.
	Text string
	// Show brings the key to its owner before it is committed: what it cannot show is
	// not made, and the next start is a first one again.
	Show func(key string) error
}

// SMTP is the server for mails.
type SMTP struct {
	// URL is smtp://USER@HOST:PORT (STARTTLS), smtps:// (TLS) or smtp+plain:// (not
	// encrypted). Empty: no mails are sent.
	URL string
	// PasswordFile has the password of the user, where it does not stand in URL.
	PasswordFile string
	// From is the sender, such as Bunting <bunting@example.com>.
	From string
}

// Stream is a JetStream that takes events in front of the database.
type Stream struct {
	// URL is nats://HOST:PORT, several with commas between them. Empty: there is none.
	URL string
	// Creds is a file with credentials; empty: none are needed.
	Creds string
	// Replicas are the brokers that keep each event, MaxBytes is how much may wait until
	// events are refused. Zero leaves an existing stream as it is.
	Replicas int
	MaxBytes int64
}

// Shadow is another service that speaks the same wire, to be compared with.
type Shadow struct {
	// Upstream is its address. Nil: there is none.
	Upstream *url.URL
	// UpstreamAnswers: the other service answers, and this one only where that does not.
	UpstreamAnswers bool
	// Sample is the share of flag requests that are compared, above 0 to 1; 1 when zero.
	Sample float64
	// Report is the file of the report; empty: shadow.json in the data folder, or in the
	// working directory without one.
	Report string
}

// TLS are files in PEM: certificates, the server's own first, and their private
// key. Both empty: plain HTTP.
type TLS struct{ Cert, Key string }

// DatabaseURL is where everything is stored.
func (o *Options) DatabaseURL() string {
	switch {
	case o.Database != "":
		return o.Database
	case o.Data == "":
		return "sqlite::memory:"
	}
	return "sqlite:" + filepath.Join(o.Data, DatabaseFile)
}

// withDefaults fills in what is not given.
func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.OwnerEmail == "" {
		o.OwnerEmail = DefaultOwnerEmail
	}
	if o.ManagementLimits == nil {
		limits := httpapi.DefaultManagementLimits()
		o.ManagementLimits = &limits
	}
	if o.Shadow.Sample == 0 {
		o.Shadow.Sample = 1
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	return o
}

// Parts of a server, for Options.Without. What is left out is not opened: it has no
// routes, no goroutines, and asks the database nothing.
type Parts uint8

const (
	// Flags are the routes that answer flags. Decider and Reader stay.
	Flags Parts = 1 << iota
	// Capture takes in events and reads them back, and deletes old ones.
	Capture
	// Management is everything that people manage: its API, changes of flags at a time,
	// mails, and the two that follow.
	Management
	// Exports write events and persons to other places.
	Exports
	// ErrorTracking makes issues of captured exceptions.
	ErrorTracking
)

func (p Parts) has(some Parts) bool { return p&some == some }
