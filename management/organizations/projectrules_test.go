package organizations_test

import (
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/organizations"
	"github.com/bunting-flags/bunting/management/rooms"
)

// Projects follow §5.8 and spec/clients.md §12.
func TestProjects_Rules(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{
		"records": projectRows, "making": newProjectRows, "who may": projectLevelRows, "settings": projectSettingRows, "settings that are wrong": wrongSettingRows,
		"lists": projectListRows, "private": privateRows, "moving": moveRows, "deletion": deleteProjectRows, "what browsers are told": browserRows,
	})
}

const noProjectAdmin = `403 permission_denied - You don't have sufficient permissions in the project.`

var projectRows = []ruletest.Row{
	{"§5.8 full object", "gus", "project", ``, `{"id":1,"uuid":"(like) ^[0-9a-f-]{36}$","organization":"` + ours + `","api_token":"phc_ours","name":"P","completed_snippet_onboarding":false,"has_completed_onboarding_for":null,
		"ingested_event":false,"is_demo":false,"timezone":"UTC","access_control":false,"product_description":null,"created_at":"2026-01-02T12:00:00Z","updated_at":"2026-01-02T12:00:00Z","effective_membership_level":8,
		"has_group_types":false,"group_types":[],"live_events_token":null,"app_urls":[],"anonymize_ips":false,"test_account_filters":[],"secret_api_token":null,"secret_api_token_backup":null,
		"bucketing_hash":"sha1","property_matching_version":1,"user_access_level":"admin"}`},
	{"§5.8 effective_membership_level", "bob", "project", ``, `{"effective_membership_level":1,"user_access_level":"member"}`},
	{"§5.8 its uuid stays", "bob", "project => it", ``, `{"uuid":"(like) ."}`},
	{"§5.8 PATCH: a member of the project", "bob", "changeproject", `{"name":"Renamed"}`, `{"name":"Renamed","uuid":"<it.uuid>","updated_at":"2026-01-02T12:00:04Z","created_at":"2026-01-02T12:00:00Z"}`},
	{"§5.11", "bob", "log Project 1", ``, `{"activity":"updated","user":{"first_name":"bob"},"detail":{"name":"Renamed","changes":[{"field":"name","before":"P","after":"Renamed"}]}}`},
	{"§5.8 read-only", "bob", "changeproject", `{"id":9,"uuid":"` + nowhere + `","api_token":"phc_mine","organization":"` + theirs + `","secret_api_token":"x","is_demo":true,"ingested_event":true}`,
		`{"id":1,"uuid":"<it.uuid>","api_token":"phc_ours","organization":"` + ours + `","secret_api_token":null,"is_demo":false,"ingested_event":false}`},
	{"§2.2 name", "bob", "changeproject", `{"name":""}`, `400 blank name This field may not be blank.`},
	{"§2.2 name", "bob", "changeproject", `{"name":null}`, `400 null name This field may not be null.`},
	{"§5.8 product_description", "bob", "changeproject", `{"product_description":"Shoes"}`, `{"product_description":"Shoes"}`},
	{"§5.8 product_description", "bob", "changeproject", `{"product_description":null}`, `{"product_description":null}`},
}

var newProjectRows = []ruletest.Row{
	{"§5.8 POST 8", "bob", "newproject", `{"name":"x"}`, tooLow},
	{"§5.8 POST", "gus", "newproject => it", `{"name":"Second","timezone":"Europe/Oslo"}`, `{"id":3,"name":"Second","organization":"` + ours + `","timezone":"Europe/Oslo","api_token":"(like) ^phc_[0-9A-Za-z]{42,43}$","created_at":"2026-01-02T12:00:02Z"}`},
	{"§5.8 no field is required", "gus", "newproject", `{}`, `{"name":"Default project","timezone":"UTC"}`},
	{"§5.11", "gus", "enterproject 3", ``, `{"name":"Second"}`},
	{"§1.8 all members are in it", "bob", "enterproject 3", ``, `{"name":"Second"}`},
	{"§1.5 others are not", "dan", "enterproject 3", ``, `403 permission_denied - You don't have access to the project.`},
	{"§2.2", "gus", "newproject", `{"timezone":"Nowhere"}`, `400 * timezone`},
	{"decision 1 bucketing_hash", "gus", "newproject", `{"bucketing_hash":"murmur3","property_matching_version":2}`, `{"bucketing_hash":"murmur3","property_matching_version":2}`},
	{"an owner may choose the key", "ann", "newproject", `{"api_token":"phc_moved-here_1"}`, `{"api_token":"phc_moved-here_1"}`},
	{"an administrator may not", "gus", "newproject", `{"api_token":"phc_other"}`, `403 permission_denied - Only an owner of the organization can choose a project's api_token.`},
	{"one that is another's", "ann", "newproject", `{"api_token":"phc_theirs"}`, `400 unique api_token Another project uses or has used this key.`},
	{"one of a personal key", "ann", "newproject", `{"api_token":"phx_other"}`, `400 invalid_input api_token`},
	{"one of a secret key", "ann", "newproject", `{"api_token":"phs_other"}`, `400 invalid_input api_token`},
	{"one with other characters", "ann", "newproject", `{"api_token":"phc other"}`, `400 invalid_input api_token`},
	{"one that is too long", "ann", "newproject", `{"api_token":"phc_` + strings.Repeat("x", 61) + `"}`, `400 max_length api_token`},
	{"without an organization", "cyd", "leave @me", ``, `null`},
	{"without an organization", "cyd", "newprojectanywhere", `{}`, `404 not_found - Organization not found.`},
	{"§5.8 POST in the current organization", "gus", "newprojectanywhere", `{"name":"Here"}`, `{"name":"Here","organization":"` + ours + `"}`},
	{"null is none", "gus", "newproject", `{"api_token":null}`, `{"api_token":"(like) ^phc_[0-9A-Za-z]{42,43}$"}`},
}

