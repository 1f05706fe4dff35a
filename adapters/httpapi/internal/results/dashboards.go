package results

import (
	"mime"
	"net/http"
	"slices"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

func dashboardsOf(s *frame.Server) dashboards.Dashboards { return s.Management.Dashboards.Dashboards }

// dashboardEndpoints are the endpoints for dashboards and their tiles (§4.1), and for the
// collaborators of restricted dashboards (§4.1.7).
var dashboardEndpoints = frame.Resource(frame.InProject, "dashboard", dashboardsOf, []frame.Row[dashboards.Dashboards]{
	frame.Handle(http.MethodGet, "/dashboards", "List dashboards", listDashboards),
	frame.Create("/dashboards", "Create a dashboard", dashboards.Bodies.Dashboard, dashboards.Dashboards.Create).WithCheck(checksOf(dashboardQuestions)),
	frame.Handle(http.MethodPost, "/dashboards/create_from_template_json", "Create a dashboard from a template in the request body", createFromTemplate).WithBody(dashboards.Bodies.TemplateJSON).WithCheck(checksOf(templateQuestions)).WithoutBody(),
	frame.Patch("/dashboards/{id}", "Change, soft-delete or restore a dashboard", "Change a dashboard", dashboards.Bodies.Dashboard, dashboards.Dashboards.Update).WithCheck(checksOf(dashboardQuestions)),
	frame.Handle(http.MethodDelete, "/dashboards/{id}", "Not allowed: use PATCH with deleted: true to delete a dashboard", frame.RefuseDeletion[dashboards.Dashboards]).WithStatus(http.StatusMethodNotAllowed),
	frame.Change(http.MethodPatch, "/dashboards/{id}/move_tile", "Move a tile to another dashboard", dashboards.Bodies.MoveTile, dashboards.Dashboards.MoveTile).WithoutBody(),
	frame.Change(http.MethodPost, "/dashboards/{id}/reorder_tiles", "Reorder the tiles of a dashboard", dashboards.Bodies.Reorder, dashboards.Dashboards.ReorderTiles),
	frame.Get("/dashboards/{id}/collaborators", "List the collaborators of a dashboard", dashboards.Dashboards.Collaborators),
	frame.Add("/dashboards/{id}/collaborators", "Add a collaborator, who may edit a restricted dashboard", dashboards.Bodies.Collaborator, dashboards.Dashboards.AddCollaborator),
	frame.RemoveOf("/dashboards/{id}/collaborators/{user}", "Remove a collaborator", dashboards.Dashboards.RemoveCollaborator),
})

// sharingEndpoints are the endpoints for shared links to dashboards (§4.1.8) and insights
// (clients.md §3.2).
var sharingEndpoints = slices.Concat(
	sharingOf("/dashboards/{id}", "a dashboard", func(s *frame.Server) dashboards.Links { return s.Management.Dashboards.Links() }),
	sharingOf("/insights/{id}", "an insight", func(s *frame.Server) dashboards.Links { return s.Management.Dashboards.Insights.Links() }),
)

func sharingOf(path, what string, links func(*frame.Server) dashboards.Links) []frame.Endpoint {
	return frame.Resource(frame.InProject, "sharing_configuration", links, []frame.Row[dashboards.Links]{
		frame.Get(path+"/sharing", "Read the sharing settings of "+what, dashboards.Links.Sharing),
		frame.Change(http.MethodPatch, path+"/sharing", "Change the sharing settings of "+what, dashboards.Bodies.Sharing, dashboards.Links.UpdateSharing).Uncompressed(),
		frame.Act(http.MethodPost, path+"/sharing/refresh", "Replace the token of the link to "+what, dashboards.Links.RefreshSharing).Uncompressed(),
		frame.Add(path+"/sharing/passwords", "Add a password to the link to "+what, dashboards.Bodies.SharePassword, dashboards.Links.AddSharePassword).Uncompressed(),
		frame.RemoveOf(path+"/sharing/passwords/{password}", "Remove a password from the link to "+what, dashboards.Links.DeleteSharePassword),
	})
}

func listDashboards(svc dashboards.Dashboards, c *frame.Call) (management.List[dashboards.Dashboard], error) {
	v := c.ListValues
	f := dashboards.Filter{
		Tags: v.Texts("tags"), ExcludeGenerated: v.Bool("exclude_generated"), Search: v.Text("search"), Pinned: v.OptionalBool("pinned"), Creators: v.Ints("created_by"),
	}
	return svc.List(c.Ctx, c.Scope, f, c.Page())
}

// createFromTemplate accepts only JSON (§4.1.6).
func createFromTemplate(svc dashboards.Dashboards, c *frame.Call) (*dashboards.Dashboard, error) {
	contentType := c.R.Header.Get("Content-Type")
	if kind, _, _ := mime.ParseMediaType(contentType); contentType != "" && kind != "application/json" {
		return nil, frame.MediaType.With("", "").Detailed("Unsupported media type %q in request.", contentType)
	}
	return svc.CreateFromTemplate(c.Ctx, c.Scope, c.Body)
}
