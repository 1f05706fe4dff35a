package served

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Proxy is a reverse proxy between an SDK and the server. It records requests and passes them on
// unchanged, except for responses that LoseAnswers discards. It is safe for concurrent use.
type Proxy struct {
	URL string

	mu       sync.Mutex
	requests []Request
	losing   int
}

// Request is a request that passed the proxy, with the status of the server's response.
type Request struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
	Status              int
}

// NewProxy starts a proxy for the server, until the test ends.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	forward := httputil.NewSingleHostReverseProxy(target)
	p := &Proxy{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has disconnected
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		answer := httptest.NewRecorder()
		forward.ServeHTTP(answer, r)
		isLost := p.record(Request{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Clone(), body, answer.Code})
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		if isLost {
			w.Header().Set("Retry-After", "1")
			w.Header().Del("Content-Length")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	}))
	t.Cleanup(web.Close)
	p.URL = web.URL
	return p
}

// LoseAnswers makes the proxy pass the next n requests with events to the server and respond with
// 503 to the client, as if the responses had been lost.
func (p *Proxy) LoseAnswers(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.losing = n
}

func (p *Proxy) record(r Request) (isLost bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	if p.losing > 0 && r.HasEvents() {
		p.losing--
		return true
	}
	return false
}

// Requests returns the requests so far.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.requests...)
}

// Captures returns the requests with events.
func (p *Proxy) Captures() (out []Request) {
	for _, r := range p.Requests() {
		if r.HasEvents() {
			out = append(out, r)
		}
	}
	return out
}

// HasEvents reports whether the request has events.
func (r *Request) HasEvents() bool {
	if r.Method != http.MethodPost {
		return false
	}
	switch strings.Trim(r.Path, "/") {
	case "e", "i/v0/e", "batch", "i/v1/analytics/events", "capture", "track":
		return true
	}
	return false
}
