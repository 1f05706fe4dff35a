package experiments_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestExperiments_Fields(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"bounds": experimentBoundRows, "variants": experimentShareRows, "shared flags": sharedFlagRows, "filters": experimentFilterRows, "dates": experimentDateRows, "definitions": experimentFlagChangeRows,
	})
}

var experimentBoundRows = flagtest.Rows(
	[]ruletest.Row{{"experiments.md §3.6", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"name":"E","excluded_variants":null,"only_count_matured_users":null,"exposure_criteria":null,"primary_metrics_ordered_uuids":null,"secondary_metrics_ordered_uuids":null,
		"conclusion":null,"conclusion_comment":null,"deleted":false,"user_access_level":"manager","stats_config":{"method":"bayesian"}}`}},
	flagtest.Each("experiments.md §3.6 name at most 400, description at most 3000", "bob", "changeexperiment <E>",
		[2]string{`{"name":` + flagtest.Text(401) + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":` + flagtest.Text(400) + `}`, `{"name":` + flagtest.Text(400) + `}`},
		[2]string{`{"description":` + flagtest.Text(3000) + `}`, `{"description":` + flagtest.Text(3000) + `}`},
		[2]string{`{"description":` + flagtest.Text(3001) + `}`, `400 max_length description Ensure this field has no more than 3000 characters.`},
	),
	flagtest.Each("clients.md §13 types", "bob", "changeexperiment <E>",
		[2]string{`{"primary_metrics_ordered_uuids":["a"],"secondary_metrics_ordered_uuids":[]}`, `{"primary_metrics_ordered_uuids":["a"],"secondary_metrics_ordered_uuids":[]}`},
		[2]string{`{"primary_metrics_ordered_uuids":"a"}`, `400 not_a_list primary_metrics_ordered_uuids Expected a list of items but got type "str".`},
		[2]string{`{"primary_metrics_ordered_uuids":null}`, `{"primary_metrics_ordered_uuids":null}`},
		[2]string{`{"exposure_criteria":[]}`, `400 not_a_dict exposure_criteria Expected a dictionary of items but got type "list".`},
		[2]string{`{"exposure_criteria":{"filterTestAccounts":true}}`, `{"exposure_criteria":{"filterTestAccounts":true}}`},
		[2]string{`{"exposure_criteria":null}`, `{"exposure_criteria":null}`}, // null is kept as null
		[2]string{`{"stats_config":[]}`, `400 not_a_dict stats_config Expected a dictionary of items but got type "list".`},
		[2]string{`{"only_count_matured_users":"maybe"}`, `400 invalid_input only_count_matured_users Must be a valid boolean.`},
		[2]string{`{"only_count_matured_users":null}`, `{"only_count_matured_users":null}`},
		[2]string{`{"conclusion":"draw"}`, `400 invalid_choice conclusion`},
		[2]string{`{"holdout_id":"one"}`, `400 invalid_input holdout_id A valid integer is required.`},
		[2]string{`{"exposure_cohort":1.5}`, `400 invalid_input exposure_cohort A valid integer is required.`},
		[2]string{`{"nmae":"x"}`, `400 unknown_key nmae`},
		[2]string{`{"parameters":{"feature_flag_variant":[]}}`, `400 unknown_key *`},
		[2]string{`{"parameters":{"feature_flag_variants":[{"kay":"control"}]}}`, `400 unknown_key *`},
	),
)

// variantBody returns the body of a change of the variants of an experiment.
func variantBody(list string) string {
	return `{"parameters":{"feature_flag_variants":` + list + `}}`
}

const mayNotChangeVariants = `400 invalid_input - Can't update feature_flag_variants on Experiment`

