package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// annotationEndpoints are the endpoints for annotations (clients.md §6).
var annotationEndpoints = frame.Resource(frame.InProject, "annotation", func(s *frame.Server) dashboards.Annotations { return s.Management.Dashboards.Annotations }, []frame.Row[dashboards.Annotations]{
	frame.Handle(http.MethodGet, "/annotations", "List annotations of the project and of its organization", listAnnotations).WithPageSize(1000),
	frame.Create("/annotations", "Create an annotation", dashboards.Bodies.Annotation, dashboards.Annotations.Create),
	frame.Get("/annotations/{id}", "Read an annotation", dashboards.Annotations.Get),
	frame.Update("/annotations/{id}", "Change, soft-delete or restore an annotation", "Replace an annotation", dashboards.Bodies.Annotation, dashboards.Annotations.Update),
	frame.Handle(http.MethodDelete, "/annotations/{id}", "Not allowed: use PATCH with deleted: true to delete an annotation", frame.RefuseDeletion[dashboards.Annotations]).WithStatus(http.StatusMethodNotAllowed),
})

func listAnnotations(svc dashboards.Annotations, c *frame.Call) (management.List[dashboards.Annotation], error) {
	v := c.ListValues
	return svc.List(c.Ctx, c.Scope, dashboards.AnnotationQuery{
		Page: c.Page(), Search: v.Text("search"), Scope: v.Text("scope"), From: v.Text("date_from"), To: v.Text("date_to"),
		Emoji: v.OptionalBool("is_emoji"), Unseen: v.OptionalBool("hidden_in_user_interface"),
	})
}
