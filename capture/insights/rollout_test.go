package insights

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/capture/experiments"
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
		Steps            []experiments.Step
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

// TestRollouts_Vectors judges the steps of the specification's dry runs over events in
// memory (experiments.md §4.4 to §4.7, §5).
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
			r := experiments.Rollout{Steps: c.Definition.Steps, Alpha: c.Definition.Alpha, MinimumExposures: c.Definition.MinimumExposures}
			metrics := []json.RawMessage{}
			for i, g := range append(c.Definition.Guardrails, c.Definition.Signals...) {
				guard := experiments.Guard{Decrease: g.Goal == "decrease", Tolerance: g.Tolerance}
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
			r.Decide(got, &experiments.Situation{Settled: true, DwellOver: true, TrustClients: true})
			var want, shown any
			for text, to := range map[*any]json.RawMessage{&want: c.Expect, &shown: wire.MustEncode(got)} {
				if err := wire.Decode(to, text); err != nil {
					t.Fatal(err)
				}
			}
			if fault := c.unlike("", want, shown); fault != "" {
				t.Error(fault)
			}
		})
	}
	if ran < 6 {
		t.Errorf("%d cases ran, want 6: is the file whole?", ran)
	}
}

// evidence asks the query over the case's events.
func (c *rolloutCase) evidence(t *testing.T, query map[string]any) *experiments.Evidence {
	t.Helper()
	q, err := Parse(wire.MustEncode(query), &Project{ID: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, err := q.Run(t.Context(), eventsOf(t, wire.MustEncode(c.rows())), Options{Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	return got.Extra["evidence"].(*experiments.Evidence)
}

// rows are those of everybody, with ids that fall into the arm of their run.
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
