package httpapi

import "github.com/bunting-flags/bunting/management"

// domainEndpoints are those of §4.4.
var domainEndpoints = []endpoint{
	{
		method: "GET", area: inOrganization, path: "/domains", scope: "organization:read", summary: "List domains",
		gives: management.List[management.Domain]{},
		do:    func(c *call) (any, error) { return c.service.Domains.List(c.ctx, c.standing, c.page()) },
	},
	{
		method: "POST", area: inOrganization, path: "/domains", scope: "organization:write", summary: "Add a domain",
		takes: management.DomainFields, status: 201, gives: management.Domain{},
		do: func(c *call) (any, error) { return c.service.Domains.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inOrganization, path: "/domains/{id}", scope: "organization:read", summary: "Read a domain",
		gives: management.Domain{},
		do:    func(c *call) (any, error) { return c.service.Domains.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inOrganization, path: "/domains/{id}", scope: "organization:write", summary: "Change a domain",
		takes: management.DomainFields, gives: management.Domain{}, do: updateDomain,
	},
	{
		method: "PUT", area: inOrganization, path: "/domains/{id}", scope: "organization:write", summary: "Replace a domain",
		takes: management.DomainFields, gives: management.Domain{}, do: updateDomain,
	},
	{
		method: "DELETE", area: inOrganization, path: "/domains/{id}", scope: "organization:write", summary: "Remove a domain",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.Domains.Delete(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "POST", area: inOrganization, path: "/domains/{id}/verify", scope: "organization:write", summary: "Look for the TXT record of a domain",
		gives: management.Domain{}, bare: true,
		do: func(c *call) (any, error) { return c.service.Domains.Verify(c.ctx, c.standing, c.part("id")) },
	},
}

func updateDomain(c *call) (any, error) {
	return c.service.Domains.Update(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}
