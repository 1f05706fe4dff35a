package cohorts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestCohorts(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"fields": cohortFieldRows, "trees": treeRows, "leaves": leafRows, "behavioral leaves": behavioralRows, "cohorts of cohorts": nestedRows,
		"queries": cohortQueryRows, "the oldest form": legacyRows, "types": cohortTypeRows, "counts": countRows, "counted again": recountRows, "static ones": staticRows,
		"files": fileRows, "adding and removing": memberChangeRows, "pages of persons": personPageRows, "copies of now": duplicateRows,
		"in use": inUseRows, "lists": cohortListRows, "the log": cohortLogRows, "who is in it": membershipRows,
	})
}

// tree returns the body of a cohort with a tree of filters.
func tree(kind string, values ...string) string {
	return `{"filters":{"properties":{"type":"` + kind + `","values":[` + strings.Join(values, ",") + `]}}}`
}

var cohortFieldRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2 nothing is required", "bob", "cohort", ``, `{"id":1,"name":null,"description":"","groups":[],"deleted":false,"filters":null,"query":null,"is_calculating":false,"created_by":{"first_name":"bob"},
			"created_at":"2026-01-02T12:00:01Z","errors_calculating":0,"is_static":false,"cohort_type":null,"experiment_set":[],"_create_in_folder":"(absent)","_create_static_person_ids":"(absent)"}`},
		{"§5.2 all that may be sent", "bob", "cohort", `{"name":"Pros","description":"who pay","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}},"_create_in_folder":"a/b"}`,
			`{"id":2,"name":"Pros","description":"who pay","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}},"cohort_type":"person_property","count":2}`},
	},
	flagtest.Each("§5.2 name: at most 400, null or blank", "bob", "changecohort 2",
		[2]string{`{"name":` + flagtest.Text(400) + `}`, `{"name":` + flagtest.Text(400) + `}`},
		[2]string{`{"name":` + flagtest.Text(401) + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":""}`, `{"name":""}`},
		[2]string{`{"name":null}`, `{"name":null}`},
		[2]string{`{"name":["x"]}`, `400 invalid_input name Not a valid string.`},
		[2]string{`{"name":"Pros"}`, `{"name":"Pros"}`},
	),
	flagtest.Each("§5.2 description: at most 1000", "bob", "changecohort 2",
		[2]string{`{"description":` + flagtest.Text(1000) + `}`, `{"description":` + flagtest.Text(1000) + `}`},
		[2]string{`{"description":` + flagtest.Text(1001) + `}`, `400 max_length description Ensure this field has no more than 1000 characters.`},
		[2]string{`{"description":""}`, `{"description":""}`},
		[2]string{`{"description":null}`, `400 null description This field may not be null.`},
	),
	flagtest.Each("§2.2 types of fields", "bob", "changecohort 2",
		[2]string{`{"is_static":"maybe"}`, `400 invalid_input is_static Must be a valid boolean.`},
		[2]string{`{"deleted":null}`, `400 null deleted This field may not be null.`},
		[2]string{`{"groups":{}}`, `400 not_a_list groups Expected a list of items but got type "dict".`},
		[2]string{`{"filters":[]}`, `400 not_a_dict filters Expected a dictionary of items but got type "list".`},
		[2]string{`{"query":"SELECT 1"}`, `400 not_a_dict query Expected a dictionary of items but got type "str".`},
		[2]string{`{"cohort_type":"odd"}`, `400 invalid_choice cohort_type "odd" is not a valid choice.`},
		[2]string{`{"_create_static_person_ids":"x"}`, `400 not_a_list _create_static_person_ids Expected a list of items but got type "str".`},
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
	),
	[]ruletest.Row{
		{"§5.2 read-only", "bob", "changecohort 2", `{"id":9,"count":77,"is_calculating":true,"created_by":null,"created_at":"2000-01-01T00:00:00Z","last_calculation":null,"errors_calculating":5,"experiment_set":[1]}`,
			`{"id":2,"count":2,"is_calculating":false,"created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:02Z","errors_calculating":0,"experiment_set":[]}`},
		{"§2.5 PUT: nothing is required", "bob", "putcohort 2", `{"name":"Put"}`, `{"name":"Put","count":2}`},
		{"decision 30", "bob", "changecohort 2", `{"descripton":"x"}`, `400 unknown_key descripton`},
		{"§5.2 unknown", "bob", "getcohort 99", ``, `404 not_found - Not found.`},
		{"§5.2 unknown", "bob", "changecohort 99", `{"name":"x"}`, `404 not_found - Not found.`},
		{"clients.md §1.1 no number", "bob", "getcohort abc", ``, `404 not_found - Not found.`},
		{"clients.md §1.1 no id", "bob", "getcohort 0", ``, `404 not_found - Not found.`},
		{"§1.5 of another project", "dan", "changecohort 2", `{"name":"x"}`, `404 not_found - Not found.`},
		{"§1.8 of another member", "cyd", "changecohort 2", `{"name":"x"}`, `{"name":"x","created_by":{"first_name":"bob"}}`},
	},
)

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

