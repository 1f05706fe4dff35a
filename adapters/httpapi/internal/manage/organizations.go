package manage

import (
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// organizationEndpoints are the endpoints of organizations (§5.9) and of their usage (§5.12).
var organizationEndpoints = slices.Concat(
	frame.Resource(frame.AtRoot, "organization", organizationsOf, []frame.Row[organizations.Service]{
		frame.Paged("/organizations", "List organizations", organizations.Service.List),
		frame.Create("/organizations", "Create an organization with a first project", organizations.Bodies.Organization, organizations.Service.Create),
	}),
	frame.Resource(frame.AtRoot, "organization", managementOf, frame.Below(organizationOf, []frame.Row[organizations.Service]{
		frame.Get("/organizations/{organization}", "Read an organization", organizations.Service.Get),
		frame.Update("/organizations/{organization}", "Change an organization", "Replace an organization", organizations.Bodies.Organization, organizations.Service.Update),
		frame.Remove("/organizations/{organization}", "Delete an organization with all its projects", organizations.Service.Delete).WithProof(),
	})),
	frame.Resource(frame.InOrganization, "organization", organizationsOf, []frame.Row[organizations.Service]{
		frame.Read("/usage", "Read the usage of an organization in this month", organizations.Service.Usage),
	}),
)

func organizationsOf(s *frame.Server) organizations.Service { return *s.Management.Organizations }

// organizationOf sets the scope of a call to that in the organization of the path. The error is not
// found if the caller is not a member.
func organizationOf(svc *rooms.Rooms, c *frame.Call) (_ organizations.Service, err error) {
	c.Scope, err = svc.VisibleOrganization(c.Ctx, c.Scope.Caller, c.Part("organization"))
	return *svc.Organizations, err
}
