package featureflags_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/rooms"
)

func TestFlags_Record(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"keys": keyRows, "types of fields": flagTypeRows, "defaults of null": flagNullRows, "tags and contexts": tagRows,
		"settings": settingRows, "put": putRows, "the log": flagLogRows, "who": flagWhoRows, "unknown keys": unknownKeyRows, "ids": flagIDRows,
	})
}

var keyRows = flagtest.Rows(
	flagtest.Each("§5.1.1 characters of a key", "bob", "create",
		[2]string{`{"key":"abc"}`, `{"key":"abc"}`},
		[2]string{`{"key":"ABC"}`, `{"key":"ABC"}`},
		[2]string{`{"key":"0"}`, `{"key":"0"}`},
		[2]string{`{"key":"-"}`, `{"key":"-"}`},
		[2]string{`{"key":"_x-9"}`, `{"key":"_x-9"}`},
		[2]string{`{"key":"a.b"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
		[2]string{`{"key":"a/b"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
		[2]string{`{"key":"a:b"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
		[2]string{`{"key":"a\nb"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
		[2]string{`{"key":"schlüssel"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
		[2]string{`{"key":"a‐b"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
	),
	flagtest.Each("§2.2 a text that is there", "bob", "create",
		[2]string{`{"key":""}`, `400 blank key This field may not be blank.`},
		[2]string{`{"key":"   "}`, `400 blank key This field may not be blank.`},
		[2]string{`{"key":null}`, `400 null key This field may not be null.`},
		[2]string{`{"key":true}`, `400 invalid_input key Not a valid string.`},
		[2]string{`{"key":["a"]}`, `400 invalid_input key Not a valid string.`},
		[2]string{`{"key":{"a":1}}`, `400 invalid_input key Not a valid string.`},
		[2]string{`{"name":"no key"}`, `400 required key This field is required.`},
	),
	flagtest.Each("§5.1.1 keys are told apart by case (spec/flags.md §1.1)", "bob", "create",
		[2]string{`{"key":"Case"}`, `{"key":"Case"}`},
		[2]string{`{"key":"case"}`, `{"key":"case"}`},
		[2]string{`{"key":"case"}`, `400 unique key There is already a feature flag with this key.`},
	),
	[]ruletest.Row{
		{"§5.1.2 a key that is taken, in a change", "bob", "change 1", `{"key":"Case"}`, `400 unique key There is already a feature flag with this key.`},
		{"§5.1.1 its own key", "bob", "change 1", `{"key":"abc"}`, `{"key":"abc"}`},
		{"§5.1.1 a key that was freed", "bob", "change 1", `{"key":"other"}`, `{"key":"other"}`},
		{"§5.1.1 a key that was freed", "bob", "create", `{"key":"abc"}`, `{"key":"abc"}`},
		{"§5.1.1 characters, in a change", "bob", "change 1", `{"key":"a b"}`, `400 invalid_key key`},
		{"§5.1.1 length, in a change", "bob", "change 1", `{"key":` + flagtest.Text(401) + `}`, `400 max_length key Ensure this field has no more than 400 characters.`},
	},
)

var flagTypeRows = flagtest.Rows(
	[]ruletest.Row{{"§5.1.1", "bob", "create", `{"key":"a"}`, `{"id":1}`}},
	flagtest.Each("§2.2 truths", "bob", "change 1",
		[2]string{`{"active":"maybe"}`, `400 invalid_input active Must be a valid boolean.`},
		[2]string{`{"active":2}`, `400 invalid_input active Must be a valid boolean.`},
		[2]string{`{"active":[]}`, `400 invalid_input active Must be a valid boolean.`},
		[2]string{`{"active":null}`, `400 null active This field may not be null.`},
		[2]string{`{"deleted":"x"}`, `400 invalid_input deleted Must be a valid boolean.`},
		[2]string{`{"deleted":null}`, `400 null deleted This field may not be null.`},
		[2]string{`{"archived":"x"}`, `400 invalid_input archived Must be a valid boolean.`},
		[2]string{`{"ensure_experience_continuity":"x"}`, `400 invalid_input ensure_experience_continuity Must be a valid boolean.`},
		[2]string{`{"performed_rollback":"x"}`, `400 invalid_input performed_rollback Must be a valid boolean.`},
		[2]string{`{"has_enriched_analytics":"x"}`, `400 invalid_input has_enriched_analytics Must be a valid boolean.`},
		[2]string{`{"is_remote_configuration":"x"}`, `400 invalid_input is_remote_configuration Must be a valid boolean.`},
		[2]string{`{"active":"false"}`, `{"active":false}`},
		[2]string{`{"active":1}`, `{"active":true}`},
	),
	flagtest.Each("§2.2 choices", "bob", "change 1",
		[2]string{`{"evaluation_runtime":"SERVER"}`, `400 invalid_choice evaluation_runtime "SERVER" is not a valid choice.`},
		[2]string{`{"evaluation_runtime":null}`, `400 null evaluation_runtime This field may not be null.`},
		[2]string{`{"evaluation_runtime":7}`, `400 invalid_choice evaluation_runtime "7" is not a valid choice.`},
		[2]string{`{"creation_context":"elsewhere"}`, `400 invalid_choice creation_context "elsewhere" is not a valid choice.`},
		[2]string{`{"bucketing_identifier":"anonymous_id"}`, `400 invalid_choice bucketing_identifier "anonymous_id" is not a valid choice.`},
		[2]string{`{"bucketing_hash":"md5"}`, `400 invalid_choice bucketing_hash "md5" is not a valid choice.`},
		[2]string{`{"evaluation_contexts_match_mode":"most"}`, `400 invalid_choice evaluation_contexts_match_mode "most" is not a valid choice.`},
	),
	flagtest.Each("§2.2 lists", "bob", "change 1",
		[2]string{`{"tags":"x"}`, `400 not_a_list tags Expected a list of items but got type "str".`},
		[2]string{`{"tags":{}}`, `400 not_a_list tags Expected a list of items but got type "dict".`},
		[2]string{`{"tags":null}`, `400 null tags This field may not be null.`},
		[2]string{`{"tags":["a",null]}`, `400 null tags__1 This field may not be null.`},
		[2]string{`{"tags":["a",["b"]]}`, `400 invalid_input tags__1 Not a valid string.`},
		[2]string{`{"tags":["a",` + flagtest.Text(256) + `]}`, `400 max_length tags__1 Ensure this field has no more than 255 characters.`},
		[2]string{`{"evaluation_contexts":"x"}`, `400 not_a_list evaluation_contexts Expected a list of items but got type "str".`},
		[2]string{`{"analytics_dashboards":1}`, `400 not_a_list analytics_dashboards Expected a list of items but got type "int".`},
		[2]string{`{"analytics_dashboards":["one"]}`, `400 invalid_input analytics_dashboards__0 A valid integer is required.`},
	),
	flagtest.Each("§2.2 filters are an object", "bob", "change 1",
		[2]string{`{"filters":[]}`, `400 not_a_dict filters Expected a dictionary of items but got type "list".`},
		[2]string{`{"filters":"all"}`, `400 not_a_dict filters Expected a dictionary of items but got type "str".`},
		[2]string{`{"filters":null}`, `400 null filters This field may not be null.`},
	),
	flagtest.Each("§2.2 the body is an object", "bob", "change 1",
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{`"a"`, `400 invalid_input - Invalid data. Expected a dictionary, but got str.`},
		[2]string{`7`, `400 invalid_input - Invalid data. Expected a dictionary, but got int.`},
	),
	[]ruletest.Row{
		{"§2.1 the first error in the order of the fields", "bob", "create", `{"tags":"x","active":"x","key":"a b","name":[]}`, `400 invalid_input name Not a valid string.`},
		{"§5.1.1 nothing of a refusal stays", "bob", "get 1", ``, `{"active":true,"tags":[],"deleted":false,"archived":false,"version":3}`},
	},
)

var flagNullRows = []ruletest.Row{
	{"§5.1.1 everything that may be sent", "bob", "create", `{"key":"all","name":"words","active":false,"ensure_experience_continuity":true,"rollback_conditions":[{"threshold":5}],
		"performed_rollback":true,"has_enriched_analytics":true,"is_remote_configuration":true,"evaluation_runtime":"client","analytics_dashboards":[1],
		"creation_context":"web_experiments","_create_in_folder":"a/b","_should_create_usage_dashboard":false}`,
		`{"key":"all","name":"words","active":false,"ensure_experience_continuity":true,"rollback_conditions":[{"threshold":5}],"performed_rollback":true,
		"has_enriched_analytics":true,"is_remote_configuration":true,"evaluation_runtime":"client","analytics_dashboards":[1],"usage_dashboard":null,"status":"INACTIVE",
		"creation_context":"(absent)","_create_in_folder":"(absent)","_should_create_usage_dashboard":"(absent)"}`},
	{"§5.1.1 name may be blank", "bob", "change 1", `{"name":""}`, `{"name":""}`},
	{"§5.1.1 rollback_conditions: any", "bob", "change 1", `{"rollback_conditions":{"any":[1,"x"]}}`, `{"rollback_conditions":{"any":[1,"x"]}}`},
	{"§5.1.1 rollback_conditions: null", "bob", "change 1", `{"rollback_conditions":null}`, `{"rollback_conditions":null}`},
	{"§5.1.1 performed_rollback: null", "bob", "change 1", `{"performed_rollback":null}`, `{"performed_rollback":null}`},
	{"§5.1.1 has_enriched_analytics", "bob", "change 1", `{"has_enriched_analytics":false}`, `{"has_enriched_analytics":false}`},
	{"§5.1.1 no dashboards", "bob", "change 1", `{"analytics_dashboards":[]}`, `{"analytics_dashboards":[]}`},
	{"§5.1.1 what a change does not name stays", "bob", "change 1", `{}`, `{"key":"all","ensure_experience_continuity":true,"is_remote_configuration":true,"evaluation_runtime":"client"}`},
	{"§5.1.1 read-only", "bob", "change 1", `{"created_at":"2000-01-01T00:00:00Z","updated_at":"2000-01-01T00:00:00Z","created_by":{"id":9},"last_modified_by":null,"status":"STALE","experiment_set":[1],
		"surveys":[1],"features":[1],"can_edit":false,"user_access_level":"none","usage_dashboard":1,"rollout_percentage":1,"last_called_at":"2000-01-01T00:00:00Z"}`,
		`{"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:09Z","created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"bob"},"status":"INACTIVE","experiment_set":[],
		"surveys":[],"features":[],"can_edit":true,"user_access_level":"manager","usage_dashboard":null,"rollout_percentage":null,"last_called_at":null}`},
}

var tagRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.1.1 none", "bob", "create", `{"key":"a"}`, `{"tags":[],"evaluation_tags":[],"evaluation_contexts":[],"evaluation_contexts_match_mode":"any"}`},
		{"clients.md §3.3 trimmed, lower case, unique, none empty, in a stable order", "bob", "change 1", `{"tags":[" Web ","web","","WEB"," ","api"]}`, `{"tags":["api","web"]}`},
		{"§5.1.1 tags stay", "bob", "change 1", `{"name":"x"}`, `{"tags":["api","web"]}`},
		{"clients.md §1.4 an empty list clears", "bob", "change 1", `{"tags":[]}`, `{"tags":[]}`},
		{"§5.1.2 evaluation_tags of no tags", "bob", "change 1", `{"evaluation_tags":["web"]}`, `400 invalid_input - Evaluation tags must be a subset of tags. Invalid evaluation tags: web`},
		{"§5.1.2 all that are none are named", "bob", "change 1", `{"tags":["web"],"evaluation_tags":["web","app","tv"]}`, `400 invalid_input - Evaluation tags must be a subset of tags. Invalid evaluation tags: app, tv`},
		{"§5.1.1 both at once", "bob", "change 1", `{"tags":["web","api"],"evaluation_tags":["web"]}`, `{"tags":["api","web"],"evaluation_tags":["web"]}`},
		{"clients.md §7.1 one list under both names", "bob", "get 1", ``, `{"evaluation_tags":["web"],"evaluation_contexts":["web"]}`},
		{"clients.md §7.1 evaluation_contexts need be no tags", "bob", "change 1", `{"evaluation_contexts":["docs"]}`, `{"tags":["api","web"],"evaluation_tags":["docs"],"evaluation_contexts":["docs"]}`},
		{"flags.md §1.1 match mode", "bob", "change 1", `{"evaluation_contexts_match_mode":"all"}`, `{"evaluation_contexts_match_mode":"all","evaluation_contexts":["docs"]}`},
		{"§5.1.1 cleared", "bob", "change 1", `{"evaluation_tags":[]}`, `{"evaluation_tags":[],"evaluation_contexts":[]}`},
	},
	flagtest.Each("clients.md §7.1 at most 50, each of at most 255", "bob", "change 1",
		[2]string{`{"evaluation_contexts":` + flagtest.List(50, `"x"`) + `}`, `{"version":9}`},
		[2]string{`{"evaluation_contexts":` + flagtest.List(51, `"x"`) + `}`, `400 max_length evaluation_contexts`},
		[2]string{`{"evaluation_contexts":[` + flagtest.Text(255) + `]}`, `{"evaluation_contexts":[` + flagtest.Text(255) + `]}`},
		[2]string{`{"evaluation_contexts":[` + flagtest.Text(256) + `]}`, `400 max_length evaluation_contexts__0 Ensure this field has no more than 255 characters.`},
	),
)

var settingRows = []ruletest.Row{
	{"§5.1.1", "bob", "create", `{"key":"a"}`, `{"bucketing_identifier":null,"bucketing_hash":null,"archived":false}`},
	{"§5.1.1 both is all", "bob", "change 1", `{"evaluation_runtime":"both"}`, `{"evaluation_runtime":"all"}`},
	{"clients.md §7.1 by device", "bob", "change 1", `{"bucketing_identifier":"device_id"}`, `{"bucketing_identifier":"device_id"}`},
	{"clients.md §7.1 by device, and continuity", "bob", "change 1", `{"ensure_experience_continuity":true}`, `400 invalid_input bucketing_identifier`},
	{"flags.md §1.1 null", "bob", "change 1", `{"bucketing_identifier":null}`, `{"bucketing_identifier":null}`},
	{"§5.1.1 continuity", "bob", "change 1", `{"ensure_experience_continuity":true}`, `{"ensure_experience_continuity":true}`},
	{"clients.md §7.1 continuity, and by device", "bob", "change 1", `{"bucketing_identifier":"device_id"}`, `400 invalid_input bucketing_identifier`},
	{"clients.md §7.1 both at once", "bob", "create", `{"key":"b","bucketing_identifier":"device_id","ensure_experience_continuity":true}`, `400 invalid_input bucketing_identifier`},
	{"decision 1", "bob", "change 1", `{"bucketing_hash":"murmur3"}`, `{"bucketing_hash":"murmur3"}`},
	{"decision 1", "bob", "change 1", `{"bucketing_hash":"sha1"}`, `{"bucketing_hash":"sha1"}`},
	{"decision 1 the project's", "bob", "change 1", `{"bucketing_hash":null}`, `{"bucketing_hash":null}`},
	{"flags.md §1.5 archived: inactive", "bob", "change 1", `{"archived":true,"active":true}`, `400 invalid_input archived`},
	{"clients.md §7.2 into the archive, it is off", "bob", "change 1", `{"archived":true}`, `{"archived":true,"active":false}`},
	{"flags.md §1.5 both at once", "bob", "change 1", `{"archived":true,"active":false}`, `{"archived":true,"active":false}`},
	{"clients.md §2.2 archived ones are hidden", "bob", "list", `{}`, `{"count":0}`},
	{"clients.md §2.2 archived ones", "bob", "list", `{"Archived":true}`, `{"count":1,"results":[{"key":"a"}]}`},
	{"clients.md §7.2 switched on, it is in the archive no longer", "bob", "change 1", `{"active":true}`, `{"archived":false,"active":true}`},
	{"flags.md §1.5 made in the archive", "bob", "create", `{"key":"b","archived":true}`, `400 invalid_input archived`},
	{"flags.md §1.5 made in the archive", "bob", "create", `{"key":"b","archived":true,"active":false}`, `{"archived":true,"active":false}`},
	{"clients.md §7.1 a dashboard that is not there", "bob", "change 1", `{"analytics_dashboards":[1,99]}`, `400 does_not_exist analytics_dashboards Invalid pk "99" - object does not exist.`},
	{"clients.md §7.1 of another project", "dan", "create", `{"key":"theirs","analytics_dashboards":[1]}`, `400 does_not_exist analytics_dashboards Invalid pk "1" - object does not exist.`},
}

var putRows = []ruletest.Row{
	{"§2.5", "bob", "create", `{"key":"a","name":"words","tags":["x"]}`, `{"id":1}`},
	{"§2.5 all required fields", "bob", "put 1", `{"name":"other"}`, `400 required key This field is required.`},
	{"§2.5", "bob", "put 1", `{"key":"a","name":"other"}`, `{"key":"a","name":"other","version":2}`},
	{"§2.5 unknown", "bob", "put 9", `{"key":"a"}`, `404 not_found - Not found.`},
	{"§1.5 not found goes before the body", "bob", "put 9", `{}`, `404 not_found - Not found.`},
	{"§1.5 not found goes before the body", "bob", "change 9", `{"active":"maybe"}`, `404 not_found - Not found.`},
}

var flagLogRows = []ruletest.Row{
	{"§5.11", "bob", "create", `{"key":"a","tags":["x"]}`, `{"id":1}`},
	{"§5.11 created", "bob", "log FeatureFlag 1", ``,
		`{"activity":"created","scope":"FeatureFlag","item_id":"1","user":{"first_name":"bob","email":"bob@example.com"},"created_at":"2026-01-02T12:00:01Z","detail":{"name":"a","trigger":null,"short_id":null,"type":null}}`},
	{"§5.11", "cyd", "change 1", `{"name":"words","active":false}`, `{"version":2}`},
	{"§5.11 updated: what was and what is", "bob", "log FeatureFlag 1", ``,
		`{"activity":"updated","user":{"first_name":"cyd"},"detail":{"name":"a","changes":[
			{"type":"FeatureFlag","action":"changed","field":"active","before":true,"after":false},
			{"type":"FeatureFlag","action":"created","field":"name","before":null,"after":"words"}]}}`},
	{"§5.11", "cyd", "change 1", `{"tags":[]}`, `{"version":3}`},
	{"§5.11 a field that is emptied", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","detail":{"changes":[{"type":"FeatureFlag","action":"deleted","field":"tags","before":["x"],"after":null}]}}`},
	{"§5.1.1 every successful PATCH is a version", "ann", "change 1", `{}`, `{"version":4,"last_modified_by":{"first_name":"ann"}}`},
	{"§5.11 a change that changes nothing", "bob", "log FeatureFlag 1", ``, `{"user":{"first_name":"cyd"},"detail":{"changes":[{"field":"tags"}]}}`},
	{"§5.11 a refusal", "ann", "change 1", `{"key":"a b"}`, `400 invalid_key key`},
	{"§5.11 a refusal", "bob", "log FeatureFlag 1", ``, `{"user":{"first_name":"cyd"}}`},
	{"§5.11", "ann", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.11 deleted", "bob", "log FeatureFlag 1", ``, `{"activity":"deleted","user":{"first_name":"ann"},"detail":{"changes":[{"field":"deleted","before":false,"after":true}]}}`},
	{"§5.11", "ann", "change 1", `{"deleted":false}`, `{"deleted":false}`},
	{"§5.11 brought back", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","detail":{"changes":[{"field":"deleted","before":true,"after":false}]}}`},
	{"§5.11 restored", "bob", "restore 1", `{"version":2}`, `{"name":"words","active":false,"tags":["x"]}`},
	{"§5.11 restored", "bob", "log FeatureFlag 1", ``, `{"activity":"restored","detail":{"changes":[{"field":"tags","before":null,"after":["x"]}]}}`},
	{"§5.11 a project's own", "dan", "log FeatureFlag 1", ``, `null`},
}

var flagWhoRows = []ruletest.Row{
	{"§1.8 a member makes it", "bob", "create", `{"key":"a"}`, `{"created_by":{"first_name":"bob","uuid":"` + ruletest.UUID("bob") + `","email":"bob@example.com"},"can_edit":true}`},
	{"§1.8 another one changes it", "cyd", "change 1", `{"name":"x"}`, `{"last_modified_by":{"first_name":"cyd"}}`},
	{"§1.8 an administrator", "gus", "change 1", `{"name":"y"}`, `{"last_modified_by":{"first_name":"gus"}}`},
	{"§1.5 of another project: not there", "dan", "get 1", ``, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "change 1", `{"name":"z"}`, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "versions 1", ``, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "restore 1", `{"version":1}`, `404 not_found - Not found.`},
	{"§1.5 of another project: not there", "dan", "dependents 1", ``, `404 not_found - Not found.`},
	{"§5.1.3 of another project: unknown", "dan", "status 1", ``, `{"status":"unknown"}`},
	{"§1.5 of another project: not there", "dan", "bulkkeys", `{"ids":[1]}`, `{"keys":{}}`},
}

var unknownKeyRows = flagtest.Rows(
	[]ruletest.Row{
		{"decision 30", "bob", "create", `{"key":"a"}`, `{"id":1}`},
		{"decision 30 of the body", "bob", "change 1", `{"actve":false}`, `400 unknown_key actve`},
		{"decision 30 of a group", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"rolout_percentage":10}]}}`, `400 unknown_key filters__groups__0__rolout_percentage`},
		{"decision 30 of a property", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"a","type":"person","oprator":"is_set"}]}]}}`, `400 unknown_key filters__groups__0__properties__0__oprator`},
		{"decision 30 of a variant", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentge":100}]}}}`,
			`400 unknown_key filters__multivariate__variants__0__rollout_percentge`},
		{"decision 30 of the filters", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"multivariat":null}}`, `400 unknown_key filters__multivariat`},
		{"decision 30 of a new one", "bob", "create", `{"key":"b","activ":true}`, `400 unknown_key activ`},
		{"decision 30 nothing was changed", "bob", "get 1", ``, `{"version":1,"active":true}`},
	},
	flagtest.Each("decision 30 others are kept and named", "bob", "warnings 1",
		[2]string{`{"name":"x"}`, `[]`},
		[2]string{`{"something_else":1}`, `["(like) something_else"]`},
		[2]string{`{"filters":{"groups":[{"properties":[],"comment_of_ours":"why"}]}}`, `["(like) filters.groups\\[0\\].comment_of_ours"]`},
	),
	[]ruletest.Row{{"flags.md §1.2 any other key survives", "bob", "get 1", ``, `{"filters":{"groups":[{"comment_of_ours":"why"}]}}`}},
)

var flagIDRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.1.3", "bob", "create", `{"key":"a"}`, `{"id":1}`},
		{"§5.1.3", "bob", "create", `{"key":"b"}`, `{"id":2}`},
		{"§5.1.3 by key", "bob", "id b", ``, `2`},
		{"§5.1.3 of no key", "bob", "id c", ``, `0`},
		{"§5.1.3 what cannot be a key", "bob", "id \x00", ``, `0`},
	},
	flagtest.Each("§5.1.3 bulk_keys", "bob", "bulkkeys",
		[2]string{`{"ids":[1,"2"]}`, `{"keys":{"1":"a","2":"b"},"warning":"(absent)"}`},
		[2]string{`{"ids":[1,99]}`, `{"keys":{"1":"a"},"warning":"(absent)"}`},
		[2]string{`{"ids":[1,"x"]}`, `{"keys":{"1":"a"},"warning":"(like) x"}`},
		[2]string{`{"ids":["x","y"]}`, `{"error":"Invalid flag IDs provided"}`},
		[2]string{`{"ids":[]}`, `{"keys":{}}`},
		[2]string{`{}`, `{"keys":{}}`},
		[2]string{`{"ids":1}`, `400 not_a_list ids Expected a list of items but got type "int".`},
	),
)

// Objects of a definitions file can only be changed in the file: decisions, "Definitions file".
func TestFlags_OfFiles(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		for _, d := range []management.Definition{
			{ID: 1, Key: "filed", Origin: "flags.json", Record: []byte(`{"id":1,"key":"filed","active":true,"filters":{"groups":[{"properties":[]}]}}`)},
			{ID: 2, Key: "on-key", Origin: "flags.json", Record: []byte(`{"id":2,"key":"on-key","active":true,"filters":{"groups":[{"properties":[
				{"key":"ours","type":"flag","operator":"flag_evaluates_to","value":true,"dependency_chain":["ours"]}]}]}}`)},
		} {
			if err := tx.PutDefinition(management.FlagDefinition, ruletest.Project, &d); err != nil {
				return err
			}
		}
		cohort := management.Definition{ID: 1, Origin: "flags.json", Record: []byte(`{"type":"AND","values":[{"key":"plan","type":"person","operator":"exact","value":"pro"}]}`)}
		return tx.PutDefinition(management.CohortDefinition, ruletest.Project, &cohort)
	})
	if err != nil {
		t.Fatal(err)
	}
	const conflict = `409 conflict - The feature flag "filed" is defined in the file flags.json and can only be changed there.`
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"it is read", "bob", "get 1", ``, `{"key":"filed","can_edit":false,"user_access_level":"viewer","created_by":null,"active":true}`},
		{"it is listed", "bob", "keys", `{}`, `["on-key","filed"]`},
		{"409 that names the file", "bob", "change 1", `{"active":false}`, conflict},
		{"409 that names the file", "bob", "change 1", `{"deleted":true}`, conflict},
		{"its key is taken", "bob", "create", `{"key":"filed"}`, `400 unique key There is already a feature flag with this key.`},
		{"ids advance", "bob", "create", `{"key":"ours"}`, `{"id":3,"can_edit":true}`},
		{"flags of files may name keys: the key stays", "bob", "change 3", `{"key":"mine"}`, `409 conflict -`},
		{"and they are dependants", "bob", "dependents 3", ``, `[{"id":2,"key":"on-key","name":"","active":true}]`},
		{"no feature", "bob", "feature", `{"name":"F","stage":"beta","feature_flag_id":1}`, conflict},
		{"no scheduled change of it comes through", "bob", "schedule", `{"record_id":1,"model_name":"FeatureFlag","payload":{"operation":"update_status","value":false},"scheduled_at":"2026-01-03T00:00:00Z"}`, `{"id":1}`},
		{"no scheduled change of it comes through", "bob", "wait 24h", ``, `null`},
		{"no scheduled change of it comes through", "bob", "due", ``, `1`},
		{"no scheduled change of it comes through", "bob", "getschedule 1", ``, `{"failure_reason":"The feature flag \"filed\" is defined in the file flags.json and can only be changed there."}`},
		{"a cohort is read: a bare tree", "bob", "getcohort 1", ``, `{"name":null,"filters":{"properties":{"type":"AND"}},"created_by":null}`},
		{"a cohort is changed there", "bob", "changecohort 1", `{"name":"x"}`, `409 conflict - The cohort 1 is defined in the file flags.json and can only be changed there.`},
		{"a cohort is used", "bob", "change 3", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, `{"filters":{"groups":[{"properties":[{"cohort_name":"Cohort 1"}]}]}}`},
	})
}

// A project may have a maximum number of cohorts; deleted cohorts do not count.
func TestCohorts_Limit(t *testing.T) {
	w := flagtest.New(t)
	err := w.Store.Write(t.Context(), func(tx rooms.Tx) error {
		many := make([]*management.Definition, definitions.MaxCohorts-1)
		for i := range many {
			many[i] = &management.Definition{ID: int64(i + 1), Record: []byte(`{"is_static":true}`)}
		}
		return tx.PutDefinitions(management.CohortDefinition, ruletest.Project, many)
	})
	if err != nil {
		t.Fatal(err)
	}
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"the last one", "bob", "cohort", `{"name":"last","is_static":true}`, `{"id":10000}`},
		{"one more", "bob", "cohort", `{"name":"more","is_static":true}`, `400 limit_exceeded - A project has at most 10000`},
		{"nothing of it stays", "bob", "getcohort 10001", ``, `404 not_found -`},
		{"one that is there may be changed", "bob", "changecohort 10000", `{"description":"words"}`, `{"description":"words"}`},
		{"another project has its own", "dan", "cohort", `{"name":"theirs","is_static":true}`, `{"name":"theirs"}`},
		{"a deleted one makes room", "bob", "changecohort 1", `{"deleted":true}`, `{"deleted":true}`},
		{"a deleted one makes room", "bob", "cohort", `{"name":"more","is_static":true}`, `{"name":"more"}`},
		{"it does not come back", "bob", "changecohort 1", `{"deleted":false}`, `400 limit_exceeded - A project has at most 10000`},
	})
}
