package featureflags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// console.md N9: check returns all faults together, with their places, and changes no data. The
// messages are from §5.1.2 and flags.md §1.5.
func TestFlags_Check(t *testing.T) {
	askFlags(t, map[string][]ruletest.Row{
		"new flags": checkNewRows, "places": checkPlaceRows, "changes": checkChangeRows, "references": checkReferenceRows, "order": checkOrderRows, "bound": checkBoundRows,
	})
}

// faults returns the response with these faults.
func faults(list ...string) string { return `{"faults":[` + strings.Join(list, ",") + `]}` }

// fault returns a fault at a place with a code.
func fault(place, code string) string { return `{"attr":"` + place + `","code":"` + code + `"}` }

// newFlag returns the body of a new flag with these members of its filters.
func newFlag(filters string) string { return `{"key":"new","filters":{` + filters + `}}` }

var checkNewRows = flagtest.Rows(
	flagtest.Each("console.md N9 the body of a create", "bob", "check",
		[2]string{`{"key":"new"}`, faults()},
		[2]string{`{"key":"new","personal_api_key":"phx_1"}`, faults()}, // the credential of the body is no member of a flag
		[2]string{`{"key":"new","id":null}`, faults()},
		[2]string{newFlag(`"groups":[{"properties":[]}]`), faults()},
		[2]string{`{}`, faults(`{"attr":"key","code":"required","detail":"This field is required."}`)},
		[2]string{`{"key":""}`, faults(fault("key", "blank"))},
		[2]string{`{"key":"a b"}`, faults(`{"attr":"key","code":"invalid_key","detail":"Only letters, numbers, hyphens (-) & underscores (_) are allowed."}`)},
		[2]string{`{"key":` + flagtest.Text(401) + `}`, faults(fault("key", "max_length"))},
		[2]string{newFlag(``), faults(fault("filters", "required"))},
		[2]string{newFlag(`"groups":[]`), faults(`{"attr":"filters","code":"invalid_input","detail":"Feature flags must have at least one condition set (group)."}`)}, // decision 39
		[2]string{`{"key":"new","filters":[]}`, faults(fault("filters", "not_a_dict"))},
		[2]string{`{"key":"new","has_encrypted_payloads":true}`, faults(`{"attr":"has_encrypted_payloads","code":"invalid_input","detail":"Encrypted payloads are not supported by this server."}`)},
		[2]string{`{"key":"new","tags":["a"],"evaluation_tags":["b"]}`, faults(`{"attr":null,"code":"invalid_input","detail":"Evaluation tags must be a subset of tags. Invalid evaluation tags: b"}`)},
		[2]string{`{"key":"new","archived":true}`, faults(fault("archived", "invalid_input"))},
		[2]string{`{"key":"new","bucketing_identifier":"device_id","ensure_experience_continuity":true}`, faults(fault("bucketing_identifier", "invalid_input"))},
		[2]string{`{"key":"new","evaluation_contexts":` + flagtest.List(51, `"x"`) + `}`, faults(fault("evaluation_contexts", "max_length"))},
		[2]string{`{"key":"new","analytics_dashboards":[99]}`, faults(`{"attr":"analytics_dashboards","code":"does_not_exist","detail":"Invalid pk \"99\" - object does not exist."}`)},
		[2]string{`{"key":"new","actve":false}`, faults(fault("actve", "unknown_key"))},
		[2]string{`{"key":"new","our_note":1}`, faults()}, // decision 30: stored, no fault
		[2]string{`[]`, `400 invalid_input - Invalid data. Expected a dictionary, but got list.`},
		[2]string{`7`, `400 invalid_input - Invalid data. Expected a dictionary, but got int.`},
	),
	[]ruletest.Row{
		{"console.md N9 nothing was written", "bob", "keys", `{}`, `[]`},
		{"console.md N9 nothing was written", "ann", "log FeatureFlag", ``, `null`},
		{"console.md N9 nothing was written: the next flag has the first id", "bob", "create", `{"key":"new"}`, `{"id":1}`},
		{"console.md N9 a key that is taken", "bob", "check", `{"key":"new"}`, faults(`{"attr":"key","code":"unique","detail":"There is already a feature flag with this key."}`)},
		{"console.md N9 a key of another project", "dan", "check", `{"key":"new"}`, faults()},
	},
)

