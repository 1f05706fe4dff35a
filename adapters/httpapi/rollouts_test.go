package httpapi_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/adapters/internal/pgtest"
	"github.com/bunting-flags/bunting/adapters/internal/sqlstore"
	"github.com/bunting-flags/bunting/flags"
	"github.com/bunting-flags/bunting/flags/wire"
)

// dryRunCase is a case of experiments_vectors.json (experiments.md §5).
type dryRunCase struct {
	ID, Kind, Flag string
	Percent, Hours float64
	Step           int
	Definition     map[string]any
	People         []dryRunPeople
	Expect         json.RawMessage
}

type dryRunPeople struct {
	N       int
	Variant string
	Rows    [][]any
}

// experiments.md §4.10, §5: the dry runs of the specification's vectors, over HTTP: where all events are in
// segments, half of them, and with -long none.
func TestRollouts_Vectors(t *testing.T) {
	for _, s := range sealings {
		if s != nothingSealed || *allValues {
			t.Run(string(s), func(t *testing.T) { runDryRuns(t, "sqlite::memory:", s, "") })
		}
	}
}

// The same with PostgreSQL, for one that rolls back, and where nothing is in segments.
func TestRollouts_VectorsPostgres(t *testing.T) {
	runDryRuns(t, pgtest.PostgresMigrated(t, sqlstore.Open), nothingSealed, "guard-bad-a")
}

func runDryRuns(t *testing.T, database string, sealed sealing, only string) {
	data, err := os.ReadFile("../../testdata/spec/experiments_vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var f struct{ Cases []dryRunCase }
	if err := json.Unmarshal(data, &f); err != nil {
		t.Fatal(err)
	}
	o := newOfficeSealed(t, database, sealed)
	begin, ran := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC), 0
	for _, c := range f.Cases {
		if c.Kind != "dry_run" || only != "" && c.ID != only {
			continue
		}
		ran++
		t.Run(c.ID, func(t *testing.T) {
			var flag struct{ ID int64 }
			created := o.do(t, "POST /api/projects/1/feature_flags/", string(wire.MustEncode(twoArms(c.Flag, 0))), 201)
			if err := json.Unmarshal(created, &flag); err != nil {
				t.Fatal(err)
			}
			o.sendPeople(t, c.Flag, c.Percent, begin, c.People)
			body := maps.Clone(c.Definition)
			maps.Copy(body, map[string]any{
				"feature_flag": flag.ID, "treatment_variant": "treatment", "control_variant": "control", "step": c.Step,
				"started_at": begin, "as_of": begin.Add(time.Duration(c.Hours * float64(time.Hour))),
			})
			got := o.do(t, "POST /api/projects/1/guarded_rollouts/dry_run/", string(wire.MustEncode(body)), 200)
			if fault := mismatch("", wire.Value(c.Expect), wire.Value(got)); fault != "" {
				t.Error(fault)
			}
		})
	}
	if ran == 0 || only == "" && ran < 6 {
		t.Errorf("%d cases ran: is the file whole?", ran)
	}
	checkSealed(t, o.store, sealed)
}

// twoArms returns a flag with a treatment of some percentage, and a control.
func twoArms(key string, percent float64) map[string]any {
	return map[string]any{"key": key, "active": true, "filters": map[string]any{
		"groups": []any{map[string]any{"properties": []any{}, "rollout_percentage": 100}},
		"multivariate": map[string]any{"variants": []any{
			map[string]any{"key": "treatment", "rollout_percentage": percent}, map[string]any{"key": "control", "rollout_percentage": 100 - percent},
		}},
	}}
}

// sendPeople captures the events of persons, with distinct ids that get their variants.
func (o *office) sendPeople(t *testing.T, flag string, percent float64, begin time.Time, people []dryRunPeople) {
	t.Helper()
	batch, next := []any{}, 0
	for j, run := range people {
		for range run.N {
			var id string
			for found := false; !found; next++ {
				id = fmt.Sprintf("%s-%s-%d-%d", flag, run.Variant, j, next)
				found = (flags.Hash("").Variant(flag, id) < percent/100) == (run.Variant == "treatment")
			}
			for _, row := range run.Rows {
				event := map[string]any{"event": "$feature_flag_called", "distinct_id": id, "properties": map[string]any{"$feature_flag": flag, "$feature_flag_response": run.Variant}}
				times := 1.0
				if row[0] == "e" {
					event["event"], event["properties"] = row[2], map[string]any{}
					if len(row) > 3 {
						event["properties"] = row[3]
					}
					if len(row) > 4 {
						times = row[4].(float64)
					}
				}
				for n := range int(times) {
					one := maps.Clone(event)
					one["timestamp"] = begin.Add(time.Duration(row[1].(float64))*time.Second + time.Duration(n)*time.Second)
					batch = append(batch, one)
				}
			}
		}
	}
	for part := range slices.Chunk(batch, 500) {
		body := wire.MustEncode(map[string]any{"api_key": "phc_1", "historical_migration": true, "batch": part})
		if status, answer := o.ask(t, manageStep{As: "none", Request: "POST /batch/", Body: body}); status != 200 {
			t.Fatal(status, string(answer))
		}
	}
}

