package client

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags/wire"
)

func TestFieldChanges(t *testing.T) {
	for name, c := range map[string]struct{ before, after, want string }{
		"a value":             {`1`, `2`, "f: 1 -> 2"},
		"a member":            {`{"a": 1, "b": {"c": true}}`, `{"a": 1, "b": {"c": false}}`, "f.b.c: true -> false"},
		"one more, one less":  {`{"a": 1}`, `{"b": null, "c": "x"}`, `f.a: 1 -> (none)|f.c: (none) -> "x"`},
		"an object in a list": {`[{"a": 1}, {"b": 2}]`, `[{"a": 1}]`, `f[1]: {"b":2} -> (none)`},
		"a list of texts":     {`["a", "b"]`, `["b"]`, `f: ["a","b"] -> ["b"]`},
		"another type":        {`{"a": 1}`, `[1]`, `f: {"a":1} -> [1]`},
		"large numbers":       {`12345678901234567890`, `12345678901234567891`, "f: 12345678901234567890 -> 12345678901234567891"},
		"nothing":             {`{"a": [1, {"b": 2}]}`, `{"a": [1, {"b": 2}]}`, ""},
		"from nothing":        {``, `"<&>"`, `f: (none) -> "<&>"`},
		"a long text":         {`1`, `"` + strings.Repeat("x", 500) + `"`, `f: 1 -> "` + strings.Repeat("x", maxValue-1) + "…"},
	} {
		var got []string
		for _, f := range fieldChanges("f", wire.Value(json.RawMessage(c.before)), wire.Value(json.RawMessage(c.after)), nil) {
			got = append(got, f.text("->", func(s string) string { return s }))
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%s: %s\nwant %s", name, text, c.want)
		}
	}
}

// Any name is formatted as inline code on one line.
func TestMarkdownCode(t *testing.T) {
	for text, want := range map[string]string{"a": "`a`", "a`b": "`` a`b ``", "``": "``` `` ```", "a\n# b": "`a # b`"} {
		if got := code(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
