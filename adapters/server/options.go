package server

import (
	"cmp"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/adapters/httpapi"
	"github.com/bunting-flags/bunting/adapters/internal/memory"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/management"
)

// DatabaseFile is the name of the SQLite file in the data folder.
const DatabaseFile = "bunting.db"

const (
	// DefaultOwnerEmail is the default of Options.OwnerEmail.
	DefaultOwnerEmail = "owner@localhost"
	// defaultGrace is the default of Options.Grace.
	defaultGrace = 10 * time.Second
	// defaultSegmentsAfter is the default of Options.SegmentsAfter.
	defaultSegmentsAfter = 24 * time.Hour
)

// Options configure a server. The zero value is a server that has all parts, stores all data in
// memory, creates a first project and does not listen on an address. Errors and log messages use
// the Go names of options, such as Options.Data.
type Options struct {
	// Data is the folder for all stored data, created if it is missing. Only one server may use it
	// at a time. If Data and Database are empty, data is stored in memory only.
	Data string
	// Database is a database to store data in instead of Data, such as postgres://USER@HOST/NAME.
	Database string
	// Segments is a folder, created if it is missing, for Parquet files with older events, which are
	// then no longer in the database, or s3://BUCKET/PREFIX as in Backup. Servers that share a database need the
	// same one. If empty, all events stay in the database. A database with events in such files must be opened
	// with their folder.
	Segments string
	// SegmentsAfter is the age of an event from which it is in such a file at the latest, by default a
	// day. Events are written into files earlier when there are tens of thousands of a project.
	SegmentsAfter time.Duration
	// Logger receives messages for operators. If nil, nothing is logged.
	Logger *slog.Logger
	// Version is the version of the program, for metrics.
	Version string
	// Without omits parts, for example Capture|Management for flags only. With these and
	// Definitions, and without Data and Database, there is no store: the data of experience
	// continuity and the counts of quotas end with the process.
	Without Parts

	// Definitions are files with projects and flags, watched for changes.
	Definitions []string
	// APIKey, such as phc_shop, is the project key of a file that is a bare definitions payload.
	// Without Definitions it is the key of the project that a first start creates. If empty, a key
	// is generated; see Server.Projects.
	APIKey string
	// OwnerEmail is the owner of the project that the first start creates, or of the projects in
	// Definitions, by default DefaultOwnerEmail.
	OwnerEmail string
	// OwnerKey is called for that owner's personal key when it is to be created. If nil, a key is
	// generated, which Server.OwnerKey returns.
	OwnerKey func() (OwnerKey, error)
	// OnListen, if not nil, is called with the address that Run serves, before OwnerKey.
	OnListen func(net.Addr)
	// Memory is how much memory the process needs at most, about, in bytes: 256 MiB or more, and no more than the
	// machine has; by default 256 MiB. The caches and the limits of queries are in proportion to it. Open does not limit
	// Go's heap: a program may do so with runtime/debug.SetMemoryLimit, for example to five eighths of Memory.
	Memory int64
	// RetainDays is the number of days after which events are deleted. If zero, they are never
	// deleted.
	RetainDays int

	// GeoIP is a City or Country database (.mmdb) that locates addresses, watched for changes.
	// StrictGeoIP locates only addresses that come from a trusted proxy.
	GeoIP       string
	StrictGeoIP bool
	// PosthogJS is a copy of posthog-js/dist from which browsers load scripts.
	PosthogJS string
	// TrustedProxies may forward a client's address; by default loopback and private networks.
	TrustedProxies []netip.Prefix
	// ExportNetworks are allowed as targets of batch exports and webhooks, in addition to public
	// addresses. Webhooks may use http only there.
	ExportNetworks []netip.Prefix
	// MaxBody is the maximum body of a flags request, in bytes, by default httpapi.DefaultMaxBody.
	MaxBody int64
	// RateLimits of flags are off if zero; TokenRates override them for single project keys.
	RateLimits httpapi.RateLimits
	TokenRates map[string]httpapi.Rate
	// ManagementLimits have defaults if nil, and are off if they point to a zero value.
	ManagementLimits *httpapi.ManagementLimits
	// Queries are the limits of queries over events. Zero fields have defaults: Queries.Memory is by default
	// Memory, Queries.MemoryTotal twice as much, and Queries.Workers half of the cores.
	Queries queries.Limits
	// LogRequests selects which requests are logged, by default httpapi.LogNoRequests.
	LogRequests httpapi.RequestLog
	// TracerProvider records spans of requests, queries, commits of events, backups, batch exports,
	// mails, webhooks and requests to the provider of OpenID Connect, without any data of clients:
	// see httpapi.Config.TracerProvider. Propagator reads the headers of a trace, by default
	// traceparent of the W3C. If TracerProvider is nil, there are no spans.
	TracerProvider trace.TracerProvider
	Propagator     propagation.TextMapPropagator
	// Registerer gets the metrics of the server, except those of the Go runtime and of the process,
	// until Close. /metrics has all of them in any case. With several servers in one process each
	// needs a prefix or the value of a label: see prometheus.WrapRegistererWith. If nil, the metrics are in no other registry.
	Registerer prometheus.Registerer
	// NewID returns the id of a request that has none: see httpapi.Config.NewID.
	NewID func(*http.Request) string
	// Authenticate lets the program use its own sign-in for management: it returns who sends a
	// request, for example by the e-mail address of a user of this server, and the maximum
	// permissions of the caller (management.Service.Admit). If it is nil, or returns neither a
	// caller nor an error, personal keys authenticate the request. If it returns an error, the
	// response is 401, without the error's text.
	Authenticate func(*http.Request) (*management.Caller, error)

	// Console serves /console, the web interface: package adapters/console has one. If nil, there
	// is no console.
	Console http.Handler

	// Docs serves /docs and the paths below it, for example the documentation of this server. If
	// nil, there are no such routes.
	Docs http.Handler

	// SignIn enables sign-in with a browser, for Console. If nil, there are only keys and
	// Authenticate.
	SignIn *SignIn

	// SiteURL is the public address of the server, such as https://flags.example.com, for links in
	// mails. SMTP sends these.
	SiteURL string
	SMTP    SMTP
	// DNSResolver is the DNS server that is queried for the TXT records of domains, HOST:PORT, by
	// default that of the system. ChallengeHost precedes a domain in the record's name.
	DNSResolver   string
	ChallengeHost string

	// RolloutInterval is how often guarded rollouts are evaluated, from 10 seconds to an hour, by
	// default a minute.
	RolloutInterval time.Duration

	Stream Stream
	Shadow Shadow

	// Backup is where backups of the SQLite file are written: a folder, or
	// s3://BUCKET/PREFIX with the parameters endpoint and region. If empty, there are none.
	// BackupInterval is the time between two, at least a minute and by default an hour, and
	// BackupKeep how long one is kept, by default seven days. BackupKey is a file with keys of
	// age that encrypt them; if empty, they are not encrypted.
	Backup                     string
	BackupInterval, BackupKeep time.Duration
	BackupKey                  string

	// Listen is the address that Run serves, HOST:PORT. Open binds it. If empty, Run is not
	// available, and the program serves Handler.
	Listen string
	TLS    TLS
	// Drain is how long Run continues after its context ends. Meanwhile /_readiness is 503, so that
	// load balancers stop sending requests. Then requests in progress have Grace to finish, by
	// default 10 seconds.
	Drain, Grace time.Duration
}

