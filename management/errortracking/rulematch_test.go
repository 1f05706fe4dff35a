package errortracking

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/management"
)

// Filters match as §4.2 and spec/flags.md §4 require.
func TestManagement_4_2_Matching(t *testing.T) {
	facts := &ruleFacts{
		event:  loggedObject(`{"level":"error","n":5,"s":"Hello World","nil":null,"$feature/x":"test","when":"2026-01-02T00:00:00Z","list":["TypeError","RangeError"],"empty":[],"numbers":[1,9]}`),
		person: loggedObject(`{"plan":"pro","teams":["red","blue"]}`),
		issue:  &Issue{Status: issueActive, Name: "TypeError", Description: "x is not a function"},
		now:    time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC),
	}
	for filter, want := range map[string]bool{
		`{"type":"event","key":"level","operator":"exact","value":["warning","error"]}`:                     true,
		`{"type":"event","key":"level","operator":"is_not","value":["warning","error"]}`:                    false,
		`{"type":"event","key":"level","operator":"in","value":["error"]}`:                                  true,
		`{"type":"event","key":"level","operator":"not_in","value":["error"]}`:                              false,
		`{"type":"event","key":"s","operator":"icontains","value":"WORLD"}`:                                 true,
		`{"type":"event","key":"s","operator":"regex","value":"^Hello"}`:                                    true,
		`{"type":"event","key":"s","operator":"not_regex","value":"^Hello"}`:                                false,
		`{"type":"event","key":"n","operator":"gt","value":4}`:                                              true,
		`{"type":"event","key":"n","operator":"min","value":5}`:                                             true,
		`{"type":"event","key":"n","operator":"max","value":4}`:                                             false,
		`{"type":"event","key":"n","operator":"between","value":[5,6]}`:                                     true,
		`{"type":"event","key":"n","operator":"not_between","value":[5,6]}`:                                 false,
		`{"type":"event","key":"n","operator":"exact","value":5}`:                                           true,
		`{"type":"event","key":"n","value":5}`:                                                              true,
		`{"type":"event","key":"n","operator":null,"value":5}`:                                              true,
		`{"type":"event","key":"nil","operator":"is_set"}`:                                                  true,
		`{"type":"event","key":"none","operator":"is_set"}`:                                                 false,
		`{"type":"event","key":"none","operator":"is_not_set"}`:                                             true,
		`{"type":"event","key":"plan","operator":"is_set"}`:                                                 false,
		`{"type":"event","key":"when","operator":"is_date_before","value":"-1d"}`:                           false,
		`{"type":"event","key":"when","operator":"is_date_after","value":"2026-01-01"}`:                     true,
		`{"type":"person","key":"plan","operator":"exact","value":"pro"}`:                                   true,
		`{"type":"person","key":"level","operator":"is_set"}`:                                               false,
		`{"type":"feature","key":"$feature/x","operator":"exact","value":"test"}`:                           true,
		`{"type":"error_tracking_issue","key":"status","operator":"exact","value":"active"}`:                true,
		`{"type":"error_tracking_issue","key":"name","operator":"icontains","value":"typeerr"}`:             true,
		`{"type":"error_tracking_issue","key":"description","operator":"not_icontains","value":"function"}`: false,
		`{"type":"AND","values":[]}`:                                                                        true,
		`{"type":"OR","values":[]}`:                                                                         true,
		`{"type":"OR","values":[{"type":"event","key":"none","operator":"is_set"},{"type":"AND","values":[{"type":"event","key":"n","value":5},{"type":"event","key":"nil","operator":"is_set"}]}]}`: true,
		`{"type":"AND","values":[{"type":"event","key":"none","operator":"is_set"},{"type":"event","key":"n","value":5}]}`:                                                                           false,
		// spec/clients.md §17: a positive operator requires one matching element, a negative one
		// that no element matches.
		`{"type":"event","key":"list","operator":"exact","value":["TypeError"]}`:                                                true,
		`{"type":"event","key":"list","operator":"exact","value":["Error"]}`:                                                    false,
		`{"type":"event","key":"list","value":"RangeError"}`:                                                                    true,
		`{"type":"event","key":"list","operator":"is_not","value":["TypeError"]}`:                                               false,
		`{"type":"event","key":"list","operator":"is_not","value":["Error"]}`:                                                   true,
		`{"type":"event","key":"list","operator":"not_in","value":["RangeError"]}`:                                              false,
		`{"type":"event","key":"list","operator":"icontains","value":"range"}`:                                                  true,
		`{"type":"event","key":"list","operator":"not_icontains","value":"range"}`:                                              false,
		`{"type":"event","key":"list","operator":"icontains","value":"Error\",\"Range"}`:                                        false,
		`{"type":"event","key":"list","operator":"regex","value":"^Range"}`:                                                     true,
		`{"type":"event","key":"list","operator":"not_regex","value":"^Syntax"}`:                                                true,
		`{"type":"event","key":"list","operator":"is_set"}`:                                                                     true,
		`{"type":"event","key":"list","operator":"is_not_set"}`:                                                                 false,
		`{"type":"event","key":"empty","operator":"is_set"}`:                                                                    false,
		`{"type":"event","key":"empty","operator":"is_not_set"}`:                                                                true,
		`{"type":"event","key":"empty","operator":"exact","value":"[]"}`:                                                        false,
		`{"type":"event","key":"empty","operator":"is_not","value":"x"}`:                                                        true,
		`{"type":"event","key":"numbers","operator":"gt","value":8}`:                                                            true,
		`{"type":"event","key":"numbers","operator":"gt","value":9}`:                                                            false,
		`{"type":"event","key":"numbers","operator":"between","value":[4,6]}`:                                                   false,
		`{"type":"event","key":"numbers","operator":"not_between","value":[4,6]}`:                                               true,
		`{"type":"OR","values":[{"type":"event","key":"list","value":"x"},{"type":"event","key":"empty","operator":"is_set"}]}`: false,
		// Operators that compare strings match if any element of the list does.
		`{"type":"event","key":"level","operator":"icontains","value":["warn","ERR"]}`:      true,
		`{"type":"event","key":"level","operator":"not_icontains","value":["warn","ERR"]}`:  false,
		`{"type":"event","key":"list","operator":"not_regex","value":["^Syntax","^Range"]}`: false,
		`{"type":"event","key":"n","operator":"gt","value":[4]}`:                            true,
		`{"type":"event","key":"none","operator":"not_between","value":[5,6]}`:              true,
		`{"type":"person","key":"teams","operator":"exact","value":"blue"}`:                 true,
	} {
		r, err := compileRule(json.RawMessage(`{"type":"AND","values":[`+filter+`]}`), flags.FilterSettings{})
		if err != nil {
			t.Errorf("%s: %v", filter, err)
			continue
		}
		if got := r.match(facts); got != want {
			t.Errorf("%s: %v", filter, got)
		}
	}
}

