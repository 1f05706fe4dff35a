package cohorts_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestCohorts(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"fields": cohortFieldRows, "queries": cohortQueryRows, "types": cohortTypeRows, "copies of now": duplicateRows,
		"in use": inUseRows, "lists": cohortListRows, "the log": cohortLogRows,
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

var cohortTypeRows = []ruletest.Row{
	{"flags.md §1.6 nothing", "bob", "cohort", `{}`, `{"id":1,"cohort_type":null}`},
	{"flags.md §1.6 by properties", "bob", "changecohort 1", tree("AND", flagtest.Plan), `{"cohort_type":"person_property"}`},
	{"flags.md §1.6 by events", "bob", "changecohort 1", tree("AND", flagtest.Performed), `{"cohort_type":"behavioral"}`},
	{"flags.md §1.6 it follows from what there is", "bob", "changecohort 1", `{"cohort_type":"static"}`, `{"cohort_type":"behavioral","is_static":false}`},
	{"flags.md §1.6 a list", "bob", "changecohort 1", `{"is_static":true}`, `{"cohort_type":"static","is_static":true}`},
	{"flags.md §1.6 and back", "bob", "changecohort 1", `{"is_static":false,"filters":{"properties":{"type":"AND","values":[` + flagtest.Plan + `]}}}`, `{"cohort_type":"person_property","is_static":false}`},
	{"§5.2 without filters", "bob", "changecohort 1", `{"filters":null}`, `{"filters":null,"cohort_type":null}`},
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
