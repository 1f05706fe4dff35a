package convert

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// For files of other formats the error names the format, and which file to use instead.
func TestConvert_ReasonsThatHelp(t *testing.T) {
	const toml = "# flags\n[new-checkout]\nvariations = { on = true, off = false }\n\n[new-checkout.defaultRule]\nvariation = \"on\"\n"
	const twoNamespaces = `{"version": "1.4", "namespace": {"key": "a"}, "flags": []}` + "\n" + `{"version": "1.4", "namespace": {"key": "b"}, "flags": []}` + "\n"
	for name, c := range map[string]struct{ format, data, want string }{
		"TOML":               {"gofeatureflag", toml, "is TOML, which is not supported: convert it to YAML or JSON"},
		"TOML values":        {"gofeatureflag", "title = \"x\"\n", "is TOML"},
		"TOML for flagd":     {"flagd", toml, "is TOML"},
		"all namespaces":     {"flipt", "version: \"1.4\"\nnamespace: a\nflags: []\n---\nversion: \"1.4\"\nnamespace: b\nflags: []\n", "line 4: a second document in one file is not read: export one namespace"},
		"JSON lines":         {"flipt", twoNamespaces, "export one namespace"},
		"a resource":         {"flagd", "apiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\nmetadata: {name: x}\nspec:\n  flagSpec:\n    flags: {}\n", "is a Kubernetes resource, a FeatureFlag: the flags are inside it, at spec.flagSpec"},
		"a ConfigMap":        {"gofeatureflag", "apiVersion: v1\nkind: ConfigMap\ndata:\n  flags.yaml: |\n    a: {}\n", "at each of flags.yaml below data"},
		"a list of these":    {"flagd", `{"apiVersion": "v1", "kind": "List", "items": [{}]}`, "at items"},
		"several resources":  {"flagd", "apiVersion: v1\nkind: Namespace\n---\napiVersion: core.openfeature.dev/v1beta1\nkind: FeatureFlag\n", "line 3: a second document in one file is not read: these are Kubernetes resources, and the flags are inside one of them"},
		"a resource without": {"unleash", `{"apiVersion": "v1", "kind": "Pod"}`, "without flags inside"},
		"one REST flag":      {"launchdarkly", `{"key": "f", "kind": "boolean", "variations": [{"value": true}], "environments": {"production": {"on": true}}}`, "is one flag of the REST API, which has no segments: give the data of an SDK"},
		"REST flags":         {"launchdarkly", `{"items": [{"key": "f"}]}`, "items: is a list of the REST API, which has no segments: give the data of an SDK"},
	} {
		t.Run(name, func(t *testing.T) {
			f, _ := Find(c.format)
			if r, err := f.Read([]Input{{"f", []byte(c.data)}}, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, %v; want an error with %q", r, err, c.want)
			}
		})
	}
	old := convertOne(t, "gofeatureflag", []byte("f:\n  rule: key eq \"x\"\n  percentage: 100\n  true: B\n  false: A\n  default: C\n"), Options{})
	if reason := omittedReasons(old)["f"]; !strings.Contains(reason, "format of before version 1") || !strings.Contains(reason, "defaultRule") {
		t.Errorf("old format: %q", reason)
	}
	// Strings that only look like TOML are YAML.
	yaml := convertOne(t, "gofeatureflag", []byte("f:\n  variations: {a: \"x = 1\", b: \"[y]\"}\n  defaultRule: {variation: a}\n"), Options{})
	if !slices.Equal(yaml.Converted, []string{"f"}) {
		t.Errorf("converted %v, %v", yaml.Converted, yaml.Omissions)
	}
}

// Names that are not valid variant keys are replaced, and the values are preserved.
func TestConvert_VariantNames(t *testing.T) {
	for name, c := range map[string]struct{ format, document, variant, value string }{
		"flagd": {"flagd", `{"flags": {"f": {"state": "ENABLED", "variants": {"10%": 0.1, "two words": 0.2, "value-1": 0.3}, "defaultVariant": "10%"}}}`, "value-1.2", "0.1"},
		"flagd, by targeting": {"flagd", `{"flags": {"f": {"state": "ENABLED", "variants": {"10%": "a", "two words": "b"}, "defaultVariant": "10%",
			"targeting": {"if": [true, "two words", null]}}}}`, "value-2", `"b"`},
		"GO Feature Flag":      {"gofeatureflag", `{"f": {"variations": {"10%": [1], "b": [2]}, "defaultRule": {"percentage": {"10%": 100, "b": 0}}}}`, "value-1", "[1]"},
		"booleans":             {"flagd", `{"flags": {"f": {"state": "ENABLED", "variants": {"turned on": true, "turned off": false}, "defaultVariant": "turned on"}}}`, "", "true"},
		"Unleash":              {"unleash", `{"features": [{"name": "f", "enabled": true, "strategies": [{"name": "default"}], "variants": [{"name": "two words", "weight": 1, "payload": {"type": "number", "value": "5"}}]}]}`, "value-1", "5"},
		"Unleash, by its name": {"unleash", `{"features": [{"name": "f", "enabled": true, "strategies": [{"name": "default"}], "variants": [{"name": "two words", "weight": 1}]}]}`, "value-1", `"two words"`},
		"Unleash, a parent": {"unleash", `{"features": [{"name": "p", "enabled": true, "strategies": [{"name": "default"}], "variants": [{"name": "two words", "weight": 1}]},
			{"name": "f", "enabled": true, "strategies": [{"name": "default"}], "dependencies": [{"feature": "p", "variants": ["two words"]}]}]}`, "", "true"},
	} {
		t.Run(name, func(t *testing.T) {
			r := convertOne(t, c.format, []byte(c.document), Options{})
			if d := decideFile(t, r, "f", nil); d.Variant != c.variant {
				t.Errorf("variant %q, want %q", d.Variant, c.variant)
			}
			if got := openFeatureValue(t, r, "f", nil); got != c.value {
				t.Errorf("OFREP answers %s, want %s", got, c.value)
			}
			if c.variant != "" && !slices.ContainsFunc(notesOf(r)["f"], func(n string) bool { return strings.Contains(n, "is renamed to "+`"`+c.variant+`"`) }) {
				t.Errorf("no note about %s: %v", c.variant, notesOf(r))
			}
		})
	}
}

