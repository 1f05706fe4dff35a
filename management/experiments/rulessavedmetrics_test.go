package experiments_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/management/internal/flagtest"
	"github.com/bunting-flags/bunting/management/internal/ruletest"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

func TestSavedMetrics_Rules(t *testing.T) {
	flagtest.Ask(t, map[string][]ruletest.Row{
		"records": savedRecordRows, "queries": savedQueryRows, "links": savedLinkRows, "metrics of experiments": metricRows, "excluded variants": excludedRows, "access": savedAccessRows,
	})
}

// savedBody returns the body of a saved metric.
func savedBody(name, more string) string {
	return `{"name":"` + name + `","query":` + meanMetric + more + `}`
}

const sameMetricName = `400 unique name A shared metric with this name already exists.`

var savedRecordRows = flagtest.Rows(
	[]ruletest.Row{
		{"experiments.md §3.9", "bob", "savedmetric", savedBody("sales", `,"description":"money","tags":[" Money","money","","B "]`), `{"id":1,"name":"sales","description":"money","tags":["money","b"],"created_by":{"first_name":"bob"},
			"created_at":"2026-01-02T12:00:01Z","updated_at":"2026-01-02T12:00:01Z","user_access_level":"editor","query":{"kind":"ExperimentMetric","metric_type":"mean","uuid":"(like) ^0191f0a2-","fingerprint":"(absent)"}}`},
	},
	flagtest.Each("experiments.md §3.9 name: required, at most 400, unique ignoring case", "bob", "savedmetric",
		[2]string{`{"query":` + meanMetric + `}`, `400 required name This field is required.`},
		[2]string{savedBody("", ``), `400 blank name This field may not be blank.`},
		[2]string{`{"name":` + flagtest.Text(401) + `,"query":` + meanMetric + `}`, `400 max_length name Ensure this field has no more than 400 characters.`},
		[2]string{`{"name":` + flagtest.Text(400) + `,"query":` + meanMetric + `}`, `{"id":2}`},
		[2]string{savedBody("sales", ``), sameMetricName},
		[2]string{savedBody("SaLeS", ``), sameMetricName},
		[2]string{savedBody("Visits", ``), `{"id":3}`},
		[2]string{savedBody("Äpfel", ``), `{"id":4}`},
		[2]string{savedBody("äpfel", ``), sameMetricName},
	),
	flagtest.Each("experiments.md §3.9 in a change", "bob", "changesavedmetric 3",
		[2]string{`{"name":"SALES"}`, sameMetricName},
		[2]string{`{"name":"VISITS"}`, `{"name":"VISITS"}`},
		[2]string{`{"tags":["x"],"description":null}`, `{"tags":["x"],"description":"","name":"VISITS","updated_at":"2026-01-02T12:00:13Z","created_at":"2026-01-02T12:00:08Z"}`},
		[2]string{`{"tags":[` + flagtest.Text(256) + `]}`, `400 max_length tags__0`},
	),
	[]ruletest.Row{
		{"experiments.md §3.9 by lower-case name", "bob", "savedmetrics", ``, `{"count":4,"results":[{"name":"sales"},{"name":"VISITS"},{"id":2},{"name":"Äpfel"}]}`},
		{"§1.5 of another project", "dan", "savedmetrics", ``, `{"count":0,"results":[]}`},
		{"§1.5 of another project", "dan", "changesavedmetric 1", `{"name":"x"}`, `404 not_found - Not found.`},
		{"§1.5 of another project", "dan", "dropsavedmetric 1", ``, `404 not_found - Not found.`},
		{"experiments.md §3.9 no id", "bob", "getsavedmetric x", ``, `404 not_found - Not found.`},
	},
)

