package codegen

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags"
)

// typesOf returns the Go type and the TypeScript type of a shape, on one line each.
func typesOf(s *shape) [2]string {
	return [2]string{strings.Join(strings.Fields(s.goOptional(false)), " "), strings.Join(strings.Fields(s.tsType("")), " ")}
}

// The type that fits two payloads does not depend on their order.
func TestMerge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, golang, ts string }{
		{`true`, `false`, "bool", "boolean"},
		{`1`, `1.5`, "float64", "number"},
		{`1`, `9223372036854775808`, "float64", "number"}, // one above the largest int64
		{`9223372036854775807`, `-9223372036854775808`, "int64", "number"},
		{`1.0`, `1`, "float64", "number"},
		{`1e3`, `1`, "float64", "number"},
		{`null`, `null`, "any", "unknown"},
		{`null`, `1`, "*int64", "number | null"},
		{`null`, `"a"`, "*string", "string | null"},
		{`null`, `[1]`, "[]int64", "Array<number> | null"},
		{`null`, `{"a":1}`, "*struct { A int64 `json:\"a\"` }", `{ "a": number } | null`},
		{`null`, `{}`, "map[string]any", "Record<string, unknown> | null"},
		{`true`, `1`, "any", "unknown"},
		{`"1"`, `true`, "any", "unknown"}, // the text holds a number
		{`[]`, `{}`, "any", "unknown"},
		{`[]`, `[]`, "[]any", "unknown[]"},
		{`[]`, `["a"]`, "[]string", "Array<string>"},
		{`[1]`, `["a"]`, "[]any", "Array<unknown>"},
		{`[[1]]`, `[[null]]`, "[][]*int64", "Array<Array<number | null>>"},
		{`{"a":1}`, `{"a":1}`, "struct { A int64 `json:\"a\"` }", `{ "a": number }`},
		{`{"a":1}`, `{"b":2}`, "struct { A *int64 `json:\"a,omitempty\"` B *int64 `json:\"b,omitempty\"` }", `{ "a"?: number "b"?: number }`},
		{`{"a":[1]}`, `{}`, "struct { A []int64 `json:\"a,omitempty\"` }", `{ "a"?: Array<number> }`},
		{`[{"a":1}]`, `[{"a":1},{}]`, "[]struct { A *int64 `json:\"a,omitempty\"` }", `Array<{ "a"?: number }>`},
		{`{"a":1}`, `{"a":"x"}`, "struct { A any `json:\"a\"` }", `{ "a": unknown }`},
		{`{"a":{"b":1}}`, `{"a":{"c":1}}`, "struct { A struct { B *int64 `json:\"b,omitempty\"` C *int64 `json:\"c,omitempty\"` } `json:\"a\"` }", `{ "a": { "b"?: number "c"?: number } }`},
		{`{"-":1}`, `{"-":1}`, "map[string]any", `{ "-": number }`},       // encoding/json ignores a field with the tag -
		{`{"":1}`, `{"":1}`, "map[string]any", `{ "": number }`},          // and names the field itself without one
		{`{"a,b":1}`, `{"a,b":1}`, "map[string]any", `{ "a,b": number }`}, // what follows a comma is an option
		{"{\"a`b\":1}", "{\"a`b\":1}", "map[string]any", "{ \"a`b\": number }"},
	} {
		for _, payloads := range [][2]string{{c.a, c.b}, {c.b, c.a}} {
			f := flags.Flag{Key: "f", Payloads: map[string]json.RawMessage{"a": json.RawMessage(payloads[0]), "b": json.RawMessage(payloads[1])}}
			s, err := payloadShape(&f, nil)
			if err != nil {
				t.Errorf("%s: %v", payloads, err)
				continue
			}
			if got := typesOf(s); got != [2]string{c.golang, c.ts} {
				t.Errorf("%s: %q, want %s and %s", payloads, got, c.golang, c.ts)
			}
		}
	}
}

// A member that is missing in one of three payloads is optional, wherever that payload is.
func TestMerge_OptionalStays(t *testing.T) {
	t.Parallel()
	texts := []string{`{"a":1}`, `{}`, `{"a":2}`}
	for _, order := range [][3]int{{0, 1, 2}, {1, 0, 2}, {0, 2, 1}} {
		var s *shape
		for _, i := range order {
			next, err := example(json.RawMessage(texts[i]))
			if err != nil {
				t.Fatal(err)
			}
			s = merge(s, next)
		}
		if got := s.members["a"]; got == nil || !got.optional || got.kind != integer {
			t.Errorf("%v: %+v", order, got)
		}
	}
}

