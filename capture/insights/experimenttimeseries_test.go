package insights

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/flags/wire"
)

// experiments.md §3.8: the result of a day is that of the events before its end, in the project's
// zone. The experiment begins 2025-03-01T00:00Z, which is 19:00 of 28 February in New York, and
// ends 72 hours later. Two entities of control are exposed immediately and buy after one hour and
// after 24; three of test are exposed when 1 March begins in New York, and buy in its last hours.
// Purchases after the end count in the window of ten days, but on no day of the experiment.
func TestTimeseries_Days(t *testing.T) {
	const metric = `{"kind":"ExperimentMetric","metric_type":"mean","uuid":"u","conversion_window":10,"conversion_window_unit":"day","source":{"kind":"EventsNode","event":"buy"}}`
	c := experimentCase{Flag: "f", Timezone: "America/New_York", Metrics: []json.RawMessage{json.RawMessage(metric)}}
	c.Experiment.Variants, c.Experiment.Days = [][2]any{{"control", 50.0}, {"test", 50.0}}, 3
	buys := func(at ...float64) (rows [][]any) {
		for _, at := range at {
			rows = append(rows, []any{"e", at, "buy"})
		}
		return rows
	}
	c.People = []experimentPeople{
		{N: 2, Variant: "control", Rows: append([][]any{{"x", 0.0}}, buys(3600, 86400, 345600)...)},
		{N: 3, Variant: "test", Rows: append([][]any{{"x", 18000.0}}, buys(100000)...)},
	}
	answer := c.answer(t, wire.MustEncode(map[string]any{"kind": "ExperimentTimeseriesQuery", "experiment_id": 1, "metric_uuid": "u"}))
	series := answer["timeseries"].(map[string]any)
	want := map[string]string{"2025-02-28": "2 2 0 0", "2025-03-01": "2 4 3 3", "2025-03-02": "2 4 3 3", "2025-03-03": "2 4 3 3"}
	if days := slices.Sorted(maps.Keys(series)); !slices.Equal(days, slices.Sorted(maps.Keys(want))) {
		t.Fatal(days)
	}
	for day, sums := range want {
		result := series[day].(map[string]any)
		baseline, test := result["baseline"].(map[string]any), result["variant_results"].([]any)[0].(map[string]any)
		if got := fmt.Sprintf("%v %v %v %v", baseline["number_of_samples"], baseline["sum"], test["number_of_samples"], test["sum"]); got != sums {
			t.Errorf("%s: %s, want %s", day, got, sums)
		}
	}
	total := c.answer(t, wire.MustEncode(map[string]any{"kind": "ExperimentQuery", "experiment_id": 1, "metric": json.RawMessage(metric)}))
	if sum := fmt.Sprint(total["baseline"].(map[string]any)["sum"]); sum != "6" {
		t.Errorf("in the window after the end too: %s, want 6", sum)
	}
}