// rollout has the members of a rollout that the tests check.
type rollout struct {
	ID      int64
	Status  string
	Step    *int
	Reasons []string
	Version int64 `json:"state_version"`
}

const errorsGuard = `{"metric": {"kind": "ExperimentMetric", "metric_type": "mean", "source": {"kind": "EventsNode", "event": "error", "math": "total"}, "conversion_window": 30, "conversion_window_unit": "minute"}, "goal": "decrease"}`

// beginRollout creates and starts a rollout of a new flag: 10, 50 and 100 %, an hour each.
func (o *office) beginRollout(t *testing.T, key, more string) (r rollout, flag int64) {
	t.Helper()
	var f struct{ ID int64 }
	if err := json.Unmarshal(o.do(t, "POST /api/projects/1/feature_flags/", string(wire.MustEncode(twoArms(key, 0))), 201), &f); err != nil {
		t.Fatal(err)
	}
	o.read(t, o.do(t, "POST /api/projects/1/guarded_rollouts/", fmt.Sprintf(`{"feature_flag": %d, "start": true, "settle_seconds": 60, "minimum_exposures": 50,
		"steps": [{"percent": 10, "dwell_seconds": 3600}, {"percent": 50, "dwell_seconds": 3600}, {"percent": 100, "dwell_seconds": 3600}], "guardrails": [%s]%s}`, f.ID, errorsGuard, more), 201), &r)
	return r, f.ID
}

func (o *office) read(t *testing.T, text []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		t.Fatal(err, string(text))
	}
}

// evaluate runs the evaluations that are due, and returns the rollout.
func (o *office) evaluate(t *testing.T, id int64) (r rollout) {
	t.Helper()
	if _, err := o.service.Rollouts.EvaluateDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.read(t, o.do(t, fmt.Sprintf("GET /api/projects/1/guarded_rollouts/%d/", id), "", 200), &r)
	return r
}

// treatmentShare returns the flag's percentage of the treatment.
func (o *office) treatmentShare(t *testing.T, flag int64) float64 {
	t.Helper()
	var f struct {
		Filters struct {
			Multivariate struct {
				Variants []struct {
					Share float64 `json:"rollout_percentage"`
				}
			}
		}
	}
	o.read(t, o.do(t, fmt.Sprintf("GET /api/projects/1/feature_flags/%d/", flag), "", 200), &f)
	return f.Filters.Multivariate.Variants[0].Share
}

// experiments.md §4.7, §4.8: a rollout climbs its steps while there are no problems; each step
// creates a version of the flag, with its reason in the log.
func TestRollouts_GoUp(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	r, flag := o.beginRollout(t, "calm", "")
	for i, percent := range []float64{10, 50} {
		if r.Step == nil || *r.Step != i || r.Status != "running" || o.treatmentShare(t, flag) != percent {
			t.Fatalf("step %d: %+v, share %v", i, r, o.treatmentShare(t, flag))
		}
		o.sendPeople(t, "calm", percent, o.now().Add(2*time.Minute), []dryRunPeople{
			{N: 100, Variant: "treatment", Rows: [][]any{{"x", 0.0}}}, {N: int(100 * (100 - percent) / percent), Variant: "control", Rows: [][]any{{"x", 0.0}}},
		})
		o.wait(30 * time.Minute)
		if r = o.evaluate(t, r.ID); *r.Step != i {
			t.Fatal("before the dwell was over:", r)
		}
		o.wait(31 * time.Minute)
		r = o.evaluate(t, r.ID)
	}
	if r.Status != "completed" || *r.Step != 2 || o.treatmentShare(t, flag) != 100 {
		t.Errorf("%+v, share %v", r, o.treatmentShare(t, flag))
	}
	log := string(o.do(t, fmt.Sprintf("GET /api/projects/1/feature_flags/%d/activity/", flag), "", 200))
	for _, part := range []string{`"job_type":"guarded_rollout"`, `"action":"start"`, `"action":"advance"`, "no harm in 100 and 900 exposures", `"is_system":true`} {
		if !strings.Contains(log, part) {
			t.Errorf("the log lacks %s: %s", part, log)
		}
	}
}

