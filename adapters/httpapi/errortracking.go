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

// errorTrackingEndpoints are those of assignment rules (§4.2) and issues (decision
// 24).
var errorTrackingEndpoints = resource(inProject, "error_tracking", func(s *server) errortracking.Service { return *s.Management.ErrorTracking }, []row[errortracking.Service]{
	paged(rulesPath, "List assignment rules", errortracking.Service.Rules),
	create(rulesPath, "Add an assignment rule", errortracking.RuleFields, errortracking.Service.CreateRule),
	by(http.MethodPatch, rulesPath+"/reorder", "Reorder assignment rules", reorderRules).taking(errortracking.RuleOrderFields).answering(http.StatusNoContent),
	get(rulesPath+"/{id}", "Read an assignment rule", errortracking.Service.Rule),
	by(http.MethodPatch, rulesPath+"/{id}", "Change an assignment rule", updateRule).orPut("Replace an assignment rule").taking(errortracking.RuleFields).answering(http.StatusNoContent),
	remove(rulesPath+"/{id}", "Remove an assignment rule", errortracking.Service.DeleteRule),
	by(http.MethodGet, issuesPath, "List issues, last seen first", listIssues).asking(parameterDoc{"status", "string", "active, resolved, suppressed or archived"}),
	get(issuesPath+"/{id}", "Read an issue", errortracking.Service.Issue),
	patch(issuesPath+"/{id}", "Change an issue", "Change an issue", errortracking.IssueFields, errortracking.Service.UpdateIssue),
})

func listIssues(of errortracking.Service, c *call) (management.List[errortracking.Issue], error) {
	return of.Issues(c.ctx, c.standing, c.query().Get("status"), c.page())
}

func reorderRules(of errortracking.Service, c *call) (any, error) {
	return nil, of.ReorderRules(c.ctx, c.standing, c.body)
}

func updateRule(of errortracking.Service, c *call) (any, error) {
	return nil, of.UpdateRule(c.ctx, c.standing, c.part("id"), c.body, c.replaces())
}
