package insights

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// experimentCase is a case of the specification's vectors (experiments.md §5).
type experimentCase struct {
	ID, Kind, Flag string
	Tolerance      float64
	Experiment     struct {
		Variants [][2]any
		Days     int
		Stats    json.RawMessage `json:"stats_config"`
		Criteria json.RawMessage `json:"exposure_criteria"`
		Excluded []string        `json:"excluded_variants"`
		IsDraft  bool            `json:"draft"`
	}
	TestAccountFilters json.RawMessage `json:"test_account_filters"`
	Timezone           string
	GroupType          string `json:"group_type"`
	People             []experimentPeople
	Metric             json.RawMessage
	Metrics            []json.RawMessage
	Expect             json.RawMessage
}

type experimentPeople struct {
	N               int
	Variant, Merged string
	Rows            [][]any
}

var experimentsBegin = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// TestExperiments_Vectors runs the queries of the specification's vectors over events in memory
// (experiments.md §5).
func TestExperiments_Vectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/spec/experiments_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []experimentCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range file.Cases {
		query := map[string]any{"kind": "ExperimentQuery", "experiment_id": 1, "metric": c.Metric}
		switch c.Kind {
		case "exposures":
			query = map[string]any{"kind": "ExperimentExposureQuery", "experiment_id": 1, "feature_flag": map[string]any{"key": c.Flag}}
		case "results":
			query = map[string]any{"kind": "ExperimentResultsQuery", "experiment_id": 1}
		case "query":
		default: // of the wire, or only of the statistics
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			var want any
			if err := wire.Decode(c.Expect, &want); err != nil {
				t.Fatal(err)
			}
			answer := c.answer(t, wire.MustEncode(query))
			var got any = answer
			switch c.Kind {
			case "exposures":
				answer["last"], answer["by_date"] = byVariant(answer)
			case "results":
				got = byMetric(answer)
			default:
				got = byKey(answer)
			}
			if fault := c.findDifference("", want, got); fault != "" {
				t.Error(fault)
			}
		})
	}
	if ran < 72 {
		t.Errorf("%d cases ran, want 72: is the file whole?", ran)
	}
}

