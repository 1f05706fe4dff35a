package codegen

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

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

// Identifiers of Go are letters, digits and underscores, and exported ones begin with an upper-case
// letter (Go's specification, "Identifiers").
func TestExported(t *testing.T) {
	for key, want := range map[string]string{
		"checkout-layout": "CheckoutLayout", "one_page.2": "OnePage2", "2fa": "Flag2fa", "ÜBER-uns": "ÜBERUns", "日本": "Flag日本", "--": "Flag", "already_Upper": "AlreadyUpper",
	} {
		if got := exportedName(key); got != want {
			t.Errorf("%q is %s in code, want %s", key, got, want)
		}
	}
}

// The expected types were derived by hand: each fits all payloads.
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
		{"a package that is none", `{"key": "a"}`, "my features", "", `"my features" cannot be the name of a package`},
		{"a schema of no flag", `{"key": "a"}`, "features", `{"b": {}}`, `there is a schema for the flag "b", which does not exist`},
		{"a type that is none", `{"key": "a"}`, "features", `{"a": {"properties": {"n": {"type": "float"}}, "type": "object"}}`, `the schema of flag "a": at /properties/n: unknown type "float"`},
		{"a reference", `{"key": "a"}`, "features", `{"a": {"type": "array", "items": {"$ref": "#/x"}}}`, `the schema of flag "a": at /items: $ref is not supported`},
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

