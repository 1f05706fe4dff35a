// Package httpapi serves Bunting over HTTP, with the wire formats of PostHog's SDKs and of
// OpenFeature's OFREP clients: flags, definitions for local evaluation, remote configuration, the
// capture of events, queries, and the management API.
//
// [New] returns an http.Handler that can be served directly or mounted in another router, chi's
// or net/http's, with or without a path prefix. A handler decodes a request,
// calls one method of a package such as management or capture, and encodes the result; the rules
// are in those packages. Everything that is served is an endpoint, a row of a table. tables.go puts
// the tables together: those for SDKs are in internal/sdk and internal/intake, those that read
// stored events in internal/history, those for signing in in internal/signin, those with queries in
// internal/results, and those of all other managed objects in internal/manage, in one file per
// resource. internal/frame finds the endpoint of a request, authenticates the caller and writes the
// response. internal/problem has the errors that several packages return; the others are in the
// packages that return them.
//
// The package limits the size of a request body (Config.MaxBody, MaxCaptureBody) and the depth of
// its JSON, the memory of all bodies together (Config.Budget, FlagsBudget), the number of tokens
// and addresses in rate limiters, and how slowly a body may arrive (16 KiB a second). It does not
// limit the duration of a request; use http.Server.ReadTimeout.
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/sdk"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/unpack"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// DefaultMaxBody is the value of Config.MaxBody if that is zero: 10 MiB, in bytes (§13.2 item 1).
const DefaultMaxBody = unpack.DefaultLimit

// Config configures the handler. It serves flags if there is a Decider, events if there is an
// Intake, and more if there are both. At least one of the two is required.
type Config struct {
	// Decider evaluates flags. If nil, the routes of flags, surveys and early access features are
	// not served.
	Decider *serving.Decider
	// Intake accepts events. If nil, the routes of capture are not served.
	Intake *capture.Intake
	// History reads stored events and persons, for authenticated callers of Management. If nil,
	// these routes are not served.
	History capture.History
	// People changes persons and groups without an event. If nil, they are read-only.
	People *capture.People
	// Management serves the management API. If nil, its routes are not served; if one of its
	// packages is nil, the routes of that package are not served. Its Service and a Decider are
	// required.
	Management *rooms.Rooms
	// Authenticate lets a service use its own sign-in for Management: it returns the caller of a
	// request. See management.Service.Admit for the callers that it may return. If Authenticate
	// is nil, or returns neither a caller nor an error, the request needs a personal key or a
	// session. If it returns an error, the response is 401 without the error, which is passed to
	// Logger. If a page of another site makes a browser send a request with side effects, the
	// response is 403.
	Authenticate func(*http.Request) (*management.Caller, error)
	// Queries runs queries of events, for authenticated callers of Management. If nil, its routes
	// are not served, and insights have no results.
	Queries *queries.Service
	// Backup returns a copy of all stored data. If nil, backups are not available.
	Backup func(context.Context) (*Backup, error)
	// Health returns the state of the server. If nil, it is not available.
	Health func(context.Context) *Health
	// ManagementLimits are the rate limits of Management. The zero value disables them.
	ManagementLimits ManagementLimits
	// Budget is the memory, in bytes, for the bodies of concurrent capture requests: as
	// received, unpacked and decoded. If it is used up, a body waits for up to 2 seconds, then
	// the response is 503. A quarter is reserved for small bodies, of at most a 64th of it. A
	// body that needs more than a quarter does not wait: the response is 503 if the memory is
	// not free. A body that is larger than three quarters is 413. All bodies from one address
	// may use at most a quarter, unless there is only one. If zero, it is 96 MiB.
	Budget int64
	// FlagsBudget is the budget of requests for flags, including OFREP. If zero, it is 48 MiB.
	FlagsBudget int64
	// MaxCaptureBody is the maximum size of a body with events as received, in bytes; unpacked it
	// may be five times as large. Session recordings and protocol v1 have other limits (§4.6 of
	// capture). If zero, it is 20 MiB.
	MaxCaptureBody int64
	// Keys finds the keys that may read definitions and remote configuration. If nil, no key may.
	Keys Keys
	// TrustedProxies are the proxies whose forwarded client address is used for rate limits and
	// for the $ip of events. If nil, they are loopback and private networks.
	TrustedProxies []netip.Prefix
	// StrictGeoIP locates only addresses that are forwarded by a trusted proxy. By default every
	// caller may send the address of its user, which affects only the response to that caller.
	StrictGeoIP bool
	// MaxBody is the maximum size of the body of a flags request in bytes, before and after
	// unpacking. If zero, it is DefaultMaxBody.
	MaxBody int64
	// RateLimits are the rate limits of requests for flags. The zero value disables them.
	RateLimits RateLimits
	// TokenRates replace RateLimits.Token for single project keys. There may be at most
	// MaxTokenRates. They have no effect if RateLimits is zero.
	TokenRates map[string]Rate
	// MaxStreams is the maximum number of open streams of definitions. Each uses a connection. If
	// zero, it is 20,000.
	MaxStreams int
	// MaxPublicStreams is the maximum number of open event streams of OFREP. Each uses a
	// connection. One client address, or one network /64 of IPv6, may have 100 of them. If zero, it
	// is 20,000.
	MaxPublicStreams int
	// Ready reports whether the server is ready. If the error is ErrDegraded, only flags are
	// served, and the status is still 200. If nil, the server is always ready.
	Ready func(context.Context) error
	// Partial reports that the rest of the server will be available later: the response for
	// routes that are not served is 503 instead of 404.
	Partial bool
	// PosthogJS serves the scripts of posthog-js. If nil, a script with a warning is served
	// instead.
	PosthogJS *PosthogJS
	// Metrics serves /metrics. If nil, the route is not served.
	Metrics http.Handler
	// Logger logs errors inside the server, and requests. If nil, there is no log.
	Logger *slog.Logger
	// LogRequests selects which requests are logged. If zero, it is LogNoRequests.
	LogRequests RequestLog
	// NewID returns the ids of requests without X-Request-Id, for example those of a middleware:
	// 1 to 128 letters, digits and -_.:/+=@. Responses with flags include the id if it is a UUID.
	// If NewID is nil, or the id is not valid, the id is a random UUID.
	NewID func(*http.Request) string
	// TracerProvider records a span for each request, with method, route, status and project, and
	// without any data of the client: no path, query, address, key or body. The parent of a span is
	// the span in the context of the request, for example of a middleware, otherwise the one that
	// Propagator finds in its headers. If nil, there are no spans.
	TracerProvider trace.TracerProvider
	// Propagator reads the headers of a trace. If nil, it reads traceparent of the W3C.
	Propagator propagation.TextMapPropagator
	// SignIn lets users sign in with a browser, which is then authenticated by a cookie. With
	// Authenticate, users cannot sign in here. If nil, there are only keys.
	SignIn *SignIn
	// Console serves /console and the paths below it, for example the handler of
	// adapters/console. Browsers that request the root are redirected to it. If nil, there is no
	// console.
	Console http.Handler
	// Extra adds routes: it maps a path, which begins with a slash, to its handler. It replaces
	// the route of a path that exists.
	Extra map[string]http.Handler
}

