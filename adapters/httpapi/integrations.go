package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/rooms"
)

// integrationEndpoints answer PostHog's set-up wizard, which asks what a project is
// connected to and takes no 404 (clients.md §14.3): nothing, since there are none.
var integrationEndpoints = resource(inProject, "project", managementOf, []row[*rooms.Rooms]{
	handle(http.MethodGet, "/integrations", "List integrations: there are none", listIntegrations),
})

// integration is what an entry would be.
type integration struct {
	ID   int64  `json:"id"`
	Kind string `json:"kind"`
}

func listIntegrations(*rooms.Rooms, *call) (management.List[integration], error) {
	return management.List[integration]{}, nil
}
