package insights

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/guarded"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// rolloutCase is a dry run of the specification's vectors.
type rolloutCase struct {
	experimentCase
	Percent    float64
	Step       int
	Hours      float64
	Definition struct {
		Steps            []guarded.Step
		Alpha            float64
		MinimumExposures int64 `json:"minimum_exposures"`
		Guardrails       []rolloutGuard
		Signals          []rolloutGuard
	}
}

type rolloutGuard struct {
	Metric    json.RawMessage
	Goal      string
	Tolerance float64
}

// TestRollouts_Vectors runs the dry runs of the specification's vectors over events in memory
// (experiments.md §4.4 to §4.7, §5).
func TestRollouts_Vectors(t *testing.T) {
	data, err := os.ReadFile("../../testdata/spec/experiments_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []rolloutCase }
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, c := range file.Cases {
		if c.Kind != "dry_run" {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			r := guarded.Rollout{Steps: c.Definition.Steps, Alpha: c.Definition.Alpha, MinimumExposures: c.Definition.MinimumExposures}
			metrics := []json.RawMessage{}
			for i, g := range append(c.Definition.Guardrails, c.Definition.Signals...) {
				guard := guarded.Guard{Decrease: g.Goal == "decrease", Tolerance: g.Tolerance}
				if metrics = append(metrics, g.Metric); i < len(c.Definition.Guardrails) {
					r.Guardrails = append(r.Guardrails, guard)
				} else {
					r.Signals = append(r.Signals, guard)
				}
			}
			end := experimentsBegin.Add(time.Duration(c.Hours * float64(time.Hour)))
			e := c.evidence(t, map[string]any{
				"kind": "GuardedRolloutQuery", "flag_key": c.Flag, "arms": []string{"treatment", "control"}, "border": c.Percent / 100,
				"since": experimentsBegin.AddDate(0, 0, -14), "settled_at": experimentsBegin, "as_of": end, "metrics": metrics,
			})
			got := r.Evaluate(c.Step, e)
			r.Decide(got, &guarded.Situation{Settled: true, DwellOver: true, TrustClients: true})
			var want, rendered any
			for text, to := range map[*any]json.RawMessage{&want: c.Expect, &rendered: wire.MustEncode(got)} {
				if err := wire.Decode(to, text); err != nil {
					t.Fatal(err)
				}
			}
			if fault := c.findDifference("", want, rendered); fault != "" {
				t.Error(fault)
			}
		})
	}
	if ran < 6 {
		t.Errorf("%d cases ran, want 6: is the file whole?", ran)
	}
}