var checkPlaceRows = flagtest.Each("console.md N9 down to the place", "bob", "check",
	[2]string{newFlag(`"groups":7`), faults(fault("filters.groups", "required"))},
	[2]string{newFlag(`"groups":[7]`), faults(fault("filters.groups.0", "invalid_input"))},
	[2]string{newFlag(`"groups":[{},{"rollout_percentage":101}]`), faults(fault("filters.groups.1.rollout_percentage", "invalid_input"))},
	[2]string{newFlag(`"groups":[{"variant":"a"}]`), faults(fault("filters.groups.0.variant", "invalid_input"))},
	[2]string{newFlag(`"groups":[{"properties":7}]`), faults(fault("filters.groups.0.properties", "invalid_input"))},
	[2]string{newFlag(`"groups":[{"properties":[7]}]`), faults(fault("filters.groups.0.properties.0", "invalid_input"))},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"event","operator":"exact","value":1}]}]`), faults(fault("filters.groups.0.properties.0.type", "invalid_input"))},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"person","operator":"in","value":1}]}]`), faults(fault("filters.groups.0.properties.0.operator", "invalid_operator"))},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"person","operator":"like","value":1}]}]`), faults(fault("filters.groups.0.properties.0.operator", "invalid_input"))},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"person","operator":"regex","value":["x"]}]}]`), faults(fault("filters.groups.0.properties.0.value", "invalid_value"))},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"person","operator":"regex","value":"("}]}]`), faults(fault("filters.groups.0.properties.0.value", "invalid_value"))},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"person","operator":"is_date_after","value":"soon"}]}]`), faults(`{"attr":"filters.groups.0.properties.0.value","code":"invalid_date","detail":"Invalid date value: soon"}`)},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"person","operator":"exact","value":` + flagtest.List(1001, `1`) + `}]}]`), faults(fault("filters.groups.0.properties.0.value", "invalid_input"))},
	[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"person","oprator":"exact","value":"x"}]}]`), faults(fault("filters.groups.0.properties.0.oprator", "unknown_key"))},
	[2]string{newFlag(`"groups":[{}],"multivariate":[]`), faults(fault("filters.multivariate", "invalid_input"))},
	[2]string{newFlag(`"groups":[{}],"multivariate":{"variants":"a"}`), faults(fault("filters.multivariate.variants", "invalid_input"))},
	[2]string{newFlag(`"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":60},{"key":"b","rollout_percentage":60}]}`), faults(fault("filters.multivariate.variants", "invalid_input"))},
	[2]string{newFlag(`"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100},{"key":"b c","rollout_percentage":0}]}`), faults(fault("filters.multivariate.variants.1.key", "invalid_input"))},
	// The sum is checked only if all shares are numbers.
	[2]string{newFlag(`"groups":[{}],"multivariate":{"variants":[{"key":"a","rollout_percentage":"60"},{"key":"b","rollout_percentage":60}]}`), faults(fault("filters.multivariate.variants.0.rollout_percentage", "invalid_input"))},
	// A condition may name a variant that is itself at fault.
	[2]string{newFlag(`"groups":[{"variant":"b c"}],"multivariate":{"variants":[{"key":"b c","rollout_percentage":100}]}`), faults(fault("filters.multivariate.variants.0.key", "invalid_input"))},
	[2]string{newFlag(`"groups":[{}],"payloads":7`), faults(fault("filters.payloads", "invalid_input"))},
	[2]string{newFlag(`"groups":[{}],"payloads":{"true":"{"}`), faults(fault("filters.payloads.true", "invalid_input"))},
	[2]string{newFlag(`"groups":[{}],"payloads":{"true":"1","b":"1","a":"1"}`), faults(fault("filters.payloads.a", "invalid_input"), fault("filters.payloads.b", "invalid_input"))},
	[2]string{newFlag(`"groups":[{}],"holdout":{"id":1,"exclusion_percentage":101}`), faults(fault("filters.holdout.exclusion_percentage", "invalid_input"))},
)

