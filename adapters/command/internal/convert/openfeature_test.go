package convert

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// decideFile evaluates a flag of the written file for a user.
func decideFile(t *testing.T, r *Result, key string, attributes map[string]any) *flags.Decision {
	t.Helper()
	text, err := r.Document()
	if err != nil {
		t.Fatal(err)
	}
	file, err := flags.ParseFile(text)
	if err != nil {
		t.Fatal(err)
	}
	var out flags.Decisions
	sub := flags.Subject{DistinctID: "somebody", Person: attributes}
	flags.Compile(file.Projects[0].Definitions).Select(&sub, time.Unix(1_750_000_000, 0), &flags.Selection{Runtime: "all"}, &out)
	d := out.Find(key)
	if d == nil {
		t.Fatalf("no answer for %s; left: %v", key, r.Omissions)
	}
	return d
}

// openFeatureValue returns the member value of OFREP's response, or "" if it is missing.
func openFeatureValue(t *testing.T, r *Result, key string, attributes map[string]any) string {
	t.Helper()
	var answer struct{ Value json.RawMessage }
	if err := json.Unmarshal(decideFile(t, r, key, attributes).AppendOFREP(nil), &answer); err != nil {
		t.Fatal(err)
	}
	return string(answer.Value)
}

// For OpenFeature, a flag whose variants have values has the value with its type, as with the
// sources' own providers, in addition to variant and payload.
func TestOpenFeature_Values(t *testing.T) {
	flagd := func(variants, first string) string {
		return `{"flags": {"f": {"state": "ENABLED", "variants": ` + variants + `, "defaultVariant": "` + first + `"}}}`
	}
	goff := func(variations, first string) string {
		return `{"f": {"variations": ` + variations + `, "defaultRule": {"variation": "` + first + `"}}}`
	}
	unleash := func(variant string) string {
		return `{"features": [{"name": "f", "enabled": true, "strategies": [{"name": "default"}], "variants": [` + variant + `]}]}`
	}
	flipt := func(variant string) string {
		return `{"flags": [{"key": "f", "enabled": true, "variants": [` + variant + `]}]}`
	}
	for name, c := range map[string]struct {
		format, document, value, variant, payload string
	}{
		"a number of flagd":         {"flagd", flagd(`{"low": 5, "high": 20}`, "low"), `5`, "low", `5`},
		"a fraction":                {"flagd", flagd(`{"low": 0.25, "high": 20}`, "low"), `0.25`, "low", `0.25`},
		"zero":                      {"flagd", flagd(`{"none": 0, "one": 1}`, "none"), `0`, "none", `0`},
		"a text":                    {"flagd", flagd(`{"red": "c00", "blue": "00c"}`, "red"), `"c00"`, "red", `"c00"`},
		"a text of digits":          {"flagd", flagd(`{"a": "5", "b": "6"}`, "a"), `"5"`, "a", `"5"`},
		"a text that is null":       {"flagd", flagd(`{"a": "null", "b": "6"}`, "a"), `"null"`, "a", `"null"`},
		"an empty text":             {"flagd", flagd(`{"a": "", "b": "6"}`, "a"), `""`, "a", `""`},
		"an object":                 {"flagd", flagd(`{"a": {"n": [1]}, "b": {}}`, "a"), `{"n":[1]}`, "a", `{"n":[1]}`},
		"booleans":                  {"flagd", flagd(`{"on": true, "off": false}`, "off"), `false`, "", ``},
		"a number of GO":            {"gofeatureflag", goff(`{"low": 5, "high": 20}`, "high"), `20`, "high", `20`},
		"a list of GO":              {"gofeatureflag", goff(`{"a": ["x"], "b": []}`, "b"), `[]`, "b", `[]`},
		"a text of LaunchDarkly":    {"launchdarkly", `{"flagValues": {"f": "two words"}}`, `"two words"`, "value-1", `"two words"`},
		"a number of LaunchDarkly":  {"launchdarkly", `{"flags": {"f": {"on": true, "variations": [1.5, "on air"], "fallthrough": {"variation": 0}}}}`, `1.5`, "1.5", `1.5`},
		"a boolean among others":    {"launchdarkly", `{"flags": {"f": {"on": true, "variations": [true, "on air"], "fallthrough": {"variation": 0}}}}`, `true`, "true", `true`},
		"a text of GrowthBook":      {"growthbook", `{"features": {"f": {"defaultValue": "two words"}}}`, `"two words"`, "value-1", `"two words"`},
		"a number of GrowthBook":    {"growthbook", `{"features": {"f": {"defaultValue": 7}}}`, `7`, "7", `7`},
		"a payload of Unleash":      {"unleash", unleash(`{"name": "v", "weight": 1000, "payload": {"type": "number", "value": "5"}}`), `5`, "v", `5`},
		"a text of Unleash":         {"unleash", unleash(`{"name": "v", "weight": 1000, "payload": {"type": "string", "value": "5"}}`), `"5"`, "v", `"5"`},
		"a variant without payload": {"unleash", unleash(`{"name": "v", "weight": 1000}`), `"v"`, "v", ``},
		"Flipt's value is the key":  {"flipt", flipt(`{"key": "v", "default": true, "attachment": {"a": 1}}`), `"v"`, "v", `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := convertOne(t, c.format, []byte(c.document), Options{})
			if got := openFeatureValue(t, r, "f", nil); got != c.value {
				t.Errorf("OFREP answers %s, want %s", got, c.value)
			}
			d := decideFile(t, r, "f", nil)
			if got := string(d.PayloadJSON()); d.Variant != c.variant || got != c.payload {
				t.Errorf("/flags has the variant %q and the payload %s, want %q and %s", d.Variant, got, c.variant, c.payload)
			}
		})
	}
}
