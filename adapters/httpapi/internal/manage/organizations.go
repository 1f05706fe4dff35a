package manage

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// organizationEndpoints are the endpoints of organizations (§5.9) and of their usage (§5.12).
var organizationEndpoints = slices.Concat(
	frame.Resource(frame.AtRoot, "organization", managementOf, []frame.Row[*rooms.Rooms]{
		frame.Handle(http.MethodGet, "/organizations", "List organizations", listOrganizations),
		frame.Handle(http.MethodPost, "/organizations", "Create an organization with a first project", createOrganization).WithBody(organizations.Fields).Created(),
		frame.Handle(http.MethodGet, "/organizations/{organization}", "Read an organization", withScope(organizationScope, getOrganization)),
		frame.Handle(http.MethodPatch, "/organizations/{organization}", "Change an organization", withScope(organizationScope, updateOrganization)).WithPut("Replace an organization").WithBody(organizations.Fields),
		frame.Handle(http.MethodDelete, "/organizations/{organization}", "Delete an organization with all its projects", withScope(organizationScope, deleteOrganization)).WithStatus(http.StatusNoContent).WithProof(),
	}),
	frame.Resource(frame.InOrganization, "organization", func(s *frame.Server) organizations.Service { return *s.Management.Organizations }, []frame.Row[organizations.Service]{
		frame.Read("/usage", "Read the usage of an organization in this month", organizations.Service.Usage),
	}),
)

func listOrganizations(svc *rooms.Rooms, c *frame.Call) (management.List[organizations.Organization], error) {
	return svc.Organizations.List(c.Ctx, c.Scope, c.Page())
}

func createOrganization(svc *rooms.Rooms, c *frame.Call) (*organizations.Organization, error) {
	return svc.Organizations.Create(c.Ctx, c.Scope, c.Body)
}

// organizationScope returns the caller's scope in the organization of the path. The error is not
// found if the caller is not a member.
func organizationScope(svc *rooms.Rooms, c *frame.Call) (*management.Scope, error) {
	return svc.VisibleOrganization(c.Ctx, c.Scope.Caller, c.Part("organization"))
}

// WithScope returns a handler that calls do with the scope that findScope returns for the path.
func withScope[T any](findScope func(*rooms.Rooms, *frame.Call) (*management.Scope, error), do func(*rooms.Rooms, *frame.Call, *management.Scope) (T, error)) func(*rooms.Rooms, *frame.Call) (T, error) {
	return func(svc *rooms.Rooms, c *frame.Call) (out T, err error) {
		scope, err := findScope(svc, c)
		if err != nil {
			return out, err
		}
		return do(svc, c, scope)
	}
}

func getOrganization(svc *rooms.Rooms, c *frame.Call, scope *management.Scope) (*organizations.Organization, error) {
	return svc.Organizations.Get(c.Ctx, scope)
}

func updateOrganization(svc *rooms.Rooms, c *frame.Call, scope *management.Scope) (*organizations.Organization, error) {
	return svc.Organizations.Update(c.Ctx, scope, c.Body, c.Replaces())
}

func deleteOrganization(svc *rooms.Rooms, c *frame.Call, scope *management.Scope) (any, error) {
	return nil, svc.Organizations.Delete(c.Ctx, scope)
}
