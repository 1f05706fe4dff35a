package flags_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bunting-flags/bunting/flags"
)

// readFlag has every member that has a field, including older forms, and members without a
// field (spec/flags.md §1.1 to §1.4: they survive a round trip).
const readFlag = `{"id": 7, "key": "f", "name": "old", "version": 3, "active": true, "deleted": false, "tags": ["kept"], "team_id": 1,
	"evaluation_runtime": "server", "evaluation_tags": ["web"], "bucketing_identifier": "device_id", "bucketing_hash": "murmur3",
	"filters": {"payloads": {"true": "1"}, "early_exit": true, "extra": "kept",
		"super_groups": [{"properties": [{"key": "$feature_enrollment/f", "type": "person", "operator": "exact", "value": ["true"]}]}],
		"holdout_groups": [{"properties": [], "rollout_percentage": 10, "variant": "holdout-5"}],
		"multivariate": {"extra": "kept", "variants": [{"key": "a", "name": "A", "rollout_percentage": 50}, {"key": "b", "name": "B", "rollout_percentage": 50}]},
		"groups": [
			{"description": "first", "properties": [{"key": "plan", "type": "person", "operator": "exact", "value": "pro", "label": "Plan"}, {"key": "n", "type": "person", "operator": "gt", "value": 5.0}], "rollout_percentage": 100},
			{"description": "second", "properties": [], "rollout_percentage": 50, "variant": "b"}]}}`

// The payload, which SDKs evaluate, contains the changed fields of a flag that was parsed,
// and otherwise the flag as it was read.
func TestPayload_1_8_EditedFlag(t *testing.T) {
	ten, company := 10.0, 0
	edits := map[string]func(*flags.Flag){
		"nothing":                   func(*flags.Flag) {},
		"switched off":              func(f *flags.Flag) { f.Active = false },
		"key and id":                func(f *flags.Flag) { f.Key, f.ID = "g", 8 },
		"name and version":          func(f *flags.Flag) { f.Name, f.Version = "new", 4 },
		"for everybody":             func(f *flags.Flag) { f.Runtime, f.Contexts = "", nil },
		"contexts":                  func(f *flags.Flag) { f.Contexts, f.ContextsAll = []string{"app", "web"}, true },
		"by person":                 func(f *flags.Flag) { f.DeviceBucketing, f.Hash = false, "" },
		"continuity":                func(f *flags.Flag) { f.Continuity, f.DeviceBucketing = true, false },
		"remote config":             func(f *flags.Flag) { f.RemoteConfig, f.HasExperiment = true, true },
		"payloads":                  func(f *flags.Flag) { f.Payloads = map[string]json.RawMessage{"a": json.RawMessage(`{"x":1}`)} },
		"no payload":                func(f *flags.Flag) { delete(f.Payloads, "true") },
		"no enrollment":             func(f *flags.Flag) { f.Enrollment = false },
		"no holdout":                func(f *flags.Flag) { f.Holdout = nil },
		"another holdout":           func(f *flags.Flag) { f.Holdout.Exclusion = 100 },
		"no early exit":             func(f *flags.Flag) { f.EarlyExit = false },
		"for groups":                func(f *flags.Flag) { f.Group = &company; f.DeviceBucketing = false },
		"no conditions":             func(f *flags.Flag) { f.Conditions = nil },
		"rollout in place":          func(f *flags.Flag) { *f.Conditions[1].Rollout = 0 },
		"another rollout":           func(f *flags.Flag) { f.Conditions[0].Rollout = &ten },
		"turned round":              func(f *flags.Flag) { f.Conditions[0], f.Conditions[1] = f.Conditions[1], f.Conditions[0] },
		"one more":                  func(f *flags.Flag) { f.Conditions = append(f.Conditions, flags.Condition{Variant: "a"}) },
		"a value":                   func(f *flags.Flag) { f.Conditions[0].Properties[0].Value = "free" },
		"a value, 5 instead of 5.0": func(f *flags.Flag) { f.Conditions[0].Properties[1].Value = 5 },
		"a requirement less":        func(f *flags.Flag) { f.Conditions[0].Properties = f.Conditions[0].Properties[1:] },
		"aggregation":               func(f *flags.Flag) { f.Conditions[1].Aggregation = flags.Aggregation{Set: true} },
		"shares":                    func(f *flags.Flag) { f.Variants[0].Rollout, f.Variants[1].Rollout = 0, 100 },
		"no variants":               func(f *flags.Flag) { f.Variants = nil },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			d, err := flags.ParseDefinitions([]byte(`{"flags": [` + readFlag + `], "group_type_mapping": {"0": "company"}}`))
			if err != nil {
				t.Fatal(err)
			}
			edit(&d.Flags[0])
			body, err := d.Payload()
			if err != nil {
				t.Fatal(err)
			}
			read, err := flags.ParseDefinitions(body)
			if err != nil {
				t.Fatal(err)
			}
			fields := cmp.Options{cmpopts.IgnoreUnexported(flags.Flag{}), cmpopts.EquateEmpty()}
			want, got := d.Flags[0], read.Flags[0]
			if name == "a value, 5 instead of 5.0" { // an int becomes int64, as in decoded JSON
				want.Conditions[0].Properties[1].Value = int64(5)
			}
			if diff := cmp.Diff(want, got, fields); diff != "" {
				t.Errorf("the payload is of another flag (-fields +payload):\n%s\n%s", diff, body)
			}
			sameAnswers(t, &d, &read)
			checkPreserved(t, name, body)
		})
	}
}

