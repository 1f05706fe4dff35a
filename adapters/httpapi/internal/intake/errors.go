package intake

import (
	"context"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
	"github.com/bunting-flags/bunting/capture"
)

// The errors of the capture endpoints (§4.2, §6.2). Errors in the events themselves are defined in
// package capture.
var (
	problemNoData      = problem.Problem{Status: 400, Type: "validation_error", Code: "no_data", Detail: "request missing data payload"}
	problemBadKey      = problem.Problem{Status: 401, Type: "authentication_error", Code: "invalid_api_key", Detail: "The project API key is invalid. Please check your project API key and try again."}
	problemNoKey       = problem.Problem{Status: 401, Type: "authentication_error", Code: "missing_api_key", Detail: "Token not provided"}
	problemKeyForm     = problem.Problem{Status: 400, Type: "validation_error", Code: "invalid_api_key", Detail: "Token is badly formed"}
	problemNoBearer    = problem.Problem{Status: 401, Type: "authentication_error", Code: "missing_api_key", Detail: "the header Authorization: Bearer with the project API key is missing"}
	problemContentType = problem.Problem{Status: 415, Type: "validation_error", Code: "unsupported_content_type", Detail: "the content type has to be application/json"}
	problemEncoding    = problem.Problem{Status: 415, Type: "validation_error", Code: "unsupported_encoding", Detail: "the content encoding has to be gzip, deflate, br or zstd, not"}
	problemBilling     = problem.Problem{Status: 402, Type: "quota_limited", Code: "billing_limit_exceeded", Detail: "all events of the batch are over the project's quota"}
	problemNotStored   = problem.Problem{Status: 503, Type: "server_error", Code: "server_error", Detail: "transient error, please retry", RetryAfter: 1}
)

// refusals maps the kinds of capture.Refusal to their responses.
var refusals = map[capture.RefusalKind]problem.Problem{
	capture.Invalid:      {Status: 400, Type: "validation_error"},
	capture.Unauthorized: {Status: 401, Type: "authentication_error"},
	capture.TooLarge:     {Status: 413, Type: "validation_error"},
}

// captureProblem converts an error of a capture endpoint to the problem in the response. Errors of
// the server keep their cause for the log.
func captureProblem(err error) error {
	var target *problem.Problem
	var refusal *capture.Refusal
	switch {
	case errors.As(err, &target):
		return err
	case errors.As(err, &refusal):
		p := refusals[refusal.Kind]
		p.Code, p.Detail = refusal.Code, refusal.Detail
		return p.With("", refusal.Attr)
	case errors.Is(err, capture.ErrUnknownKey):
		return &problemBadKey
	case errors.Is(err, capture.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", &problemNotStored, err)
	}
	return err
}
