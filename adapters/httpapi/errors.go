package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"

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
	problemUnknownToken   = problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "The provided API key is invalid or has expired. Please check your API key and try again."}
	problemNoDistinctID   = problem{Status: 400, Type: "validation_error", Code: "required", Detail: "The distinct_id field is missing from the request. Please include a valid identifier."}
	problemNoCredentials  = problem{Status: 401, Type: "authentication_error", Code: "not_authenticated", Detail: "Authentication credentials were not provided."}
	problemMethod         = problem{Status: 405, Type: "invalid_request", Code: "method_not_allowed", Detail: "Method not allowed."}
	problemNotFound       = problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Not found."}
	problemUnavailable    = problem{Status: 503, Type: "server_error", Code: "service_unavailable", Detail: "A service dependency is temporarily unavailable. This is likely a temporary issue. Please try again later.", RetryAfter: 1}
	problemTimeout        = problem{Status: 503, Type: "server_error", Code: "timeout", Detail: "The request timed out. This could be due to high load or network issues. Please try again later.", RetryAfter: 1}
	problemInternal       = problem{Status: 500, Type: "server_error", Code: "internal_error", Detail: "An internal server error occurred. Please try again later or contact support if the problem persists."}
	problemTooLarge       = problem{Status: 413, Type: "validation_error", Code: "request_too_large"}
	problemInvalidRequest = problem{Status: 400, Type: "validation_error", Code: "invalid_request"}
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

// shorten limits the length of strings from a client in error messages.
func shorten(s string) string { return wire.Shorten(s, 64) }
