package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/bunting-flags/bunting/management"
)

// healthService serves the state of the server, of type H, and logs errors of console pages.
type healthService[H any] struct {
	*server
	health   func(context.Context) *H // nil if the state is not available
	mistakes *atomic.Uint64           // counts the reports of pages
}

// healthEndpoints returns the endpoints for the state of this server (console.md N20, N21).
func healthEndpoints[H any](health func(context.Context) *H, mistakes *atomic.Uint64) []endpoint {
	of := func(s *server) healthService[H] { return healthService[H]{s, health, mistakes} }
	return resource(atRoot, "organization", of, []row[healthService[H]]{
		handle(http.MethodGet, "/health", "Read the server's health checks: state, since when, and what to do; for administrators", healthNow[H]),
		handle(http.MethodPost, "/console/report", "Report an error of a console page", reportMistake[H]).withBody(mistakeFields).withScope(anyKey).withStatus(http.StatusNoContent),
	})
}

func healthNow[H any](svc healthService[H], c *call) (*H, error) {
	administers := func(m management.Membership) bool { return m.Level >= management.Admin }
	if !slices.ContainsFunc(c.scope.Caller.Memberships, administers) {
		return nil, management.Denied(management.MsgLevel)
	}
	if svc.health == nil {
		return nil, management.Missing("This server does not run health checks.")
	}
	return svc.health(c.ctx), nil
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
func reportMistake[H any](svc healthService[H], c *call) (any, error) {
	v, err := mistakeFields.Create(c.body)
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
	reporter := c.scope.User.UUID
	if session := c.scope.Caller.Session; session != nil {
		reporter = session.ID
	}
	if wait := svc.manageLimits.Mistakes.Add(reporter, svc.manageLimits.Now()); wait > 0 {
		return nil, svc.manageLimits.Throttle(wait)
	}
	svc.mistakes.Add(1)
	svc.Logger.WarnContext(context.WithoutCancel(c.ctx), "a page of the console has reported an error", texts...)
	return nil, nil
}
