package httpapi

import (
	"github.com/bunting-flags/bunting/management/organizations"
)

// roleEndpoints are the endpoints of roles (§5.1.3).
var roleEndpoints = resource(inOrganization, "organization", func(s *server) organizations.Service { return *s.Management.Organizations }, []row[organizations.Service]{
	paged("/roles", "List roles", organizations.Service.Roles),
	create("/roles", "Create a role", organizations.RoleFields, organizations.Service.CreateRole),
	get("/roles/{role}", "Read a role", organizations.Service.Role),
	update("/roles/{role}", "Change a role", "Replace a role", organizations.RoleFields, organizations.Service.UpdateRole),
	remove("/roles/{role}", "Delete a role", organizations.Service.DeleteRole),
	pagedOf("/roles/{role}/role_memberships", "List the members with a role", organizations.Service.RoleMembers),
	add("/roles/{role}/role_memberships", "Assign a role to a member", organizations.RoleMemberFields, organizations.Service.AddRoleMember),
	getOf("/roles/{role}/role_memberships/{id}", "Read the assignment of a role to a member", organizations.Service.RoleMember),
	removeOf("/roles/{role}/role_memberships/{id}", "Remove a role from a member", organizations.Service.RemoveRoleMember),
})
