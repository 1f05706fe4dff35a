package httpapi

import "github.com/bunting-flags/bunting/management"

// memberEndpoints are those of members of organizations (§4.6).
var memberEndpoints = []endpoint{
	{
		method: "GET", area: inOrganization, path: "/members", scope: "organization_member:read", summary: "List members",
		gives: management.List[management.OrganizationMember]{},
		do: func(c *call) (any, error) {
			return c.service.Members.List(c.ctx, c.standing, management.MemberQuery{
				Page: c.page(), Email: c.listed.Text("email"), Search: c.listed.Text("search"),
				UpdatedAfter: c.listed.Time("updated_after"), Latest: c.listed.Text("order") == "-joined_at",
			})
		},
	},
	{
		method: "PATCH", area: inOrganization, path: "/members/{user}", scope: "organization_member:write", summary: "Change the level of a member",
		takes: management.MemberFields, gives: management.OrganizationMember{}, do: updateMember,
	},
	{
		method: "PUT", area: inOrganization, path: "/members/{user}", scope: "organization_member:write", summary: "Change the level of a member",
		takes: management.MemberFields, gives: management.OrganizationMember{}, do: updateMember,
	},
	{
		method: "DELETE", area: inOrganization, path: "/members/{user}", scope: "organization_member:write", summary: "End a membership",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.Members.Delete(c.ctx, c.standing, c.part("user")) },
	},
	{
		method: "GET", area: inOrganization, path: "/members/{user}/scoped_api_keys", scope: "organization_member:read", summary: "List a member's keys that open the organization",
		gives: management.MemberKeys{},
		do:    func(c *call) (any, error) { return c.service.Members.Keys(c.ctx, c.standing, c.part("user")) },
	},
}

func updateMember(c *call) (any, error) {
	return c.service.Members.Update(c.ctx, c.standing, c.part("user"), c.body)
}
