package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management/dashboards"
)

// actionEndpoints are the endpoints for actions (clients.md §5).
var actionEndpoints = resource(inProject, "action", func(s *server) dashboards.Actions { return s.Management.Dashboards.Actions }, []row[dashboards.Actions]{
	paged("/actions", "List actions", dashboards.Actions.List),
	create("/actions", "Make an action", dashboards.ActionFields, dashboards.Actions.Create),
	get("/actions/{id}", "Read an action, also a deleted one", dashboards.Actions.Get),
	update("/actions/{id}", "Change an action, delete it softly or bring it back", "Replace an action", dashboards.ActionFields, dashboards.Actions.Update),
	handle(http.MethodDelete, "/actions/{id}", "Refused: actions are deleted softly, with PATCH", refuseDeletion[dashboards.Actions]).withStatus(http.StatusMethodNotAllowed),
	get("/actions/{id}/references", "What uses an action", dashboards.Actions.References),
})
