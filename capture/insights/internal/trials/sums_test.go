package trials

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/internal/querytest"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// peopleOf returns events of a text such as "c1 x2 buy2.5=10, t1 x3": people whose name begins with
// c saw control, those with t saw test. x is an exposure, every other word an event; after it stand
// the day of January, and the amount.
func peopleOf(text string) *querytest.Store {
	var events []string
	for person := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(person)
		variant := map[byte]string{'c': "control", 't': "test", 'h': "holdout-1"}[words[0][0]]
		for _, word := range words[1:] {
			word, amount, _ := strings.Cut(word, "=")
			name := strings.TrimRight(word, "0123456789.")
			day := 0.0
			if _, err := fmt.Sscan(word[len(name):], &day); err != nil {
				panic(err)
			}
			properties := map[string]any{"country": words[0][1:]}
			if amount != "" {
				properties["amount"] = json.Number(amount)
			}
			switch {
			case name == "x" || name == "y": // y is the other variant
				seen := variant
				if name == "y" {
					seen = map[string]string{"control": "test", "test": "control"}[variant]
				}
				name, properties["$feature_flag"], properties["$feature_flag_response"] = "$feature_flag_called", "page", seen
			case strings.HasPrefix(name, "own"):
				properties["$feature/page"] = variant
			}
			at := fmt.Sprintf("2020-01-%02dT%02d:00:00Z", int(day), int(day*24)%24)
			events = append(events, string(wire.MustEncode([]any{name, words[0], at, properties})))
		}
	}
	return querytest.Events("[" + strings.Join(events, ",") + "]")
}

// sumsOf runs an ExperimentQuery and returns number_of_samples, sum and sum_squares of control and
// test.
func sumsOf(t *testing.T, x *experiments.Experiment, people, metric string) string {
	t.Helper()
	result, err := trialSuite(x).Run(t, peopleOf(people), metricQuery(metric), port.Options{})
	if err != nil {
		t.Fatalf("%s: %v", people, err)
	}
	var got struct {
		Baseline struct {
			Key     string
			Number  int64   `json:"number_of_samples"`
			Sum     float64 `json:"sum"`
			Squares float64 `json:"sum_squares"`
		}
		Variants []struct {
			Number  int64   `json:"number_of_samples"`
			Sum     float64 `json:"sum"`
			Squares float64 `json:"sum_squares"`
		} `json:"variant_results"`
	}
	if err := json.Unmarshal(wire.MustEncode(result.Extra), &got); err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%d %g %g", got.Baseline.Number, got.Baseline.Sum, got.Baseline.Squares)
	for _, v := range got.Variants {
		out += fmt.Sprintf(" | %d %g %g", v.Number, v.Sum, v.Squares)
	}
	return out
}

