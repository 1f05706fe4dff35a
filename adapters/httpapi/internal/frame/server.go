package frame

import (
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/capture/queries"
	"github.com/bunting-flags/bunting/flags/serving"
	"github.com/bunting-flags/bunting/flags/wire"
	"github.com/bunting-flags/bunting/geoip"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Server has what the endpoints of all packages share. Its exported fields are those of Config.
type Server struct {
	Decider        *serving.Decider
	History        capture.History
	People         *capture.People
	Management     *rooms.Rooms
	Queries        *queries.Service
	Authenticate   func(*http.Request) (*management.Caller, error)
	SignIn         *BrowserSignIn
	TrustedProxies []netip.Prefix
	StrictGeoIP    bool
	MaxBody        int64
	Partial        bool
	Console        http.Handler
	Logger         *slog.Logger
	LogAll         bool // LogRequests is LogAllRequests
	LogFailed      bool // LogRequests is LogFailedRequests
	NewID          func(*http.Request) string
	Tracer         trace.Tracer // nil if there are no spans
	Propagator     propagation.TextMapPropagator

	Budget *admission.Budget
	Limits *admission.Management
	Usage  usageCounter

	panics       atomic.Uint64
	latencies    []*routeLatency // by route; does not change after the routes have been built
	unrouted     *routeLatency
	failureLines *rate.Limiter // limits the log lines of failed requests
	// unloggedFailures is the number of lines that were left out since the last line.
	unloggedFailures atomic.Uint64
}

// The headers with the addresses of a client, in the canonical form of net/http.
const (
	forwardedFor        = "X-Forwarded-For"
	forwardedForLiteral = "Http_x_forwarded_for" // HTTP_X_FORWARDED_FOR, as interface §4.4 prints it
)

// ClientIP returns the client's address for limits and events. It uses the forwarded address only
// if a trusted proxy has sent it. If the headers are not valid, it is the address of the peer.
func (s *Server) ClientIP(r *http.Request) netip.Addr {
	peer := geoip.ParseRemote(r.RemoteAddr)
	if ip := geoip.ClientIP(r.Header[forwardedFor], peer, s.TrustedProxies); ip.IsValid() {
		return ip
	}
	return peer
}

// LocatedIP returns the address to locate, and whether it is from a header.
func (s *Server) LocatedIP(r *http.Request) (netip.Addr, bool) {
	peer := geoip.ParseRemote(r.RemoteAddr)
	if s.StrictGeoIP {
		ip := geoip.ClientIP(r.Header[forwardedFor], peer, s.TrustedProxies)
		return ip, ip.IsValid() && ip != peer
	}
	return geoip.CallerIP(r.Header[forwardedFor], r.Header[forwardedForLiteral], peer)
}

// IsUUID reports whether s is a UUID in the form with 36 characters.
func IsUUID(s string) bool {
	_, ok := wire.ParseUUID(s)
	return ok && len(s) == 36
}

// Scheme returns the scheme of the request as the client sees it, which a trusted proxy may have
// sent in X-Forwarded-Proto.
func (s *Server) Scheme(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	if s.isTrusted(r) && strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		return "https"
	}
	return "http"
}

// isTrusted reports whether a request was sent by a trusted proxy.
func (s *Server) isTrusted(r *http.Request) bool {
	peer := geoip.ParseRemote(r.RemoteAddr).Unmap()
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(peer) })
}