var projectLevelRows = []ruletest.Row{
	{"§5.8 reset_token: project admin", "bob", "resettoken", ``, noProjectAdmin},
	{"§5.8 rotate_secret_token: project admin", "bob", "rotate", ``, noProjectAdmin},
	{"§5.8 delete_secret_token_backup: project admin", "bob", "dropbackup", ``, noProjectAdmin},
	{"§5.8 DELETE: project admin", "bob", "dropproject", ``, noProjectAdmin},
	{"§5.8 access_control: project admin", "bob", "changeproject", `{"access_control":true}`, noProjectAdmin},
	{"§5.8 what it is already", "bob", "changeproject", `{"access_control":false}`, `{"access_control":false}`},
	{"§5.8 reset_token", "gus", "resettoken => it", ``, `{"api_token":"(like) ^phc_[0-9A-Za-z]{42,43}$","name":"P"}`},
	{"§5.8 another one each time", "gus", "resettoken", ``, `{"api_token":"(like) ^phc_"}`},
	{"§5.11", "gus", "log Project 1", ``, `{"activity":"updated","detail":{"changes":[{"field":"api_token","before":"<it.api_token>"}]}}`},
	{"§1.11 rotate_secret_token", "gus", "rotate => first", ``, `{"secret_api_token":"(like) ^phs_[0-9A-Za-z]{47,48}$","secret_api_token_backup":null}`},
	{"decision 20 shown once", "gus", "project", ``, `{"secret_api_token":"(like) ^phs_\\.\\.\\.[0-9A-Za-z]{4}$","secret_api_token_backup":null}`},
	{"§1.11 the old one is the backup", "gus", "rotate => second", ``, `{"secret_api_token":"(like) ^phs_[0-9A-Za-z]{47,48}$","secret_api_token_backup":"(like) ^phs_\\.\\.\\."}`},
	{"§1.11 both stay valid", "-", "opensproject <first.secret_api_token>", ``, `1`},
	{"§1.11 both stay valid", "-", "opensproject <second.secret_api_token>", ``, `1`},
	{"§6 row 73 a secret key is no personal one", "-", "whose <second.secret_api_token>", ``, `401 authentication_failed -`},
	{"§1.11 delete_secret_token_backup", "gus", "dropbackup", ``, `{"secret_api_token":"(like) ^phs_\\.\\.\\.","secret_api_token_backup":null}`},
	{"§1.11 delete_secret_token_backup", "-", "opensproject <first.secret_api_token>", ``, `0`},
	{"§1.11 delete_secret_token_backup", "-", "opensproject <second.secret_api_token>", ``, `1`},
	{"§1.11 when there is none", "gus", "dropbackup", ``, `{"secret_api_token_backup":null}`},
	{"§1.11 the third", "gus", "rotate => third", ``, `{"secret_api_token":"(like) ^phs_"}`},
	{"§1.11 the fourth ends the second", "gus", "rotate", ``, `{"secret_api_token":"(like) ^phs_"}`},
	{"§1.11 the fourth ends the second", "-", "opensproject <second.secret_api_token>", ``, `0`},
	{"§1.11 the fourth ends the second", "-", "opensproject <third.secret_api_token>", ``, `1`},
}

