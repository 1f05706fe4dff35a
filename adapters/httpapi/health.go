package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
)

// Health is how a server is (console.md N20).
type Health struct {
	// Status is the worst state of the checks.
	Status string        `json:"status"`
	Checks []HealthCheck `json:"checks"`
	// Build is the version of the program.
	Build string `json:"build"`
	// Rates are what was done in each minute of the last hour, the newest last: requests
	// for flags, accepted events, and answers of 500 and above.
	Rates struct {
		Minutes []management.Stamp `json:"minutes"`
		Flags   []uint64           `json:"flags"`
		Events  []uint64           `json:"events"`
		Errors  []uint64           `json:"errors"`
	} `json:"rates"`
}

// HealthCheck is one thing that is looked at.
type HealthCheck struct {
	Name string `json:"name"`
	// State is ok, warn or bad.
	State  string `json:"state"`
	Detail string `json:"detail"`
	// Since is when the state was first seen, at the earliest when the server started.
	Since management.Stamp `json:"since"`
	// Advice is what to do, empty where nothing is to be done.
	Advice string `json:"advice"`
}

// healthService is what tells how the server is, and is told when a page fails.
type healthService struct {
	*server
	log *slog.Logger
}

// healthEndpoints are about the server that answers (console.md N20, N21).
var healthEndpoints = resource(atRoot, "organization", healthOf, []row[healthService]{
	handle(http.MethodGet, "/health", "Say how this server is: what is checked, since when it is so, what to do; for administrators", healthNow),
	handle(http.MethodPost, "/console/report", "Report a mistake of a page of the console", reportMistake).withBody(mistakeFields).withScope(anyKey).withStatus(http.StatusNoContent),
})

func healthOf(s *server) healthService { return healthService{s, s.Logger} }

func healthNow(svc healthService, c *call) (*Health, error) {
	administers := func(m management.Membership) bool { return m.Level >= management.Admin }
	if !slices.ContainsFunc(c.scope.Caller.Memberships, administers) {
		return nil, management.Denied(management.MsgLevel)
	}
	if svc.Health == nil {
		return nil, management.Missing("Nothing watches how this server is.")
	}
	return svc.Health(c.ctx), nil
}

// maxMistake is how long a report may be, in bytes, all its texts together.
const maxMistake = 8 << 10

var mistakeFields = management.Fields{
	{Name: "message", Type: management.Text, Required: true, Blank: true},
	{Name: "stack", Type: management.Text, Null: true, Blank: true},
	{Name: "page", Type: management.Text, Null: true, Blank: true, Help: "the path of the page"},
	{Name: "build", Type: management.Text, Null: true, Blank: true, Help: "the version of the console"},
}

// reportMistake logs what a page has met. A page that fails in a circle is held up.
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
	svc.stats.mistakes.Add(1)
	svc.log.WarnContext(context.WithoutCancel(c.ctx), "a page of the console has met a mistake", texts...)
	return nil, nil
}