// Parts of a GO Feature Flag that change with time are converted if their dates are past, by the
// rules of its module core/flag (rule.go, internal_flag.go). A nil value is the caller's default.
func TestGoFeatureFlag_PastDates(t *testing.T) {
	progress := func(end string, percentage string) string {
		return `"variations": {"old": "o", "new": "n"}, "defaultRule": {"progressiveRollout": {"initial": {"variation": "old", "percentage": 10, "date": "2024-01-01T00:00:00Z"}, "end": {"variation": "new"` + percentage + `, "date": "` + end + `"}}}`
	}
	scheduled := func(steps string) string {
		return `"variations": {"a": "A", "b": "B"}, "defaultRule": {"variation": "a"}, "targeting": [{"name": "pro", "query": "plan eq \"pro\"", "variation": "b"}], "scheduledRollout": [` + steps + `]`
	}
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		flag string
		plan string
		want any
		left string
	}{
		"a rollout that has ended":         {progress("2024-02-01T00:00:00Z", ""), "", "n", ""},
		"to 100 per cent":                  {progress("2024-02-01T00:00:00Z", `, "percentage": 100`), "", "n", ""},
		"ended on the day":                 {progress("2026-06-01", ""), "", "n", ""},
		"a rollout that goes on":           {progress("2026-06-02T00:00:00Z", ""), "", nil, "is in the future"},
		"ended with a share":               {progress("2024-02-01T00:00:00Z", `, "percentage": 60`), "", nil, "depends on the source's hash"},
		"ends before it begins":            {progress("2023-02-01T00:00:00Z", ""), "", nil, "not after the first date"},
		"a step":                           {scheduled(`{"date": "2024-01-01T00:00:00Z", "defaultRule": {"variation": "b"}}`), "free", "B", ""},
		"the newest step wins":             {scheduled(`{"date": "2024-03-01T00:00:00Z", "defaultRule": {"variation": "a"}}, {"date": "2024-01-01T00:00:00Z", "defaultRule": {"variation": "b"}}`), "free", "A", ""},
		"a step to come":                   {scheduled(`{"date": "2024-01-01T00:00:00Z", "defaultRule": {"variation": "b"}}, {"date": "2027-01-01T00:00:00Z", "disable": true}`), "free", nil, "is in the future"},
		"a step without a date":            {scheduled(`{"defaultRule": {"variation": "b"}}`), "free", "A", ""},
		"a step changes a rule":            {scheduled(`{"date": "2024-01-01T00:00:00Z", "targeting": [{"name": "pro", "query": "plan eq \"team\""}]}`), "pro", "A", ""},
		"and its variation stays":          {scheduled(`{"date": "2024-01-01T00:00:00Z", "targeting": [{"name": "pro", "query": "plan eq \"team\""}]}`), "team", "B", ""},
		"a step adds a rule":               {scheduled(`{"date": "2024-01-01T00:00:00Z", "targeting": [{"query": "plan eq \"free\"", "variation": "b"}]}`), "free", "B", ""},
		"a step adds percentages":          {scheduled(`{"date": "2024-01-01T00:00:00Z", "defaultRule": {"percentage": {"b": 100}}}`), "free", "B", ""},
		"a negative percentage takes away": {scheduled(`{"date": "2024-01-01T00:00:00Z", "defaultRule": {"percentage": {"a": 50, "b": 50}}}, {"date": "2024-01-02T00:00:00Z", "defaultRule": {"percentage": {"a": -1}}}`), "free", "B", ""},
		"a step adds a value":              {scheduled(`{"date": "2024-01-01T00:00:00Z", "variations": {"c": "C"}, "defaultRule": {"variation": "c"}}`), "free", "C", ""},
		"a step disables":                  {scheduled(`{"date": "2024-01-01T00:00:00Z", "disable": true}`), "free", nil, ""},
		"an experiment that is over":       {`"variations": {"a": "A"}, "defaultRule": {"variation": "a"}, "experimentation": {"start": "2024-01-01T00:00:00Z", "end": "2024-02-01T00:00:00Z"}`, "", nil, ""},
		"an experiment without an end":     {`"variations": {"a": "A"}, "defaultRule": {"variation": "a"}, "experimentation": {"start": "2024-01-01T00:00:00Z"}`, "", "A", ""},
		"an experiment that runs":          {`"variations": {"a": "A"}, "defaultRule": {"variation": "a"}, "experimentation": {"start": "2024-01-01T00:00:00Z", "end": "2027-02-01T00:00:00Z"}`, "", nil, "is in the future"},
		"no date":                          {`"variations": {"a": "A"}, "defaultRule": {"variation": "a"}, "experimentation": {"start": "soon"}`, "", nil, "must be a date"},
	} {
		t.Run(name, func(t *testing.T) {
			r := convertOne(t, "gofeatureflag", []byte(`{"f": {`+c.flag+`}}`), Options{Now: now})
			reason, isOmitted := omittedReasons(r)["f"]
			if isOmitted != (c.left != "") || !strings.Contains(reason, c.left) {
				t.Fatalf("left out for %q, want a reason with %q", reason, c.left)
			}
			var got any
			set := decideAll(t, r.File.Projects[0].Definitions, "u", m{"plan": c.plan})
			if set["f"] != nil {
				got = payloadOf(t, decideFile(t, r, "f", m{"plan": c.plan}))
			}
			if got != c.want {
				t.Errorf("%v, want %v; %v", got, c.want, r.Omissions)
			}
		})
	}
}

