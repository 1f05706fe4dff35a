package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// problem is an error as the client receives it: {type, code, detail, attr}, always JSON (decision
// 10). Detail begins with a text of §9.11, followed by the position in the input.
type problem struct {
	Status int    `json:"-"`
	Type   string `json:"type"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Attr is the invalid part of the request, or null.
	Attr *string `json:"attr"`
	// RetryAfter is in seconds; 0 for no header.
	RetryAfter int `json:"-"`
	// body replaces the JSON of the problem, for endpoints with an error format of their own.
	body []byte
	// quiet problems are counted in the metrics, but logged only at debug level.
	quiet bool
}

func (p *problem) Error() string { return strconv.Itoa(p.Status) + " " + p.Detail }

// with returns a copy of the problem with an addition to its detail and an attr, if they are not
// empty.
func (p problem) with(detail, attr string) *problem {
	if detail != "" {
		p.Detail += " " + detail
	}
	if attr != "" {
		p.Attr = &attr
	}
	return &p
}

// The errors of the flags endpoints (§9.11).
var (
	problemNoToken          = problem{Status: 401, Type: "authentication_error", Code: "not_authenticated", Detail: "No API token provided. Please include a valid API token in your request."}
	problemUnknownToken     = problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "The provided API key is invalid or has expired. Please check your API key and try again."}
	problemNoDistinctID     = problem{Status: 400, Type: "validation_error", Code: "required", Detail: "The distinct_id field is missing from the request. Please include a valid identifier."}
	problemNoCredentials    = problem{Status: 401, Type: "authentication_error", Code: "not_authenticated", Detail: "Authentication credentials were not provided."}
	problemBadPersonalKey   = problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "Personal API key is invalid."}
	problemBadSecretKey     = problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "Secret API token is invalid."}
	problemNoScope          = problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "Personal API key lacks required scopes (feature_flag:read or feature_flag:write)."}
	problemForeignProject   = problem{Status: 403, Type: "authentication_error", Code: "permission_denied", Detail: "API key does not have access to the requested project."}
	problemTokenParameter   = problem{Status: 400, Type: "validation_error", Code: "required", Detail: "The token parameter is missing from the request. Please include the project API key."}
	problemQuota            = problem{Status: 402, Type: "quota_limited", Code: "payment_required", Detail: "You have exceeded your feature flag request quota"}
	problemRateLimited      = problem{Status: 429, Type: "validation_error", Code: "rate_limit_exceeded", Detail: "Rate limit exceeded", RetryAfter: 1}
	problemMethod           = problem{Status: 405, Type: "invalid_request", Code: "method_not_allowed", Detail: "Method not allowed."}
	problemNotFound         = problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Not found."}
	problemUnavailable      = problem{Status: 503, Type: "server_error", Code: "service_unavailable", Detail: "A service dependency is temporarily unavailable. This is likely a temporary issue. Please try again later.", RetryAfter: 1}
	problemSharedFull       = problem{Status: 503, Type: "server_error", Code: "too_many", Detail: "Too many shared dashboards are being shown. Please try again in a moment.", RetryAfter: 1}
	problemTooManyStreams   = problem{Status: 503, Type: "server_error", Code: "too_many", Detail: "Too many streams are open. Please try again later."}
	problemTimeout          = problem{Status: 503, Type: "server_error", Code: "timeout", Detail: "The request timed out. This could be due to high load or network issues. Please try again later.", RetryAfter: 1}
	problemInternal         = problem{Status: 500, Type: "server_error", Code: "internal_error", Detail: "An internal server error occurred. Please try again later or contact support if the problem persists."}
	problemTooLarge         = problem{Status: 413, Type: "validation_error", Code: "request_too_large"}
	problemInvalidRequest   = problem{Status: 400, Type: "validation_error", Code: "invalid_request"}
	problemBodyUnreadable   = problem{Status: 400, Type: "validation_error", Code: "invalid_request", Detail: "Failed to decode request: the body ended early. Please check your request format and try again."}
	problemRemoteConfigFlag = problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Not found: there is no such remote configuration flag."}
)

// problemOf converts any error to the problem in the response. Unknown errors are internal and
// become 500.
func problemOf(err error) *problem {
	var p *problem
	var body *bodyError
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &body):
		base := problemInvalidRequest
		if body.Status == http.StatusRequestEntityTooLarge {
			base = problemTooLarge
		}
		base.Status, base.Detail = body.Status, body.Detail
		return base.with("", body.Attr)
	case errors.Is(err, flags.ErrUnknownKey):
		return &problemUnknownToken
	case errors.Is(err, flags.ErrNoDistinctID):
		return problemNoDistinctID.with("", "distinct_id")
	case errors.Is(err, context.DeadlineExceeded):
		return &problemTimeout
	case errors.Is(err, flags.ErrUnavailable):
		return &problemUnavailable
	}
	return &problemInternal
}

// fail writes the response for an error.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(err)
	if p.Status >= 500 {
		level := slog.LevelError
		switch {
		// Logged where events are recorded, or counted in the metrics.
		case p.quiet, errors.Is(err, capture.ErrUnavailable), errors.Is(err, &problemBusy),
			// Logged once, by the goroutine that waits for the other parts.
			s.Partial && p == &problemUnavailable,
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
	body := p.body
	if body == nil {
		body, _ = json.Marshal(p) // marshaling strings cannot fail
	}
	write(w, p.Status, body)
}

// write sends a JSON body.
func write(w http.ResponseWriter, status int, body []byte) {
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

// writeJSON sends a value encoded as JSON.
func writeJSON(w http.ResponseWriter, status int, value any) error {
	body, err := wire.Encode(value)
	if err == nil {
		write(w, status, body)
	}
	return err
}

// send writes a response with status 200, with kind as its content type.
func send(w http.ResponseWriter, kind string, body []byte) error {
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body) // a write error means that the client has disconnected
	return nil
}

var contentTypeJSON = []string{"application/json"}

// shorten limits the length of strings from a client in error messages.
func shorten(s string) string { return wire.Shorten(s, 64) }
