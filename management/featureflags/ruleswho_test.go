package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// console.md N6: who gets which value of a flag, now and after a change. The persons, newest first,
// are una and vic (plan pro), wes and xia (no plan); the groups of type 0 are acme (size 100) and
// ant (size 1).
func TestFlags_Who(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"counts": whoCountRows, "changes": whoChangeRows, "hashes": whoHashRows, "filters": whoFilterRows, "pages": whoPageRows, "new flags": whoNewRows,
		"groups": whoGroupRows, "other definitions": whoReferenceRows, "refusals": whoFaultRows,
	})
}

// allPersons is the member results with all persons.
const allPersons = `"results":[{"person":{"uuid":"` + flagtest.Una + `"}},{"person":{"uuid":"` + flagtest.Vic + `"}},{"person":{"uuid":"` + flagtest.Wes + `"}},{"person":{"uuid":"` + flagtest.Xia + `"}}]`

// whoFlag is on for the plan pro.
var whoFlag = ruletest.Row{"console.md N6", "bob", "create", `{"key":"pros","filters":{"groups":[{"properties":[` + flagtest.Plan + `]}]}}`, `{"id":1}`}

var whoCountRows = []ruletest.Row{
	whoFlag,
	{"console.md N6 without a change", "bob", "who 1", ``, `{"counts":{"true":2,"false":2},"after":{"true":2,"false":2},
		"transitions":[{"from":"false","to":"false","count":2},{"from":"true","to":"true","count":2}],"changed":0,"of":4,"exact":true,"sample":null,"partial":false,"next":null,
		"results":[{"person":{"uuid":"` + flagtest.Una + `","name":"una@example.com","distinct_id":"una"},"before":"true","after":"true","reason":"condition_match","condition_index":0},
		{"person":{"uuid":"` + flagtest.Vic + `","name":"vic@example.com","distinct_id":"vic"},"before":"true"},
		{"person":{"uuid":"` + flagtest.Wes + `"},"before":"false","after":"false","reason":"no_condition_match"},
		{"person":{"uuid":"` + flagtest.Xia + `","name":"xia","distinct_id":"xia"},"before":"false"}]}`},
	{"console.md N6 nothing is written", "bob", "get 1", ``, `{"version":1}`},
	{"console.md N6 a flag that is off gives false", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"console.md N6 a flag that is off gives false", "bob", "who 1", ``, `{"counts":{"false":4,"true":"(absent)"},"after":{"false":4,"true":"(absent)"},"transitions":[{"from":"false","to":"false","count":4}],"changed":0}`},
	{"console.md N6 variants", "bob", "create", `{"key":"many","filters":{"groups":[{"properties":[` + flagtest.Plan + `],"variant":"b"},{"variant":"a"}],` + flagtest.AB + `}}`, `{"id":2}`},
	{"console.md N6 variants", "bob", "who 2", ``, `{"counts":{"a":2,"b":2,"true":"(absent)"},"results":[{"after":"b","condition_index":0},{"after":"b"},{"after":"a","condition_index":1},{"after":"a"}]}`},
	{"console.md N11 a pin goes before the conditions", "bob", "pin 2", `{"distinct_id":"vic2","value":"a"}`, `{"id":1}`},
	{"console.md N11 a pin goes before the conditions", "bob", "who 2", `{"search":"vic"}`, `{"counts":{"a":3,"b":1},"results":[{"after":"a","reason":"pinned","condition_index":null}]}`},
}

