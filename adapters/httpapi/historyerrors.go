package httpapi

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
	problemRequired      = problem{Status: 400, Type: "validation_error", Code: "required", Detail: "This field is required."}
	problemInvalidInput  = problem{Status: 400, Type: "validation_error", Code: "invalid_input"}
	problemParse         = problem{Status: 400, Type: "invalid_request", Code: "parse_error", Detail: "JSON parse error -"}
	problemInvalidChoice = problem{Status: 400, Type: "validation_error", Code: "invalid_choice"}
	problemEventQuota    = problem{Status: 402, Type: "server_error", Code: "payment_required", Detail: "You have exceeded your event quota."}
	problemReadOnly      = problem{Status: 503, Type: "server_error", Code: "service_unavailable", Detail: "This server cannot change persons."}
)

// invalid returns a problem about an invalid value. attr is its position in the request.
func invalid(attr, format string, args ...any) *problem {
	return problemInvalidInput.with("", attr).setDetail(format, args...)
}

// setDetail replaces the detail of p and returns p.
func (p *problem) setDetail(format string, args ...any) *problem {
	p.Detail = fmt.Sprintf(format, args...)
	return p
}

// storeProblem converts errors of the store to the problem in the response. Errors of the server
// keep their cause for the log.
func storeProblem(err error) error {
	var target *problem
	var refusal *capture.Refusal
	switch {
	case err == nil || errors.As(err, &target):
		return err
	case errors.As(err, &refusal):
		return invalid(refusal.Attr, "%s", refusal.Detail)
	case errors.Is(err, capture.ErrReadOnly):
		return &problemReadOnly
	case errors.Is(err, capture.ErrOverQuota):
		return &problemEventQuota
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, capture.ErrUnavailable), errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", flags.ErrUnavailable, err)
	}
	return err
}

// managementProblems maps the kinds of management errors to their statuses and types (§2.2).
var managementProblems = map[management.Kind]problem{
	management.Invalid:         {Status: 400, Type: "validation_error"},
	management.Unauthenticated: {Status: 401, Type: "authentication_error"},
	management.Forbidden:       {Status: 403, Type: "authentication_error"},
	management.NotFound:        {Status: 404, Type: "invalid_request"},
	management.Conflict:        {Status: 409, Type: "server_error"},
	management.Unavailable:     {Status: 503, Type: "server_error"},
	management.TooMany:         {Status: 429, Type: "throttled_error"},
}

// managementProblem converts an error of package management to the problem in the response.
func managementProblem(err error) error {
	var target *management.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &target):
		p := managementProblems[target.Kind]
		p.Code, p.Detail = target.Code, target.Message
		return p.with("", target.Field)
	case errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, context.Canceled):
		return errors.Join(flags.ErrUnavailable, err)
	}
	return storeProblem(err)
}