var cohortQueryRows = flagtest.Rows(
	flagtest.Each("§5.2 queries are for static cohorts", "bob", "cohort",
		[2]string{`{"is_static":true,"query":{"kind":"ActorsQuery"}}`, `{"id":1,"is_static":true,"cohort_type":"analytical","query":{"kind":"ActorsQuery"}}`},
		[2]string{`{"is_static":true,"query":{"kind":"HogQLQuery","query":"SELECT 1"}}`, `{"id":2,"query":{"kind":"HogQLQuery","query":"SELECT 1"}}`},
		[2]string{`{"query":{"kind":"ActorsQuery"}}`, `400 invalid_input - Cannot create a dynamic cohort with a query. Set is_static to true.`},
		[2]string{`{"is_static":false,"query":{"kind":"ActorsQuery"}}`, `400 invalid_input - Cannot create a dynamic cohort with a query. Set is_static to true.`},
		[2]string{`{"is_static":true,"query":{"kind":"TrendsQuery"}}`, `400 invalid_input query Query must be an ActorsQuery or HogQLQuery. Got: TrendsQuery`},
		[2]string{`{"is_static":true,"query":{"kind":"actorsquery"}}`, `400 invalid_input query Query must be an ActorsQuery or HogQLQuery. Got: actorsquery`},
		[2]string{`{"is_static":true,"query":{"kind":"ActorsQuery"},"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `400 invalid_input - Cannot set both query and filters at the same time.`},
		[2]string{`{"is_static":true,"query":{}}`, `{"cohort_type":"static"}`},
		[2]string{`{"is_static":true,"query":null}`, `{"query":null}`},
	),
	flagtest.Each("§5.2 in a change", "bob", "changecohort 1",
		[2]string{tree("AND", flagtest.Plan), `400 invalid_input - Cannot set both query and filters at the same time.`},
		[2]string{`{"is_static":false}`, `400 invalid_input - Cannot create a dynamic cohort with a query. Set is_static to true.`},
		[2]string{`{"query":{"kind":"X"}}`, `400 invalid_input query Query must be an ActorsQuery or HogQLQuery. Got: X`},
		[2]string{`{"query":null}`, `{"query":null,"cohort_type":"static"}`},
		[2]string{tree("AND", flagtest.Plan), `{"filters":{"properties":{"type":"AND"}}}`},
	),
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

var cohortTypeRows = []ruletest.Row{
	{"flags.md §1.6 nothing", "bob", "cohort", `{}`, `{"id":1,"cohort_type":null}`},
	{"flags.md §1.6 by properties", "bob", "changecohort 1", tree("AND", flagtest.Plan), `{"cohort_type":"person_property"}`},
	{"flags.md §1.6 by events", "bob", "changecohort 1", tree("AND", flagtest.Performed), `{"cohort_type":"behavioral"}`},
	{"flags.md §1.6 it follows from what there is", "bob", "changecohort 1", `{"cohort_type":"static"}`, `{"cohort_type":"behavioral","is_static":false}`},
	{"flags.md §1.6 a list", "bob", "changecohort 1", `{"is_static":true}`, `{"cohort_type":"static","is_static":true}`},
	{"flags.md §1.6 and back", "bob", "changecohort 1", `{"is_static":false,"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"cohort_type":"person_property","is_static":false}`},
	{"§5.2 without filters", "bob", "changecohort 1", `{"filters":null}`, `{"filters":null,"cohort_type":null}`},
}

var countRows = []ruletest.Row{
	{"§5.2 counted when it is made", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1,"count":2,"last_calculation":"2026-01-02T12:00:01Z","is_calculating":false,"errors_calculating":0}`},
	{"§5.2 and when it changes", "bob", "changecohort 1", tree("AND", flagtest.Plan, `{"type":"person","key":"age","value":"30","operator":"lt"}`), `{"count":1,"last_calculation":"2026-01-02T12:00:02Z"}`},
	{"§5.2 calculation_history, newest first", "bob", "counts 1", ``, `{"count":2,"results":[
		{"count":1,"error":null,"started_at":"2026-01-02T12:00:02Z","finished_at":"2026-01-02T12:00:02Z","filters":{"properties":{"values":[{"key":"plan"},{"key":"age"}]}}},
		{"count":2,"error":null,"started_at":"2026-01-02T12:00:01Z"}]}`},
	{"§3 a page", "bob", "counts 1", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"count":2}]}`},
	{"§5.2 of none", "bob", "counts 9", ``, `404 not_found - Not found.`},
	{"§5.2 of another project's", "dan", "counts 1", ``, `404 not_found - Not found.`},
	{"§5.2 static ones are not calculated", "bob", "cohort", `{"is_static":true}`, `{"id":2,"count":0}`},
	{"§5.2 static ones are not calculated", "bob", "counts 2", ``, `{"count":0,"results":[]}`},
	{"§5.2 deleted ones are not calculated", "bob", "changecohort 1", `{"deleted":true}`, `{"count":1,"last_calculation":"2026-01-02T12:00:02Z"}`},
	{"§5.2 deleted ones are not calculated", "bob", "counts 1", ``, `{"count":2}`},
	{"§5.2 brought back", "bob", "changecohort 1", `{"deleted":false}`, `{"deleted":false,"last_calculation":"2026-01-02T12:00:11Z"}`},
	{"flags.md §5.5 nobody is in one of events", "bob", "cohort", tree("AND", flagtest.Performed), `{"count":0}`},
	{"flags.md §5.3 one that it needs is deleted", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":1}`), `{"id":4,"count":1}`},
	{"flags.md §5.3 one that it needs is deleted", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 a count that fails is noted, the one before stays", "bob", "changecohort 4", `{"name":"x"}`, `{"count":1,"errors_calculating":1}`},
	{"§5.2 a count that fails is noted, the one before stays", "bob", "counts 4", `{"Limit":1}`, `{"count":2,"results":[{"count":null,"error":"(like) cannot be evaluated"}]}`},
	{"§5.2 the next good one", "bob", "changecohort 1", `{"deleted":false}`, `{"deleted":false}`},
	{"§5.2 the next good one", "bob", "changecohort 4", `{"name":"y"}`, `{"count":1,"errors_calculating":0}`},
}

var recountRows = []ruletest.Row{
	{"§5.2 counted when it is made", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1,"count":2,"last_calculation":"2026-01-02T12:00:01Z"}`},
	{"not again within the hour", "bob", "wait 59m", ``, `null`},
	{"not again within the hour", "bob", "countdue", ``, `false`},
	{"not again within the hour", "bob", "getcohort 1", ``, `{"last_calculation":"2026-01-02T12:00:01Z"}`},
	{"again after an hour, and says when", "bob", "wait 1m", ``, `null`},
	{"again after an hour, and says when", "bob", "countdue", ``, `true`},
	{"again after an hour, and says when", "bob", "getcohort 1", ``, `{"count":2,"last_calculation":"(like) ^2026-01-02T13:00:"}`},
	{"once", "bob", "countdue", ``, `false`},
	{"and every hour", "bob", "wait 1h", ``, `null`},
	{"and every hour", "bob", "countdue", ``, `true`},
	{"and every hour", "bob", "getcohort 1", ``, `{"count":2,"last_calculation":"(like) ^2026-01-02T14:00:"}`},
	{"a deleted one is not counted", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"a deleted one is not counted", "bob", "wait 2h", ``, `null`},
	{"a deleted one is not counted", "bob", "countdue", ``, `true`},
	{"a deleted one is not counted", "bob", "countdue", ``, `false`},
	{"a deleted one is not counted", "bob", "getcohort 1", ``, `{"last_calculation":"(like) ^2026-01-02T14:00:"}`},
	{"static ones are counted when they are shown", "bob", "cohort", `{"is_static":true}`, `{"id":2,"count":0}`},
	{"static ones are counted when they are shown", "bob", "wait 2h", ``, `null`},
	{"static ones are counted when they are shown", "bob", "countdue", ``, `false`},
	{"one of a document is counted soon", "bob", "apply", `{"flags":[],"cohorts":[{"name":"applied","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}]}`, `{"changes":[{"name":"applied","action":"create"}]}`},
	{"one of a document is counted soon", "bob", "countdue", ``, `true`},
	{"one of a document is counted soon", "bob", "getcohort 3", ``, `{"name":"applied","count":2,"last_calculation":"(like) ^2026-01-02T1"}`},
	{"one of a document is counted soon", "bob", "countdue", ``, `false`},
}

// A static cohort that is too large to be counted on every read is counted every hour.
func TestCohorts_LargeListsAreCountedAgain(t *testing.T) {
	w := flagtest.New(t)
	calls := flagtest.RoomCalls(t, w)
	const half, many = 60_000, 120_000
	file := func(from int) string {
		var b strings.Builder
		for i := range half {
			fmt.Fprintf(&b, "id-%d\n", from+i)
		}
		return b.String()
	}
	w.Run(t, calls, []ruletest.Row{
		{"made", "bob", `file {"name":"many","is_static":true}`, file(0), fmt.Sprintf(`{"id":1,"count":%d}`, half)},
		{"made", "bob", "morefile 1", file(half), fmt.Sprintf(`{"count":%d}`, many)},
	})
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error { return tx.RemoveMembers(ruletest.Project, 1, []string{"id-0"}) }) // like the erasure of a person
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, calls, []ruletest.Row{
		{"as it was", "bob", "wait 1h", ``, `null`},
		{"as it was", "bob", "getcohort 1", ``, fmt.Sprintf(`{"count":%d}`, many)},
		{"after an hour", "bob", "countdue", ``, `true`},
		{"after an hour", "bob", "countdue", ``, `false`},
		{"after an hour", "bob", "getcohort 1", ``, fmt.Sprintf(`{"count":%d,"last_calculation":"(like) ^2026-01-02T13:"}`, many-1)},
	})
}

var staticRows = []ruletest.Row{
	{"§5.2 filters are not checked", "bob", "cohort", `{"is_static":true,"filters":{"any":"thing"}}`, `{"id":1,"is_static":true,"count":0,"cohort_type":"static"}`},
	{"§5.2 first members", "bob", "cohort", `{"is_static":true,"_create_static_person_ids":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`, `{"id":2,"count":2}`},
	{"§5.2 persons that nobody knows", "bob", "cohort", `{"is_static":true,"_create_static_person_ids":["` + flagtest.Una + `","0191f0a2-5b1c-7d3e-8f40-0000000000ff"]}`, `{"id":3,"count":1}`},
	{"§5.2 only of static ones", "bob", "cohort", `{"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}},"_create_static_person_ids":["` + flagtest.Wes + `"]}`, `{"id":4,"count":2}`},
	{"§5.2 members stay", "bob", "changecohort 2", `{"name":"x"}`, `{"count":2}`},
	{"§5.2 deleted and back", "bob", "changecohort 2", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 deleted and back", "bob", "changecohort 2", `{"deleted":false}`, `{"deleted":false,"count":2}`},
	{"§5.2 another project's persons", "dan", "cohort", `{"is_static":true,"_create_static_person_ids":["` + flagtest.Una + `"]}`, `{"count":0}`},
}

var fileRows = []ruletest.Row{
	{"§5.2 one column, no header: distinct ids", "bob", `file {"name":"a","is_static":true}`, "una\nvic\n", `{"id":1,"count":2}`},
	{"§5.2 two ids of one person", "bob", `file {"name":"b","is_static":true}`, "vic\nvic2\n", `{"id":2,"count":1}`},
	{"§5.2 ids of nobody yet", "bob", `file {"name":"c","is_static":true}`, "una\nlater\n", `{"id":3,"count":2}`},
	{"§5.2 person_id", "bob", `file {"name":"d","is_static":true}`, "person_id\n" + flagtest.Una + "\n" + flagtest.Wes + "\n0191f0a2-5b1c-7d3e-8f40-0000000000ff\n", `{"id":4,"count":2}`},
	{"§5.2 person-id", "bob", `file {"name":"e","is_static":true}`, "person-id\n" + flagtest.Una + "\n", `{"id":5,"count":1}`},
	{"§5.2 email", "bob", `file {"name":"f","is_static":true}`, "email\nwes@example.org\nnobody@example.com\n", `{"id":6,"count":1}`},
	{"§5.2 several columns", "bob", `file {"name":"g","is_static":true}`, "name,distinct_id\nUna,una\nVic,vic\n", `{"id":7,"count":2}`},
	{"§5.2 of a dynamic one", "bob", `file {"name":"h"}`, "una\n", `400 invalid_input csv`},
	{"§5.2 nothing of it stays", "bob", "cohorts", `{"Search":"h"}`, `{"count":0}`},
	{"§5.2 several columns and no ids: those that there are", "bob", `file {"is_static":true}`, "name,age\nUna,40\n", `400 invalid_input csv The file has several columns but none with ids: one must be named person_id, distinct_id or email. Found: name, age`},
	{"§5.2 empty", "bob", `file {"is_static":true}`, "", `400 invalid_input csv`},
	{"§5.2 more members", "bob", "morefile 1", "wes\nuna\n", `{"count":3}`},
	{"§5.2 more members of a dynamic one", "bob", "cohort", `{"name":"dynamic"}`, `{"id":8}`},
	{"§5.2 more members of a dynamic one", "bob", "morefile 8", "una\n", `400 invalid_input csv`},
}

var memberChangeRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2", "bob", "cohort", `{"name":"s","is_static":true}`, `{"id":1,"count":0}`},
		{"§5.2", "bob", "cohort", `{"name":"d"}`, `{"id":2}`},
		{"§5.2", "bob", "addpersons 1", `{"person_ids":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`, `{"success":true}`},
		{"§5.2", "bob", "getcohort 1", ``, `{"count":2}`},
		{"§5.2 those who are in it already", "bob", "addpersons 1", `{"person_ids":["` + flagtest.Una + `","` + flagtest.Wes + `"]}`, `{"success":true}`},
		{"§5.2 those who are in it already", "bob", "getcohort 1", ``, `{"count":3}`},
	},
	flagtest.Each("§5.2 add_persons_to_static_cohort", "bob", "addpersons 1",
		[2]string{`{}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":null}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":"` + flagtest.Una + `"}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":{}}`, `400 invalid_input - person_ids must be a list`},
		[2]string{`{"person_ids":[]}`, `400 invalid_input - person_ids cannot be empty`},
		[2]string{`{"person_ids":` + flagtest.List(1001, `"`+flagtest.Una+`"`) + `}`, `400 invalid_input - List size exceeds limit`},
		[2]string{`{"person_ids":` + flagtest.List(1000, `"`+flagtest.Una+`"`) + `}`, `{"success":true}`},
		[2]string{`{"person_ids":["0191f0a2-5b1c-7d3e-8f40-0000000000ff"]}`, `400 invalid_input - No valid users to add to cohort`},
		[2]string{`{"person_ids":["una",7,null]}`, `400 invalid_input - No valid users to add to cohort`},
		[2]string{`{"person_ids":["una","` + flagtest.Xia + `"]}`, `{"success":true}`},
	),
	[]ruletest.Row{
		{"§5.2 to a dynamic one", "bob", "addpersons 2", `{"person_ids":["` + flagtest.Una + `"]}`, `400 invalid_input - Can only add users to static cohorts`},
		{"§5.2 to none", "bob", "addpersons 9", `{"person_ids":["` + flagtest.Una + `"]}`, `404 not_found - Not found.`},
		{"§5.2 to another project's", "dan", "addpersons 1", `{"person_ids":["` + flagtest.Una + `"]}`, `404 not_found - Not found.`},
		{"§5.2 remove_person_from_static_cohort", "bob", "removeperson 1", `{"person_id":"` + flagtest.Vic + `"}`, `{"success":true}`},
		{"§5.2 with all distinct ids", "bob", "persons 1 10", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Wes + `","` + flagtest.Xia + `"],"Next":""}`},
		{"§5.2 counted", "bob", "getcohort 1", ``, `{"count":3}`},
	},
	flagtest.Each("§5.2 remove_person_from_static_cohort", "bob", "removeperson 1",
		[2]string{`{}`, `400 invalid_input - person_id is required`},
		[2]string{`{"person_id":null}`, `400 invalid_input - person_id is required`},
		[2]string{`{"person_id":""}`, `400 invalid_input - person_id is required`},
		[2]string{`{"person_id":"una"}`, `400 invalid_input - person_id must be a valid UUID`},
		[2]string{`{"person_id":7}`, `400 invalid_input - person_id must be a valid UUID`},
		[2]string{`{"person_id":"0191f0a2-5b1c-7d3e-8f40-0000000000ff"}`, `404 not_found - Person with this UUID does not exist in the cohort's team`},
		[2]string{`{"person_id":"` + flagtest.Vic + `"}`, `404 not_found - Person is not part of the cohort`},
	),
	[]ruletest.Row{
		{"§5.2 from a dynamic one", "bob", "removeperson 2", `{"person_id":"` + flagtest.Una + `"}`, `400 invalid_input -`},
		{"§5.2 from none", "bob", "removeperson 9", `{"person_id":"` + flagtest.Una + `"}`, `404 not_found - Not found.`},
	},
)

var personPageRows = []ruletest.Row{
	{"§5.2", "bob", "cohort", tree("AND", `{"type":"person","key":"email","operator":"is_set"}`), `{"id":1,"count":3}`},
	{"§5.2", "bob", `file {"is_static":true}`, "xia\nvic\nvic2\nnobody\nuna\n", `{"id":2,"count":4}`},
	{"§5.2 of a dynamic one", "bob", "persons 1 100", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Wes + `"],"Next":""}`},
	{"§5.2 a page", "bob", "persons 1 2", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"],"Next":"2"}`},
	{"§5.2 the next one", "bob", "persons 1 2 2", ``, `{"UUIDs":["` + flagtest.Wes + `"],"Next":""}`},
	{"§5.2 a cursor of nobody's", "bob", "persons 1 2 x", ``, `400 invalid_input cursor`},
	{"§5.2 a cursor of nobody's", "bob", "persons 1 2 -1", ``, `400 invalid_input cursor`},
	{"§5.2 of a static one: each person once", "bob", "persons 2 100", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `","` + flagtest.Xia + `"],"Next":""}`},
	{"§5.2 a page", "bob", "persons 2 2", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"],"Next":"(like) ."}`},
	{"§5.2 the next one", "bob", "persons 2 2 vic", ``, `{"UUIDs":["` + flagtest.Xia + `"],"Next":""}`},
	{"§5.2 of a deleted one", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 of a deleted one", "bob", "persons 1 100", ``, `{"UUIDs":null,"Next":""}`},
	{"§5.2 of none", "bob", "persons 9 100", ``, `404 not_found - Not found.`},
	{"§5.2 of another project's", "dan", "persons 2 100", ``, `404 not_found - Not found.`},
}

var duplicateRows = []ruletest.Row{
	{"§5.2", "bob", "cohort", `{"name":"Pros","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1}`},
	{"§5.2 duplicate_as_static_cohort", "cyd", "duplicate 1", ``, `{"id":2,"name":"Pros (static copy)","is_static":true,"count":2,"filters":null,"created_by":{"first_name":"cyd"}}`},
	{"§5.2 its members", "bob", "persons 2 10", ``, `{"UUIDs":["` + flagtest.Una + `","` + flagtest.Vic + `"]}`},
	{"§5.2 it stays as it was", "bob", "changecohort 1", tree("AND", `{"type":"person","key":"email","operator":"is_set"}`), `{"count":3}`},
	{"§5.2 it stays as it was", "bob", "getcohort 2", ``, `{"count":2}`},
	{"§5.2 of a static one", "bob", "duplicate 2", ``, `400 invalid_input - Cannot duplicate a static cohort as a static cohort.`},
	{"§5.2 of a deleted one", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 of a deleted one", "bob", "duplicate 1", ``, `404 not_found - Not found.`},
	{"§5.2 of none", "bob", "duplicate 9", ``, `404 not_found - Not found.`},
	{"§5.2 of nobody", "bob", "cohort", `{"name":"","filters":{"properties":{"type":"OR","values":[]}}}`, `{"id":3}`},
	{"§5.2 of nobody", "bob", "duplicate 3", ``, `{"name":"(static copy)","count":0}`},
}

// flagUsingCohort returns the body of a flag that refers to a cohort.
func flagUsingCohort(key, cohort string) string {
	return `{"key":"` + key + `","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":` + cohort + `}]}]}}`
}

var inUseRows = []ruletest.Row{
	{"§5.2", "bob", "cohort", `{"name":"inner","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1}`},
	{"§5.2", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":1}`), `{"id":2}`},
	{"§5.2", "bob", "create", flagUsingCohort("b", "1"), `{"id":1}`},
	{"§5.2", "bob", "create", flagUsingCohort("a", "1"), `{"id":2}`},
	{"§5.2", "bob", "create", flagUsingCohort("c", "2"), `{"id":3}`},
	{"§5.2 by flags, also through another", "bob", "changecohort 1", `{"deleted":true}`, `400 invalid_input - This cohort is used in 3 active feature flag(s): a, b, c. Please remove the cohort from these feature flags before deleting it.`},
	{"§5.2 by one", "bob", "changecohort 2", `{"deleted":true}`, `400 invalid_input - This cohort is used in 1 active feature flag(s): c. Please remove the cohort from these feature flags before deleting it.`},
	{"§5.2 a behavioral filter", "bob", "changecohort 1", tree("AND", flagtest.Performed), `400 behavioral_cohort_found filters Behavioral filters cannot be added to cohorts used in feature flags.`},
	{"§5.2 a behavioral one below it", "bob", "cohort", `{"name":"who paid","filters":{"properties":{"type":"AND","values":[` + flagtest.Performed + `]}}}`, `{"id":3}`},
	{"§5.2 a behavioral one below it", "bob", "changecohort 2", tree("AND", `{"type":"cohort","key":"id","value":3}`), `400 behavioral_cohort_found filters Behavioral filters cannot be added to cohorts used in feature flags.`},
	{"§5.2 any other change", "bob", "changecohort 1", tree("OR", flagtest.Plan), `{"count":2}`},
	{"§5.2 inactive flags do not count", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§5.2 deleted flags do not count", "bob", "change 2", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 flags that have it no more", "bob", "change 3", flagtest.Groups(`{"properties":[]}`), `{"id":3}`},
	{"§5.2 then it may go", "bob", "changecohort 2", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 then it may go", "bob", "changecohort 1", tree("AND", flagtest.Performed), `{"cohort_type":"behavioral"}`},
	{"§5.2 then it may go", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.2 its flag is not switched on again", "bob", "change 1", `{"active":true}`, `400 cohort_does_not_exist filters Cohort with id 1 does not exist`},
	{"§5.1.1 and its name is shown no more", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[{"value":1,"cohort_name":null}]}]}}`},
}

var cohortListRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.2", "bob", "cohort", `{"name":"Alpha","filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"id":1}`},
		{"§5.2", "cyd", "cohort", `{"name":"beta","is_static":true}`, `{"id":2}`},
		{"§5.2", "bob", "cohort", `{"name":"alphabet","filters":{"properties":{"type":"AND","values":[` + flagtest.Performed + `]}}}`, `{"id":3}`},
		{"§5.2", "bob", "cohort", `{"name":null}`, `{"id":4}`},
		{"§5.2", "dan", "cohort", `{"name":"alpha"}`, `{"id":5}`},
	},
	flagtest.Each("§5.2 newest first, and what narrows it down", "bob", "cohorts",
		[2]string{``, `{"count":4,"results":[{"id":4},{"id":3},{"id":2},{"id":1}]}`},
		[2]string{`{"Type":"static"}`, `{"count":1,"results":[{"id":2}]}`},
		[2]string{`{"Type":"dynamic"}`, `{"count":3,"results":[{"id":4},{"id":3},{"id":1}]}`},
		[2]string{`{"Type":"odd"}`, `{"count":4}`}, // clients.md §2.1: as if absent
		[2]string{`{"CreatedBy":3}`, `{"count":1,"results":[{"id":2}]}`},
		[2]string{`{"CreatedBy":99}`, `{"count":0,"results":[]}`},
		[2]string{`{"Search":"ALPHA"}`, `{"count":2,"results":[{"id":3},{"id":1}]}`},
		[2]string{`{"Search":"gamma"}`, `{"count":0,"results":[]}`},
		[2]string{`{"HideBehavioral":true}`, `{"count":3,"results":[{"id":4},{"id":2},{"id":1}]}`},
		[2]string{`{"Search":"a","Type":"dynamic","HideBehavioral":true}`, `{"count":1,"results":[{"id":1}]}`},
		[2]string{`{"Limit":2}`, `{"count":4,"results":[{"id":4},{"id":3}]}`},
		[2]string{`{"Limit":2,"Offset":3}`, `{"count":4,"results":[{"id":1}]}`},
		[2]string{`{"Offset":9}`, `{"count":4,"results":[]}`},
	),
	[]ruletest.Row{
		{"§5.2 deleted ones are hidden", "bob", "changecohort 4", `{"deleted":true}`, `{"deleted":true}`},
		{"§5.2 deleted ones are hidden", "bob", "cohorts", ``, `{"count":3,"results":[{"id":3},{"id":2},{"id":1}]}`},
	},
)

var cohortLogRows = []ruletest.Row{
	{"§5.11", "bob", "cohort", `{"name":"Pros","is_static":true}`, `{"id":1}`},
	{"§5.11 created", "bob", "log Cohort 1", ``, `{"activity":"created","scope":"Cohort","item_id":"1","user":{"first_name":"bob"},"detail":{"name":"Pros"}}`},
	{"§5.11", "cyd", "changecohort 1", `{"name":"Payers"}`, `{"name":"Payers"}`},
	{"§5.11 updated", "bob", "log Cohort 1", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"Payers","changes":[{"type":"Cohort","action":"changed","field":"name","before":"Pros","after":"Payers"}]}}`},
	{"§5.11 no change is no line", "bob", "changecohort 1", `{"name":"Payers"}`, `{"name":"Payers"}`},
	{"§5.11 no change is no line", "bob", "log Cohort 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11 members", "ann", "addpersons 1", `{"person_ids":["` + flagtest.Una + `"]}`, `{"success":true}`},
	{"§5.11 members", "bob", "log Cohort 1", ``, `{"user":{"first_name":"ann"},"detail":{"changes":[{"field":"count","before":0,"after":1},{"field":"last_calculation"}]}}`},
	{"§5.11 deleted", "gus", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.11 deleted", "bob", "log Cohort 1", ``, `{"user":{"first_name":"gus"},"detail":{"changes":[{"field":"deleted","before":false,"after":true}]}}`},
}

var membershipRows = []ruletest.Row{
	{"clients.md §2.2", "bob", "cohort", tree("AND", flagtest.Plan), `{"id":1}`},
	{"clients.md §2.2", "bob", `file {"is_static":true}`, "wes\n", `{"id":2}`},
	{"clients.md §2.2 only its members", "bob", "member 1", ``, `["` + flagtest.Una + `","` + flagtest.Vic + `"]`},
	{"clients.md §2.2 of a list", "bob", "member 2", ``, `["` + flagtest.Wes + `"]`},
	{"clients.md §2.2 an unknown cohort: no rows", "bob", "member 99", ``, `[]`},
	{"clients.md §2.2 another project's: no rows", "dan", "member 1", ``, `[]`},
	{"clients.md §2.2 a deleted one: no rows", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §2.2 a deleted one: no rows", "bob", "member 1", ``, `[]`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "changecohort 1", `{"deleted":false}`, `{"deleted":false}`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "cohort", tree("AND", `{"type":"cohort","key":"id","value":1}`), `{"id":3}`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
	{"flags.md §5.3 one that cannot be evaluated", "bob", "member 3", ``, `400 invalid_input cohort`},
}
