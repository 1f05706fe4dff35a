package results

import (
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Endpoints returns the endpoints of the objects that consist of queries, for the services that
// exist.
func Endpoints(services *rooms.Rooms, slots Slots) (out []frame.Endpoint) {
	if services.FeatureFlags != nil {
		out = slices.Concat(experimentEndpoints, experimentCallEndpoints, savedMetricEndpoints, holdoutEndpoints, rolloutEndpoints)
	}
	if services.Dashboards != nil {
		out = slices.Concat(out, dashboardEndpoints, sharingEndpoints, sharedEndpoints(slots), insightEndpoints, resultEndpoints, alertEndpoints)
	}
	return out
}

// QueryEndpoints returns the endpoints that run queries.
func QueryEndpoints(services *rooms.Rooms) []frame.Endpoint {
	if services.FeatureFlags == nil {
		return queryEndpoints
	}
	return slices.Concat(queryEndpoints, experimentResultEndpoints, experimentSeriesEndpoints, surveyStatEndpoints)
}
