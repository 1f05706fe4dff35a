package httpapi

import "github.com/bunting-flags/bunting/management"

// roleEndpoints are those of roles (§5.1.3).
var roleEndpoints = resource(inOrganization, "organization", func(s *server) management.Organizations { return s.Management.Organizations }, []row[management.Organizations]{
	paged("/roles", "List roles", management.Organizations.Roles),
	create("/roles", "Make a role", management.RoleFields, management.Organizations.CreateRole),
	get("/roles/{role}", "Read a role", management.Organizations.Role),
	update("/roles/{role}", "Change a role", "Replace a role", management.RoleFields, management.Organizations.UpdateRole),
	remove("/roles/{role}", "Delete a role", management.Organizations.DeleteRole),
	pagedOf("/roles/{role}/role_memberships", "List who has a role", management.Organizations.RoleMembers),
	add("/roles/{role}/role_memberships", "Give a member a role", management.RoleMemberFields, management.Organizations.JoinRole),
	getOf("/roles/{role}/role_memberships/{id}", "Read a member's place in a role", management.Organizations.RoleMember),
	removeOf("/roles/{role}/role_memberships/{id}", "Take a role from a member", management.Organizations.LeaveRole),
})
