package convert

import (
	"slices"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// An export of the state (/api/admin/state/export, versions 3 and 4) has a separate list of the
// segments of strategies.
func TestUnleash_StateSegments(t *testing.T) {
	state := `{"version": 4, "features": [{"name": "seg"}, {"name": "open"}, {"name": "lost"}, {"name": "anonymous"}],
	 "featureEnvironments": [{"featureName": "seg", "environment": "production", "enabled": true}, {"featureName": "open", "environment": "production", "enabled": true},
	  {"featureName": "lost", "environment": "production", "enabled": true}, {"featureName": "anonymous", "environment": "production", "enabled": true}],
	 "featureStrategies": [{"id": "s-1", "featureName": "seg", "environment": "production", "strategyName": "default"}, {"id": "s-2", "featureName": "open", "environment": "production", "strategyName": "default"},
	  {"id": "s-3", "featureName": "lost", "environment": "production", "strategyName": "default"}, {"featureName": "anonymous", "environment": "production", "strategyName": "default"}],
	 "segments": [{"id": 1, "name": "acme", "constraints": [{"contextName": "tenant", "operator": "IN", "values": ["acme"]}]},
	  {"id": 2, "name": "pro", "constraints": [{"contextName": "plan", "operator": "IN", "values": ["pro"]}]}],
	 "featureStrategySegments": [{"featureStrategyId": "s-1", "segmentId": 1}, {"featureStrategyId": "s-1", "segmentId": 2}, {"featureStrategyId": "s-3", "segmentId": 77},
	  {"featureStrategyId": "of an archived feature", "segmentId": 1}]}`
	r := convertOne(t, "unleash", []byte(state), Options{})
	omitted := omittedReasons(r)
	if !slices.Equal(r.Converted, []string{"open", "seg"}) || !strings.Contains(omitted["lost"], "not in this file") || !strings.Contains(omitted["anonymous"], "has no id") {
		t.Fatalf("converted %v, left %v", r.Converted, omitted)
	}
	for tenant, want := range map[string]bool{"acme": true, "other": false} {
		got := decideAll(t, r.File.Projects[0].Definitions, "u", m{"tenant": tenant, "plan": "pro"})
		if got["seg"] != any(want) || got["open"] != any(true) {
			t.Errorf("tenant %s: %v, want seg %v and open true", tenant, got, want)
		}
	}
	if got := decideAll(t, r.File.Projects[0].Definitions, "u", m{"tenant": "acme", "plan": "free"}); got["seg"] != any(false) {
		t.Errorf("in one segment of two: %v, want false", got["seg"])
	}
}

// Lists of the admin API contain features without their strategies, so they are refused.
func TestUnleash_AdminLists(t *testing.T) {
	for name, doc := range map[string]string{
		"features": `{"version": 2, "features": [{"name": "a", "environments": [{"name": "production", "enabled": true}]}]}`,
		"search":   `{"features": [{"name": "a", "project": "default", "type": "release", "environments": [{"name": "production", "enabled": true, "type": "production", "hasStrategies": true}], "segments": []}], "total": 1}`,
		"project":  `{"version": 1, "name": "Default", "mode": "open", "health": 100, "features": [{"name": "a", "stale": false, "environments": []}], "environments": [{"environment": "production"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := Find("unleash")
			_, err := f.Read([]Input{{"list.json", []byte(doc)}}, Options{})
			if err == nil || !strings.Contains(err.Error(), "features: is a list of the admin API, which has no strategies") || !strings.Contains(err.Error(), "/api/client/features") {
				t.Errorf("%v; want an error that names the export that has the rules", err)
			}
		})
	}
	for name, doc := range map[string]string{
		"one feature":  `{"name": "a", "environments": [{"name": "production", "enabled": true, "strategies": [{"name": "default"}]}]}`,
		"frontend API": `{"toggles": [{"name": "a", "enabled": true}]}`,
	} {
		f, _ := Find("unleash")
		if _, err := f.Read([]Input{{"one.json", []byte(doc)}}, Options{}); err == nil || !strings.Contains(err.Error(), "features: is missing") || !strings.Contains(err.Error(), "/api/client/features") {
			t.Errorf("%s: %v; want an error that names the export that has the rules", name, err)
		}
	}
	var r *Result
	for name, feature := range map[string]string{"on": `{"name": "a", "enabled": true}`, "neither on nor off": `{"name": "a", "type": "release", "project": "default", "stale": false}`} {
		r = convertOne(t, "unleash", []byte(`{"version": 2, "features": [`+feature+`]}`), Options{})
		if reason := omittedReasons(r)["a"]; !strings.Contains(reason, "strategies: is missing") || !strings.Contains(reason, "/api/client/features") {
			t.Errorf("%s without strategies: left out for %q", name, reason)
		}
	}
	// In files of version 1, a feature without a state is off.
	r = convertOne(t, "unleash", []byte(`{"version": 1, "features": [{"name": "a", "strategies": [{"name": "default"}]}, {"name": "b"}]}`), Options{})
	got := decideAll(t, r.File.Projects[0].Definitions, "u", nil)
	if got["a"] != any(false) || got["b"] != any(false) || len(r.Converted) != 2 {
		t.Errorf("%v, want both off", got)
	}
}

// Unleash returns false for a disabled feature. Its strategies are converted for no users;
// strategies that cannot be converted do not cause an omission.
func TestUnleash_Disabled(t *testing.T) {
	r := convertOne(t, "unleash", []byte(`{"features": [
		{"name": "plain", "enabled": false, "strategies": [{"name": "default"}]},
		{"name": "pro", "enabled": false, "strategies": [{"name": "default", "constraints": [{"contextName": "plan", "operator": "IN", "values": ["pro"]}]}]},
		{"name": "half", "enabled": false, "strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "50", "stickiness": "default"}}]},
		{"name": "variants", "enabled": false, "strategies": [{"name": "default"}], "variants": [{"name": "a", "weight": 500}, {"name": "b", "weight": 500}]},
		{"name": "odd", "enabled": false, "strategies": [{"name": "moonPhase"}]},
		{"name": "child", "enabled": true, "strategies": [{"name": "default"}], "dependencies": [{"feature": "variants", "variants": ["a"]}]},
		{"name": "opposite", "enabled": true, "strategies": [{"name": "default"}], "dependencies": [{"feature": "variants", "enabled": false}]}]}`), Options{})
	if omitted := omittedReasons(r); len(omitted) > 0 {
		t.Fatalf("left out: %v", omitted)
	}
	for key, want := range map[string]string{"plain": "false", "pro": "false", "half": "false", "variants": "false", "odd": "false", "child": "false", "opposite": "true"} {
		if got := openFeatureValue(t, r, key, m{"plan": "pro"}); got != want {
			t.Errorf("%s: OFREP answers %s, want %s", key, got, want)
		}
	}
	d := r.File.Projects[0].Definitions
	i := slices.IndexFunc(d.Flags, func(f flags.Flag) bool { return f.Key == "pro" })
	if c := d.Flags[i].Conditions; len(c) != 1 || len(c[0].Properties) != 1 || c[0].Properties[0].Key != "plan" || *c[0].Rollout != 0 {
		t.Errorf("conditions of pro: %v, want that on the plan with a rollout of 0", c)
	}
	if notes := notesOf(r)["odd"]; len(notes) != 1 || !strings.Contains(notes[0], `"moonPhase"`) {
		t.Errorf("notes of odd: %v", notes)
	}
}