func (c *experimentCase) answer(t *testing.T, query json.RawMessage) map[string]any {
	t.Helper()
	x := &experiments.Experiment{FlagKey: c.Flag, Start: experimentsBegin, End: experimentsBegin.AddDate(0, 0, c.Experiment.Days), Stats: c.Experiment.Stats, Criteria: c.Experiment.Criteria, Excluded: c.Experiment.Excluded, Primary: c.Metrics}
	for _, v := range c.Experiment.Variants {
		x.Variants = append(x.Variants, experiments.Variant{Key: v[0].(string), Share: v[1].(float64)})
	}
	if c.GroupType != "" {
		x.GroupType = new(int)
	}
	if c.Experiment.IsDraft {
		x.Start, x.End = time.Time{}, time.Time{}
	}
	p := &port.Project{ID: 1, TestAccountFilters: c.TestAccountFilters, Experiment: func(int64) (*experiments.Experiment, error) { return x, nil }}
	if c.Timezone != "" {
		zone, err := time.LoadLocation(c.Timezone)
		if err != nil {
			t.Fatal(err)
		}
		p.Location = zone
	}
	q, err := Parse(query, p)
	if err != nil {
		t.Fatal(err)
	}
	events := eventsOf(t, wire.MustEncode(c.events()))
	events.batch = 500
	got, err := q.Run(t.Context(), events, port.Options{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := wire.Decode(wire.MustEncode(got.Extra), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// events returns the rows of all persons.
func (c *experimentCase) events() [][]any {
	var out [][]any
	for j, run := range c.People {
		for i := range run.N {
			id := fmt.Sprintf("%s-%d-%d", run.Variant, j, i)
			for _, row := range run.Rows {
				out = append(out, c.event(run, id, row)...)
			}
		}
	}
	return out
}

func (c *experimentCase) event(run experimentPeople, id string, row []any) [][]any {
	at := experimentsBegin.Add(time.Duration(row[1].(float64) * float64(time.Second)))
	field := func(i int) any {
		if i < len(row) {
			return row[i]
		}
		return nil
	}
	if row[0] == "x" {
		variant := field(2)
		if variant == nil {
			variant = run.Variant
		}
		properties := map[string]any{"$feature_flag": c.Flag, "$feature_flag_response": variant, "$feature/" + c.Flag: variant}
		extra, _ := field(3).(map[string]any)
		maps.Copy(properties, extra)
		suffix, _ := field(4).(string)
		return [][]any{{"$feature_flag_called", id + run.Merged + suffix, at.Format(time.RFC3339Nano), c.named(properties, id)}}
	}
	properties, _ := field(3).(map[string]any)
	times, ok := field(4).(float64)
	if !ok {
		times = 1
	}
	suffix, _ := field(5).(string)
	var out [][]any
	for n := range int(times) {
		out = append(out, []any{row[2], id + suffix, at.Add(time.Duration(n) * time.Second).Format(time.RFC3339Nano), c.named(properties, id)})
	}
	return out
}

// named inserts the entity's id and the flag's key into properties.
func (c *experimentCase) named(properties map[string]any, id string) json.RawMessage {
	text := string(wire.MustEncode(properties))
	text = strings.ReplaceAll(text, "@flag", c.Flag)
	if properties == nil {
		text = "{}"
	}
	return json.RawMessage(strings.ReplaceAll(text, `"@`, `"`+id))
}

// byKey returns the variants by key.
func byKey(got map[string]any) map[string]any {
	keyed := func(list any) map[string]any {
		out := map[string]any{}
		for _, v := range list.([]any) {
			out[v.(map[string]any)["key"].(string)] = v
		}
		return out
	}
	out := map[string]any{"baseline": got["baseline"], "variants": keyed(got["variant_results"])}
	if list, ok := got["breakdown_results"].([]any); ok {
		breakdowns := map[string]any{}
		for _, b := range list {
			m := b.(map[string]any)
			values, _ := wire.Encode(m["breakdown_value"])
			breakdowns[strings.Trim(string(values), `[]"`)] = map[string]any{"baseline": m["baseline"], "variants": keyed(m["variants"])}
		}
		out["breakdowns"] = breakdowns
	}
	return out
}

// byMetric returns the first test variant of each primary metric.
func byMetric(got map[string]any) []any {
	out := []any{}
	for _, m := range got["primary"].([]any) {
		out = append(out, m.(map[string]any)["variants"].([]any)[0])
	}
	return out
}

// byVariant returns the last counts of each variant, and the counts of each day.
func byVariant(got map[string]any) (last, byDate map[string]any) {
	last, byDate = map[string]any{}, map[string]any{}
	for _, s := range got["timeseries"].([]any) {
		series := s.(map[string]any)
		variant := series["variant"].(string)
		counts := series["exposure_counts"].([]any)
		last[variant] = counts[len(counts)-1]
		for i, day := range series["days"].([]any) {
			if byDate[day.(string)] == nil {
				byDate[day.(string)] = map[string]any{}
			}
			byDate[day.(string)].(map[string]any)[variant] = counts[i]
		}
	}
	return last, byDate
}

// findDifference describes a difference from the expected values, beyond the case's tolerance;
// members that are not expected are ignored.
func (c *experimentCase) findDifference(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return fmt.Sprintf("%s: got %s, want an object", path, wire.MustEncode(got))
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if fault := c.findDifference(path+"."+name, want[name], object[name]); fault != "" {
				return fault
			}
		}
		return ""
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s: got %s, want %s", path, wire.MustEncode(got), wire.MustEncode(want))
		}
		if strings.HasSuffix(path, "validation_failures") {
			slices.SortFunc(want, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		for i := range want {
			if fault := c.findDifference(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); fault != "" {
				return fault
			}
		}
		return ""
	case json.Number:
		w, _ := want.Float64()
		n, ok := got.(json.Number)
		g, _ := n.Float64()
		allowed := c.Tolerance * math.Abs(w)
		if math.Abs(w) < 1e-6 {
			allowed = c.Tolerance * 1e-6
		}
		if ok && math.Abs(g-w) <= allowed {
			return ""
		}
	default:
		if want == got {
			return ""
		}
	}
	return fmt.Sprintf("%s: got %s, want %s", path, wire.MustEncode(got), wire.MustEncode(want))
}
