package organizations_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

// The bounds of the fields of projects (§5.8), and of the keys that owners choose.
func TestProjects_Fields(t *testing.T) {
	runAllTables(t, false, map[string][]ruletest.Row{"bounds": projectBoundRows, "chosen keys": tokenRows, "warnings": warningRows, "null": projectNullRows, "new ones": newProjectFieldRows})
}

var projectBoundRows = rows(
	each("§5.8", "bob", "changeproject",
		[2]string{`{"name":` + chars(200) + `}`, `{"name":` + chars(200) + `}`},
		[2]string{`{"name":` + chars(201) + `}`, `400 max_length name Ensure this field has no more than 200 characters.`},
		[2]string{`{"product_description":` + chars(1000) + `}`, `{"product_description":` + chars(1000) + `}`},
		[2]string{`{"product_description":` + chars(1001) + `}`, `400 max_length product_description`},
		[2]string{`{"app_urls":["",` + chars(200) + `]}`, `{"app_urls":["",` + chars(200) + `]}`},
		[2]string{`{"app_urls":[` + chars(201) + `]}`, `400 max_length app_urls__0`},
		[2]string{`{"session_recording_minimum_duration_milliseconds":30000}`, `{"session_recording_minimum_duration_milliseconds":30000}`},
		[2]string{`{"session_recording_minimum_duration_milliseconds":30001}`, `400 max_value session_recording_minimum_duration_milliseconds`},
		[2]string{`{"session_recording_minimum_duration_milliseconds":-1}`, `400 min_value session_recording_minimum_duration_milliseconds`},
		[2]string{`{"session_recording_sample_rate":"0"}`, `{"session_recording_sample_rate":"0"}`},
		[2]string{`{"session_recording_sample_rate":"1"}`, `{"session_recording_sample_rate":"1"}`},
		[2]string{`{"session_recording_sample_rate":"1.0001"}`, `400 invalid_input session_recording_sample_rate`},
		[2]string{`{"session_recording_sample_rate":"-0.001"}`, `400 invalid_input session_recording_sample_rate`},
		[2]string{`{"session_recording_sample_rate":"0.123456789"}`, `400 max_length session_recording_sample_rate`},
		[2]string{`{"week_start_day":0}`, `{"week_start_day":0}`},
		[2]string{`{"cookieless_server_hash_mode":0}`, `{"cookieless_server_hash_mode":0}`},
		[2]string{`{"timezone":""}`, `400 blank timezone`},
		[2]string{`{"timezone":"europe/Nowhere"}`, `400 invalid_choice timezone "europe/Nowhere" is not a valid choice.`},
		[2]string{`{"bucketing_hash":null}`, `400 null bucketing_hash`},
		[2]string{`{"property_matching_version":0}`, `400 invalid_choice property_matching_version`},
	),
	// No field of an invalid body is stored, neither before nor after the invalid field.
	[]ruletest.Row{
		{"§2.1", "bob", "changeproject", `{"name":"new","timezone":"UTC","week_start_day":9}`, `400 invalid_choice week_start_day`},
		{"§2.1", "bob", "project", ``, `{"name":` + chars(200) + `,"week_start_day":0}`},
	},
)

var tokenRows = []ruletest.Row{
	{"64 characters", "ann", "newproject", `{"api_token":"phc_` + strings.Repeat("x", 60) + `"}`, `{"api_token":"phc_` + strings.Repeat("x", 60) + `"}`},
	{"blank", "ann", "newproject", `{"api_token":""}`, `400 blank api_token`},
	{"any prefix", "ann", "newproject", `{"api_token":"My-key_1"}`, `{"api_token":"My-key_1"}`},
	{"the same again", "ann", "newproject", `{"api_token":"My-key_1"}`, `400 unique api_token Another project uses or has used this key.`},
	{"another case is another key", "ann", "newproject", `{"api_token":"my-key_1"}`, `{"api_token":"my-key_1"}`},
	{"letters of ASCII", "ann", "newproject", `{"api_token":"phc_ä"}`, `400 invalid_input api_token A project's key may only have letters, digits, - and _.`},
	{"one of a deleted project", "ann", "dropproject", ``, `null`},
	{"one of a deleted project", "ann", "newproject", `{"api_token":"phc_ours"}`, `400 unique api_token`},
	{"it cannot be changed later", "ann", "newproject", `{"name":"x"}`, `{"name":"x"}`},
	{"the fields come first", "gus", "newproject", `{"name":"","api_token":"phc_x"}`, `400 blank name`},
}