var savedQueryRows = flagtest.Rows(
	flagtest.Each("experiments.md §3.9 other kinds 400", "bob", "savedmetric",
		[2]string{`{"name":"S"}`, `400 required query This field is required.`},
		[2]string{`{"name":"S","query":null}`, `400 null query This field may not be null.`},
		[2]string{`{"name":"S","query":[]}`, `400 not_a_dict query Expected a dictionary of items but got type "list".`},
		[2]string{`{"name":"S","query":{}}`, `400 invalid_input query metric kind must be 'ExperimentMetric'`},
		[2]string{`{"name":"S","query":{"kind":"TrendsQuery"}}`, `400 invalid_input query metric kind must be 'ExperimentMetric'`},
		[2]string{`{"name":"S","query":{"kind":"ExperimentMetric"}}`, `400 invalid_choice query "" is not a valid choice.`},
		[2]string{`{"name":"S","query":{"kind":"ExperimentMetric","metric_type":"median"}}`, `400 invalid_choice query "median" is not a valid choice.`},
		[2]string{`{"name":"S","query":{"kind":"ExperimentMetric","metric_type":"funnel"}}`, `400 invalid_input query a funnel needs at least one step in series`},
		[2]string{`{"name":"S","query":{"kind":"ExperimentMetric","metric_type":"funnel","series":[]}}`, `400 invalid_input query a funnel needs at least one step in series`},
		[2]string{`{"name":"S","query":{"kind":"ExperimentMetric","metric_type":"funnel","series":{}}}`, `400 invalid_input query a funnel needs at least one step in series`},
		[2]string{`{"name":"S","query":{"kind":"ExperimentMetric","metric_type":"funnel","uuid":"mine","series":[{"kind":"EventsNode","event":"e"}]}}`, `{"id":1,"query":{"uuid":"mine"}}`},
	),
	[]ruletest.Row{
		{"experiments.md §3.9 a new query keeps the uuid", "bob", "changesavedmetric 1", `{"query":` + meanMetric + `}`, `{"query":{"metric_type":"mean","uuid":"mine"}}`},
		{"experiments.md §3.9 unless it has its own", "bob", "changesavedmetric 1", `{"query":` + metricOf("other", "e") + `}`, `{"query":{"uuid":"other"}}`},
		{"experiments.md §3.9 a refused query", "bob", "changesavedmetric 1", `{"name":"T","query":{"kind":"TrendsQuery"}}`, `400 invalid_input query metric kind must be 'ExperimentMetric'`},
		{"experiments.md §3.9 changes nothing", "bob", "getsavedmetric 1", ``, `{"name":"S","query":{"uuid":"other"}}`},
	},
)

var savedLinkRows = flagtest.Rows(
	[]ruletest.Row{
		{"experiments.md §3.9", "bob", "savedmetric", savedBody("Sales", ``), `{"id":1}`},
		{"experiments.md §3.9", "bob", "savedmetric", savedBody("Visits", ``), `{"id":2}`},
		{"experiments.md §3.9", "bob", "experiment", `{"name":"E","feature_flag_key":"e","saved_metrics_ids":[{"id":1,"metadata":{"type":"secondary","breakdowns":["x"]}}]}`,
			`{"saved_metrics_ids":[{"id":1,"metadata":{"type":"secondary","breakdowns":["x"]}}],"saved_metrics":[{"id":1,"experiment":1,"saved_metric":1,"name":"Sales","created_at":"2026-01-02T12:00:03Z","metadata":{"type":"secondary"},
			"query":{"metric_type":"mean","fingerprint":"(like) ^[0-9a-f]{64}$"}}]}`},
	},
	flagtest.Each("experiments.md §3.9 refusals", "bob", "changeexperiment <E>",
		[2]string{`{"saved_metrics_ids":{}}`, `400 invalid_input saved_metrics_ids Saved metrics must be a list`},
		[2]string{`{"saved_metrics_ids":7}`, `400 invalid_input saved_metrics_ids Saved metrics must be a list`},
		[2]string{`{"saved_metrics_ids":[7]}`, `400 invalid_input saved_metrics_ids Saved metric must have an id`},
		[2]string{`{"saved_metrics_ids":[{}]}`, `400 invalid_input saved_metrics_ids Saved metric must have an id`},
		[2]string{`{"saved_metrics_ids":[{"id":"one"}]}`, `400 invalid_input saved_metrics_ids Saved metric must have an id`},
		[2]string{`{"saved_metrics_ids":[{"id":1,"metadata":{}}]}`, `400 invalid_input saved_metrics_ids Metadata must have a type key`},
		[2]string{`{"saved_metrics_ids":[{"id":1,"metadata":7}]}`, `400 invalid_input saved_metrics_ids Metadata must have a type key`},
		[2]string{`{"saved_metrics_ids":[{"id":1,"metadata":{"type":"tertiary"}}]}`, `400 invalid_choice saved_metrics_ids "tertiary" is not a valid choice.`},
		[2]string{`{"saved_metrics_ids":[{"id":99}]}`, `400 does_not_exist saved_metrics_ids Saved metric does not exist or does not belong to this project`},
		[2]string{`{"saved_metrics_ids":[{"id":1},{"id":2},{"id":1}]}`, `400 invalid_input saved_metrics_ids The saved metric 1 is listed twice.`},
		[2]string{`{"saved_metrics_ids":` + flagtest.List(101, `{"id":1}`) + `}`, `400 max_length saved_metrics_ids 101 metrics are too many: an experiment may have at most 100.`},
		[2]string{`{"saved_metrics_ids":[{"id":1,"metadata":{"typ":"primary"}}]}`, `400 unknown_key *`}, // decision 30
	),
	[]ruletest.Row{
		{"experiments.md §3.9 refusals change nothing", "bob", "getexperiment <E>", ``, `{"saved_metrics_ids":[{"id":1,"metadata":{"type":"secondary"}}]}`},
		{"experiments.md §3.9 a link that stays keeps its id and time", "bob", "changeexperiment <E>", `{"saved_metrics_ids":[{"id":2,"metadata":null},{"id":1,"metadata":{"type":"primary"}}]}`,
			`{"saved_metrics":[{"id":2,"saved_metric":2,"metadata":{"type":"primary"},"created_at":"2026-01-02T12:00:17Z"},{"id":1,"saved_metric":1,"metadata":{"type":"primary"},"created_at":"2026-01-02T12:00:03Z"}]}`},
		{"experiments.md §3.9 the metric of now", "bob", "changesavedmetric 1", `{"name":"Money","query":` + metricOf("new", "paid") + `}`, `{"id":1}`},
		{"experiments.md §3.9 the metric of now", "bob", "getexperiment <E>", ``, `{"saved_metrics":[{"name":"Visits"},{"name":"Money","query":{"uuid":"new","source":{"event":"paid"}}}]}`},
		{"experiments.md §3.9 other fields leave the links", "bob", "changeexperiment <E>", `{"description":"x"}`, `{"saved_metrics":[{"id":2},{"id":1}]}`},
		{"experiments.md §3.9 of a deleted metric", "bob", "dropsavedmetric 2", ``, `null`},
		{"experiments.md §3.9 of a deleted metric", "bob", "getexperiment <E>", ``, `{"saved_metrics":[{"id":1}]}`},
		{"experiments.md §3.9 of a deleted experiment", "bob", "changeexperiment <E>", `{"deleted":true}`, `{"deleted":true}`},
		{"experiments.md §3.9 of a deleted experiment", "bob", "dropsavedmetric 1", ``, `null`},
		{"experiments.md §3.9 of a deleted experiment", "bob", "changeexperiment <E>", `{"deleted":false}`, `{"saved_metrics":[],"saved_metrics_ids":[]}`},
	},
)

