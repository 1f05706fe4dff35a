package cohorts_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestCohorts_Filters(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"trees": treeRows, "leaves": leafRows, "behavioral leaves": behavioralRows, "cohorts of cohorts": nestedRows, "the oldest form": legacyRows,
	})
}

var treeRows = flagtest.Rows(
	flagtest.Each("§5.2 properties with type and values", "bob", "cohort",
		[2]string{`{"filters":{}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
		[2]string{`{"filters":{"properties":null}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
		[2]string{`{"filters":{"properties":[]}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
		[2]string{`{"filters":{"properties":{}}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
		[2]string{`{"filters":{"properties":{"type":"AND"}}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
		[2]string{`{"filters":{"properties":{"values":[]}}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
	),
	flagtest.Each("§5.2 AND and OR, of groups and filters", "bob", "cohort",
		[2]string{tree("AND", flagtest.Plan), `{"count":2}`},
		[2]string{tree("OR", flagtest.Plan, `{"type":"person","key":"email","value":"wes@example.org","operator":"exact"}`), `{"count":3}`},
		[2]string{tree("AND", flagtest.Plan, `{"type":"person","key":"email","value":"una@example.com","operator":"exact"}`), `{"count":1}`},
		[2]string{tree("AND"), `{"count":4}`}, // flags.md §5.2: empty, true
		[2]string{tree("OR"), `{"count":0}`},  // flags.md §5.2: empty, false
		[2]string{tree("OR", `{"type":"AND","values":[`+flagtest.Plan+`]}`, `{"type":"OR","values":[]}`), `{"count":2}`},
		[2]string{tree("AND", `{"type":"AND","values":[{"type":"OR","values":[`+flagtest.Plan+`]}]}`), `{"count":2}`},
	),
	flagtest.Each("§5.2 trees of another form", "bob", "cohort",
		[2]string{tree("NOT", flagtest.Plan), `400 invalid_input filters`},
		[2]string{tree("and", flagtest.Plan), `400 invalid_input filters`},
		[2]string{tree("AND", `7`), `400 invalid_input filters`},
		[2]string{tree("AND", `"plan"`), `400 invalid_input filters`},
		[2]string{tree("AND", `[`+flagtest.Plan+`]`), `400 invalid_input filters`},
		[2]string{tree("AND", `{}`), `400 invalid_input filters`},
		[2]string{tree("AND", `{"type":"event","key":"x"}`), `400 invalid_input filters`},
		[2]string{tree("AND", `{"type":"AND","values":null}`), `400 invalid_input filters`},
		[2]string{tree("AND", `{"type":"AND","values":{}}`), `400 invalid_input filters`},
		[2]string{tree("AND", `{"type":"AND"}`), `400 invalid_input filters`},
		[2]string{`{"filters":{"properties":{"type":"AND","values":"x"}}}`, `400 invalid_input filters`},
	),
	flagtest.Each("flags.md §5.2 at most 64 deep", "bob", "cohort",
		[2]string{tree("AND", deep(60)), `{"count":2}`},
		[2]string{tree("AND", deep(70)), `400 invalid_input filters`},
	),
)

// deep returns a filter nested in n groups.
func deep(n int) string {
	return strings.Repeat(`{"type":"AND","values":[`, n) + flagtest.Plan + strings.Repeat(`]}`, n)
}

// ofPlan returns a filter of the property plan.
func ofPlan(operator, value string) string {
	return `{"type":"person","key":"plan","operator":"` + operator + `","value":` + value + `}`
}

var leafRows = flagtest.Rows(
	flagtest.Each("§5.2 keys that are missing", "bob", "cohort",
		[2]string{tree("AND", `{"type":"person"}`), `400 invalid_input filters Missing required keys for person filter: key, value, operator`},
		[2]string{tree("AND", `{"type":"person","key":"plan"}`), `400 invalid_input filters Missing required keys for person filter: value, operator`},
		[2]string{tree("AND", `{"type":"person","value":"pro","operator":"exact"}`), `400 invalid_input filters Missing required keys for person filter: key`},
		[2]string{tree("AND", `{"type":"person","key":"plan","operator":"exact"}`), `400 invalid_input filters Missing required keys for person filter: value`},
		[2]string{tree("AND", `{"type":"person","key":"plan","value":null,"operator":"exact"}`), `400 invalid_input filters Missing required keys for person filter: value`},
		[2]string{tree("AND", `{"type":"person","key":"plan","value":"pro"}`), `400 invalid_input filters Missing required keys for person filter: operator`},
		[2]string{tree("AND", `{"type":"person","key":"plan","value":"pro","operator":null}`), `400 invalid_input filters Missing required keys for person filter: operator`},
		[2]string{tree("OR", flagtest.Plan, `{"type":"AND","values":[{"type":"person","key":"plan"}]}`), `400 invalid_input filters Missing required keys for person filter: value, operator`},
		[2]string{tree("AND", `{"type":"cohort"}`), `400 invalid_input filters Missing required keys for cohort filter: key, value`},
	),
	flagtest.Each("§5.2 a value may be absent for is_set and is_not_set alone", "bob", "cohort",
		[2]string{tree("AND", `{"type":"person","key":"plan","operator":"is_set"}`), `{"count":2}`},
		[2]string{tree("AND", `{"type":"person","key":"plan","operator":"is_not_set"}`), `{"count":2}`},
		[2]string{tree("AND", `{"type":"person","key":"plan","operator":"is_not"}`), `400 invalid_input filters Missing required keys for person filter: value`},
	),
	flagtest.Each("flags.md §4.5 the operators of flags", "bob", "cohort",
		[2]string{tree("AND", `{"type":"person","key":"age","value":"25","operator":"gt"}`), `{"count":2}`},
		[2]string{tree("AND", `{"type":"person","key":"email","value":"@EXAMPLE.com","operator":"icontains"}`), `{"count":2}`},
		[2]string{tree("AND", `{"type":"person","key":"email","value":"\\.org$","operator":"regex"}`), `{"count":1}`},
		[2]string{tree("AND", `{"type":"person","key":"plan","value":"pro","operator":"is_not"}`), `{"count":2}`},
		[2]string{tree("AND", `{"type":"person","key":"plan","value":["pro","free"],"operator":"exact"}`), `{"count":2}`},
		[2]string{tree("AND", `{"type":"person","key":"plan","value":"pro","operator":"equals"}`), `400 invalid_input filters`},
	),
	flagtest.Each("flags.md §4.5, §5.3 what nobody can match is refused, with its place", "bob", "cohort",
		[2]string{tree("AND", ofPlan("is_date_before", `"soon"`)), `400 invalid_input filters filters.properties.values[0].value: is_date_before never matches here:`},
		[2]string{tree("AND", flagtest.Plan, ofPlan("regex", `"("`)), `400 invalid_input filters filters.properties.values[1].value: regex never matches here: bad regular expression:`},
		[2]string{tree("OR", `{"type":"AND","values":[`+ofPlan("not_regex", `"("`)+`]}`), `400 invalid_input filters filters.properties.values[0].values[0].value: not_regex never matches here:`},
		[2]string{tree("AND", ofPlan("regex", `"(", "negation":true`)), `400 invalid_input filters filters.properties.values[0].value:`},
		[2]string{tree("AND", ofPlan("gt", `"abc"`)), `400 invalid_input filters filters.properties.values[0].value: gt never matches here: the value must be a number`},
		[2]string{tree("AND", ofPlan("between", `5`)), `400 invalid_input filters filters.properties.values[0].value: between never matches here:`},
		[2]string{tree("AND", ofPlan("between", `[10,0]`)), `400 invalid_input filters filters.properties.values[0].value:`},
		[2]string{tree("AND", ofPlan("not_between", `[10,0]`)), `400 invalid_input filters filters.properties.values[0].value:`},
		[2]string{tree("AND", ofPlan("semver_gt", `"newest"`)), `400 invalid_input filters filters.properties.values[0].value:`},
		[2]string{tree("AND", ofPlan("in", `7`)), `400 invalid_input filters filters.properties.values[0].operator: in never matches here: the operator is for cohort filters`},
		[2]string{tree("AND", ofPlan("flag_evaluates_to", `true`)), `400 invalid_input filters filters.properties.values[0].operator:`},
		[2]string{`{"groups":[{"properties":[` + ofPlan("gt", `"abc"`) + `]}]}`, `400 invalid_input filters filters.properties.values[0].values[0].value:`},
	),
	flagtest.Each("flags.md §5.2 a leaf that fails for a person is false, §4.9 and true when it is negated", "bob", "cohort",
		[2]string{tree("AND", ofPlan("gt", `1`)), `{"count":0}`}, // plan is not a number
		[2]string{tree("AND", ofPlan("gt", `1, "negation":true`)), `{"count":4}`},
	),
	flagtest.Each("flags.md §4.9 negation counts on leaves of cohorts", "bob", "cohort",
		[2]string{tree("AND", `{"type":"person","key":"plan","value":"pro","operator":"exact","negation":true}`), `{"count":2,"filters":{"properties":{"values":[{"negation":true}]}}}`},
		[2]string{tree("AND", `{"type":"person","key":"plan","value":"pro","operator":"exact","negation":false}`), `{"count":2}`},
	),
	flagtest.Each("decision 30 misspelt keys", "bob", "cohort",
		[2]string{tree("AND", `{"type":"person","key":"plan","value":"pro","operator":"exact","negaton":true}`), `400 unknown_key *`},
		[2]string{`{"filters":{"propertes":{"type":"AND","values":[]}}}`, `400 unknown_key *`},
	),
)

var behavioralRows = flagtest.Rows(
	flagtest.Each("§5.2 filters on events", "bob", "cohort",
		[2]string{tree("AND", flagtest.Performed), `{"cohort_type":"behavioral","filters":{"properties":{"values":[` + flagtest.Performed + `]}}}`},
		[2]string{tree("AND", `{"type":"behavioral","key":7,"value":"performed_event_multiple","event_type":"actions","operator":"gte","operator_value":3,"time_value":"30","time_interval":"day","negation":true}`), `{"cohort_type":"behavioral"}`},
		[2]string{tree("AND", `{"type":"behavioral","key":"e","value":"performed_event_sequence","event_type":"events","seq_event":"f","seq_event_type":"events","seq_time_value":1,"seq_time_interval":"day"}`), `{"cohort_type":"behavioral"}`},
		[2]string{tree("AND", `{"type":"behavioral","key":"e","value":"performed_event_regularly","event_type":"events","total_periods":4,"min_periods":2,"event_filters":[],"explicit_datetime":"-30d"}`), `{"cohort_type":"behavioral"}`},
		[2]string{tree("OR", flagtest.Plan, flagtest.Performed), `{"cohort_type":"behavioral"}`},
	),
	flagtest.Each("§5.2 keys that are missing", "bob", "cohort",
		[2]string{tree("AND", `{"type":"behavioral"}`), `400 invalid_input filters Missing required keys for behavioral filter: key, value, event_type`},
		[2]string{tree("AND", `{"type":"behavioral","key":"e","value":"performed_event"}`), `400 invalid_input filters Missing required keys for behavioral filter: event_type`},
		[2]string{tree("AND", `{"type":"behavioral","key":"e","event_type":"events"}`), `400 invalid_input filters Missing required keys for behavioral filter: value`},
	),
	flagtest.Each("§5.2 unknown keys refused", "bob", "cohort",
		[2]string{tree("AND", `{"type":"behavioral","key":"e","value":"performed_event","event_type":"events","how_often":3}`), `400 invalid_input filters`},
	),
)

var nestedRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2", "bob", "cohort", `{"name":"one","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1,"count":2}`},
		{"§5.2", "dan", "cohort", `{"name":"theirs","is_static":true}`, `{"id":2}`},
	},
	flagtest.Each("§5.2 a filter on a cohort", "bob", "cohort",
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":1}`), `{"id":3,"count":2}`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":1,"negation":true}`), `{"id":4,"count":2}`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":1,"operator":"not_in"}`), `{"id":5,"count":2}`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":3}`, `{"type":"person","key":"age","value":"30","operator":"gt"}`), `{"id":6,"count":1}`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":1}`, `{"type":"cohort","key":"id","value":1,"negation":true}`), `{"id":7,"count":0}`},
	),
	flagtest.Each("§5.2 Invalid Cohort ID", "bob", "cohort",
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":99}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":2}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":"1"}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":1.5}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":[1]}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		[2]string{tree("AND", `{"type":"cohort","key":"name","value":1}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		[2]string{tree("AND", `{"type":"cohort","key":"id","value":1,"operator":"exact"}`), `400 invalid_input filters`},
	),
	[]ruletest.Row{
		{"§5.2 a loop of one", "bob", "changecohort 1", tree("AND", `{"type":"cohort","key":"id","value":1}`), `400 invalid_input filters Cohorts cannot reference other cohorts in a loop.`},
		{"§5.2 a loop of two", "bob", "changecohort 1", tree("AND", `{"type":"cohort","key":"id","value":3}`), `400 invalid_input filters Cohorts cannot reference other cohorts in a loop.`},
		{"§5.2 a loop of three", "bob", "changecohort 1", tree("OR", flagtest.Plan, `{"type":"AND","values":[{"type":"cohort","key":"id","value":6}]}`), `400 invalid_input filters Cohorts cannot reference other cohorts in a loop.`},
		{"§5.2 one that is deleted", "bob", "changecohort 7", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.2 one that is deleted", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":7}`), `400 invalid_input filters Invalid Cohort ID in filter`},
		{"§5.2 a static one", "bob", `file {"name":"listed","is_static":true}`, "una", `{"id":8,"count":1}`},
		{"§5.2 a static one", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":8}`), `{"count":1}`},
		{"§5.2 a static one", "bob", "cohort", tree("AND", flagtest.Plan, `{"type":"cohort","key":"id","value":8,"negation":true}`), `{"count":1}`},
	},
)

