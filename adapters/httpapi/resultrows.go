package httpapi

import (
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/rooms"
)

// resultRows returns the endpoints of the objects that consist of queries, for the services that
// exist.
func resultRows(services *rooms.Rooms, slots sharedSlots) (out []frame.Endpoint) {
	if services.FeatureFlags != nil {
		out = slices.Concat(experimentEndpoints, experimentCallEndpoints, savedMetricEndpoints, holdoutEndpoints, rolloutEndpoints)
	}
	if services.Dashboards != nil {
		out = slices.Concat(out, dashboardEndpoints, sharingEndpoints, sharedEndpoints(slots), insightEndpoints, resultEndpoints, alertEndpoints)
	}
	return out
}

// queryRows returns the endpoints that run queries.
func queryRows(services *rooms.Rooms) []frame.Endpoint {
	if services.FeatureFlags == nil {
		return queryEndpoints
	}
	return slices.Concat(queryEndpoints, experimentResultEndpoints, experimentSeriesEndpoints, surveyStatEndpoints)
}
