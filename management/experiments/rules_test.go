package experiments_test

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestExperiments(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"fields": experimentFieldRows, "variants": experimentVariantRows, "life": experimentLifeRows, "fixed": fixedRows, "cohorts": exposureCohortRows,
		"lists": experimentListRows, "states": experimentStatusRows, "gone": experimentDeletedRows, "the log": experimentLogRows, "flags": experimentFlagRows,
	})
}

var experimentFieldRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.7 defaults", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"name":"E","description":"","start_date":null,"end_date":null,"feature_flag_key":"e","feature_flag":{"id":1,"key":"e"},
			"holdout":null,"holdout_id":null,"exposure_cohort":null,"parameters":null,"secondary_metrics":[],"saved_metrics":[],"saved_metrics_ids":[],"filters":{},"archived":false,
			"created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:01Z","type":null,"metrics":[],"metrics_secondary":[],"_create_in_folder":"(absent)"}`},
	},
	flagtest.Each("§5.7 what an experiment needs", "bob", "experiment",
		[2]string{`{}`, `400 required name This field is required.`},
		[2]string{`{"feature_flag_key":"f"}`, `400 required name This field is required.`},
		[2]string{`{"name":"F"}`, `400 required feature_flag_key This field is required.`},
		[2]string{`{"name":"","feature_flag_key":"f"}`, `400 blank name This field may not be blank.`},
		[2]string{`{"name":"F","feature_flag_key":""}`, `400 blank feature_flag_key This field may not be blank.`},
		[2]string{`{"name":"F","feature_flag_key":"a b"}`, `400 invalid_key feature_flag_key Only letters, numbers, hyphens (-) & underscores (_) are allowed.`},
		[2]string{`{"name":"F","feature_flag_key":` + flagtest.Text(401) + `}`, `400 max_length feature_flag_key Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":"F","feature_flag_key":"f","type":"mobile"}`, `400 invalid_choice type "mobile" is not a valid choice.`},
	),
	flagtest.Each("§2.2 types of fields", "bob", "changeexperiment <E>",
		[2]string{`{"parameters":[]}`, `400 not_a_dict parameters Expected a dictionary of items but got type "list".`},
		[2]string{`{"metrics":{}}`, `400 not_a_list metrics Expected a list of items but got type "dict".`},
		[2]string{`{"metrics_secondary":"x"}`, `400 not_a_list metrics_secondary Expected a list of items but got type "str".`},
		[2]string{`{"secondary_metrics":7}`, `400 not_a_list secondary_metrics Expected a list of items but got type "int".`},
		[2]string{`{"filters":[]}`, `400 not_a_dict filters Expected a dictionary of items but got type "list".`},
		[2]string{`{"archived":"maybe"}`, `400 invalid_input archived Must be a valid boolean.`},
		[2]string{`{"start_date":"soon"}`, `400 invalid_input start_date Datetime has wrong format.`},
		[2]string{`{"name":null}`, `400 null name This field may not be null.`},
	),
	flagtest.Each("§5.7 all that may be changed", "bob", "changeexperiment <E>",
		[2]string{`{"name":"E"}`, `{"name":"E"}`},
		[2]string{`{"description":"why"}`, `{"description":"why"}`},
		[2]string{`{"description":null}`, `{"description":""}`},
		[2]string{`{"metrics":[{"kind":"ExperimentMetric","metric_type":"mean"}]}`, `{"metrics":[{"kind":"ExperimentMetric","metric_type":"mean"}]}`},
		[2]string{`{"metrics":null}`, `{"metrics":[]}`},
		[2]string{`{"metrics_secondary":[{"kind":"ExperimentMetric","metric_type":"ratio"}],"secondary_metrics":[{"b":2}]}`, `{"metrics_secondary":[{"metric_type":"ratio"}],"secondary_metrics":[{"b":2}]}`},
		[2]string{`{"filters":{"events":[]}}`, `{"filters":{"events":[]}}`},
		[2]string{`{"archived":false}`, `{"archived":false}`},
		[2]string{`{"parameters":{"minimum_detectable_effect":5,"recommended_sample_size":100}}`, `{"parameters":{"minimum_detectable_effect":5,"recommended_sample_size":100}}`},
		[2]string{`{"holdout_id":null,"saved_metrics_ids":[]}`, `{"holdout_id":null,"saved_metrics_ids":[]}`},
		[2]string{`{"saved_metrics_ids":null}`, `{"saved_metrics_ids":[]}`},
	),
	[]ruletest.Row{
		{"§2.4 read-only", "bob", "changeexperiment <E>", `{"id":"x","created_by":null,"created_at":"2000-01-01T00:00:00Z","holdout":{},"saved_metrics":[1]}`,
			`{"id":<E>,"created_by":{"first_name":"bob"},"created_at":"2026-01-02T12:00:01Z","holdout":null,"saved_metrics":[]}`},
		{"§2.5 PUT: all required fields", "bob", "putexperiment <E>", `{"name":"E"}`, `400 required feature_flag_key This field is required.`},
		{"§2.5 PUT", "bob", "putexperiment <E>", `{"name":"E","feature_flag_key":"e","description":"x"}`, `{"description":"x"}`},
		{"§5.7 a holdout that is not there", "bob", "changeexperiment <E>", `{"holdout_id":5}`, `400 does_not_exist holdout_id Invalid pk "5" - object does not exist.`},
		{"§5.7 saved metrics that are not there", "bob", "changeexperiment <E>", `{"saved_metrics_ids":[{"id":5}]}`, `400 does_not_exist saved_metrics_ids`},
	},
)

