package httpapi

import "github.com/bunting-flags/bunting/management"

const (
	readSharing  = "sharing_configuration:read"
	writeSharing = "sharing_configuration:write"
)

// sharingEndpoints are those of links to dashboards (§4.1.8).
var sharingEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/dashboards/{id}/sharing", scope: readSharing, summary: "Read how a dashboard is shared",
		gives: management.Sharing{},
		do:    func(c *call) (any, error) { return c.service.Dashboards.Sharing(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/dashboards/{id}/sharing", scope: writeSharing, summary: "Share a dashboard, or no longer",
		takes: management.SharingFields, gives: management.Sharing{},
		do: func(c *call) (any, error) {
			return c.service.Dashboards.UpdateSharing(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
	{
		method: "POST", area: inProject, path: "/dashboards/{id}/sharing/refresh", scope: writeSharing, summary: "Replace the token of a link",
		gives: management.Sharing{},
		do: func(c *call) (any, error) {
			return c.service.Dashboards.RefreshSharing(c.ctx, c.standing, c.part("id"))
		},
	},
	{
		method: "POST", area: inProject, path: "/dashboards/{id}/sharing/passwords", scope: writeSharing, summary: "Add a password to a link",
		takes: management.SharePasswordFields, status: 201, gives: management.SharePassword{},
		do: func(c *call) (any, error) {
			return c.service.Dashboards.AddSharePassword(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
	{
		method: "DELETE", area: inProject, path: "/dashboards/{id}/sharing/passwords/{password}", scope: writeSharing, summary: "Remove a password of a link",
		status: 204,
		do: func(c *call) (any, error) {
			return nil, c.service.Dashboards.DeleteSharePassword(c.ctx, c.standing, c.part("id"), c.part("password"))
		},
	},
}
