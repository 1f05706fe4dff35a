package experiments_test

import (
	"testing"
	"time"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/memstore"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
)

func TestExperiments_RunningTime(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{"sums": runningTimeRows, "refusals": runningTimeRefusalRows})
}

// The size is 16·variance/d²·k, rounded up, with d = mde/100 · baseline and k variants; a funnel has
// the variance p(1-p). The numbers are powers of two where a sum must be exact.
var runningTimeRows = flagtest.Rows(
	flagtest.Each("experiments.md §2.12 counts: variance 2·4; 16·8/0.2²·k", "bob", "runningtime",
		[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4}`, `{"baseline_value":4,"variance":8,"recommended_sample_size":6400,"recommended_running_time_days":null}`},
		[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"number_of_variants":3,"exposure_rate_per_day":100}`, `{"recommended_sample_size":9600,"recommended_running_time_days":96}`},
		[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"number_of_variants":3,"exposure_rate_per_day":99.9}`, `{"recommended_running_time_days":97}`},
		[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"number_of_variants":20}`, `{"recommended_sample_size":64000}`},
		[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":"5","baseline_value":"4","exposure_rate_per_day":"6400"}`, `{"recommended_sample_size":6400,"recommended_running_time_days":1}`},
		[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"exposure_rate_per_day":0}`, `{"recommended_sample_size":6400,"recommended_running_time_days":null}`},
		[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"exposure_rate_per_day":null,"variance":null,"baseline_stats":null}`, `{"recommended_sample_size":6400}`},
	),
	flagtest.Each("experiments.md §2.12 sums: variance 8²/4; 16·16/4²·2, and 16·4/4²·2 with the variance of the request", "bob", "runningtime",
		[2]string{`{"metric_type":"mean_sum_or_avg","minimum_detectable_effect":50,"baseline_value":8}`, `{"variance":16,"recommended_sample_size":32}`},
		[2]string{`{"metric_type":"mean_sum_or_avg","minimum_detectable_effect":50,"baseline_value":8,"variance":4}`, `{"variance":4,"recommended_sample_size":8}`},
		[2]string{`{"metric_type":"mean_sum_or_avg","minimum_detectable_effect":50,"baseline_stats":{"number_of_samples":4,"sum":32,"sum_squares":300}}`, `{"baseline_value":8,"variance":16,"recommended_sample_size":32}`},
		[2]string{`{"metric_type":"mean_sum_or_avg","minimum_detectable_effect":50,"baseline_stats":{"number_of_samples":1,"sum":8,"sum_squares":64}}`, `{"baseline_value":8}`},
	),
	flagtest.Each("experiments.md §2.12 a funnel: 16·0.25/0.25²·2; its last step, and without steps sum/n", "bob", "runningtime",
		[2]string{`{"metric_type":"funnel","minimum_detectable_effect":50,"baseline_value":0.5}`, `{"baseline_value":0.5,"variance":null,"recommended_sample_size":128}`},
		[2]string{`{"metric_type":"funnel","minimum_detectable_effect":50,"baseline_stats":{"number_of_samples":8,"sum":1,"step_counts":[8,6,4]}}`, `{"baseline_value":0.5,"recommended_sample_size":128}`},
		[2]string{`{"metric_type":"funnel","minimum_detectable_effect":50,"baseline_stats":{"number_of_samples":8,"sum":4,"step_counts":[]}}`, `{"baseline_value":0.5,"recommended_sample_size":128}`},
		[2]string{`{"metric_type":"funnel","minimum_detectable_effect":50,"baseline_value":1}`, `{"recommended_sample_size":null}`}, // everybody converts: no variance
	),
	// m = 1, 3, 5, 7 and d = 1, 1, 3, 3: the ratio is 2, and with moments over n
	// 5/2² + 4²·1/2⁴ - 2·4·2/2³ = 0.25; 16·0.25/1²·2 = 8.
	flagtest.Each("experiments.md §2.12 a ratio", "bob", "runningtime",
		[2]string{`{"metric_type":"ratio","minimum_detectable_effect":50,"baseline_stats":{"number_of_samples":4,"sum":16,"sum_squares":84,"denominator_sum":8,"denominator_sum_squares":20,"numerator_denominator_sum_product":40}}`,
			`{"baseline_value":2,"variance":0.25,"recommended_sample_size":8}`},
		[2]string{`{"metric_type":"ratio","minimum_detectable_effect":50,"variance":1,"baseline_stats":{"number_of_samples":4,"sum":16,"sum_squares":84,"denominator_sum":8,"denominator_sum_squares":20,"numerator_denominator_sum_product":40}}`,
			`{"baseline_value":2,"variance":1,"recommended_sample_size":32}`},
		[2]string{`{"metric_type":"ratio","minimum_detectable_effect":50,"variance":1,"baseline_value":2}`, `{"baseline_value":2,"variance":1,"recommended_sample_size":32}`},
	),
	// Two of four came back: 0.5·(1-0.5) = 0.25; 16·0.25/0.5²·2 = 32.
	flagtest.Each("experiments.md §2.12 retention", "bob", "runningtime",
		[2]string{`{"metric_type":"retention","minimum_detectable_effect":100,"baseline_stats":{"number_of_samples":4,"sum":2,"sum_squares":2,"denominator_sum":4,"denominator_sum_squares":4,"numerator_denominator_sum_product":2}}`,
			`{"baseline_value":0.5,"variance":0.25,"recommended_sample_size":32}`},
	),
)

