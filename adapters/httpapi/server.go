// Package httpapi serves Bunting over HTTP as PostHog's SDKs expect it: flags,
// definitions for local evaluation, remote configuration, and the intake of
// events; and flags as OpenFeature's OFREP clients do.
//
// [New] returns an http.Handler that can be served alone or mounted in another
// router, chi's or net/http's, with or without a path prefix. A handler here
// decodes, calls one method of a room of ideas, and encodes; rules live there.
// Everything that is served is an endpoint, a row of a table: what SDKs ask for
// stands in routes.go, ofrep.go and capture.go, what is read back in historyroutes.go, what
// is managed in a file a resource. area.go makes routes of them, frame.go lets callers
// in and answers, rows.go has the rows that only hand over to a method. errors.go,
// ofreperrors.go and captureerrors.go have the tables of errors.
//
// Bounds: a request body (Config.MaxBody, MaxCaptureBody) and the depth of its
// JSON, the memory of all bodies together (Config.Budget, FlagsBudget), the number of
// rate-limited tokens and addresses that are remembered, how slowly a body may
// arrive (16 KiB a second). How long it may take in all is the server's to bound
// (http.Server.ReadTimeout).
package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// DefaultMaxBody is Config.MaxBody where that is zero: 10 MiB, in bytes
// (§13.2 item 1).
const DefaultMaxBody = 10 << 20

// Config says what the handler serves: flags with a Decider, events with an Intake,
// and more with both. One of the two is required.
type Config struct {
	// Decider decides flags. Nil leaves the routes of flags out, those of surveys and
	// early access too.
	Decider *flags.Decider
	// Intake takes events in. Nil leaves the routes of capture out.
	Intake *capture.Intake
	// History reads back what was taken in, for callers whom Management knows. Nil
	// leaves these routes out.
	History capture.History
	// People changes people and groups where no event does. Nil: nothing can be changed.
	People *capture.People
	// Management serves everything that people manage. Nil leaves these routes out, and a
	// room of it that is nil those of the room; its Service and a Decider are required.
	Management *rooms.Rooms
	// Authenticate lets a service use its own sign-in for Management: it says who sends
	// a request, see management.Service.Admit for what it may say. Nil, and what it
	// answers with neither a caller nor an error, leave that to personal keys. With an
	// error the request is answered 401, which does not tell the error; Logger gets it.
	// A browser that another site has brought here to change something is answered 403.
	Authenticate func(*http.Request) (*management.Caller, error)
	// Queries answers questions about events, for callers whom Management knows. Nil
	// leaves these routes out, and insights without results.
	Queries *queries.Service
	// Backup takes a copy of everything that is stored. Nil: there is none to be had.
	Backup func(context.Context) (*Backup, error)
	// Health says how the server is. Nil: nobody watches it.
	Health func(context.Context) *Health
	// ManagementLimits are off when zero.
	ManagementLimits ManagementLimits
	// Budget bounds the bodies of capture requests that are in memory at once, as
	// sent, unpacked and decoded, in bytes. Over it a body waits for up to 2 seconds, then it
	// is refused with 503. A quarter is for small bodies, of at most a 64th of it; a
	// body that holds more than a quarter gets what is free at once, or 503, and one that
	// is larger than three quarters is 413. What arrives from one address holds at most
	// a quarter, but for one body. 96 MiB when zero.
	Budget int64
	// FlagsBudget does the same for requests for flags, those of OFREP too.
	// 48 MiB when zero.
	FlagsBudget int64
	// MaxCaptureBody bounds one body of events as it is sent, in bytes; unpacked it
	// may have five times as many. Session recordings and protocol v1 have limits
	// of their own (§4.6 of capture). 20 MiB when zero.
	MaxCaptureBody int64
	// Keys knows the keys that may read definitions and remote configuration.
	// Nil: nobody may.
	Keys Keys
	// TrustedProxies may speak for a client's address where that protects the
	// server (rate limits) or is stored (the $ip of events). Nil: loopback and private networks.
	TrustedProxies []netip.Prefix
	// StrictGeoIP locates only addresses that a trusted proxy vouches for. By
	// default every caller may name its user's address, which changes only what
	// that caller is told.
	StrictGeoIP bool
	// MaxBody bounds the body of a flags request in bytes, before and after unpacking.
	// DefaultMaxBody when zero.
	MaxBody int64
	// RateLimits are off when zero.
	RateLimits RateLimits
	// TokenRates replace RateLimits.Token for single project keys, at most
	// MaxTokenRates. They do nothing while RateLimits are off.
	TokenRates map[string]Rate
	// MaxStreams bounds the streams of definitions that are open at once, each of
	// which holds a connection. 20,000 when zero.
	MaxStreams int
	// MaxPublicStreams bounds the event streams of OFREP that are open at once, each
	// of which holds a connection; one client address may have MaxAddressStreams of
	// them. 20,000 when zero.
	MaxPublicStreams int
	// Ready says whether the server can answer. An error that is ErrDegraded: flags
	// alone, which is told with 200. Nil: always.
	Ready func(context.Context) error
	// Partial: what is not served here is served later, when the rest of the server
	// has been opened: it is answered 503, not 404.
	Partial bool
	// PosthogJS serves the scripts of posthog-js. Nil: they answer that they are not
	// there, and what to do.
	PosthogJS *PosthogJS
	// Metrics serves /metrics. Nil leaves the route out.
	Metrics http.Handler
	// Logger gets what goes wrong inside. Nil: nothing is logged.
	Logger *slog.Logger
	// LogRequests says which requests are logged, LogNoRequests when zero.
	LogRequests RequestLog
	// NewID makes the ids of requests whose caller gives none in X-Request-Id, such as
	// those that a middleware has made: 1 to 128 letters, digits and -_.:/+=@. An answer
	// to flags has it where it is a UUID. Nil, or another text: a random UUID.
	NewID func(*http.Request) string
	// SignIn lets people sign in with a browser, which Management then knows by a cookie.
	// With Authenticate nobody signs in here. Nil: there are keys alone.
	SignIn *SignIn
	// Console serves /console and what is below it, pages for people: adapters/console
	// has one. A browser that asks for the root is sent there. Nil: there is none.
	Console http.Handler
	// Extra adds routes: path, which begins with a slash, to handler. A path of
	// the table of routes is taken over.
	Extra map[string]http.Handler
}

