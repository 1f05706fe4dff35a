// Package shadow compares a server with an upstream service that has the same protocol, PostHog or
// another Bunting server. One of the two responds to clients, flag requests are sent to both, and
// differences are counted by flag and cause. This shows before a migration whether it changes the
// value of a flag.
//
// Comparisons run in the background: a request is copied, gets its response, and is queued. The
// queue is limited in number and bytes; requests that do not fit get their response and are counted
// as not compared.
package shadow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/bunting-flags/bunting/adapters/internal/throttle"
)

// Side is one of the two services.
type Side string

// The sides.
const (
	Self     Side = "self"
	Upstream Side = "upstream"
)

// Limits of the queue of comparisons.
const (
	// maxWaiting is the maximum number of requests in the queue, maxWaitingBytes the maximum size
	// of their bodies and responses in total, including requests in progress.
	maxWaiting      = 1024
	maxWaitingBytes = 32 << 20
	// maxBody is the maximum body of a flag request that is compared, maxAnswer the maximum
	// response; larger bodies are served but not compared.
	maxBody   = 1 << 20
	maxAnswer = 8 << 20
	// maxEvents is the maximum body of a request with events that is copied to this server.
	maxEvents = 20 << 20
)

// Config configures a Handler. Next and Upstream are required.
type Config struct {
	// Next is this server.
	Next http.Handler
	// Upstream is the other service, such as https://us.i.posthog.com.
	Upstream *url.URL
	// Answer is the side that responds to clients, by default Self. With Upstream, this server
	// responds to flag requests if the upstream fails (no connection, 502, 503, 504); events are
	// sent to both, so that both have the same persons.
	Answer Side
	// Sample is the share of flag requests that are compared, above 0 and at most 1. Zero means
	// all.
	Sample float64
	// Workers is the number of concurrent comparisons, by default 32, which is enough for some
	// 6,000 a second.
	Workers int
	// Timeout is the limit for one flag request to the upstream, by default 10 seconds: with
	// Upstream, this server responds if it takes longer.
	Timeout time.Duration
	// Transport sends requests to the upstream. If nil, it is one with the defaults of net/http
	// that waits up to a minute for the start of a response.
	Transport http.RoundTripper
	// Logger receives a warning, at most once a minute, while the upstream does not respond. If
	// nil, nothing is logged.
	Logger *slog.Logger
}

// Handler serves requests and compares responses until Close. It is safe for concurrent use.
type Handler struct {
	config Config
	proxy  *httputil.ReverseProxy
	queue  chan *job
	bytes  *semaphore.Weighted // that may still be buffered
	report *book
	sample sampler
	// logFailure logs that the upstream does not respond, at most once a minute.
	logFailure func(error)

	stop    context.CancelFunc
	ctx     context.Context
	workers sync.WaitGroup
	closing sync.RWMutex // locked for reading while a job is added to the queue
	closed  bool
}

// New creates a Handler and starts its workers.
func New(c Config) (*Handler, error) {
	switch {
	case c.Next == nil || c.Upstream == nil:
		return nil, errors.New("shadow: Next and Upstream are required")
	case c.Upstream.Host == "" || c.Upstream.Scheme != "http" && c.Upstream.Scheme != "https":
		return nil, fmt.Errorf("shadow: the upstream must be a URL such as https://us.i.posthog.com, not %q", c.Upstream.Redacted())
	case c.Upstream.User != nil || c.Upstream.RawQuery != "":
		return nil, errors.New("shadow: the upstream's URL has a user or a query: leave them out")
	case c.Answer != "" && c.Answer != Self && c.Answer != Upstream:
		return nil, fmt.Errorf("shadow: the side that answers must be %s or %s, not %q", Self, Upstream, c.Answer)
	case !(c.Sample >= 0 && c.Sample <= 1):
		return nil, fmt.Errorf("shadow: the sample must be a share from 0 to 1, not %v", c.Sample)
	}
	if c.Workers <= 0 {
		c.Workers = 32
	}
	if c.Timeout <= 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
		if t, ok := c.Transport.(*http.Transport); ok { // otherwise the program has replaced the default transport
			t = t.Clone()
			t.MaxIdleConnsPerHost = 2 * c.Workers
			t.ResponseHeaderTimeout = max(c.Timeout, time.Minute) // for requests that are proxied
			c.Transport = t
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{config: c, queue: make(chan *job, maxWaiting), bytes: semaphore.NewWeighted(maxWaitingBytes), report: newBook(), sample: sampler{share: c.Sample}}
	h.logFailure = throttle.Every(time.Minute, func(err error, _ int) {
		c.Logger.Warn("the upstream does not respond, requests are not compared", "error", err)
	})
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.proxy = h.newProxy()
	for range c.Workers {
		h.workers.Go(h.work)
	}
	return h, nil
}

// Close stops comparing and waits for the workers. Queued requests are counted as not compared. It
// may be called several times.
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

// Report returns the result of the comparisons so far.
func (h *Handler) Report() Report { return h.report.report() }

// flagPaths are the paths of flag requests, which are compared.
var flagPaths = []string{"/flags", "/decide"}

// eventPaths are the paths of requests with events.
var eventPaths = []string{
	"/batch", "/capture", "/e", "/i/v0/e", "/i/v1/analytics/events", "/track", "/engage", "/s",
}

// ownPaths are prefixes of paths that only this server serves, whichever side is Answer:
// management, and routes that the upstream does not have.
var ownPaths = []string{
	"/_", "/metrics", "/ofrep/", "/shared/", "/api/schema", "/api/projects", "/api/environments", "/api/organizations",
	"/api/users", "/api/personal_api_keys",
}

func isAmong(paths []string, path string) bool {
	return slices.Contains(paths, strings.TrimSuffix(path, "/"))
}

// mergeSlashes replaces several slashes by one, as the server does before it matches a path.
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
	case h.config.Answer != Upstream || slices.ContainsFunc(ownPaths, func(own string) bool { return strings.HasPrefix(path, own) }):
		h.config.Next.ServeHTTP(w, r)
	case isAmong(eventPaths, path) && r.Method == http.MethodPost:
		h.eventsToBoth(w, r)
	default:
		h.proxy.ServeHTTP(w, r)
	}
}
