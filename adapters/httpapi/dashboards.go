package httpapi

import (
	"mime"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

func dashboardsOf(s *server) dashboards.Dashboards { return s.Management.Dashboards.Dashboards }

// dashboardEndpoints are the endpoints for dashboards and their tiles (§4.1), and for the
// collaborators of restricted dashboards (§4.1.7).
var dashboardEndpoints = resource(inProject, "dashboard", dashboardsOf, []row[dashboards.Dashboards]{
	handle(http.MethodGet, "/dashboards", "List dashboards", listDashboards),
	create("/dashboards", "Create a dashboard", dashboards.Fields, dashboards.Dashboards.Create).withCheck(checksOf(dashboardQuestions)),
	handle(http.MethodPost, "/dashboards/create_from_template_json", "Create a dashboard from a template in the request body", createFromTemplate).withBody(dashboards.TemplateJSONFields).withCheck(checksOf(templateQuestions)).withoutBody(),
	patch("/dashboards/{id}", "Change, soft-delete or restore a dashboard", "Change a dashboard", dashboards.Fields, dashboards.Dashboards.Update).withCheck(checksOf(dashboardQuestions)),
	handle(http.MethodDelete, "/dashboards/{id}", "Not allowed: use PATCH with deleted: true to delete a dashboard", refuseDeletion[dashboards.Dashboards]).withStatus(http.StatusMethodNotAllowed),
	change(http.MethodPatch, "/dashboards/{id}/move_tile", "Move a tile to another dashboard", dashboards.MoveTileFields, dashboards.Dashboards.MoveTile).withoutBody(),
	change(http.MethodPost, "/dashboards/{id}/reorder_tiles", "Reorder the tiles of a dashboard", dashboards.ReorderFields, dashboards.Dashboards.ReorderTiles),
	get("/dashboards/{id}/collaborators", "List the collaborators of a dashboard", dashboards.Dashboards.Collaborators),
	add("/dashboards/{id}/collaborators", "Add a collaborator, who may edit a restricted dashboard", dashboards.CollaboratorFields, dashboards.Dashboards.AddCollaborator),
	removeOf("/dashboards/{id}/collaborators/{user}", "Remove a collaborator", dashboards.Dashboards.RemoveCollaborator),
})

// sharingEndpoints are the endpoints for shared links to dashboards (§4.1.8) and insights
// (clients.md §3.2).
var sharingEndpoints = slices.Concat(
	sharingOf("/dashboards/{id}", "a dashboard", func(s *server) dashboards.Links { return s.Management.Dashboards.Links() }),
	sharingOf("/insights/{id}", "an insight", func(s *server) dashboards.Links { return s.Management.Dashboards.Insights.Links() }),
)

func sharingOf(path, what string, links func(*server) dashboards.Links) []endpoint {
	return resource(inProject, "sharing_configuration", links, []row[dashboards.Links]{
		get(path+"/sharing", "Read the sharing settings of "+what, dashboards.Links.Sharing),
		change(http.MethodPatch, path+"/sharing", "Change the sharing settings of "+what, dashboards.SharingFields, dashboards.Links.UpdateSharing).uncompressed(),
		act(http.MethodPost, path+"/sharing/refresh", "Replace the token of the link to "+what, dashboards.Links.RefreshSharing).uncompressed(),
		add(path+"/sharing/passwords", "Add a password to the link to "+what, dashboards.SharePasswordFields, dashboards.Links.AddSharePassword).uncompressed(),
		removeOf(path+"/sharing/passwords/{password}", "Remove a password from the link to "+what, dashboards.Links.DeleteSharePassword),
	})
}

func listDashboards(svc dashboards.Dashboards, c *call) (management.List[dashboards.Dashboard], error) {
	v := c.listValues
	f := dashboards.Filter{
		Tags: v.Texts("tags"), ExcludeGenerated: v.Bool("exclude_generated"), Search: v.Text("search"), Pinned: v.OptionalBool("pinned"), Creators: v.Ints("created_by"),
	}
	return svc.List(c.ctx, c.scope, f, c.page())
}

// createFromTemplate accepts only JSON (§4.1.6).
func createFromTemplate(svc dashboards.Dashboards, c *call) (*dashboards.Dashboard, error) {
	contentType := c.r.Header.Get("Content-Type")
	if kind, _, _ := mime.ParseMediaType(contentType); contentType != "" && kind != "application/json" {
		return nil, problemMediaType.With("", "").Detailed("Unsupported media type %q in request.", contentType)
	}
	return svc.CreateFromTemplate(c.ctx, c.scope, c.body)
}
