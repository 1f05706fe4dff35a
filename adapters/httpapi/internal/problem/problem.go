package problem

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Problem is an error as the client receives it: {type, code, detail, attr}, always JSON (decision
// 10). Detail begins with a text of §9.11, followed by the position in the input.
type Problem struct {
	Status int    `json:"-"`
	Type   string `json:"type"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
	// Attr is the invalid part of the request, or null.
	Attr *string `json:"attr"`
	// RetryAfter is in seconds; 0 for no header.
	RetryAfter int `json:"-"`
	// Body replaces the JSON of the problem, for endpoints with an error format of their own.
	Body []byte `json:"-"`
	// Quiet problems are counted in the metrics, but logged only at debug level.
	Quiet bool `json:"-"`
}

func (p *Problem) Error() string { return strconv.Itoa(p.Status) + " " + p.Detail }

// With returns a copy of the problem with an addition to its detail and an attr, if they are not
// empty.
func (p Problem) With(detail, attr string) *Problem {
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
	unknownToken   = Problem{Status: 401, Type: "authentication_error", Code: "authentication_failed", Detail: "The provided API key is invalid or has expired. Please check your API key and try again."}
	noDistinctID   = Problem{Status: 400, Type: "validation_error", Code: "required", Detail: "The distinct_id field is missing from the request. Please include a valid identifier."}
	NoCredentials  = Problem{Status: 401, Type: "authentication_error", Code: "not_authenticated", Detail: "Authentication credentials were not provided."}
	Method         = Problem{Status: 405, Type: "invalid_request", Code: "method_not_allowed", Detail: "Method not allowed."}
	NotFound       = Problem{Status: 404, Type: "invalid_request", Code: "not_found", Detail: "Not found."}
	Unavailable    = Problem{Status: 503, Type: "server_error", Code: "service_unavailable", Detail: "A service dependency is temporarily unavailable. This is likely a temporary issue. Please try again later.", RetryAfter: 1}
	timeout        = Problem{Status: 503, Type: "server_error", Code: "timeout", Detail: "The request timed out. This could be due to high load or network issues. Please try again later.", RetryAfter: 1}
	Internal       = Problem{Status: 500, Type: "server_error", Code: "internal_error", Detail: "An internal server error occurred. Please try again later or contact support if the problem persists."}
	TooLarge       = Problem{Status: 413, Type: "validation_error", Code: "request_too_large"}
	invalidRequest = Problem{Status: 400, Type: "validation_error", Code: "invalid_request"}
)

// Of converts any error to the problem in the response. Unknown errors are internal and
// become 500.
func Of(err error) *Problem {
	var p *Problem
	var body *Body
	switch {
	case errors.As(err, &p):
		return p
	case errors.As(err, &body):
		base := invalidRequest
		if body.Status == http.StatusRequestEntityTooLarge {
			base = TooLarge
		}
		base.Status, base.Detail = body.Status, body.Detail
		return base.With("", body.Attr)
	case errors.Is(err, flags.ErrUnknownKey):
		return &unknownToken
	case errors.Is(err, flags.ErrNoDistinctID):
		return noDistinctID.With("", "distinct_id")
	case errors.Is(err, context.DeadlineExceeded):
		return &timeout
	case errors.Is(err, flags.ErrUnavailable):
		return &Unavailable
	}
	return &Internal
}

// Shorten limits the length of strings from a client in error messages.
func Shorten(s string) string { return wire.Shorten(s, 64) }

// Body is the error of a request body that cannot be used: the status and detail of the
// response (§9.11), and the invalid member, if any.
type Body struct {
	Status int
	Detail string
	Attr   string
	// Cause is the error of the response if reading failed for another reason.
	Cause error
}

func (e *Body) Error() string { return e.Detail }

// DecodeFailure returns the message of §9.11 with a cause.
func DecodeFailure(cause string) string {
	return "Failed to decode request: " + cause + ". Please check your request format and try again."
}

// OrCause returns the cause if there is one, and e otherwise.
func (e *Body) OrCause() error {
	if e.Cause != nil {
		return e.Cause
	}
	return e
}

// LineOf returns the line and column of a byte offset in text, in characters and counted from 1.
func LineOf[T string | []byte](text T, offset int) (line, column int) {
	before := string(text[:min(max(offset, 0), len(text))])
	return 1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}
