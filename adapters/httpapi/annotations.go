package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/dashboards"
)

// annotationEndpoints are the endpoints for annotations (clients.md §6).
var annotationEndpoints = resource(inProject, "annotation", func(s *server) dashboards.Annotations { return s.Management.Dashboards.Annotations }, []row[dashboards.Annotations]{
	handle(http.MethodGet, "/annotations", "List annotations of the project and of its organization", listAnnotations).withPageSize(1000),
	create("/annotations", "Create an annotation", dashboards.AnnotationFields, dashboards.Annotations.Create),
	get("/annotations/{id}", "Read an annotation", dashboards.Annotations.Get),
	update("/annotations/{id}", "Change, soft-delete or restore an annotation", "Replace an annotation", dashboards.AnnotationFields, dashboards.Annotations.Update),
	handle(http.MethodDelete, "/annotations/{id}", "Not allowed: use PATCH with deleted: true to delete an annotation", refuseDeletion[dashboards.Annotations]).withStatus(http.StatusMethodNotAllowed),
})

func listAnnotations(svc dashboards.Annotations, c *call) (management.List[dashboards.Annotation], error) {
	v := c.listValues
	return svc.List(c.ctx, c.scope, dashboards.AnnotationQuery{
		Page: c.page(), Search: v.Text("search"), Scope: v.Text("scope"), From: v.Text("date_from"), To: v.Text("date_to"),
		Emoji: v.OptionalBool("is_emoji"), Unseen: v.OptionalBool("hidden_in_user_interface"),
	})
}
