package convert

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Omit also removes the flags that depend on the omitted flags, and the cohorts that only they use.
func TestResult_Omit(t *testing.T) {
	r := convertOne(t, "unleash", []byte(`{"features": [
		{"name": "a.b", "enabled": true, "strategies": [{"name": "default", "constraints": [{"contextName": "plan", "operator": "IN", "values": ["x"]}, {"contextName": "app", "operator": "SEMVER_EQ", "value": "1.2.3"}]}]},
		{"name": "child", "enabled": true, "strategies": [{"name": "default"}], "dependencies": [{"feature": "a.b"}]},
		{"name": "other", "enabled": true, "strategies": [{"name": "default", "constraints": [{"contextName": "n", "operator": "NUM_EQ", "value": "0"}]}]}]}`), Options{})
	d := &r.File.Projects[0].Definitions
	before := len(d.Cohorts)
	r.Omit([]Omission{{Flag: "a.b", Place: "key", Reason: "no"}}, nil)
	if !slices.Equal(r.Converted, []string{"other"}) || len(d.Flags) != 1 {
		t.Errorf("converted %v, want other", r.Converted)
	}
	omitted := omittedReasons(r)
	if omitted["a.b"] != "key: no" || !strings.Contains(omitted["child"], `depends on the flag "a.b"`) {
		t.Errorf("left out: %v", omitted)
	}
	for id, c := range d.Cohorts {
		if strings.HasPrefix(c.Name, "a.b") {
			t.Errorf("cohort %d, %q, is still there of %d", id, c.Name, before)
		}
	}
}

// Rename uses each proposed key for one flag only, and updates references to a renamed flag. A flag
// whose share depends on its key is not renamed.
func TestResult_Rename(t *testing.T) {
	document := []byte(`{"features": [
		{"name": "a.b", "enabled": true, "strategies": [{"name": "default", "constraints": [{"contextName": "plan", "operator": "IN", "values": ["x"]}]}]},
		{"name": "a-b", "enabled": true, "strategies": [{"name": "default"}]},
		{"name": "a b", "enabled": false, "strategies": []},
		{"name": "child", "enabled": true, "strategies": [{"name": "default"}], "dependencies": [{"feature": "a.b"}]},
		{"name": "half.on", "enabled": true, "strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "50"}}]}]}`)
	propose := func(key string) string { return strings.NewReplacer(".", "-", " ", "-").Replace(key) }
	r := convertOne(t, "unleash", document, Options{Rebucket: true})
	names := r.Rename(propose)
	if diff := cmp.Diff([]Renamed{{"a b", "a-b-2"}, {"a.b", "a-b-3"}, {"half.on", "half-on"}}, names); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if want := []string{"a-b", "a-b-2", "a-b-3", "child", "half-on"}; !slices.Equal(r.Converted, want) {
		t.Errorf("converted %v, want %v", r.Converted, want)
	}
	for plan, want := range map[string]bool{"x": true, "y": false} {
		if got := decideFile(t, r, "child", m{"plan": plan}); got.Enabled != want {
			t.Errorf("child for plan %s: %v, want %v as a.b is", plan, got.Enabled, want)
		}
	}

	// In our own format a share depends on the key.
	own := []byte(`{"flags": [{"id": 1, "key": "x.y", "active": true, "filters": {"groups": [{"rollout_percentage": 50}]}},
		{"id": 2, "key": "x.z", "active": true, "filters": {"groups": [{"rollout_percentage": 100}]}},
		{"id": 3, "key": "x.v", "active": true, "filters": {"groups": [{"rollout_percentage": 100}], "multivariate": {"variants": [{"key": "a", "rollout_percentage": 50}, {"key": "b", "rollout_percentage": 50}]}}}]}`)
	r = convertOne(t, "posthog", own, Options{})
	if diff := cmp.Diff([]Renamed{{"x.z", "x-z"}}, r.Rename(propose)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := decideFile(t, r, "x-z", nil); !got.Enabled {
		t.Errorf("x-z: %v, want true as x.z was", got.Enabled)
	}
	if notes := notesOf(r)["x.y"]; len(notes) != 1 || !strings.Contains(notes[0], "--rebucket renames it so") {
		t.Errorf("notes of x.y: %v", notes)
	}
}

// Cohorts of the same name get distinct names, as in a server's export.
func TestResult_PortableCohortNames(t *testing.T) {
	r := convertOne(t, "posthog", []byte(`{"flags": [{"id": 1, "key": "f", "active": true, "filters": {"groups": [{"properties": [{"key": "id", "type": "cohort", "operator": "in", "value": 8}]}]}}],
		"cohorts": {"7": {"name": "staff", "filters": {"properties": {"type": "OR", "values": []}}}, "8": {"name": "staff", "filters": {"properties": {"type": "OR", "values": []}}}}}`), Options{})
	text, err := r.Portable()
	if err != nil || !strings.Contains(string(text), `"value": "staff (8)"`) {
		t.Errorf("%v\n%s\nwant a flag in the cohort staff (8)", err, text)
	}
}