var whoChangeRows = flagtest.Rows([]ruletest.Row{whoFlag}, flagtest.Each("console.md N6 after a change", "bob", "who 1",
	[2]string{`{"filters":{"groups":[{}]}}`, `{"counts":{"true":2,"false":2},"after":{"true":4,"false":"(absent)"},"transitions":[{"from":"false","to":"true","count":2},{"from":"true","to":"true","count":2}],"changed":2}`},
	[2]string{`{"filters":{"groups":[]}}`, `{"after":{"false":4},"changed":2}`},
	[2]string{`{"filters":{"groups":[{"rollout_percentage":0}]}}`, `{"after":{"false":4},"changed":2}`},
	[2]string{`{"filters":null}`, `{"after":{"true":2,"false":2},"changed":0}`},
	[2]string{`{"active":false}`, `{"after":{"false":4},"changed":2}`},
	[2]string{`{"active":null}`, `{"after":{"true":2,"false":2},"changed":0}`},
	[2]string{`{"active":false,"filters":{"groups":[{}]}}`, `{"after":{"false":4},"changed":2}`},
	// The most frequent transition is the first: two persons move from true to each variant's share.
	[2]string{`{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"variant":"a"}],` + flagtest.AB + `}}`, `{"after":{"a":2,"false":2},"changed":2,"transitions":[{"from":"false","to":"false"},{"from":"true","to":"a"}]}`},
	[2]string{`{"filters":{"groups":[{"properties":[{"key":"age","type":"person","operator":"gt","value":"35"}]}]}}`, `{"after":{"true":1,"false":3},"changed":1,"transitions":[{"from":"false","to":"false","count":2},{"from":"true","to":"false","count":1},{"from":"true","to":"true","count":1}]}`},
))

// The buckets of half.una, half.vic, half.wes and half.xia are 0.9899, 0.7247, 0.0362 and 0.5117 by
// SHA-1 (flags.md §2.1), and 0.2432, 0.6698, 0.8989 and 0.4991 by murmur3 (decision 1).
var whoHashRows = flagtest.Rows([]ruletest.Row{{"console.md N6", "bob", "create", `{"key":"half","filters":{"groups":[{"rollout_percentage":50}]}}`, `{"id":1}`}},
	flagtest.Each("console.md N6 after a change of the hash", "bob", "who 1",
		[2]string{`{"bucketing_hash":"murmur3"}`, `{"counts":{"true":1,"false":3},"after":{"true":2,"false":2},"changed":3,"transitions":[{"from":"false","to":"true","count":2},{"from":"false","to":"false","count":1},{"from":"true","to":"false","count":1}]}`},
		[2]string{`{"bucketing_hash":"sha1"}`, `{"after":{"true":1,"false":3},"changed":0}`},
		[2]string{`{"bucketing_hash":null}`, `{"after":{"true":1,"false":3},"changed":0}`},
		[2]string{`{"bucketing_identifier":"distinct_id"}`, `{"after":{"true":1,"false":3},"changed":0}`},
		[2]string{`{"bucketing_hash":"md5"}`, `400 invalid_choice bucketing_hash "md5" is not a valid choice.`},
	))

var whoFilterRows = flagtest.Rows([]ruletest.Row{whoFlag},
	flagtest.Each("console.md N6 changed: only whose value changes", "bob", "who 1",
		[2]string{`{"filters":{"groups":[{}]},"changed":true}`, `{"of":4,"results":[{"person":{"distinct_id":"wes"},"before":"false","after":"true"},{"person":{"distinct_id":"xia"}}]}`},
		[2]string{`{"active":false,"changed":true}`, `{"results":[{"person":{"distinct_id":"una"},"before":"true","after":"false","reason":"flag_disabled","condition_index":null},{"person":{"distinct_id":"vic"}}]}`},
		[2]string{`{"changed":true}`, `{"results":[]}`},
		[2]string{`{"changed":false}`, `{` + allPersons + `}`},
	),
	flagtest.Each("console.md N6 value: that after the change", "bob", "who 1",
		[2]string{`{"value":"true"}`, `{"results":[{"person":{"distinct_id":"una"}},{"person":{"distinct_id":"vic"}}]}`},
		[2]string{`{"value":"false"}`, `{"results":[{"person":{"distinct_id":"wes"}},{"person":{"distinct_id":"xia"}}]}`},
		[2]string{`{"active":false,"value":"true"}`, `{"results":[]}`},
		[2]string{`{"value":"control"}`, `{"results":[]}`},
	),
	flagtest.Each("console.md N6 search: the name or a distinct id, ignoring case", "bob", "who 1",
		[2]string{`{"search":"EXAMPLE.COM"}`, `{"of":4,"counts":{"true":2,"false":2},"results":[{"person":{"distinct_id":"una"}},{"person":{"distinct_id":"vic"}}]}`},
		[2]string{`{"search":"vic2"}`, `{"results":[{"person":{"distinct_id":"vic"}}]}`},
		[2]string{`{"search":"pro"}`, `{"results":[]}`},
		[2]string{`{"search":""}`, `{` + allPersons + `}`},
		[2]string{`{"search":"i","value":"false"}`, `{"results":[{"person":{"distinct_id":"xia"}}]}`},
		[2]string{`{"search":` + flagtest.Text(200) + `}`, `{"results":[]}`},
		[2]string{`{"search":` + flagtest.Text(201) + `}`, `400 max_length search`},
	),
)

