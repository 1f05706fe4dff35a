package httpapi_test

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

	"github.com/bunting-flags/bunting/flags/wire"
)

// experimentVector is a case of experiments_vectors.json with a question (experiments.md §5).
type experimentVector struct {
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
	People             []struct {
		N               int
		Variant, Merged string
		Rows            [][]any
	}
	Metric  json.RawMessage
	Metrics []json.RawMessage
	Expect  json.RawMessage
}

// vectorsBegin is the time to which the times of the vectors are relative.
var vectorsBegin = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

// longVector is the number of events from which a case runs only with -long.
const longVector = 300

// experiments.md §5: questions about experiments over HTTP, on stores where nothing, half and all events are
// in segments. capture/insights runs all cases over events in memory.
func TestExperiments_Vectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/spec/experiments_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []experimentVector }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(*experimentVector, *testing.T, *insightFixture, int64) any{
		"query": (*experimentVector).variants, "exposures": (*experimentVector).exposures, "results": (*experimentVector).results,
	}
	for _, sealed := range sealings {
		t.Run(string(sealed), func(t *testing.T) {
			o, ran := newOfficeSealed(t, "sqlite::memory:", sealed), 0
			o.clock.Store(time.Now().UnixMicro())
			for i := range file.Cases {
				c := &file.Cases[i]
				rows := c.rows()
				if kinds[c.Kind] == nil || len(rows) >= longVector && !*allValues {
					continue
				}
				ran++
				t.Run(c.ID, func(t *testing.T) {
					project := map[string]any{}
					if c.Timezone != "" {
						project["timezone"] = c.Timezone
					}
					if c.TestAccountFilters != nil {
						project["test_account_filters"] = c.TestAccountFilters
					}
					v := o.insightProject(t, &insightCase{ID: c.ID, Project: project, Events: wire.MustEncode(rows)})
					got, want := kinds[c.Kind](c, t, v, c.create(t, v)), wire.Value(c.Expect)
					if fault := mismatch("", want, c.round(want, got)); fault != "" {
						t.Error(fault)
					}
				})
			}
			if least := map[bool]int{true: 72, false: 18}[*allValues]; ran < least {
				t.Errorf("%d cases ran, want %d: is the file whole?", ran, least)
			}
			checkSealed(t, o.store, sealed)
		})
	}
}

// rows returns the events of all entities, as insightProject sends them.
func (c *experimentVector) rows() (out [][]any) {
	if c.GroupType != "" {
		out = append(out, []any{"$groupidentify", "somebody", vectorsBegin.Format(time.RFC3339Nano), map[string]any{"$group_type": c.GroupType, "$group_key": "some"}})
	}
	for j, run := range c.People {
		for i := range run.N {
			for _, row := range run.Rows {
				row = append(slices.Clone(row), make([]any, 6)...)
				id, name, properties, times := fmt.Sprintf("%s-%d-%d", run.Variant, j, i), "$feature_flag_called", row[3], 1.0
				suffix, _ := row[5].(string)
				if row[0] == "x" {
					variant := row[2]
					if variant == nil {
						variant = run.Variant
					}
					all := map[string]any{"$feature_flag": c.Flag, "$feature_flag_response": variant, "$feature/" + c.Flag: variant}
					extra, _ := properties.(map[string]any)
					maps.Copy(all, extra)
					suffix, _ = row[4].(string)
					properties, suffix = all, run.Merged+suffix
				} else if name = row[2].(string); row[4] != nil {
					times = row[4].(float64)
				}
				text := strings.ReplaceAll(string(wire.MustEncode(properties)), "@flag", c.Flag)
				if properties == nil {
					text = "{}"
				}
				text = strings.ReplaceAll(text, `"@`, `"`+id)
				for n := range int(times) {
					at := vectorsBegin.Add(time.Duration((row[1].(float64) + float64(n)) * float64(time.Second)))
					out = append(out, []any{name, id + suffix, at.Format(time.RFC3339Nano), json.RawMessage(text)})
				}
			}
		}
	}
	return out
}