// experimentBody returns the body of an experiment with variants.
func experimentBody(name, list string) string {
	return `{"name":"` + name + `","feature_flag_key":"` + name + `","parameters":{"feature_flag_variants":` + list + `}}`
}

const ten = `[{"key":"control","rollout_percentage":10},{"key":"b","rollout_percentage":10},{"key":"c","rollout_percentage":10},{"key":"d","rollout_percentage":10},{"key":"e","rollout_percentage":10},
	{"key":"f","rollout_percentage":10},{"key":"g","rollout_percentage":10},{"key":"h","rollout_percentage":10},{"key":"i","rollout_percentage":10},{"key":"j","rollout_percentage":10}]`

var experimentVariantRows = flagtest.Rows(
	flagtest.Each("§5.7 variants", "bob", "experiment",
		[2]string{`{"name":"half","feature_flag_key":"half"}`, `{"feature_flag":{"filters":{"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]}}}}`},
		[2]string{experimentBody("given", `[{"key":"control","name":"C","rollout_percentage":20},{"key":"b","rollout_percentage":80}]`),
			`{"parameters":{"feature_flag_variants":[{"key":"control","name":"C","rollout_percentage":20},{"key":"b","rollout_percentage":80}]},
			"feature_flag":{"filters":{"groups":[{"properties":[],"rollout_percentage":100}],"multivariate":{"variants":[{"key":"control","name":"C"},{"key":"b"}]}}}}`},
		[2]string{experimentBody("ten", ten), `{"name":"ten"}`},
		[2]string{experimentBody("twenty", flagtest.ManyVariants(20)), `{"name":"twenty"}`},
		[2]string{experimentBody("one more", flagtest.ManyVariants(21)), `400 invalid_input * Feature flag variants must be less than 21`},
		[2]string{experimentBody("x", `[{"key":"a","rollout_percentage":50},{"key":"b","rollout_percentage":50}]`), `400 invalid_input * Feature flag variants must contain a control variant`},
		[2]string{experimentBody("x", `[{"key":"Control","rollout_percentage":100}]`), `400 invalid_input * Feature flag variants must contain a control variant`},
		[2]string{experimentBody("x", `[{"key":"control","rollout_percentage":50},{"key":"b","rollout_percentage":40}]`), flagtest.Sum},
		[2]string{experimentBody("x", `[{"key":"control","rollout_percentage":50},{"key":"a b","rollout_percentage":50}]`), `400 invalid_input *`},
		[2]string{experimentBody("x", `"control"`), `400 invalid_input parameters`},
		[2]string{experimentBody("x", `["control"]`), `400 invalid_input parameters`},
		[2]string{experimentBody("none", `[]`), `{"feature_flag":{"filters":{"multivariate":{"variants":[{"key":"control"},{"key":"test"}]}}}}`},
	),
	[]ruletest.Row{
		{"§5.7 nothing of refusals stays", "bob", "keys", ``, `["none","twenty","ten","given","half"]`},
		{"§5.7 about groups", "bob", "experiment", `{"name":"groups","feature_flag_key":"groups","parameters":{"aggregation_group_type_index":0}}`, `{"feature_flag":{"filters":{"aggregation_group_type_index":0}}}`},
		{"§5.7 a draft's may change", "bob", "changeexperiment <half>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":30},{"key":"test","rollout_percentage":70}]}}`,
			`{"feature_flag":{"version":2,"filters":{"multivariate":{"variants":[{"rollout_percentage":30},{"rollout_percentage":70}]}}}}`},
		{"§5.7 after the launch", "bob", "changeexperiment <half>", `{"start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"active":true}}`},
		{"§5.7 after the launch", "bob", "changeexperiment <half>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]}}`,
			`400 invalid_input - Can't update feature_flag_variants on Experiment`},
		{"§5.7 after the launch", "bob", "changeexperiment <half>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":30},{"key":"other","rollout_percentage":70}]}}`,
			`400 invalid_input - Can't update feature_flag_variants on Experiment`},
		{"§5.7 the same ones", "bob", "changeexperiment <half>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":30},{"key":"test","rollout_percentage":70}],"minimum_detectable_effect":3}}`,
			`{"parameters":{"minimum_detectable_effect":3}}`},
		{"§5.7 other parameters", "bob", "changeexperiment <half>", `{"parameters":{"minimum_detectable_effect":9}}`, `{"parameters":{"minimum_detectable_effect":9}}`},
	},
)

var experimentLifeRows = []ruletest.Row{
	{"§5.7 a draft: the flag is off", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"start_date":null,"feature_flag":{"active":false}}`},
	{"§5.7 the launch switches it on", "bob", "changeexperiment <E>", `{"start_date":"2026-01-03T00:00:00Z"}`, `{"start_date":"2026-01-03T00:00:00Z","feature_flag":{"active":true,"version":2}}`},
	{"§5.7 later changes leave it", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"§5.7 later changes leave it", "bob", "changeexperiment <E>", `{"start_date":"2026-01-04T00:00:00Z"}`, `{"feature_flag":{"active":false,"version":3}}`},
	{"§5.7 the end leaves it on", "bob", "change 1", `{"active":true}`, `{"active":true}`},
	{"§5.7 the end leaves it on", "bob", "changeexperiment <E>", `{"end_date":"2026-01-10T00:00:00Z"}`, `{"end_date":"2026-01-10T00:00:00Z","feature_flag":{"active":true}}`},
	{"clients.md §13 a restart", "bob", "changeexperiment <E>", `{"end_date":null}`, `{"end_date":null,"start_date":"2026-01-04T00:00:00Z"}`},
	{"§5.7 a draft again", "bob", "changeexperiment <E>", `{"start_date":null}`, `{"start_date":null}`},
	{"§5.7 made and running", "bob", "experiment", `{"name":"F","feature_flag_key":"f","start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"active":true,"version":1}}`},
	{"§5.7 holdout after the launch", "bob", "changeexperiment <F>", `{"holdout_id":5}`, `400 invalid_input - Can't update holdout on running Experiment`},
	{"§5.7 no holdout is none", "bob", "changeexperiment <F>", `{"holdout_id":null}`, `{"holdout_id":null}`},
	{"§5.7 updated_at", "bob", "wait 1h", ``, `null`},
	{"§5.7 updated_at", "bob", "changeexperiment <F>", `{"description":"x"}`, `{"updated_at":"2026-01-02T13:00:13Z","created_at":"2026-01-02T12:00:09Z"}`},
}

