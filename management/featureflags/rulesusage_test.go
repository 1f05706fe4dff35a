package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The dashboard about the use of a flag: clients.md §7.1 and §7.2. Dashboard 1 of the World is
// another one.
func TestFlags_Usage(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"made with a flag": usageRows, "flags without": noUsageRows, "again": usageAgainRows, "enriched": enrichRows, "who may": usageAccessRows,
	})
}

// aTile matches any tile.
const aTile = `{"color":null}`

var usageRows = []ruletest.Row{
	{"clients.md §7.1 with a flag", "bob", "create", `{"key":"a"}`, `{"id":1,"usage_dashboard":2,"version":1}`},
	{"clients.md §7.1 its name, without tags", "bob", "board 2", ``, `{"name":"Generated Dashboard: a Usage","creation_mode":"template","tags":[],"created_by":{"first_name":"bob"}}`},
	{"clients.md §7.1 two insights", "bob", "board 2", ``, `{"tiles":[{"insight":{"name":"Feature Flag Called Total Volume"}},{"insight":{"name":"Feature Flag calls made by unique users per variant"}}]}`},
	{"clients.md §7.1 if the body says so", "bob", "create", `{"key":"b","_should_create_usage_dashboard":true,"creation_context":"feature_flags"}`, `{"usage_dashboard":3}`},
	{"clients.md §7.1 no second one by a change", "bob", "change 1", `{"name":"x","_should_create_usage_dashboard":true}`, `{"usage_dashboard":2}`},
	{"clients.md §7.1 the log is about the flag", "ann", "log FeatureFlag 2", ``, `{"activity":"created","detail":{"name":"b"}}`},
	{"clients.md §7.1 a flag that is refused has none", "bob", "create", `{"key":"a b"}`, `400 invalid_key key`},
	{"clients.md §7.1 a flag that is refused has none", "bob", "board 4", ``, `404 not_found - Not found.`},
	{"clients.md §7.1 deleting the flag leaves it", "bob", "change 1", `{"deleted":true}`, `{"deleted":true,"usage_dashboard":2}`},
	{"clients.md §7.1 deleting the flag leaves it", "bob", "board 2", ``, `{"name":"Generated Dashboard: a Usage"}`},
	{"clients.md §7.2 none for a deleted flag", "bob", "dashboard 1", ``, `{"error":"(like) ^This feature flag has been deleted. Restore it before"}`},
	{"clients.md §7.2 none for a deleted flag", "bob", "enrich 1", ``, `{"error":"(like) ^This feature flag has been deleted. Restore it before"}`},
	{"§1.5 unknown", "bob", "dashboard 9", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "dashboard 2", ``, `404 not_found - Not found.`},
	{"§1.5 another project's", "dan", "enrich 2", ``, `404 not_found - Not found.`},
}

var noUsageRows = flagtest.Rows(
	flagtest.Each("clients.md §7.1 not by an experiment, survey or feature", "bob", "create",
		[2]string{`{"key":"a","_should_create_usage_dashboard":false}`, `{"usage_dashboard":null}`},
		[2]string{`{"key":"b","creation_context":"experiments"}`, `{"usage_dashboard":null}`},
		[2]string{`{"key":"c","creation_context":"surveys"}`, `{"usage_dashboard":null}`},
		[2]string{`{"key":"d","creation_context":"early_access_features"}`, `{"usage_dashboard":null}`},
		[2]string{`{"key":"e","creation_context":"web_experiments"}`, `{"usage_dashboard":null}`},
	),
	[]ruletest.Row{
		{"clients.md §7.1 an experiment's", "bob", "experiment", `{"name":"E","feature_flag_key":"tried"}`, `{"feature_flag":{"id":6}}`},
		{"clients.md §7.1 an experiment's", "bob", "get 6", ``, `{"usage_dashboard":null}`},
		{"clients.md §7.1 a feature's", "bob", "feature", `{"name":"F","stage":"beta"}`, `{"feature_flag":{"id":7}}`},
		{"clients.md §7.1 a feature's", "bob", "get 7", ``, `{"usage_dashboard":null}`},
		{"clients.md §7.1 nothing was made", "bob", "board 2", ``, `404 not_found - Not found.`},
		{"clients.md §7.2 they may have one later", "bob", "dashboard 2", ``, `{"success":true}`},
		{"clients.md §7.2 they may have one later", "bob", "get 2", ``, `{"usage_dashboard":2,"version":1}`},
	},
)

