package httpapi

import (
	"net/http"
	"slices"
)

// commonEndpoints returns the endpoints that are always served.
func (h *Handler) commonEndpoints(c *Config) []endpoint {
	return slices.Concat(
		h.sdk.scriptEndpoints(),
		serving(forMonitors, "/_liveness", methods{"GET": getLiveness}),
		serving(forMonitors, "/_readiness", methods{"GET": readiness(c.Ready)}),
		serving(forMonitors, "/", methods{"GET": rootOf(c)}),
	)
}

// tables returns the endpoints that this server has, which depend on its Config.
func (h *Handler) tables(c *Config) []endpoint {
	out := h.commonEndpoints(c)
	if c.Decider != nil {
		out = slices.Concat(out, h.sdk.flagEndpoints(), h.sdk.ofrepEndpoints())
	}
	if c.Intake != nil {
		out = append(out, h.intake.endpoints()...)
	}
	if c.Intake != nil && c.Decider != nil {
		out = append(out, h.intake.pageEndpoints()...)
	}
	if c.Management == nil {
		return out
	}
	if c.History != nil {
		out = append(out, historyRows(c.Management, h.streams)...)
	}
	if c.Queries != nil {
		out = append(out, queryRows(c.Management)...)
	}
	out = append(out, h.managementRows(c)...)
	return slices.DeleteFunc(out, func(e endpoint) bool { return e.area == inSignIn && !servesSignIn(h.server, &e) })
}

// servesSignIn reports whether an endpoint for signing in is served. If the service has its own
// sign-in, only the endpoints that change nothing are.
func servesSignIn(s *server, e *endpoint) bool {
	return s.hasSessions() || s.SignIn != nil && e.method == http.MethodGet && e.path != "/sessions"
}

// managementRows returns the endpoints of the management API for the services that exist.
func (h *Handler) managementRows(c *Config) []endpoint {
	return slices.Concat(
		schemaEndpoint(func() []endpoint { return h.table }),
		managedRows(c.Management, h.streams, backupsOf(c.Backup), c.Health, &h.mistakes),
		resultRows(c.Management, h.shared),
		signInRows(c.Management),
	)
}