// clients §12: settings are returned as they were sent, and absent settings are unchanged.
var projectSettingRows = []ruletest.Row{
	{"clients §12", "bob", "changeproject", `{"heatmaps_opt_in":true,"autocapture_exceptions_opt_in":false,"session_recording_opt_in":true,"surveys_opt_in":null,"autocapture_web_vitals_opt_in":true,"cookieless_server_hash_mode":2}`,
		`{"heatmaps_opt_in":true,"autocapture_exceptions_opt_in":false,"session_recording_opt_in":true,"surveys_opt_in":null,"autocapture_web_vitals_opt_in":true,"cookieless_server_hash_mode":2}`},
	{"clients §12", "bob", "changeproject", `{"app_urls":["https://a.example"],"recording_domains":["https://b.example",""]}`, `400 blank recording_domains__1 This field may not be blank.`},
	{"clients §12", "bob", "changeproject", `{"app_urls":["https://a.example"],"recording_domains":["https://b.example"]}`, `{"app_urls":["https://a.example"],"recording_domains":["https://b.example"],"heatmaps_opt_in":true,"cookieless_server_hash_mode":2}`},
	{"clients §12 null allowed", "bob", "changeproject", `{"app_urls":null,"recording_domains":null,"cookieless_server_hash_mode":null,"heatmaps_opt_in":null}`, `{"recording_domains":null,"cookieless_server_hash_mode":null,"heatmaps_opt_in":null,"session_recording_opt_in":true}`},
	{"§5.8", "bob", "changeproject", `{"anonymize_ips":true,"completed_snippet_onboarding":true,"has_completed_onboarding_for":{"product_analytics":true}}`, `{"anonymize_ips":true,"completed_snippet_onboarding":true,"has_completed_onboarding_for":{"product_analytics":true}}`},
	{"§5.8", "bob", "changeproject", `{"test_account_filters":[{"key":"email","value":"@us","operator":"icontains"}],"person_display_name_properties":["name","email"],"survey_config":{"appearance":{}}}`,
		`{"test_account_filters":[{"key":"email","value":"@us","operator":"icontains"}],"person_display_name_properties":["name","email"],"survey_config":{"appearance":{}}}`},
	{"§5.8", "bob", "changeproject", `{"flags_persistence_default":true,"week_start_day":1,"primary_dashboard":7}`, `{"flags_persistence_default":true,"week_start_day":1,"primary_dashboard":7}`},
	{"console §2.3 snippet defaults", "bob", "changeproject", `{"snippet_defaults":{"language":"Go","host":"https://flags.example.com"}}`, `{"snippet_defaults":{"language":"Go","host":"https://flags.example.com"}}`},
	{"console §2.3 snippet defaults", "bob", "changeproject", `{"snippet_defaults":{"language":"","host":""}}`, `{"snippet_defaults":{"language":"","host":""}}`},
	{"console §2.3 snippet defaults", "bob", "changeproject", `{"snippet_defaults":null}`, `{"snippet_defaults":null}`},
	{"§5.8 timezone", "bob", "changeproject", `{"timezone":"America/New_York"}`, `{"timezone":"America/New_York"}`},
	{"decision 1", "bob", "changeproject", `{"bucketing_hash":"murmur3"}`, `{"bucketing_hash":"murmur3","timezone":"America/New_York"}`},
	{"decision 6", "bob", "changeproject", `{"property_matching_version":2}`, `{"property_matching_version":2,"bucketing_hash":"murmur3"}`},
	{"§5.8 all of it stays", "bob", "project", ``, `{"anonymize_ips":true,"week_start_day":1,"flags_persistence_default":true,"session_recording_opt_in":true,"person_display_name_properties":["name","email"]}`},
	{"decision 37 what cannot do what it says", "bob", "project", ``, `{"warnings":["session_recording_opt_in: this server does not store recordings, so browsers are configured not to record"]}`},
}

