package httpapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/bunting-flags/bunting/capture"
)

// The errors of the capture endpoints (§4.2, §6.2). Errors in the events themselves are defined in
// package capture.
var (
	problemNoData      = problem{Status: 400, Type: "validation_error", Code: "no_data", Detail: "request missing data payload"}
	problemBadGzip     = problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: invalid GZIP data"}
	problemBadLZ64     = problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: invalid LZ64 data"}
	problemBodyBroken  = problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: the body ended early"}
	problemBodyTimeout = problem{Status: 408, Type: "validation_error", Code: "timeout", Detail: "the body was not received in time"}
	problemPayload     = problem{Status: 413, Type: "validation_error", Code: "payload_too_large"}
	problemBadKey      = problem{Status: 401, Type: "authentication_error", Code: "invalid_api_key", Detail: "The project API key is invalid. Please check your project API key and try again."}
	problemNoKey       = problem{Status: 401, Type: "authentication_error", Code: "missing_api_key", Detail: "Token not provided"}
	problemKeyForm     = problem{Status: 400, Type: "validation_error", Code: "invalid_api_key", Detail: "Token is badly formed"}
	problemBadPacking  = problem{Status: 400, Type: "validation_error", Code: "invalid_payload", Detail: "failed to decode request: invalid compressed data"}
	problemNoBearer    = problem{Status: 401, Type: "authentication_error", Code: "missing_api_key", Detail: "the header Authorization: Bearer with the project API key is missing"}
	problemContentType = problem{Status: 415, Type: "validation_error", Code: "unsupported_content_type", Detail: "the content type has to be application/json"}
	problemEncoding    = problem{Status: 415, Type: "validation_error", Code: "unsupported_encoding", Detail: "the content encoding has to be gzip, deflate, br or zstd, not"}
	problemBilling     = problem{Status: 402, Type: "quota_limited", Code: "billing_limit_exceeded", Detail: "all events of the batch are over the project's quota"}
	problemBusy        = problem{Status: 503, Type: "server_error", Code: "server_error", Detail: "too much is under way at the moment, please retry", RetryAfter: 1}
	problemNotStored   = problem{Status: 503, Type: "server_error", Code: "server_error", Detail: "transient error, please retry", RetryAfter: 1}
)

// refusals maps the kinds of capture.Refusal to their responses.
var refusals = map[capture.RefusalKind]problem{
	capture.Invalid:      {Status: 400, Type: "validation_error"},
	capture.Unauthorized: {Status: 401, Type: "authentication_error"},
	capture.TooLarge:     {Status: 413, Type: "validation_error"},
}

func payloadTooLarge(limit int64) *problem {
	p := problemPayload
	p.Detail = fmt.Sprintf("maximum event size exceeded: the body is larger than %d bytes", limit)
	return &p
}

// captureProblem converts an error of a capture endpoint to the problem in the response. Errors of
// the server keep their cause for the log.
func captureProblem(err error) error {
	var target *problem
	var refusal *capture.Refusal
	switch {
	case errors.As(err, &target):
		return err
	case errors.As(err, &refusal):
		p := refusals[refusal.Kind]
		p.Code, p.Detail = refusal.Code, refusal.Detail
		return p.with("", refusal.Attr)
	case errors.Is(err, capture.ErrUnknownKey):
		return &problemBadKey
	case errors.Is(err, capture.ErrUnavailable), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", &problemNotStored, err)
	}
	return err
}

// readProblem converts an error from reading a body to the problem in the response.
func readProblem(err error) error {
	var target *problem
	var outer *http.MaxBytesError // from a MaxBytesReader of an outer router
	var network net.Error
	switch {
	case errors.As(err, &target):
		return err
	case errors.As(err, &outer):
		return payloadTooLarge(outer.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &problemBodyTimeout
	}
	return &problemBodyBroken
}

// isDrainable reports whether the rest of the body can still be read from the connection after err.
func isDrainable(err error) bool {
	var target *problem
	return errors.As(err, &target) && target.Status != problemBodyTimeout.Status && target != &problemBodyBroken
}

// unpackProblem converts an error from unpacking to the problem in the response. bad is the problem
// for invalid packed data.
func unpackProblem(err error, bad *problem) error {
	var target *problem
	if errors.As(err, &target) {
		return err
	}
	if errors.Is(err, io.EOF) { // within a header
		err = io.ErrUnexpectedEOF
	}
	return bad.with("("+err.Error()+")", "")
}

func lz64Problem(err *bodyError, limit int64) error {
	if err.Status == http.StatusRequestEntityTooLarge {
		return payloadTooLarge(limit)
	}
	return problemBadLZ64.with("("+err.Detail+")", "")
}