// Which events count, and what they are worth: experiments.md §1.5 to §1.8. The experiment runs
// from 2 January to the beginning of the 10th. The sums are those of the values of each person.
func TestTrials_Means(t *testing.T) {
	const total = `"metric_type": "mean", "source": {"kind": "EventsNode", "event": "buy"}`
	const amounts = `"metric_type": "mean", "source": {"kind": "EventsNode", "event": "buy", "math": "sum", "math_property": "amount"}`
	math := func(name string) string { return strings.Replace(amounts, "sum", name, 1) }
	for _, c := range []struct{ of, people, metric, want string }{
		{"one purchase of two people", "c1 x2 buy3, c2 x2, t1 x2", total, "2 1 1 | 1 0 0"},
		{"squares are of the sums of a person", "c1 x2 buy3 buy4 buy5, t1 x2 buy3", total, "1 3 9 | 1 1 1"},
		{"before the exposure does not count", "c1 buy2 x3, t1 x2", total, "1 0 0 | 1 0 0"},
		{"at the exposure counts", "c1 x3 buy3, t1 x2", total, "1 1 1 | 1 0 0"},
		{"before a later exposure counts", "c1 x2 buy3 x4, t1 x2", total, "1 1 1 | 1 0 0"},
		{"without an exposure nobody counts", "c1 x2, t1 buy3", total, "1 0 0 | 0 0 0"},
		{"an exposure before the start is none", "c1 x1 buy3, t1 x2", total, "0 0 0 | 1 0 0"},
		{"an exposure at the start is one", "c1 x2 buy3, t1 x2", total, "1 1 1 | 1 0 0"},
		{"an exposure after the end is none", "c1 x10.5, t1 x2", total, "0 0 0 | 1 0 0"},
		{"a purchase after the end does not count", "c1 x9 buy10.5, t1 x2", total, "1 0 0 | 1 0 0"},
		{"in a window it does", "c1 x9 buy10.5, t1 x2", total + `, "conversion_window": 2`, "1 1 1 | 1 0 0"},
		{"the end of a window does not belong to it", "c1 x2 buy4, t1 x2 buy3.5", total + `, "conversion_window": 2`, "1 0 0 | 1 1 1"},
		{"a window in hours", "c1 x2 buy2.5, t1 x2 buy2.25", total + `, "conversion_window": 12, "conversion_window_unit": "hour"`, "1 0 0 | 1 1 1"},
		{"two variants are excluded", "c1 x2 y3 buy4, t1 x2", total, "0 0 0 | 1 0 0"},
		{"a holdout is none of the variants", "h1 x2 buy3, t1 x2, c1 x2", total, "1 0 0 | 1 0 0"},
		{"sums", "c1 x2 buy3=1.5 buy4=2, t1 x2 buy3=-1", amounts, "1 3.5 12.25 | 1 -1 1"},
		{"an amount that is missing is 0", "c1 x2 buy3 buy4=2, t1 x2", amounts, "1 2 4 | 1 0 0"},
		{"avg of a person", "c1 x2 buy3=1 buy4=3, t1 x2 buy3=5", math("avg"), "1 2 4 | 1 5 25"},
		{"min of a person", "c1 x2 buy3=1 buy4=3, t1 x2 buy3=5", math("min"), "1 1 1 | 1 5 25"},
		{"max of a person", "c1 x2 buy3=1 buy4=3, t1 x2 buy3=5", math("max"), "1 3 9 | 1 5 25"},
		{"dau is 1 for any number of events", "c1 x2 buy3 buy4, t1 x2", strings.Replace(total, `"buy"`, `"buy", "math": "dau"`, 1), "1 1 1 | 1 0 0"},
		{"every event", "c1 x2 buy3 see4, t1 x2", `"metric_type": "mean", "source": {"kind": "EventsNode", "event": null}`, "1 3 9 | 1 1 1"},
		{"a filter of the source", "c1 x2 buy3=1 buy4=3, t1 x2", strings.Replace(total, `"buy"`, `"buy", "properties": [{"key": "amount", "operator": "gt", "value": 2}]`, 1), "1 1 1 | 1 0 0"},
		{"a threshold that is reached", "c1 x2 buy3 buy4, t1 x2 buy3", total + `, "threshold": 2`, "1 1 1 | 1 0 0"},
		{"a threshold of a sum", "c1 x2 buy3=2 buy4=3, t1 x2 buy3=4", amounts + `, "threshold": 5`, "1 1 1 | 1 0 0"},
		{"an upper bound: 1, 2, 3, 10 at index 2", "c1 x2 buy3=1, c2 x2 buy3=10, t1 x2 buy3=2, t2 x2 buy3=3", amounts + `, "upper_bound_percentile": 0.5`, "2 4 10 | 2 5 13"},
		{"a lower bound raises", "c1 x2, c2 x2 buy3=4, t1 x2 buy3=2, t2 x2 buy3=3", amounts + `, "lower_bound_percentile": 0.5`, "2 7 25 | 2 6 18"}, // 0 2 3 4 at index 2: 3
		{"an upper bound without zeros: 2, 4 at index 1", "c1 x2, c2 x2, t1 x2 buy3=2, t2 x2 buy3=4", amounts + `, "upper_bound_percentile": 0.5, "ignore_zeros": true`, "2 0 0 | 2 6 20"},
		{"an upper bound with zeros: 0 0 2 4 at index 2", "c1 x2, c2 x2, t1 x2 buy3=2, t2 x2 buy3=4", amounts + `, "upper_bound_percentile": 0.5`, "2 0 0 | 2 4 8"},
		{"with a threshold nothing is cut", "c1 x2 buy3=1, c2 x2 buy3=10, t1 x2 buy3=2", amounts + `, "upper_bound_percentile": 0.5, "threshold": 5`, "2 1 1 | 1 0 0"},
	} {
		if got := sumsOf(t, newTrial(), c.people, c.metric); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.people, got, c.want)
		}
	}
}