var experimentShareRows = flagtest.Rows(
	flagtest.Each("experiments.md §3.6 at least two variants", "bob", "experiment",
		[2]string{experimentBody("single", `[{"key":"control","rollout_percentage":100}]`), `400 invalid_input parameters Feature flag must have at least 2 variants (control and at least one test variant)`},
		[2]string{experimentBody("two", `[{"key":"control","rollout_percentage":100},{"key":"b","rollout_percentage":0}]`), `{"name":"two"}`},
		[2]string{experimentBody("later", `[{"key":"b","rollout_percentage":50},{"key":"control","rollout_percentage":50}]`), `{"name":"later"}`},
	),
	[]ruletest.Row{{"experiments.md §3.6 refusals create no flag", "bob", "keys", ``, `["later","two"]`}},
	flagtest.Each("experiments.md §3.6 of a draft", "bob", "changeexperiment <two>",
		[2]string{variantBody(`[{"key":"control","rollout_percentage":100}]`), `400 invalid_input parameters Feature flag must have at least 2 variants (control and at least one test variant)`},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":50},{"key":"c","rollout_percentage":50}]`), `{"feature_flag":{"version":2}}`},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":50},{"key":"c","rollout_percentage":50}]`), `{"feature_flag":{"version":2}}`},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":50.0},{"key":"c","name":"C","rollout_percentage":50}]`), `{"feature_flag":{"version":3,"filters":{"multivariate":{"variants":[{"key":"control"},{"key":"c","name":"C"}]}}}}`},
		[2]string{variantBody(`null`), `{"feature_flag":{"version":3}}`},
		[2]string{`{"parameters":null}`, `{"parameters":null,"feature_flag":{"version":3}}`},
		[2]string{`{"parameters":{"aggregation_group_type_index":0}}`, `{"feature_flag":{"version":4,"filters":{"aggregation_group_type_index":0}}}`},
		[2]string{`{"parameters":{"aggregation_group_type_index":null}}`, `{"feature_flag":{"version":5,"filters":{"aggregation_group_type_index":null}}}`},
	),
	[]ruletest.Row{{"experiments.md §3.7", "bob", "life <two> launch", ``, `{"feature_flag":{"version":6,"active":true}}`}},
	flagtest.Each("§5.7 after the launch", "bob", "changeexperiment <two>",
		[2]string{variantBody(`[{"key":"control","rollout_percentage":50},{"key":"c","rollout_percentage":50}]`), `{"feature_flag":{"version":6}}`},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":50.0},{"key":"c","name":"another name","rollout_percentage":5e1}]`), `{"feature_flag":{"version":6}}`},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":49},{"key":"c","rollout_percentage":51}]`), mayNotChangeVariants},
		[2]string{variantBody(`[{"key":"c","rollout_percentage":50},{"key":"control","rollout_percentage":50}]`), mayNotChangeVariants},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":50},{"key":"c","rollout_percentage":50},{"key":"d","rollout_percentage":0}]`), mayNotChangeVariants},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":50},{"key":"d","rollout_percentage":50}]`), mayNotChangeVariants},
	),
	[]ruletest.Row{
		{"§5.7 after the end", "bob", "life <two> end", ``, `{"status":"stopped"}`},
		{"§5.7 after the end", "bob", "changeexperiment <two>", variantBody(`[{"key":"control","rollout_percentage":49},{"key":"c","rollout_percentage":51}]`), mayNotChangeVariants},
		{"experiments.md §3.7 a draft again", "bob", "life <two> reset", ``, `{"status":"draft"}`},
		{"experiments.md §3.7 a draft again", "bob", "changeexperiment <two>", variantBody(`[{"key":"control","rollout_percentage":49},{"key":"c","rollout_percentage":51}]`), `{"feature_flag":{"version":7,"active":true}}`},
	},
)