// SignIn configures the sessions of browsers.
type SignIn struct {
	// Idle is how long a session lasts without use, Life how long in total, by default 12 hours and
	// 30 days.
	Idle, Life time.Duration
	// ReadOnly sessions cannot change anything.
	ReadOnly bool
	// OIDC is a provider of OpenID Connect with which people sign in.
	OIDC OIDC
}

// OIDC is a provider of OpenID Connect. It redirects browsers to /api/session/oidc/sso/callback.
type OIDC struct {
	// Issuer is its address, such as https://accounts.example.com. If empty, there is no provider.
	Issuer string
	// ClientID identifies the server to the provider; ClientSecretFile is the file with its secret.
	ClientID, ClientSecretFile string
	// Name is the name that people see, by default the host of Issuer.
	Name string
}

// OwnerKey is the first personal key of an owner.
type OwnerKey struct {
	// Text is the key. If empty, one is generated.
	Text string
	// Show passes the key to its owner before it is committed. If Show fails, the key is not
	// created, and the next start is again a first one.
	Show func(key string) error
}

// SMTP is the server for mails.
type SMTP struct {
	// URL is smtp://USER@HOST:PORT (STARTTLS), smtps:// (TLS) or smtp+plain:// (not encrypted). If
	// empty, no mails are sent.
	URL string
	// PasswordFile is the file with the user's password, if it is not in URL.
	PasswordFile string
	// From is the sender, such as Bunting <bunting@example.com>.
	From string
}