// Keys finds secret and personal API keys. It must be safe for concurrent use.
type Keys interface {
	// Key returns the permissions of a key. The error is flags.ErrUnknownKey if there is no such
	// key.
	Key(ctx context.Context, key string) (Key, error)
}

// Key has the permissions of a secret or personal key.
type Key struct {
	// Secret reports that this is a project's secret key, which needs no scopes.
	Secret bool
	// Scopes are the scopes of a personal key, such as feature_flag:read; "*" means all of them.
	Scopes []string
	// Projects are the API keys of the projects that the key may read.
	Projects []string
}

// keysOf returns the finder of keys for Config.Keys.
func keysOf(keys Keys) sdk.Keys {
	if keys == nil {
		return nil
	}
	return func(ctx context.Context, text string) (sdk.Key, error) {
		key, err := keys.Key(ctx, text)
		return sdk.Key(key), err
	}
}

// PosthogJS serves a local copy of npm's posthog-js/dist: the library of the HTML snippet, and
// the scripts that it loads on demand. It serves only scripts and source maps that are directly
// in the folder and have at most 8 MiB. Files are read for each request, so the copy may be
// replaced while the server runs. It may be used concurrently.
type PosthogJS struct{ scripts *sdk.Scripts }

// OpenPosthogJS opens a folder with a copy, for example package/dist of the archive from npm pack
// posthog-js. It returns an error if the folder does not exist or has no array.js. The caller
// must call Close.
func OpenPosthogJS(path string) (*PosthogJS, error) {
	files, err := sdk.OpenScripts(path)
	if err != nil {
		return nil, err
	}
	return &PosthogJS{files}, nil
}

// scriptsOf returns the files of Config.PosthogJS, or nil.
func scriptsOf(p *PosthogJS) *sdk.Scripts {
	if p == nil {
		return nil
	}
	return p.scripts
}

// Close closes the folder.
func (p *PosthogJS) Close() error { return p.scripts.Close() }

// SignIn configures how users sign in with a browser, and the permissions of their sessions
// (Config.SignIn).
type SignIn struct {
	// SiteURL is the public URL of the server, such as https://flags.example.com. If its scheme
	// is https, requests to its host count as sent over HTTPS. If empty, only TLS and the headers
	// of trusted proxies count.
	SiteURL string
	// ReadOnly restricts sessions to reading. Endpoints with a write scope respond with 403.
	ReadOnly bool
	// Version is the version of the program, which pages display.
	Version string
	// Docs reports whether the documentation is at /docs/, for example by Config.Extra. Pages then
	// link to it.
	Docs bool
}

// RequestLog selects which requests are logged. If there is a Logger, every mode logs failed
// authentication (401), at most errorLines per second.
type RequestLog uint8

const (
	// LogNoRequests logs only failed authentication.
	LogNoRequests RequestLog = iota
	// LogFailedRequests logs responses with status 400 or above, at most errorLines per second.
	// The next line reports how many were left out.
	LogFailedRequests
	// LogAllRequests logs every request.
	LogAllRequests
)

// ErrDegraded is the error of Config.Ready if flags are served, but other routes may fail.
var ErrDegraded = errors.New("degraded")
