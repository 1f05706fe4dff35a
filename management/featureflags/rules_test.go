package featureflags_test

import (
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestFeatureFlags_Rules(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"records": flagRows, "filters": filterRows, "payloads": payloadRows, "dependencies": dependencyRows,
		"deletion": deletionRows, "conflicts": conflictRows, "lists": listRows, "status": statusRows,
		"cohorts": cohortRows, "early access": earlyAccessRows, "experiments": experimentRows, "surveys": surveyRows, "schedules": scheduleRows,
	})
}

var flagRows = []ruletest.Row{
	{"§5.1.1 defaults", "bob", "create", `{"key":"a"}`, `{"id":1,"key":"a","name":"","active":true,"deleted":false,"version":1,"ensure_experience_continuity":false,"tags":[],
		"experiment_set":[],"surveys":[],"features":[],"evaluation_runtime":"all","is_remote_configuration":false,"has_encrypted_payloads":false,"analytics_dashboards":[],
		"created_by":{"first_name":"bob"},"status":"ACTIVE","creation_context":"(absent)","_create_in_folder":"(absent)","_should_create_usage_dashboard":"(absent)"}`},
	{"§5.1.2 omitted filters: one group, no properties", "bob", "get 1", ``, `{"is_simple_flag":true,"filters":{"groups":[{"properties":[]}]}}`},
	{"§2.2 required", "bob", "create", `{}`, `400 required key This field is required.`},
	{"§6 row 68 characters", "bob", "create", `{"key":"a b"}`, `400 invalid_key key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
	{"§5.1.1 characters", "bob", "create", `{"key":"ä"}`, `400 invalid_key key`},
	{"§6 row 68 taken", "bob", "create", `{"key":"a"}`, `400 unique key There is already a feature flag with this key.`},
	{"§5.1.1 in the project", "dan", "create", `{"key":"a"}`, `{"key":"a"}`},
	{"§5.1.1 length", "bob", "create", `{"key":` + flagtest.Text(400) + `}`, `{"key":` + flagtest.Text(400) + `}`},
	{"§5.1.1 length", "bob", "create", `{"key":` + flagtest.Text(401) + `}`, `400 max_length key Ensure this field has no more than 400 characters.`},
	{"§5.1.1 version, last_modified_by", "cyd", "change 1", `{"name":"about"}`, `{"name":"about","version":2,"created_by":{"first_name":"bob"},"last_modified_by":{"first_name":"cyd"}}`},
	{"§5.1.1 a refusal changes nothing", "bob", "change 1", `{"name":"x","key":"a b"}`, `400 invalid_key key`},
	{"§5.1.1 a refusal changes nothing", "bob", "get 1", ``, `{"name":"about","version":2}`},
	{"§5.1.1 read-only", "bob", "change 1", `{"is_simple_flag":false,"created_by":null,"id":9}`, `{"id":1,"is_simple_flag":true,"created_by":{"first_name":"bob"}}`},
	{"§5.1.1 rollout of the single group", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"rollout_percentage":30}]}}`, `{"is_simple_flag":true,"rollout_percentage":30}`},
	{"§5.1.1 not simple: properties", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"email","type":"person","operator":"exact","value":"x"}],"rollout_percentage":30}]}}`, `{"is_simple_flag":false,"rollout_percentage":null}`},
	{"§5.1.1 not simple: two groups", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"rollout_percentage":30},{"properties":[]}]}}`, `{"is_simple_flag":false,"rollout_percentage":null}`},
	{"§5.1.1 not simple: groups", "bob", "change 1", `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[],"rollout_percentage":30}]}}`, `{"is_simple_flag":false}`},
	{"§5.1.1 performed_rollback", "bob", "change 1", `{"active":false,"performed_rollback":true}`, `{"active":false,"performed_rollback":true,"status":"INACTIVE"}`},
	{"§5.1.1 performed_rollback", "bob", "change 1", `{"active":true}`, `{"active":true,"performed_rollback":false}`},
	{"§5.1.1 evaluation_tags", "bob", "change 1", `{"tags":["a","b"],"evaluation_tags":["a"]}`, `{"tags":["a","b"],"evaluation_tags":["a"]}`},
	{"§5.1.2 evaluation_tags", "bob", "change 1", `{"evaluation_tags":["x"]}`, `400 invalid_input - Evaluation tags must be a subset of tags. Invalid evaluation tags: x`},
	{"§5.1.1 evaluation_runtime", "bob", "change 1", `{"evaluation_runtime":"moon"}`, `400 invalid_choice evaluation_runtime "moon" is not a valid choice.`},
	{"§5.1.1 evaluation_runtime", "bob", "change 1", `{"evaluation_runtime":"server"}`, `{"evaluation_runtime":"server"}`},
	{"§5.1.3 unknown", "bob", "get 99", ``, `404 not_found - Not found.`},
	{"§5.1.3 another project's", "dan", "get 1", ``, `404 not_found - Not found.`},
}

