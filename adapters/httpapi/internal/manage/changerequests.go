package manage

import (
	"context"
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/changes"
)

// changeRequestEndpoints are the endpoints for changes of flags that other users have to approve
// (spec/console.md N12).
var changeRequestEndpoints = frame.Resource(frame.InProject, "feature_flag", func(s *frame.Server) changes.Requests { return s.Management.Changes.Requests }, []frame.Row[changes.Requests]{
	frame.Handle(http.MethodGet, "/change_requests", "List change requests for feature flags", listChangeRequests),
	frame.Create("/change_requests", "Create a change request for a feature flag, which other members must approve", changes.Bodies.Request, changes.Requests.Create),
	frame.Get("/change_requests/{id}", "Read a change request", changes.Requests.Get),
	frame.Change(http.MethodPatch, "/change_requests/{id}", "Edit a change request; this withdraws its approvals", changes.RequestEdits, editChangeRequest),
	frame.Change(http.MethodPost, "/change_requests/{id}/approve", "Approve a revision of a change request", changes.Bodies.Vote, changes.Requests.Approve),
	frame.Change(http.MethodPost, "/change_requests/{id}/reject", "Reject a revision of a change request", changes.Bodies.Vote, changes.Requests.Reject),
	frame.Act(http.MethodPost, "/change_requests/{id}/apply", "Apply an approved change request", changes.Requests.Apply),
	frame.Act(http.MethodPost, "/change_requests/{id}/withdraw", "Withdraw a change request", changes.Requests.Withdraw),
})

func listChangeRequests(svc changes.Requests, c *frame.Call) (management.List[changes.ChangeRequest], error) {
	return svc.List(c.Ctx, c.Scope, c.ListValues.Texts("state"), c.ListValues.Int("flag"), c.Page())
}

func editChangeRequest(svc changes.Requests, ctx context.Context, scope *management.Scope, id string, b management.Body) (*changes.ChangeRequest, error) {
	return svc.Update(ctx, scope, id, b, false)
}
