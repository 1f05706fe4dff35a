package httpapi

import (
	"github.com/bunting-flags/bunting/management/organizations"
)

// roleEndpoints are the endpoints of roles (§5.1.3).
var roleEndpoints = resource(inOrganization, "organization", func(s *server) organizations.Service { return *s.Management.Organizations }, []row[organizations.Service]{
	paged("/roles", "List roles", organizations.Service.Roles),
	create("/roles", "Make a role", organizations.RoleFields, organizations.Service.CreateRole),
	get("/roles/{role}", "Read a role", organizations.Service.Role),
	update("/roles/{role}", "Change a role", "Replace a role", organizations.RoleFields, organizations.Service.UpdateRole),
	remove("/roles/{role}", "Delete a role", organizations.Service.DeleteRole),
	pagedOf("/roles/{role}/role_memberships", "List who has a role", organizations.Service.RoleMembers),
	add("/roles/{role}/role_memberships", "Give a member a role", organizations.RoleMemberFields, organizations.Service.AddRoleMember),
	getOf("/roles/{role}/role_memberships/{id}", "Read a member's place in a role", organizations.Service.RoleMember),
	removeOf("/roles/{role}/role_memberships/{id}", "Take a role from a member", organizations.Service.RemoveRoleMember),
})