var wrongSettingRows = []ruletest.Row{
	{"§2.2 bool", "bob", "changeproject", `{"heatmaps_opt_in":"perhaps"}`, `400 invalid_input heatmaps_opt_in Must be a valid boolean.`},
	{"clients §12 0, 1, 2 or null", "bob", "changeproject", `{"cookieless_server_hash_mode":3}`, `400 invalid_choice cookieless_server_hash_mode "3" is not a valid choice.`},
	{"§5.8 timezone", "bob", "changeproject", `{"timezone":"Local"}`, `400 * timezone`},
	{"§5.8 timezone", "bob", "changeproject", `{"timezone":"Mars/Olympus"}`, `400 * timezone`},
	{"§5.8 timezone", "bob", "changeproject", `{"timezone":"../etc/passwd"}`, `400 * timezone`},
	{"decision 1", "bob", "changeproject", `{"bucketing_hash":"md5"}`, `400 invalid_choice bucketing_hash "md5" is not a valid choice.`},
	{"decision 6", "bob", "changeproject", `{"property_matching_version":3}`, `400 invalid_choice property_matching_version "3" is not a valid choice.`},
	{"§2.2 list", "bob", "changeproject", `{"app_urls":"https://a.example"}`, `400 not_a_list app_urls Expected a list of items but got type "str".`},
	{"§2.2 list", "bob", "changeproject", `{"test_account_filters":{}}`, `400 not_a_list test_account_filters Expected a list of items but got type "dict".`},
	{"§2.2 dictionary", "bob", "changeproject", `{"survey_config":[]}`, `400 not_a_dict survey_config Expected a dictionary of items but got type "list".`},
	{"§2.2 a number from 0 to 1", "bob", "changeproject", `{"session_recording_sample_rate":"1.01"}`, `400 invalid_input session_recording_sample_rate`},
	{"§2.2 a number from 0 to 1", "bob", "changeproject", `{"session_recording_sample_rate":"-0.1"}`, `400 invalid_input session_recording_sample_rate`},
	{"§2.2 a number from 0 to 1", "bob", "changeproject", `{"session_recording_sample_rate":"half"}`, `400 invalid_input session_recording_sample_rate`},
	{"§2.2 a number from 0 to 1", "bob", "changeproject", `{"session_recording_sample_rate":"0.95"}`, `{"session_recording_sample_rate":"0.95"}`},
	{"§2.2 snippet defaults", "bob", "changeproject", `{"snippet_defaults":[]}`, `400 not_a_dict snippet_defaults Expected a dictionary of items but got type "list".`},
	{"§2.2 snippet defaults", "bob", "changeproject", `{"snippet_defaults":{"host":"javascript:alert(1)"}}`, `400 invalid_input snippet_defaults__host Enter a valid URL.`},
	{"§2.2 snippet defaults", "bob", "changeproject", `{"snippet_defaults":{"language":{}}}`, `400 invalid_input snippet_defaults__language Not a valid string.`},
	{"§2.2 snippet defaults", "bob", "changeproject", `{"snippet_defaults":{"lang":"Go"}}`, `400 invalid_input snippet_defaults "lang" is not a known member: use language or host.`},
	{"§2.2 week_start_day", "bob", "changeproject", `{"week_start_day":2}`, `400 invalid_choice week_start_day "2" is not a valid choice.`},
	{"§2.2 all settings together", "bob", "changeproject", `{"extra_settings":` + chars(140_000) + `}`, `400 max_length - The settings of a project may have no more than 262144 bytes.`},
	{"nothing was changed", "bob", "project", ``, `{"name":"P","timezone":"UTC","bucketing_hash":"sha1","property_matching_version":1,"updated_at":"2026-01-02T12:00:14Z"}`},
}

