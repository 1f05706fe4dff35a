package trials

import (
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// trialSuite runs the queries of this package in a project with one experiment, number 1.
func trialSuite(x *experiments.Experiment) *querytest.Suite {
	return &querytest.Suite{Kinds: Kinds, Project: port.Project{Experiment: func(id int64) (*experiments.Experiment, error) {
		if id != 1 {
			return nil, nil
		}
		return x, nil
	}}}
}

// newTrial returns an experiment of two variants that ran from 2 to 10 January 2020.
func newTrial() *experiments.Experiment {
	return &experiments.Experiment{FlagKey: "page", Variants: []experiments.Variant{{Key: "control", Share: 50}, {Key: "test", Share: 50}},
		Start: time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC), End: time.Date(2020, 1, 10, 0, 0, 0, 0, time.UTC)}
}

// metricQuery returns an ExperimentQuery of a metric with the given members.
func metricQuery(members string) string {
	return `{"kind": "ExperimentQuery", "experiment_id": 1, "metric": {"kind": "ExperimentMetric", ` + members + `}}`
}

// Each fault of an ExperimentQuery has the code and the place of experiments.md §3.2.
func TestTrials_Faults(t *testing.T) {
	const buys = `{"kind": "EventsNode", "event": "buy"}`
	mean := func(source, more string) string {
		return metricQuery(`"metric_type": "mean", "source": {"kind": "EventsNode", "event": "buy"` + source + `}` + more)
	}
	list := func(one string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(one+",", n), ",") + "]"
	}
	retention := func(without, more string) string {
		members := map[string]string{"start_event": buys, "completion_event": buys, "retention_window_start": "0", "retention_window_end": "7", "retention_window_unit": `"day"`}
		text := `"metric_type": "retention"`
		for name, value := range members {
			if name != without && !strings.Contains(more, `"`+name+`"`) {
				text += `, "` + name + `": ` + value
			}
		}
		return metricQuery(text + more)
	}
	trialSuite(newTrial()).CheckFaults(t, []querytest.Fault{
		{"no experiment", `{"kind": "ExperimentQuery", "metric": {}}`, document.Required, "experiment_id", "experiment_id is required"},
		{"an unknown experiment", `{"kind": "ExperimentQuery", "experiment_id": 7, "metric": {}}`, document.InvalidInput, "experiment_id", "Experiment with id 7 not found"},
		{"an experiment that is a text", `{"kind": "ExperimentQuery", "experiment_id": "1", "metric": {}}`, document.InvalidInput, "experiment_id", ""},
		{"no metric", `{"kind": "ExperimentQuery", "experiment_id": 1}`, document.Required, "metric", ""},
		{"a metric of another kind", `{"kind": "ExperimentQuery", "experiment_id": 1, "metric": {"kind": "ExperimentTrendsQuery", "metric_type": "mean", "source": ` + buys + `}}`, document.InvalidInput, "metric__kind", "ExperimentMetric"},
		{"an unknown type", metricQuery(`"metric_type": "median"`), document.InvalidChoice, "metric__metric_type", "mean, funnel, ratio, retention"},
		{"no type", metricQuery(`"goal": "increase"`), document.InvalidChoice, "metric__metric_type", ""},
		{"a mean", mean("", ""), "", "", ""},
		{"a mean without a source", metricQuery(`"metric_type": "mean"`), document.Required, "metric__source", ""},
		{"a source of another kind", metricQuery(`"metric_type": "mean", "source": {"kind": "ExperimentDataWarehouseNode"}`), document.NotSupported, "metric__source__kind", ""},
		{"an unknown math", mean(`, "math": "median"`, ""), document.NotSupported, "metric__source__math", "median"},
		{"an expression", mean(`, "math": "hogql"`, ""), document.NotSupported, "metric__source__math", ""},
		{"a sum without a property", mean(`, "math": "sum"`, ""), document.Required, "metric__source__math_property", ""},
		{"a sum", mean(`, "math": "sum", "math_property": "amount"`, ""), "", "", ""},
		{"groups without an index", mean(`, "math": "unique_group"`, ""), document.Required, "metric__source__math_group_type_index", ""},
		{"a filter of a source", mean(`, "properties": [{"key": "a", "operator": "near", "value": 1}]`, ""), document.InvalidChoice, "metric__source__properties__0__operator", ""},
		{"filters that are an empty object", mean(`, "properties": {}`, ""), "", "", ""},
		{"a goal", mean("", `, "goal": "maximize"`), document.InvalidChoice, "metric__goal", "maximize"},
		{"no window", mean("", `, "conversion_window": 0`), document.InvalidInput, "metric__conversion_window", ""},
		{"half a day", mean("", `, "conversion_window": 0.5`), document.InvalidInput, "metric__conversion_window", ""},
		{"a null window", mean("", `, "conversion_window": null`), "", "", ""},
		{"an unknown unit", mean("", `, "conversion_window": 1, "conversion_window_unit": "year"`), document.InvalidChoice, "metric__conversion_window_unit", ""},
		{"a bound of 1", mean("", `, "upper_bound_percentile": 1`), "", "", ""},
		{"a bound above 1", mean("", `, "upper_bound_percentile": 1.01`), document.InvalidInput, "metric__upper_bound_percentile", ""},
		{"a bound below 0", mean("", `, "lower_bound_percentile": -0.01`), document.InvalidInput, "metric__lower_bound_percentile", ""},
		{"equal bounds", mean("", `, "lower_bound_percentile": 0.5, "upper_bound_percentile": 0.5`), "", "", ""},
		{"bounds in the wrong order", mean("", `, "lower_bound_percentile": 0.6, "upper_bound_percentile": 0.5`), document.InvalidInput, "metric__lower_bound_percentile", ""},
		{"a threshold that is a text", mean("", `, "threshold": "1"`), document.InvalidInput, "metric__threshold", ""},
		{"a ratio without a denominator", metricQuery(`"metric_type": "ratio", "numerator": ` + buys), document.Required, "metric__denominator", ""},
		{"a ratio without a numerator", metricQuery(`"metric_type": "ratio", "denominator": ` + buys), document.Required, "metric__numerator", ""},
		{"bounds of the numerator", metricQuery(`"metric_type": "ratio", "numerator": ` + buys + `, "denominator": ` + buys + `, "numerator_outlier_handling": {"upper_bound_percentile": 2}`), document.InvalidInput, "metric__numerator_outlier_handling__upper_bound_percentile", ""},
		{"a funnel without steps", metricQuery(`"metric_type": "funnel", "series": []`), document.Required, "metric__series", ""},
		{"20 steps", metricQuery(`"metric_type": "funnel", "series": ` + list(buys, 20)), "", "", ""},
		{"21 steps", metricQuery(`"metric_type": "funnel", "series": ` + list(buys, 21)), document.TooLarge, "metric__series", ""},
		{"an unknown order", metricQuery(`"metric_type": "funnel", "series": [` + buys + `], "funnel_order_type": "random"`), document.InvalidChoice, "metric__funnel_order_type", ""},
		{"retention", retention("", ""), "", "", ""},
		{"retention without a start", retention("start_event", ""), document.Required, "metric__start_event", ""},
		{"retention without a completion", retention("completion_event", ""), document.Required, "metric__completion_event", ""},
		{"retention without the start of its window", retention("retention_window_start", ""), document.Required, "metric__retention_window_start", ""},
		{"retention without the end of its window", retention("retention_window_end", ""), document.Required, "metric__retention_window_end", ""},
		{"retention without a unit", retention("retention_window_unit", ""), document.Required, "metric__retention_window_unit", ""},
		{"a window that ends before it starts", retention("", `, "retention_window_start": 8`), document.InvalidInput, "metric__retention_window_start", ""},
		{"a window of one day", retention("", `, "retention_window_start": 7`), "", "", ""},
		{"a window before the start", retention("", `, "retention_window_start": -1`), document.InvalidInput, "metric__retention_window_start", ""},
		{"an unknown handling of starts", retention("", `, "start_handling": "all"`), document.InvalidChoice, "metric__start_handling", ""},
		{"three breakdowns", mean("", `, "breakdownFilter": {"breakdowns": `+list(`{"property": "a"}`, 3)+`}`), "", "", ""},
		{"four breakdowns", mean("", `, "breakdownFilter": {"breakdowns": `+list(`{"property": "a"}`, 4)+`}`), document.InvalidInput, "metric__breakdownFilter__breakdowns", "Maximum of 3 breakdowns are supported for experiment metrics"},
		{"a breakdown by cohort", mean("", `, "breakdownFilter": {"breakdowns": [{"property": 1, "type": "cohort"}]}`), document.InvalidChoice, "metric__breakdownFilter__breakdowns__0__type", ""},
		{"exposures without a flag", `{"kind": "ExperimentExposureQuery", "experiment_id": 1}`, document.Required, "feature_flag", "feature_flag key is required"},
		{"a time series of no metric", `{"kind": "ExperimentTimeseriesQuery", "experiment_id": 1}`, document.InvalidInput, "metric_uuid", ""},
		{"a time series of an unknown metric", `{"kind": "ExperimentTimeseriesQuery", "experiment_id": 1, "metric_uuid": "x"}`, document.InvalidInput, "metric_uuid", `"x"`},
		{"results of an unknown experiment", `{"kind": "ExperimentResultsQuery", "experiment_id": 2}`, document.InvalidInput, "experiment_id", "Experiment with id 2 not found"},
	})
}