// Decision 37: a setting that has no effect is named.
var warningRows = []ruletest.Row{
	{"none", "bob", "project", ``, `{"warnings":[]}`},
	{"heatmaps", "bob", "changeproject", `{"heatmaps_opt_in":true}`, `{"warnings":["heatmaps_opt_in: browsers send heatmap data, which is counted but not stored"]}`},
	{"cookieless", "bob", "changeproject", `{"heatmaps_opt_in":false,"cookieless_server_hash_mode":1}`, `{"warnings":["cookieless_server_hash_mode: cookieless events are counted but not stored"]}`},
	{"off", "bob", "changeproject", `{"cookieless_server_hash_mode":0,"session_recording_opt_in":false}`, `{"warnings":[]}`},
	{"all", "bob", "changeproject", `{"session_recording_opt_in":true,"heatmaps_opt_in":true,"cookieless_server_hash_mode":2}`, `{"warnings":["(like) ^session_recording_opt_in:","(like) ^heatmaps_opt_in:","(like) ^cookieless_server_hash_mode:"]}`},
}

// clients.md §12: responses have the values of requests, also null.
var projectNullRows = []ruletest.Row{
	{"clients §12 defaults", "bob", "project", ``, `{"data_attributes":["data-attr"],"app_urls":[],"test_account_filters":[],"correlation_config":{},"session_recording_opt_in":false,"person_display_name_properties":null,"modifiers":null,"extra_settings":null}`},
	{"clients §12 null", "bob", "changeproject", `{"app_urls":null,"session_recording_opt_in":null,"correlation_config":null}`, `{"app_urls":null,"session_recording_opt_in":null,"correlation_config":null}`},
	{"clients §12 it stays", "bob", "project", ``, `{"app_urls":null,"session_recording_opt_in":null,"data_attributes":["data-attr"]}`},
	{"clients §12 any JSON", "bob", "changeproject", `{"extra_settings":[1,{"a":null}],"modifiers":{"b":1.50},"session_recording_linked_flag":"x"}`, `{"extra_settings":[1,{"a":null}],"modifiers":{"b":1.50},"session_recording_linked_flag":"x"}`},
}

var newProjectFieldRows = []ruletest.Row{
	{"§5.8", "gus", "newproject => it", `{"name":"N","access_control":true,"anonymize_ips":true,"heatmaps_opt_in":true,"product_description":"d"}`, `{"access_control":true,"anonymize_ips":true,"heatmaps_opt_in":true,"product_description":"d","user_access_level":"admin","uuid":"(like) ^[0-9a-f-]{36}$"}`},
	{"§1.8 private from the start", "bob", "enterproject 3", ``, `403 permission_denied - You don't have access to the project.`},
	{"§5.8 a refused one makes none", "gus", "newproject", `{"timezone":"Nowhere"}`, `400 invalid_choice timezone`},
	{"§5.8 a refused one makes none", "gus", "projects", ``, `{"count":2}`},
	{"decision 39 it does not become current", "gus", "me", ``, `{"team":{"id":1}}`},
	{"§5.11", "gus", "enterproject 3", ``, `{"name":"N"}`},
}

// closeWithFileRows close an organization with a project of a definitions file.
var closeWithFileRows = []ruletest.Row{
	{"§5.9", "ann", "organization", ``, `{"projects":[{"id":1}]}`},
	{"§5.9", "bob", "me", ``, `{"organization":{"name":"Ours"},"team":{"id":1}}`},
	{"a project of a file", "ann", "close", ``, `409 conflict - This project is defined in the file demo.json and can only be changed there.`},
	{"nothing was deleted", "bob", "me", ``, `{"organization":{"name":"Ours","member_count":6,"projects":[{"id":1},{"id":3}]},"team":{"id":1}}`},
}

// Projects of a definitions file are read-only, so their organization cannot be deleted.
func TestOrganizations_CloseWithFile(t *testing.T) {
	w := newWorld(t, memstore.ExternalData{}, false)
	w.Run(t, w.calls(t), closeWithFileRows[:2])
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		return tx.PutProject(&management.ProjectRecord{ID: 3, Organization: ours, APIKey: "phc_file", Origin: "demo.json", CreatedAt: ruletest.Start})
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, w.calls(t), closeWithFileRows[2:])
}