var projectListRows = []ruletest.Row{
	{"§5.8 of the organization", "bob", "projects", ``, `{"count":1,"results":[{"id":1,"uuid":"(like) .","organization":"` + ours + `","api_token":"phc_ours","name":"P","completed_snippet_onboarding":false,
		"has_completed_onboarding_for":null,"ingested_event":false,"is_demo":false,"timezone":"UTC","access_control":false,"created_at":"(absent)","secret_api_token":"(absent)"}]}`},
	{"§5.8 of all organizations", "bob", "neworganization => other", `{"name":"Other"}`, `{"name":"Other"}`},
	{"§5.8 of all organizations, by number", "bob", "everyproject", ``, `{"count":2,"results":[{"id":1,"name":"P"},{"name":"Default project","organization":"<other>"}]}`},
	{"§3 limit and offset", "bob", "everyproject", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"name":"Default project"}]}`},
	{"§3 beyond the end", "bob", "everyproject", `{"Offset":5}`, `{"count":2,"results":[]}`},
	{"§5.8 of the organization alone", "bob", "projects", ``, `{"count":1,"results":[{"id":1}]}`},
	{"§1.8 those that the caller reaches", "eve", "projects", ``, `{"count":0,"results":[]}`},
	{"§1.8 those that the caller reaches", "eve", "everyproject", ``, `{"count":0,"results":[]}`},
}

// §1.8: only administrators, and users with a rule, have access to a private project.
var privateRows = []ruletest.Row{
	{"§1.8", "gus", "changeproject", `{"access_control":true}`, `{"access_control":true}`},
	{"§1.8 no access", "bob", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
	{"§1.8 missing from lists", "bob", "everyproject", ``, `{"count":0}`},
	{"§1.8 missing from the organization", "bob", "organization", ``, `{"projects":[]}`},
	{"§1.8 organization admins always have access", "gus", "enterproject 1", ``, `{"name":"P"}`},
	{"§1.8 organization admins always have access", "ann", "everyproject", ``, `{"count":1,"results":[{"access_control":true}]}`},
	{"§1.9 nobody's current one", "bob", "me", ``, `{"organization":{"name":"Ours"},"team":null}`},
	{"§1.8 open again: the default is admin", "gus", "changeproject", `{"access_control":false}`, `{"access_control":false}`},
	{"§1.8 open again: the default is admin", "bob", "project 1", ``, `{"user_access_level":"admin","effective_membership_level":8}`},
	{"§1.8 a rule of one's own stays", "eve", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
}

const notBoth = `403 permission_denied - You must be an admin of both the source and target organizations to move a project.`

var moveRows = []ruletest.Row{
	{"§5.8 change_organization", "bob", "move", `{}`, `400 required organization_id This field is required.`},
	{"§5.8 change_organization", "bob", "move", `{"organization_id":"x"}`, `400 invalid_input organization_id Must be a valid UUID.`},
	{"§5.8 8 in the source", "bob", "neworganization => bobs", `{"name":"Bob's"}`, `{"name":"Bob's"}`},
	{"§5.8 8 in the source", "bob", "move", `{"organization_id":"<bobs>"}`, notBoth},
	{"§5.8 8 in the target", "gus", "move", `{"organization_id":"` + theirs + `"}`, notBoth},
	{"§5.8 8 in the target", "gus", "move", `{"organization_id":"` + nowhere + `"}`, notBoth},
	{"§5.8", "gus", "neworganization => guss", `{"name":"Gus's"}`, `{"name":"Gus's"}`},
	{"§5.8 8 in both", "gus", "move", `{"organization_id":"<guss>"}`, `{"id":1,"organization":"<guss>","api_token":"phc_ours"}`},
	{"§5.8 it is there", "gus", "enterproject 1", ``, `{"name":"P"}`},
	{"§5.8 and not here", "ann", "enterproject 1", ``, `403 permission_denied - You don't have access to the project.`},
}

var deleteProjectRows = []ruletest.Row{
	{"§1.11", "gus", "rotate => secret", ``, `{"secret_api_token":"(like) ^phs_"}`},
	{"§5.8 DELETE", "gus", "dropproject", ``, `null`},
	{"§5.8 DELETE", "gus", "enterproject 1", ``, `404 not_found - Project not found.`},
	{"§5.8 DELETE", "gus", "everyproject", ``, `{"count":0,"results":[]}`},
	{"§5.8 its secret keys open nothing", "-", "opensproject <secret.secret_api_token>", ``, `0`},
	{"§1.9 nobody's current one", "gus", "me", ``, `{"team":null}`},
}

// Spec/capture.md §16.1: the settings for posthog-js.
var browserRows = []ruletest.Row{
	{"capture §16.1 nothing was chosen", "bob", "browser", ``, `null`},
	{"capture §16.1", "bob", "changeproject", `{"autocapture_opt_out":true,"autocapture_exceptions_opt_in":true,"capture_dead_clicks":true,"heatmaps_opt_in":true}`, `{"autocapture_opt_out":true}`},
	{"capture §16.1", "bob", "browser", ``, `{"autocapture_opt_out":true,"autocaptureExceptions":true,"errorTracking":{"autocaptureExceptions":true,"suppressionRules":[]},"captureDeadClicks":true,"capturePerformance":false,"heatmaps":true,"sessionRecording":false,"surveys":false}`},
	{"capture §16.1 recordings are not kept", "bob", "changeproject", `{"session_recording_opt_in":true}`, `{"session_recording_opt_in":true}`},
	{"capture §16.1 recordings are not kept", "bob", "browser", ``, `{"sessionRecording":false}`},
	{"capture §16.1 capturePerformance", "bob", "changeproject", `{"capture_performance_opt_in":true,"autocapture_web_vitals_opt_in":true,"autocapture_web_vitals_allowed_metrics":["LCP","CLS","XYZ"]}`, `{"capture_performance_opt_in":true}`},
	{"capture §16.1 capturePerformance", "bob", "browser", ``, `{"capturePerformance":{"network_timing":true,"web_vitals":true,"web_vitals_allowed_metrics":["CLS","LCP"]}}`},
	{"capture §16.1 all metrics", "bob", "changeproject", `{"autocapture_web_vitals_allowed_metrics":null}`, `{"autocapture_web_vitals_opt_in":true}`},
	{"capture §16.1 all metrics", "bob", "browser", ``, `{"capturePerformance":{"web_vitals":true,"web_vitals_allowed_metrics":null}}`},
	{"capture §16.1 off", "bob", "changeproject", `{"autocapture_opt_out":null,"capture_performance_opt_in":false,"autocapture_web_vitals_opt_in":false,"heatmaps_opt_in":null}`, `{"autocapture_opt_out":null}`},
	{"capture §16.1 off", "bob", "browser", ``, `{"autocapture_opt_out":false,"capturePerformance":false,"heatmaps":false}`},
}

