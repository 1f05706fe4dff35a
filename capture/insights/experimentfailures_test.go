package insights

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/port"
)

// A ratio whose denominators are 0 in all variants is not a number: all variants and the baseline
// have not-enough-metric-data (experiments.md §2.9), while the sums are still returned. (If only
// one variant has no denominator, there are no statistics, but no named failure either: see the
// vector ratio-zero-a.)
func TestExperiments_RatioWithoutDenominator(t *testing.T) {
	c := &experimentCase{Flag: "f"}
	c.Experiment.Days = 10
	c.Experiment.Variants = [][2]any{{"control", 50.0}, {"test", 50.0}}
	exposed, paid := []any{"x", 0.0}, []any{"e", 60.0, "pay", map[string]any{"amount": 3}}
	c.People = []experimentPeople{{N: 60, Variant: "control", Rows: [][]any{exposed, paid}}, {N: 60, Variant: "test", Rows: [][]any{exposed, paid}}}
	metric := `{"kind": "ExperimentMetric", "metric_type": "ratio", "numerator": {"kind": "EventsNode", "event": "pay", "math": "sum", "math_property": "amount"},
		"denominator": {"kind": "EventsNode", "event": "order"}}`
	answer := c.answer(t, json.RawMessage(`{"kind": "ExperimentQuery", "experiment_id": 1, "metric": `+metric+`}`))
	all := append([]any{answer["baseline"]}, answer["variant_results"].([]any)...)
	if len(all) != 2 {
		t.Fatalf("%d variants", len(all))
	}
	for _, v := range all {
		v := v.(map[string]any)
		if sum, _ := v["sum"].(json.Number).Int64(); sum != 180 {
			t.Errorf("%s: sum %v, want 180", v["key"], v["sum"])
		}
		if failures := v["validation_failures"].([]any); !slices.Equal(failures, []any{"not-enough-metric-data"}) {
			t.Errorf("%s: %v", v["key"], failures)
		}
	}
	if v := all[1].(map[string]any); v["significant"] != nil || v["chance_to_win"] != nil {
		t.Errorf("statistics of nothing: %v", v)
	}
}

// insights.md: smoothing computes means of several points, only for time series. A single number
// does not change: the mean of 2.4 and 3.0 is 2.7.
func TestTrends_OneNumberIsNotSmoothed(t *testing.T) {
	m := eventsOf(t, json.RawMessage(`[["pay", "a", "2025-03-01T10:00:00Z", {"amount": 2.4}], ["pay", "b", "2025-03-02T10:00:00Z", {"amount": 3.0}]]`))
	for display, member := range map[string]string{"BoldNumber": "aggregated_value", "ActionsPie": "aggregated_value", "ActionsTable": "aggregated_value", "ActionsBarValue": "aggregated_value"} {
		q, err := Parse(json.RawMessage(`{"kind": "TrendsQuery", "series": [{"kind": "EventsNode", "event": "pay", "math": "avg", "math_property": "amount"}],
			"dateRange": {"date_from": "2025-03-01", "date_to": "2025-03-02"}, "trendsFilter": {"display": "`+display+`", "smoothingIntervals": 7}}`), &port.Project{ID: 1})
		if err != nil {
			t.Fatal(err)
		}
		got, err := q.Run(t.Context(), m, port.Options{Now: time.Date(2025, 3, 3, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			t.Fatal(err)
		}
		var rows []map[string]any
		if err := json.Unmarshal(mustJSON(t, got.Results), &rows); err != nil {
			t.Fatal(err)
		}
		if len(rows) != 1 || rows[0][member] != 2.7 {
			t.Errorf("%s: %v, want %s 2.7", display, rows, member)
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
