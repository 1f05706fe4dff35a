package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/propagation"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/intake"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/results"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/sdk"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/geoip"
)

// Handler serves the API. It may be mounted anywhere: below a pattern of net/http that ends with
// a slash or {rest...}, with chi's Mount or Handle, or in any router with http.StripPrefix. URLs
// in responses include the prefix. It may be used concurrently.
type Handler struct {
	routed  http.Handler
	table   []frame.Endpoint // for the description of the API
	server  *frame.Server
	streams *streams.Streams
	sdk     *sdk.Service
	intake  *intake.Service
	shared  results.Slots

	flagsBudget *admission.Budget
	rateLimited atomic.Uint64 // requests over a rate limit
	mistakes    atomic.Uint64 // errors that pages of the console have reported
}

func (h *Handler) isReady() bool { return h != nil && h.server != nil }

// New returns a Handler for the configuration. It returns an error if c has neither a Decider nor
// an Intake, if c.Management lacks what it requires, if there are more than MaxTokenRates
// TokenRates, or if an entry of Extra is not a valid route. Limits that are zero or negative get
// their defaults.
func New(c Config) (*Handler, error) {
	if c.Decider == nil && c.Intake == nil {
		return nil, errors.New("httpapi: Config.Decider is required for flags, Config.Intake for events: there is neither")
	}
	if c.Decider == nil && c.Management != nil {
		return nil, errors.New("httpapi: Config.Management needs Config.Decider")
	}
	if c.Management != nil && c.Management.Service == nil {
		return nil, errors.New("httpapi: Config.Management.Service is required")
	}
	if len(c.TokenRates) > MaxTokenRates {
		return nil, fmt.Errorf("httpapi: Config.TokenRates has %d keys, at most %d may have a rate of their own", len(c.TokenRates), MaxTokenRates)
	}
	for path, h := range c.Extra {
		if !strings.HasPrefix(path, "/") || h == nil {
			return nil, fmt.Errorf("httpapi: Config.Extra[%q]: want a path that begins with a slash, and a handler", path)
		}
	}
	c.MaxBody = cmp.Or(max(c.MaxBody, 0), DefaultMaxBody)
	c.MaxCaptureBody = cmp.Or(max(c.MaxCaptureBody, 0), intake.DefaultMaxCaptureBody)
	c.MaxStreams = cmp.Or(max(c.MaxStreams, 0), streams.DefaultMaxStreams)
	c.MaxPublicStreams = cmp.Or(max(c.MaxPublicStreams, 0), streams.DefaultMaxPublicStreams)
	if c.TrustedProxies == nil {
		c.TrustedProxies = geoip.DefaultTrusted()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = slog.New(frame.WithRequestID{Handler: c.Logger.Handler()})
	h := &Handler{shared: results.NewSlots(), flagsBudget: admission.NewFlagsBudget(c.FlagsBudget)}
	s := &frame.Server{
		Decider: c.Decider, History: c.History, People: c.People, Management: c.Management, Queries: c.Queries, Authenticate: c.Authenticate, SignIn: (*frame.BrowserSignIn)(c.SignIn),
		TrustedProxies: c.TrustedProxies, StrictGeoIP: c.StrictGeoIP, MaxBody: c.MaxBody, Partial: c.Partial, Console: c.Console, NewID: c.NewID,
		Logger: c.Logger, LogAll: c.LogRequests == LogAllRequests, LogFailed: c.LogRequests == LogFailedRequests,
		Budget: admission.NewBudget(c.Budget, admission.DefaultBudget),
	}
	if c.TracerProvider != nil {
		s.Tracer, s.Propagator = c.TracerProvider.Tracer("github.com/bunting-flags/bunting/adapters/httpapi"), c.Propagator
		if s.Propagator == nil {
			s.Propagator = propagation.TraceContext{}
		}
	}
	s.Limits = admission.NewManagement(c.ManagementLimits.windows(), s, &h.rateLimited)
	access := sdk.NewAccess(s, keysOf(c.Keys))
	h.server, h.streams = s, streams.New(s, access, c.MaxStreams, c.MaxPublicStreams)
	h.sdk = sdk.New(s, access, h.streams, admission.NewLimiters(c.RateLimits.rates(), ratesOf(c.TokenRates), &h.rateLimited, c.Logger), h.flagsBudget, scriptsOf(c.PosthogJS))
	h.intake = intake.New(s, c.Intake, c.MaxCaptureBody)
	h.table = h.tables(&c)
	h.routed = s.Observe(s.Router(h.table, c.Metrics, c.Extra))
	return h, nil
}

// ServeHTTP implements http.Handler. A nil Handler, or one that New has not returned, responds with
// 503.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.isReady() {
		http.Error(w, "there is no handler: see httpapi.New", http.StatusServiceUnavailable)
		return
	}
	h.routed.ServeHTTP(w, r)
}

// Stats returns totals since the handler was created, and current values. It may be called
// concurrently. It returns zeros for a nil Handler.
func (h *Handler) Stats() Stats {
	if !h.isReady() {
		return Stats{}
	}
	open, events := h.streams.Counts()
	publicOpen, publicEvents := h.streams.PublicCounts()
	requests, rejected := h.intake.Counts()
	return Stats{
		Panics: h.server.PanicCount(), RateLimited: h.rateLimited.Load(), ConsoleMistakes: h.mistakes.Load(),
		CaptureRequests: requests, CaptureRefused: rejected,
		BudgetInUse: h.server.Budget.InUse(), BudgetRefused: h.server.Budget.Rejected(),
		FlagsInUse: h.flagsBudget.InUse(), FlagsRefused: h.flagsBudget.Rejected(),
		Streams: open, StreamEvents: events, StreamsDropped: h.streams.DroppedCount(),
		PublicStreams: publicOpen, PublicStreamEvents: publicEvents, PublicStreamsRefused: h.streams.RejectedCount(),
	}
}

// Stats are counts that only this package can determine.
type Stats struct {
	// Panics is the number of panics in handlers, each of which resulted in a 500 response.
	Panics uint64
	// RateLimited is the number of requests over a rate limit, whether they were rejected or only
	// logged.
	RateLimited uint64
	// ConsoleMistakes is the number of errors that pages of the console have reported.
	ConsoleMistakes uint64
	// CaptureRequests is the number of requests with events or recordings; CaptureRefused is how
	// many of them resulted in an error.
	CaptureRequests, CaptureRefused uint64
	// BudgetInUse is the number of bytes of Config.Budget that are reserved now. BudgetRefused is
	// the number of bodies that were rejected for lack of memory.
	BudgetInUse, BudgetRefused uint64
	// FlagsInUse and FlagsRefused are the same for Config.FlagsBudget.
	FlagsInUse, FlagsRefused uint64
	// Streams is the number of open streams of definitions. StreamEvents is the number of
	// definitions sent over them. StreamsDropped is the number of streams of all kinds that were
	// closed because the client was too slow.
	Streams, StreamEvents, StreamsDropped uint64
	// PublicStreams is the number of open streams of OFREP. PublicStreamEvents is the number of
	// events sent over them. PublicStreamsRefused is the number of streams rejected because of a
	// limit.
	PublicStreams, PublicStreamEvents, PublicStreamsRefused uint64
}
