package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// Access rules (clients.md §11) for every call about flags: bob is a member, ann the owner. "none"
// hides a flag from lists and refuses its paths, "viewer" refuses changes.
func TestFlags_Access(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"reads": accessReadRows, "writes": accessWriteRows, "several": accessManyRows, "kinds": accessKindRows, "members": accessMemberRows,
		"documents": accessDocumentRows, "what flags show": accessLinkRows,
	})
}

const (
	noViewer = `403 permission_denied - You do not have viewer access to this resource.`
	noEditor = `403 permission_denied - You do not have editor access to this resource.`
	// bobMember is the id of bob's membership: the second of a World.
	bobMember = `"0191f0a2-5b1c-7d3e-8f40-200000090001"`
)

// restrictedFlags: flag 1 is bob's own, 2 is hidden from members, 3 is read-only for them, 4 has no rule.
// Flags 2 and 3 depend on flag 4.
var restrictedFlags = []ruletest.Row{
	{"clients.md §11", "bob", "create", `{"key":"own","tags":["x"]}`, `{"id":1}`},
	{"clients.md §11", "ann", "create", `{"key":"closed","tags":["x"]}`, `{"id":2}`},
	{"clients.md §11", "ann", "create", `{"key":"read","tags":["x"]}`, `{"id":3}`},
	{"clients.md §11", "ann", "create", `{"key":"free","tags":["x"]}`, `{"id":4}`},
	{"clients.md §11", "ann", "change 2", flagtest.Needs("4"), `{"version":2}`},
	{"clients.md §11", "ann", "change 3", flagtest.Needs("4"), `{"version":2}`},
	{"clients.md §11", "ann", "rule feature_flag 2", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11", "ann", "rule feature_flag 3", `{"access_level":"viewer"}`, `{"access_level":"viewer"}`},
}

var accessReadRows = flagtest.Rows(restrictedFlags, []ruletest.Row{
	{"clients.md §11.2 1 the creator", "bob", "get 1", ``, `{"user_access_level":"manager","can_edit":true}`},
	{"clients.md §11.2 5 the kind's default", "bob", "get 4", ``, `{"user_access_level":"editor","can_edit":true}`},
	{"clients.md §11.2 4 the object's default", "bob", "get 3", ``, `{"user_access_level":"viewer","can_edit":false}`},
	{"clients.md §11.2 1 an administrator", "gus", "get 2", ``, `{"user_access_level":"manager","can_edit":true}`},
	{"clients.md §11.3 none: 403 in paths", "bob", "get 2", ``, noViewer},
	{"clients.md §11.3 none: 403 in paths", "bob", "versions 2", ``, noViewer},
	{"clients.md §11.3 none: 403 in paths", "bob", "version 2 1", ``, noViewer},
	{"clients.md §11.3 none: 403 in paths", "bob", "dependents 2", ``, noViewer},
	{"clients.md §11.3 none: 403 in paths", "bob", "pins 2", ``, noViewer},
	{"clients.md §11.3 none: 403 in paths", "bob", "question closed", `{"distinct_id":"una"}`, noViewer},
	{"clients.md §11.3 none: 403 in paths", "bob", "who 2", ``, noViewer},
	{"clients.md §11.3 404 when it is another project's", "dan", "get 2", ``, `404 not_found - Not found.`},
	{"clients.md §11.3 viewer: reads", "bob", "versions 3", ``, `{"count":2}`},
	{"clients.md §11.3 viewer: reads", "bob", "version 3 1", ``, `{"version":1}`},
	{"clients.md §11.3 viewer: reads", "bob", "dependents 3", ``, `[]`},
	{"clients.md §11.3 viewer: reads", "bob", "pins 3", ``, `{"count":0}`},
	{"clients.md §11.3 viewer: reads", "bob", "question read", `{"distinct_id":"una"}`, `{"Flag":{"id":3}}`},
	{"clients.md §11.3 viewer: reads", "bob", "who 3", ``, `{"of":4}`},
	{"clients.md §11.3 none: missing from lists", "bob", "keys", `{}`, `["free","read","own"]`},
	{"clients.md §11.3 none: missing from lists", "bob", "list", `{"Limit":2}`, `{"count":3,"results":[{"key":"free"},{"key":"read"}]}`},
	{"clients.md §11.3 none: missing from lists", "bob", "rows", `{}`, `{"count":3,"results":[{"key":"free","can_edit":true},{"key":"read","can_edit":false},{"key":"own","can_edit":true}]}`},
	{"clients.md §11.3 none: missing from lists", "ann", "keys", `{}`, `["free","read","closed","own"]`},
	{"clients.md §11.3 none: missing from lists", "bob", "listed", ``, `[{"Key":"free"},{"Key":"read"},{"Key":"own"}]`},
	{"clients.md §11.3 none: missing from lists", "bob", "dependents 4", ``, `[{"id":3,"key":"read"}]`},
	{"clients.md §11.3 none: missing from lists", "ann", "dependents 4", ``, `[{"id":2},{"id":3}]`},
	{"clients.md §11.3 none: missing from lists", "bob", "bulkkeys", `{"ids":[1,2,3]}`, `{"keys":{"1":"own","3":"read"},"warning":"(absent)"}`},
	{"clients.md §11.3 none: missing from lists", "bob", "bulkkeys", `{"ids":[2]}`, `{"keys":{}}`},
	{"clients.md §11.3 none: missing from lists", "bob", "places closed", ``, `404 not_found - Not found.`},
	{"clients.md §11.3 none: missing from lists", "ann", "places closed", ``, `[{"flag_id":2}]`},
})

var accessWriteRows = flagtest.Rows(restrictedFlags,
	writesOf("2"), writesOf("3"),
	[]ruletest.Row{
		{"clients.md §11.3 a refusal changes nothing", "ann", "get 2", ``, `{"version":2,"active":true,"archived":false}`},
		{"clients.md §11.3 a refusal changes nothing", "ann", "get 3", ``, `{"version":2,"active":true,"archived":false}`},
		{"clients.md §11.3 a refusal changes nothing", "ann", "pins 3", ``, `{"count":0}`},
		{"clients.md §11.3 the log", "ann", "log FeatureFlag 3", ``, `{"activity":"updated","user":{"first_name":"ann"}}`},
		{"clients.md §11.3 editor", "bob", "change 4", `{"name":"x"}`, `{"version":2,"last_modified_by":{"first_name":"bob"}}`},
		{"clients.md §11.3 editor", "bob", "disable 1", ``, `{"active":false}`},
		{"clients.md §11.3 an administrator", "gus", "change 2", `{"name":"x"}`, `{"version":3}`},
		{"clients.md §11.2 1 a rule for its creator has no effect", "ann", "rule feature_flag 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
		{"clients.md §11.2 1 a rule for its creator has no effect", "bob", "change 1", `{"name":"x"}`, `{"name":"x"}`},
		{"clients.md §11.3 it has one for others", "cyd", "change 1", `{"name":"y"}`, noEditor},
		{"clients.md §11.1 access_level null: the rule is removed", "ann", "rule feature_flag 3", `{"access_level":null}`, `null`},
		{"clients.md §11.1 access_level null: the rule is removed", "bob", "change 3", `{"name":"x"}`, `{"version":3}`},
	},
)

// writesOf returns rows of all changes of one flag by bob, who may not change it.
func writesOf(id string) (out []ruletest.Row) {
	for _, c := range [][2]string{
		{"change", `{"name":"x"}`},
		{"change", `{"active":"maybe"}`}, // §1.5: the permission is checked before the body
		{"put", `{}`},
		{"change", `{"deleted":true}`},
		{"restore", `{"version":1}`},
		{"enable", ``}, {"disable", ``}, {"archive", ``}, {"unarchive", ``},
		{"dashboard", ``}, {"enrich", ``},
		{"pin", `{"distinct_id":"x","value":true}`},
	} {
		out = append(out, ruletest.Row{"clients.md §11.3 viewer, none: 403 on writes", "bob", c[0] + " " + id, c[1], noEditor})
	}
	return append(out, ruletest.Row{"clients.md §11.3 viewer, none: 403 on writes", "bob", "unpin " + id + " 1", ``, noEditor})
}

var accessManyRows = flagtest.Rows(restrictedFlags, []ruletest.Row{
	{"clients.md §7.3 matching_ids: only those that the caller may edit", "bob", "matching", `{}`, `{"ids":[4,1],"total":2}`},
	{"clients.md §7.3 matching_ids: only those that the caller may edit", "ann", "matching", `{}`, `{"ids":[4,3,2,1],"total":4}`},
	{"clients.md §11.3 bulk calls want editor", "bob", "tags", `{"ids":[1,2,3,4],"action":"set","tags":["t"]}`,
		`{"updated":[{"id":1,"tags":["t"]},{"id":4,"tags":["t"]}],"skipped":[{"id":2,"reason":"Flag not found"},{"id":3,"reason":"You do not have editor access to this resource."}]}`},
	{"clients.md §11.3 bulk calls want editor", "ann", "get 3", ``, `{"tags":["x"],"version":2}`},
	{"clients.md §11.3 bulk calls want editor", "bob", "bulk", `{"ids":[1,2,3],"patch":{"active":false}}`,
		`{"results":[{"id":1,"ok":true},{"id":2,"ok":false,"error":"You do not have editor access to this resource."},{"id":3,"ok":false,"error":"You do not have editor access to this resource."}]}`},
	{"clients.md §11.3 bulk calls want editor", "bob", "bulk", `{"ids":[2,3,4],"patch":{"add_tags":["u"]}}`,
		`{"results":[{"id":2,"ok":false,"error":"Flag not found"},{"id":3,"ok":false,"error":"You do not have editor access to this resource."},{"id":4,"ok":true,"error":null}]}`},
	{"clients.md §11.3 bulk calls want editor", "bob", "bulkdelete", `{"ids":[2,3,1]}`,
		`{"deleted":[{"id":1,"key":"own"}],"errors":[{"id":2,"key":"(absent)","reason":"Flag not found"},{"id":3,"key":"read","reason":"You do not have editor access to this resource."}]}`},
	{"clients.md §11.3 bulk calls want editor: by filters", "bob", "bulkdelete", `{"filters":{"Tags":["x"]}}`, `{"deleted":[],"errors":[]}`},
	{"clients.md §11.3 bulk calls want editor: by filters", "ann", "bulkdelete", `{"filters":{"Tags":["x"]}}`, `{"deleted":[{"key":"read"},{"key":"closed"}],"errors":[]}`},
})

var accessKindRows = flagtest.Rows(restrictedFlags, []ruletest.Row{
	{"clients.md §11.2 3 the kind's default", "ann", "rule", `{"access_level":"viewer","resource":"feature_flag"}`, `{"access_level":"viewer","resource":"feature_flag"}`},
	{"clients.md §11.3 viewer: no new ones", "bob", "create", `{"key":"new"}`, noEditor},
	{"clients.md §11.3 viewer: nothing of it stays", "bob", "id new", ``, `0`},
	{"clients.md §11.3 viewer", "bob", "change 4", `{"name":"x"}`, noEditor},
	{"clients.md §11.2 3 goes before the object's default", "bob", "get 2", ``, `{"user_access_level":"viewer"}`},
	{"clients.md §11.2 1 the creator", "bob", "change 1", `{"name":"x"}`, `{"version":2}`},
	{"clients.md §11.3 not of other kinds", "bob", "cohort", `{"name":"n","is_static":true}`, `{"id":1}`},
	{"clients.md §11.3 but its flag is one", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, noEditor},
	{"§5.6 the flags of a survey are its own", "bob", "survey", `{"name":"S","type":"popover"}`, `{"name":"S"}`},
	{"clients.md §11.2 3 none", "ann", "rule", `{"access_level":"none","resource":"feature_flag"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 only his own", "bob", "keys", `{}`, `["own"]`},
	{"clients.md §11.3 with rows for single objects: these are visible", "ann", "rule feature_flag 4", `{"access_level":"viewer","organization_member":` + bobMember + `}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 with rows for single objects: these are visible", "bob", "keys", `{}`, `["free","own"]`},
	{"clients.md §11.3 with rows for single objects: these are visible", "cyd", "keys", `{}`, `[]`},
	{"clients.md §11.3 another project's rules are its own", "dan", "create", `{"key":"theirs"}`, `{"can_edit":true,"user_access_level":"manager"}`},
})

var accessMemberRows = flagtest.Rows(restrictedFlags, []ruletest.Row{
	{"clients.md §11.2 2 a row that names the member", "ann", "rule feature_flag 3", `{"access_level":"editor","organization_member":` + bobMember + `}`, `{"access_level":"editor"}`},
	{"clients.md §11.2 2 a row that names the member", "bob", "change 3", `{"name":"x"}`, `{"version":3,"user_access_level":"editor"}`},
	{"clients.md §11.2 2 not for others", "cyd", "change 3", `{"name":"x"}`, noEditor},
	{"clients.md §11.3 editor: not the rules", "bob", "rule feature_flag 3", `{"access_level":"manager"}`, `403 permission_denied - Must be manager to modify feature_flag permissions.`},
	{"clients.md §11.3 manager: the rules too", "ann", "rule feature_flag 3", `{"access_level":"manager","organization_member":` + bobMember + `}`, `{"access_level":"manager"}`},
	{"clients.md §11.3 manager: the rules too", "bob", "rule feature_flag 3", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 manager: the rules too", "cyd", "get 3", ``, noViewer},
	{"clients.md §11.3 manager: the creator", "bob", "rule feature_flag 1", `{"access_level":"viewer"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 manager: the creator", "cyd", "change 1", `{"name":"x"}`, noEditor},
	{"clients.md §11.1 of a flag that is not there", "ann", "rule feature_flag 99", `{"access_level":"viewer"}`, `404 not_found - Not found.`},
	{"clients.md §11.1 of another project's", "dan", "rule feature_flag 1", `{"access_level":"viewer"}`, `404 not_found - Not found.`},
	{"clients.md §11.1 of a deleted one: GET finds it, too", "ann", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §11.1 of a deleted one: GET finds it, too", "ann", "rule feature_flag 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11.1 of a deleted one: GET finds it, too", "cyd", "get 1", ``, noViewer},
})

var accessDocumentRows = flagtest.Rows(restrictedFlags, []ruletest.Row{
	{"clients.md §11.3 none: not exported", "bob", "export", ``, `{"flags":[{"key":"free"},{"key":"own"},{"key":"read"}]}`},
	{"clients.md §11.3 none: refused by name", "bob", "plan", flagtest.Document(`{"key":"closed","active":false,"filters":{"groups":[]}}`, ``), `403 permission_denied - flag "closed": You do not have viewer access to this resource.`},
	{"clients.md §11.3 none: refused by name", "bob", "apply", flagtest.Document(`{"key":"closed","active":false,"filters":{"groups":[]}}`, ``), `403 permission_denied - flag "closed": You do not have viewer access to this resource.`},
	{"clients.md §11.3 viewer: no change", "bob", "apply", flagtest.Document(`{"key":"read","active":false,"filters":{"groups":[]}}`, ``), `403 permission_denied - flag "read": You do not have editor access to this resource.`},
	{"clients.md §11.3 viewer: no change", "bob", "plan", flagtest.Document(`{"key":"read","active":false,"filters":{"groups":[]}}`, ``), `403 permission_denied - flag "read": You do not have editor access to this resource.`},
	{"clients.md §11.3 viewer: what stays the same is no change", "bob", "apply", flagtest.Document(`{"key":"read","active":true,"tags":["x"],"filters":{"groups":[{"properties":[{"key":"free","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, ``),
		`{"changes":[],"unchanged":1}`},
	{"clients.md §11.3 all or none", "bob", "apply", flagtest.Document(`{"key":"own","active":false,"filters":{"groups":[]}},{"key":"read","active":false,"filters":{"groups":[]}}`, ``), `403 permission_denied - flag "read":`},
	{"clients.md §11.3 all or none", "bob", "get 1", ``, `{"active":true,"version":1}`},
	{"clients.md §11.3 prune wants editor of all that goes", "bob", "applyprune", flagtest.Document(``, ``), `403 permission_denied - flag "closed": You do not have editor access to this resource.`},
	{"clients.md §11.3 prune: nothing was deleted", "ann", "keys", `{}`, `["free","read","closed","own"]`},
	{"clients.md §11.3 cohorts have rules of their own", "ann", "cohort", `{"name":"C","is_static":true}`, `{"id":1}`},
	{"clients.md §11.3 cohorts have rules of their own", "ann", "rule cohort 1", `{"access_level":"viewer"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 cohorts have rules of their own", "bob", "apply", flagtest.Document(``, `{"name":"C","description":"x","is_static":true}`), `403 permission_denied - cohort "C": You do not have editor access to this resource.`},
	{"clients.md §11.3 cohorts have rules of their own", "ann", "rule cohort 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 none: not exported", "bob", "export", ``, `{"cohorts":[]}`},
	{"clients.md §11.3 none: not exported", "ann", "export", ``, `{"cohorts":[{"name":"C"}]}`},
	{"§5.1.3 no copy of what may not be seen", "bob", "copy", `{"feature_flag_key":"closed","from_project":1,"target_project_ids":[1]}`, `{"error":"You do not have permission to copy this flag."}`},
	{"§5.1.3 no copy of what may not be seen: its cohort", "ann", "change 3", flagtest.Property(`{"key":"id","type":"cohort","value":1}`), `{"version":3}`},
	{"§5.1.3 no copy of what may not be seen: its cohort", "bob", "copy", `{"feature_flag_key":"read","from_project":1,"target_project_ids":[1]}`, `{"error":"You do not have permission to copy this flag."}`},
	{"§5.1.3 but what may be read", "ann", "rule cohort 1", `{"access_level":"viewer"}`, `{"access_level":"viewer"}`},
	{"§5.1.3 but what may be read", "bob", "copy", `{"feature_flag_key":"read","from_project":1,"target_project_ids":[1]}`, `{"success":[{"id":3,"version":3}],"failed":[]}`},
})

// Flags show the names of cohorts and surveys, which have rules of their own.
var accessLinkRows = []ruletest.Row{
	{"clients.md §11.3", "ann", "cohort", `{"name":"Secret","is_static":true}`, `{"id":1}`},
	{"clients.md §11.3", "ann", "create", `{"key":"a","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, `{"id":1}`},
	{"clients.md §11.3", "ann", "survey", `{"name":"S","type":"popover","linked_flag_id":1}`, `{"name":"S"}`},
	{"clients.md §11.3 without rules", "bob", "get 1", ``, `{"surveys":[{"id":"<S>","name":"S"}],"filters":{"groups":[{"properties":[{"cohort_name":"Secret"}]}]}}`},
	{"clients.md §11.3 a hidden cohort has no name", "ann", "rule cohort 1", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a hidden cohort has no name", "bob", "get 1", ``, `{"surveys":[{"name":"S"}],"filters":{"groups":[{"properties":[{"value":1,"cohort_name":null}]}]}}`},
	{"clients.md §11.3 a hidden cohort has no name", "bob", "list", `{}`, `{"results":[{"filters":{"groups":[{"properties":[{"cohort_name":null}]}]}}]}`},
	{"clients.md §11.3 a hidden survey is not there", "ann", "rule survey <S>", `{"access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 a hidden survey is not there", "bob", "get 1", ``, `{"surveys":[]}`},
	{"clients.md §11.3 but for who may see them", "ann", "get 1", ``, `{"surveys":[{"name":"S"}],"filters":{"groups":[{"properties":[{"cohort_name":"Secret"}]}]}}`},
}