var fixedRows = flagtest.Rows(
	[]ruletest.Row{{"§5.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e","type":"product"}`, `{"type":"product"}`}},
	flagtest.Each("§5.7 what cannot be changed", "bob", "changeexperiment <E>",
		[2]string{`{"feature_flag_key":"f"}`, `400 invalid_input - Can't update keys: feature_flag_key on Experiment`},
		[2]string{`{"type":"web"}`, `400 invalid_input - Can't update keys: type on Experiment`},
		[2]string{`{"type":null}`, `400 invalid_input - Can't update keys: type on Experiment`},
		[2]string{`{"exposure_cohort":1}`, `400 invalid_input - Can't update keys: exposure_cohort on Experiment`},
		[2]string{`{"exposure_cohort":1,"feature_flag_key":"f","type":"web"}`, `400 invalid_input - Can't update keys: exposure_cohort, feature_flag_key, type on Experiment`},
		[2]string{`{"feature_flag_key":"e","type":"product","exposure_cohort":null}`, `{"name":"E"}`},
	),
	[]ruletest.Row{
		{"§5.7 the key of now", "bob", "change 1", `{"key":"e2"}`, `{"key":"e2"}`},
		{"§5.7 the key of now", "bob", "changeexperiment <E>", `{"feature_flag_key":"e2"}`, `{"feature_flag_key":"e2"}`},
		{"§5.7 the key of now", "bob", "changeexperiment <E>", `{"feature_flag_key":"e"}`, `400 invalid_input - Can't update keys: feature_flag_key on Experiment`},
	},
)