var checkChangeRows = flagtest.Rows(
	[]ruletest.Row{
		{"console.md N9", "bob", "create", `{"key":"a","tags":["x"]}`, `{"id":1}`},
		{"console.md N9", "bob", "create", `{"key":"b","filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`, `{"id":2}`},
		{"console.md N9", "bob", "create", `{"key":"gone"}`, `{"id":3}`},
		{"console.md N9", "bob", "change 3", `{"deleted":true}`, `{"deleted":true}`},
		{"console.md N9", "bob", "feature", `{"name":"F","stage":"beta"}`, `{"feature_flag":{"id":4}}`},
	},
	flagtest.Each("console.md N9 the body of a PATCH, with id", "bob", "check",
		[2]string{`{"id":1}`, faults()},
		[2]string{`{"id":"1","name":"x"}`, faults()},
		[2]string{`{"id":1,"key":"a"}`, faults()},
		[2]string{`{"id":1,"key":"b"}`, faults(fault("key", "unique"))},
		[2]string{`{"id":1,"key":"gone"}`, faults()},
		[2]string{`{"id":1,"filters":{}}`, faults()}, // §5.1.2: the stored filters stay
		[2]string{`{"id":1,"filters":{"groups":[]}}`, faults()},
		[2]string{`{"id":1,"evaluation_tags":["x"]}`, faults()},
		[2]string{`{"id":1,"evaluation_tags":["y"]}`, faults(`{"attr":null,"code":"invalid_input"}`)},
		[2]string{`{"id":1,"active":false}`, faults(`{"attr":null,"code":"invalid_input","detail":"(like) ^Cannot disable this feature flag .*: b \\(ID: 2\\)"}`)},
		[2]string{`{"id":1,"deleted":true}`, faults(`{"attr":null,"code":"invalid_input","detail":"(like) ^Cannot delete this feature flag .*: b \\(ID: 2\\)"}`)},
		[2]string{`{"id":2,"deleted":true}`, faults()},
		[2]string{`{"id":3,"deleted":false}`, faults()},
		[2]string{`{"id":4,"filters":{"aggregation_group_type_index":0,"groups":[{}]}}`, faults(`{"attr":"filters","code":"invalid_input","detail":"Cannot change this flag to a group-based when linked to an Early Access Feature."}`)},
		[2]string{`{"id":4,"deleted":true}`, faults(`{"attr":null,"code":"invalid_input","detail":"(like) early access feature"}`)},
		[2]string{`{"id":99,"name":"x"}`, faults(`{"attr":"id","code":"not_found","detail":"Not found."}`)},
		[2]string{`{"id":0}`, faults(fault("id", "not_found"))},
		[2]string{`{"id":"one","key":"new"}`, faults(`{"attr":"id","code":"invalid_input","detail":"A valid integer is required."}`)},
	),
	[]ruletest.Row{
		{"console.md N9 another project's", "dan", "check", `{"id":1}`, faults(fault("id", "not_found"))},
		{"console.md N9 nothing was written", "bob", "get 1", ``, `{"version":1,"key":"a","active":true,"deleted":false,"filters":{"groups":[{"properties":[]}]}}`},
		{"console.md N9 nothing was written", "bob", "get 3", ``, `{"version":2,"deleted":true}`},
		{"clients.md §11.3 viewer may check", "ann", "rule feature_flag 2", `{"access_level":"viewer"}`, `{"access_level":"viewer"}`},
		{"clients.md §11.3 viewer may check", "cyd", "check", `{"id":2,"key":"a"}`, faults(fault("key", "unique"))},
		{"clients.md §11.3 none may not", "ann", "rule feature_flag 2", `{"access_level":"none"}`, `{"access_level":"none"}`},
		{"clients.md §11.3 none may not", "cyd", "check", `{"id":2,"key":"a"}`, faults(fault("id", "permission_denied"))},
	},
)