// §1.6: the projects that restricted keys open.
func TestProjects_Keys(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	for name, k := range map[string]management.KeyRecord{
		"P": {Scopes: []string{"*"}, Projects: []int64{1}}, "other": {Scopes: []string{"*"}, Projects: []int64{7}},
		"ours": {Scopes: []string{"*"}, Organizations: []string{ours}}, "theirs": {Scopes: []string{"*"}, Organizations: []string{theirs}},
		"old": {Projects: []int64{7}}, // a key without scopes ignores its lists
	} {
		k.ID = name
		w.Keys[name] = k
	}
	const only = `403 permission_denied - API keys with scoped projects are only supported on project-based endpoints.`
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§6 row 75", "bob/other", "enterproject 1", ``, `403 permission_denied - API key does not have access to the requested project: ID 1.`},
		{"§1.6", "bob/P", "enterproject 1", ``, `{"name":"P"}`},
		{"§1.6", "bob/P", "project 1", ``, `{"id":1}`},
		{"§1.6 list", "bob/P", "everyproject", ``, only},
		{"§6 row 76", "bob/P", "enter " + ours, ``, only},
		{"§1.6", "gus/P", "newproject", `{}`, only},
		{"§1.6", "bob/P", "organizations", ``, only},
		{"§1.6", "bob/P", "neworganization", `{"name":"x"}`, only},
		{"§6 row 77", "bob/P", "me", ``, `{"first_name":"bob"}`},
		{"§1.6", "bob/theirs", "enter " + ours, ``, `403 permission_denied - API key does not have access to the requested organization: ID ` + ours + `.`},
		{"§1.6", "bob/theirs", "own " + ours, ``, notFound},
		{"§1.6", "bob/theirs", "enterproject 1", ``, `403 permission_denied - API key does not have access to the requested organization: ID ` + ours + `.`},
		{"§1.6 list", "bob/theirs", "organizations", ``, `{"count":0}`},
		{"§1.6 list", "bob/theirs", "everyproject", ``, `{"count":0}`},
		{"§1.6", "gus/theirs", "newproject", `{}`, `403 permission_denied - API key does not have access to the requested organization: ID ` + ours + `.`},
		{"§1.6", "bob/ours", "enter " + ours, ``, `{"name":"Ours"}`},
		{"§1.6", "bob/ours", "organizations", ``, `{"count":1}`},
		{"§1.6 it cannot be in the list", "bob/ours", "neworganization", `{"name":"x"}`, mayNot},
		{"§1.6 both lists are of the move", "gus", "neworganization => guss", `{"name":"Gus's"}`, `{"name":"Gus's"}`},
		{"§1.6 both lists are of the move", "gus/ours", "move", `{"organization_id":"<guss>"}`, notBoth},
		{"§1.5 legacy keys skip the lists", "bob/old", "enterproject 1", ``, `{"name":"P"}`},
		{"§1.5 legacy keys skip the lists", "bob/old", "organizations", ``, `{"count":1}`},
	})
}

