package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// console.md N5: the rules that a question about a flag uses. A value is only in the response
// if these are not the rules in force.
func TestFlags_Explain(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{"filters": explainFilterRows, "versions": explainVersionRows, "flags that are off": explainOffRows, "times": explainTimeRows})
}

var explainFilterRows = flagtest.Rows([]ruletest.Row{flagtest.AFlag}, flagtest.Each("console.md N5 filters: rules that are not saved", "bob", "explain a",
	[2]string{`{"distinct_id":"u"}`, `{"flag":{"id":1,"key":"a","version":1,"active":true},"rules":false,"supplied":false,"value":"(absent)"}`},
	[2]string{`{"distinct_id":"u","filters":null}`, `{"rules":false,"value":"(absent)"}`},
	[2]string{`{"distinct_id":"u","filters":{"groups":[{"rollout_percentage":0}]}}`, `{"rules":true,"value":false}`},
	[2]string{`{"distinct_id":"u","filters":{"groups":[{"properties":[` + flagtest.Plan + `]}]}}`, `{"rules":true,"supplied":false,"value":false}`},
	[2]string{`{"distinct_id":"u","filters":{"groups":[{"properties":[` + flagtest.Plan + `]}]},"person_properties":{"plan":"pro"}}`, `{"rules":true,"supplied":true,"value":true}`},
	[2]string{`{"distinct_id":"u","person_properties":{}}`, `{"supplied":false}`},
	[2]string{`{"distinct_id":"u","group_properties":{"company":{"size":7}}}`, `{"supplied":true}`},
	[2]string{`{"distinct_id":"u","groups":{"company":"acme"}}`, `{"supplied":false}`},
	[2]string{`{"distinct_id":"u","filters":[]}`, `400 not_a_dict filters`},
	[2]string{`{"distinct_id":"u","filters":{}}`, `{"rules":false}`}, // as if absent
	[2]string{`{"distinct_id":"u","filters":{"payloads":{}}}`, `400 required filters`},
	[2]string{`{"distinct_id":"u","filters":{"groups":[{"rollout_percentage":101}]}}`, `400 invalid_input filters`},
	[2]string{`{"distinct_id":"u","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":9}]}]}}`, `400 cohort_does_not_exist filters`},
	[2]string{`{"distinct_id":"u","filters":{"groups":[{}]},"version":1}`, `400 invalid_input version Give filters or version, not both.`},
	[2]string{`{"distinct_id":"u","filters":{"groups":[{}]},"version":null}`, `{"rules":true,"value":true}`},
))

var explainVersionRows = flagtest.Rows(
	[]ruletest.Row{
		{"console.md N5", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[` + flagtest.Plan + `]}]}}`, `{"version":1}`},
		{"console.md N5", "bob", "change 1", `{"key":"b","filters":{"groups":[{}]}}`, `{"version":2}`},
	},
	flagtest.Each("console.md N5 an earlier version", "bob", "explain b",
		[2]string{`{"distinct_id":"u","version":1}`, `{"flag":{"id":1,"key":"a","version":1},"rules":false,"value":false}`},
		[2]string{`{"distinct_id":"u","version":1,"person_properties":{"plan":"pro"}}`, `{"flag":{"version":1},"value":true}`},
		[2]string{`{"distinct_id":"u","version":2}`, `{"flag":{"key":"b","version":2},"value":"(absent)"}`},
		[2]string{`{"distinct_id":"u","version":null}`, `{"flag":{"version":2},"value":"(absent)"}`},
		[2]string{`{"distinct_id":"u","version":3}`, `400 does_not_exist version The feature flag has no version 3.`},
		[2]string{`{"distinct_id":"u","version":0}`, `400 does_not_exist version The feature flag has no version 0.`},
		[2]string{`{"distinct_id":"u","version":"one"}`, `400 invalid_input version A valid integer is required.`},
	),
	[]ruletest.Row{
		{"clients.md §7.2 by the key of now", "bob", "explain a", `{"distinct_id":"u","version":1}`, `404 not_found - There is no feature flag "a".`},
		{"console.md N5 what the version needs is gone", "bob", "create", `{"key":"base"}`, `{"id":2}`},
		{"console.md N5 what the version needs is gone", "bob", "change 1", flagtest.Needs("2"), `{"version":3}`},
		{"console.md N5 what the version needs is gone", "bob", "change 1", flagtest.Groups(`{}`), `{"version":4}`},
		{"console.md N5 what the version needs is gone", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
		{"console.md N5 what the version needs is gone", "bob", "explain b", `{"distinct_id":"u","version":3}`, `400 invalid_input filters Flag dependency references non-existent flag with ID 2`},
	},
)

var explainOffRows = []ruletest.Row{
	{"console.md N5", "bob", "create", `{"key":"a","active":false}`, `{"id":1}`},
	{"console.md N5 explained as if on, and it says that it is off", "bob", "explain a", `{"distinct_id":"u"}`, `{"flag":{"active":false},"value":true,"rules":false}`},
	{"console.md N5 also with other rules", "bob", "explain a", `{"distinct_id":"u","filters":{"groups":[]}}`, `{"flag":{"active":false},"value":false}`},
	{"console.md N5 nothing is written", "bob", "get 1", ``, `{"active":false,"version":1}`},
	{"console.md N5 an earlier version that was off", "bob", "change 1", `{"active":true}`, `{"version":2}`},
	{"console.md N5 an earlier version that was off", "bob", "explain a", `{"distinct_id":"u","version":1}`, `{"flag":{"active":true,"version":1},"value":true}`},
}

var explainTimeRows = flagtest.Rows([]ruletest.Row{flagtest.AFlag}, flagtest.Each("console.md N5 at; clients.md §7.2 timestamp", "bob", "explain a",
	[2]string{`{"distinct_id":"u"}`, `{"at":null}`},
	[2]string{`{"distinct_id":"u","at":"2026-03-01T10:00:00+02:00"}`, `{"at":"2026-03-01T08:00:00Z"}`},
	[2]string{`{"distinct_id":"u","timestamp":"2026-03-01T10:00:00Z"}`, `{"at":"2026-03-01T10:00:00Z"}`},
	[2]string{`{"distinct_id":"u","at":"2026-03-01T10:00:00Z","timestamp":"2026-04-01T10:00:00Z"}`, `{"at":"2026-03-01T10:00:00Z"}`},
	[2]string{`{"distinct_id":"u","at":null,"timestamp":"2026-04-01T10:00:00Z"}`, `{"at":"2026-04-01T10:00:00Z"}`},
	[2]string{`{"distinct_id":"u","at":"soon"}`, `400 invalid_input at Datetime has wrong format.`},
	[2]string{`{"distinct_id":"u","timestamp":7}`, `400 invalid_input timestamp Datetime has wrong format.`},
))