// sameAnswers checks that the payload and the fields have the same results.
func sameAnswers(t *testing.T, a, b *flags.Definitions) {
	t.Helper()
	one, other := flags.Compile(*a), flags.Compile(*b)
	for _, id := range []string{"u1", "u2", "u3", "u4", "u5", "u6"} {
		for _, plan := range []string{"pro", "free"} {
			sub := &flags.Subject{DistinctID: id, DeviceID: id, Person: flags.Properties{"plan": plan, "n": int64(6)}, Groups: map[string]string{"company": "c"}}
			var x, y flags.Decisions
			one.Evaluate(sub, time.Unix(0, 0), &x)
			other.Evaluate(sub, time.Unix(0, 0), &y)
			if diff := cmp.Diff(x.List, y.List, cmpopts.IgnoreUnexported(flags.Reason{})); diff != "" {
				t.Errorf("%s, %s (-fields +payload):\n%s", id, plan, diff)
			}
		}
	}
}

// checkPreserved checks the members without a field.
func checkPreserved(t *testing.T, name string, body []byte) {
	t.Helper()
	var p struct {
		Flags []struct {
			Tags    []string
			Team    int `json:"team_id"`
			Filters struct {
				Extra        string
				Multivariate struct{ Extra string }
				Groups       []struct{ Description string }
			}
		}
	}
	if err := json.Unmarshal(body, &p); err != nil || len(p.Flags) != 1 {
		t.Fatalf("%v in %s", err, body)
	}
	f := p.Flags[0]
	if len(f.Tags) != 1 || f.Team != 1 || f.Filters.Extra != "kept" || f.Filters.Multivariate.Extra != "kept" {
		t.Errorf("lost of the record: %+v", f)
	}
	var texts []string
	for _, g := range f.Filters.Groups {
		texts = append(texts, g.Description)
	}
	want := []string{"first", "second"}
	switch name {
	case "turned round":
		want = []string{"second", "first"}
	case "one more":
		want = []string{"first", "second", ""}
	case "no conditions":
		want = nil
	}
	if diff := cmp.Diff(want, texts); diff != "" {
		t.Errorf("descriptions (-want +got):\n%s", diff)
	}
}

// A flag that cannot be read still has its state.
func TestFlag_MarshalJSON_EditedFault(t *testing.T) {
	d, err := flags.ParseDefinitions([]byte(`{"flags": [{"id": 7, "key": "f", "active": true, "filters": {"groups": 5}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d.Flags[0].Active = false
	text, err := json.Marshal(d.Flags[0])
	want := `{"active":false,"filters":{"groups":5},"has_experiment":false,"id":7,"key":"f"}`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}