// metricBody returns the body of a change of an experiment's metrics.
func metricBody(metrics string) string { return `{"metrics":[` + metrics + `]}` }

var metricRows = flagtest.Rows(
	[]ruletest.Row{
		{"experiments.md §3.6 a uuid and a fingerprint", "bob", "experiment", `{"name":"E","feature_flag_key":"e","metrics":[{"kind":"ExperimentMetric","metric_type":"mean"},` + metricOf("m2", "a") + `]}`,
			`{"metrics":[{"uuid":"(like) ^0191f0a2-","fingerprint":"(like) ^[0-9a-f]{64}$"},{"uuid":"m2","fingerprint":"(like) ^[0-9a-f]{64}$"}]}`},
	},
	flagtest.Each("experiments.md §3.6 what a metric needs", "bob", "changeexperiment <E>",
		[2]string{metricBody(metricOf("a", "e") + `,7`), `400 invalid_input metrics Invalid metric at index 1: metric kind must be 'ExperimentMetric'`},
		[2]string{metricBody(`{"kind":"ExperimentTrendsQuery"}`), `400 invalid_input metrics Invalid metric at index 0: metric kind must be 'ExperimentMetric'`},
		[2]string{metricBody(`{"kind":"ExperimentMetric","metric_type":"count"}`), `400 invalid_choice metrics "count" is not a valid choice.`},
		[2]string{metricBody(metricOf("a", "e") + `,` + metricOf("b", "e") + `,{"kind":"ExperimentMetric","metric_type":"funnel","series":[]}`), `400 invalid_input metrics Invalid metric at index 2: a funnel needs at least one step in series`},
		[2]string{`{"metrics_secondary":[{"kind":"ExperimentMetric"}]}`, `400 invalid_choice metrics_secondary`},
	),
	flagtest.Each("experiments.md §3.6 a repeated uuid", "bob", "changeexperiment <E>",
		[2]string{metricBody(metricOf("a", "e") + `,` + metricOf("a", "f")), `400 invalid_input metrics Duplicate metric UUID: a`},
		[2]string{`{"metrics_secondary":[` + metricOf("m2", "f") + `]}`, `400 invalid_input metrics_secondary Duplicate metric UUID: m2`},
		[2]string{`{"metrics_secondary":[` + metricOf("m3", "f") + `,` + metricOf("", "f") + `]}`, `{"metrics_secondary":[{"uuid":"m3"},{"uuid":"(like) ^0191f0a2-"}],"metrics":[{"metric_type":"mean"},{"uuid":"m2"}]}`},
	),
	flagtest.Each("at most 100 metrics", "bob", "changeexperiment <E>",
		[2]string{`{"metrics":` + flagtest.List(101, meanMetric) + `}`, `400 max_length metrics 101 metrics are too many: an experiment may have at most 100.`},
		[2]string{`{"metrics":` + flagtest.List(100, meanMetric) + `}`, `{"name":"E"}`},
		[2]string{`{"metrics":[],"metrics_secondary":null}`, `{"metrics":[],"metrics_secondary":[]}`},
	),
)