// evidence runs the query over the case's events.
func (c *rolloutCase) evidence(t *testing.T, query map[string]any) *guarded.Evidence {
	t.Helper()
	q, err := Parse(wire.MustEncode(query), &port.Project{ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := q.Run(t.Context(), eventsOf(t, wire.MustEncode(c.rows())), port.Options{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return got.Extra["evidence"].(*guarded.Evidence)
}

// rows returns the events of all persons, with ids that the hash assigns to the arm of their run.
func (c *rolloutCase) rows() [][]any {
	var out [][]any
	next := 0
	for j, run := range c.People {
		for range run.N {
			var id string
			for found := false; !found; next++ {
				id = fmt.Sprintf("%s-%d-%d", run.Variant, j, next)
				found = (flags.Hash("").Variant(c.Flag, id) < c.Percent/100) == (run.Variant == "treatment")
			}
			for _, row := range run.Rows {
				out = append(out, c.event(run, id, row)...)
			}
		}
	}
	return out
}

// idIn returns the n-th id that the hash assigns to an arm.
func idIn(key string, percent float64, treatment bool, n int) string {
	for i := 0; ; i++ {
		id := fmt.Sprintf("p%d", i)
		if (flags.Hash("").Variant(key, id) < percent/100) == treatment {
			if n == 0 {
				return id
			}
			n--
		}
	}
}

// experiments.md §4.4: the population, the arms, and the entities with a closed window. The step
// began at 12:00 and settles until 12:05; it is judged at 14:00 with a window of one hour.
func TestRollouts_Population(t *testing.T) {
	at := func(clock string) string { return "2025-03-01T" + clock + ":00Z" }
	called := func(id, clock, response string) []any {
		return []any{"$feature_flag_called", id, at(clock), map[string]any{"$feature_flag": "f", "$feature_flag_response": response}}
	}
	did := func(id, event, clock string) []any { return []any{event, id, at(clock), map[string]any{}} }
	tr, tr2, co, co2 := idIn("f", 30, true, 0), idIn("f", 30, true, 1), idIn("f", 30, false, 0), idIn("f", 30, false, 1)
	for name, c := range map[string]struct {
		events    [][]any
		exposed   guarded.ExposureCounts
		matured   guarded.Arms
		integrity guarded.Integrity
		sums      [2]float64 // of the errors, treatment and control
	}{
		"by the hash, whatever the client says": {
			events:  [][]any{called(tr, "12:30", "control"), called(co, "12:30", "control"), did(tr, "error", "12:40"), did(co, "error", "12:40"), did(co, "error", "12:41")},
			exposed: guarded.ExposureCounts{Arms: guarded.Arms{Treatment: 1, Control: 1}}, matured: guarded.Arms{Treatment: 1, Control: 1},
			integrity: guarded.Integrity{Checked: 2, Disagree: 1}, sums: [2]float64{1, 2},
		},
		"old exposures count from the step on": {
			events:  [][]any{called(tr, "09:00", "control"), did(tr, "error", "11:00"), did(tr, "error", "12:04"), did(tr, "error", "12:05"), did(tr, "error", "13:04"), did(tr, "error", "13:05")},
			exposed: guarded.ExposureCounts{Arms: guarded.Arms{Treatment: 1}}, matured: guarded.Arms{Treatment: 1}, sums: [2]float64{2, 0},
		},
		"a window that is open": {
			events:  [][]any{called(tr, "13:00", "treatment"), called(tr2, "13:01", "treatment"), did(tr, "error", "13:59"), did(tr2, "error", "13:30")},
			exposed: guarded.ExposureCounts{Arms: guarded.Arms{Treatment: 2}}, matured: guarded.Arms{Treatment: 1}, integrity: guarded.Integrity{Checked: 2}, sums: [2]float64{1, 0},
		},
		"other responses and too early": {
			events: [][]any{called(tr, "12:30", "other"), called(tr, "08:59", "treatment"), called(co, "14:01", "control"), did(tr, "error", "12:40")},
		},
		"one person with ids on both sides": {
			events: [][]any{
				called(tr, "12:30", "treatment"), called(co, "12:30", "control"), called(co2, "12:30", "control"), did(tr, "error", "12:40"),
				{"$identify", co, at("12:50"), map[string]any{"$anon_distinct_id": tr}},
			},
			exposed: guarded.ExposureCounts{Arms: guarded.Arms{Control: 1}, Multiple: 1}, matured: guarded.Arms{Control: 1}, integrity: guarded.Integrity{Checked: 3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			q, err := Parse(wire.MustEncode(map[string]any{
				"kind": "GuardedRolloutQuery", "flag_key": "f", "arms": []string{"treatment", "control"}, "border": 0.3, "since": at("09:00"), "settled_at": at("12:05"), "as_of": at("14:00"),
				"metrics": []any{map[string]any{"kind": "ExperimentMetric", "metric_type": "mean", "source": map[string]any{"kind": "EventsNode", "event": "error", "math": "total"}, "conversion_window": 1, "conversion_window_unit": "hour"}},
			}), &port.Project{ID: 1})
			if err != nil {
				t.Fatal(err)
			}
			got, err := q.Run(t.Context(), eventsOf(t, wire.MustEncode(c.events)), port.Options{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
			if err != nil {
				t.Fatal(err)
			}
			e := got.Extra["evidence"].(*guarded.Evidence)
			sums := [2]float64{e.Metrics[0].Treatment.Sum, e.Metrics[0].Control.Sum}
			if e.Exposed != c.exposed || e.Matured != c.matured || e.Integrity != c.integrity || sums != c.sums {
				t.Errorf("%+v %+v %+v %v, want %+v %+v %+v %v", e.Exposed, e.Matured, e.Integrity, sums, c.exposed, c.matured, c.integrity, c.sums)
			}
		})
	}
}
