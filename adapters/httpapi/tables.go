package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management/rooms"
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
	if c.History != nil && c.Management != nil {
		out = append(out, historyRows(c.Management, h.streams)...)
	}
	if c.Queries != nil && c.Management != nil {
		out = append(out, queryEndpoints...)
		if c.Management.FeatureFlags != nil {
			out = append(out, slices.Concat(experimentResultEndpoints, experimentSeriesEndpoints, surveyStatEndpoints)...)
		}
	}
	if c.Management != nil {
		out = append(out, h.managementRows(c)...)
	}
	return slices.DeleteFunc(out, func(e endpoint) bool { return e.area == inSignIn && !h.server.servesSignIn(&e) })
}

// servesSignIn reports whether an endpoint for signing in is served. If the service has its own
// sign-in, only the endpoints that change nothing are.
func (s *server) servesSignIn(e *endpoint) bool {
	return s.hasSessions() || s.SignIn != nil && e.method == http.MethodGet && e.path != "/sessions"
}

// managementRows returns the endpoints of the management API for the services that exist.
func (h *Handler) managementRows(c *Config) []endpoint {
	description := &apiDocument{table: func() []endpoint { return h.table }}
	out := slices.Concat(activityEndpoints, organizationActivityEndpoints, changeEndpoints(h.streams), accessEndpoints, schemaEndpoint(description))
	for _, table := range h.managementTables(c) {
		if table.in(c.Management) {
			out = slices.Concat(out, slices.Concat(table.tables...))
		}
	}
	return out
}

// managementTable has the tables of endpoints, one for each resource, that require one service.
type managementTable struct {
	in     func(*rooms.Rooms) bool
	tables [][]endpoint
}

// managementTables returns the tables of endpoints, grouped by the service that they require. Each
// table is in the file of its resource.
func (h *Handler) managementTables(c *Config) []managementTable {
	return []managementTable{
		{func(r *rooms.Rooms) bool { return r.FeatureFlags != nil }, [][]endpoint{
			featureFlagEndpoints,
			flagsCodeEndpoints,
			flagCopyEndpoints,
			flagExplainEndpoints, flagExposureEndpoints, personFlagEndpoints, personCohortEndpoints,
			flagActivityEndpoints,
			scheduledChangeEndpoints, changeRequestEndpoints,
			cohortEndpoints,
			earlyAccessEndpoints,
			surveyEndpoints,
			experimentEndpoints, experimentCallEndpoints, savedMetricEndpoints, holdoutEndpoints, rolloutEndpoints,
			flagAccessEndpoints,
		}},
		{func(r *rooms.Rooms) bool { return r.Organizations != nil }, [][]endpoint{
			organizationEndpoints,
			domainEndpoints,
			memberEndpoints,
			roleEndpoints,
			accountEndpoints,
			projectEndpoints,
			integrationEndpoints,
			inviteEndpoints,
			confirmEndpoints,
			sessionEndpoints,
			passkeyEndpoints,
			oidcEndpoints,
			programEndpoints,
			instanceEndpoints(backupsOf(c.Backup)),
			healthEndpoints(c.Health, &h.mistakes),
		}},
		{func(r *rooms.Rooms) bool { return r.Dashboards != nil }, [][]endpoint{
			dashboardEndpoints,
			sharingEndpoints,
			sharedEndpoints(h.shared),
			insightEndpoints,
			insightActivityEndpoints,
			resultEndpoints,
			actionEndpoints,
			annotationEndpoints,
			dashboardAccessEndpoints,
			alertEndpoints,
		}},
		{func(r *rooms.Rooms) bool { return r.ErrorTracking != nil }, [][]endpoint{errorTrackingEndpoints}},
		{func(r *rooms.Rooms) bool { return r.BatchExports != nil }, [][]endpoint{batchExportEndpoints}},
	}
}
