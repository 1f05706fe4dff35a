//go:build sdk

package sdktest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/adapters/httpapi/sdktest/internal/served"
)

// spec/clients.md §17: a rule with conditions on the types, values, sources and functions of an
// exception assigns an exception that posthog-node captured, by the exception or its cause; a rule
// that matches a frame outside the application does not.
func TestNode_AssignmentRules(t *testing.T) {
	for name, c := range map[string]struct {
		filters map[string][2]string
		matches bool
	}{
		"of the exception": {map[string][2]string{
			"$exception_types": {"exact", "OrderError"}, "$exception_values": {"icontains", "cannot bill"},
			"$exception_sources": {"regex", `driver\.mjs$`}, "$exception_handled": {"exact", "true"},
		}, true},
		"of its cause": {map[string][2]string{
			"$exception_types": {"exact", "RangeError"}, "$exception_values": {"exact", "division by zero"}, "$exception_functions": {"icontains", "shareOfNothing"},
		}, true},
		"of Node itself": {map[string][2]string{"$exception_sources": {"regex", "^node:|node_modules"}}, false},
		"of none":        {map[string][2]string{"$exception_types": {"exact", "TypeError"}}, false},
		"negative":       {map[string][2]string{"$exception_types": {"is_not", "RangeError"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := served.New(t, definitions)
			want := served.Issue{Name: "OrderError"}
			if assignee := s.AssignExceptions(c.filters); c.matches {
				want.Assignee = assignee
			}
			n := startNode(t)
			n.sender(s.URL, nil)
			n.do("typed", object{"client": "c", "distinctId": "user_1"}, nil)
			n.do("close", object{"client": "c"}, nil)
			served.Eventually(t, "the issue", func() error {
				if got := s.Issues(); !slices.Equal(got, []served.Issue{want}) {
					return fmt.Errorf("issues %v, want %v; exceptions %v", got, want, s.Events("event=$exception"))
				}
				return nil
			})
		})
	}
}
