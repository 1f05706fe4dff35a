package convert

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/bunting-flags/bunting/flags"
)

// fuzzFormat checks for any document that reading does not panic, that every flag that it names is
// converted or left out, and that the result is a file without faults.
func fuzzFormat(f *testing.F, format string, flagKeys func(data []byte) []string, seeds ...string) {
	f.Helper()
	if format != "posthog" {
		data := readTestdata(f, format+".json")
		var c corpus
		if err := json.Unmarshal(data, &c); err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(c.Input))
	}
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	reader, _ := Find(format)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []Options{{}, {Rebucket: true}} {
			r, err := reader.Read([]Input{{"fuzz", data}}, o)
			if err != nil {
				continue
			}
			omitted := omittedReasons(r)
			for _, key := range flagKeys(data) {
				if _, is := omitted[key]; !is && !slices.Contains(r.Converted, key) {
					t.Errorf("flag %q is neither converted nor left out", key)
				}
			}
			text, err := r.Document()
			if err != nil {
				t.Fatal(err)
			}
			file, err := flags.ParseFile(text)
			if err != nil {
				t.Fatal(err)
			}
			for _, fault := range flags.Compile(file.Projects[0].Definitions).Faults() {
				if fault.Code != flags.NoReason {
					t.Errorf("%s: %s", fault.Path, fault.Problem)
				}
			}
		}
	})
}

// members returns the names of the members of a document, or of its member below.
func members(data []byte, below string) (out []string) {
	v, err := decode(data)
	if err != nil {
		return nil
	}
	if below != "" {
		v = v.get(below)
	}
	if m, ok := v.value.(map[string]any); ok {
		return keysOf(m)
	}
	return nil
}

// textsUnder returns the strings with a name in the objects of a list.
func textsUnder(data []byte, list, name string) (out []string) {
	v, err := decode(data)
	if err != nil {
		return nil
	}
	items, _ := v.get(list).value.([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		if s, ok := m[name].(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func FuzzGoFeatureFlag(f *testing.F) {
	fuzzFormat(f, "gofeatureflag", func(data []byte) []string { return members(data, "") },
		"a: {variations: {x: 1, y: 2}, defaultRule: {percentage: {x: 1, y: 2}}}", `{"a": {"variations": {"x": {}}, "targeting": [{"query": "not (a in [1,2]) and b pr"}]}}`)
}

func FuzzFlagd(f *testing.F) {
	fuzzFormat(f, "flagd", func(data []byte) []string { return members(data, "flags") }, `{"flags": [{"key": "a", "variants": {"on": true}, "targeting": {"if": [1, "on"]}}]}`)
}

func FuzzUnleash(f *testing.F) {
	fuzzFormat(f, "unleash", func(data []byte) []string { return textsUnder(data, "features", "name") },
		`{"features": [{"name": "a"}], "featureEnvironments": [{"featureName": "a", "environment": "e", "enabled": true}], "featureStrategies": [{"featureName": "a", "name": "default"}]}`)
}

func FuzzPostHog(f *testing.F) {
	fuzzFormat(f, "posthog", func(data []byte) []string {
		return append(textsUnder(data, "flags", "key"), textsUnder(data, "results", "key")...)
	},
		apiFlags, apiCohorts, apiGroups, `{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{}]}}],"cohorts":{"1":{"type":"AND","values":[]}}}`)
}
