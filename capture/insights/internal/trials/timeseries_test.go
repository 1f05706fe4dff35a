package trials

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/port"
)

// experiments.md §3.8, partial: more people are exposed on each day. With more and more memory, first
// no day can be computed, then the first ones, and then all. A day without a result has an error.
func TestTimeseries_Partial(t *testing.T) {
	x := newTrial()
	x.Primary = append(x.Primary, []byte(`{"kind": "ExperimentMetric", "metric_type": "mean", "uuid": "m", "source": {"kind": "EventsNode", "event": "buy"}}`))
	var people []string
	for day := 2; day < 6; day++ { // memory is reserved for 1,024 people at first
		for i := range 300 {
			people = append(people, fmt.Sprintf("c%d-%d x%d buy%d", day, i, day, day))
		}
	}
	events := peopleOf(strings.Join(people, ", "))
	none, partial, all := false, false, false
	for limit := int64(8 << 10); !all && limit < 64<<20; limit += limit / 4 {
		result, err := trialSuite(x).Run(t, events, `{"kind": "ExperimentTimeseriesQuery", "experiment_id": 1, "metric_uuid": "m"}`, port.Options{Memory: limit})
		var fault *port.Error
		if errors.As(err, &fault) && fault.Code == document.TooLarge {
			none = true
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		series, failed := result.Extra["timeseries"].(map[string]any), map[string]string{}
		if reasons, ok := result.Extra["errors"].(map[string]string); ok {
			failed = reasons
			partial = true
		} else {
			all = true
		}
		for day := 2; day < 10; day++ {
			name := fmt.Sprintf("2020-01-%02d", day)
			if (series[name] == nil) != (failed[name] != "") {
				t.Errorf("with %d bytes, %s has the result %v and the error %q", limit, name, series[name], failed[name])
			}
		}
		if partial && !all && (series["2020-01-02"] == nil || failed["2020-01-09"] == "") {
			t.Errorf("with %d bytes, the first day is %v and the last has the error %q", limit, series["2020-01-02"], failed["2020-01-09"])
		}
	}
	if !none || !partial || !all {
		t.Errorf("no day: %v, some: %v, all: %v", none, partial, all)
	}
}
