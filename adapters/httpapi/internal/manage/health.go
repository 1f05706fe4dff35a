package manage

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
)

// healthService serves the state of the server, of type H, and logs errors of console pages.
type healthService[H any] struct {
	*frame.Server
	health   func(context.Context) *H // nil if the state is not available
	mistakes *atomic.Uint64           // counts the reports of pages
}

// healthEndpoints returns the endpoints for the state of this server (console.md N20, N21).
func healthEndpoints[H any](health func(context.Context) *H, mistakes *atomic.Uint64) []frame.Endpoint {
	of := func(s *frame.Server) healthService[H] { return healthService[H]{s, health, mistakes} }
	return frame.Resource(frame.AtRoot, "organization", of, []frame.Row[healthService[H]]{
		frame.Handle(http.MethodGet, "/health", "Read the server's health checks: state, since when, and what to do; for administrators", healthNow[H]),
		frame.Handle(http.MethodPost, "/console/report", "Report an error of a console page", reportMistake[H]).WithBody(mistakeFields).WithScope(frame.AnyKey).WithStatus(http.StatusNoContent),
	})
}

func healthNow[H any](svc healthService[H], c *frame.Call) (*H, error) {
	administers := func(m management.Membership) bool { return m.Level >= management.Admin }
	if !slices.ContainsFunc(c.Scope.Caller.Memberships, administers) {
		return nil, management.Denied(management.MsgLevel)
	}
	if svc.health == nil {
		return nil, management.Missing("This server does not run health checks.")
	}
	return svc.health(c.Ctx), nil
}

// maxMistake is the maximum length of a report in bytes, all fields together.
const maxMistake = 8 << 10

var mistakeFields = management.Fields{
	{Name: "message", Type: management.Text, Required: true, Blank: true},
	{Name: "stack", Type: management.Text, Null: true, Blank: true},
	{Name: "page", Type: management.Text, Null: true, Blank: true, Help: "path of the page"},
	{Name: "build", Type: management.Text, Null: true, Blank: true, Help: "version of the console"},
}

// reportMistake logs an error that a console page reports. It is rate limited, in case a page fails
// in a loop.
func reportMistake[H any](svc healthService[H], c *frame.Call) (any, error) {
	v, err := mistakeFields.Create(c.Body)
	if err != nil {
		return nil, err
	}
	texts, length := []any{}, 0
	for _, f := range mistakeFields {
		text := v.Text(f.Name)
		if length += len(text); length > maxMistake {
			return nil, management.CodedFault(management.CodeMaxLength, f.Name, "A report may have no more than %d bytes.", maxMistake)
		}
		texts = append(texts, slog.String(f.Name, text))
	}
	reporter := c.Scope.User.UUID
	if session := c.Scope.Caller.Session; session != nil {
		reporter = session.ID
	}
	if wait := svc.Limits.Mistakes.Add(reporter, svc.Limits.Now()); wait > 0 {
		return nil, svc.Limits.Throttle(wait)
	}
	svc.mistakes.Add(1)
	svc.Logger.WarnContext(context.WithoutCancel(c.Ctx), "a page of the console has reported an error", texts...)
	return nil, nil
}
