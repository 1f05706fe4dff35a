package manage

import (
	"net/http"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/frame"
	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
)

const (
	rulesPath  = "/error_tracking/assignment_rules"
	issuesPath = "/error_tracking/issues"
)

// errorTrackingEndpoints are the endpoints for assignment rules (§4.2) and issues (decision 24).
var errorTrackingEndpoints = frame.Resource(frame.InProject, "error_tracking", func(s *frame.Server) errortracking.Service { return *s.Management.ErrorTracking }, []frame.Row[errortracking.Service]{
	frame.Paged(rulesPath, "List assignment rules", errortracking.Service.Rules),
	frame.Create(rulesPath, "Create an assignment rule", errortracking.Bodies.Rule, errortracking.Service.CreateRule),
	frame.Handle(http.MethodPatch, rulesPath+"/reorder", "Reorder assignment rules", reorderRules).WithBody(errortracking.Bodies.RuleOrder).WithStatus(http.StatusNoContent),
	frame.Get(rulesPath+"/{id}", "Read an assignment rule", errortracking.Service.Rule),
	frame.Handle(http.MethodPatch, rulesPath+"/{id}", "Change an assignment rule", updateRule).WithPut("Replace an assignment rule").WithBody(errortracking.Bodies.Rule).WithStatus(http.StatusNoContent),
	frame.Remove(rulesPath+"/{id}", "Delete an assignment rule", errortracking.Service.DeleteRule),
	frame.Handle(http.MethodGet, issuesPath, "List issues, most recently seen first", listIssues).WithQuery(frame.Param("status", "string", "only issues with this status: active, resolved, suppressed or archived")),
	frame.Get(issuesPath+"/{id}", "Read an issue", errortracking.Service.Issue),
	frame.Patch(issuesPath+"/{id}", "Change an issue", "Change an issue", errortracking.Bodies.Issue, errortracking.Service.UpdateIssue),
})

func listIssues(svc errortracking.Service, c *frame.Call) (management.List[errortracking.Issue], error) {
	return svc.Issues(c.Ctx, c.Scope, c.Query().Get("status"), c.Page())
}

func reorderRules(svc errortracking.Service, c *frame.Call) (any, error) {
	return nil, svc.ReorderRules(c.Ctx, c.Scope, c.Body)
}

func updateRule(svc errortracking.Service, c *frame.Call) (any, error) {
	return nil, svc.UpdateRule(c.Ctx, c.Scope, c.Part("id"), c.Body, c.Replaces())
}
