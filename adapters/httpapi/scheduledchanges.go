package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// scheduledChangeEndpoints are the endpoints of scheduled changes of flags (§5.1.3).
var scheduledChangeEndpoints = resource(inProject, "feature_flag", func(s *server) featureflags.ScheduledChanges { return s.Management.FeatureFlags.ScheduledChanges }, []row[featureflags.ScheduledChanges]{
	handle(http.MethodGet, "/scheduled_changes", "List scheduled changes of flags", listScheduledChanges),
	create("/scheduled_changes", "Schedule a change of a flag", featureflags.ScheduledChangeFields, featureflags.ScheduledChanges.Create),
	get("/scheduled_changes/{id}", "Read a scheduled change", featureflags.ScheduledChanges.Get),
	update("/scheduled_changes/{id}", "Change a scheduled change", "Replace a scheduled change", featureflags.ScheduledChangeFields, featureflags.ScheduledChanges.Update),
	remove("/scheduled_changes/{id}", "Cancel a scheduled change", featureflags.ScheduledChanges.Delete),
})

func listScheduledChanges(svc featureflags.ScheduledChanges, c *call) (management.List[featureflags.ScheduledChange], error) {
	var model *string
	management.SetNull(c.listValues, "model_name", &model)
	return svc.List(c.ctx, c.scope, model, c.listValues.Text("record_id"), c.page())
}