var checkReferenceRows = flagtest.Rows(
	[]ruletest.Row{
		{"console.md N9", "bob", "create", `{"key":"a"}`, `{"id":1}`},
		{"console.md N9", "bob", "cohort", `{"name":"n","filters":{"properties":{"type":"AND","values":[` + flagtest.Performed + `]}}}`, `{"id":1}`},
		{"console.md N9", "bob", "cohort", `{"name":"listed","is_static":true}`, `{"id":2}`},
	},
	flagtest.Each("console.md N9 references, each at its property", "bob", "check",
		[2]string{newFlag(`"groups":[{"properties":[{"key":"id","type":"cohort","value":2},{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]`), faults()},
		[2]string{newFlag(`"groups":[{"properties":[{"key":"id","type":"cohort","value":99}]}]`), faults(fault("filters.groups.0.properties.0.value", "cohort_does_not_exist"))},
		[2]string{newFlag(`"groups":[{},{"properties":[{"key":"x","type":"person","operator":"is_set"},{"key":"id","type":"cohort","value":1}]}]`), faults(fault("filters.groups.1.properties.1.value", "behavioral_cohort_found"))},
		[2]string{newFlag(`"groups":[{"properties":[{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true}]}]`), faults(fault("filters.groups.0.properties.0.key", "invalid_input"))},
		[2]string{newFlag(`"groups":[{"properties":[{"key":"a","type":"flag","operator":"flag_evaluates_to","value":true}]}]`), faults(fault("filters.groups.0.properties.0.key", "invalid_input"))},
		// Several faults, each with its own place.
		[2]string{newFlag(`"groups":[{"properties":[{"key":"99","type":"flag","operator":"flag_evaluates_to","value":true},{"key":"98","type":"flag","operator":"flag_evaluates_to","value":true},{"key":"id","type":"cohort","value":97}]}]`),
			faults(`{"attr":"filters.groups.0.properties.0.key","detail":"Flag dependency references non-existent flag with ID 99"}`,
				`{"attr":"filters.groups.0.properties.1.key","detail":"Flag dependency references non-existent flag with ID 98"}`,
				`{"attr":"filters.groups.0.properties.2.value","detail":"Cohort with id 97 does not exist"}`)},
		[2]string{`{"id":1,"filters":{"groups":[{"properties":[{"key":"1","type":"flag","operator":"flag_evaluates_to","value":true}]}]}}`,
			faults(`{"attr":"filters.groups.0.properties.0.key","detail":"Feature flag 'a' cannot depend on itself"}`)},
		// One fault of a property is enough: its consequences are not reported.
		[2]string{newFlag(`"groups":[{"properties":[{"key":"id","type":"event","operator":"like","value":99}]}]`), faults(fault("filters.groups.0.properties.0.type", "invalid_input"))},
	),
)

// The faults are in the order of the checks: unknown members, fields, the key, settings, filters.
// A write answers the first of them.
const manyFaults = `{"key":"a b","name":[],"tags":7,"actve":true,"archived":true,"filters":{"groups":[{"rollout_percentage":101},{"variant":"c"}],"payloads":{"x":"1"}}}`

var checkOrderRows = []ruletest.Row{
	{"console.md N9 all at once", "bob", "check", manyFaults, faults(
		fault("actve", "unknown_key"), fault("name", "invalid_input"), fault("tags", "not_a_list"), fault("key", "invalid_key"), fault("archived", "invalid_input"),
		fault("filters.groups.0.rollout_percentage", "invalid_input"), fault("filters.groups.1.variant", "invalid_input"), fault("filters.payloads.x", "invalid_input"))},
	{"§2.1 a write answers the first", "bob", "create", manyFaults, `400 unknown_key actve`},
}

// brokenConditions returns the body of a new flag with n conditions that are no objects.
func brokenConditions(n int) string { return newFlag(`"groups":` + flagtest.List(n, `0`)) }

// manyPlaces returns n faults of brokenConditions.
func manyPlaces(n int) string {
	return `{"faults":` + flagtest.List(n, `{"code":"invalid_input","detail":"Each group of filters must be an object."}`) + `}`
}

var checkBoundRows = flagtest.Each("console.md N9 bounded: at most 500 faults", "bob", "check",
	[2]string{brokenConditions(500), manyPlaces(500)},
	[2]string{brokenConditions(501), manyPlaces(500)},
)