// create creates the experiment of a case and returns its id.
func (c *experimentVector) create(t *testing.T, v *insightFixture) int64 {
	t.Helper()
	variants := []any{}
	for _, variant := range c.Experiment.Variants {
		variants = append(variants, map[string]any{"key": variant[0], "rollout_percentage": variant[1]})
	}
	filters := map[string]any{"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": 100}}, "multivariate": map[string]any{"variants": variants}}
	if c.GroupType != "" {
		filters["aggregation_group_type_index"] = 0
	}
	v.must(t, &insightStep{Method: "POST", Path: "/api/projects/{project}/feature_flags/", Body: wire.MustEncode(map[string]any{"key": c.Flag, "active": true, "filters": filters}), Status: 201})
	body := map[string]any{"name": c.ID, "feature_flag_key": c.Flag, "allow_unknown_events": true}
	if !c.Experiment.IsDraft {
		body["start_date"], body["end_date"] = vectorsBegin, vectorsBegin.AddDate(0, 0, c.Experiment.Days)
	}
	for name, value := range map[string]json.RawMessage{"stats_config": c.Experiment.Stats, "exposure_criteria": c.Experiment.Criteria} {
		if value != nil {
			body[name] = value
		}
	}
	if c.Experiment.Excluded != nil {
		body["excluded_variants"] = c.Experiment.Excluded
	}
	if c.Metrics != nil {
		body["metrics"] = c.Metrics
	}
	made := v.must(t, &insightStep{Method: "POST", Path: "/api/projects/{project}/experiments/", Body: wire.MustEncode(body), Status: 201})
	id, err := made["id"].(json.Number).Int64()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// query sends a query.
func (v *insightFixture) query(t *testing.T, query map[string]any) map[string]any {
	t.Helper()
	return v.must(t, &insightStep{Method: "POST", Path: "/api/projects/{project}/query/", Body: wire.MustEncode(map[string]any{"query": query, "refresh": "force_blocking"}), Status: 200})
}

// variants returns the result of the metric, with the variants by key.
func (c *experimentVector) variants(t *testing.T, v *insightFixture, id int64) any {
	got := v.query(t, map[string]any{"kind": "ExperimentQuery", "experiment_id": id, "metric": c.Metric})
	keyed := func(list any) map[string]any {
		out := map[string]any{}
		for _, variant := range list.([]any) {
			out[variant.(map[string]any)["key"].(string)] = variant
		}
		return out
	}
	out := map[string]any{"baseline": got["baseline"], "variants": keyed(got["variant_results"])}
	if list, ok := got["breakdown_results"].([]any); ok {
		breakdowns := map[string]any{}
		for _, b := range list {
			m := b.(map[string]any)
			breakdowns[strings.Trim(string(wire.MustEncode(m["breakdown_value"])), `[]"`)] = map[string]any{"baseline": m["baseline"], "variants": keyed(m["variants"])}
		}
		out["breakdowns"] = breakdowns
	}
	return out
}

// exposures returns the exposures, with the last counts of each variant, and the counts of each day.
func (c *experimentVector) exposures(t *testing.T, v *insightFixture, id int64) any {
	got := v.query(t, map[string]any{"kind": "ExperimentExposureQuery", "experiment_id": id, "feature_flag": map[string]any{"key": c.Flag}})
	last, byDate := map[string]any{}, map[string]any{}
	for _, s := range got["timeseries"].([]any) {
		series := s.(map[string]any)
		variant, counts := series["variant"].(string), series["exposure_counts"].([]any)
		last[variant] = counts[len(counts)-1]
		for i, day := range series["days"].([]any) {
			if byDate[day.(string)] == nil {
				byDate[day.(string)] = map[string]any{}
			}
			byDate[day.(string)].(map[string]any)[variant] = counts[i]
		}
	}
	got["last"], got["by_date"] = last, byDate
	return got
}

// results returns the first test variant of each primary metric.
func (c *experimentVector) results(t *testing.T, v *insightFixture, id int64) any {
	got := v.must(t, &insightStep{Method: "GET", Path: fmt.Sprintf("/api/projects/{project}/experiments/%d/results/", id), Status: 200})
	out := []any{}
	for _, m := range got["primary"].([]any) {
		out = append(out, m.(map[string]any)["variants"].([]any)[0])
	}
	return out
}

// round replaces numbers that are as near to the expected ones as the case permits by these, and orders
// lists whose order is free like the expected ones.
func (c *experimentVector) round(want, got any) any {
	switch want := want.(type) {
	case map[string]any:
		if object, ok := got.(map[string]any); ok {
			for name := range want {
				object[name] = c.round(want[name], object[name])
			}
		}
	case []any:
		list, _ := got.([]any)
		if slices.ContainsFunc(want, func(v any) bool { _, isText := v.(string); return isText }) {
			slices.SortFunc(list, func(a, b any) int {
				at := func(v any) int { return slices.IndexFunc(want, func(w any) bool { return w == v }) }
				return at(a) - at(b)
			})
		}
		for i := range min(len(want), len(list)) {
			list[i] = c.round(want[i], list[i])
		}
	case json.Number:
		w, _ := want.Float64()
		allowed := c.Tolerance * math.Max(math.Abs(w), 1e-6)
		if n, ok := got.(json.Number); ok {
			if g, _ := n.Float64(); math.Abs(g-w) <= allowed {
				return want
			}
		}
	}
	return got
}