const needsStats, notNegative = `400 invalid_input - Ratio and retention metrics require baseline_stats, or both baseline_value and variance.`, `Ensure this value is greater than or equal to 0.`

var runningTimeRefusalRows = flagtest.Each("experiments.md §3.11", "bob", "runningtime",
	[2]string{`{}`, `400 required metric_type This field is required.`},
	[2]string{`{"metric_type":"mean_count"}`, `400 required minimum_detectable_effect This field is required.`},
	[2]string{`{"metric_type":"mean","minimum_detectable_effect":5,"baseline_value":4}`, `400 invalid_choice metric_type "mean" is not a valid choice.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":null,"baseline_value":4}`, `400 null minimum_detectable_effect This field may not be null.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":0,"baseline_value":4}`, `400 invalid_input minimum_detectable_effect Must be greater than 0.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":-5,"baseline_value":4}`, `400 invalid_input minimum_detectable_effect Must be greater than 0.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":[5],"baseline_value":4}`, `400 invalid_input minimum_detectable_effect A valid number is required.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":"inf","baseline_value":4}`, `400 invalid_input minimum_detectable_effect A valid number is required.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":"nan"}`, `400 invalid_input baseline_value A valid number is required.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":true}`, `400 invalid_input baseline_value A valid number is required.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"exposure_rate_per_day":-0.1}`, `400 invalid_input exposure_rate_per_day ` + notNegative},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"variance":-0.1}`, `400 invalid_input variance ` + notNegative},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"number_of_variants":1}`, `400 min_value number_of_variants Ensure this value is greater than or equal to 2.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_value":4,"number_of_variants":21}`, `400 max_value number_of_variants Ensure this value is less than or equal to 20.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5}`, `400 invalid_input - Provide either baseline_value or baseline_stats.`},
	[2]string{`{"metric_type":"ratio","minimum_detectable_effect":5}`, `400 invalid_input - Provide either baseline_value or baseline_stats.`},
	[2]string{`{"metric_type":"ratio","minimum_detectable_effect":5,"baseline_value":2}`, needsStats},
	[2]string{`{"metric_type":"retention","minimum_detectable_effect":5,"baseline_value":0.5}`, needsStats},
	[2]string{`{"metric_type":"ratio","minimum_detectable_effect":5,"baseline_stats":{"number_of_samples":4,"sum":2}}`, `400 required baseline_stats__denominator_sum`},
	[2]string{`{"metric_type":"retention","minimum_detectable_effect":5,"baseline_stats":{"number_of_samples":4,"sum":2,"denominator_sum":null}}`, `400 required baseline_stats__denominator_sum`},
	[2]string{`{"metric_type":"ratio","minimum_detectable_effect":5,"baseline_stats":{"number_of_samples":4,"sum":2,"denominator_sum":0}}`, `400 required baseline_stats__denominator_sum`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_stats":{"sum":2}}`, `400 invalid_input baseline_stats__number_of_samples Ensure this value is greater than or equal to 1.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_stats":{"number_of_samples":0,"sum":2}}`, `400 invalid_input baseline_stats__number_of_samples Ensure this value is greater than or equal to 1.`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_stats":{"number_of_samples":4,"sum":"2"}}`, `400 invalid_input baseline_stats`},
	[2]string{`{"metric_type":"mean_count","minimum_detectable_effect":5,"baseline_stats":[4]}`, `400 not_a_dict baseline_stats`},
)