// Stream is a JetStream that buffers events in front of the database.
type Stream struct {
	// URL is nats://HOST:PORT, several separated by commas. If empty, there is no stream.
	URL string
	// Creds is a file with credentials. If empty, the connection has no credentials.
	Creds string
	// Replicas is the number of brokers that store each event: 1, 3 or 5. MaxBytes is the size of the
	// stream at which further events are rejected. Zero leaves an existing stream unchanged.
	Replicas int
	MaxBytes int64
}

// Shadow is another service with the same protocol with which responses are compared.
type Shadow struct {
	// Upstream is its address. If nil, there is no comparison.
	Upstream *url.URL
	// UpstreamAnswers makes clients receive the upstream's responses, and this server's only if the
	// upstream fails.
	UpstreamAnswers bool
	// Sample is the share of flag requests that are compared, above 0 and at most 1, by default 1.
	Sample float64
	// Report is the file of the report, by default shadow.json in the data folder or, without one,
	// in the working directory.
	Report string
}

// TLS configures HTTPS. If it is zero, Run serves plain HTTP.
type TLS struct {
	// Cert and Key are files in PEM: certificates, the server's own first, and their private key.
	Cert, Key string
	// Domains are the names for which the server obtains a certificate by ACME instead, and renews
	// it. By listing them the operator agrees to the terms of the authority. The certificate is
	// stored in Options.Data.
	Domains []string
	// Directory is the authority, by default Let's Encrypt. Email is an address for its warnings,
	// which may be empty.
	Directory, Email string
	// HTTP is an address, HOST:PORT, on which the server answers the authority, and redirects all
	// other requests to HTTPS. Port 80 of the domains must lead to it. If it is empty, the server
	// answers on Options.Listen, to which port 443 of the domains must lead.
	HTTP string
}

// DatabaseURL returns the address of the database, with SQLite as the default.
func (o *Options) DatabaseURL() string {
	switch {
	case o.Database != "":
		return o.Database
	case o.Data == "":
		return "sqlite::memory:"
	}
	return "sqlite:" + filepath.Join(o.Data, DatabaseFile)
}

// withDefaults returns a copy with defaults for zero fields.
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
	if o.BackupInterval == 0 {
		o.BackupInterval = time.Hour
	}
	if o.BackupKeep == 0 {
		o.BackupKeep = 7 * 24 * time.Hour
	}
	shares := memory.Of(o.Memory)
	o.Queries.Memory, o.Queries.MemoryTotal = cmp.Or(o.Queries.Memory, shares.Query), cmp.Or(o.Queries.MemoryTotal, shares.Queries)
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	return o
}

// Parts are parts of a server, for Options.Without. An omitted part is not opened: it has no routes
// and no goroutines, and sends no queries to the database.
type Parts uint8

const (
	// Flags are the routes that evaluate flags. Without it, Decider and Reader are still available.
	Flags Parts = 1 << iota
	// Capture accepts and reads events, and deletes old ones.
	Capture
	// Management is the management API, with scheduled changes of flags, mails, and the two parts
	// below.
	Management
	// Exports write events and persons to other services.
	Exports
	// ErrorTracking creates issues of captured exceptions.
	ErrorTracking
)

func (p Parts) has(some Parts) bool { return p&some == some }