func TestManagement_4_2_Bounds(t *testing.T) {
	leaf := `{"type":"event","key":"a","value":"x"}`
	nested := func(depth int) string {
		return strings.Repeat(`{"type":"AND","values":[`, depth) + leaf + strings.Repeat(`]}`, depth)
	}
	wide := func(n int) string {
		return `{"type":"OR","values":[` + strings.TrimSuffix(strings.Repeat(leaf+",", n), ",") + `]}`
	}
	list := func(n int) string {
		return fmt.Sprintf(`{"type":"AND","values":[{"type":"event","key":"a","value":[%s]}]}`, strings.TrimSuffix(strings.Repeat(`"x",`, n), ","))
	}
	for name, test := range map[string]struct {
		filters string
		message string
	}{
		"10 deep":      {nested(maxRuleDepth), ""},
		"11 deep":      {nested(maxRuleDepth + 1), "Filters cannot be nested more than 10 deep."},
		"1000 filters": {wide(maxRuleValues), ""},
		"1001 filters": {wide(maxRuleValues + 1), "Filters cannot contain more than 1000 values."},
		"1000 values":  {list(maxRuleValues), ""},
		"1001 values":  {list(maxRuleValues + 1), `The filter of "a" cannot have more than 1000 values.`},
	} {
		_, err := compileRule(json.RawMessage(test.filters), flags.FilterSettings{})
		var apiErr *management.Error
		switch errors.As(err, &apiErr); {
		case test.message == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case test.message != "" && (apiErr == nil || apiErr.Message != test.message || apiErr.Field != "filters"):
			t.Errorf("%s: %v", name, err)
		}
	}
}
