// Package shadow puts a server beside an upstream service that speaks the same
// wire, PostHog's or another Bunting: one of the two answers, both are asked for
// flags, and what differs is counted by flag and cause. It shows, before anybody
// depends on it, whether a move changes an answer.
//
// Comparing happens behind the answer: a request is copied, answered, and queued.
// The queue is bounded in number and bytes; what does not fit is answered all the
// same and counted as not compared.
package shadow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Side is one of the two who can answer.
type Side string

// The sides.
const (
	Self     Side = "self"
	Upstream Side = "upstream"
)

// Bounds of what waits to be compared.
const (
	// maxWaiting is how many requests wait, maxWaitingBytes how long they are together,
	// bodies and answers, with those that are being answered.
	maxWaiting      = 1024
	maxWaitingBytes = 32 << 20
	// maxBody is the longest body of a flag request that is compared, maxAnswer the
	// longest answer; longer ones are only answered.
	maxBody   = 1 << 20
	maxAnswer = 8 << 20
	// maxEvents is the longest body of events that is copied to this server.
	maxEvents = 20 << 20
)

// Config says who answers. Next and Upstream are required.
type Config struct {
	// Next is this server.
	Next http.Handler
	// Upstream is the other service, such as https://us.i.posthog.com.
	Upstream *url.URL
	// Answer is who answers, Self when empty. With Upstream, requests for flags that it
	// cannot answer (no connection, 502, 503, 504) are answered by this server; events
	// go to both, so that the same people are known here.
	Answer Side
	// Sample is the share of flag requests that are compared, above 0 to 1. Zero: all.
	Sample float64
	// Workers is how many comparisons run at once, 32 when zero: some 6,000 a second.
	Workers int
	// Timeout bounds one request for flags to the upstream, 10 seconds when zero: with
	// Upstream, this server answers what takes longer.
	Timeout time.Duration
	// Transport carries requests to the upstream. When nil it is one with the defaults of
	// net/http that waits a minute for an answer to begin.
	Transport http.RoundTripper
	// Logger is told, once a minute, of an upstream that does not answer. Nil: nobody is
	// told.
	Logger *slog.Logger
}

// Handler answers and compares. Close ends it.
type Handler struct {
	config Config
	proxy  *httputil.ReverseProxy
	queue  chan *job
	bytes  budget
	report *book
	sample sampler

	stop    context.CancelFunc
	ctx     context.Context
	workers sync.WaitGroup
	closing sync.RWMutex // held for reading while something is queued
	closed  bool
}

// New makes a Handler and starts its workers.
func New(c Config) (*Handler, error) {
	switch {
	case c.Next == nil || c.Upstream == nil:
		return nil, errors.New("shadow: Next and Upstream are required")
	case c.Upstream.Host == "" || c.Upstream.Scheme != "http" && c.Upstream.Scheme != "https":
		return nil, fmt.Errorf("shadow: the upstream is a URL such as https://us.i.posthog.com, not %q", c.Upstream.Redacted())
	case c.Upstream.User != nil || c.Upstream.RawQuery != "":
		return nil, errors.New("shadow: the upstream's URL has a user or a query: leave them out")
	case c.Answer != "" && c.Answer != Self && c.Answer != Upstream:
		return nil, fmt.Errorf("shadow: the side that answers is %s or %s, not %q", Self, Upstream, c.Answer)
	case !(c.Sample >= 0 && c.Sample <= 1):
		return nil, fmt.Errorf("shadow: the sample is a share from 0 to 1, not %v", c.Sample)
	}
	if c.Workers <= 0 {
		c.Workers = 32
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
		if t, ok := c.Transport.(*http.Transport); ok { // else the program has put another in its place
			t = t.Clone()
			t.MaxIdleConnsPerHost = 2 * c.Workers
			t.ResponseHeaderTimeout = max(c.Timeout, time.Minute) // of what is passed on
			c.Transport = t
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{config: c, queue: make(chan *job, maxWaiting), report: newBook(), sample: sampler{share: c.Sample}}
	h.bytes.free.Store(maxWaitingBytes)
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.proxy = h.newProxy()
	for range c.Workers {
		h.workers.Go(h.work)
	}
	return h, nil
}

// Close stops comparing: what waits is counted as not compared.
func (h *Handler) Close() {
	h.closing.Lock()
	first := !h.closed
	h.closed = true
	h.closing.Unlock()
	if !first {
		return
	}
	h.stop()
	close(h.queue)
	h.workers.Wait()
	if t, ok := h.config.Transport.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

// Report says what has been compared.
func (h *Handler) Report() Report { return h.report.report() }

// flagPaths are compared.
var flagPaths = []string{"/flags", "/decide"}

// eventPaths take events.
var eventPaths = []string{
	"/batch", "/capture", "/e", "/i/v0/e", "/i/v1/analytics/events", "/track", "/engage", "/s",
}

// ownPaths begin what this server alone answers, whoever answers the rest: what is
// managed here, and what the upstream does not have.
var ownPaths = []string{
	"/_", "/metrics", "/ofrep/", "/shared/", "/api/schema", "/api/projects", "/api/environments", "/api/organizations",
	"/api/users", "/api/personal_api_keys",
}

func isAmong(paths []string, path string) bool {
	path = strings.TrimSuffix(path, "/")
	for _, p := range paths {
		if path == p {
			return true
		}
	}
	return false
}

func hasAnyPrefix(prefixes []string, path string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

// mergeSlashes makes one slash of several, as the server does before it looks for a path.
func mergeSlashes(path string) string {
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := mergeSlashes(r.URL.Path)
	flags := isAmong(flagPaths, path) && (r.Method == http.MethodPost || r.Method == http.MethodGet)
	switch {
	case flags && h.config.Answer == Upstream:
		h.answerUpstream(w, r)
	case flags:
		h.answerSelf(w, r)
	case h.config.Answer != Upstream || hasAnyPrefix(ownPaths, path):
		h.config.Next.ServeHTTP(w, r)
	case isAmong(eventPaths, path) && r.Method == http.MethodPost:
		h.eventsToBoth(w, r)
	default:
		h.proxy.ServeHTTP(w, r)
	}
}
