package manage

import (
	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management/organizations"
)

// roleEndpoints are the endpoints of roles (§5.1.3).
var roleEndpoints = frame.Resource(frame.InOrganization, "organization", func(s *frame.Server) organizations.Roles { return s.Management.Organizations.Roles }, append([]frame.Row[organizations.Roles]{
	frame.Paged("/roles", "List roles", organizations.Roles.List),
	frame.Create("/roles", "Create a role", organizations.Bodies.Role, organizations.Roles.Create),
	frame.Get("/roles/{role}", "Read a role", organizations.Roles.Get),
	frame.Update("/roles/{role}", "Change a role", "Replace a role", organizations.Bodies.Role, organizations.Roles.Update),
	frame.Remove("/roles/{role}", "Delete a role", organizations.Roles.Delete),
}, frame.Below(roleMembers, []frame.Row[organizations.RoleMembers]{
	frame.Paged("/roles/{role}/role_memberships", "List the members with a role", organizations.RoleMembers.List),
	frame.Create("/roles/{role}/role_memberships", "Assign a role to a member", organizations.Bodies.RoleMember, organizations.RoleMembers.Create),
	frame.Get("/roles/{role}/role_memberships/{id}", "Read the assignment of a role to a member", organizations.RoleMembers.Get),
	frame.Remove("/roles/{role}/role_memberships/{id}", "Remove a role from a member", organizations.RoleMembers.Delete),
})...))

// roleMembers returns the members with the role of the path.
func roleMembers(svc organizations.Roles, c *frame.Call) (organizations.RoleMembers, error) {
	return svc.Members(c.Part("role")), nil
}
