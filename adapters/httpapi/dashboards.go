package httpapi

import (
	"mime"
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

func dashboardsOf(s *server) management.Dashboards { return s.Management.Dashboards }

// dashboardEndpoints are those of dashboards and their tiles (§4.1), and of who may
// edit a restricted one (§4.1.7).
var dashboardEndpoints = resource(inProject, "dashboard", dashboardsOf, []row[management.Dashboards]{
	by(http.MethodGet, "/dashboards", "List dashboards", listDashboards),
	create("/dashboards", "Make a dashboard", management.DashboardFields, management.Dashboards.Create),
	by(http.MethodPost, "/dashboards/create_from_template_json", "Make a dashboard out of a template in the body", createFromTemplate).taking(management.TemplateJSONFields).unlessPreferred(),
	get("/dashboards/{id}", "Read a dashboard with its tiles", management.Dashboards.Get),
	patch("/dashboards/{id}", "Change a dashboard, delete it softly or bring it back", "Change a dashboard", management.DashboardFields, management.Dashboards.Update),
	by(http.MethodDelete, "/dashboards/{id}", "Refused: dashboards are deleted softly, with PATCH", refuseDeletion[management.Dashboards]).answering(http.StatusMethodNotAllowed),
	change(http.MethodPatch, "/dashboards/{id}/move_tile", "Move a tile to another dashboard", management.MoveTileFields, management.Dashboards.MoveTile).unlessPreferred(),
	get("/dashboards/{id}/collaborators", "List the collaborators of a dashboard", management.Dashboards.Collaborators),
	add("/dashboards/{id}/collaborators", "Let somebody edit a restricted dashboard", management.CollaboratorFields, management.Dashboards.AddCollaborator),
	removeOf("/dashboards/{id}/collaborators/{user}", "Remove a collaborator", management.Dashboards.RemoveCollaborator),
})

// sharingEndpoints are those of links to dashboards (§4.1.8).
var sharingEndpoints = resource(inProject, "sharing_configuration", dashboardsOf, []row[management.Dashboards]{
	get("/dashboards/{id}/sharing", "Read how a dashboard is shared", management.Dashboards.Sharing),
	change(http.MethodPatch, "/dashboards/{id}/sharing", "Share a dashboard, or no longer", management.SharingFields, management.Dashboards.UpdateSharing),
	act(http.MethodPost, "/dashboards/{id}/sharing/refresh", "Replace the token of a link", management.Dashboards.RefreshSharing),
	add("/dashboards/{id}/sharing/passwords", "Add a password to a link", management.SharePasswordFields, management.Dashboards.AddSharePassword),
	removeOf("/dashboards/{id}/sharing/passwords/{password}", "Remove a password of a link", management.Dashboards.DeleteSharePassword),
})

func listDashboards(of management.Dashboards, c *call) (management.List[management.Dashboard], error) {
	v := c.listed
	f := management.DashboardFilter{
		Tags: v.Texts("tags"), ExcludeGenerated: v.Bool("exclude_generated"), Search: v.Text("search"), Pinned: v.Either("pinned"), Creators: v.Ints("created_by"),
	}
	return of.List(c.ctx, c.standing, f, c.page())
}

// refuseDeletion answers without looking for the thing, and without a body (A13).
func refuseDeletion[S any](_ S, c *call) (any, error) {
	c.w.Header().Set("Allow", "GET, HEAD, OPTIONS, PATCH, PUT")
	return answer{status: http.StatusMethodNotAllowed}, nil
}

// createFromTemplate takes JSON only (§4.1.6).
func createFromTemplate(of management.Dashboards, c *call) (*management.Dashboard, error) {
	given := c.r.Header.Get("Content-Type")
	if kind, _, _ := mime.ParseMediaType(given); given != "" && kind != "application/json" {
		return nil, problemMediaType.with("", "").say("Unsupported media type %q in request.", given)
	}
	return of.CreateFromTemplate(c.ctx, c.standing, c.body)
}
