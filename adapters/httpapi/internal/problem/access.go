package problem

import (
	"context"
	"errors"
	"fmt"

	"github.com/bunting-flags/bunting/capture"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// Errors of access (§1.5) and of the resources.
var (
	Required      = Problem{Status: 400, Type: "validation_error", Code: "required", Detail: "This field is required."}
	invalidInput  = Problem{Status: 400, Type: "validation_error", Code: "invalid_input"}
	Parse         = Problem{Status: 400, Type: "invalid_request", Code: "parse_error", Detail: "JSON parse error -"}
	InvalidChoice = Problem{Status: 400, Type: "validation_error", Code: "invalid_choice"}
	eventQuota    = Problem{Status: 402, Type: "server_error", Code: "payment_required", Detail: "You have exceeded your event quota."}
	ReadOnly      = Problem{Status: 503, Type: "server_error", Code: "service_unavailable", Detail: "This server cannot change persons."}
)

// Invalid returns a problem about an invalid value. attr is its position in the request.
func Invalid(attr, format string, args ...any) *Problem {
	return invalidInput.With("", attr).Detailed(format, args...)
}

// Detailed replaces the detail of p and returns p.
func (p *Problem) Detailed(format string, args ...any) *Problem {
	p.Detail = fmt.Sprintf(format, args...)
	return p
}

// ofStore converts errors of the store to the problem in the response. Errors of the server
// keep their cause for the log.
func ofStore(err error) error {
	var target *Problem
	var refusal *capture.Refusal
	switch {
	case err == nil || errors.As(err, &target):
		return err
	case errors.As(err, &refusal):
		return Invalid(refusal.Attr, "%s", refusal.Detail)
	case errors.Is(err, capture.ErrReadOnly):
		return &ReadOnly
	case errors.Is(err, capture.ErrOverQuota):
		return &eventQuota
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, capture.ErrUnavailable), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", flags.ErrUnavailable, err)
	}
	return err
}

// ofKind maps the kinds of management errors to their statuses and types (§2.2).
var ofKind = map[management.Kind]Problem{
	management.Invalid:         {Status: 400, Type: "validation_error"},
	management.Unauthenticated: {Status: 401, Type: "authentication_error"},
	management.Forbidden:       {Status: 403, Type: "authentication_error"},
	management.NotFound:        {Status: 404, Type: "invalid_request"},
	management.Conflict:        {Status: 409, Type: "server_error"},
	management.Unavailable:     {Status: 503, Type: "server_error"},
	management.TooMany:         {Status: 429, Type: "throttled_error"},
}

// OfManagement converts an error of package management to the problem in the response.
func OfManagement(err error) error {
	var target *management.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &target):
		p := ofKind[target.Kind]
		p.Code, p.Detail = target.Code, target.Message
		return p.With("", target.Field)
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, context.Canceled):
		return errors.Join(flags.ErrUnavailable, err)
	}
	return ofStore(err)
}
