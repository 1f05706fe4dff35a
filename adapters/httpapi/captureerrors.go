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

// THE TABLE: every error of the capture surface that is found here (§4.2,
// §6.2).
// Those of the events themselves come from capture.
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

// refusals are the answers to the kinds of capture.Refusal.
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

// captureProblem turns an error of the capture surface into what the caller is
// told. The cause stays for the log.
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

// readProblem tells what is wrong with a body that cannot be read to its end.
func readProblem(err error) error {
	var target *problem
	var outer *http.MaxBytesError // of a router around this one
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

// isDrainable errors leave a connection from which the rest of the body can be
// read.
func isDrainable(err error) bool {
	var target *problem
	return errors.As(err, &target) && target.Status != problemBodyTimeout.Status && target != &problemBodyBroken
}

// unpackProblem tells what is wrong with packed bytes: bad is the answer to
// those that cannot be unpacked.
func unpackProblem(err error, bad *problem) error {
	var target *problem
	if errors.As(err, &target) {
		return err
	}
	if errors.Is(err, io.EOF) { // in the middle of a header
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