// experiments.md §4.7: a harmed guardrail rolls back at once, before the dwell time has passed, and
// ends the rollout.
func TestRollouts_TurnBack(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	r, flag := o.beginRollout(t, "harm", "")
	o.sendPeople(t, "harm", 10, o.now().Add(2*time.Minute), []dryRunPeople{
		{N: 200, Variant: "treatment", Rows: [][]any{{"x", 0.0}, {"e", 60.0, "error"}}}, {N: 1800, Variant: "control", Rows: [][]any{{"x", 0.0}}},
		{N: 20, Variant: "treatment", Rows: [][]any{{"x", 0.0}}}, {N: 180, Variant: "control", Rows: [][]any{{"x", 0.0}, {"e", 60.0, "error"}}},
	})
	o.wait(10 * time.Minute)
	if r = o.evaluate(t, r.ID); r.Status != "running" {
		t.Fatal("nobody's window has closed:", r)
	}
	o.wait(25 * time.Minute)
	r = o.evaluate(t, r.ID)
	if r.Status != "rolled_back" || !slices.Equal(r.Reasons, []string{"guardrail"}) || o.treatmentShare(t, flag) != 0 {
		t.Fatalf("%+v, share %v", r, o.treatmentShare(t, flag))
	}
	o.wait(2 * time.Hour)
	if again := o.evaluate(t, r.ID); again.Version != r.Version {
		t.Error("it went on after its end:", again)
	}
	log := string(o.do(t, fmt.Sprintf("GET /api/projects/1/feature_flags/%d/activity/", flag), "", 200))
	// 200 of 220 in the treatment, 180 of 1980 in control.
	if !strings.Contains(log, "guardrail error: treatment 0.909, control 0.0909") || !strings.Contains(log, "(n 220 and 1980)") {
		t.Error(log)
	}
}

// experiments.md §4.7, rows 1, 7 and 10: a change of the flag, its deactivation and too few persons
// hold the rollout at its current share.
func TestRollouts_Hold(t *testing.T) {
	o := newOffice(t, "sqlite::memory:")
	r, flag := o.beginRollout(t, "held", "")
	path := fmt.Sprintf("/api/projects/1/feature_flags/%d/", flag)
	o.wait(61 * time.Minute)
	if r = o.evaluate(t, r.ID); r.Status != "holding" || !slices.Equal(r.Reasons, []string{"too_few_exposures"}) {
		t.Error(r)
	}
	o.do(t, "PATCH "+path, `{"active": false}`, 200)
	o.wait(2 * time.Minute)
	if r = o.evaluate(t, r.ID); !slices.Equal(r.Reasons, []string{"flag_inactive", "too_few_exposures"}) {
		t.Error(r)
	}
	changed := twoArms("held", 30)
	changed["active"] = true
	o.do(t, "PATCH "+path, string(wire.MustEncode(changed)), 200)
	o.wait(2 * time.Minute)
	if r = o.evaluate(t, r.ID); r.Status != "holding" || r.Reasons[0] != "flag_changed" || o.treatmentShare(t, flag) != 30 {
		t.Error(r, o.treatmentShare(t, flag))
	}
	call := func(name, body string, status int) string {
		return string(o.do(t, fmt.Sprintf("POST /api/projects/1/guarded_rollouts/%d/%s/", r.ID, name), body, status))
	}
	call("advance", `{}`, 409)
	call("pause", `{"reason": "looking"}`, 200)
	call("resume", `{}`, 409)
	call("resume", `{"accept_flag": true, "state_version": 1}`, 409)
	o.read(t, []byte(call("resume", `{"accept_flag": true}`, 200)), &r)
	if r.Status != "running" || *r.Step != 0 {
		t.Error(r)
	}
	o.read(t, []byte(call("advance", `{"reason": "sure"}`, 200)), &r)
	if *r.Step != 1 || o.treatmentShare(t, flag) != 50 {
		t.Error(r, o.treatmentShare(t, flag))
	}
	o.do(t, "PATCH "+path, `{"deleted": true}`, 200)
	o.wait(2 * time.Minute)
	if r = o.evaluate(t, r.ID); r.Status != "failed" || !slices.Equal(r.Reasons, []string{"flag_gone"}) {
		t.Error(r)
	}
}