// Funnels and retention of experiments.md §1.9 and §1.11: a person counts 1 or 0.
func TestTrials_StepsAndReturns(t *testing.T) {
	steps := func(more string) string {
		return `"metric_type": "funnel", "series": [{"kind": "EventsNode", "event": "see"}, {"kind": "EventsNode", "event": "buy"}]` + more
	}
	returns := func(from, to, unit, more string) string {
		return `"metric_type": "retention", "start_event": {"kind": "EventsNode", "event": "see"}, "completion_event": {"kind": "EventsNode", "event": "buy"}, "retention_window_start": ` + from + `, "retention_window_end": ` + to + `, "retention_window_unit": "` + unit + `"` + more
	}
	for _, c := range []struct{ of, people, metric, want string }{
		{"both steps", "c1 x2 see3 buy4, t1 x2 see3", steps(""), "1 1 1 | 1 0 0"},
		{"in the wrong order", "c1 x2 buy3 see4, t1 x2", steps(""), "1 0 0 | 1 0 0"},
		{"unordered", "c1 x2 buy3 see4, t1 x2 buy3", steps(`, "funnel_order_type": "unordered"`), "1 1 1 | 1 0 0"},
		{"a step before the exposure", "c1 see2 x3 buy4, t1 x2", steps(""), "1 0 0 | 1 0 0"},
		{"a step at the time of the exposure", "c1 x3 see3 buy4, t1 x2", steps(""), "1 1 1 | 1 0 0"},
		{"the end of the window belongs to it", "c1 x2 see3 buy4, t1 x2 see3 buy4.5", steps(`, "conversion_window": 2`), "1 1 1 | 1 0 0"},
		{"a later exposure begins anew", "c1 x2 x5 see6 buy7, t1 x2 see6 buy7", steps(`, "conversion_window": 2`), "1 1 1 | 1 0 0"},
		{"steps of two paths are not joined", "c1 x2 see3 x5 buy6, t1 x2", steps(`, "conversion_window": 2`), "1 0 0 | 1 0 0"},
		{"strict: another event breaks the path", "c1 x2 see3 other3.5 buy4, t1 x2 see3 buy4", steps(`, "funnel_order_type": "strict"`), "1 0 0 | 1 1 1"},
		{"a return in the window", "c1 x2 see3 buy5, t1 x2 see3 buy7", returns("1", "3", "day", ""), "1 1 1 | 1 0 0"},
		{"the first day of the window", "c1 x2 see3.75 buy4, t1 x2 see3 buy3.5", returns("1", "3", "day", ""), "1 1 1 | 1 0 0"}, // the next day begins at midnight
		{"the last hour of the window", "c1 x2 see3 buy6.75, t1 x2 see3 buy7", returns("1", "3", "day", ""), "1 1 1 | 1 0 0"},
		{"nobody counts without a start", "c1 x2 buy3, t1 x2 see3 buy4", returns("0", "3", "day", ""), "0 0 0 | 1 1 1"},
		{"the first start", "c1 x2 see3 see6 buy7, t1 x2 see6 buy7", returns("0", "1", "day", ""), "1 0 0 | 1 1 1"},
		{"the last start", "c1 x2 see3 see6 buy7, t1 x2 see6 buy7", returns("0", "1", "day", `, "start_handling": "last_seen"`), "1 1 1 | 1 1 1"},
		{"a return after the end of the experiment", "c1 x2 see9 buy11, t1 x2 see9", returns("1", "3", "day", ""), "1 1 1 | 1 0 0"},
		{"from the exposure", "c1 x2 buy3, t1 x2 buy6", strings.Replace(returns("1", "3", "day", ""), `{"kind": "EventsNode", "event": "see"}`, `{"kind": "ExperimentExposureNode"}`, 1), "1 1 1 | 1 0 0"},
	} {
		if got := sumsOf(t, newTrial(), c.people, c.metric); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.people, got, c.want)
		}
	}
}