// §5.4, §5.12: group types and usage, which other packages write.
func TestProjects_Outside(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	ofOurs := func(resource string) memstore.Resource {
		return memstore.Resource{Organization: ours, Resource: resource}
	}
	w := newWorld(t, memstore.ExternalData{
		GroupTypes: map[int64]map[int]string{1: {0: "company", 1: "team"}},
		Usage: map[memstore.Resource][]organizations.DayUsage{
			ofOurs("events"):        {{Day: day(0), Project: 1, N: 100}, {Day: day(1), Project: 1, N: 7}, {Day: day(2), Project: 1, N: 3}},
			ofOurs("feature_flags"): {{Day: day(2), N: 40}},
		},
		KeyUsage: []organizations.KeyUsage{{Day: day(2), Project: 1, Resource: "events", Key: "project", SDK: "posthog-js", N: 3}, {Day: day(2), Project: 2, Resource: "events", Key: "project", SDK: "x", N: 9}},
	}, false)
	w.Run(t, w.calls(t), []ruletest.Row{
		{"§5.4", "bob", "project", ``, `{"has_group_types":true,"group_types":[{"group_type":"company","group_type_index":0},{"group_type":"team","group_type_index":1}],"ingested_event":true}`},
		{"§5.4", "bob", "labels", ``, `{}`},
		{"§5.4", "bob", "label", `[{"group_type_index":0,"name_singular":"Company","name_plural":"Companies"}]`, `{"0":{"name_singular":"Company","name_plural":"Companies"}}`},
		{"§5.4 what is not named stays", "bob", "label", `[{"group_type_index":0,"name_plural":"Firms"},{"group_type_index":1,"name_singular":null}]`, `{"0":{"name_singular":"Company","name_plural":"Firms"},"1":{"name_singular":null,"name_plural":null}}`},
		{"§5.4", "bob", "labels", ``, `{"0":{"name_singular":"Company","name_plural":"Firms"}}`},
		{"§5.4 no such type", "bob", "label", `[{"group_type_index":0,"name_singular":"x"},{"group_type_index":2}]`, `400 does_not_exist __1__group_type_index Invalid pk "2" - object does not exist.`},
		{"§5.4 nothing was changed", "bob", "labels", ``, `{"0":{"name_singular":"Company"}}`},
		{"§2.1", "bob", "label", `[{}]`, `400 required __0__group_type_index This field is required.`},
		{"§2.2", "bob", "label", `["x"]`, `400 invalid_input - Invalid data. Expected a dictionary, but got str.`},
		{"§5.12 days before today, and today", "bob", "usage", ``, `{"period":["2026-01-01T00:00:00Z","2026-02-01T00:00:00Z"],
			"events":{"usage":7,"todays_usage":3,"limit":null,"quota_limited_until":null,"days":[{"day":"2026-01-01","project_id":1,"count":7},{"day":"2026-01-02","project_id":1,"count":3}]},
			"feature_flags":{"usage":0,"todays_usage":40,"limit":null,"days":[{"day":"2026-01-02","project_id":null,"count":40}]},"recordings":{"usage":0,"days":[]},
			"sources":[{"day":"2026-01-02","project_id":1,"resource":"events","key":"project","sdk":"posthog-js","count":3}]}`},
		{"§5.12 below the limit", "ann", "changeorganization", `{"quotas":{"events":11,"feature_flags":40}}`, `{"quotas":{"events":11}}`},
		{"§5.12 over when usage + todays_usage >= limit", "bob", "usage", ``, `{"events":{"limit":11,"quota_limited_until":null},"feature_flags":{"limit":40,"quota_limited_until":"2026-02-01T00:00:00Z"}}`},
		{"§5.12 a limit of nothing", "ann", "changeorganization", `{"quotas":{"surveys":0}}`, `{"quotas":{"surveys":0}}`},
		{"§5.12 a limit of nothing", "bob", "usage", ``, `{"surveys":{"usage":0,"limit":0,"quota_limited_until":"2026-02-01T00:00:00Z"}}`},
		{"§5.12 the next month", "bob", "wait " + days(30), ``, `null`},
		{"§5.12 the next month", "bob", "usage", ``, `{"period":["2026-02-01T00:00:00Z","2026-03-01T00:00:00Z"],"events":{"usage":0,"todays_usage":0,"quota_limited_until":null,"days":[]},"feature_flags":{"quota_limited_until":null}}`},
	})
}

