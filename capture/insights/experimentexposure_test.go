package insights

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/bunting-flags/bunting/flags/wire"
)

// $experiment_exposure, which newer SDKs send, is an exposure like $feature_flag_called, and the
// first of either counts. An experiment may name one of them: then only that event counts.
func TestExperiments_ExposureEvents(t *testing.T) {
	const calledProperties = `{"$feature_flag": "@flag", "$feature_flag_response": "%s"}`
	group := func(variant string, rows ...string) experimentPeople {
		out := experimentPeople{N: 1, Variant: variant}
		for _, text := range rows {
			var row []any
			if err := json.Unmarshal([]byte(text), &row); err != nil {
				t.Fatal(err)
			}
			out.Rows = append(out.Rows, row)
		}
		return out
	}
	event := func(second int, name, variant string) string {
		return fmt.Sprintf(`["e", %d, %q, %s]`, second, name, fmt.Sprintf(calledProperties, variant))
	}
	const called, exposed, bought = "$feature_flag_called", "$experiment_exposure", "bought"
	people := []experimentPeople{
		group("control", event(10, exposed, "control"), event(15, bought, "")),                               // only the newer event
		group("test", event(10, called, "test"), event(15, bought, "")),                                      // only the older event
		group("test", event(10, exposed, "test"), event(15, bought, ""), event(20, called, "test")),          // bought after the first exposure, before the second
		group("control", event(10, called, "control"), event(15, bought, ""), event(20, exposed, "control")), // the same in the other order
		group("test", event(10, exposed, "control"), event(20, called, "test")),                              // two variants
		group("test", event(10, exposed, "none")),                                                            // no variant of the flag
		group("test", `["e", 10, "$experiment_exposure", {"$feature_flag": "another", "$feature_flag_response": "test"}]`),
	}
	for name, want := range map[string]struct {
		criteria                  string
		control, test, multiple   float64
		controlBought, testBought float64
	}{
		"nothing":              {`null`, 2, 2, 1, 2, 2},
		"other criteria":       {`{"filterTestAccounts": false}`, 2, 2, 1, 2, 2},
		"$experiment_exposure": {`{"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "$experiment_exposure", "properties": []}}`, 3, 1, 0, 1, 1},
		"$feature_flag_called": {`{"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "$feature_flag_called", "properties": []}}`, 1, 3, 0, 1, 1},
		"another event":        {`{"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "bought", "properties": []}}`, 0, 0, 0, 0, 0},
		"nothing, first seen":  {`{"multiple_variant_handling": "first_seen"}`, 3, 2, 0, 2, 2},
	} {
		c := experimentCase{ID: name, Flag: "new-page", People: people}
		c.Experiment.Variants = [][2]any{{"control", 0.5}, {"test", 0.5}}
		c.Experiment.Days, c.Experiment.Criteria = 10, json.RawMessage(want.criteria)
		exposures := c.answer(t, wire.MustEncode(map[string]any{"kind": "ExperimentExposureQuery", "experiment_id": 1, "feature_flag": map[string]any{"key": c.Flag}}))
		total := exposures["total_exposures"].(map[string]any)
		number := func(v any) (n float64) { _, _ = fmt.Sscan(fmt.Sprint(v), &n); return n } // 0 if absent
		if number(total["control"]) != want.control || number(total["test"]) != want.test || number(total["$multiple"]) != want.multiple {
			t.Errorf("%s: exposures %v, want %+v", name, total, want)
		}
		got := byKey(c.answer(t, wire.MustEncode(map[string]any{"kind": "ExperimentQuery", "experiment_id": 1,
			"metric": map[string]any{"kind": "ExperimentMetric", "metric_type": "mean", "source": map[string]any{"kind": "EventsNode", "event": bought}}})))
		sum := func(v any) float64 { m, _ := v.(map[string]any); return number(m["sum"]) }
		if sum(got["baseline"]) != want.controlBought || sum(got["variants"].(map[string]any)["test"]) != want.testBought {
			t.Errorf("%s: bought %v and %v, want %v and %v", name, got["baseline"], got["variants"], want.controlBought, want.testBought)
		}
	}
}