// person returns a condition of a flag with one property.
func person(operator, value string) string {
	return `{"filters":{"groups":[{"properties":[{"key":"email","type":"person","operator":"` + operator + `","value":` + value + `}]}]}}`
}

var filterRows = []ruletest.Row{
	{"§5.1.2", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"§5.1.2 without groups", "bob", "create", `{"key":"b","filters":{}}`, `400 * filters`},
	{"§5.1.2 PATCH without groups", "bob", "change 1", `{"filters":{"payloads":{}}}`, `{"filters":{"groups":[{"properties":[]}]}}`},
	{"§5.1.2 person flag", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"x","type":"event","operator":"exact","value":"y"}]}]}}`,
		`400 invalid_input filters Filters are not valid (can only use person, cohort, and flag properties)`},
	{"§5.1.2 group flag", "bob", "change 1", `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"x","type":"person","operator":"exact","value":"y"}]}]}}`,
		`400 invalid_input filters Filters are not valid (can only use group properties)`},
	{"§5.1.2 another group type", "bob", "change 1", `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[{"key":"x","type":"group","group_type_index":1,"operator":"exact","value":"y"}]}]}}`,
		`400 invalid_input filters`},
	{"§5.1.2 rollout", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"rollout_percentage":101}]}}`, `400 invalid_input filters`},
	{"§5.1.2 rollout", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"rollout_percentage":-1}]}}`, `400 invalid_input filters`},
	{"§6 row 69", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":40}]}}}`,
		`400 invalid_input filters Invalid variant definitions: Variant rollout percentages must sum to 100.`},
	{"§5.1.2 variant override", "bob", "change 1", `{"filters":{"groups":[{"properties":[],"variant":"c"}],"multivariate":{"variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}}}`,
		`400 invalid_input filters Filters are not valid (variant override does not exist)`},
	{"§5.1.2 1000 values", "bob", "change 1", person("exact", `[`+strings.Repeat(`"v",`, 999)+`"v"]`), `{"version":3}`},
	{"§5.1.2 1001 values", "bob", "change 1", person("exact", `[`+strings.Repeat(`"v",`, 1000)+`"v"]`), `400 invalid_input filters Property group expressions of type email cannot contain more than 1000 values.`},
	{"§5.1.2 cohort missing", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":99}]}]}}`, `400 cohort_does_not_exist filters Cohort with id 99 does not exist`},
	{"§5.1.2 bad date", "bob", "change 1", person("is_date_before", `"soon"`), `400 invalid_date filters Invalid date value: soon`},
	{"§5.1.2 bad date", "bob", "change 1", person("is_date_after", `"never"`), `400 invalid_date filters Invalid date value: never`},
	{"§5.1.2 value", "bob", "change 1", person("regex", `["x"]`), `400 invalid_value filters Invalid value for operator regex:`},
	{"§5.1.2 value", "bob", "change 1", person("icontains", `["x"]`), `400 invalid_value filters Invalid value for operator icontains:`},
	{"§5.1.2 value", "bob", "change 1", person("not_regex", `["x"]`), `400 invalid_value filters Invalid value for operator not_regex:`},
	{"§5.1.2 value", "bob", "change 1", person("gte", `["1"]`), `400 invalid_value filters Invalid value for operator gte:`},
	{"§5.1.2 a behavioural cohort", "bob", "cohort", `{"name":"n","filters":{"properties":{"type":"AND","values":[{"type":"behavioral","key":"$pageview","value":"performed_event","event_type":"events","time_value":7,"time_interval":"day"}]}}}`, `{"id":1}`},
	{"§5.1.2 a behavioural cohort", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, `400 behavioral_cohort_found filters Cohort 'n' with filters on events cannot be used in feature flags.`},
	{"§5.1.2 nested", "bob", "cohort", `{"name":"outer","filters":{"properties":{"type":"AND","values":[{"type":"cohort","key":"id","value":1}]}}}`, `{"id":2}`},
	{"§5.1.2 nested", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":2}]}]}}`, `400 behavioral_cohort_found filters Cohort 'n' with filters on events cannot be used in feature flags.`},
	{"§5.1.2 cohort_name", "bob", "cohort", `{"name":"static","is_static":true}`, `{"id":3}`},
	{"§5.1.2 cohort_name", "bob", "change 1", `{"filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":3}]}]}}`, `{"filters":{"groups":[{"properties":[{"value":3,"cohort_name":"static"}]}]}}`},
}

var payloadRows = []ruletest.Row{
	{"§5.1.2", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"§5.1.2 no object", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"payloads":[1]}}`, `400 invalid_input filters Payloads must be passed as a dictionary`},
	{"§5.1.2 no JSON", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"payloads":{"true":"{"}}}`, `400 invalid_input filters Payload value is not valid JSON`},
	{"§5.1.2 boolean", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"payloads":{"false":"1"}}}`, `400 invalid_input filters Payload keys must be 'true' for boolean flags`},
	{"§5.1.2 boolean", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"payloads":{"true":"1","x":"1"}}}`, `400 invalid_input filters Payload keys must be 'true' for boolean flags`},
	{"§5.1.2 boolean", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"payloads":{"true":"1"}}}`, `{"filters":{"payloads":{"true":"1"}}}`},
	{"§5.1.2 variants", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"b":"1"}}}`,
		`400 invalid_input filters Payload keys must match a variant key for multivariate flags`},
	{"§5.1.2 variants", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]},"payloads":{"a":"1"}}}`, `{"filters":{"payloads":{"a":"1"}}}`},
}

// dependsOn returns the body of a flag that depends on another flag.
func dependsOn(flag, operator string) string {
	return `{"filters":{"groups":[{"properties":[{"key":"` + flag + `","type":"flag","operator":"` + operator + `","value":true}]}]}}`
}

var dependencyRows = []ruletest.Row{
	{"§5.1.2", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"§5.1.2", "bob", "create", `{"key":"b"}`, `{"id":2}`},
	{"§5.1.2 operator", "bob", "change 2", dependsOn("1", "exact"), `400 invalid_input filters Flag properties must use the 'flag_evaluates_to' operator`},
	{"§5.1.2 by key", "bob", "change 2", dependsOn("a", "flag_evaluates_to"), `400 invalid_input filters Flag dependencies must reference flag IDs (integers), not flag keys. Invalid reference: 'a'`},
	{"§5.1.2 missing", "bob", "change 2", dependsOn("99", "flag_evaluates_to"), `400 invalid_input filters Flag dependency references non-existent flag with ID 99`},
	{"§5.1.2 self", "bob", "change 2", dependsOn("2", "flag_evaluates_to"), `400 invalid_input filters Feature flag 'b' cannot depend on itself`},
	{"§5.1.2", "bob", "change 2", dependsOn("1", "flag_evaluates_to"), `{"id":2}`},
	{"§5.1.2 cycle", "bob", "change 1", dependsOn("2", "flag_evaluates_to"), `400 invalid_input filters Circular dependency detected: a → b → a`},
	{"§6 row 72", "bob", "change 1", `{"deleted":true}`, `400 invalid_input - Cannot delete this feature flag because other flags depend on it: b (ID: 2). Please update or disable the dependent flags first.`},
	{"§5.1.3 other active flags", "bob", "change 2", `{"active":false}`, `{"active":false}`},
	{"§5.1.3 other active flags", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
}
