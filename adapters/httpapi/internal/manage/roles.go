package manage

import (
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/organizations"
)

// roleEndpoints are the endpoints of roles (§5.1.3).
var roleEndpoints = frame.Resource(frame.InOrganization, "organization", func(s *frame.Server) organizations.Service { return *s.Management.Organizations }, []frame.Row[organizations.Service]{
	frame.Paged("/roles", "List roles", organizations.Service.Roles),
	frame.Create("/roles", "Create a role", organizations.RoleFields, organizations.Service.CreateRole),
	frame.Get("/roles/{role}", "Read a role", organizations.Service.Role),
	frame.Update("/roles/{role}", "Change a role", "Replace a role", organizations.RoleFields, organizations.Service.UpdateRole),
	frame.Remove("/roles/{role}", "Delete a role", organizations.Service.DeleteRole),
	frame.PagedOf("/roles/{role}/role_memberships", "List the members with a role", organizations.Service.RoleMembers),
	frame.Add("/roles/{role}/role_memberships", "Assign a role to a member", organizations.RoleMemberFields, organizations.Service.AddRoleMember),
	frame.GetOf("/roles/{role}/role_memberships/{id}", "Read the assignment of a role to a member", organizations.Service.RoleMember),
	frame.RemoveOf("/roles/{role}/role_memberships/{id}", "Remove a role from a member", organizations.Service.RemoveRoleMember),
})
