package codegen

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

func parsed(t *testing.T, text string) []flags.Flag {
	t.Helper()
	d, err := flags.ParseDefinitions([]byte(`{"flags": [` + text + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return d.Flags
}

// Identifiers of Go are letters, digits and underscores, exported ones begin with an
// upper-case letter (Go's specification, "Identifiers").
func TestExported(t *testing.T) {
	for key, want := range map[string]string{
		"checkout-layout": "CheckoutLayout", "one_page.2": "OnePage2", "2fa": "Flag2fa", "ÜBER-uns": "ÜBERUns", "日本": "Flag日本", "--": "Flag", "already_Upper": "AlreadyUpper",
	} {
		if got := exported(key); got != want {
			t.Errorf("%q is %s in code, want %s", key, got, want)
		}
	}
}

// The type of payloads is worked out by hand: what all of them fit into.
func TestShape(t *testing.T) {
	for _, tt := range []struct {
		name, schema string
		payloads     []string
		golang, ts   string
	}{
		{"a text", "", []string{`"a"`}, "string", "string"},
		{"a text that holds JSON", "", []string{`"{\"a\": 1}"`}, "struct { A int64 `json:\"a\"` }", `{ "a": number }`},
		{"whole numbers and others", "", []string{`1`, `2.5`}, "float64", "number"},
		{"of two kinds", "", []string{`1`, `"a"`}, "any", "unknown"},
		{"a member that is not always there", "", []string{`{"a": true, "b": null}`, `{"a": false}`, `{"b": "x", "a": true}`},
			"struct { A bool `json:\"a\"` B *string `json:\"b,omitempty\"` }", `{ "a": boolean "b"?: string | null }`},
		{"lists", "", []string{`[]`, `[{"n": 1}]`, `[{"n": 1.5}, null]`}, "[]*struct { N float64 `json:\"n\"` }", `Array<{ "n": number } | null>`},
		{"names that clash in Go", "", []string{`{"a-b": 1, "a_b": 2}`}, "map[string]any", `{ "a-b": number "a_b": number }`},
		{"no members", "", []string{`{}`}, "map[string]any", "Record<string, unknown>"},
		{"a schema wins", `{"type": "object", "properties": {"size": {"type": ["integer", "null"]}, "names": {"type": "array", "items": {"type": "string"}}, "mode": {"enum": ["a", "b"]}}, "required": ["size", "names"]}`, []string{`1`},
			"struct { Mode *string `json:\"mode,omitempty\"` Names []string `json:\"names\"` Size *int64 `json:\"size\"` }", `{ "mode"?: string "names": Array<string> "size": number | null }`},
	} {
		f := &flags.Flag{Key: "f", Payloads: map[string]json.RawMessage{"holdout-1": []byte(`[1]`)}}
		for i, p := range tt.payloads {
			f.Payloads[string(rune('a'+i))] = json.RawMessage(p)
		}
		var schema json.RawMessage
		if tt.schema != "" {
			schema = json.RawMessage(tt.schema)
		}
		s, err := payloadShape(f, schema)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		for got, want := range map[string]string{s.goOptional(false): tt.golang, s.tsType(""): tt.ts} {
			if got = strings.Join(strings.Fields(got), " "); got != want {
				t.Errorf("%s: %s, want %s", tt.name, got, want)
			}
		}
	}
}

func TestGenerate_Refuses(t *testing.T) {
	for _, tt := range []struct{ name, flags, pkg, schema, want string }{
		{"two flags of one name", `{"key": "a-b"}, {"key": "a_b", "id": 2}`, "features", "", `ReadAB of flag "a_b" is a name that flag "a-b" has in code already`},
		{"a variant and a type", `{"key": "f", "id": 1, "active": true, "filters": {"multivariate": {"variants": [{"key": "x", "rollout_percentage": 100}]}}}, {"key": "f-x", "id": 2, "active": true, "filters": {"multivariate": {"variants": [{"key": "y", "rollout_percentage": 100}]}}}`, "features", "", `FX of flag "f-x"`},
		{"a package that is none", `{"key": "a"}`, "my features", "", `"my features" cannot be the name of a package`},
		{"a schema of no flag", `{"key": "a"}`, "features", `{"b": {}}`, `there is a schema for the flag "b", which does not exist`},
		{"a type that is none", `{"key": "a"}`, "features", `{"a": {"properties": {"n": {"type": "float"}}, "type": "object"}}`, `the schema of flag "a": at /properties/n: there is no type "float"`},
		{"a reference", `{"key": "a"}`, "features", `{"a": {"type": "array", "items": {"$ref": "#/x"}}}`, `the schema of flag "a": at /items: $ref is not followed`},
	} {
		var schemas map[string]json.RawMessage
		if tt.schema != "" {
			if err := json.Unmarshal([]byte(tt.schema), &schemas); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := Go(parsed(t, tt.flags), tt.pkg, "x", schemas); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	deep := strings.Repeat(`{"type":"array","items":`, 40) + `{}` + strings.Repeat(`}`, 40)
	if _, err := fromSchema(json.RawMessage(deep), "", 0); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("a schema forty deep: %v", err)
	}
}

func TestSearch(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.go":                "package main\n\nvar on = client.Bool(ctx, \"new-onboarding\", s, false)\nvar gone = client.StringDetail(r.Context(), \"old-layout\", s, \"\")\n",
		"web/app.tsx":            "const a = useFeatureFlagEnabled('gone-too')\nif (posthog.getFeatureFlag(`layout`) === 'x') {}\n",
		"web/use.ts":             "import { readFastSearch } from './flags'\n",
		"web/flags.ts":           "// Code generated by bunting generate from x; DO NOT EDIT.\nexport function readSilent() { return r.getFeatureFlag(\"silent\") }\n",
		"py/x.py":                "posthog.feature_enabled('py-flag', 'u')\n",
		"node_modules/x/a.js":    "getFeatureFlag('in-a-package')\n",
		".git/a.js":              "getFeatureFlag('hidden')\n",
		"notes.txt":              "silent\n",
		"other.go":               "package main\n\nvar s = text.String(buffer, \"no flag at all\")\n",
		"web/large.generated.js": "x('silent')" + strings.Repeat(" ", MaxSource),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	keys := []string{"silent", "new-onboarding", "layout", "fast-search"}
	got, err := Search(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"silent"}, got.Unused(keys)); diff != "" {
		t.Errorf("unused (-want +got)\n%s", diff)
	}
	want := []Use{{filepath.Join(dir, "main.go"), 4, "old-layout"}, {filepath.Join(dir, "py", "x.py"), 1, "py-flag"}, {filepath.Join(dir, "web", "app.tsx"), 1, "gone-too"}}
	if diff := cmp.Diff(want, got.Strange); diff != "" {
		t.Errorf("strange (-want +got)\n%s", diff)
	}
	if got.Files != 6 || got.Left != 1 {
		t.Errorf("%d files read and %d left, want 6 and 1", got.Files, got.Left)
	}
}

// FuzzExported: whatever a key is, its function has a name, and the file compiles.
func FuzzExported(f *testing.F) {
	for _, key := range []string{"a", "a-b", "2", "日本", "\u0301x", "ſ", "\"", "*/", "`", "\n", "\xff", "İ"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		list := []flags.Flag{{Key: key, Name: key, Variants: []flags.Variant{{Key: key}}, Payloads: map[string]json.RawMessage{"true": json.RawMessage(`{}`)}}}
		if _, err := Go(list, "features", key, nil); err != nil {
			t.Errorf("%q: %v", key, err)
		}
	})
}
