package httpapi

import (
	"mime"
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

// dashboardEndpoints are those of dashboards and their tiles (§4.1).
var dashboardEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/dashboards", scope: "dashboard:read", summary: "List dashboards",
		gives: management.List[management.Dashboard]{}, do: listDashboards,
	},
	{
		method: "POST", area: inProject, path: "/dashboards", scope: "dashboard:write", summary: "Make a dashboard",
		takes: management.DashboardFields, status: 201, gives: management.Dashboard{},
		do: func(c *call) (any, error) { return c.service.Dashboards.Create(c.ctx, c.standing, c.body) },
	},
	{
		method: "POST", area: inProject, path: "/dashboards/create_from_template_json", scope: "dashboard:write", summary: "Make a dashboard out of a template in the body",
		takes: management.TemplateJSONFields, gives: management.Dashboard{}, bare: true, do: createFromTemplate,
	},
	{
		method: "GET", area: inProject, path: "/dashboards/{id}", scope: "dashboard:read", summary: "Read a dashboard with its tiles",
		gives: management.Dashboard{},
		do:    func(c *call) (any, error) { return c.service.Dashboards.Get(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: "/dashboards/{id}", scope: "dashboard:write", summary: "Change a dashboard, delete it softly or bring it back",
		takes: management.DashboardFields, gives: management.Dashboard{}, do: updateDashboard,
	},
	{
		method: "PUT", area: inProject, path: "/dashboards/{id}", scope: "dashboard:write", summary: "Change a dashboard",
		takes: management.DashboardFields, gives: management.Dashboard{}, do: updateDashboard,
	},
	{
		method: "DELETE", area: inProject, path: "/dashboards/{id}", scope: "dashboard:write", summary: "Refused: dashboards are deleted softly, with PATCH",
		status: http.StatusMethodNotAllowed, do: refuseDeletion,
	},
	{
		method: "PATCH", area: inProject, path: "/dashboards/{id}/move_tile", scope: "dashboard:write", summary: "Move a tile to another dashboard",
		takes: management.MoveTileFields, gives: management.Dashboard{}, bare: true,
		do: func(c *call) (any, error) {
			return c.service.Dashboards.MoveTile(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
}

// collaboratorEndpoints are those of who may edit a restricted dashboard (§4.1.7).
var collaboratorEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: "/dashboards/{id}/collaborators", scope: "dashboard:read", summary: "List the collaborators of a dashboard",
		gives: []management.Collaborator{},
		do: func(c *call) (any, error) {
			return c.service.Dashboards.Collaborators(c.ctx, c.standing, c.part("id"))
		},
	},
	{
		method: "POST", area: inProject, path: "/dashboards/{id}/collaborators", scope: "dashboard:write", summary: "Let somebody edit a restricted dashboard",
		takes: management.CollaboratorFields, status: 201, gives: management.Collaborator{},
		do: func(c *call) (any, error) {
			return c.service.Dashboards.AddCollaborator(c.ctx, c.standing, c.part("id"), c.body)
		},
	},
	{
		method: "DELETE", area: inProject, path: "/dashboards/{id}/collaborators/{user}", scope: "dashboard:write", summary: "Remove a collaborator",
		status: 204,
		do: func(c *call) (any, error) {
			return nil, c.service.Dashboards.RemoveCollaborator(c.ctx, c.standing, c.part("id"), c.part("user"))
		},
	},
}

func listDashboards(c *call) (any, error) {
	v := c.listed
	f := management.DashboardFilter{
		Tags: v.Texts("tags"), ExcludeGenerated: v.Bool("exclude_generated"), Search: v.Text("search"), Pinned: v.Either("pinned"), Creators: v.Ints("created_by"),
	}
	return c.service.Dashboards.List(c.ctx, c.standing, f, c.page())
}

func updateDashboard(c *call) (any, error) {
	return c.service.Dashboards.Update(c.ctx, c.standing, c.part("id"), c.body)
}

// refuseDeletion answers without looking for the dashboard, and without a body (A13).
func refuseDeletion(c *call) (any, error) {
	c.w.Header().Set("Allow", "GET, HEAD, OPTIONS, PATCH, PUT")
	return answer{status: http.StatusMethodNotAllowed}, nil
}

// createFromTemplate takes JSON only (§4.1.6).
func createFromTemplate(c *call) (any, error) {
	given := c.r.Header.Get("Content-Type")
	if kind, _, _ := mime.ParseMediaType(given); given != "" && kind != "application/json" {
		return nil, problemMediaType.with("", "").say("Unsupported media type %q in request.", given)
	}
	return c.service.Dashboards.CreateFromTemplate(c.ctx, c.standing, c.body)
}
