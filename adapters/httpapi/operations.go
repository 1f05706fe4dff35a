package httpapi

import (
	"errors"
	"net/http"
	"sync/atomic"
)

// counters are the metrics that only this package can count.
type counters struct {
	panics, rateLimited             atomic.Uint64
	captureRequests, captureRefused atomic.Uint64
	mistakes                        atomic.Uint64 // error reports of the console's pages
}

// getLiveness responds while the process can serve requests.
func getLiveness(_ *server, w http.ResponseWriter, _ *http.Request) error {
	return send(w, plainText, []byte("ok\n"))
}

// getReadiness reports whether the server should receive requests, by Config.Ready. ErrDegraded
// counts as ready.
func getReadiness(s *server, w http.ResponseWriter, r *http.Request) error {
	if s.Ready != nil {
		err := s.Ready(r.Context())
		if errors.Is(err, ErrDegraded) {
			return send(w, plainText, []byte(err.Error()+"\n"))
		}
		if err != nil {
			return problemUnavailable.with(err.Error(), "")
		}
	}
	return send(w, plainText, []byte("ready\n"))
}

const plainText = "text/plain; charset=utf-8"

func getMetrics(s *server, w http.ResponseWriter, r *http.Request) error {
	s.Metrics.ServeHTTP(w, r)
	return nil
}