// Objects of a definitions file can only be changed there (design/decisions.md, Definitions file).
func TestProjects_OfAFile(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		p, err := tx.Project(1)
		if err != nil {
			return err
		}
		p.Origin = "demo.json"
		if err := tx.PutProject(p); err != nil {
			return err
		}
		o, err := tx.Organization(ours)
		if err != nil {
			return err
		}
		o.Origin = "demo.json"
		if err := tx.PutOrganization(o); err != nil {
			return err
		}
		return tx.PutKey(&management.KeyRecord{ID: "k", Hash: management.HashKey("phx_file"), Label: "k", User: 2, Scopes: []string{"*"}, Origin: "demo.json", CreatedAt: ruletest.Start})
	})
	if err != nil {
		t.Fatal(err)
	}
	fixed := func(what string) string {
		return `409 conflict - This ` + what + ` is defined in the file demo.json and can only be changed there.`
	}
	w.Run(t, w.calls(t), []ruletest.Row{
		{"name", "gus", "changeproject", `{"name":"x"}`, fixed("project")},
		{"timezone", "gus", "changeproject", `{"timezone":"Europe/Oslo"}`, fixed("project")},
		{"bucketing_hash", "gus", "changeproject", `{"bucketing_hash":"murmur3"}`, fixed("project")},
		{"property_matching_version", "gus", "changeproject", `{"property_matching_version":2}`, fixed("project")},
		{"what it is already", "gus", "changeproject", `{"name":"P","timezone":"UTC"}`, `{"name":"P"}`},
		{"what a file does not say", "gus", "changeproject", `{"heatmaps_opt_in":true}`, `{"heatmaps_opt_in":true}`},
		{"token", "gus", "resettoken", ``, fixed("project")},
		{"DELETE", "gus", "dropproject", ``, fixed("project")},
		{"move", "gus", "neworganization => other", `{"name":"Other"}`, `{"name":"Other"}`},
		{"move", "gus", "move", `{"organization_id":"<other>"}`, fixed("project")},
		{"the organization's name", "ann", "changeorganization", `{"name":"x"}`, fixed("organization")},
		{"its quotas", "ann", "changeorganization", `{"quotas":{"events":1}}`, fixed("organization")},
		{"what a file does not say", "ann", "changeorganization", `{"members_can_invite":false}`, `{"members_can_invite":false}`},
		{"DELETE", "ann", "close", ``, fixed("organization")},
		{"a key", "bob", "rollkey k", ``, fixed("key")},
		{"a key", "bob", "dropkey k", ``, fixed("key")},
		{"a key", "bob", "changekey k", `{"label":"x"}`, fixed("key")},
		{"a key is read", "bob", "key k", ``, `{"id":"k","label":"k"}`},
	})
}

// §5.8: fields that only configure require just project:read.
func TestOnlyConfigures(t *testing.T) {
	for body, want := range map[string]bool{
		`{"app_urls":["https://x.example"]}`: true, `{"timezone":"UTC","heatmaps_opt_in":true,"surveys_opt_in":null}`: true, `{}`: true, `{"colour":"red"}`: true,
		`{"name":"x"}`: false, `{"app_urls":[],"name":"x"}`: false, `{"access_control":true}`: false, `{"product_description":"x"}`: false,
		`{"bucketing_hash":"sha1"}`: false, `{"property_matching_version":1}`: false, // these affect the results of flags
	} {
		if got := organizations.OnlyConfigures(ruletest.Body(t, body)); got != want {
			t.Errorf("%s: %v", body, got)
		}
	}
}

// Spec/capture.md §16.1: browsers load surveys only while one is running, unless surveys_opt_in is
// false.
func TestProjects_Surveys(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	calls := w.calls(t)
	calls["survey"] = func(scope callScope, _, b string) (any, error) {
		return w.Surveys.Create(t.Context(), scope, ruletest.Body(t, b))
	}
	calls["changesurvey"] = func(scope callScope, path, b string) (any, error) {
		return w.Surveys.Update(t.Context(), scope, path, ruletest.Body(t, b), false)
	}
	w.Run(t, calls, []ruletest.Row{
		{"§5.6 a draft", "bob", "survey => it", `{"name":"s","type":"popover","questions":[{"type":"open","question":"Why?"}]}`, `{"start_date":null}`},
		{"capture §16.1", "bob", "browser", ``, `null`},
		{"§5.6 it runs", "bob", "changesurvey <it>", `{"start_date":"2026-01-02T12:00:00Z"}`, `{"name":"s"}`},
		{"capture §16.1", "bob", "browser", ``, `{"surveys":true,"autocapture_opt_out":false}`},
		{"capture §16.1 off", "bob", "changeproject", `{"surveys_opt_in":false}`, `{"surveys_opt_in":false}`},
		{"capture §16.1 off", "bob", "browser", ``, `{"surveys":false}`},
		{"capture §16.1 on", "bob", "changeproject", `{"surveys_opt_in":true}`, `{"surveys_opt_in":true}`},
		{"capture §16.1 on", "bob", "browser", ``, `{"surveys":true}`},
		{"§5.6 complete", "bob", "changesurvey <it>", `{"end_date":"2026-01-02T12:00:05Z"}`, `{"name":"s"}`},
		{"capture §16.1 none runs", "bob", "browser", ``, `{"surveys":false}`},
	})
}