// PostHog stores payloads as texts that contain JSON: one level is unpacked, and a text that only
// begins like JSON remains a text.
func TestExample(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`"{\"a\":1}"`: "struct { A int64 `json:\"a\"` }", `"1"`: "int64", `"\"1\""`: "string", `"true"`: "bool", `"null"`: "any", `""`: "string", `"1 2"`: "string", `"{"`: "string", `" [1] "`: "[]int64", `"01"`: "string",
	} {
		s, err := example(json.RawMessage(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := typesOf(s)[0]; got != want {
			t.Errorf("%s: %s, want %s", raw, got, want)
		}
	}
	for _, raw := range []string{``, `{`, `1 2`, `{} x`, `nope`} {
		_, err := payloadShape(&flags.Flag{Key: "f", Payloads: map[string]json.RawMessage{"a\"b": json.RawMessage(raw)}}, nil)
		if err == nil || !strings.HasPrefix(err.Error(), `the payload "a\"b" of flag "f" is not valid JSON: `) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	// The payloads of holdouts are not those of the flag.
	if s, err := payloadShape(&flags.Flag{Key: "f", Payloads: map[string]json.RawMessage{"holdout-1": json.RawMessage(`{`)}}, nil); s != nil || err != nil {
		t.Errorf("%+v, %v", s, err)
	}
}

// The keywords of JSON Schema that define types, and the place of an error.
func TestFromSchema(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string {
		return strings.Repeat(`{"type":"array","items":`, depth) + `{}` + strings.Repeat(`}`, depth)
	}
	for schema, want := range map[string]string{
		`{}`:                                       "any",
		`{"type":"string"}`:                        "string",
		`{"type":["string"]}`:                      "string",
		`{"type":["null","string"]}`:               "*string",
		`{"type":["integer","number"]}`:            "float64",
		`{"type":["string","integer"]}`:            "any",
		`{"type":"null"}`:                          "any",
		`{"type":[]}`:                              "any",
		`{"type":"array"}`:                         "[]any",
		`{"type":"object"}`:                        "map[string]any",
		`{"enum":["a","b"]}`:                       "string",
		`{"enum":["a",null]}`:                      "*string",
		`{"enum":[1,2]}`:                           "int64",
		`{"enum":[1,2.5]}`:                         "float64",
		`{"enum":[{"a":1},{"a":2.5,"b":true}]}`:    "struct { A float64 `json:\"a\"` B *bool `json:\"b,omitempty\"` }",
		`{"type":"string","enum":["a"]}`:           "string",
		`{"type":"string","items":{"$ref":"#/x"}}`: "string", // items says nothing about a string
		`{"type":"object","properties":{"a":{}},"required":["a","b"]}`: "struct { A any `json:\"a\"` }",
		`{"type":"object","properties":{"a":{"type":"boolean"}}}`:      "struct { A *bool `json:\"a,omitempty\"` }",
		nested(32):              strings.Repeat("[]", 32) + "any",
		nested(33):              "error at " + strings.Repeat("/items", 33) + ": nested more than 32 deep",
		`{"type":5}`:            "error at its root: type is 5, must be a name or a list of names",
		`{"type":["string",5]}`: "error at its root: type is [\"string\",5]",
		`{"type":"any"}`:        `error at its root: unknown type "any"`,
		`{"$ref":"#/a"}`:        "error at its root: $ref is not supported",
		`[1]`:                   "error at its root: json: cannot unmarshal array",
		`{"type":"object","properties":{"b":{"type":"x"},"a":{"type":"array","items":{"type":"y"}}}}`: `error at /properties/a/items: unknown type "y"`,
	} {
		s, err := fromSchema(json.RawMessage(schema), "", 0)
		var got string
		if err == nil {
			got = typesOf(s)[0]
		} else {
			got = "error " + err.Error()
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%.100s: %s, want %s", schema, got, want)
		}
	}
}

// Encodings of source files, by their byte order mark or by the zeros of ASCII text.
func TestToUTF8(t *testing.T) {
	t.Parallel()
	for code, want := range map[string][2]string{
		"":                                {"", ""},
		"a":                               {"a", ""},
		"\xef\xbb\xbfa":                   {"a", ""},
		"caf\xe9":                         {"caf\xe9", ""}, // Latin-1 has no zeros
		"\xff\xfea\x00":                   {"a", "UTF-16"},
		"\xfe\xff\x00a":                   {"a", "UTF-16"},
		"a\x00b\x00":                      {"ab", "UTF-16"},
		"\x00a\x00b":                      {"ab", "UTF-16"},
		"\xff\xfe\xe9\x00\x00\xd8":        {"é\ufffd", "UTF-16"}, // half of a pair
		"\xff\xfe\x3d\xd8\x00\xde":        {"😀", "UTF-16"},
		"\xff\xfe\x00\x00a\x00\x00\x00":   {"\xff\xfea", "an encoding with zero bytes"}, // UTF-32
		"a\x00b":                          {"ab", "an encoding with zero bytes"},        // of odd length
		"ab\x00c":                         {"abc", "an encoding with zero bytes"},
		"\x00\x00":                        {"", "an encoding with zero bytes"},
		"0123456789abcdef" + "g\x00":      {"0123456789abcdefg", "an encoding with zero bytes"}, // the first 16 bytes decide
		strings.Repeat("a\x00", 8) + "bc": {"aaaaaaaa\u6362", "UTF-16"},
	} {
		if text, encoding := toUTF8([]byte(code)); string(text) != want[0] || encoding != want[1] {
			t.Errorf("%q: %q in %q, want %q", code, text, encoding, want)
		}
	}
}

// Calls that read a flag, in the clients of PostHog and OpenFeature, and what only looks like one.
func TestSearch_Calls(t *testing.T) {
	t.Parallel()
	calls := map[string]bool{
		`posthog.isFeatureEnabled("k")`: true, `posthog.feature_enabled('k', id)`: true, `client.is_feature_enabled("k")`: true, `IsFeatureEnabled("k")`: true, `FeatureEnabled( "k" )`: true,
		`getFeatureFlag("k")`: true, `getFeatureFlagPayload('k')`: true, `getFeatureFlagResult("k")`: true, `get_feature_flag_payload("k")`: true, `GetFeatureFlag("k")`: true,
		"useFeatureFlagVariantKey(`k`)": true, `useFeatureFlagPayload("k")`: true, `useFeatureFlag("k")`: true, `onFeatureFlag("k", f)`: true,
		`client.getBooleanValue("k", false)`: true, `get_string_details("k", "")`: true, `useNumberFlagValue("k", 1)`: true, `BooleanValue(ctx, "k", false)`: true, `IntValueDetails(context.Background(), "k", 1)`: true,
		`getFeatureFlag(k)`: false, `getFeatureFlag("")`: false, `getFeatureFlag("a\"k")`: false, `mygetFeatureFlag("k")`: false, `getFeatureFlags("k")`: false, `getFeatureFlag["k"]`: false,
		`reloadFeatureFlags("k")`: false, `getStringFor("k")`: false, "getFeatureFlag(\"k\n\")": false, `// "k"`: false,
	}
	for call, want := range calls {
		found := Found{Used: map[string]int{}}
		s := search{found: &found, keys: map[string]bool{}, functions: map[string][]string{}}
		s.text("f.js", []byte("\n\n  x = "+call+"\n"))
		if got := len(found.Strange) == 1 && found.Strange[0] == (Use{"f.js", 3, "k"}); got != want || !want && len(found.Strange) > 0 {
			t.Errorf("%s: %+v, want %v", call, found.Strange, want)
		}
	}
	if diff := cmp.Diff([]string{"a", "c"}, (&Found{Used: map[string]int{"b": 1, "c": 0}}).Unused([]string{"c", "b", "a"})); diff != "" {
		t.Error(diff)
	}
}

// Folders of dependencies and hidden ones are skipped below the folder of the search, which may have
// such a name itself; links are not followed.
func TestSearch_Folders(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "vendor")
	for _, name := range []string{"a.JS", "src/b.ts", "lib/vendors/c.py", "vendor/d.go", "node_modules/e.js", "dist/f.js", "src/.cache/g.js", "target/h.rs", "venv/i.py", "j.md", "k"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x('"+filepath.Base(name)+"')\n"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "dist", "f.js"), filepath.Join(dir, "linked.js")); err != nil {
		t.Fatal(err)
	}
	keys := []string{"a.JS", "b.ts", "c.py", "d.go", "e.js", "f.js", "g.js", "h.rs", "i.py", "j.md", "k"}
	found, err := Search(dir, keys)
	if err != nil || found.Files != 3 || !cmp.Equal(found.Used, map[string]int{"a.JS": 1, "b.ts": 1, "c.py": 1}) {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := Search(filepath.Join(dir, "none"), keys); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
