package errortracking

import "github.com/bunting-flags/bunting/management"

// Bodies are the fields of the bodies of requests.
var Bodies = struct {
	Issue, Rule, RuleOrder management.Fields
}{
	Issue: issueFields, Rule: ruleFields, RuleOrder: ruleOrderFields,
}
