package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// scheduledChangeEndpoints are those of changes of flags at a later time
// (§5.1.3).
var scheduledChangeEndpoints = resource(inProject, "feature_flag", func(s *server) management.ScheduledChanges { return s.Management.ScheduledChanges }, []row[management.ScheduledChanges]{
	by(http.MethodGet, "/scheduled_changes", "List scheduled changes of flags", listScheduledChanges),
	create("/scheduled_changes", "Schedule a change of a flag", management.ScheduledChangeFields, management.ScheduledChanges.Create),
	get("/scheduled_changes/{id}", "Read a scheduled change", management.ScheduledChanges.Get),
	update("/scheduled_changes/{id}", "Change a scheduled change", "Replace a scheduled change", management.ScheduledChangeFields, management.ScheduledChanges.Update),
	remove("/scheduled_changes/{id}", "Cancel a scheduled change", management.ScheduledChanges.Delete),
})

func listScheduledChanges(of management.ScheduledChanges, c *call) (management.List[management.ScheduledChange], error) {
	var model *string
	management.SetNull(c.listed, "model_name", &model)
	return of.List(c.ctx, c.standing, model, c.listed.Text("record_id"), c.page())
}
