package results

import (
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Endpoints returns the endpoints of the objects that consist of queries, for the services that
// exist.
func Endpoints(services *rooms.Rooms, slots Slots) (out []frame.Endpoint) {
	if services.Experiments != nil {
		out = slices.Concat(experimentEndpoints, experimentCallEndpoints, savedMetricEndpoints, holdoutEndpoints)
	}
	if services.Rollouts != nil {
		out = slices.Concat(out, rolloutEndpoints)
	}
	if services.Dashboards != nil {
		out = slices.Concat(out, dashboardEndpoints, sharingEndpoints, sharedEndpoints(slots), insightEndpoints, resultEndpoints, alertEndpoints)
	}
	return out
}

// QueryEndpoints returns the endpoints that run queries.
func QueryEndpoints(services *rooms.Rooms) []frame.Endpoint {
	out := queryEndpoints
	if services.Experiments != nil {
		out = slices.Concat(out, experimentResultEndpoints, experimentSeriesEndpoints)
	}
	if services.Surveys != nil {
		out = slices.Concat(out, surveyStatEndpoints)
	}
	return out
}
