package httpapi

import (
	"net/http"

	"github.com/bunting-flags/bunting/management"
)

const (
	rulesPath  = "/error_tracking/assignment_rules"
	issuesPath = "/error_tracking/issues"
)

// errorTrackingEndpoints are those of assignment rules (§4.2) and issues (decision
// 24).
var errorTrackingEndpoints = resource(inProject, "error_tracking", func(s *server) management.ErrorTracking { return s.Management.ErrorTracking }, []row[management.ErrorTracking]{
	paged(rulesPath, "List assignment rules", management.ErrorTracking.Rules),
	create(rulesPath, "Add an assignment rule", management.AssignmentRuleFields, management.ErrorTracking.CreateRule),
	by(http.MethodPatch, rulesPath+"/reorder", "Reorder assignment rules", reorderRules).taking(management.RuleOrderFields).answering(http.StatusNoContent),
	get(rulesPath+"/{id}", "Read an assignment rule", management.ErrorTracking.Rule),
	by(http.MethodPatch, rulesPath+"/{id}", "Change an assignment rule", updateRule).orPut("Replace an assignment rule").taking(management.AssignmentRuleFields).answering(http.StatusNoContent),
	remove(rulesPath+"/{id}", "Remove an assignment rule", management.ErrorTracking.DeleteRule),
	by(http.MethodGet, issuesPath, "List issues, last seen first", listIssues).asking(parameterDoc{"status", "string", "active, resolved, suppressed or archived"}),
	get(issuesPath+"/{id}", "Read an issue", management.ErrorTracking.Issue),
	patch(issuesPath+"/{id}", "Change an issue", "Change an issue", management.IssueFields, management.ErrorTracking.UpdateIssue),
})

func listIssues(of management.ErrorTracking, c *call) (management.List[management.Issue], error) {
	return of.Issues(c.ctx, c.standing, c.query().Get("status"), c.page())
}

func reorderRules(of management.ErrorTracking, c *call) (any, error) {
	return nil, of.ReorderRules(c.ctx, c.standing, c.body)
}

func updateRule(of management.ErrorTracking, c *call) (any, error) {
	return nil, of.UpdateRule(c.ctx, c.standing, c.part("id"), c.body, c.replaces())
}
