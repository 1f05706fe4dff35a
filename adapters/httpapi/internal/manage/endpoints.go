package manage

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/streams"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Endpoints returns the endpoints of managed objects, for the services that exist. Each table is
// in the file of its resource. health returns the state of the server and may be nil; mistakes
// counts the errors that pages of the console report.
func Endpoints[H any](services *rooms.Rooms, t *streams.Streams, backups Backups, health func(context.Context) *H, mistakes *atomic.Uint64) []frame.Endpoint {
	out := slices.Concat(activityEndpoints, organizationActivityEndpoints, changeEndpoints(t), accessEndpoints)
	if services.FeatureFlags != nil {
		out = slices.Concat(out,
			featureFlagEndpoints,
			flagsCodeEndpoints,
			flagCopyEndpoints,
			flagExplainEndpoints, flagExposureEndpoints, personFlagEndpoints, personCohortEndpoints,
			flagActivityEndpoints,
			scheduledChangeEndpoints, changeRequestEndpoints,
			cohortEndpoints,
			earlyAccessEndpoints,
			surveyEndpoints,
			flagAccessEndpoints,
		)
	}
	if services.Organizations != nil {
		out = slices.Concat(out,
			organizationEndpoints,
			domainEndpoints,
			memberEndpoints,
			roleEndpoints,
			projectEndpoints,
			integrationEndpoints,
			instanceEndpoints(backups),
			healthEndpoints(health, mistakes),
		)
	}
	if services.Dashboards != nil {
		out = slices.Concat(out, insightActivityEndpoints, actionEndpoints, annotationEndpoints, dashboardAccessEndpoints)
	}
	if services.ErrorTracking != nil {
		out = slices.Concat(out, errorTrackingEndpoints)
	}
	if services.BatchExports != nil {
		out = slices.Concat(out, batchExportEndpoints)
	}
	return out
}