var exposureCohortRows = []ruletest.Row{
	{"§5.2", "bob", "cohort", `{"name":"Pros","is_static":true}`, `{"id":1,"experiment_set":[]}`},
	{"§5.2", "dan", "cohort", `{"name":"theirs","is_static":true}`, `{"id":2}`},
	{"§5.7 exposure_cohort", "bob", "experiment", `{"name":"E","feature_flag_key":"e","exposure_cohort":1}`, `{"exposure_cohort":1}`},
	{"§5.2 experiment_set", "bob", "getcohort 1", ``, `{"experiment_set":[<E>]}`},
	{"§5.7 a cohort that is not there", "bob", "experiment", `{"name":"F","feature_flag_key":"f","exposure_cohort":99}`, `400 does_not_exist exposure_cohort Invalid pk "99" - object does not exist.`},
	{"§5.7 of another project", "bob", "experiment", `{"name":"F","feature_flag_key":"f","exposure_cohort":2}`, `400 does_not_exist exposure_cohort Invalid pk "2" - object does not exist.`},
	{"§5.7 no number", "bob", "experiment", `{"name":"F","feature_flag_key":"f","exposure_cohort":"one"}`, `400 invalid_input exposure_cohort A valid integer is required.`},
	{"§5.2 of one that is deleted", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"name":"E","deleted":true}`},
	{"§5.2 of one that is deleted", "bob", "getcohort 1", ``, `{"experiment_set":[]}`},
}

var experimentListRows = flagtest.Rows(
	[]ruletest.Row{
		{"§5.7", "bob", "experiment", `{"name":"Prices","feature_flag_key":"p"}`, `{"feature_flag":{"id":1}}`},
		{"§5.7", "cyd", "experiment", `{"name":"button","feature_flag_key":"b","start_date":"2026-01-05T00:00:00Z"}`, `{"feature_flag":{"id":2}}`},
		{"§5.7", "bob", "experiment", `{"name":"Old prices","feature_flag_key":"o","start_date":"2026-01-01T00:00:00Z","end_date":"2026-01-02T00:00:00Z","archived":true}`, `{"feature_flag":{"id":3}}`},
		{"§5.7", "bob", "experiment", `{"name":"Header","feature_flag_key":"h","start_date":"2026-01-03T00:00:00Z","end_date":"2026-01-04T00:00:00Z"}`, `{"feature_flag":{"id":4}}`},
		{"§5.7", "dan", "experiment", `{"name":"Theirs","feature_flag_key":"p"}`, `{"name":"Theirs"}`},
		{"§5.7", "bob", "changeexperiment <Prices>", `{"description":"x"}`, `{"description":"x"}`},
	},
	flagtest.Each("clients.md §2.2", "bob", "experiments",
		[2]string{``, `{"count":3,"results":[{"name":"Header"},{"name":"button"},{"name":"Prices"}]}`},
		[2]string{`{"Archived":true}`, `{"count":1,"results":[{"name":"Old prices"}]}`},
		[2]string{`{"Search":"PRICES"}`, `{"count":1,"results":[{"name":"Prices"}]}`},
		[2]string{`{"Search":"prices","Archived":true}`, `{"count":1,"results":[{"name":"Old prices"}]}`},
		[2]string{`{"Search":` + flagtest.Text(201) + `}`, `400 max_length search`},
		[2]string{`{"Creators":[3]}`, `{"count":1,"results":[{"name":"button"}]}`},
		[2]string{`{"Creators":[2,3]}`, `{"count":3}`},
		[2]string{`{"Flag":4}`, `{"count":1,"results":[{"name":"Header"}]}`},
		[2]string{`{"Status":"draft"}`, `{"count":1,"results":[{"name":"Prices"}]}`},
		[2]string{`{"Status":"running"}`, `{"count":1,"results":[{"name":"button"}]}`},
		[2]string{`{"Status":"stopped"}`, `{"count":1,"results":[{"name":"Header"}]}`},
		[2]string{`{"Status":"complete"}`, `{"count":1,"results":[{"name":"Header"}]}`},
		[2]string{`{"Status":"paused"}`, `{"count":0,"results":[]}`},
		[2]string{`{"Status":"all"}`, `{"count":3}`},
		[2]string{`{"Status":"odd"}`, `{"count":3}`},
		[2]string{`{"Order":"created_at"}`, `{"results":[{"name":"Prices"},{"name":"button"},{"name":"Header"}]}`},
		[2]string{`{"Order":"-updated_at"}`, `{"results":[{"name":"Prices"},{"name":"Header"},{"name":"button"}]}`},
		[2]string{`{"Order":"name"}`, `{"results":[{"name":"Header"},{"name":"Prices"},{"name":"button"}]}`},
		[2]string{`{"Order":"start_date"}`, `{"results":[{"name":"Prices"},{"name":"Header"},{"name":"button"}]}`},
		[2]string{`{"Order":"-end_date","Limit":1}`, `{"count":3,"results":[{"name":"Header"}]}`},
		[2]string{`{"Order":"odd"}`, `{"results":[{"name":"Header"},{"name":"button"},{"name":"Prices"}]}`},
		[2]string{`{"Limit":1,"Offset":2}`, `{"count":3,"results":[{"name":"Prices"}]}`},
		[2]string{`{"Offset":9}`, `{"count":3,"results":[]}`},
	),
)

var experimentStatusRows = []ruletest.Row{
	{"clients.md §13", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"name":"E"}`},
	{"clients.md §13 running", "bob", "experiments", `{"Status":"running"}`, `{"count":1}`},
	{"clients.md §13 paused: its flag is off", "bob", "change 1", `{"active":false}`, `{"active":false}`},
	{"clients.md §13 paused: its flag is off", "bob", "experiments", `{"Status":"paused"}`, `{"count":1}`},
	{"clients.md §13 paused: its flag is off", "bob", "experiments", `{"Status":"running"}`, `{"count":0}`},
	{"clients.md §13 stopped", "bob", "changeexperiment <E>", `{"end_date":"2026-01-02T00:00:00Z"}`, `{"name":"E"}`},
	{"clients.md §13 stopped", "bob", "experiments", `{"Status":"stopped"}`, `{"count":1}`},
	{"clients.md §13 stopped", "bob", "experiments", `{"Status":"paused"}`, `{"count":0}`},
}

