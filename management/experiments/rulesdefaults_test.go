package experiments_test

import (
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

// The defaults of a project fill what an experiment leaves out (experiments.md §1.1, §2.1).
func TestExperiments_DefaultsOfTheProject(t *testing.T) {
	w := flagtest.New(t)
	calls := flagtest.RoomCalls(t, w)
	calls["defaults"] = func(scope flagtest.Scope, _, b string) (any, error) {
		p, err := w.Organizations.Projects.Update(t.Context(), scope, "", ruletest.Body(t, `{"experiments_config":`+b+`}`), false)
		if err != nil {
			return nil, err
		}
		return p.Experiments, nil
	}
	calls["method"] = func(scope flagtest.Scope, _, b string) (any, error) {
		return w.Organizations.Update(t.Context(), scope, "", ruletest.Body(t, `{"default_experiment_stats_method":`+b+`}`), false)
	}
	const (
		all = `{"default_experiment_stats_method":"frequentist","default_experiment_confidence_level":0.99,"default_only_count_matured_users":true,"default_cuped_enabled":true,
			"default_cuped_lookback_days":7,"default_sequential_testing_enabled":true,"default_sequential_tuning_parameter":1000,"default_minimum_detectable_effect":12.5}`
		own = `{"method":"bayesian","bayesian":{"ci_level":0.8},"frequentist":{"alpha":0.2,"sequential_testing_enabled":false,"sequential_tuning_parameter":9},"cuped":{"enabled":false,"lookback_days":2}}`
	)
	w.Run(t, calls, []ruletest.Row{
		{"experiments.md §1.1", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"stats_config":{"method":"bayesian"},"only_count_matured_users":null}`},
		{"experiments.md §1.1", "bob", "experiment", `{"name":"F","feature_flag_key":"f","stats_config":` + own + `,"only_count_matured_users":false}`, `{"only_count_matured_users":false}`},
		{"experiments.md §2.1 without defaults", "bob", "analysis 1", ``, `{"Stats":{"method":"bayesian"},"Matured":false}`},
		{"experiments.md §1.1 all", "bob", "defaults", all, all},
		{"experiments.md §2.1 the level is that of both methods", "bob", "analysis 1", ``, `{"Matured":true,"Stats":{"method":"frequentist","bayesian":{"ci_level":0.99},
			"frequentist":{"alpha":0.01,"sequential_testing_enabled":true,"sequential_tuning_parameter":1000},"cuped":{"enabled":true,"lookback_days":7}}}`},
		{"experiments.md §1.1 its own stay, and false is one", "bob", "analysis 2", ``, `{"Matured":false,"Stats":` + own + `}`},
		{"experiments.md §1.1 a default that is removed", "bob", "defaults", `{"default_experiment_stats_method":null,"default_experiment_confidence_level":0.9}`, `{"default_experiment_stats_method":null,"default_experiment_confidence_level":0.9,"default_cuped_lookback_days":7}`},
		{"experiments.md §2.1", "bob", "analysis 1", ``, `{"Stats":{"method":"bayesian","bayesian":{"ci_level":0.9},"frequentist":{"alpha":0.1}}}`},
		{"experiments.md §2.1 then that of the organization", "ann", "method", `"frequentist"`, `{"default_experiment_stats_method":"frequentist"}`},
		{"experiments.md §2.1 then that of the organization", "bob", "getexperiment <E>", ``, `{"stats_config":{"method":"frequentist"}}`},
		{"experiments.md §1.1 the project's comes first", "bob", "defaults", `{"default_experiment_stats_method":"bayesian"}`, `{"default_experiment_stats_method":"bayesian"}`},
		{"experiments.md §1.1 the project's comes first", "bob", "getexperiment <E>", ``, `{"stats_config":{"method":"bayesian"}}`},
		{"experiments.md §1.1 none", "bob", "defaults", `null`, `{"default_experiment_stats_method":null,"default_cuped_lookback_days":null,"default_minimum_detectable_effect":null}`},
		{"experiments.md §1.1 none", "bob", "analysis 1", ``, `{"Matured":false,"Stats":{"method":"frequentist"}}`},
	})
	w.Run(t, calls, flagtest.Each("experiments.md §1.1", "bob", "defaults",
		[2]string{`[]`, `400 not_a_dict experiments_config`},
		[2]string{`{"default_experiment_stats_method":"tarot"}`, `400 invalid_choice experiments_config__default_experiment_stats_method "tarot" is not a valid choice.`},
		[2]string{`{"default_experiment_confidence_level":0.5}`, `400 invalid_input experiments_config__default_experiment_confidence_level Must be 0.9, 0.95 or 0.99.`},
		[2]string{`{"default_experiment_confidence_level":"high"}`, `400 invalid_input experiments_config__default_experiment_confidence_level`},
		[2]string{`{"default_only_count_matured_users":"maybe"}`, `400 invalid_input experiments_config__default_only_count_matured_users Must be a valid boolean.`},
		[2]string{`{"default_cuped_lookback_days":31}`, `400 max_value experiments_config__default_cuped_lookback_days`},
		[2]string{`{"default_cuped_lookback_days":0}`, `400 min_value experiments_config__default_cuped_lookback_days`},
		[2]string{`{"default_sequential_tuning_parameter":0}`, `400 invalid_input experiments_config__default_sequential_tuning_parameter Must be a number from 1 to 1000000000.`},
		[2]string{`{"default_minimum_detectable_effect":0}`, `400 invalid_input experiments_config__default_minimum_detectable_effect Must be a number greater than 0 and at most 1000000.`},
		[2]string{`{"default_minimum_effect":1}`, `400 invalid_input experiments_config "default_minimum_effect" is not a known member: use default_experiment_stats_method, `},
		[2]string{`{"default_experiment_confidence_level":0.95}`, `{"default_experiment_confidence_level":0.95}`},
	))
}

func TestExperiments_SplitsAndShares(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"splits": splitRows, "shares": reshareRows, "archived": archivedRows})
}

var splitRows = flagtest.Rows(
	[]ruletest.Row{
		{"experiments.md §3.6 split_percent is taken as rollout_percentage", "bob", "experiment", `{"name":"E","feature_flag_key":"e","parameters":{"feature_flag_variants":[{"key":"control","split_percent":30},{"key":"test","split_percent":70}]}}`,
			`{"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":30,"split_percent":30},{"key":"test","rollout_percentage":70,"split_percent":70}]},
			"feature_flag":{"filters":{"multivariate":{"variants":[{"key":"control","rollout_percentage":30},{"key":"test","rollout_percentage":70}]}}}}`},
		{"experiments.md §3.6 and given back with it", "bob", "getexperiment <E>", ``, `{"parameters":{"feature_flag_variants":[{"rollout_percentage":30,"split_percent":30},{"rollout_percentage":70,"split_percent":70}]}}`},
	},
	flagtest.Each("experiments.md §3.6 split_percent", "bob", "changeexperiment <E>",
		[2]string{variantBody(`[{"key":"control","rollout_percentage":40,"split_percent":40.0},{"key":"test","rollout_percentage":60}]`), `{"parameters":{"feature_flag_variants":[{"rollout_percentage":40,"split_percent":40},{"rollout_percentage":60,"split_percent":60}]}}`},
		[2]string{variantBody(`[{"key":"control","rollout_percentage":40,"split_percent":50},{"key":"test","rollout_percentage":60}]`), `400 invalid_input parameters The variant "control" has a split_percent of 50 and a rollout_percentage of 40: send only one of them.`},
		[2]string{variantBody(`[{"key":"control","split_percent":"half"},{"key":"test","split_percent":50}]`), `400 * *`},
		[2]string{variantBody(`[{"key":"control","split_percent":null,"rollout_percentage":50},{"key":"test","split_percent":50}]`), `{"parameters":{"feature_flag_variants":[{"split_percent":50},{"split_percent":50}]}}`},
	),
)

var reshareRows = flagtest.Rows(
	[]ruletest.Row{{"experiments.md §3.6", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z"}`, `{"feature_flag":{"version":1}}`}},
	flagtest.Each("experiments.md §3.6 update_feature_flag_params", "bob", "changeexperiment <E>",
		[2]string{reshare(`[{"key":"control","split_percent":20},{"key":"test","split_percent":80}]`, "false"), mayNotChangeVariants},
		[2]string{reshare(`[{"key":"control","split_percent":20},{"key":"test","split_percent":80}]`, "true"), `{"status":"running","feature_flag":{"version":2,"filters":{"multivariate":{"variants":[{"key":"control","name":"Control Group","rollout_percentage":20},{"key":"test","rollout_percentage":80}]}}}}`},
		[2]string{reshare(`[{"key":"control","split_percent":20},{"key":"best","split_percent":80}]`, "true"), mayNotChangeVariants},
		[2]string{reshare(`[{"key":"control","split_percent":20},{"key":"test","split_percent":70},{"key":"b","split_percent":10}]`, "true"), mayNotChangeVariants},
		[2]string{reshare(`[{"key":"control","split_percent":20},{"key":"test","split_percent":70}]`, "true"), `400 * *`},
		[2]string{`{"update_feature_flag_params":true}`, `{"feature_flag":{"version":2}}`},
	),
)

func reshare(variants, allowed string) string {
	return `{"update_feature_flag_params":` + allowed + `,"parameters":{"feature_flag_variants":` + variants + `}}`
}

// Setting archived does the same as the call archive, also in a POST (experiments.md §3.7).
var archivedRows = []ruletest.Row{
	{"experiments.md §3.7 a draft", "bob", "experiment", `{"name":"E","feature_flag_key":"e","archived":true}`, `400 invalid_input - Experiment must be ended before it can be archived.`},
	{"experiments.md §3.7 running", "bob", "experiment", `{"name":"E","feature_flag_key":"e","archived":true,"start_date":"2026-01-01T00:00:00Z"}`, `400 invalid_input - Experiment must be ended before it can be archived.`},
	{"experiments.md §3.7 no flag is left of a refused one", "bob", "get 1", ``, `404 not_found`},
	{"experiments.md §3.7 ended", "bob", "experiment", `{"name":"E","feature_flag_key":"e","archived":true,"start_date":"2026-01-01T00:00:00Z","end_date":"2026-01-02T00:00:00Z"}`, `{"archived":true,"status":"stopped"}`},
}
