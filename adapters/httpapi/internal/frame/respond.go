package frame

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/admission"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/pages"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags/wire"
)

// fail writes the response for an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problem.Of(err)
	if p.Status >= 500 {
		level := slog.LevelError
		switch {
		// Logged where events are recorded, or counted in the metrics.
		case p.Quiet, errors.Is(err, capture.ErrUnavailable), errors.Is(err, &admission.Busy),
			// Logged once, by the goroutine that waits for the other parts.
			s.Partial && p == &problem.Unavailable,
			// The client has disconnected, so the server is not at fault.
			errors.Is(r.Context().Err(), context.Canceled):
			level = slog.LevelDebug
		}
		s.Logger.Log(r.Context(), level, "request failed", "method", r.Method, "path", r.URL.Path, "status", p.Status, "error", err)
	}
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	body := p.Body
	if body == nil {
		body, _ = json.Marshal(p) // marshaling strings cannot fail
	}
	Write(w, p.Status, body)
}

// Write sends a JSON body.
func Write(w http.ResponseWriter, status int, body []byte) {
	h := w.Header()
	h["Content-Type"] = contentTypeJSON
	length := strconv.Itoa(len(body))
	if x, ok := w.(*exchange); ok {
		h["Content-Length"] = x.lists.length.set(length)
	} else {
		h["Content-Length"] = []string{length}
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // a write error means that the client has disconnected
}

// WriteJSON sends a value encoded as JSON.
func WriteJSON(w http.ResponseWriter, status int, value any) error {
	body, err := wire.Encode(value)
	if err == nil {
		Write(w, status, body)
	}
	return err
}

// Send writes a response with status 200, with kind as its content type.
func Send(w http.ResponseWriter, kind string, body []byte) error {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body) // a write error means that the client has disconnected
	return nil
}

var contentTypeJSON = []string{"application/json"}

// HTML responds with an HTML page. framed allows other sites to embed it in a frame.
func (c *Call) HTML(status int, name string, framed bool, view any) (any, error) {
	text, err := pages.Render(name, view)
	if err != nil {
		return nil, err
	}
	h := c.W.Header()
	h.Set("Content-Security-Policy", pages.Policy(name, framed))
	h.Set("X-Content-Type-Options", "nosniff")
	return Answer{Status: status, Raw: text, Kind: "text/html; charset=utf-8"}, nil
}

// RefuseDeletion responds with 405 and no body, whether the object exists or not (A13).
func RefuseDeletion[S any](_ S, c *Call) (any, error) {
	c.W.Header().Set("Allow", "GET, HEAD, OPTIONS, PATCH, PUT")
	return Answer{Status: http.StatusMethodNotAllowed}, nil
}

// NoBody is the handler of endpoints that always respond with an error status.
func NoBody[S any](S, *Call) (any, error) { return nil, nil }
