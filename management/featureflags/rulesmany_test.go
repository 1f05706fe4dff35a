package featureflags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestFlags_TagsAndCohorts(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"tags": bulkTagRows, "changes": bulkChangeRows, "cohorts": cohortOfFlagRows})
}

var bulkTagRows = flagtest.Rows(
	[]ruletest.Row{
		{"clients.md §7.3", "bob", "create", `{"key":"a","tags":["old","x"]}`, `{"id":1,"version":1}`},
		{"clients.md §7.3", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"clients.md §7.3", "bob", "create", `{"key":"c"}`, `{"id":3}`},
		{"clients.md §7.3", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
		{"clients.md §7.3 add; tags are tidied (§3.3)", "bob", "tags", `{"ids":[1,2],"action":"add","tags":[" New ","","x"]}`,
			`{"updated":[{"id":1,"tags":["new","old","x"]},{"id":2,"tags":["new","x"]}],"skipped":[]}`},
		{"clients.md §7.3 it is a change of the flag", "bob", "get 1", ``, `{"version":2,"tags":["new","old","x"]}`},
		{"clients.md §7.3 once more is none", "bob", "tags", `{"ids":[1],"action":"add","tags":["x"]}`, `{"updated":[{"id":1,"tags":["new","old","x"]}]}`},
		{"clients.md §7.3 once more is none", "bob", "get 1", ``, `{"version":2}`},
		{"clients.md §7.3 remove", "bob", "tags", `{"ids":[1,2],"action":"remove","tags":["X","none"]}`, `{"updated":[{"id":1,"tags":["new","old"]},{"id":2,"tags":["new"]}]}`},
		{"clients.md §7.3 set", "bob", "tags", `{"ids":[1,2],"action":"set","tags":[]}`, `{"updated":[{"id":1,"tags":[]},{"id":2,"tags":[]}]}`},
		{"clients.md §7.3 what is skipped keeps no other", "bob", "tags", `{"ids":[3,"x",9,2],"action":"set","tags":["t"]}`,
			`{"updated":[{"id":2,"tags":["t"]}],"skipped":[{"id":3,"reason":"Flag not found"},{"id":"x","reason":"Invalid flag ID format"},{"id":9,"reason":"Flag not found"}]}`},
		{"§1.5 those of another project are none", "dan", "tags", `{"ids":[1],"action":"set","tags":["t"]}`, `{"updated":[],"skipped":[{"id":1,"reason":"Flag not found"}]}`},
	},
	flagtest.Each("clients.md §7.3 what it needs", "bob", "tags",
		[2]string{`{"action":"set","tags":[]}`, `400 required ids This field is required.`},
		[2]string{`{"ids":[1],"tags":[]}`, `400 required action This field is required.`},
		[2]string{`{"ids":[1],"action":"set"}`, `400 required tags This field is required.`},
		[2]string{`{"ids":[1],"action":"drop","tags":[]}`, `400 invalid_choice action "drop" is not a valid choice.`},
		[2]string{`{"ids":[` + strings.Repeat("1,", 1000) + `1],"action":"set","tags":[]}`, `400 max_length ids`},
	),
)

var bulkChangeRows = flagtest.Rows(
	[]ruletest.Row{
		{"console.md N13", "bob", "create", `{"key":"a","tags":["old"]}`, `{"id":1}`},
		{"console.md N13", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"console.md N13 off", "bob", "bulk", `{"ids":[1,2],"patch":{"active":false}}`, `{"results":[{"id":1,"ok":true,"error":null},{"id":2,"ok":true,"error":null}]}`},
		{"console.md N13 it is a change of each", "bob", "get 2", ``, `{"active":false,"version":2}`},
		{"console.md N13 what is refused keeps no other", "bob", "bulk", `{"ids":[9,"x",2],"patch":{"active":true}}`,
			`{"results":[{"id":9,"ok":false,"error":"Not found."},{"id":"x","ok":false,"error":"Invalid flag ID format"},{"id":2,"ok":true,"error":null}]}`},
		{"console.md N13 tags", "bob", "bulk", `{"ids":[1,2],"patch":{"add_tags":[" New "]}}`, `{"results":[{"id":1,"ok":true},{"id":2,"ok":true}]}`},
		{"console.md N13 tags", "bob", "bulk", `{"ids":[1],"patch":{"remove_tags":["old"]}}`, `{"results":[{"id":1,"ok":true}]}`},
		{"console.md N13 tags", "bob", "get 1", ``, `{"tags":["new"]}`},
		{"console.md N13 archived is off", "bob", "bulk", `{"ids":[2],"patch":{"archived":true}}`, `{"results":[{"id":2,"ok":true}]}`},
		{"console.md N13 archived is off", "bob", "get 2", ``, `{"archived":true,"active":false}`},
		{"console.md N13 deleted", "bob", "bulk", `{"ids":[2],"patch":{"deleted":true}}`, `{"results":[{"id":2,"ok":true}]}`},
		{"console.md N13 deleted", "bob", "get 2", ``, `{"deleted":true}`},
		{"§1.5 those of another project are none", "dan", "bulk", `{"ids":[1],"patch":{"active":false}}`, `{"results":[{"id":1,"ok":false,"error":"Not found."}]}`},
	},
	flagtest.Each("console.md N13 what it needs", "bob", "bulk",
		[2]string{`{"patch":{"active":true}}`, `400 required ids This field is required.`},
		[2]string{`{"ids":[1]}`, `400 required patch This field is required.`},
		[2]string{`{"ids":[1],"patch":{}}`, `400 invalid_input patch Send exactly one of active, archived, deleted, add_tags, remove_tags.`},
		[2]string{`{"ids":[1],"patch":{"key":"z"}}`, `400 invalid_input patch Send exactly one of active, archived, deleted, add_tags, remove_tags.`},
		[2]string{`{"ids":[1],"patch":{"active":true,"deleted":true}}`, `400 invalid_input patch Send exactly one of active, archived, deleted, add_tags, remove_tags.`},
		[2]string{`{"ids":[1],"patch":{"active":"maybe"}}`, `400 invalid_input patch__active Must be a valid boolean.`},
		[2]string{`{"ids":[1],"patch":{"add_tags":"x"}}`, `400 not_a_list patch__add_tags`},
		[2]string{`{"ids":[` + strings.Repeat("1,", 200) + `1],"patch":{"active":true}}`, `400 max_length ids`},
	),
)

// The persons are somePeople: una and vic have the plan pro.
var cohortOfFlagRows = []ruletest.Row{
	{"clients.md §7.2", "bob", "create", `{"key":"pros","filters":{"groups":[{"properties":[` + flagtest.Plan + `]}]}}`, `{"id":1}`},
	{"clients.md §7.2 name at the time, in UTC", "bob", "cohortof 1", ``, `{"cohort":{"id":1,"name":"(like) ^Users with feature flag pros enabled at 2026-01-02 12:00:[0-9]{2}$","is_static":true,"count":2,"created_by":{"first_name":"bob"}}}`},
	{"clients.md §7.2 members", "bob", "member 1", ``, `["` + flagtest.Una + `","` + flagtest.Vic + `"]`},
	{"clients.md §7.2 who has the flag later is no member", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}]}}`, `{"version":2}`},
	{"clients.md §7.2 who has the flag later is no member", "bob", "member 1", ``, `["` + flagtest.Una + `","` + flagtest.Vic + `"]`},
	{"clients.md §7.2 a flag that asks for a cohort", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, `{"version":3}`},
	{"clients.md §7.2 a flag that asks for a cohort", "bob", "cohortof 1", ``, `{"cohort":{"id":2,"count":2}}`},
	{"clients.md §7.2 a flag that is off is on for nobody", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"clients.md §7.2 a flag that is off is on for nobody", "bob", "cohortof 1", ``, `{"cohort":{"id":3,"count":0}}`},
	{"clients.md §7.2 a flag about groups", "bob", "create", `{"key":"firms","filters":{"aggregation_group_type_index":0,"groups":[{"properties":[]}]}}`, `{"id":2}`},
	{"clients.md §7.2 a flag about groups", "bob", "cohortof 2", ``, `400 invalid_input - This feature flag is evaluated for groups and has no persons.`},
	{"§1.5 of another project", "dan", "cohortof 1", ``, `404 not_found - Not found.`},
	{"clients.md §7.2 a deleted one", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §7.2 a deleted one", "bob", "cohortof 1", ``, `404 not_found - Not found.`},
}
