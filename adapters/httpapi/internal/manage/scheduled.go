package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/changes"
)

// scheduledChangeEndpoints are the endpoints of scheduled changes of flags (§5.1.3).
var scheduledChangeEndpoints = frame.Resource(frame.InProject, "feature_flag", func(s *frame.Server) changes.Scheduled { return s.Management.Changes.Scheduled }, []frame.Row[changes.Scheduled]{
	frame.Handle(http.MethodGet, "/scheduled_changes", "List scheduled changes of flags", listScheduledChanges),
	frame.Create("/scheduled_changes", "Schedule a change of a flag", changes.Bodies.Scheduled, changes.Scheduled.Create),
	frame.Get("/scheduled_changes/{id}", "Read a scheduled change", changes.Scheduled.Get),
	frame.Update("/scheduled_changes/{id}", "Change a scheduled change", "Replace a scheduled change", changes.Bodies.Scheduled, changes.Scheduled.Update),
	frame.Remove("/scheduled_changes/{id}", "Cancel a scheduled change", changes.Scheduled.Delete),
})

func listScheduledChanges(svc changes.Scheduled, c *frame.Call) (management.List[changes.ScheduledChange], error) {
	var model *string
	management.SetNull(c.ListValues, "model_name", &model)
	return svc.List(c.Ctx, c.Scope, model, c.ListValues.Text("record_id"), c.Page())
}
