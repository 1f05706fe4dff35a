package main

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/bunting-flags/bunting/adapters/shadow"
)

// front is what the listener serves: the handler of the moment, and the news that
// the server is about to stop.
type front struct {
	handler  atomic.Pointer[http.Handler]
	draining atomic.Bool
	beside   *shadow.Handler // before it, set before the first request; nil without --upstream
}

func (f *front) set(h http.Handler) { f.handler.Store(&h) }

const drainingBody = `{"type":"server_error","code":"service_unavailable","detail":"The server is stopping: send requests to another one.","attr":null}`

// ServeHTTP answers as ever while the server drains, but clients are told to come
// back on another connection, and balancers not to send anything more.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.draining.Load() {
		w.Header().Set("Connection", "close")
		if strings.TrimSuffix(r.URL.Path, "/") == "/_readiness" {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, drainingBody)
			return
		}
	}
	(*f.handler.Load()).ServeHTTP(w, r)
}

// drain waits for --drain before the server stops. A second signal ends the process
// meanwhile.
func (s *server) drain() {
	if s.config.Drain == 0 {
		return
	}
	s.log.Info("draining: /_readiness answers 503, everything else as ever", "for", s.config.Drain)
	s.front.draining.Store(true)
	time.Sleep(s.config.Drain)
}
