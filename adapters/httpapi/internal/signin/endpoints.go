package signin

import (
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Endpoints returns the endpoints for signing in, for invitations and for the account of the user.
func Endpoints(services *rooms.Rooms) []frame.Endpoint {
	if services.Organizations == nil {
		return nil
	}
	return slices.Concat(accountEndpoints, inviteEndpoints, confirmEndpoints, sessionEndpoints, passkeyEndpoints, oidcEndpoints, programEndpoints)
}