var experimentDeletedRows = []ruletest.Row{
	{"§5.7", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":1}}`},
	{"§5.7 of another project: not there", "dan", "changeexperiment <E>", `{"deleted":true}`, `404 not_found - Not found.`},
	{"clients.md §13 deleting, and DELETE is 405", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"name":"E","deleted":true}`},
	{"§5.7 gone", "bob", "getexperiment <E>", ``, `404 not_found - Not found.`},
	{"§5.7 gone", "bob", "changeexperiment <E>", `{"name":"x"}`, `404 not_found - Not found.`},
	{"§5.7 gone", "bob", "changeexperiment <E>", `{"deleted":true}`, `404 not_found - Not found.`},
	{"experiments.md §3.6 back with exactly that", "bob", "changeexperiment <E>", `{"deleted":false,"name":"x"}`, `404 not_found - Not found.`},
	{"§5.7 gone", "bob", "exposures <E>", ``, `404 not_found - Not found.`},
	{"§5.7 gone", "bob", "experiments", ``, `{"count":0}`},
	{"§5.7 its flag stays", "bob", "get 1", ``, `{"key":"e","deleted":false,"experiment_set":[]}`},
	{"§5.7 no id", "bob", "getexperiment x", ``, `404 not_found - Not found.`},
	{"§5.1.3 held by a deleted one", "bob", "change 1", `{"deleted":true}`, `{"key":"e:deleted:1"}`},
	{"§5.7 the key is free for another", "bob", "experiment", `{"name":"F","feature_flag_key":"e"}`, `{"feature_flag":{"id":2}}`},
}

var experimentLogRows = []ruletest.Row{
	{"§5.11", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"name":"E"}`},
	{"§5.11 created", "bob", "log Experiment <E>", ``, `{"activity":"created","scope":"Experiment","item_id":"<E>","user":{"first_name":"bob"},"detail":{"name":"E"}}`},
	{"§5.11 with its flag", "bob", "log FeatureFlag 1", ``, `{"activity":"updated","user":{"first_name":"bob"},"detail":{"name":"e","changes":[{"field":"links","after":{"experiments":[{"id":<E>,"name":"E"}]}}]}}`},
	{"§5.11", "cyd", "changeexperiment <E>", `{"start_date":"2026-01-02T00:00:00Z"}`, `{"name":"E"}`},
	{"§5.11 updated", "bob", "log Experiment <E>", ``, `{"activity":"updated","user":{"first_name":"cyd"},"detail":{"changes":[{"field":"feature_flag","action":"changed"},{"field":"start_date","action":"created","after":"2026-01-02T00:00:00Z"},{"field":"status","before":"draft","after":"running"}]}}`},
	{"§5.11 its flag is on", "bob", "log FeatureFlag 1", ``, `{"user":{"first_name":"cyd"},"detail":{"changes":[{"field":"active","before":false,"after":true}]}}`},
	{"§5.11", "ann", "changeexperiment <E>", `{"deleted":true}`, `{"name":"E","deleted":true}`},
	{"§5.11 deleted softly", "bob", "log Experiment <E>", ``, `{"activity":"updated","user":{"first_name":"ann"},"detail":{"name":"E","changes":[{"field":"deleted","before":false,"after":true}]}}`},
}

