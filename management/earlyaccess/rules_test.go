package earlyaccess_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestEarlyAccess(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"fields": featureFieldRows, "keys of flags": slugRows, "stages": stageRows, "flags that are there": attachRows, "what the flag may not become": attachedRows,
		"for everybody": publicFeatureRows, "lists": featureListRows, "gone": featureDeletedRows, "the log": featureLogRows,
	})
}

var featureFieldRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.5 defaults", "bob", "feature", `{"name":"F","stage":"draft"}`, `{"id":"(like) ^[0-9a-f-]{36}$","name":"F","stage":"draft","description":"","documentation_url":"","created_at":"2026-01-02T12:00:01Z",
			"feature_flag":{"id":1,"key":"f","active":true},"feature_flag_id":"(absent)","_create_in_folder":"(absent)"}`},
	},
	flagtest.Each("§5.5 what a feature needs", "bob", "feature",
		[2]string{`{}`, `400 required name This field is required.`},
		[2]string{`{"name":"G"}`, `400 required stage This field is required.`},
		[2]string{`{"name":"","stage":"beta"}`, `400 blank name This field may not be blank.`},
		[2]string{`{"name":` + flagtest.Text(201) + `,"stage":"beta"}`, `400 max_length name Ensure this field has no more than 200 characters.`},
		[2]string{`{"name":"G","stage":"Beta"}`, `400 invalid_choice stage "Beta" is not a valid choice.`},
		[2]string{`{"name":"G","stage":null}`, `400 null stage This field may not be null.`},
		[2]string{`{"name":"G","stage":"beta","feature_flag_id":"one"}`, `400 invalid_input feature_flag_id A valid integer is required.`},
	),
	flagtest.Each("§5.5 fields", "bob", "changefeature <F>",
		[2]string{`{"description":"what it is"}`, `{"description":"what it is"}`},
		[2]string{`{"description":""}`, `{"description":""}`},
		[2]string{`{"documentation_url":"https://example.com/docs"}`, `{"documentation_url":"https://example.com/docs"}`},
		[2]string{`{"documentation_url":""}`, `{"documentation_url":""}`},
		[2]string{`{"documentation_url":"docs"}`, `400 invalid_input documentation_url Enter a valid URL.`},
		[2]string{`{"documentation_url":"ftp://example.com"}`, `400 invalid_input documentation_url Enter a valid URL.`},
		[2]string{`{"name":null}`, `400 null name This field may not be null.`},
		[2]string{`{"name":` + flagtest.Text(200) + `}`, `{"name":` + flagtest.Text(200) + `}`},
		[2]string{`{"name":"F"}`, `{"name":"F"}`},
	),
	[]ruletest.Row{
		{"§2.4 read-only", "bob", "changefeature <F>", `{"id":"x","created_at":"2000-01-01T00:00:00Z","feature_flag":{"id":9},"feature_flag_id":9}`, `{"id":"<F>","created_at":"2026-01-02T12:00:01Z","feature_flag":{"id":1}}`},
		{"§2.5 PUT: all required fields", "bob", "putfeature <F>", `{"name":"F"}`, `400 required stage This field is required.`},
		{"§2.5 PUT", "bob", "putfeature <F>", `{"name":"F","stage":"alpha"}`, `{"stage":"alpha"}`},
		{"§5.5 unknown", "bob", "getfeature 0191f0a2-5b1c-7d3e-8f40-0000000000ff", ``, `404 not_found - Not found.`},
		{"§5.5 no id", "bob", "changefeature x", `{"name":"G"}`, `404 not_found - Not found.`},
		{"§1.5 of another project", "dan", "getfeature <F>", ``, `404 not_found - Not found.`},
	},
)

var slugRows = flagtest.Rows(
	flagtest.Each("§5.5 key: slug of the name", "bob", "feature",
		[2]string{`{"name":"New Thing","stage":"draft"}`, `{"feature_flag":{"key":"new-thing"}}`},
		[2]string{`{"name":"  Dark   mode!  ","stage":"draft"}`, `{"feature_flag":{"key":"dark-mode"}}`},
		[2]string{`{"name":"Über 2.0 (beta)","stage":"draft"}`, `{"feature_flag":{"key":"(like) ber-2"}}`},
		[2]string{`{"name":"snake_case","stage":"draft"}`, `{"feature_flag":{"key":"snake_case"}}`},
		[2]string{`{"name":"new thing","stage":"draft"}`, `400 unique key There is already a feature flag with this key.`},
		[2]string{`{"name":"!!!","stage":"draft"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
	),
	[]ruletest.Row{
		{"§5.5 one group at 0 %", "bob", "get 1", ``, `{"key":"new-thing","active":true,"filters":{"groups":[{"properties":[],"rollout_percentage":0}],"super_groups":null}}`},
		{"§5.5 a new name is no new key", "bob", "changefeature <New Thing>", `{"name":"Newer"}`, `{"name":"Newer","feature_flag":{"key":"new-thing"}}`},
		{"§5.1.1 features", "bob", "get 1", ``, `{"features":[{"id":"<Newer>","name":"Newer"}]}`},
	},
)

