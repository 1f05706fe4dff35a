package dashboards_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestDashboards_Rules(t *testing.T) {
	runTables(t, map[string][]ruletest.Row{
		"fields":        fieldRows,
		"deletion":      deletionRows,
		"restriction":   restrictionRows,
		"collaborators": collaboratorRows,
		"tiles":         tileRows,
		"copies":        copyRows,
		"moves":         moveRows,
		"templates":     templateRows,
		"lists":         listRows,
		"sharing":       sharingRows,
	})
}

var fieldRows = []ruletest.Row{
	{"§4.1.1 no field is required, defaults", "bob", "create", ``, `{"id":1,"name":null,"description":"","pinned":false,"is_shared":false,"deleted":false,
		"creation_mode":"default","filters":{},"variables":{},"breakdown_colors":[],"data_color_theme_id":null,"tags":[],"tiles":[],"restriction_level":21,
		"effective_restriction_level":21,"effective_privilege_level":37,"access_control_version":"v2","created_by":{"first_name":"bob"},
		"use_template":"(absent)","use_dashboard":"(absent)","delete_insights":"(absent)","_create_in_folder":"(absent)"}`},
	{"§4.1.1 name", "bob", "change 1", `{"name":""}`, `{"name":""}`},
	{"§4.1.1 name", "bob", "change 1", `{"name":` + text(400) + `}`, `{"name":` + text(400) + `}`},
	{"§6 row 28", "bob", "change 1", `{"name":` + text(401) + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
	{"§4.1.1 name", "bob", "change 1", `{"name":null}`, `{"name":null}`},
	{"§4.1.1 description", "bob", "change 1", `{"description":null}`, `400 null description This field may not be null.`},
	{"§4.1.1 description", "bob", "change 1", `{"description":"about"}`, `{"description":"about","name":null}`},
	{"§6 row 29", "bob", "change 1", `{"pinned":"maybe"}`, `400 invalid_input pinned Must be a valid boolean.`},
	{"§6 row 30", "bob", "change 1", `{"tags":"x"}`, `400 not_a_list tags Expected a list of items but got type "str".`},
	{"§4.1.1 tags", "bob", "change 1", `{"tags":[" B ","a","b"]}`, `{"tags":["b","a"]}`},
	{"§4.1.1 tags stay", "bob", "change 1", `{"pinned":true}`, `{"tags":["b","a"],"pinned":true}`},
	{"§6 row 27", "bob", "change 1", `{"creation_mode":"template"}`, `{"creation_mode":"default"}`},
	{"§6 row 26", "bob", "change 1", `{"restriction_level":30}`, `400 invalid_choice restriction_level "30" is not a valid choice.`},
	{"§4.1.1 use_dashboard", "bob", "create", `{"use_dashboard":""}`, `400 invalid_input use_dashboard A valid integer is required.`},
	{"§4.1.1 use_template is dropped", "bob", "change 1", `{"use_template":"nothing"}`, `{"creation_mode":"default","tiles":[]}`},
	{"§4.1.1 breakdown_colors", "bob", "change 1", `{"breakdown_colors":{"any":["JSON"]}}`, `{"breakdown_colors":{"any":["JSON"]}}`},
	{"§4.1.1 data_color_theme_id", "bob", "change 1", `{"data_color_theme_id":7}`, `{"data_color_theme_id":7}`},
	{"§4.1.1 data_color_theme_id", "bob", "change 1", `{"data_color_theme_id":null}`, `{"data_color_theme_id":null}`},
	{"§4.1.4 filters", "bob", "change 1", `{"filters":{"date_from":"-7d"}}`, `{"filters":{"date_from":"-7d"}}`},
	{"§4.1.4 an empty object is ignored", "bob", "change 1", `{"filters":{}}`, `{"filters":{"date_from":"-7d"}}`},
	{"§4.1.4 replaces the whole value", "bob", "change 1", `{"filters":{"interval":"day"}}`, `{"filters":{"interval":"day","date_from":"(absent)"}}`},
	{"§4.1.4 filters", "bob", "change 1", `{"filters":"x"}`, `400 invalid_input - Filters must be a dictionary`},
	{"§4.1.4 variables", "bob", "change 1", `{"variables":[1]}`, `400 invalid_input - Filters must be a dictionary`},
	{"§4.1.3 filters of a new one", "bob", "create", `{"filters":[1]}`, `400 invalid_input - Filters must be a dictionary`},
	{"§4.1.3 unknown", "bob", "get 99", ``, `404 not_found - Not found.`},
	{"§4.1.3 unknown", "bob", "change 99", `{"name":"x"}`, `404 not_found - Not found.`},
	{"§4.1.3 no number", "bob", "get abc", ``, `404 not_found - Not found.`},
	{"§4.1 another project's", "dan", "get 1", ``, `404 not_found - Not found.`},
	{"§1.8 the organization's owner", "ann", "get 1", ``, `{"effective_privilege_level":37,"user_access_level":"manager"}`},
}

var deletionRows = []ruletest.Row{
	{"§4.1.5", "bob", "create", `{"name":"one"}`, `{"id":1}`},
	{"§4.1.5", "bob", "create", `{"name":"two"}`, `{"id":2}`},
	{"§4.1.4 a text", "bob", "change 1", `{"tiles":[{"text":{"body":"first"}},{"text":{"body":"second"}}]}`, `{"tiles":[{"text":{"body":"first"}},{"text":{"body":"second"}}]}`},
	{"§4.1.5 an insight with one tile", "bob", "insight", `{"name":"alone","dashboards":[1]}`, `{"dashboards":[1]}`},
	{"§4.1.5 an insight with two", "bob", "insight", `{"name":"twice","dashboards":[1,2]}`, `{"dashboards":[1,2]}`},
	{"§4.1.5 one tile goes before", "bob", "change 1", `{"tiles":[{"id":1,"deleted":true}]}`, `{"tiles":[{"text":{"body":"second"}},{"insight":{"name":"alone"}},{"insight":{"name":"twice"}}]}`},
	{"§4.1.5 flagged", "bob", "change 1", `{"deleted":true,"delete_insights":true}`, `{"deleted":true,"tiles":[]}`},
	{"§6 row 23", "bob", "get 1", ``, `404 not_found - Not found.`},
	{"§4.1.5", "bob", "change 1", `{"name":"x"}`, `404 not_found - Not found.`},
	{"§6 row 25", "bob", "change 1", `{"deleted":false,"name":"x"}`, `404 not_found - Not found.`},
	{"§4.1.5 lists leave it out", "bob", "list", `{}`, `{"count":1,"results":[{"name":"two"}]}`},
	{"§4.1.5 only one tile: gone", "bob", "getinsight <alone>", ``, `404 not_found - Not found.`},
	{"§4.1.5 two tiles: stays", "bob", "getinsight <twice>", ``, `{"name":"twice","dashboards":[2]}`},
	{"§4.1.5 another one", "bob", "get 2", ``, `{"tiles":[{"insight":{"name":"twice"}}]}`},
	{"§6 row 24, all tiles", "bob", "change 1", `{"deleted":false}`, `{"deleted":false,"name":"one","tiles":[{"text":{"body":"first"}},{"text":{"body":"second"}},{"insight":{"name":"alone"}},{"insight":{"name":"twice"}}]}`},
	{"§4.1.5 their deleted insights", "bob", "getinsight <alone>", ``, `{"name":"alone","deleted":false,"dashboards":[1]}`},
	{"§4.1.1 only with deleted", "bob", "change 1", `{"delete_insights":true}`, `{"deleted":false,"tiles":[{"order":0},{"order":1},{"order":2},{"order":3}]}`},
}

var restrictionRows = []ruletest.Row{
	{"§4.1.1", "bob", "create", `{"name":"one","restriction_level":37}`, `{"restriction_level":37,"effective_restriction_level":37,"effective_privilege_level":37,"access_control_version":"v1"}`},
	{"§4.1.1 who may only look", "cyd", "get 1", ``, `{"effective_restriction_level":37,"effective_privilege_level":21,"user_access_level":"editor"}`},
	{"§4.1.3", "cyd", "change 1", `{"name":"x"}`, `403 permission_denied - You don't have edit permissions for this dashboard.`},
	{"§4.1.3 undelete", "cyd", "change 1", `{"deleted":false}`, `403 permission_denied - You don't have edit permissions for this dashboard.`},
	{"§4.1.8", "cyd", "share 1", `{"enabled":true}`, `403 permission_denied - You don't have edit permissions for this dashboard.`},
	{"§4.1.7", "cyd", "remove 1 " + bob, ``, `403 permission_denied - You don't have edit permissions for this dashboard.`},
	{"§4.1.1 a project's administrator", "ann", "change 1", `{"name":"hers"}`, `{"name":"hers","effective_privilege_level":37}`},
	{"§4.1.1 a collaborator", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `{"dashboard_id":1,"level":37,"user":{"first_name":"cyd"}}`},
	{"§4.1.1 a collaborator", "cyd", "change 1", `{"name":"ours"}`, `{"name":"ours","effective_privilege_level":37}`},
	{"§4.1.1 changing it", "cyd", "change 1", `{"restriction_level":21}`, `403 permission_denied - Only the dashboard owner and project admins have the restriction rights required to change the dashboard's restriction level.`},
	{"§4.1.1 its creator", "bob", "change 1", `{"restriction_level":21}`, `{"restriction_level":21,"access_control_version":"v2"}`},
	{"§4.1.1 others may not restrict", "cyd", "change 1", `{"restriction_level":37}`, `403 permission_denied - Only the dashboard owner and project admins have the restriction rights required to change the dashboard's restriction level.`},
	{"§4.1.1 a project's administrator", "ann", "change 1", `{"restriction_level":37}`, `{"restriction_level":37}`},
}

var collaboratorRows = []ruletest.Row{
	{"§4.1.7", "bob", "create", `{"name":"one"}`, `{"id":1}`},
	{"§4.1.7 level 21", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `400 invalid_input - Cannot add collaborators to a dashboard on the lowest restriction level.`},
	{"§6 row 33", "bob", "remove 1 " + cyd, ``, `400 invalid_input - Cannot remove collaborators from a dashboard on the lowest restriction level.`},
	{"§4.1.7", "bob", "change 1", `{"restriction_level":37}`, `{"restriction_level":37}`},
	{"§4.1.7 level", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":21}`, `400 invalid_input - Only edit access can be explicitly specified currently.`},
	{"§4.1.7 unknown", "bob", "add 1", `{"user_uuid":"0191f0a2-5b1c-7d3e-8f40-99999999ffff","level":37}`, `400 invalid_input - User does not exist.`},
	{"§4.1.7 no member", "bob", "add 1", `{"user_uuid":"` + dan + `","level":37}`, `400 invalid_input - Cannot add collaborators that have no access to the project.`},
	{"§4.1.7 no access", "bob", "add 1", `{"user_uuid":"` + eve + `","level":37}`, `400 invalid_input - Cannot add collaborators that have no access to the project.`},
	{"§4.1.7 its creator", "bob", "add 1", `{"user_uuid":"` + bob + `","level":37}`, `400 invalid_input - Cannot add collaborators that already have inherent access (the dashboard owner or a project admins).`},
	{"§4.1.7 an administrator", "bob", "add 1", `{"user_uuid":"` + ruletest.UUID("ann") + `","level":37}`, `400 invalid_input - Cannot add collaborators that already have inherent access (the dashboard owner or a project admins).`},
	{"§2.2 required", "bob", "add 1", `{"level":37}`, `400 required user_uuid This field is required.`},
	{"§2.2 no UUID", "bob", "add 1", `{"user_uuid":"cyd","level":37}`, `400 invalid_input user_uuid Must be a valid UUID.`},
	{"§4.1.7", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `{"user":{"uuid":"` + cyd + `"},"level":37}`},
	{"§4.1.7 duplicate", "bob", "add 1", `{"user_uuid":"` + cyd + `","level":37}`, `400 invalid_input - User already is a collaborator.`},
	{"§4.1.7", "cyd", "collaborators 1", ``, `[{"dashboard_id":1,"user":{"uuid":"` + cyd + `"},"level":37}]`},
	{"§4.1.7 not a collaborator", "bob", "remove 1 " + eve, ``, `404 not_found - Not found.`},
	{"§4.1.7 204", "bob", "remove 1 " + cyd, ``, `null`},
	{"§4.1.7", "cyd", "collaborators 1", ``, `[]`},
	{"§4.1.7 unknown", "bob", "remove 9 " + cyd, ``, `404 not_found - Dashboard not found.`},
	{"§4.1.7 deleted", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§4.1.7 deleted", "bob", "remove 1 " + cyd, ``, `404 not_found - Dashboard not found.`},
}
