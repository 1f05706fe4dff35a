package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"golang.org/x/time/rate"

	"github.com/bunting-flags/bunting/geoip"
)

// New makes the handler. It fails without a Decider and an Intake, with more than
// MaxTokenRates TokenRates, and where a route of Extra cannot be one.
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
	c.MaxCaptureBody = cmp.Or(max(c.MaxCaptureBody, 0), defaultMaxCaptureBody)
	c.MaxStreams = cmp.Or(max(c.MaxStreams, 0), defaultMaxStreams)
	c.MaxPublicStreams = cmp.Or(max(c.MaxPublicStreams, 0), defaultMaxPublicStreams)
	if c.TrustedProxies == nil {
		c.TrustedProxies = geoip.DefaultTrusted()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Logger = slog.New(withRequestID{c.Logger.Handler()})
	s := &server{
		Config: c, limits: newLimiters(c.RateLimits, c.TokenRates), budget: newBudget(c.Budget, defaultBudget), flagsBudget: newBudget(c.FlagsBudget, defaultFlagsBudget),
		manageLimits: newManagementLimiters(c.ManagementLimits), sharedSlots: make(chan struct{}, sharedAtOnce),
	}
	s.flagsBudget.maxServed = 1 // long bodies are rare there, and answers wanted at once
	s.streams = newStreams(s)
	s.scratch.New = func() any { return &scratch{} }
	s.unrouted = s.measure(unroutedName)
	s.failureLines = rate.NewLimiter(errorLines, errorLinesAtOnce)
	return &Handler{s.observe(s.router()), s}, nil
}

// ServeHTTP implements http.Handler. Nil, and a Handler that New has not made, answer 503.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.isReady() {
		http.Error(w, "there is no handler: see httpapi.New", http.StatusServiceUnavailable)
		return
	}
	h.routed.ServeHTTP(w, r)
}

// Stats returns totals since the start, and what is in use now.
func (h *Handler) Stats() Stats {
	if !h.isReady() {
		return Stats{}
	}
	s := h.server
	return Stats{
		Panics: s.stats.panics.Load(), RateLimited: s.stats.rateLimited.Load(), ConsoleMistakes: s.stats.mistakes.Load(),
		CaptureRequests: s.stats.captureRequests.Load(), CaptureRefused: s.stats.captureRefused.Load(),
		BudgetInUse: s.budget.inUse(), BudgetRefused: s.budget.rejections.Load(),
		FlagsInUse: s.flagsBudget.inUse(), FlagsRefused: s.flagsBudget.rejections.Load(),
		Streams: uint64(max(s.streams.definitions.open.Load(), 0)), StreamEvents: s.streams.definitions.events.Load(), StreamsDropped: s.streams.dropped.Load(),
		PublicStreams: uint64(max(s.streams.changes.open.Load(), 0)), PublicStreamEvents: s.streams.changes.events.Load(), PublicStreamsRefused: s.streams.addressSlots.refusals.Load(),
	}
}

// Stats are what the adapter alone sees.
type Stats struct {
	// Panics are mistakes of ours that were answered with 500.
	Panics uint64
	// RateLimited requests were over a limit, refused or only logged.
	RateLimited uint64
	// ConsoleMistakes were reported by pages of the console.
	ConsoleMistakes uint64
	// CaptureRequests brought events or recordings; CaptureRefused of them were
	// answered with an error.
	CaptureRequests, CaptureRefused uint64
	// BudgetInUse are the bytes of Config.Budget that are taken now, BudgetRefused
	// the bodies that waited for some in vain.
	BudgetInUse, BudgetRefused uint64
	// FlagsInUse and FlagsRefused are the same of Config.FlagsBudget.
	FlagsInUse, FlagsRefused uint64
	// Streams of definitions are open now. StreamEvents are the definitions that
	// were sent over streams, StreamsDropped the streams of any kind whose reader was
	// too slow.
	Streams, StreamEvents, StreamsDropped uint64
	// PublicStreams, those of OFREP, are open now. PublicStreamEvents were sent over
	// them, PublicStreamsRefused found no place.
	PublicStreams, PublicStreamEvents, PublicStreamsRefused uint64
}
