package server

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// front forwards requests to the current handler. While draining is set, the server is about to
// stop.
type front struct {
	handler  atomic.Pointer[http.Handler]
	draining atomic.Bool
}

func (f *front) set(h http.Handler) { f.handler.Store(&h) }

// api returns the current handler, or nil before there is one.
func (f *front) api() *httpapi.Handler {
	h := f.handler.Load()
	if h == nil {
		return nil
	}
	api, _ := (*h).(*httpapi.Handler)
	return api
}

const drainingBody = `{"type":"server_error","code":"service_unavailable","detail":"The server is stopping: send requests to another one.","attr":null}`

// ServeHTTP serves requests also while the server drains. It then closes the connections of
// clients, and responds 503 to /_readiness so that load balancers stop sending requests.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.draining.Load() {
		w.Header().Set("Connection", "close")
		if strings.HasSuffix(strings.TrimSuffix(r.URL.Path, "/"), "/_readiness") { // below any prefix
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, drainingBody)
			return
		}
	}
	(*f.handler.Load()).ServeHTTP(w, r)
}