var whoPageRows = flagtest.Rows([]ruletest.Row{whoFlag}, flagtest.Each("console.md N6 pages: next is the cursor of the following one", "bob", "who 1",
	[2]string{`{"limit":1}`, `{"counts":{"true":2,"false":2},"results":[{"person":{"distinct_id":"una"}}],"next":"1"}`},
	[2]string{`{"limit":2,"cursor":"1"}`, `{"results":[{"person":{"distinct_id":"vic"}},{"person":{"distinct_id":"wes"}}],"next":"3"}`},
	[2]string{`{"limit":1,"cursor":"3"}`, `{"results":[{"person":{"distinct_id":"xia"}}],"next":null}`},
	[2]string{`{"limit":4}`, `{` + allPersons + `,"next":null}`},
	[2]string{`{"limit":1,"cursor":"4"}`, `{"results":[],"next":null}`},
	[2]string{`{"limit":1,"value":"false"}`, `{"results":[{"person":{"distinct_id":"wes"}}],"next":"1"}`},
	[2]string{`{"limit":1,"value":"false","cursor":"1"}`, `{"results":[{"person":{"distinct_id":"xia"}}],"next":null}`},
	[2]string{`{"limit":null,"cursor":null}`, `{` + allPersons + `,"next":null}`},
	[2]string{`{"cursor":""}`, `{` + allPersons + `}`},
	[2]string{`{"limit":200}`, `{` + allPersons + `}`},
	[2]string{`{"limit":201}`, `400 invalid_input limit Ensure this value is between 1 and 200.`},
	[2]string{`{"limit":0}`, `400 invalid_input limit Ensure this value is between 1 and 200.`},
	[2]string{`{"limit":"x"}`, `400 invalid_input limit A valid integer is required.`},
	[2]string{`{"cursor":"-1"}`, `400 invalid_input cursor`},
	[2]string{`{"cursor":"x"}`, `400 invalid_input cursor`},
))

// The id 0 is for a flag that is not saved yet, which is off for everybody now.
var whoNewRows = flagtest.Rows(
	flagtest.Each("console.md N6 a flag not yet saved", "bob", "who 0",
		[2]string{`{}`, `{"counts":{"false":4},"after":{"false":4},"changed":0,"of":4}`},
		[2]string{`{"filters":{"groups":[{}]}}`, `{"counts":{"false":4},"after":{"true":4},"changed":4}`},
		[2]string{`{"key":"new","filters":{"groups":[{}]},"active":true}`, `{"counts":{"false":4},"after":{"true":4}}`},
		[2]string{`{"filters":{"groups":[{}]},"active":false}`, `{"after":{"false":4},"changed":0}`},
		[2]string{`{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"variant":"a"}],` + flagtest.AB + `},"value":"a"}`, `{"after":{"a":2,"false":2},"results":[{"person":{"distinct_id":"una"},"before":"false"},{"person":{"distinct_id":"vic"}}]}`},
		[2]string{`{"key":` + flagtest.Text(400) + `}`, `{"of":4}`},
		[2]string{`{"key":` + flagtest.Text(401) + `}`, `400 max_length key`},
	),
	[]ruletest.Row{
		{"console.md N6 nothing is written", "bob", "keys", `{}`, `[]`},
		{"console.md N6 another project has nobody", "dan", "who 0", `{"filters":{"groups":[{}]}}`, `{"of":0,"counts":{},"after":{},"transitions":[],"results":[],"exact":true,"next":null}`},
	},
)

