package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// decideAll evaluates all flags for a person.
func decideAll(t testing.TB, d flags.Definitions, id string, attributes map[string]any) map[string]any {
	t.Helper()
	var out flags.Decisions
	sub := flags.Subject{DistinctID: id, Person: attributes}
	flags.Compile(d).Select(&sub, time.Unix(1_750_000_000, 0), &flags.Selection{Runtime: "all"}, &out)
	got := map[string]any{}
	for _, f := range d.Flags {
		if x := out.Find(f.Key); x != nil {
			got[f.Key] = x.Value()
		}
	}
	return got
}

// With Rebucket, shares are converted and noted, and select other users: 30 % of 20,000 are within
// 4.5 standard deviations (292) of 6,000.
func TestConvert_Rebucket(t *testing.T) {
	inputs := map[string]string{
		"gofeatureflag": `{"half": {"variations": {"a": "A", "b": "B", "c": "C"}, "defaultRule": {"percentage": {"a": 30, "b": 60, "c": 10}}},
			"some": {"variations": {"on": true, "off": false}, "targeting": [{"query": "plan eq \"pro\"", "percentage": {"on": 30, "off": 70}}], "defaultRule": {"variation": "on"}}}`,
		"flagd": `{"flags": {"half": {"state": "ENABLED", "variants": {"a": "A", "b": "B", "c": "C"}, "defaultVariant": "c", "targeting": {"fractional": [["a", 3], ["b", 6], ["c"]]}},
			"some": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "on", "targeting": {"if": [{"==": [{"var": "plan"}, "pro"]}, {"fractional": [["off", 70], ["on", 30]]}]}}}}`,
		"unleash": `{"features": [{"name": "half", "enabled": true, "strategies": [{"name": "default"}], "variants": [{"name": "a", "weight": 300}, {"name": "b", "weight": 600}, {"name": "c", "weight": 100}]},
			{"name": "some", "enabled": true, "strategies": [{"name": "flexibleRollout", "parameters": {"rollout": "30"}, "constraints": [{"contextName": "plan", "operator": "IN", "values": ["pro"]}]},
			 {"name": "default", "constraints": [{"contextName": "plan", "operator": "NOT_IN", "values": ["pro"]}]}]}]}`,
	}
	for format, input := range inputs {
		t.Run(format, func(t *testing.T) {
			if got := omittedReasons(convertOne(t, format, []byte(input), Options{})); len(got) != 2 || !strings.Contains(got["half"], "--rebucket") {
				t.Errorf("without the option: left out %v, want both", got)
			}
			r := convertOne(t, format, []byte(input), Options{Rebucket: true})
			if !slices.Equal(r.Converted, []string{"half", "some"}) {
				t.Fatal(r.Converted, r.Omissions)
			}
			for _, key := range r.Converted {
				if !slices.ContainsFunc(r.Omissions, func(l Omission) bool { return l.Flag == key && !l.IsFlagOmitted && l.Reason == rebucketReason }) {
					t.Errorf("flag %s is not told: %v", key, r.Omissions)
				}
			}
			const n = 20_000
			counts := map[string]int{}
			set := flags.Compile(r.File.Projects[0].Definitions)
			var out flags.Decisions
			for i := range n {
				for _, plan := range []string{"pro", "free"} {
					sub := flags.Subject{DistinctID: fmt.Sprint("user-", i), Person: map[string]any{"plan": plan}}
					set.Select(&sub, time.Unix(0, 0), &flags.Selection{Runtime: "all"}, &out)
					counts[fmt.Sprint(plan, " half ", out.Find("half").Value())]++
					counts[fmt.Sprint(plan, " some ", out.Find("some").Value())]++
				}
			}
			for what, share := range map[string]float64{"pro half a": .3, "pro half b": .6, "pro half c": .1, "pro some true": .3, "free some true": 1} {
				if off := math.Abs(float64(counts[what]) - share*n); off > 4.5*math.Sqrt(share*(1-share)*n) {
					t.Errorf("%s: %d of %d, want a share of %v", what, counts[what], n, share)
				}
			}
		})
	}
}

// Ids are derived from keys: they do not change when other flags are added or removed.
func TestConvert_StableIDs(t *testing.T) {
	flag := `: {variations: {on: true, off: false}, defaultRule: {variation: on}}` + "\n"
	ids := func(text string) map[string]int64 {
		out := map[string]int64{}
		for _, f := range convertOne(t, "gofeatureflag", []byte(text), Options{}).File.Projects[0].Definitions.Flags {
			out[f.Key] = f.ID
		}
		return out
	}
	few, more := ids("b"+flag+"d"+flag), ids("a"+flag+"b"+flag+"c"+flag+"d"+flag)
	if few["b"] != more["b"] || few["d"] != more["d"] || len(more) != 4 {
		t.Errorf("ids change: %v, then %v", few, more)
	}
}

