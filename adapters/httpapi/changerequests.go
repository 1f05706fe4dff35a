package httpapi

import (
	"context"
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/featureflags"
)

// changeRequestEndpoints are the endpoints for changes of flags that other users have to approve
// (spec/console.md N12).
var changeRequestEndpoints = resource(inProject, "feature_flag", func(s *server) featureflags.ChangeRequests { return s.Management.FeatureFlags.ChangeRequests }, []row[featureflags.ChangeRequests]{
	handle(http.MethodGet, "/change_requests", "List change requests for feature flags", listChangeRequests),
	create("/change_requests", "Create a change request for a feature flag, which other members must approve", featureflags.ChangeRequestFields, featureflags.ChangeRequests.Create),
	get("/change_requests/{id}", "Read a change request", featureflags.ChangeRequests.Get),
	change(http.MethodPatch, "/change_requests/{id}", "Edit a change request; this withdraws its approvals", featureflags.ChangeRequestEdits, editChangeRequest),
	change(http.MethodPost, "/change_requests/{id}/approve", "Approve a revision of a change request", featureflags.VoteFields, featureflags.ChangeRequests.Approve),
	change(http.MethodPost, "/change_requests/{id}/reject", "Reject a revision of a change request", featureflags.VoteFields, featureflags.ChangeRequests.Reject),
	act(http.MethodPost, "/change_requests/{id}/apply", "Apply an approved change request", featureflags.ChangeRequests.Apply),
	act(http.MethodPost, "/change_requests/{id}/withdraw", "Withdraw a change request", featureflags.ChangeRequests.Withdraw),
})

func listChangeRequests(svc featureflags.ChangeRequests, c *call) (management.List[featureflags.ChangeRequest], error) {
	return svc.List(c.ctx, c.scope, c.listValues.Texts("state"), c.listValues.Int("flag"), c.page())
}

func editChangeRequest(svc featureflags.ChangeRequests, ctx context.Context, scope *management.Scope, id string, b management.Body) (*featureflags.ChangeRequest, error) {
	return svc.Update(ctx, scope, id, b, false)
}