// enrolled returns filters of a flag with early access, which persons select by themselves.
const enrolled = `{"feature_flag":{"filters":{"super_groups":[{"rollout_percentage":100,"properties":[{"key":"$feature_enrollment/f","type":"person","operator":"exact","value":["true"]}]}]}}}`

const notEnrolled = `{"feature_flag":{"filters":{"super_groups":null}}}`

var stageRows = flagtest.Rows(
	[]ruletest.Row{{"§5.5 a draft", "bob", "feature", `{"name":"F","stage":"draft"}`, notEnrolled}},
	flagtest.Each("§5.5 release stages", "bob", "changefeature <F>",
		[2]string{`{"stage":"concept"}`, enrolled},
		[2]string{`{"stage":"alpha"}`, enrolled},
		[2]string{`{"stage":"beta"}`, enrolled},
		[2]string{`{"stage":"general-availability"}`, enrolled},
		[2]string{`{"stage":"archived"}`, notEnrolled},
		[2]string{`{"stage":"beta"}`, enrolled},
		[2]string{`{"stage":"draft"}`, notEnrolled},
	),
	[]ruletest.Row{
		{"§5.1.1 a version for each change of the flag: in, out, in, out", "bob", "get 1", ``, `{"version":5}`},
		{"§5.5 its own conditions stay", "bob", "change 1", flagtest.Groups(`{"properties":[` + flagtest.Plan + `],"rollout_percentage":20}`), `{"version":6}`},
		{"§5.5 its own conditions stay", "bob", "changefeature <F>", `{"stage":"beta"}`, `{"feature_flag":{"filters":{"groups":[{"rollout_percentage":20}],"super_groups":[{"rollout_percentage":100}]}}}`},
		{"§5.5 made in a release stage", "bob", "feature", `{"name":"G","stage":"concept"}`, `{"feature_flag":{"filters":{"super_groups":[{"properties":[{"key":"$feature_enrollment/g"}]}]}}}`},
		{"§5.5 the key of now", "bob", "change 1", `{"key":"f2"}`, `{"filters":{"super_groups":[{"properties":[{"key":"$feature_enrollment/f2"}]}]}}`},
		{"§5.5 the key of now", "bob", "changefeature <F>", `{"stage":"alpha"}`, `{"feature_flag":{"key":"f2","filters":{"super_groups":[{"properties":[{"key":"$feature_enrollment/f2"}]}]}}}`},
	},
)

var attachRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.5 of a flag that is there", "bob", "feature", `{"name":"F","stage":"beta","feature_flag_id":1}`, `{"feature_flag":{"id":1,"key":"a","filters":{"groups":[{"properties":[]}],"super_groups":[{"properties":[{"key":"$feature_enrollment/a"}]}]}}}`},
	{"§5.1.1 features", "bob", "get 1", ``, `{"features":[{"id":"<F>","name":"F"}],"version":2}`},
	{"§5.5 attached already", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":1}`, `400 invalid_input - Linked feature flag a already has a feature attached to it.`},
	{"§5.5 unknown", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":99}`, `400 invalid_input - Feature Flag with this ID does not exist`},
	{"§5.5 of another project", "dan", "create", `{"key":"theirs"}`, `{"id":2}`},
	{"§5.5 of another project", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":2}`, `400 invalid_input - Feature Flag with this ID does not exist`},
	{"§5.5 deleted", "bob", "create", `{"key":"gone"}`, `{"id":3}`},
	{"§5.5 deleted", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.5 deleted", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":3}`, `400 invalid_input - Feature Flag with this ID does not exist`},
	{"§5.5 about groups", "bob", "create", `{"key":"grouped","filters":{"aggregation_group_type_index":1,"groups":[{"properties":[]}]}}`, `{"id":4}`},
	{"§5.5 about groups", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":4}`, `400 invalid_input - Group-based feature flags are not supported for Early Access Features.`},
	{"§5.5 about groups of the first type", "bob", "change 4", `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[]}]}}`, `{"id":4}`},
	{"§5.5 about groups of the first type", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":4}`, `400 invalid_input - Group-based feature flags are not supported for Early Access Features.`},
	{"§5.5 of several variants", "bob", "create", `{"key":"many","filters":{"groups":[{"properties":[]}],` + flagtest.AB + `}}`, `{"id":5}`},
	{"§5.5 of several variants", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":5}`, `400 invalid_input - Multivariate feature flags are not supported for Early Access Features.`},
	{"§5.5 null is none: one is made", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":null}`, `{"feature_flag":{"key":"g"}}`},
	{"§5.5 nothing of refusals stays", "bob", "features", ``, `{"count":2}`},
}

var attachedRows = []ruletest.Row{
	flagtest.AFlag,
	{"§5.5", "bob", "feature", `{"name":"F","stage":"beta","feature_flag_id":1}`, `{"name":"F"}`},
	{"§5.1.2 about groups", "bob", "change 1", `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[]}]}}`, `400 invalid_input filters Cannot change this flag to a group-based when linked to an Early Access Feature.`},
	{"§5.1.2 about groups in one condition", "bob", "change 1", flagtest.Groups(`{"aggregation_group_type_index":0}`), `400 invalid_input filters Cannot change this flag to a group-based when linked to an Early Access Feature.`},
	{"flags.md §1.5 of several variants", "bob", "change 1", flagtest.Variants(`[{"key":"a","rollout_percentage":100}]`), `400 invalid_input filters Multivariate feature flags are not supported for Early Access Features.`},
	{"§5.1.3 deleted", "bob", "change 1", `{"deleted":true}`, `400 invalid_input -`},
	{"§5.1.3 switched off", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§5.5 without the feature it may", "bob", "dropfeature <F>", ``, `null`},
	{"§5.5 without the feature it may", "bob", "change 1", flagtest.Variants(`[{"key":"a","rollout_percentage":100}]`), `{"id":1}`},
	{"§5.5 without the feature it may", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
}

var publicFeatureRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.5", "bob", "feature", `{"name":"A","stage":"beta","description":"words","documentation_url":"https://example.com"}`, `{"name":"A"}`},
		{"§5.5", "bob", "feature", `{"name":"B","stage":"alpha"}`, `{"name":"B"}`},
		{"§5.5", "bob", "feature", `{"name":"C","stage":"draft"}`, `{"name":"C"}`},
		{"§5.5", "bob", "feature", `{"name":"D","stage":"archived"}`, `{"name":"D"}`},
		{"§5.5", "bob", "feature", `{"name":"E","stage":"general-availability"}`, `{"name":"E"}`},
		{"§5.5", "bob", "feature", `{"name":"F","stage":"beta"}`, `{"name":"F"}`},
		{"§5.5", "dan", "feature", `{"name":"Theirs","stage":"beta"}`, `{"name":"Theirs"}`},
		{"§5.5 beta unless others are asked for", "bob", "publicfeatures", ``, `[{"name":"F","flagKey":"f"},
			{"id":"<A>","name":"A","description":"words","stage":"beta","documentationUrl":"https://example.com","flagKey":"a"}]`},
		{"§5.5 several stages", "bob", "publicfeatures alpha general-availability", ``, `[{"name":"E","stage":"general-availability"},{"name":"B","stage":"alpha"}]`},
		{"§5.5 none of a stage", "bob", "publicfeatures concept", ``, `[]`},
		{"§5.5 not released is nobody's to see", "bob", "publicfeatures draft archived", ``, `[]`},
		{"§5.5 no stage at all", "bob", "publicfeatures odd", ``, `[]`},
		{"§5.5 another project", "dan", "publicfeatures", ``, `[{"name":"Theirs"}]`},
		{"§5.5 the key of now", "bob", "change 1", `{"key":"a2"}`, `{"key":"a2"}`},
		{"§5.5 the key of now", "bob", "publicfeatures", ``, `[{"name":"F"},{"name":"A","flagKey":"a2"}]`},
	},
)

var featureListRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.5", "bob", "feature", `{"name":"A","stage":"beta"}`, `{"name":"A"}`},
		{"§5.5", "cyd", "feature", `{"name":"B","stage":"draft"}`, `{"name":"B"}`},
		{"§5.5", "dan", "feature", `{"name":"Theirs","stage":"beta"}`, `{"name":"Theirs"}`},
	},
	flagtest.Each("§3 newest first", "bob", "features",
		[2]string{``, `{"count":2,"results":[{"name":"B"},{"name":"A","feature_flag":{"key":"a"}}]}`},
		[2]string{`{"Limit":1}`, `{"count":2,"results":[{"name":"B"}]}`},
		[2]string{`{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"name":"A"}]}`},
		[2]string{`{"Offset":2}`, `{"count":2,"results":[]}`},
	),
)

var featureDeletedRows = []ruletest.Row{
	{"§5.5", "bob", "feature", `{"name":"F","stage":"beta"}`, `{"feature_flag":{"id":1}}`},
	{"§5.5 of another project", "dan", "dropfeature <F>", ``, `404 not_found - Not found.`},
	{"§5.5 DELETE", "bob", "dropfeature <F>", ``, `null`},
	{"§5.5 gone", "bob", "getfeature <F>", ``, `404 not_found - Not found.`},
	{"§5.5 gone", "bob", "dropfeature <F>", ``, `404 not_found - Not found.`},
	{"§5.5 gone", "bob", "features", ``, `{"count":0,"results":[]}`},
	{"§5.5 the flag is kept, without early access", "bob", "get 1", ``, `{"key":"f","deleted":false,"active":true,"features":[],"filters":{"groups":[{"rollout_percentage":0}],"super_groups":null}}`},
	{"§5.5 it may be another's", "bob", "feature", `{"name":"G","stage":"beta","feature_flag_id":1}`, `{"feature_flag":{"key":"f"}}`},
}

var featureLogRows = []ruletest.Row{
	{"§5.11", "bob", "feature", `{"name":"F","stage":"draft"}`, `{"name":"F"}`},
	{"§5.11 created", "bob", "log EarlyAccessFeature <F>", ``, `{"activity":"created","scope":"EarlyAccessFeature","item_id":"<F>","user":{"first_name":"bob"},"detail":{"name":"F"}}`},
	{"§5.11", "cyd", "changefeature <F>", `{"description":"words"}`, `{"description":"words"}`},
	{"§5.11 updated", "bob", "log EarlyAccessFeature <F>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"action":"created","field":"description","after":"words"}]}}`},
	{"§5.11", "ann", "changefeature <F>", `{"stage":"beta"}`, `{"stage":"beta"}`},
	{"§5.11 its flag", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"ann"},"detail":{"name":"f","changes":[{"field":"filters","action":"changed"}]}}`},
	{"§5.11", "gus", "dropfeature <F>", ``, `null`},
	{"§5.11 deleted", "bob", "log EarlyAccessFeature <F>", ``, `{"activity":"deleted","user":{"first_name":"gus"},"detail":{"name":"F"}}`},
}
