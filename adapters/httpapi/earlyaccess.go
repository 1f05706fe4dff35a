package httpapi

import "github.com/bunting-flags/bunting/management"

// earlyAccessEndpoints are those of §5.5, without the public list.
var earlyAccessEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/early_access_feature", scope: "early_access_feature:read", summary: "List early access features",
		gives: management.List[management.Feature]{},
		do:    func(c *call) (any, error) { return c.service.EarlyAccess.List(c.ctx, c.standing, c.page()) },
	},
	{
		method: "POST", area: inProject, path: "/early_access_feature", scope: "early_access_feature:write", summary: "Make an early access feature",
		takes: management.FeatureFields, status: 201, gives: management.Feature{},
		do: func(c *call) (any, error) { return c.service.EarlyAccess.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "GET", area: inProject, path: "/early_access_feature/{id}", scope: "early_access_feature:read", summary: "Read an early access feature",
		gives: management.Feature{},
		do:    func(c *call) (any, error) { return c.service.EarlyAccess.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/early_access_feature/{id}", scope: "early_access_feature:write", summary: "Change an early access feature",
		takes: management.FeatureChangeFields, gives: management.Feature{}, do: updateFeature,
	},
	{
		method: "PUT", area: inProject, path: "/early_access_feature/{id}", scope: "early_access_feature:write", summary: "Replace an early access feature",
		takes: management.FeatureChangeFields, gives: management.Feature{}, do: updateFeature,
	},
	{
		method: "DELETE", area: inProject, path: "/early_access_feature/{id}", scope: "early_access_feature:write", summary: "Remove an early access feature; its flag stays",
		status: 204,
		do:     func(c *call) (any, error) { return nil, c.service.EarlyAccess.Delete(c.ctx, c.standing, c.part("id")) },
	},
}

func updateFeature(c *call) (any, error) {
	return c.service.EarlyAccess.Update(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}
