package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/history"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/manage"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/openapi"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/results"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/signin"
)

// commonEndpoints returns the endpoints that are always served.
func (h *Handler) commonEndpoints(c *Config) []frame.Endpoint {
	return slices.Concat(
		h.sdk.ScriptEndpoints(),
		frame.Serving(frame.ForMonitors, "/_liveness", frame.Methods{"GET": getLiveness}),
		frame.Serving(frame.ForMonitors, "/_readiness", frame.Methods{"GET": readiness(c.Ready)}),
		frame.Serving(frame.ForMonitors, "/", frame.Methods{"GET": rootOf(c)}),
	)
}

// tables returns the endpoints that this server has, which depend on its Config.
func (h *Handler) tables(c *Config) []frame.Endpoint {
	out := h.commonEndpoints(c)
	if c.Decider != nil {
		out = slices.Concat(out, h.sdk.FlagEndpoints(), h.sdk.OFREPEndpoints())
	}
	if c.Intake != nil {
		out = append(out, h.intake.Endpoints()...)
	}
	if c.Intake != nil && c.Decider != nil {
		out = append(out, h.intake.PageEndpoints()...)
	}
	if c.Management == nil {
		return out
	}
	if c.History != nil {
		out = append(out, history.Endpoints(c.Management, h.streams)...)
	}
	if c.Queries != nil {
		out = append(out, results.QueryEndpoints(c.Management)...)
	}
	out = append(out, h.managementRows(c)...)
	return slices.DeleteFunc(out, func(e frame.Endpoint) bool { return e.Area == frame.InSignIn && !servesSignIn(h.server, &e) })
}

// servesSignIn reports whether an endpoint for signing in is served. If the service has its own
// sign-in, only the endpoints that change nothing are.
func servesSignIn(s *frame.Server, e *frame.Endpoint) bool {
	return s.HasSessions() || s.SignIn != nil && e.Method == http.MethodGet && e.Path != "/sessions"
}

// managementRows returns the endpoints of the management API for the services that exist.
func (h *Handler) managementRows(c *Config) []frame.Endpoint {
	return slices.Concat(
		openapi.Endpoints(func() []frame.Endpoint { return h.table }),
		manage.Endpoints(c.Management, h.streams, backupsOf(c.Backup), c.Health, &h.mistakes),
		results.Endpoints(c.Management, h.shared),
		signin.Endpoints(c.Management),
	)
}