// A flag of Flipt that matches without a variant is on; the engine's values are in the corpus
// (v-no-distribution). If only some of its rules have variants, the flag cannot be converted.
func TestFlipt_RulesWithoutVariants(t *testing.T) {
	flag := func(rules, enabled string) string {
		return `{"flags": [{"key": "f", "type": "VARIANT_FLAG_TYPE", "enabled": ` + enabled + `, "variants": [{"key": "a"}, {"key": "b"}], "rules": [` + rules + `]}],
			"segments": [{"key": "pro", "match_type": "ALL_MATCH_TYPE", "constraints": [{"type": "STRING_COMPARISON_TYPE", "property": "plan", "operator": "eq", "value": "pro"}]}]}`
	}
	r := convertOne(t, "flipt", []byte(flag(`{"segment": "pro", "distributions": []}`, "true")), Options{})
	for plan, want := range map[string]bool{"pro": true, "free": false} {
		if got := decideAll(t, r.File.Projects[0].Definitions, "u", m{"plan": plan})["f"]; got != any(want) {
			t.Errorf("plan %s: %v, want %v", plan, got, want)
		}
	}
	mixed := convertOne(t, "flipt", []byte(flag(`{"segment": "pro", "distributions": []}, {"segment": "pro", "distributions": [{"variant": "a", "rollout": 100}]}`, "true")), Options{})
	if reason := omittedReasons(mixed)["f"]; !strings.Contains(reason, "matches without a variant") {
		t.Errorf("left out for %q", reason)
	}
}

// LaunchDarkly's stream and relay send the data in an envelope with its path.
func TestLaunchDarkly_StreamData(t *testing.T) {
	r := convertOne(t, "launchdarkly", []byte(`{"path": "/", "data": {"flags": {"f": {"on": true, "variations": ["a text", "b"], "fallthrough": {"variation": 0}, "offVariation": 1}}, "segments": {}}}`), Options{})
	if got := openFeatureValue(t, r, "f", nil); got != `"a text"` {
		t.Errorf("OFREP answers %s, left %v", got, r.Omissions)
	}
}

// GO Feature Flag uses the text of variation names in YAML, also without quotes.
func TestGoFeatureFlag_NamesWithoutQuotes(t *testing.T) {
	r := convertOne(t, "gofeatureflag", []byte(`
words:
  variations: {Default: a, False: b, True: c}
  targeting: [{query: plan eq "pro", variation: True}]
  defaultRule: {variation: False}
numbers:
  variations: {1: one, 2: two}
  targeting: [{query: plan eq "pro", percentage: {1: 100, 2: 0}}]
  defaultRule: {variation: 2}
unknown:
  variations: {a: one}
  defaultRule: {variation: False}
twice:
  variations: {true: one, TRUE: two}
  defaultRule: {variation: true}
`), Options{})
	for plan, want := range map[string][2]string{"pro": {`"c"`, `"one"`}, "free": {`"b"`, `"two"`}} {
		if got := [2]string{openFeatureValue(t, r, "words", m{"plan": plan}), openFeatureValue(t, r, "numbers", m{"plan": plan})}; got != want {
			t.Errorf("plan %s: %v, want %v; left %v", plan, got, want, r.Omissions)
		}
	}
	if first := omittedReasons(r); len(first) != 2 || first["unknown"] == "" || first["twice"] == "" {
		t.Errorf("left out: %v, want unknown and twice", first)
	}
}