var excludedRows = flagtest.Rows(
	[]ruletest.Row{{"experiments.md §1.1", "bob", "experiment", experimentBody("E", `[{"key":"control","rollout_percentage":40},{"key":"a","rollout_percentage":30},{"key":"b","rollout_percentage":30}]`), `{"excluded_variants":null}`}},
	flagtest.Each("experiments.md §1.1 excluded_variants", "bob", "changeexperiment <E>",
		[2]string{`{"excluded_variants":["a"]}`, `{"excluded_variants":["a"]}`},
		[2]string{`{"excluded_variants":["b","b"]}`, `{"excluded_variants":["b","b"]}`},
		[2]string{`{"excluded_variants":["a","b"]}`, `400 invalid_input excluded_variants At least one variant besides the baseline must remain.`},
		[2]string{`{"excluded_variants":["control"]}`, `400 invalid_input excluded_variants The baseline "control" cannot be excluded.`},
		[2]string{`{"excluded_variants":["c"]}`, `400 invalid_input excluded_variants Variant "c" is not a variant of the feature flag.`},
		[2]string{`{"excluded_variants":["holdout-1"]}`, `400 invalid_input excluded_variants Variant "holdout-1" is not a variant of the feature flag.`},
		[2]string{`{"excluded_variants":[7]}`, `400 invalid_input excluded_variants Expected a list of strings.`},
		[2]string{`{"excluded_variants":"a"}`, `400 not_a_list excluded_variants Expected a list of items but got type "str".`},
		[2]string{`{"excluded_variants":[]}`, `{"excluded_variants":[]}`},
		[2]string{`{"excluded_variants":null}`, `{"excluded_variants":null}`},
	),
	flagtest.Each("experiments.md §2.1 another baseline", "bob", "changeexperiment <E>",
		[2]string{`{"stats_config":{"baseline_variant_key":"a"},"excluded_variants":["control"]}`, `{"excluded_variants":["control"]}`},
		[2]string{`{"excluded_variants":["a"]}`, `400 invalid_input excluded_variants The baseline "a" cannot be excluded.`},
		[2]string{`{"stats_config":{"baseline_variant_key":"nothing"},"excluded_variants":["control"]}`, `400 invalid_input excluded_variants The baseline "control" cannot be excluded.`},
	),
	flagtest.Each("experiments.md §2.1 method", "bob", "changeexperiment <E>",
		[2]string{`{"stats_config":{"method":"Bayesian"}}`, `400 invalid_input stats_config Invalid stats method: 'Bayesian'. Must be one of: bayesian, frequentist`},
		[2]string{`{"stats_config":{"method":7}}`, `400 invalid_input stats_config Invalid stats method: '7'. Must be one of: bayesian, frequentist`},
		[2]string{`{"stats_config":{"method":null}}`, `{"stats_config":{"method":null}}`},
		[2]string{`{"stats_config":null}`, `{"stats_config":{"method":"bayesian"}}`},
	),
)

var savedAccessRows = []ruletest.Row{
	{"clients.md §11.3", "bob", "savedmetric", savedBody("Sales", ``), `{"id":1}`},
	{"clients.md §11.3", "ann", "rule", `{"access_level":"viewer","resource":"experiment"}`, `{"access_level":"viewer"}`},
	{"clients.md §11.3 viewers of experiments", "cyd", "getsavedmetric 1", ``, `{"user_access_level":"viewer"}`},
	{"clients.md §11.3 viewers of experiments", "cyd", "changesavedmetric 1", `{"name":7}`, flagtest.MayNotEdit},
	{"clients.md §11.3 viewers of experiments", "cyd", "dropsavedmetric 1", ``, flagtest.MayNotEdit},
	{"clients.md §11.3 viewers of experiments", "cyd", "savedmetric", savedBody("Visits", ``), flagtest.MayNotEdit},
	{"clients.md §11.3 without access", "ann", "rule", `{"access_level":"none","resource":"experiment"}`, `{"access_level":"none"}`},
	{"clients.md §11.3 without access", "cyd", "getsavedmetric 1", ``, flagtest.MayNotView},
	{"clients.md §11.3 without access", "cyd", "savedmetrics", ``, `{"count":0,"results":[]}`},
	{"clients.md §11.3 administrators", "gus", "savedmetrics", ``, `{"count":1,"results":[{"name":"Sales"}]}`},
}

