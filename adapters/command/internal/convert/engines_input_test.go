package convert

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Flags with shares, and the share of all users for each value, computed from the weights in the
// documents. 3 sigma of 20,000 draws are below 0.011.
func TestEngines_Rebucket(t *testing.T) {
	tests := map[string]map[string]map[string]float64{
		"launchdarkly": {"share": {"true": 0.3, "false": 0.7}},
		"growthbook": {
			"coverage-half": {"true": 0.5, "false": 0.5}, "range-part": {"true": 0.3, "false": 0.7}, "exp": {"a": 0.5, "b": 0.5},
		},
		"flipt": {"threshold": {"true": 0.4, "false": 0.6}, "v-split": {"red": 0.5, "blue": 0.5}},
	}
	for format, want := range tests {
		t.Run(format, func(t *testing.T) {
			f, _ := Find(format)
			result, err := f.Read([]Input{{format, readCorpus(t, format).Input}}, Options{Rebucket: true})
			if err != nil {
				t.Fatal(err)
			}
			set := flags.Compile(result.File.Projects[0].Definitions)
			const users = 20_000
			got := map[string]map[string]int{}
			var out flags.Decisions
			for i := range users {
				sub := flags.Subject{DistinctID: fmt.Sprint("user-", i), Person: flags.Properties{"plan": "pro"}}
				set.Select(&sub, time.Unix(1_750_000_000, 0), &flags.Selection{Runtime: "all"}, &out)
				for key := range want {
					d := out.Find(key)
					if d == nil {
						t.Fatalf("flag %s is not there: %v", key, result.Omissions)
					}
					if got[key] == nil {
						got[key] = map[string]int{}
					}
					got[key][fmt.Sprint(d.Value())]++
				}
			}
			for key, shares := range want {
				for value, share := range shares {
					if part := float64(got[key][value]) / users; math.Abs(part-share) > 0.011 {
						t.Errorf("flag %s: %s for %g of the users, want %g", key, value, part, share)
					}
				}
				if !slices.ContainsFunc(result.Omissions, func(l Omission) bool { return l.Flag == key && !l.IsFlagOmitted && l.Reason == rebucketReason }) {
					t.Errorf("flag %s: nothing says that other people get the shares", key)
				}
			}
		})
	}
}

func TestEngines_BadInput(t *testing.T) {
	tests := map[string]struct{ format, text, want string }{
		"flipt: empty":              {"flipt", "", "the document is empty"},
		"flipt: other":              {"flipt", `{"a": 1}`, `it has no "flags"`},
		"flipt: a list":             {"flipt", `[1]`, "must be an object, not a list"},
		"flipt: flags":              {"flipt", `{"flags": {"a": 1}}`, "flags: must be a list, not an object"},
		"flipt: no key":             {"flipt", "flags:\n- name: a\n", "flags[0].key: must be text, not null or absent"},
		"flipt: two documents":      {"flipt", "flags: []\n---\nflags: []\n", "a second document in one file is not read"},
		"launchdarkly: other":       {"launchdarkly", `{"a": 1}`, `it has no "flags"`},
		"launchdarkly: REST":        {"launchdarkly", `{"items": []}`, "items: is a list of the REST API"},
		"launchdarkly: flags":       {"launchdarkly", `{"flags": []}`, "flags: must be an object, not a list"},
		"launchdarkly: broken":      {"launchdarkly", "{\"flags\":\n {,}}", "line 2 column 3"},
		"growthbook: other":         {"growthbook", `{}`, `it has no "features"`},
		"growthbook: encrypted":     {"growthbook", `{"features": {}, "encryptedFeatures": "x"}`, "encryptedFeatures: the features are encrypted"},
		"growthbook: features":      {"growthbook", `{"features": 3}`, "features: must be an object, not the number 3"},
		"growthbook: REST":          {"growthbook", `{"features": [{"id": "a", "environments": {}}], "limit": 10}`, "features: is a list of the REST API, whose rules have another form: give the payload of an SDK connection"},
		"growthbook: one of REST":   {"growthbook", `{"feature": {"id": "a", "environments": {}}}`, "feature: is one feature of the REST API"},
		"growthbook: nested deeply": {"growthbook", `{"features": ` + strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 101), "nested deeper than 64 levels"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, _ := Find(tt.format)
			if _, err := f.Read([]Input{{"file", []byte(tt.text)}}, Options{}); err == nil || !strings.HasPrefix(err.Error(), "file: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want file: … %s", err, tt.want)
			}
		})
	}
}