// statsWorld is a World in which flag called has calls.
func statsWorld(t *testing.T) *ruletest.World {
	t.Helper()
	at := ruletest.Start.Add(-time.Hour)
	return ruletest.New(t, memstore.New(memstore.ExternalData{FlagCalls: map[memstore.Flag][]management.FlagCall{
		{Project: ruletest.Project, Key: "called"}:      {{Value: "control", Calls: 1, First: at, Last: at}},
		{Project: ruletest.TheirProject, Key: "silent"}: {{Value: "control", Calls: 1, First: at, Last: at}},
	}}))
}

func TestExperiments_Lists(t *testing.T) {
	for name, rows := range map[string][]ruletest.Row{"numbers": experimentStatsRows, "flags that fit": eligibleRows, "flags without calls": uncalledRows, "results": analysisRows} {
		t.Run(name, func(t *testing.T) {
			w := statsWorld(t)
			w.Run(t, flagtest.RoomCalls(t, w), rows)
		})
	}
}

// startedExperiment returns the body of an experiment with dates.
func startedExperiment(name, start, end string) string {
	body := `{"name":"` + name + `","feature_flag_key":"` + name + `","start_date":"` + start + `"`
	if end != "" {
		body += `,"end_date":"` + end + `"`
	}
	return body + `}`
}

