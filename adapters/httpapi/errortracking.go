package httpapi

import "github.com/bunting-flags/bunting/management"

const (
	rulesPath  = "/error_tracking/assignment_rules"
	issuesPath = "/error_tracking/issues"
)

// errorTrackingEndpoints are those of assignment rules (§4.2) and issues (decision
// 24).
var errorTrackingEndpoints = []endpoint{
	{
		method: "GET", area: inProject, path: rulesPath, scope: "error_tracking:read", summary: "List assignment rules",
		gives: management.List[management.AssignmentRule]{},
		do:    func(c *call) (any, error) { return c.service.ErrorTracking.Rules(c.ctx, c.standing, c.page()) },
	},
	{
		method: "POST", area: inProject, path: rulesPath, scope: "error_tracking:write", summary: "Add an assignment rule",
		takes: management.AssignmentRuleFields, status: 201, gives: management.AssignmentRule{},
		do: func(c *call) (any, error) { return c.service.ErrorTracking.CreateRule(c.ctx, c.standing, c.body) },
	},
	{
		method: "PATCH", area: inProject, path: rulesPath + "/reorder", scope: "error_tracking:write", summary: "Reorder assignment rules",
		takes: management.RuleOrderFields, status: 204,
		do: func(c *call) (any, error) {
			return nil, c.service.ErrorTracking.ReorderRules(c.ctx, c.standing, c.body)
		},
	},
	{
		method: "GET", area: inProject, path: rulesPath + "/{id}", scope: "error_tracking:read", summary: "Read an assignment rule",
		gives: management.AssignmentRule{},
		do:    func(c *call) (any, error) { return c.service.ErrorTracking.Rule(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: rulesPath + "/{id}", scope: "error_tracking:write", summary: "Change an assignment rule",
		takes: management.AssignmentRuleFields, status: 204, do: updateRule,
	},
	{
		method: "PUT", area: inProject, path: rulesPath + "/{id}", scope: "error_tracking:write", summary: "Replace an assignment rule",
		takes: management.AssignmentRuleFields, status: 204, do: updateRule,
	},
	{
		method: "DELETE", area: inProject, path: rulesPath + "/{id}", scope: "error_tracking:write", summary: "Remove an assignment rule",
		status: 204,
		do: func(c *call) (any, error) {
			return nil, c.service.ErrorTracking.DeleteRule(c.ctx, c.standing, c.part("id"))
		},
	},
	{
		method: "GET", area: inProject, path: issuesPath, scope: "error_tracking:read", summary: "List issues, last seen first",
		query: []parameterDoc{{"status", "string", "active, resolved, suppressed or archived"}},
		gives: management.List[management.Issue]{},
		do: func(c *call) (any, error) {
			return c.service.ErrorTracking.Issues(c.ctx, c.standing, c.query().Get("status"), c.page())
		},
	},
	{
		method: "GET", area: inProject, path: issuesPath + "/{id}", scope: "error_tracking:read", summary: "Read an issue",
		gives: management.Issue{},
		do:    func(c *call) (any, error) { return c.service.ErrorTracking.Issue(c.ctx, c.standing, c.part("id")) },
	},
	{
		method: "PATCH", area: inProject, path: issuesPath + "/{id}", scope: "error_tracking:write", summary: "Change an issue",
		takes: management.IssueFields, gives: management.Issue{}, do: updateIssue,
	},
	{
		method: "PUT", area: inProject, path: issuesPath + "/{id}", scope: "error_tracking:write", summary: "Change an issue",
		takes: management.IssueFields, gives: management.Issue{}, do: updateIssue,
	},
}

func updateRule(c *call) (any, error) {
	return nil, c.service.ErrorTracking.UpdateRule(c.ctx, c.standing, c.part("id"), c.body, c.r.Method == "PUT")
}

func updateIssue(c *call) (any, error) {
	return c.service.ErrorTracking.UpdateIssue(c.ctx, c.standing, c.part("id"), c.body)
}
