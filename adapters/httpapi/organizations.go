package httpapi

import (
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// organizationEndpoints are the endpoints of organizations (§5.9) and of their usage (§5.12).
var organizationEndpoints = slices.Concat(
	resource(atRoot, "organization", managementOf, []row[*rooms.Rooms]{
		handle(http.MethodGet, "/organizations", "List organizations", listOrganizations),
		handle(http.MethodPost, "/organizations", "Create an organization with a first project", createOrganization).withBody(organizations.Fields).created(),
		handle(http.MethodGet, "/organizations/{organization}", "Read an organization", withScope(organizationScope, getOrganization)),
		handle(http.MethodPatch, "/organizations/{organization}", "Change an organization", withScope(organizationScope, updateOrganization)).withPut("Replace an organization").withBody(organizations.Fields),
		handle(http.MethodDelete, "/organizations/{organization}", "Delete an organization with all its projects", withScope(organizationScope, deleteOrganization)).withStatus(http.StatusNoContent).withProof(),
	}),
	resource(inOrganization, "organization", func(s *server) organizations.Service { return *s.Management.Organizations }, []row[organizations.Service]{
		read("/usage", "Read the usage of an organization in this month", organizations.Service.Usage),
	}),
)

func listOrganizations(svc *rooms.Rooms, c *call) (management.List[organizations.Organization], error) {
	return svc.Organizations.List(c.ctx, c.scope, c.page())
}

func createOrganization(svc *rooms.Rooms, c *call) (*organizations.Organization, error) {
	return svc.Organizations.Create(c.ctx, c.scope, c.body)
}

// organizationScope returns the caller's scope in the organization of the path. The error is not
// found if the caller is not a member.
func organizationScope(svc *rooms.Rooms, c *call) (*management.Scope, error) {
	return svc.VisibleOrganization(c.ctx, c.scope.Caller, c.part("organization"))
}

// withScope returns a handler that calls do with the scope that findScope returns for the path.
func withScope[T any](findScope func(*rooms.Rooms, *call) (*management.Scope, error), do func(*rooms.Rooms, *call, *management.Scope) (T, error)) func(*rooms.Rooms, *call) (T, error) {
	return func(svc *rooms.Rooms, c *call) (out T, err error) {
		scope, err := findScope(svc, c)
		if err != nil {
			return out, err
		}
		return do(svc, c, scope)
	}
}

func getOrganization(svc *rooms.Rooms, c *call, scope *management.Scope) (*organizations.Organization, error) {
	return svc.Organizations.Get(c.ctx, scope)
}

func updateOrganization(svc *rooms.Rooms, c *call, scope *management.Scope) (*organizations.Organization, error) {
	return svc.Organizations.Update(c.ctx, scope, c.body, c.replaces())
}

func deleteOrganization(svc *rooms.Rooms, c *call, scope *management.Scope) (any, error) {
	return nil, svc.Organizations.Delete(c.ctx, scope)
}
