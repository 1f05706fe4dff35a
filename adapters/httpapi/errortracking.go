package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/errortracking"
)

const (
	rulesPath  = "/error_tracking/assignment_rules"
	issuesPath = "/error_tracking/issues"
)

// errorTrackingEndpoints are the endpoints for assignment rules (§4.2) and issues (decision 24).
var errorTrackingEndpoints = resource(inProject, "error_tracking", func(s *server) errortracking.Service { return *s.Management.ErrorTracking }, []row[errortracking.Service]{
	paged(rulesPath, "List assignment rules", errortracking.Service.Rules),
	create(rulesPath, "Create an assignment rule", errortracking.RuleFields, errortracking.Service.CreateRule),
	handle(http.MethodPatch, rulesPath+"/reorder", "Reorder assignment rules", reorderRules).withBody(errortracking.RuleOrderFields).withStatus(http.StatusNoContent),
	get(rulesPath+"/{id}", "Read an assignment rule", errortracking.Service.Rule),
	handle(http.MethodPatch, rulesPath+"/{id}", "Change an assignment rule", updateRule).withPut("Replace an assignment rule").withBody(errortracking.RuleFields).withStatus(http.StatusNoContent),
	remove(rulesPath+"/{id}", "Delete an assignment rule", errortracking.Service.DeleteRule),
	handle(http.MethodGet, issuesPath, "List issues, most recently seen first", listIssues).withQuery(param("status", "string", "only issues with this status: active, resolved, suppressed or archived")),
	get(issuesPath+"/{id}", "Read an issue", errortracking.Service.Issue),
	patch(issuesPath+"/{id}", "Change an issue", "Change an issue", errortracking.IssueFields, errortracking.Service.UpdateIssue),
})

func listIssues(svc errortracking.Service, c *call) (management.List[errortracking.Issue], error) {
	return svc.Issues(c.ctx, c.scope, c.query().Get("status"), c.page())
}

func reorderRules(svc errortracking.Service, c *call) (any, error) {
	return nil, svc.ReorderRules(c.ctx, c.scope, c.body)
}

func updateRule(svc errortracking.Service, c *call) (any, error) {
	return nil, svc.UpdateRule(c.ctx, c.scope, c.part("id"), c.body, c.replaces())
}