var usageAgainRows = []ruletest.Row{
	{"clients.md §7.2", "bob", "create", `{"key":"a","has_enriched_analytics":true,"change_note":"why"}`, `{"usage_dashboard":2}`},
	{"clients.md §7.2 there is one", "bob", "dashboard 1", ``, `{"error":"Usage dashboard already exists"}`},
	{"clients.md §7.2", "bob", "enrich 1", ``, `{"success":true}`},
	{"clients.md §7.2 one that is deleted is none", "bob", "changeboard 2", `{"deleted":true}`, `{"deleted":true}`},
	{"clients.md §7.2 one that is deleted is none", "bob", "enrich 1", ``, `{"error":"(like) ^Usage dashboard not found\\."}`},
	{"clients.md §7.2 made again", "cyd", "dashboard 1", ``, `{"success":true}`},
	{"clients.md §7.2 a dashboard is no version", "bob", "get 1", ``, `{"usage_dashboard":3,"version":1,"last_modified_by":{"first_name":"bob"}}`},
	{"console.md N22 nor does it take the note", "bob", "version 1 1", ``, `{"change_note":"why"}`},
	{"clients.md §7.2 the new one is not enriched", "bob", "board 3", ``, `{"name":"Generated Dashboard: a Usage","tiles":[` + aTile + `,` + aTile + `]}`},
	{"clients.md §7.2 the new one can be", "bob", "enrich 1", ``, `{"success":true}`},
	{"clients.md §7.2 the new one can be", "bob", "board 3", ``, `{"tiles":[` + aTile + `,` + aTile + `,` + aTile + `,` + aTile + `]}`},
}

var enrichRows = []ruletest.Row{
	{"clients.md §7.2", "bob", "create", `{"key":"a"}`, `{"usage_dashboard":2}`},
	{"clients.md §7.2 a flag without", "bob", "enrich 1", ``, `{"error":"No enriched analytics available for this feature flag"}`},
	{"clients.md §7.2 a flag without", "bob", "board 2", ``, `{"tiles":[` + aTile + `,` + aTile + `]}`},
	{"clients.md §7.2", "bob", "change 1", `{"has_enriched_analytics":true}`, `{"version":2}`},
	{"clients.md §7.2 views and interactions", "bob", "enrich 1", ``, `{"success":true}`},
	{"clients.md §7.2 views and interactions", "bob", "board 2", ``, `{"tiles":[` + aTile + `,` + aTile + `,{"insight":{"name":"Feature Viewed Total Volume"}},{"insight":{"name":"Feature Interaction Total Volume"}}]}`},
	{"clients.md §7.2 once", "bob", "enrich 1", ``, `{"error":"Usage dashboard already has enriched data"}`},
	{"clients.md §7.2 it is no version", "bob", "get 1", ``, `{"version":2}`},
	{"clients.md §7.2", "bob", "change 1", `{"name":"x"}`, `{"version":3}`},
	{"decision 27 a restored version has the dashboard of now", "bob", "restore 1", `{"version":1}`, `{"version":4,"usage_dashboard":2,"has_enriched_analytics":false}`},
	{"decision 27 a restored version has the dashboard of now", "bob", "change 1", `{"has_enriched_analytics":true}`, `{"version":5}`},
	{"clients.md §7.2 once", "bob", "enrich 1", ``, `{"error":"Usage dashboard already has enriched data"}`},
	{"clients.md §7.2 once", "bob", "board 2", ``, `{"tiles":[` + aTile + `,` + aTile + `,` + aTile + `,` + aTile + `]}`},
	{"clients.md §7.2 a flag without a dashboard", "bob", "create", `{"key":"b","has_enriched_analytics":true,"_should_create_usage_dashboard":false}`, `{"id":2}`},
	{"clients.md §7.2 a flag without a dashboard", "bob", "enrich 2", ``, `{"error":"(like) ^Usage dashboard not found\\."}`},
}

// A dashboard requires access to dashboards and insights; a flag can be created without a dashboard.
var usageAccessRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "create", `{"key":"a","has_enriched_analytics":true}`, `{"id":1,"usage_dashboard":2}`},
	{"clients.md §11.3", "ann", "rule", `{"access_level":"viewer","resource":"dashboard"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 a flag without a dashboard", "bob", "create", `{"key":"b"}`, `{"id":2,"usage_dashboard":null}`},
	{"clients.md §11.3 no dashboard", "bob", "dashboard 2", ``, `403 permission_denied - You don't have access to dashboards of this project.`},
	{"clients.md §11.3 his own dashboard", "bob", "enrich 1", ``, `{"success":true}`},
	{"clients.md §11.3 an administrator", "gus", "dashboard 2", ``, `{"success":true}`},
	{"clients.md §11.3 another's dashboard", "bob", "change 2", `{"has_enriched_analytics":true}`, `{"id":2}`},
	{"clients.md §11.3 another's dashboard", "bob", "enrich 2", ``, noEditor},
	{"clients.md §11.3 a refusal changes nothing", "gus", "enrich 2", ``, `{"success":true}`},
	{"clients.md §11.3 insights", "ann", "rule", `{"access_level":null,"resource":"dashboard"}`, `null`},
	{"clients.md §11.3 insights", "ann", "rule", `{"access_level":"viewer","resource":"insight"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 insights", "bob", "create", `{"key":"c"}`, `{"id":3,"usage_dashboard":null}`},
}
