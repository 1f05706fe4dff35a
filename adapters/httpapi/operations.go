package httpapi

import (
	"errors"
	"net/http"
	"sync/atomic"
)

// counters count what the adapter alone sees.
type counters struct {
	panics, rateLimited             atomic.Uint64
	captureRequests, captureRefused atomic.Uint64
	mistakes                        atomic.Uint64 // of pages of the console
}

// getLiveness says that the process answers.
func getLiveness(_ *server, w http.ResponseWriter, _ *http.Request) error {
	return send(w, plainText, []byte("ok\n"))
}

// getReadiness says that requests may be sent here.
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
