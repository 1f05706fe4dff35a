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
	out = slices.Concat(out,
		when(services.FeatureFlags != nil, featureFlagEndpoints, flagsCodeEndpoints, flagCopyEndpoints, flagExplainEndpoints, flagExposureEndpoints, personFlagEndpoints),
		when(services.Cohorts != nil, personCohortEndpoints),
		when(services.FeatureFlags != nil, flagActivityEndpoints),
		when(services.Cohorts != nil, cohortActivityEndpoints),
		when(services.Changes != nil, scheduledChangeEndpoints, changeRequestEndpoints),
		when(services.Cohorts != nil, cohortEndpoints),
		when(services.Cohorts != nil && services.FeatureFlags != nil, cohortUserEndpoints),
		when(services.EarlyAccess != nil, earlyAccessEndpoints),
		when(services.Surveys != nil, surveyEndpoints),
		when(services.FeatureFlags != nil, accessOf("feature_flags")),
		when(services.Cohorts != nil, accessOf("cohorts")),
		when(services.Experiments != nil, accessOf("experiments")),
		when(services.Surveys != nil, accessOf("surveys")),
	)
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

// when returns the endpoints of the tables, or none if their service does not exist.
func when(exists bool, tables ...[]frame.Endpoint) []frame.Endpoint {
	if !exists {
		return nil
	}
	return slices.Concat(tables...)
}
