package featureflags_test

import (
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

var deletionRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"§5.1.3 PATCH deleted", "bob", "change 1", `{"deleted":true}`, `{"deleted":true,"status":"DELETED"}`},
	{"§5.1.3 also deleted ones", "bob", "get 1", ``, `{"deleted":true,"key":"a"}`},
	{"§5.1.3 lists", "bob", "list", `{}`, `{"count":0,"results":[]}`},
	{"§5.1.3 undelete", "bob", "change 1", `{"deleted":false}`, `{"deleted":false,"key":"a"}`},
	{"§5.1.3", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 purged first", "bob", "create", `{"key":"a"}`, `{"id":2,"key":"a"}`},
	{"§5.1.3 purged first", "bob", "get 1", ``, `404 not_found - Not found.`},
}

var conflictRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a","name":"one"}`, `{"version":1}`},
	{"§5.1.3", "cyd", "change 1", `{"name":"two"}`, `{"version":2}`},
	{"§6 row 70", "bob", "change 1", `{"name":"three","version":1,"original_flag":{"name":"one"}}`,
		`409 conflict - The feature flag was updated by cyd@example.com since you started editing it. Please refresh and try again.`},
	{"§5.1.3 not changed by the caller", "bob", "change 1", `{"name":"one","active":false,"version":1,"original_flag":{"name":"one","active":true}}`, `{"active":false}`},
	{"§5.1.3 the stored value is not another", "bob", "change 1", `{"active":true,"version":1,"original_flag":{"active":false}}`, `{"active":true}`},
	{"§6 row 71", "bob", "change 1", `{"name":"four","version":1}`, `{"name":"four"}`},
	{"§5.1.3 -1", "bob", "change 1", `{"name":"five","version":-1,"original_flag":{"name":"one"}}`, `{"name":"five"}`},
	{"§5.1.3 absent", "bob", "change 1", `{"name":"six","original_flag":{"name":"one"}}`, `{"name":"six"}`},
	{"§5.1.3 the same value", "bob", "change 1", `{"name":"six","version":1,"original_flag":{"name":"one"}}`, `{"name":"six"}`},
}

var listRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"first","name":"Some words","tags":["x"]}`, `{"id":1}`},
	{"§5.1.3", "cyd", "create", `{"key":"second","active":false,"evaluation_runtime":"server"}`, `{"id":2}`},
	{"§5.1.3", "bob", "create", `{"key":"third","filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}}`, `{"id":3}`},
	{"§3 newest first", "bob", "list", `{}`, `{"count":3,"results":[{"key":"third"},{"key":"second"},{"key":"first"}]}`},
	{"§3 a page", "bob", "list", `{"Limit":1,"Offset":1}`, `{"count":3,"results":[{"key":"second"}]}`},
	{"§6 row 39", "bob", "list", `{"Offset":50}`, `{"count":3,"results":[]}`},
	{"§5.1.3 active", "bob", "list", `{"Active":"true"}`, `{"count":2}`},
	{"§5.1.3 active", "bob", "list", `{"Active":"false"}`, `{"results":[{"key":"second"}]}`},
	{"§5.1.3 created_by_id", "bob", "list", `{"Creators":[3]}`, `{"results":[{"key":"second"}]}`},
	{"§5.1.3 search, key", "bob", "list", `{"Search":"thi"}`, `{"results":[{"key":"third"}]}`},
	{"§5.1.3 search, name", "bob", "list", `{"Search":"words"}`, `{"results":[{"key":"first"}]}`},
	{"§5.1.3 type", "bob", "list", `{"Type":"multivariant"}`, `{"results":[{"key":"third"}]}`},
	{"§5.1.3 type", "bob", "list", `{"Type":"boolean"}`, `{"results":[{"key":"second"},{"key":"first"}]}`},
	{"§5.1.3 evaluation_runtime", "bob", "list", `{"Runtime":"server"}`, `{"results":[{"key":"second"}]}`},
	{"§5.1.3 tags", "bob", "list", `{"Tags":["x"]}`, `{"results":[{"key":"first"}]}`},
	{"§5.1.3 order", "bob", "list", `{"Order":"key"}`, `{"results":[{"key":"first"},{"key":"second"},{"key":"third"}]}`},
	{"§5.1.3 another project's", "dan", "list", `{}`, `{"count":0}`},
}

var statusRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"§5.1.3 young", "bob", "status 1", ``, `{"status":"active","reason":"Flag is not fully rolled out and may still be active"}`},
	{"§5.1.3", "bob", "change 1", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.1.3 deleted", "bob", "status 1", ``, `{"status":"deleted","reason":"Flag has been deleted"}`},
	{"§5.1.3 unknown", "bob", "status 9", ``, `{"status":"unknown","reason":"Flag could not be found"}`},
}

// FindCohort returns the body of a cohort with one filter.
func FindCohort(filter string) string {
	return `{"name":"n","filters":{"properties":{"type":"AND","values":[` + filter + `]}}}`
}

var cohortRows = []ruletest.Row{
	{"§5.2", "bob", "cohort", FindCohort(`{"type":"person","key":"email","value":"x","operator":"exact"}`), `{"id":1,"name":"n","deleted":false,"is_static":false,"created_by":{"first_name":"bob"},"experiment_set":[],"_create_in_folder":"(absent)"}`},
	{"§5.2 no properties", "bob", "cohort", `{"filters":{}}`, `400 invalid_input filters__detail Must contain a 'properties' key with type and values`},
	{"§5.2 missing keys", "bob", "cohort", FindCohort(`{"type":"person","key":"email","operator":"exact"}`), `400 invalid_input filters Missing required keys for person filter: value`},
	{"§5.2 missing keys", "bob", "cohort", FindCohort(`{"type":"person","key":"email","value":"x"}`), `400 invalid_input filters Missing required keys for person filter: operator`},
	{"§5.2 missing keys", "bob", "cohort", FindCohort(`{"type":"cohort","key":"id"}`), `400 invalid_input filters Missing required keys for cohort filter: value`},
	{"§5.2 missing keys", "bob", "cohort", FindCohort(`{"type":"behavioral","key":"e","value":"performed_event"}`), `400 invalid_input filters Missing required keys for behavioral filter: event_type`},
	{"§5.2 is_set", "bob", "cohort", FindCohort(`{"type":"person","key":"email","operator":"is_set"}`), `{"id":2}`},
	{"§5.2 name", "bob", "changecohort 1", `{"name":` + flagtest.Text(401) + `}`, `400 max_length name`},
	{"§5.2 description", "bob", "changecohort 1", `{"description":` + flagtest.Text(1001) + `}`, `400 max_length description`},
	{"§5.2 read-only", "bob", "changecohort 1", `{"count":77,"created_by":null}`, `{"created_by":{"first_name":"bob"}}`},
	{"§5.2 query and filters", "bob", "cohort", `{"is_static":true,"query":{"kind":"ActorsQuery"},"filters":{"properties":{"type":"AND","values":[{"type":"person","key":"a","operator":"is_set"}]}}}`, `400 invalid_input - Cannot set both query and filters at the same time.`},
	{"§5.2 query on dynamic", "bob", "cohort", `{"query":{"kind":"ActorsQuery"}}`, `400 invalid_input - Cannot create a dynamic cohort with a query. Set is_static to true.`},
	{"§5.2 query kind", "bob", "cohort", `{"is_static":true,"query":{"kind":"X"}}`, `400 invalid_input query Query must be an ActorsQuery or HogQLQuery. Got: X`},
	{"§5.2 bad id", "bob", "changecohort 1", FindCohort(`{"type":"cohort","key":"id","value":"x"}`), `400 invalid_input filters Invalid Cohort ID in filter`},
	{"§5.2 loop", "bob", "changecohort 2", FindCohort(`{"type":"cohort","key":"id","value":1}`), `{"id":2}`},
	{"§5.2 loop", "bob", "changecohort 1", FindCohort(`{"type":"cohort","key":"id","value":2}`), `400 invalid_input filters Cohorts cannot reference other cohorts in a loop.`},
	{"§5.2 used", "bob", "create", `{"key":"a","filters":{"groups":[{"properties":[{"key":"id","type":"cohort","value":1}]}]}}`, `{"id":1}`},
	{"§5.2 used", "bob", "changecohort 1", `{"deleted":true}`, `400 invalid_input - This cohort is used in 1 active feature flag(s): a. Please remove the cohort from these feature flags before deleting it.`},
	{"§5.2 a behavioral filter", "bob", "changecohort 1", FindCohort(`{"type":"behavioral","key":"e","value":"performed_event","event_type":"events","time_value":7,"time_interval":"day"}`), `400 behavioral_cohort_found filters Behavioral filters cannot be added to cohorts used in feature flags.`},
	{"§5.2 the flag is inactive", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§5.2 static", "bob", "cohort", `{"name":"s","is_static":true}`, `{"id":3,"is_static":true,"count":0}`},
	{"§5.2 type", "bob", "cohorts", `{"Type":"static"}`, `{"count":1,"results":[{"name":"s"}]}`},
	{"§5.2 type", "bob", "cohorts", `{"Type":"dynamic"}`, `{"count":2}`},
	{"§5.2 search", "bob", "cohorts", `{"Search":"S"}`, `{"count":1,"results":[{"name":"s"}]}`},
	{"§5.2 deleted", "bob", "changecohort 3", `{"deleted":true}`, `{"deleted":true}`},
	{"§5.2 GET finds deleted ones", "bob", "getcohort 3", ``, `{"deleted":true,"name":"s"}`},
	{"§5.2 the list hides them", "bob", "cohorts", `{"Type":"static"}`, `{"count":0}`},
	{"§5.2 restore", "bob", "changecohort 3", `{"deleted":false}`, `{"deleted":false}`},
	{"§5.2 another project's", "dan", "getcohort 1", ``, `404 not_found - Not found.`},
}

var earlyAccessRows = []ruletest.Row{
	{"§5.5 a flag is made", "bob", "feature", `{"name":"New Thing","stage":"beta"}`, `{"name":"New Thing","stage":"beta","feature_flag":{"id":1,"key":"new-thing"}}`},
	{"§5.5 super_groups", "bob", "get 1", ``, `{"key":"new-thing","filters":{"groups":[{"rollout_percentage":0}],"super_groups":[{"rollout_percentage":100,"properties":[{"key":"$feature_enrollment/new-thing","type":"person","operator":"exact","value":["true"]}]}]}}`},
	{"§5.5 required", "bob", "feature", `{"stage":"beta"}`, `400 required name This field is required.`},
	{"§5.5 required", "bob", "feature", `{"name":"x"}`, `400 required stage This field is required.`},
	{"§5.5 stage", "bob", "feature", `{"name":"x","stage":"gamma"}`, `400 invalid_choice stage "gamma" is not a valid choice.`},
	{"§5.5 name", "bob", "feature", `{"name":` + flagtest.Text(201) + `,"stage":"beta"}`, `400 max_length name Ensure this field has no more than 200 characters.`},
	{"§5.5 unknown flag", "bob", "feature", `{"name":"x","stage":"beta","feature_flag_id":99}`, `400 invalid_input - Feature Flag with this ID does not exist`},
	{"§5.5 attached already", "bob", "feature", `{"name":"x","stage":"beta","feature_flag_id":1}`, `400 invalid_input - Linked feature flag new-thing already has a feature attached to it.`},
	{"§5.5 group-based", "bob", "create", `{"key":"grouped","filters":{"aggregation_group_type_index":0,"groups":[{"properties":[]}]}}`, `{"id":2}`},
	{"§5.5 group-based", "bob", "feature", `{"name":"x","stage":"beta","feature_flag_id":2}`, `400 invalid_input - Group-based feature flags are not supported for Early Access Features.`},
	{"§5.5 multivariate", "bob", "create", `{"key":"many","filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"a","rollout_percentage":100}]}}}`, `{"id":3}`},
	{"§5.5 multivariate", "bob", "feature", `{"name":"x","stage":"beta","feature_flag_id":3}`, `400 invalid_input - Multivariate feature flags are not supported for Early Access Features.`},
	{"§5.1.2 becomes group-based", "bob", "change 1", `{"filters":{"aggregation_group_type_index":0,"groups":[{"properties":[]}]}}`, `400 invalid_input filters Cannot change this flag to a group-based when linked to an Early Access Feature.`},
	{"§5.1.3 soft delete", "bob", "change 1", `{"deleted":true}`, `400 invalid_input -`},
	{"§5.1.3 changing the key", "bob", "change 1", `{"key":"thing"}`, `{"key":"thing","filters":{"super_groups":[{"properties":[{"key":"$feature_enrollment/thing"}]}]}}`},
	{"§5.5 leaving the release stages", "bob", "changefeature <New Thing>", `{"stage":"archived"}`, `{"stage":"archived"}`},
	{"§5.5 leaving the release stages", "bob", "get 1", ``, `{"filters":{"super_groups":null}}`},
	{"§5.5 and back", "bob", "changefeature <New Thing>", `{"stage":"general-availability"}`, `{"stage":"general-availability"}`},
	{"§5.5 DELETE", "bob", "dropfeature <New Thing>", ``, `null`},
	{"§5.5 the flag is kept", "bob", "get 1", ``, `{"key":"thing","deleted":false,"filters":{"super_groups":null}}`},
	{"§5.5 DELETE", "bob", "getfeature <New Thing>", ``, `404 not_found - Not found.`},
}

var experimentRows = []ruletest.Row{
	{"§5.7 required", "bob", "experiment", `{"name":"E"}`, `400 required feature_flag_key This field is required.`},
	{"§5.7 required", "bob", "experiment", `{"feature_flag_key":"e"}`, `400 required name This field is required.`},
	{"§5.7 a draft", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"name":"E","feature_flag_key":"e","start_date":null,"archived":false}`},
	{"§5.7 its flag", "bob", "get 1", ``, `{"key":"e","active":false,"filters":{"groups":[{"rollout_percentage":100}],"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]}}}`},
	{"§5.7 many variants", "bob", "experiment", `{"name":"F","feature_flag_key":"f","parameters":{"feature_flag_variants":` + flagtest.ManyVariants(21) + `}}`, `400 invalid_input * Feature flag variants must be less than 21`},
	{"§5.7 control", "bob", "experiment", `{"name":"F","feature_flag_key":"f","parameters":{"feature_flag_variants":[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]}}`, `400 invalid_input * Feature flag variants must contain a control variant`},
	{"§5.7 a start activates the flag", "bob", "changeexperiment <E>", `{"start_date":"2026-01-02T00:00:00Z"}`, `{"start_date":"2026-01-02T00:00:00Z"}`},
	{"§5.7 a start activates the flag", "bob", "get 1", ``, `{"active":true}`},
	{"§5.7 after launch", "bob", "changeexperiment <E>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":20},{"key":"test","rollout_percentage":80}]}}`, `400 invalid_input * Can't update feature_flag_variants on Experiment`},
	{"§5.1.3 linked", "bob", "change 1", `{"deleted":true}`, `400 invalid_input -`},
}

