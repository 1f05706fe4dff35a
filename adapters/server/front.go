package server

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/httpapi"
)

// front is the handler of the moment, and the news that the server is about to stop.
type front struct {
	handler  atomic.Pointer[http.Handler]
	draining atomic.Bool
}

func (f *front) set(h http.Handler) { f.handler.Store(&h) }

// api is the handler of the moment, nil before there is one.
func (f *front) api() *httpapi.Handler {
	h := f.handler.Load()
	if h == nil {
		return nil
	}
	api, _ := (*h).(*httpapi.Handler)
	return api
}

const drainingBody = `{"type":"server_error","code":"service_unavailable","detail":"The server is stopping: send requests to another one.","attr":null}`

// ServeHTTP answers as ever while the server drains, but clients are told to come
// back on another connection, and balancers not to send anything more.
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