// A fingerprint changes if and only if a change affects the results of a metric (experiments.md
// §3.6). The first body has the fingerprint with which the others are compared.
func TestExperiments_Fingerprints(t *testing.T) {
	w := flagtest.New(t)
	const three = `"parameters":{"feature_flag_variants":[{"key":"control","rollout_percentage":40},{"key":"a","rollout_percentage":20},{"key":"b","rollout_percentage":20},{"key":"c","rollout_percentage":20}]}`
	metric := func(members string) string {
		return `"metrics":[{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"e"}` + members + `}]`
	}
	first := ""
	for i, c := range []struct {
		name, members string
		same          bool
	}{
		{"the first", metric(``), true},
		{"a name, a uuid and a fingerprint of the client", metric(`,"name":"Sales","uuid":"mine","fingerprint":"f"`), true},
		{"the order of members", `"metrics":[{"source":{"event":"e","kind":"EventsNode"},"metric_type":"mean","kind":"ExperimentMetric"}]`, true},
		{"an empty breakdown", metric(`,"breakdownFilter":{}`), true},
		{"matured users of the metric", metric(`,"only_count_matured_users":true`), true},
		{"other variants that are not excluded", metric(``) + `,"excluded_variants":[]`, true},
		{"all users count", metric(``) + `,"only_count_matured_users":false`, true},
		{"the default method", metric(``) + `,"stats_config":{"method":"bayesian"}`, true},
		{"an empty criterion", metric(``) + `,"exposure_criteria":null`, true},
		{"another event", `"metrics":[{"kind":"ExperimentMetric","metric_type":"mean","source":{"kind":"EventsNode","event":"f"}}]`, false},
		{"another type", `"metrics":[{"kind":"ExperimentMetric","metric_type":"ratio","source":{"kind":"EventsNode","event":"e"}}]`, false},
		{"a breakdown", metric(`,"breakdownFilter":{"breakdowns":[{"property":"p"}]}`), false},
		{"another method", metric(``) + `,"stats_config":{"method":"frequentist"}`, false},
		{"a start", metric(``) + `,"start_date":"2026-01-01T00:00:00Z"`, false},
		{"exposure criteria", metric(``) + `,"exposure_criteria":{"filterTestAccounts":false}`, false},
		{"only matured users", metric(``) + `,"only_count_matured_users":true`, false},
		{"excluded variants", metric(``) + `,"excluded_variants":["a","b"]`, false},
	} {
		got := fingerprintOf(t, w, fmt.Sprintf(`{"name":"E","feature_flag_key":"e%d",%s,%s}`, i, c.members, three))
		if first == "" {
			first = got
		}
		if (got == first) != c.same {
			t.Errorf("%s: the fingerprint is the same: %v, want %v", c.name, got == first, c.same)
		}
	}
	// The order of excluded variants does not matter, nor does the zone of a time.
	for name, pair := range map[string][2]string{
		"the order of excluded variants": {metric(``) + `,"excluded_variants":["a","b"]`, metric(``) + `,"excluded_variants":["b","a"]`},
		"the zone of the start":          {metric(``) + `,"start_date":"2026-01-01T00:00:00Z"`, metric(``) + `,"start_date":"2026-01-01T01:00:00+01:00"`},
	} {
		a, b := fingerprintOf(t, w, fmt.Sprintf(`{"name":"E","feature_flag_key":"same","deleted":false,%s,%s}`, pair[0], three)), fingerprintOf(t, w, fmt.Sprintf(`{"name":"E","feature_flag_key":"same",%s,%s}`, pair[1], three))
		if a != b {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
}

// fingerprintOf creates an experiment and returns the fingerprint of its first metric.
func fingerprintOf(t *testing.T, w *ruletest.World, body string) string {
	t.Helper()
	x, err := w.Experiments.Create(t.Context(), w.Scope(t, "bob"), ruletest.Body(t, body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	var metrics []struct{ Fingerprint string }
	if err := json.Unmarshal(storage.Encode(x), &struct{ Metrics any }{&metrics}); err != nil || len(metrics) != 1 {
		t.Fatalf("%s has %d metrics, %v", body, len(metrics), err)
	}
	return metrics[0].Fingerprint
}
