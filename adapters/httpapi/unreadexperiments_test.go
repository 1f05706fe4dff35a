package httpapi_test

import (
	"encoding/json"
	"testing"
)

// The nested objects of experiments: their own metrics and shared ones, exposure criteria, the
// computation of results, parameters; and the metrics of guarded rollouts.
func TestQuestions_ExperimentsMisspeltAndUnread(t *testing.T) {
	t.Parallel()
	o := newOffice(t, "sqlite::memory:")
	body := func(text string) json.RawMessage { return json.RawMessage(text) }
	noEffect := func(text string) map[string]string { return map[string]string{"Bunting-Warning": text} }
	const experiments, saved, aMetric = "POST /api/projects/1/experiments/", "POST /api/projects/1/experiment_saved_metrics/", "a metric's object"
	const mean = `{"kind": "ExperimentMetric", "metric_type": "mean", "source": {"kind": "EventsNode", "event": "a"}`
	named := func(more string) json.RawMessage { return body(`{"name": "x", "feature_flag_key": "x", ` + more + `}`) }
	o.walk(t, []manageStep{
		{Request: experiments, Body: named(`"metrics": [` + mean + `, "gaol": "decrease"}]`), Status: 400, Error: unknownIn("metrics__0__gaol", "metrics[0].gaol", aMetric, "goal")},
		{Request: experiments, Body: named(`"metrics": [` + mean + `}, {"kind": "ExperimentMetric", "metric_type": "ratio", "numerator": {"kind": "EventsNode", "event": "a", "propertys": []}, "denominator": {"kind": "EventsNode", "event": "b"}}]`), Status: 400,
			Error: unknownIn("metrics__1__numerator__propertys", "metrics[1].numerator.propertys", aMetric, "properties")},
		{Request: experiments, Body: named(`"metrics_secondary": [{"kind": "ExperimentMetric", "metric_type": "funnel", "series": [{"kind": "EventsNode", "event": "a"}], "conversion_windw": 7}]`), Status: 400,
			Error: unknownIn("metrics_secondary__0__conversion_windw", "metrics_secondary[0].conversion_windw", aMetric, "conversion_window")},
		{Request: experiments, Body: named(`"metrics": [{"kind": "ExperimentMetric", "metric_type": "retention", "start_event": {"kind": "EventsNode", "event": "a"}, "completion_event": {"kind": "EventsNode", "event": "b"}, "retention_window_strat": 1}]`), Status: 400,
			Error: unknownIn("metrics__0__retention_window_strat", "metrics[0].retention_window_strat", aMetric, "retention_window_start")},
		{Request: experiments, Body: named(`"exposure_criteria": {"filterTestAcounts": true}`), Status: 400, Error: unknownIn("exposure_criteria__filterTestAcounts", "exposure_criteria.filterTestAcounts", "exposure criteria", "filterTestAccounts")},
		{Request: experiments, Body: named(`"exposure_criteria": {"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "a", "propertie": []}}`), Status: 400,
			Error: unknownIn("exposure_criteria__exposure_config__propertie", "exposure_criteria.exposure_config.propertie", "exposure criteria", "properties")},
		{Request: experiments, Body: named(`"stats_config": {"metod": "frequentist"}`), Status: 400, Error: unknownIn("stats_config__metod", "stats_config.metod", "a stats_config", "method")},
		{Request: experiments, Body: named(`"stats_config": {"method": "frequentist", "frequentist": {"alfa": 0.1}}`), Status: 400, Error: unknownIn("stats_config__frequentist__alfa", "stats_config.frequentist.alfa", "a stats_config", "alpha")},
		{Request: experiments, Body: named(`"parameters": {"feature_flag_varaints": []}`), Status: 400, Error: unknownOf("parameters__feature_flag_varaints", "parameters.feature_flag_varaints", "the parameters of an experiment", "feature_flag_variants")},
		{Request: experiments, Body: named(`"parameters": {"feature_flag_variants": [{"key": "control", "rolout_percentage": 50}, {"key": "test", "rollout_percentage": 50}]}`), Status: 400,
			Error: unknownOf("parameters__feature_flag_variants__0__rolout_percentage", "parameters.feature_flag_variants[0].rolout_percentage", "a variant", "rollout_percentage")},
		{Request: experiments, Body: named(`"saved_metrics_ids": [{"id": 1, "metdata": {"type": "primary"}}]`), Status: 400, Error: unknownOf("saved_metrics_ids__0__metdata", "saved_metrics_ids[0].metdata", "a saved metric", "metadata")},
		{Request: experiments, Body: body(`{"name": "x", "feature_flag_key": "x", "parameters": {"custom_exposure_filter": {}}}`), Status: 201, WantHeaders: noEffect("parameters.custom_exposure_filter of the parameters of an experiment has no effect"), Keep: map[string]string{"id": "id"}},
		{Request: "PATCH /api/projects/1/experiments/{id}/", Body: body(`{"metrics": [` + mean + `, "treshold": 3}]}`), Status: 400, Error: unknownIn("metrics__0__treshold", "metrics[0].treshold", aMetric, "threshold")},
		{Request: "PATCH /api/projects/1/experiments/{id}/", Body: body(`{"metrics": [` + mean + `, "funnel_order_type": "strict"}]}`), Status: 200, WantHeaders: noEffect("metrics[0].funnel_order_type is not supported and has no effect")},
		{Request: "PATCH /api/projects/1/experiments/{id}/", Body: body(`{"metrics": [{"kind": "ExperimentMetric", "metric_type": "mean", "uuid": "a", "fingerprint": "f", "name": "n", "version": 1, "isSharedMetric": false, "sharedMetricId": null, "response": null, "goal": "increase",
			"conversion_window": 7, "conversion_window_unit": "day", "lower_bound_percentile": 0.01, "upper_bound_percentile": 0.99, "ignore_zeros": true, "threshold": 2, "breakdownFilter": {"breakdowns": [{"type": "event", "property": "p"}]},
			"source": {"kind": "EventsNode", "event": "a", "name": "a", "custom_name": "A", "math": "sum", "math_property": "n", "math_hogql": null, "math_group_type_index": null, "properties": [], "fixedProperties": []}}],
			"exposure_criteria": {"filterTestAccounts": true, "multiple_variant_handling": "exclude", "exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "a", "properties": []}},
			"stats_config": {"version": 2, "method": "bayesian", "bayesian": {"ci_level": 0.9}, "frequentist": {"alpha": 0.05}, "cuped": {"enabled": true, "lookback_days": 14}}}`), Status: 200},

		{Request: saved, Body: body(`{"name": "m", "query": ` + mean + `, "sorce": 1}}`), Status: 201, WantHeaders: noEffect("query.sorce is unknown and has no effect")},
		{Request: saved, Body: body(`{"name": "n", "query": {"kind": "ExperimentMetric", "metric_type": "mean", "sorce": {"kind": "EventsNode", "event": "a"}}}`), Status: 400, Error: unknownIn("query__sorce", "query.sorce", aMetric, "source")},
		{Request: saved, Body: body(`{"name": "n", "descripton": "d", "query": ` + mean + `}}`), Status: 400, Error: unknownOf("descripton", "descripton", "a saved metric", "description")},
		{Request: "POST /api/projects/1/guarded_rollouts/", Body: body(`{"guardrails": [{"metric": ` + mean + `, "conversion_windw": 5}, "goal": "increase", "tolerance": 0.1}]}`), Status: 400,
			Error: unknownIn("guardrails__0__metric__conversion_windw", "guardrails[0].metric.conversion_windw", aMetric, "conversion_window")},

		{Request: "POST /api/projects/1/query/", Body: body(`{"query": {"kind": "ExperimentQuery", "experiment_id": {id}, "metric": ` + mean + `, "gaol": "decrease"}}}`), Status: 400,
			Error: unknownIn("query__metric__gaol", "query.metric.gaol", "a query's object", "goal")},
		{Request: "POST /api/projects/1/query/", Body: body(`{"query": {"kind": "ExperimentExposureQuery", "experiment_id": {id}, "experiment_name": "x", "feature_flag": {"id": 1, "key": "x", "name": "", "active": true}, "exposure_criteria": {"filterTestAcounts": true}}}`), Status: 400,
			Error: unknownIn("query__exposure_criteria__filterTestAcounts", "query.exposure_criteria.filterTestAcounts", "a query's object", "filterTestAccounts")},
	})
}
