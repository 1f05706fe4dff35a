package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/bunting-flags/bunting/management"
)

// Health is the state of a server (console.md N20).
type Health struct {
	// Status is the worst state of all checks.
	Status string        `json:"status"`
	Checks []HealthCheck `json:"checks"`
	// Build is the version of the program.
	Build string `json:"build"`
	// Rates are the counts of each minute of the last hour, the newest last: requests for flags,
	// accepted events, and responses with status 500 and above.
	Rates struct {
		Minutes []management.Stamp `json:"minutes"`
		Flags   []uint64           `json:"flags"`
		Events  []uint64           `json:"events"`
		Errors  []uint64           `json:"errors"`
	} `json:"rates"`
}

// HealthCheck is the result of one check.
type HealthCheck struct {
	Name string `json:"name"`
	// State is ok, warn or bad.
	State  string `json:"state"`
	Detail string `json:"detail"`
	// Since is when the state was first observed, at the earliest when the server started.
	Since management.Stamp `json:"since"`
	// Advice is what an operator should do, empty if there is no need to act.
	Advice string `json:"advice"`
}

// healthService serves the state of the server, and logs errors of console pages.
type healthService struct {
	*server
	health   func(context.Context) *Health // nil if the state is not available
	mistakes *atomic.Uint64                // counts the reports of pages
}

// healthEndpoints returns the endpoints for the state of this server (console.md N20, N21).
func healthEndpoints(health func(context.Context) *Health, mistakes *atomic.Uint64) []endpoint {
	of := func(s *server) healthService { return healthService{s, health, mistakes} }
	return resource(atRoot, "organization", of, []row[healthService]{
		handle(http.MethodGet, "/health", "Read the server's health checks: state, since when, and what to do; for administrators", healthNow),
		handle(http.MethodPost, "/console/report", "Report an error of a console page", reportMistake).withBody(mistakeFields).withScope(anyKey).withStatus(http.StatusNoContent),
	})
}

func healthNow(svc healthService, c *call) (*Health, error) {
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
func reportMistake(svc healthService, c *call) (any, error) {
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
	if wait := svc.manageLimits.mistakes.add(reporter, svc.manageLimits.now()); wait > 0 {
		return nil, svc.throttleError(wait)
	}
	svc.mistakes.Add(1)
	svc.Logger.WarnContext(context.WithoutCancel(c.ctx), "a page of the console has reported an error", texts...)
	return nil, nil
}