// Several experiments may share a flag. Variants and holdout of a draft change as long as no other
// experiment runs on the flag, since its results would no longer be comparable.
var sharedFlagRows = []ruletest.Row{
	{"clients.md §13", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":1,"active":false}}`},
	{"clients.md §13 an existing flag is linked as it is", "bob", "experiment", `{"name":"F","feature_flag_key":"e"}`, `{"feature_flag":{"id":1,"active":false,"version":1}}`},
	{"clients.md §13 variants of the request do not replace those of the flag", "bob", "experiment", `{"name":"G","feature_flag_key":"e","parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":10},{"key":"x","rollout_percentage":90}]}}`,
		`{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]},"feature_flag":{"version":1}}`},
	{"§5.11 an experiment's text is no change of the flag", "cyd", "changeexperiment <E>", `{"description":"x"}`, `{"description":"x"}`},
	{"§5.11 an experiment's text is no change of the flag", "bob", "log FeatureFlag 1", ``, `{"user":{"first_name":"bob"},"detail":{"changes":[{"field":"links"}]}}`},
	{"§5.7 variants of one draft are those of all", "bob", "changeexperiment <F>", variantBody(`[{"key":"control","rollout_percentage":30},{"key":"test","rollout_percentage":70}]`), `{"feature_flag":{"version":2}}`},
	{"§5.7 variants of one draft are those of all", "bob", "getexperiment <G>", ``, `{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":30},{"key":"test","rollout_percentage":70}]}}`},
	{"experiments.md §3.7 one of them runs", "bob", "life <E> launch", ``, `{"status":"running","feature_flag":{"active":true,"version":3}}`},
	{"experiments.md §3.6 the drafts stay drafts", "bob", "getexperiment <F>", ``, `{"status":"draft","feature_flag":{"active":true}}`},
	{"§5.7 a draft may not change the variants of a running one", "bob", "changeexperiment <F>", variantBody(`[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]`), mayNotChangeVariants},
	{"§5.7 the same ones", "bob", "changeexperiment <F>", variantBody(`[{"key":"control","rollout_percentage":30},{"key":"test","rollout_percentage":70}]`), `{"feature_flag":{"version":3}}`},
	{"experiments.md §3.7 the running one is deleted", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.7 the running one is deleted", "bob", "changeexperiment <F>", variantBody(`[{"key":"control","rollout_percentage":40},{"key":"test","rollout_percentage":60}]`), `{"feature_flag":{"version":4}}`},
	{"experiments.md §3.6 and comes back", "bob", "changeexperiment <E>", `{"deleted":false}`, `{"status":"running","feature_flag":{"version":4}}`},
	{"experiments.md §3.7 it ends", "bob", "life <E> end", ``, `{"status":"stopped"}`},
	{"experiments.md §3.7 it ends", "bob", "changeexperiment <F>", variantBody(`[{"key":"control","rollout_percentage":50},{"key":"test","rollout_percentage":50}]`), `{"feature_flag":{"version":5}}`},
	{"experiments.md §3.6 a pause is one of the flag", "bob", "life <F> launch", ``, `{"status":"running","feature_flag":{"active":true,"version":5}}`},
	{"experiments.md §3.6 a pause is one of the flag", "bob", "life <G> launch", ``, `{"status":"running"}`},
	{"experiments.md §3.6 a pause is one of the flag", "bob", "life <G> pause", ``, `{"status":"paused"}`},
	{"experiments.md §3.6 a pause is one of the flag", "bob", "getexperiment <F>", ``, `{"status":"paused"}`},
	{"§5.1.1 experiment_set", "bob", "get 1", ``, `{"experiment_set":[<E>,<F>,<G>]}`},
}

var experimentFilterRows = flagtest.Each("experiments.md §3.6", "bob", "experiment",
	[2]string{`{"name":"E","feature_flag_key":"e","filters":{"properties":[{"key":"a","value":"b"}]}}`, `400 invalid_input filters Experiments do not support global filter properties`},
	[2]string{`{"name":"E","feature_flag_key":"e","filters":{"properties":{"type":"AND","values":[]}}}`, `400 invalid_input filters Experiments do not support global filter properties`},
	[2]string{`{"name":"E","feature_flag_key":"e","filters":{"properties":[],"events":[]}}`, `{"filters":{"properties":[],"events":[]}}`},
)

var experimentDateRows = flagtest.Rows(
	flagtest.Each("clients.md §13", "bob", "experiment",
		[2]string{`{"name":"A","feature_flag_key":"a","start_date":"2026-01-02T00:00:00Z","end_date":"2026-01-01T00:00:00Z"}`, `400 invalid_input - End date must be after start date`},
		[2]string{`{"name":"A","feature_flag_key":"a","start_date":"2026-01-02T01:00:00+01:00","end_date":"2026-01-02T00:00:00Z"}`, `400 invalid_input - End date must be after start date`},
		[2]string{`{"name":"A","feature_flag_key":"a","start_date":"2026-01-02T01:00:00+01:00","end_date":"2026-01-02T00:00:00.000001Z"}`, `{"start_date":"2026-01-02T00:00:00Z","end_date":"2026-01-02T00:00:00.000001Z","status":"stopped"}`},
		[2]string{`{"name":"B","feature_flag_key":"a-b","start_date":"2026-06-01T00:00:00Z"}`, `{"status":"running","feature_flag":{"active":true}}`},
	),
	[]ruletest.Row{
		{"experiments.md §3.7 a start by PATCH", "bob", "experiment", `{"name":"C","feature_flag_key":"c"}`, `{"feature_flag":{"active":false}}`},
		{"experiments.md §3.7 a start by PATCH", "bob", "changeexperiment <C>", `{"start_date":"2026-01-02T00:00:00Z"}`, `{"status":"running","feature_flag":{"active":true,"version":2}}`},
		{"experiments.md §3.7 a flag that was switched off stays off", "bob", "life <C> pause", ``, `{"feature_flag":{"active":false}}`},
		{"experiments.md §3.7 a flag that was switched off stays off", "bob", "changeexperiment <C>", `{"start_date":"2026-01-02T00:00:01Z"}`, `{"status":"paused","feature_flag":{"active":false}}`},
		{"experiments.md §3.7 a draft again by PATCH", "bob", "changeexperiment <C>", `{"start_date":null}`, `{"status":"draft","feature_flag":{"active":false}}`},
		{"experiments.md §3.7 a start by PATCH once more", "bob", "changeexperiment <C>", `{"start_date":"2026-01-02T00:00:02Z"}`, `{"status":"running","feature_flag":{"active":true}}`},
	},
)

// The flag of an experiment may be changed as any other.
var experimentFlagChangeRows = []ruletest.Row{
	{"clients.md §13", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":1}}`},
	{"clients.md §13 one variant is too few to launch", "bob", "change 1", `{"filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"control","rollout_percentage":100}]}}}`, `{"version":2}`},
	{"experiments.md §3.7 one variant is too few to launch", "bob", "life <E> launch", ``, `400 invalid_input - Feature flag must have at least 2 variants (control and at least one test variant)`},
	{"experiments.md §3.7 one variant is too few to start by a change", "bob", "changeexperiment <E>", `{"start_date":"2026-01-02T00:00:00Z"}`, `400 invalid_input - Feature flag must have at least 2 variants (control and at least one test variant)`},
	{"experiments.md §3.7 no variants are, too", "bob", "change 1", flagtest.Groups(`{"properties":[]}`), `{"version":3}`},
	{"experiments.md §3.7 no variants are, too", "bob", "life <E> launch", ``, `400 invalid_input - Feature flag must have at least 2 variants (control and at least one test variant)`},
	{"experiments.md §3.7 no variants are, too, by a change", "bob", "changeexperiment <E>", `{"start_date":"2026-01-02T00:00:00Z"}`, `400 invalid_input - Feature flag must have at least 2 variants (control and at least one test variant)`},
	{"experiments.md §3.7 nothing has changed", "bob", "getexperiment <E>", ``, `{"status":"draft","feature_flag":{"version":3,"active":false}}`},
	{"experiments.md §3.7 with variants again", "bob", "changeexperiment <E>", variantBody(`[{"key":"control","rollout_percentage":50},{"key":"b","rollout_percentage":50}]`), `{"feature_flag":{"version":4}}`},
	{"experiments.md §3.7 with variants again", "bob", "life <E> launch", ``, `{"status":"running"}`},
	{"§5.7 a new name of the experiment does not rename the flag", "bob", "changeexperiment <E>", `{"name":"F"}`, `{"name":"F","feature_flag":{"name":"Feature Flag for Experiment E"}}`},
}

// The method of an experiment without one is that of its organization (experiments.md §2.1).
func TestExperiments_MethodOfTheOrganization(t *testing.T) {
	w := flagtest.New(t)
	calls := flagtest.RoomCalls(t, w)
	calls["method"] = func(scope flagtest.Scope, _, b string) (any, error) {
		return w.Organizations.Update(t.Context(), scope, "", ruletest.Body(t, `{"default_experiment_stats_method":`+b+`}`), false)
	}
	w.Run(t, calls, []ruletest.Row{
		{"experiments.md §2.1 the default", "bob", "experiment", `{"name":"E","feature_flag_key":"e","metrics":[` + metricOf("m", "a") + `]}`, `{"stats_config":{"method":"bayesian"}}`},
		{"experiments.md §2.1 a method of its own", "bob", "experiment", `{"name":"F","feature_flag_key":"f","stats_config":{"method":"bayesian"}}`, `{"stats_config":{"method":"bayesian"}}`},
		{"experiments.md §2.1 that of the organization", "ann", "method", `"frequentist"`, `{"default_experiment_stats_method":"frequentist"}`},
		{"experiments.md §2.1 that of the organization", "bob", "getexperiment <E>", ``, `{"stats_config":{"method":"frequentist"}}`},
		{"experiments.md §2.1 that of the organization", "bob", "analysis 1", ``, `{"Stats":{"method":"frequentist"}}`},
		{"experiments.md §2.1 that of the organization", "bob", "changeexperiment <E>", `{"stats_config":{"bayesian":{"ci_level":0.9}}}`, `{"stats_config":{"bayesian":{"ci_level":0.9}}}`},
		{"experiments.md §2.1 with the rest of the configuration", "bob", "analysis 1", ``, `{"Stats":{"method":"frequentist","bayesian":{"ci_level":0.9}}}`},
		{"experiments.md §2.1 its own method stays", "bob", "getexperiment <F>", ``, `{"stats_config":{"method":"bayesian"}}`},
		{"experiments.md §2.1 another organization", "dan", "experiment", `{"name":"D","feature_flag_key":"d"}`, `{"stats_config":{"method":"bayesian"}}`},
	})
}
