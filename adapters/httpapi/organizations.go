package httpapi

import "github.com/bunting-flags/bunting/management"

// organizationEndpoints are those of organizations (§5.9), of what they use
// (§5.12) and of their log (§5.11).
var organizationEndpoints = []endpoint{
	{
		method: "GET", area: atRoot, path: "/organizations", scope: "organization:read", summary: "List organizations",
		gives: management.List[management.Organization]{},
		do:    func(c *call) (any, error) { return c.service.Organizations.List(c.ctx, c.standing, c.page()) },
	},
	{
		method: "POST", area: atRoot, path: "/organizations", scope: "organization:write", summary: "Make an organization with a first project",
		takes: management.OrganizationFields, status: 201, gives: management.Organization{},
		do: func(c *call) (any, error) { return c.service.Organizations.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: atRoot, path: "/organizations/{organization}", scope: "organization:read", summary: "Read an organization",
		gives: management.Organization{},
		do: inOwnOrganization(func(c *call) (any, error) {
			return c.service.Organizations.Get(c.ctx, c.standing)
		}),
	},
	{
		method: "PATCH", area: atRoot, path: "/organizations/{organization}", scope: "organization:write", summary: "Change an organization",
		takes: management.OrganizationFields, gives: management.Organization{}, do: inOwnOrganization(updateOrganization),
	},
	{
		method: "PUT", area: atRoot, path: "/organizations/{organization}", scope: "organization:write", summary: "Replace an organization",
		takes: management.OrganizationFields, gives: management.Organization{}, do: inOwnOrganization(updateOrganization),
	},
	{
		method: "DELETE", area: atRoot, path: "/organizations/{organization}", scope: "organization:write", summary: "Delete an organization with all its projects",
		status: 204,
		do: inOwnOrganization(func(c *call) (any, error) {
			return nil, c.service.Organizations.Delete(c.ctx, c.standing)
		}),
	},
	{
		method: "GET", area: inOrganization, path: "/usage", scope: "organization:read", summary: "Read what an organization has used this month",
		gives: management.Usage{},
		do:    func(c *call) (any, error) { return c.service.Organizations.Usage(c.ctx, c.standing) },
	},
	{
		method: "GET", area: inOrganization, path: "/activity_log", scope: "activity_log:read", summary: "Read who changed what in an organization",
		query: activityQuery, gives: activityBody{}, do: activityLog,
	},
}

// inOwnOrganization does something in the organization of the path, which is not
// there for those who are no members.
func inOwnOrganization(do func(c *call) (any, error)) func(c *call) (any, error) {
	return func(c *call) (any, error) {
		st, err := c.service.OwnOrganization(c.ctx, c.standing.Caller, c.part("organization"))
		if err != nil {
			return nil, err
		}
		c.standing = st
		return do(c)
	}
}

func updateOrganization(c *call) (any, error) {
	return c.service.Organizations.Update(c.ctx, c.standing, c.body, c.r.Method == "PUT")
}