// legacyRows prove that the oldest form is read as in flags.md §5.6 and stored in today's form.
var legacyRows = flagtest.Rows(
	flagtest.Each("flags.md §5.6 alternatives of requirements", "bob", "cohort",
		[2]string{`{"groups":[{"properties":{"plan":"pro"}}]}`, `{"count":2,"groups":[],"filters":{"properties":{"type":"OR","values":[{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}]}}}`},
		[2]string{`{"groups":[{"properties":[{"key":"plan","type":"person","value":"pro"}]}]}`, `{"count":2}`},
		[2]string{`{"groups":[{"properties":[{"key":"plan","value":"pro"}]}]}`, `{"count":2}`},
		[2]string{`{"groups":[{"properties":[{"key":"plan","type":"event","value":"pro"}]}]}`, `{"count":2,"filters":{"properties":{"values":[{"values":[{"type":"person"}]}]}}}`},
		[2]string{`{"groups":[{"properties":{"plan":"pro"}},{"properties":{"email":"wes@example.org"}}]}`, `{"count":3}`},
		[2]string{`{"groups":[{"properties":{"plan":"pro","email":"una@example.com"}}]}`, `{"count":1}`},
		[2]string{`{"groups":[{"properties":{"plan":["pro","free"]}}]}`, `{"count":2}`},
		[2]string{`{"groups":[{}]}`, `{"count":0}`},
		[2]string{`{"groups":[{"properties":{}}]}`, `{"count":0}`},
		[2]string{`{"groups":[]}`, `{"filters":null,"count":0}`},
	),
	flagtest.Each("flags.md §5.6 about what persons did", "bob", "cohort",
		[2]string{`{"groups":[{"event_id":"paid","days":7}]}`, `{"cohort_type":"behavioral","filters":{"properties":{"values":[{"values":[{"type":"behavioral","key":"paid","event_type":"events","value":"performed_event","time_value":7,"time_interval":"day"}]}]}}}`},
		[2]string{`{"groups":[{"action_id":5}]}`, `{"cohort_type":"behavioral","filters":{"properties":{"values":[{"values":[{"key":5,"event_type":"actions"}]}]}}}`},
		[2]string{`{"groups":[{"event_id":"paid","days":7,"count":3,"count_operator":"gte"}]}`, `{"filters":{"properties":{"values":[{"values":[{"value":"performed_event_multiple","operator":"gte","operator_value":3}]}]}}}`},
	),
	[]ruletest.Row{
		{"§5.2 filters go before groups", "bob", "cohort", `{"groups":[{"properties":{"plan":"free"}}],"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":14,"count":2,"groups":[]}`},
		{"§5.2 in a change", "bob", "changecohort 14", `{"groups":[{"properties":{"email":"wes@example.org"}}]}`, `{"count":1,"filters":{"properties":{"type":"OR"}}}`},
		{"§5.2 no groups are no change", "bob", "changecohort 14", `{"groups":[],"name":"x"}`, `{"count":1,"name":"x","filters":{"properties":{"type":"OR"}}}`},
	},
)