var whoGroupRows = flagtest.Rows(
	[]ruletest.Row{{"console.md N6", "bob", "create", `{"key":"firms","filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"size","type":"group","group_type_index":0,"operator":"gt","value":"10"}]}]}}`, `{"id":1}`}},
	flagtest.Each("console.md N6 groups for group flags", "bob", "who 1",
		[2]string{`{}`, `{"counts":{"true":1,"false":1},"of":2,"exact":true}`},
		[2]string{`{"search":"ACME"}`, `{"results":[{"person":{"name":"acme","uuid":"(absent)","distinct_id":"(absent)"},"before":"true","after":"true","reason":"condition_match","condition_index":0}]}`},
		[2]string{`{"filters":{"aggregation_group_type_index":0,"groups":[{}]},"changed":true}`, `{"after":{"true":2},"changed":1,"results":[{"person":{"name":"ant"},"before":"false","after":"true"}]}`},
		[2]string{`{"filters":{"aggregation_group_type_index":1,"groups":[{}]}}`, `{"of":0}`}, // the project has no teams
	),
)

var whoReferenceRows = []ruletest.Row{
	whoFlag,
	{"console.md N6 a flag that it needs", "bob", "create", `{"key":"upper","filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":false}]}]}}`, `{"id":2}`},
	{"console.md N6 a flag that it needs", "bob", "who 2", `{"value":"true"}`, `{"results":[{"person":{"distinct_id":"wes"}},{"person":{"distinct_id":"xia"}}]}`},
	{"console.md N6 a list: any distinct id of a person", "bob", `file {"name":"s","is_static":true}`, "vic2\nxia", `{"id":1,"count":2}`},
	{"console.md N6 a list: any distinct id of a person", "bob", "who 0", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]},"value":"true"}`, `{"results":[{"person":{"distinct_id":"vic"}},{"person":{"distinct_id":"xia"}}]}`},
	{"console.md N6 a rule", "bob", "cohort", FindCohort(flagtest.Plan), `{"id":2}`},
	{"console.md N6 a rule", "bob", "who 1", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","operator":"not_in","value":2}]}]}}`, `{"after":{"true":2},"changed":4}`},
}

var whoFaultRows = flagtest.Rows(
	[]ruletest.Row{whoFlag},
	flagtest.Each("§5.1.2 the rules of flags", "bob", "who 1",
		[2]string{`{"filters":{"payloads":{}}}`, `400 required filters`},
		[2]string{`{"filters":[]}`, `400 not_a_dict filters`},
		[2]string{`{"filters":{"groups":[{"rollout_percentage":101}]}}`, `400 invalid_input filters`},
		[2]string{`{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":99}]}]}}`, `400 cohort_does_not_exist filters`},
		[2]string{`{"filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, `400 invalid_input filters Feature flag 'pros' cannot depend on itself`},
		[2]string{`{"active":"maybe"}`, `400 invalid_input active Must be a valid boolean.`},
		[2]string{`[]`, `400 invalid_input - Invalid data.`},
	),
	[]ruletest.Row{
		{"§1.5 unknown", "bob", "who 9", ``, `404 not_found - Not found.`},
		{"§1.5 another project's", "dan", "who 1", ``, `404 not_found - Not found.`},
		{"§5.1.3 deleted", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.1.3 deleted", "bob", "who 1", ``, `404 not_found - Not found.`},
	},
)
