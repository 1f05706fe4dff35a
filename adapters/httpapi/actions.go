package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management/dashboards"
)

// actionEndpoints are the endpoints for actions (clients.md §5).
var actionEndpoints = resource(inProject, "action", func(s *server) dashboards.Actions { return s.Management.Dashboards.Actions }, []row[dashboards.Actions]{
	paged("/actions", "List actions", dashboards.Actions.List),
	create("/actions", "Create an action", dashboards.ActionFields, dashboards.Actions.Create),
	get("/actions/{id}", "Read an action, including a deleted one", dashboards.Actions.Get),
	update("/actions/{id}", "Change, soft-delete or restore an action", "Replace an action", dashboards.ActionFields, dashboards.Actions.Update),
	handle(http.MethodDelete, "/actions/{id}", "Not allowed: use PATCH with deleted: true to delete an action", refuseDeletion[dashboards.Actions]).withStatus(http.StatusMethodNotAllowed),
	get("/actions/{id}/references", "List what uses an action", dashboards.Actions.References),
})