var experimentFlagRows = []ruletest.Row{
	{"§5.7 made for it", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":1,"name":"Feature Flag for Experiment E"}}`},
	{"§5.7 one condition for everybody", "bob", "get 1", ``, `{"filters":{"groups":[{"properties":[],"rollout_percentage":100}]},"experiment_set":[<E>],"created_by":{"first_name":"bob"}}`},
	{"§5.7 it may have conditions of its own", "bob", "change 1", `{"filters":{"groups":[{"properties":[` + flagtest.Plan + `],"rollout_percentage":10}],"multivariate":{"variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]}}}`, `{"version":2}`},
	{"§5.7 they stay when variants change", "bob", "changeexperiment <E>", `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":40},{"key":"test","rollout_percentage":60}]}}`,
		`{"feature_flag":{"filters":{"groups":[{"rollout_percentage":10}],"multivariate":{"variants":[{"rollout_percentage":40},{"rollout_percentage":60}]}}}}`},
	{"§5.7 a new name", "bob", "changeexperiment <E>", `{"name":"E2"}`, `{"name":"E2"}`},
	{"§5.7 a new name is no new version", "bob", "get 1", ``, `{"version":3,"experiment_set":[<E2>]}`},
	{"§5.7 two experiments", "bob", "experiment", `{"name":"F","feature_flag_key":"f"}`, `{"feature_flag":{"id":2}}`},
	{"§5.7 two experiments", "bob", "get 2", ``, `{"experiment_set":[<F>]}`},
}

// Exposures are the values in $feature_flag_called events of the flag, with their numbers.
func TestExperiments_Exposures(t *testing.T) {
	first, last := ruletest.Start, ruletest.Start.Add(time.Hour)
	w := ruletest.New(t, memstore.New(memstore.ExternalData{FlagCalls: map[memstore.Flag][]management.FlagCall{
		{Project: ruletest.Project, Key: "e"}: {{Value: "control", Calls: 30, First: first, Last: last}, {Value: "test", Calls: 12, First: first, Last: first}},
	}}))
	w.Run(t, flagtest.RoomCalls(t, w), []ruletest.Row{
		{"30 + 12", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-02T00:00:00Z"}`, `{"name":"E"}`},
		{"30 + 12", "bob", "exposures <E>", ``, `{"feature_flag_key":"e","start_date":"2026-01-02T00:00:00Z","end_date":null,"total":42,"exposures":[
			{"variant":"control","calls":30,"first_called_at":"2026-01-02T12:00:00Z","last_called_at":"2026-01-02T13:00:00Z"},{"variant":"test","calls":12}]}`},
		{"of nobody", "bob", "experiment", `{"name":"F","feature_flag_key":"f"}`, `{"name":"F"}`},
		{"of nobody", "bob", "exposures <F>", ``, `{"total":0,"exposures":[]}`},
		{"of another project", "dan", "exposures <E>", ``, `404 not_found - Not found.`},
	})
}