// Exposures and variants of experiments.md §1.3 to §1.5.
func TestTrials_Exposures(t *testing.T) {
	const total = `"metric_type": "mean", "source": {"kind": "EventsNode", "event": "buy"}`
	for _, c := range []struct{ of, criteria, people, want string }{
		{"the first variant", `{"multiple_variant_handling": "first_seen"}`, "c1 x2 y3 buy4, t1 x2", "1 1 1 | 1 0 0"},
		{"excluded", `{"multiple_variant_handling": "exclude"}`, "c1 x2 y3 buy4, t1 x2", "0 0 0 | 1 0 0"},
		{"an event of one's own", `{"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "own", "properties": []}}`, "c1 own3 buy4, t1 x2 buy3", "1 1 1 | 0 0 0"},
		{"with a filter", `{"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "own", "properties": [{"key": "amount", "value": 2}]}}`, "c1 own3=1 buy4 own5=2 buy6, t1 own3=1", "1 1 1 | 0 0 0"},
		{"the flag's event with a filter", `{"exposure_config": {"kind": "ExperimentEventExposureConfig", "event": "$feature_flag_called", "properties": [{"key": "amount", "value": 2}]}}`, "c1 x2=1 buy3 x4=2 buy5, t1 x2", "1 1 1 | 0 0 0"},
		{"an activation after the exposure", `{"activation_config": {"event": "open"}}`, "c1 x2 buy3 open4 buy5, t1 x2 buy3", "1 1 1 | 0 0 0"},
		{"an activation before it is none", `{"activation_config": {"event": "open"}}`, "c1 open2 x3 buy4, t1 x2 open2 buy3", "0 0 0 | 1 1 1"},
		{"null criteria", `null`, "c1 x2 buy3, t1 x2", "1 1 1 | 1 0 0"},
	} {
		x := newTrial()
		x.Criteria = json.RawMessage(c.criteria)
		if got := sumsOf(t, x, c.people, total); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.of, c.people, got, c.want)
		}
	}
	// An excluded variant is not in the result, and nobody is of two variants because of it.
	x := newTrial()
	x.Excluded = []string{"test"}
	if got, want := sumsOf(t, x, "c1 x2 y3 buy4, t1 x2 buy3", total), "1 1 1"; got != want {
		t.Errorf("excluded: got %s, want %s", got, want)
	}
	// The baseline is that of stats_config.
	x = newTrial()
	x.Stats = json.RawMessage(`{"baseline_variant_key": "test"}`)
	if got, want := sumsOf(t, x, "c1 x2 buy3, t1 x2", total), "1 0 0 | 1 1 1"; got != want {
		t.Errorf("baseline: got %s, want %s", got, want)
	}
}

// Failures of experiments.md §2.9 name what is missing: 50 exposures, 5 completions.
func TestTrials_Failures(t *testing.T) {
	people := func(variant string, exposed, bought int) string {
		var all []string
		for i := range exposed {
			words := fmt.Sprintf("%s%d x2", variant, i)
			if i < bought {
				words += " buy3"
			}
			all = append(all, words)
		}
		return strings.Join(all, ", ")
	}
	const funnel = `"metric_type": "funnel", "series": [{"kind": "EventsNode", "event": "buy"}]`
	const mean = `"metric_type": "mean", "source": {"kind": "EventsNode", "event": "buy"}`
	for _, c := range []struct {
		of, metric      string
		exposed, bought int
		want            []string
	}{
		{"50 and 5 of a funnel", funnel, 50, 5, []string{}},
		{"49 exposures", funnel, 49, 5, []string{"not-enough-exposures"}},
		{"4 completions", funnel, 50, 4, []string{"not-enough-metric-data"}},
		{"both", funnel, 49, 4, []string{"not-enough-exposures", "not-enough-metric-data"}},
		{"a funnel without completions", funnel, 50, 0, []string{"not-enough-metric-data", "baseline-mean-is-zero"}},
		{"a mean needs no completions", mean, 50, 1, []string{}},
		{"a mean of zero", mean, 50, 0, []string{"baseline-mean-is-zero"}},
	} {
		result, err := trialSuite(newTrial()).Run(t, peopleOf(people("c", c.exposed, c.bought)+", "+people("t", 50, 10)), metricQuery(c.metric), port.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Baseline struct {
				Failures []string `json:"validation_failures"`
			}
			Variants []struct {
				Failures []string `json:"validation_failures"`
				Chance   *float64 `json:"chance_to_win"`
			} `json:"variant_results"`
		}
		if err := json.Unmarshal(wire.MustEncode(result.Extra), &got); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Baseline.Failures, c.want) || len(got.Variants) != 1 || len(got.Variants[0].Failures) != 0 {
			t.Errorf("%s: got %+v, want %v", c.of, got, c.want)
		}
		if (got.Variants[0].Chance == nil) != (len(c.want) > 0) {
			t.Errorf("%s: chance to win %v, want it only without failures", c.of, got.Variants[0].Chance)
		}
	}
}