// Row n is at 2026-01-02 12:00:00 and n seconds. The last 30 days of row 9 begin at
// 2025-12-03T12:00:09Z, and the 30 days before at 2025-11-03T12:00:09Z.
var experimentStatsRows = []ruletest.Row{
	{"experiments.md §3.1 none", "bob", "experimentstats", ``, `{"launched_last_30d":0,"launched_previous_30d":0,"percent_change":0,"active_experiments":0,"completed_last_30d":0}`},
	{"experiments.md §3.1 a draft", "bob", "experiment", `{"name":"draft","feature_flag_key":"draft"}`, `{"name":"draft"}`},
	{"experiments.md §3.1 in the last 30 days", "bob", "experiment", startedExperiment("a", "2025-12-03T12:00:09Z", ""), `{"name":"a"}`},
	{"experiments.md §3.1 in the 30 days before", "bob", "experiment", startedExperiment("b", "2025-12-03T12:00:08Z", "2025-12-03T12:00:09Z"), `{"name":"b"}`},
	{"experiments.md §3.1 in the 30 days before", "bob", "experiment", startedExperiment("c", "2025-11-03T12:00:09Z", "2025-12-03T12:00:08Z"), `{"name":"c"}`},
	{"experiments.md §3.1 older", "bob", "experiment", startedExperiment("d", "2025-11-03T12:00:08Z", "2026-01-02T12:00:09Z"), `{"name":"d"}`},
	{"experiments.md §3.1 in the future", "bob", "experiment", startedExperiment("e", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"), `{"name":"e"}`},
	{"experiments.md §3.1 another project's", "dan", "experiment", startedExperiment("theirs", "2026-01-01T00:00:00Z", ""), `{"name":"theirs"}`},
	{"experiments.md §3.1 launched a, before b and c; active a; completed b and d; (1-2)/2", "bob", "experimentstats", ``,
		`{"launched_last_30d":1,"launched_previous_30d":2,"percent_change":-50,"active_experiments":1,"completed_last_30d":2}`},
	{"experiments.md §3.1 a second later a and b count for the time before", "bob", "experimentstats", ``,
		`{"launched_last_30d":0,"launched_previous_30d":2,"percent_change":-100,"active_experiments":1,"completed_last_30d":1}`},
	{"experiments.md §3.1 archived ones count", "bob", "changeexperiment <b>", `{"archived":true}`, `{"archived":true}`},
	{"experiments.md §3.1 a deleted one does not", "bob", "changeexperiment <d>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.1 a paused one is active", "bob", "life <a> pause", ``, `{"status":"paused"}`},
	{"experiments.md §3.1 four that are launched now", "bob", "experiment", startedExperiment("f", "2025-12-20T00:00:00Z", ""), `{"name":"f"}`},
	{"experiments.md §3.1 four that are launched now", "bob", "experiment", startedExperiment("g", "2025-12-21T00:00:00Z", ""), `{"name":"g"}`},
	{"experiments.md §3.1 four that are launched now", "bob", "experiment", startedExperiment("h", "2025-12-22T00:00:00Z", ""), `{"name":"h"}`},
	{"experiments.md §3.1 four that are launched now", "bob", "experiment", startedExperiment("i", "2025-12-23T00:00:00Z", ""), `{"name":"i"}`},
	{"experiments.md §3.1 four after a and b; c is too old by now; (4-2)/2", "bob", "experimentstats", ``, `{"launched_last_30d":4,"launched_previous_30d":2,"percent_change":100,"active_experiments":5,"completed_last_30d":0}`},
	{"experiments.md §3.1 four after three; (4-3)/3, with one decimal", "bob", "experiment", startedExperiment("j", "2025-11-20T00:00:00Z", ""), `{"name":"j"}`},
	{"experiments.md §3.1 four after three; (4-3)/3, with one decimal", "bob", "experimentstats", ``, `{"launched_last_30d":4,"launched_previous_30d":3,"percent_change":33.3,"active_experiments":6}`},
	{"clients.md §11.3 hidden ones do not count", "ann", "rule", `{"resource":"experiment","access_level":"none"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 hidden ones do not count", "cyd", "experimentstats", ``, `{"launched_last_30d":0,"launched_previous_30d":0,"active_experiments":0}`},
	{"clients.md §11.3 nor flags of hidden ones", "cyd", "uncalled", ``, `{"count":0,"results":[]}`},
}

var eligibleRows = []ruletest.Row{
	{"experiments.md §3.1", "bob", "create", `{"key":"fit","name":"Prices","filters":{"groups":[{"properties":[]}],` + variantShares("50", "50") + `}}`, `{"id":1}`},
	{"experiments.md §3.1 one variant", "bob", "create", `{"key":"single","filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"control","rollout_percentage":100}]}}}`, `{"id":2}`},
	{"experiments.md §3.1 control is second", "bob", "create", `{"key":"second","filters":{"groups":[{"properties":[]}],"multivariate":{"variants":[{"key":"test","rollout_percentage":50},{"key":"control","rollout_percentage":50}]}}}`, `{"id":3}`},
	{"experiments.md §3.1 without variants", "bob", "create", `{"key":"boolean"}`, `{"id":4}`},
	{"experiments.md §3.1 an experiment's", "bob", "experiment", `{"name":"E","feature_flag_key":"e"}`, `{"feature_flag":{"id":5}}`},
	{"experiments.md §3.1 another project's", "dan", "create", `{"key":"theirs","filters":{"groups":[{"properties":[]}],` + variantShares("50", "50") + `}}`, `{"id":6}`},
	{"experiments.md §3.1 newest first", "bob", "eligible", ``, `{"count":2,"results":[{"key":"e"},{"key":"fit"}]}`},
	{"experiments.md §3.1 limit and offset", "bob", "eligible", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"key":"fit"}]}`},
	{"experiments.md §3.1 search", "bob", "eligible PRICE", ``, `{"count":1,"results":[{"key":"fit"}]}`},
	{"experiments.md §3.1 search", "bob", "eligible single", ``, `{"count":0,"results":[]}`},
	{"experiments.md §3.1 deleted", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.1 deleted", "bob", "change 5", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.1 deleted", "bob", "eligible", ``, `{"count":1,"results":[{"key":"fit"}]}`},
	{"clients.md §13 an archived flag does not fit", "bob", "change 1", `{"archived":true}`, `{"archived":true}`},
	{"clients.md §13 an archived flag does not fit", "bob", "eligible", ``, `{"count":0,"results":[]}`},
	{"clients.md §13 an archived flag does not fit", "bob", "experiment", `{"name":"F","feature_flag_key":"fit"}`, `400 invalid_input feature_flag_key Feature flag is not eligible for experiments.`},
	{"clients.md §13 a flag with one variant does not fit", "bob", "experiment", `{"name":"F","feature_flag_key":"single"}`, `400 invalid_input feature_flag_key Feature flag is not eligible for experiments.`},
	{"clients.md §13 a remote configuration does not fit", "bob", "create", `{"key":"config","is_remote_configuration":true,"filters":{"groups":[{"properties":[],"rollout_percentage":100}],` + variantShares("50", "50") + `}}`, `{"id":7,"is_remote_configuration":true}`},
	{"clients.md §13 a remote configuration does not fit", "bob", "experiment", `{"name":"F","feature_flag_key":"config"}`, `400 invalid_input feature_flag_key Feature flag is not eligible for experiments.`},
	{"experiments.md §3.1 nor is it listed", "bob", "eligible", ``, `{"count":0,"results":[]}`},
}

var uncalledRows = []ruletest.Row{
	{"experiments.md §3.1 a draft", "bob", "experiment", `{"name":"draft","feature_flag_key":"draft"}`, `{"id":1}`},
	{"experiments.md §3.1 one with calls", "bob", "experiment", startedExperiment("called", "2026-01-01T00:00:00Z", ""), `{"id":2}`},
	{"experiments.md §3.1 without", "bob", "experiment", startedExperiment("silent", "2026-01-01T00:00:00Z", ""), `{"id":3}`},
	{"experiments.md §3.1 without", "bob", "experiment", startedExperiment("later", "2026-01-02T00:00:00Z", ""), `{"id":4}`},
	{"experiments.md §3.1 one that has ended", "bob", "experiment", startedExperiment("ended", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"), `{"id":5}`},
	{"experiments.md §3.1 newest first", "bob", "uncalled", ``, `{"count":2,"results":[{"name":"later"},{"name":"silent"}]}`},
	{"experiments.md §3.1 a page", "bob", "uncalled", `{"Limit":1,"Offset":1}`, `{"count":2,"results":[{"name":"silent"}]}`},
	{"experiments.md §3.1 by the flag's key of now", "bob", "get 3", ``, `{"key":"silent"}`},
	{"experiments.md §3.1 by the flag's key of now", "bob", "changeexperiment 2", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.1 by the flag's key of now", "bob", "change 2", `{"key":"was-called"}`, `{"key":"was-called"}`},
	{"experiments.md §3.1 by the flag's key of now", "bob", "change 3", `{"key":"called"}`, `{"key":"called"}`},
	{"experiments.md §3.1 by the flag's key of now", "bob", "uncalled", ``, `{"count":1,"results":[{"name":"later"}]}`},
	{"experiments.md §3.1 a paused one", "bob", "life 4 pause", ``, `{"status":"paused"}`},
	{"experiments.md §3.1 a paused one", "bob", "uncalled", ``, `{"count":1,"results":[{"name":"later","status":"paused"}]}`},
	{"experiments.md §3.1 an archived one", "bob", "experiment", `{"name":"away","feature_flag_key":"away","start_date":"2026-01-01T00:00:00Z","end_date":"2026-01-02T00:00:00Z","archived":true}`, `{"archived":true}`},
	{"experiments.md §3.1 an archived one", "bob", "uncalled", ``, `{"count":1,"results":[{"name":"later"}]}`},
	{"experiments.md §3.1 another project's", "dan", "uncalled", ``, `{"count":0}`},
}

var analysisRows = []ruletest.Row{
	{"experiments.md §1.1", "bob", "savedmetric", `{"name":"Saved","query":` + metricOf("s1", "a") + `}`, `{"id":1}`},
	{"experiments.md §1.1", "bob", "savedmetric", `{"name":"Other","query":{"kind":"ExperimentMetric","name":"its own","metric_type":"mean","uuid":"s2","source":{"kind":"EventsNode","event":"b"}}}`, `{"id":2}`},
	{"experiments.md §1.1", "bob", "experiment", `{"name":"E","feature_flag_key":"e","start_date":"2026-01-01T00:00:00Z","metrics":[` + metricOf("m1", "c") + `,` + metricOf("m2", "d") + `],"metrics_secondary":[` + metricOf("m3", "e") + `],
		"saved_metrics_ids":[{"id":1},{"id":2,"metadata":{"type":"secondary"}}],"primary_metrics_ordered_uuids":["s1","m2"],"exposure_criteria":{"filterTestAccounts":false},"only_count_matured_users":true,
		"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":20},{"key":"a","rollout_percentage":30},{"key":"b","rollout_percentage":50}],"aggregation_group_type_index":1},"excluded_variants":["a"]}`, `{"id":1}`},
	{"experiments.md §1.1, §3.5 the order of display, then the rest, and names of saved metrics", "bob", "analysis 1", ``, `{"FlagKey":"e","Start":"2026-01-01T00:00:00Z","End":"0001-01-01T00:00:00Z","Stats":{"method":"bayesian"},
		"Criteria":{"filterTestAccounts":false},"Matured":true,"GroupType":1,"Excluded":["a"],"Variants":[{"Key":"control","Share":20},{"Key":"a","Share":30},{"Key":"b","Share":50}],
		"Primary":[{"uuid":"s1","name":"Saved"},{"uuid":"m2"},{"uuid":"m1"}],"Secondary":[{"uuid":"m3"},{"uuid":"s2","name":"its own"}]}`},
	{"experiments.md §1.1 variants and key of the flag as it is", "bob", "change 1", `{"key":"e2","filters":{"groups":[{"properties":[]}],` + variantShares("40", "60") + `}}`, `{"version":2}`},
	{"experiments.md §1.1 variants and key of the flag as it is", "bob", "analysis 1", ``, `{"FlagKey":"e2","GroupType":null,"Variants":[{"Key":"control","Share":40},{"Key":"test","Share":60}]}`},
	{"experiments.md §2.1 a method, kept with the rest of the configuration", "bob", "changeexperiment 1", `{"stats_config":{"method":"frequentist","frequentist":{"alpha":0.1}}}`, `{"stats_config":{"method":"frequentist","frequentist":{"alpha":0.1}}}`},
	{"experiments.md §2.1 a method, kept with the rest of the configuration", "bob", "analysis 1", ``, `{"Stats":{"method":"frequentist","frequentist":{"alpha":0.1}}}`},
	{"experiments.md §1.2 an end", "bob", "life 1 end", ``, `{"status":"stopped"}`},
	{"experiments.md §1.2 an end", "bob", "analysis 1", ``, `{"End":"2026-01-02T12:00:09Z"}`},
	{"experiments.md §3.2 unknown, foreign and deleted ones", "bob", "analysis 99", ``, `null`},
	{"experiments.md §3.2 unknown, foreign and deleted ones", "dan", "analysis 1", ``, `null`},
	{"experiments.md §3.2 unknown, foreign and deleted ones", "bob", "changeexperiment 1", `{"deleted":true}`, `{"deleted":true}`},
	{"experiments.md §3.2 unknown, foreign and deleted ones", "bob", "analysis 1", ``, `null`},
}