// Keys looks secret and personal API keys up.
type Keys interface {
	// Key returns what a key opens, flags.ErrUnknownKey when there is no such key.
	Key(ctx context.Context, key string) (Key, error)
}

// Key is what a secret or personal key opens.
type Key struct {
	// Secret is a project's secret key, which needs no scopes.
	Secret bool
	// Scopes of a personal key, such as feature_flag:read; "*" is all of them.
	Scopes []string
	// Projects are the API keys of the projects that the key opens.
	Projects []string
}

// ErrDegraded is for Config.Ready: flags are answered, other things may not be.
var ErrDegraded = errors.New("degraded")

type server struct {
	Config
	limits       *limiters
	manageLimits *managementLimiters
	budget       *budget
	flagsBudget  *budget
	scratch      sync.Pool // of *scratch: the memory of one flags request
	stats        counters
	usage        usageCounter
	evaluations  evaluationCounter
	latencies    []*routeLatency // by route; not changed once the routes stand
	unrouted     *routeLatency
	failureLines *rate.Limiter // bounds the lines of requests that fail
	// unloggedFailures are those that were left out since the last line.
	unloggedFailures atomic.Uint64
	streams          *streams
	sharedSlots      chan struct{} // holds one for each shared dashboard that is being shown
	renewals         renewals
	copying          atomic.Bool // a backup is being sent

	describeOnce   sync.Once
	description    []byte // in OpenAPI 3.1
	description30  []byte
	descriptionErr error
}

// clientIP is the address that limits count and events keep, by the strict
// reading. Garbage in the headers counts as the peer itself.
func (s *server) clientIP(r *http.Request) netip.Addr {
	peer := geoip.ParseRemote(r.RemoteAddr)
	if ip := geoip.ClientIP(r.Header[geoip.HeaderForwardedFor], peer, s.TrustedProxies); ip.IsValid() {
		return ip
	}
	return peer
}

// locatedIP is the address to locate, and whether a header names it.
func (s *server) locatedIP(r *http.Request) (netip.Addr, bool) {
	peer := geoip.ParseRemote(r.RemoteAddr)
	if s.StrictGeoIP {
		ip := geoip.ClientIP(r.Header[geoip.HeaderForwardedFor], peer, s.TrustedProxies)
		return ip, ip.IsValid() && ip != peer
	}
	return geoip.CallerIP(r.Header[geoip.HeaderForwardedFor], r.Header[geoip.HeaderLiteral], peer)
}

// isUUID accepts the 36-character form.
func isUUID(s string) bool {
	_, ok := wire.ParseUUID(s)
	return ok && len(s) == 36
}

// Handler serves the surface. It may be mounted anywhere: below a pattern of net/http
// that ends with a slash or {rest...}, with chi's Mount or Handle, or in any router with
// http.StripPrefix. What it says of its own addresses has the prefix.
type Handler struct {
	routed http.Handler
	server *server
}

func (h *Handler) isReady() bool { return h != nil && h.server != nil }