var surveyRows = []ruletest.Row{
	{"§5.6", "bob", "survey", `{"name":"S","type":"popover","questions":[{"type":"open","question":"Why?"}]}`, `{"name":"S","type":"popover","start_date":null,"end_date":null,"archived":false,"targeting_flag":null,"linked_flag":null,"questions":[{"type":"open","question":"Why?"}]}`},
	{"§5.6 unique", "bob", "survey", `{"name":"S","type":"popover"}`, `400 unique name There is already a survey with this name.`},
	{"§5.6 unique in the project", "dan", "survey", `{"name":"S2","type":"api"}`, `{"name":"S2"}`},
	{"§5.6", "bob", "survey", `{"name":"T","type":"popover"}`, `{"name":"T"}`},
	{"§5.6 unique", "bob", "changesurvey <T>", `{"name":"S"}`, `400 unique name There is already another survey with this name.`},
	{"§5.6 type", "bob", "survey", `{"name":"U","type":"letter"}`, `400 invalid_choice type "letter" is not a valid choice.`},
	{"§5.6 name", "bob", "survey", `{"name":` + flagtest.Text(401) + `,"type":"popover"}`, `400 max_length name`},
	{"§5.6 iteration_count", "bob", "changesurvey <S>", `{"iteration_count":501}`, `400 max_value iteration_count`},
	{"§5.6 flags of surveys are hidden", "bob", "list", `{}`, `{"count":0}`},
	{"§5.6 targeting everybody", "bob", "changesurvey <S>", `{"targeting_flag_filters":{"groups":[{"properties":[],"rollout_percentage":100}]}}`, `400 invalid_input`},
	{"§5.6 targeting", "bob", "changesurvey <S>", `{"targeting_flag_filters":` + flagtest.Targeting + `}`, `{"targeting_flag":{"filters":` + flagtest.Targeting + `}}`},
	{"§5.6 targeting", "bob", "changesurvey <S>", `{"remove_targeting_flag":true}`, `{"targeting_flag":null}`},
	{"§5.6 runs", "bob", "changesurvey <S>", `{"start_date":"2026-01-01T00:00:00Z"}`, `{"start_date":"2026-01-01T00:00:00Z","internal_targeting_flag":{"active":true}}`},
	{"§5.6 complete", "bob", "changesurvey <S>", `{"end_date":"2026-01-02T00:00:00Z"}`, `{"internal_targeting_flag":{"active":false}}`},
	{"§5.6 resumed", "bob", "changesurvey <S>", `{"end_date":null}`, `{"internal_targeting_flag":{"active":true}}`},
	{"§5.6 DELETE", "bob", "dropsurvey <S>", ``, `null`},
	{"§5.6 DELETE", "bob", "changesurvey <S>", `{}`, `404 not_found - Not found.`},
	{"§1.5 the thing comes before the body", "bob", "changesurvey <S>", `{"type":"letter"}`, `404 not_found - Not found.`},
}

var scheduleRows = []ruletest.Row{
	{"§5.1.3", "bob", "create", `{"key":"a"}`, `{"id":1}`},
	{"§5.1.3", "bob", "schedule", `{"record_id":1,"model_name":"FeatureFlag","payload":{"operation":"update_status","value":false},"scheduled_at":"2026-02-01T00:00:00Z"}`,
		`{"model_name":"FeatureFlag","payload":{"operation":"update_status","value":false},"scheduled_at":"2026-02-01T00:00:00Z","is_recurring":false,"executed_at":null,"created_by":{"first_name":"bob"}}`},
	{"§5.1.3 no flag", "bob", "schedule", `{"record_id":9,"model_name":"FeatureFlag","payload":{"operation":"update_status","value":false},"scheduled_at":"2026-02-01T00:00:00Z"}`, `400 invalid_input`},
	{"§5.1.3 the end", "bob", "schedule", `{"record_id":1,"model_name":"FeatureFlag","payload":{"operation":"update_status","value":false},"scheduled_at":"2026-02-01T00:00:00Z","is_recurring":true,"recurrence_interval":"daily","end_date":"2026-01-31T00:00:00Z"}`,
		`400 invalid_input`},
}
