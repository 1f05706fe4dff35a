package httpapi

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
)

// counters count what the adapter alone sees.
type counters struct {
	panics, rateLimited             atomic.Uint64
	captureRequests, captureRefused atomic.Uint64
}

// getLiveness says that the process answers.
func getLiveness(_ *server, w http.ResponseWriter, _ *http.Request) error {
	plain(w, "ok\n")
	return nil
}

// getReadiness says that requests may be sent here.
func getReadiness(s *server, w http.ResponseWriter, r *http.Request) error {
	if s.Ready != nil {
		err := s.Ready(r.Context())
		if errors.Is(err, ErrDegraded) {
			plain(w, err.Error()+"\n")
			return nil
		}
		if err != nil {
			return problemUnavailable.with(err.Error(), "")
		}
	}
	plain(w, "ready\n")
	return nil
}

func plain(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, text)
}

func getMetrics(s *server, w http.ResponseWriter, r *http.Request) error {
	s.Metrics.ServeHTTP(w, r)
	return nil
}
