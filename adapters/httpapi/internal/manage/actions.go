package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// actionEndpoints are the endpoints for actions (clients.md §5).
var actionEndpoints = frame.Resource(frame.InProject, "action", func(s *frame.Server) dashboards.Actions { return s.Management.Dashboards.Actions }, []frame.Row[dashboards.Actions]{
	frame.Paged("/actions", "List actions", dashboards.Actions.List),
	frame.Create("/actions", "Create an action", dashboards.Bodies.Action, dashboards.Actions.Create),
	frame.Get("/actions/{id}", "Read an action, including a deleted one", dashboards.Actions.Get),
	frame.Update("/actions/{id}", "Change, soft-delete or restore an action", "Replace an action", dashboards.Bodies.Action, dashboards.Actions.Update),
	frame.Handle(http.MethodDelete, "/actions/{id}", "Not allowed: use PATCH with deleted: true to delete an action", frame.RefuseDeletion[dashboards.Actions]).WithStatus(http.StatusMethodNotAllowed),
	frame.Get("/actions/{id}/references", "List what uses an action", dashboards.Actions.References),
})
