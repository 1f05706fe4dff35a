package httpapi

import "github.com/bunting-flags/bunting/management"

// roleEndpoints are those of roles (§5.1.3).
var roleEndpoints = []endpoint{
	{
		method: "GET", area: inOrganization, path: "/roles", scope: "organization:read", summary: "List roles",
		gives: management.List[management.Role]{},
		do:    func(c *call) (any, error) { return c.service.Organizations.Roles(c.ctx, c.standing, c.page()) },
	},
	{
		method: "POST", area: inOrganization, path: "/roles", scope: "organization:write", summary: "Make a role",
		takes: management.RoleFields, status: 201, gives: management.Role{},
		do: func(c *call) (any, error) { return c.service.Organizations.CreateRole(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inOrganization, path: "/roles/{role}", scope: "organization:read", summary: "Read a role",
		gives: management.Role{},
		do:    func(c *call) (any, error) { return c.service.Organizations.Role(c.ctx, c.standing, c.part("role")) },
	},
	{
		method: "PATCH", area: inOrganization, path: "/roles/{role}", scope: "organization:write", summary: "Change a role",
		takes: management.RoleFields, gives: management.Role{}, do: updateRole,
	},
	{
		method: "PUT", area: inOrganization, path: "/roles/{role}", scope: "organization:write", summary: "Replace a role",
		takes: management.RoleFields, gives: management.Role{}, do: updateRole,
	},
	{
		method: "DELETE", area: inOrganization, path: "/roles/{role}", scope: "organization:write", summary: "Delete a role",
		status: 204,
		do: func(c *call) (any, error) {
			return nil, c.service.Organizations.DeleteRole(c.ctx, c.standing, c.part("role"))
		},
	},
	{
		method: "GET", area: inOrganization, path: "/roles/{role}/role_memberships", scope: "organization:read", summary: "List who has a role",
		gives: management.List[management.RoleMember]{},
		do: func(c *call) (any, error) {
			return c.service.Organizations.RoleMembers(c.ctx, c.standing, c.part("role"), c.page())
		},
	},
	{
		method: "POST", area: inOrganization, path: "/roles/{role}/role_memberships", scope: "organization:write", summary: "Give a member a role",
		takes: management.RoleMemberFields, status: 201, gives: management.RoleMember{},
		do: func(c *call) (any, error) {
			return c.service.Organizations.JoinRole(c.ctx, c.standing, c.part("role"), c.body)
		},
	},
	{
		method: "GET", area: inOrganization, path: "/roles/{role}/role_memberships/{id}", scope: "organization:read", summary: "Read a member's place in a role",
		gives: management.RoleMember{},
		do: func(c *call) (any, error) {
			return c.service.Organizations.RoleMember(c.ctx, c.standing, c.part("role"), c.part("id"))
		},
	},
	{
		method: "DELETE", area: inOrganization, path: "/roles/{role}/role_memberships/{id}", scope: "organization:write", summary: "Take a role from a member",
		status: 204,
		do: func(c *call) (any, error) {
			return nil, c.service.Organizations.LeaveRole(c.ctx, c.standing, c.part("role"), c.part("id"))
		},
	},
}

func updateRole(c *call) (any, error) {
	return c.service.Organizations.UpdateRole(c.ctx, c.standing, c.part("role"), c.body, c.r.Method == "PUT")
}