// If a flag cannot be read, only that flag is left out.
func TestEngines_BadFlag(t *testing.T) {
	tests := map[string]struct{ format, text, want string }{
		"flipt: unknown segment":  {"flipt", `{"flags": [{"key": "bad", "type": "BOOLEAN_FLAG_TYPE", "rollouts": [{"segment": {"key": "s"}}]}, {"key": "good", "type": "BOOLEAN_FLAG_TYPE"}]}`, `rollouts[0].segment.key: there is no segment "s"`},
		"flipt: unknown type":     {"flipt", `{"flags": [{"key": "bad", "type": "X"}, {"key": "good"}]}`, "type: is an unknown type"},
		"flipt: operator":         {"flipt", `{"flags": [{"key": "bad", "rules": [{"segment": "s"}], "enabled": true}, {"key": "good"}], "segments": [{"key": "s", "constraints": [{"type": "BOOLEAN_COMPARISON_TYPE", "property": "p", "operator": "lt"}]}]}`, `segments[0].constraints[0].operator: "lt" is an unknown operator of a BOOLEAN_COMPARISON_TYPE`},
		"flipt: unknown member":   {"flipt", `{"flags": [{"key": "bad", "holdout": 3}, {"key": "good"}]}`, "holdout: is unknown, and may change answers"},
		"flipt: not a number":     {"flipt", `{"flags": [{"key": "bad", "type": "BOOLEAN_FLAG_TYPE", "rollouts": [{"segment": "s"}]}, {"key": "good"}], "segments": [{"key": "s", "constraints": [{"type": "NUMBER_COMPARISON_TYPE", "property": "p", "operator": "lt", "value": "many"}]}]}`, "value: is not a number"},
		"launchdarkly: no object": {"launchdarkly", `{"flags": {"bad": 3, "good": {"on": false, "variations": [true], "offVariation": 0}}}`, "must be an object, not the number 3"},
		"launchdarkly: clauses":   {"launchdarkly", `{"flags": {"bad": {"on": true, "variations": [true], "rules": [{"variation": 0, "clauses": 3}]}, "good": {}}}`, "rules[0].clauses: must be a list"},
		"growthbook: rule":        {"growthbook", `{"features": {"bad": {"rules": [{"force": 1, "urlPatterns": []}]}, "good": {}}}`, "rules[0].urlPatterns: is unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, _ := Find(tt.format)
			r, err := f.Read([]Input{{"file", []byte(tt.text)}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(r.Omissions, func(l Omission) bool { return l.Flag == "bad" && l.IsFlagOmitted })
			if i < 0 || !strings.Contains(r.Omissions[i].Place+": "+r.Omissions[i].Reason, tt.want) || !slices.Equal(r.Converted, []string{"good"}) {
				t.Errorf("converted %v, left %+v, want a place and reason %q", r.Converted, r.Omissions, tt.want)
			}
		})
	}
}

// The environment option selects one of two namespaces of Flipt.
func TestFlipt_Namespace(t *testing.T) {
	files := []Input{{"a", []byte("namespace: default\nflags: [{key: x}]")}, {"b", []byte("namespace: {key: shop}\nflags: [{key: x, name: shop's}]")}}
	f, _ := Find("flipt")
	for environment, want := range map[string]string{"default": "", "shop": "shop's", "": ""} {
		r, err := f.Read(files, Options{Environment: environment})
		if err != nil {
			t.Fatal(err)
		}
		if fl := r.File.Projects[0].Definitions.Flags; len(fl) != 1 || fl[0].Name != want || (len(r.Omissions) == 1) != (environment == "") {
			t.Errorf("environment %q: flags %v, left %v", environment, fl, r.Omissions)
		}
	}
}

// For any document: reading does not panic, each flag that it names is either converted or left
// out, and the result has no faults and can be written and read.
func FuzzEngines(f *testing.F) {
	formats := []string{"flipt", "launchdarkly", "growthbook"}
	for i, format := range formats {
		for _, c := range []string{`{}`, `{"flags": {"a": {"on": true, "variations": [1], "fallthrough": {"variation": 0}}}}`, `{"features": {"a": {"defaultValue": {"x": null}}}}`, "flags: [{key: a}]"} {
			f.Add(i, []byte(c))
		}
		var c corpus
		if err := json.Unmarshal(readCorpusFile(f, format), &c); err != nil {
			f.Fatal(err)
		}
		f.Add(i, []byte(c.Input))
	}
	f.Fuzz(func(t *testing.T, which int, data []byte) {
		format := formats[uint(which)%uint(len(formats))]
		row, _ := Find(format)
		r, err := row.Read([]Input{{"file", data}}, Options{Rebucket: which > 2})
		if err != nil {
			return
		}
		for _, key := range flagsNamed(format, data) {
			isOmitted := slices.ContainsFunc(r.Omissions, func(l Omission) bool { return l.Flag == key && l.IsFlagOmitted })
			if _, converted := slices.BinarySearch(r.Converted, key); !isOmitted && !converted {
				t.Fatalf("flag %q is neither converted nor left out", key)
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
		for _, d := range []flags.Definitions{r.File.Projects[0].Definitions, file.Projects[0].Definitions} {
			for _, fault := range flags.Compile(d).Faults() {
				if fault.Code != flags.NoReason {
					t.Fatalf("fault %v in\n%s", fault, text)
				}
			}
		}
	})
}

// flagsNamed returns the keys of the flags in a document that is JSON.
func flagsNamed(format string, data []byte) (keys []string) {
	var doc map[string]json.RawMessage
	if json.Unmarshal(data, &doc) != nil {
		return nil
	}
	if format == "flipt" {
		var list []struct{ Key string }
		if json.Unmarshal(doc["flags"], &list) == nil {
			for _, f := range list {
				keys = append(keys, f.Key)
			}
		}
		return keys
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(doc[map[string]string{"launchdarkly": "flags", "growthbook": "features"}[format]], &members) == nil {
		for key := range members {
			keys = append(keys, key)
		}
	}
	return keys
}

// A ladder of prerequisites has 2^40 paths: each flag must be visited only once.
func TestEngines_LadderOfPrerequisites(t *testing.T) {
	var ld, gb []string
	for i := range 40 {
		ld = append(ld, fmt.Sprintf(`"f%d": {"on": true, "variations": [true, false], "offVariation": 1, "fallthrough": {"variation": 0}, "prerequisites": [{"key": "f%d", "variation": 0}, {"key": "f%d", "variation": 0}]}`, i, i+1, i+1))
		gb = append(gb, fmt.Sprintf(`"f%d": {"defaultValue": false, "rules": [{"force": true, "parentConditions": [{"id": "f%d", "condition": {"value": true}}, {"id": "f%d", "condition": {"value": true}}]}]}`, i, i+1, i+1))
	}
	ld = append(ld, `"f40": {"on": true, "variations": [true, false], "fallthrough": {"variation": 0}}`)
	gb = append(gb, `"f40": {"defaultValue": true}`)
	for format, text := range map[string]string{"launchdarkly": `{"flags": {` + strings.Join(ld, ",") + "}}", "growthbook": `{"features": {` + strings.Join(gb, ",") + "}}"} {
		f, _ := Find(format)
		r, err := f.Read([]Input{{"file", []byte(text)}}, Options{})
		if err != nil || len(r.Converted) != 41 {
			t.Fatalf("%s: %d flags converted, want 41: %v %v", format, len(r.Converted), err, r.Omissions)
		}
		var out flags.Decisions
		flags.Compile(r.File.Projects[0].Definitions).Select(&flags.Subject{DistinctID: "u"}, time.Unix(0, 0), &flags.Selection{Runtime: "all"}, &out)
		if d := out.Find("f0"); d == nil || !d.Enabled {
			t.Errorf("%s: f0 is %+v, want on", format, d)
		}
	}
}
