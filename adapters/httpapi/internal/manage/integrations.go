package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// integrationEndpoints are for PostHog's setup wizard, which lists the integrations of a project
// and does not accept 404 (clients.md §14.3). The list is always empty.
var integrationEndpoints = frame.Resource(frame.InProject, "project", managementOf, []frame.Row[*rooms.Rooms]{
	frame.Handle(http.MethodGet, "/integrations", "List integrations; the list is always empty", listIntegrations),
})

// integration is an entry of the list.
type integration struct {
	ID   int64  `json:"id"`
	Kind string `json:"kind"`
}

func listIntegrations(*rooms.Rooms, *frame.Call) (management.List[integration], error) {
	return management.List[integration]{}, nil
}