// Input that is not a document of the format returns an error with its position, and no result.
func TestConvert_BadInput(t *testing.T) {
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for name, c := range map[string]struct{ format, data, want string }{
		"empty":          {"gofeatureflag", " \n", "f: the document is empty"},
		"json":           {"flagd", "{\n \"flags\": {,}}", "line 2 column 12"},
		"json cut":       {"posthog", `{"flags": [`, "the document ends in the middle"},
		"after the end":  {"posthog", `{"flags": []} {}`, "text after the end"},
		"yaml":           {"gofeatureflag", "a:\n\tb: 1", "line 2"},
		"yaml twice":     {"gofeatureflag", "a: {}\na: {}", `line 2: the member "a" is given twice`},
		"yaml documents": {"gofeatureflag", "a: {}\n---\nb: {}", "a second document"},
		"deep":           {"posthog", deep, "nested deeper than 64 levels"},
		"deep yaml":      {"gofeatureflag", "a: " + deep, "nested deeper than 64 levels"},
		"no flags":       {"flagd", `{}`, "flags: is missing"},
		"flags text":     {"flagd", `{"flags": "x"}`, `flags: must be an object, not the text "x"`},
		"no features":    {"unleash", `{"toggles": []}`, "features: is missing"},
		"not an object":  {"unleash", `[1]`, "must be an object, not a list"},
		"neither":        {"posthog", `{"a": 1}`, "has neither flags nor results nor projects"},
		"two projects":   {"posthog", `{"projects": [{}, {}]}`, "projects: has 2 projects"},
		"number":         {"gofeatureflag", `5`, "must be an object, not the number 5"},
		"environments": {"unleash", `{"features": [], "featureEnvironments": [{"environment": "dev"}, {"environment": "prod"}]}`,
			"several environments, choose one with --environment: dev, prod"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := Find(c.format)
			if r, err := f.Read([]Input{{"f", []byte(c.data)}}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v; want an error with %q", r, err, c.want)
			}
		})
	}
}

// Aliases must not expand a small document to a large one.
func TestConvert_AliasesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	if _, err := decode([]byte(b.String())); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("%v, want an error about aliases", err)
	}
}

// An export has the parts of a feature in separate lists, for an environment.
func TestUnleash_Export(t *testing.T) {
	export := `{"features": [{"name": "a", "description": "First", "type": "release"}, {"name": "b"}, {"name": "c", "archived": true}],
	 "featureEnvironments": [{"featureName": "a", "environment": "prod", "enabled": true}, {"featureName": "a", "environment": "dev", "enabled": false},
	  {"featureName": "b", "environment": "prod", "enabled": true, "variants": [{"name": "v", "weight": 1000, "payload": {"type": "json", "value": "[1]"}}]}],
	 "featureStrategies": [{"featureName": "a", "name": "userWithId", "parameters": {"userIds": "u1"}, "sortOrder": 2}, {"featureName": "a", "name": "default", "disabled": true},
	  {"featureName": "b", "name": "default", "segments": [3]}],
	 "segments": [{"id": 3, "name": "only a name"}]}`
	r := convertOne(t, "unleash", []byte(export), Options{Environment: "prod"})
	got := omittedReasons(r)
	if !slices.Equal(r.Converted, []string{"a"}) || !strings.Contains(got["b"], "constraints are not in this file") || !strings.Contains(got["c"], "archived") {
		t.Errorf("converted %v, left %v", r.Converted, got)
	}
	for id, want := range map[string]bool{"u1": true, "u2": false} {
		if got := decideAll(t, r.File.Projects[0].Definitions, id, nil)["a"]; got != any(want) {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	dev := convertOne(t, "unleash", []byte(export), Options{Environment: "dev"})
	if got := decideAll(t, dev.File.Projects[0].Definitions, "u1", nil)["a"]; got != any(false) {
		t.Errorf("in dev: %v, want false, as Unleash answers of what is disabled", got)
	}
}

// The same document as YAML and as JSON has the same result.
func TestConvert_YAML(t *testing.T) {
	c := readCorpus(t, "gofeatureflag")
	fromJSON, err := convertOne(t, "gofeatureflag", c.Input, Options{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(c.Input, &v); err != nil {
		t.Fatal(err)
	}
	var yaml strings.Builder
	for _, key := range slices.Sorted(slices.Values(keysOf(v))) {
		text, _ := json.Marshal(v[key])
		fmt.Fprintf(&yaml, "%s:\n  %s\n", key, text)
	}
	fromYAML, err := convertOne(t, "gofeatureflag", []byte(yaml.String()), Options{}).Document()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(fromJSON), string(fromYAML)); diff != "" {
		t.Errorf("(-JSON +YAML)\n%s", diff)
	}
}

func keysOf(m map[string]any) (out []string) {
	for k := range m {
		out = append(out, k)
	}
	return out
}