// Keys with the same name in code are generated anyway: the later one in byte order gets a number,
// and each is reported once.
func TestGenerate_NamesTwice(t *testing.T) {
	flag := func(id int, key string, variants ...string) string {
		var list []string
		for _, v := range variants {
			list = append(list, fmt.Sprintf(`{"key": %q, "rollout_percentage": 0}`, v))
		}
		return fmt.Sprintf(`{"id": %d, "key": %q, "active": true, "filters": {"multivariate": {"variants": [%s]}}}`, id, key, strings.Join(list, ","))
	}
	for _, tt := range []struct {
		name, flags string
		golang      []string // text in the code
		renamed     []string
		ts          int // number of renamed names in TypeScript, whose variants have no names
	}{
		{"two", flag(1, "a_b") + "," + flag(2, "a-b"), []string{"func ReadAB(ctx", `r.Bool(ctx, "a-b"`, "func ReadAB_2(ctx", `r.Bool(ctx, "a_b"`},
			[]string{`the flag "a_b" is named AB_2, because the flag "a-b" has the name ReadAB`}, 1},
		{"three, and one whose key has the number", flag(1, "a_b") + "," + flag(2, "a-b") + "," + flag(3, "a.b") + "," + flag(4, "a-b-2"), []string{"func ReadAB(", "func ReadAB2(", "func ReadAB_2(", "func ReadAB_3("},
			[]string{`the flag "a.b" is named AB_2, because the flag "a-b" has the name ReadAB`, `the flag "a_b" is named AB_3, because the flag "a-b" has the name ReadAB`}, 2},
		{"two pairs", flag(1, "a_b") + "," + flag(2, "a-b") + "," + flag(3, "c.d") + "," + flag(4, "c-d"), []string{"func ReadAB_2(", "func ReadCD_2("},
			[]string{`the flag "a_b" is named AB_2, because the flag "a-b" has the name ReadAB`, `the flag "c.d" is named CD_2, because the flag "c-d" has the name ReadCD`}, 2},
		{"a variant and a type", flag(1, "f", "x") + "," + flag(2, "f-x", "y"), []string{`FX F = "x"`, "func ReadFX_2(", `FX_2Y FX_2 = "y"`},
			[]string{`the flag "f-x" is named FX_2, because the flag "f" has the name FX`}, 0},
		{"two variants", flag(1, "f", "one_page", "one-page"), []string{`FOnePage_2 F = "one_page"`, `FOnePage F = "one-page"`, "case FOnePage_2, FOnePage:"},
			[]string{`the variant "one_page" of the flag "f" is named FOnePage_2, because its variant "one-page" has the name FOnePage`}, 0},
		{"the code itself", flag(1, "flag-reader", "x"), []string{"func ReadFlagReader_2("},
			[]string{`the flag "flag-reader" is named FlagReader_2, because the generated code itself has the name FlagReader`}, 1},
		{"none", flag(1, "a") + "," + flag(2, "b", "a"), nil, nil, 0},
	} {
		code, err := Go(parsed(t, tt.flags), "features", "x", nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if diff := cmp.Diff(tt.renamed, code.Renamed); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
		flat := strings.Join(strings.Fields(string(code.Text)), " ")
		for _, want := range append(tt.golang, tt.renamed...) {
			if strings.Count(flat, want) != 1 {
				t.Errorf("%s: not once %q in\n%s", tt.name, want, code.Text)
			}
		}
		ts, err := TypeScript(parsed(t, tt.flags), "x", nil)
		if err != nil || len(ts.Renamed) != tt.ts {
			t.Errorf("%s: %v, %q", tt.name, err, ts.Renamed)
		}
		for _, text := range ts.Renamed {
			if strings.Count(string(ts.Text), "//   "+text+"\n") != 1 {
				t.Errorf("%s: not once %q in\n%s", tt.name, text, ts.Text)
			}
		}
	}
}

// Code that cannot be parsed or is not UTF-8 is searched as text, and reported; files that are too
// large are reported.
func TestSearch_Doubts(t *testing.T) {
	utf16le := func(s string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			b.WriteString(string([]byte{byte(u), byte(u >> 8)}))
		}
		return b.String()
	}
	utf16be := func(s string) string {
		var b strings.Builder
		for _, u := range utf16.Encode([]rune(s)) {
			b.WriteString(string([]byte{byte(u >> 8), byte(u)}))
		}
		return b.String()
	}
	call := func(key string) string { return "var on = client.Bool(ctx, \"" + key + "\", s, false)\n" }
	files := map[string]struct{ text, problem string }{
		"whole.go":     {"package main\n\n" + call("whole"), ""},
		"bom.go":       {"\ufeffpackage main\n\n" + call("bom"), ""},
		"conflict.go":  {"package main\n\n<<<<<<< HEAD\n" + call("conflict-a") + "=======\n" + call("conflict-b") + ">>>>>>> other\n", "line 3: expected declaration, found '<<', searched as text"},
		"nopackage.go": {call("no-package"), "line 1: expected 'package', found 'var', searched as text"},
		"empty.go":     {"", "line 1: expected 'package', found 'EOF', searched as text"},
		"le.ts":        {"\xff\xfe" + utf16le("getFeatureFlag('utf16-le')\ngetFeatureFlag('über')"), "in UTF-16, searched as text"},
		"be.ts":        {"\xfe\xff" + utf16be("getFeatureFlag('utf16-be')"), "in UTF-16, searched as text"},
		"nomark.cs":    {utf16le("IsFeatureEnabled(\"no-mark\")"), "in UTF-16, searched as text"},
		"le.go":        {"\xff\xfe" + utf16le("package main\n"+call("go-in-utf16")+"var _ = ReadGenerated_2(ctx)\n"), "in UTF-16, searched as text"},
		"utf32.js":     {"\xff\xfe\x00\x00" + strings.ReplaceAll(utf16le("x('utf32')"), "\x00", "\x00\x00\x00"), "in an encoding with zero bytes, searched as text"},
		"large.js":     {"x('large')" + strings.Repeat(" ", MaxSource), "larger than 4 MiB, not searched"},
	}
	dir := t.TempDir()
	want := []Doubt{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(files[name].text), 0o600); err != nil {
			t.Fatal(err)
		}
		if problem := files[name].problem; problem != "" {
			want = append(want, Doubt{path, problem})
		}
	}
	keys := []string{"whole", "bom", "conflict-a", "conflict-b", "no-package", "utf16-le", "über", "utf16-be", "no-mark", "go-in-utf16", "utf32", "large", "generated", "generated-"}
	got, err := Search(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"large"}, got.Unused(keys)); diff != "" {
		t.Errorf("unused (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(want, got.Doubts); diff != "" {
		t.Errorf("doubts (-want +got)\n%s", diff)
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
	if got.Files != 6 || got.TooLarge != 1 {
		t.Errorf("%d files read and %d left, want 6 and 1", got.Files, got.TooLarge)
	}
}

// FuzzExported proves that the functions of any key have a name, and that the file compiles.
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
