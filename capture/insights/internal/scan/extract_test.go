package scan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
)

// Text and document.NumberOf (§3.2.2).
func TestTextAndNumber(t *testing.T) {
	for raw, want := range map[string]string{
		`"a"`: "a", `"a\"b"`: `a"b`, `10.0`: "10", `1.50`: "1.5", `1e3`: "1000", `true`: "true", `false`: "false",
		`1e21`: "1e+21", `1e20`: "100000000000000000000", `0.0000001`: "1e-7", `0.000001`: "0.000001", `-0`: "0",
		`9007199254740993`: "9007199254740993", `[1, 2]`: "[1,2]", `{"b": 1, "a": "x y"}`: `{"b":1,"a":"x y"}`, `""`: "",
	} {
		if got, ok := Text(raw); !ok || got != want {
			t.Errorf("text of %s: %q, %t; want %q", raw, got, ok, want)
		}
	}
	for raw, want := range map[string]float64{`1`: 1, `"1"`: 1, `"-1.5e2"`: -150, `"+2"`: 2, `".5"`: 0.5, `1.25`: 1.25} {
		if got, ok := document.NumberOf(raw); !ok || got != want {
			t.Errorf("number of %s: %g, %t; want %g", raw, got, ok, want)
		}
	}
	for _, raw := range []string{``, `null`, `true`, `"1 "`, `"0x1"`, `"inf"`, `"nan"`, `"NaN"`, `"1_000"`, `""`, `"."`, `"e5"`, `"1e"`, `[1]`, `{}`} {
		if got, ok := document.NumberOf(raw); ok {
			t.Errorf("%s is the number %g, want none", raw, got)
		}
	}
}

// extract finds the same values in an object as encoding/json.
func FuzzExtract(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"b":{"a":2},"a":[1,"]"]}`, `{"\u0061":"\"}"}`, `{"a" : null , "b":"x"}`, `{"b":"\\","a":true}`, `{"x":"a","a":"b"}`, `{"x":"\"a","b": [{"a":3}] }`, ` {"b":"x,","a"	: "{"}`, `{"x":[],"a":1}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, object string) {
		k := Keys{}
		k.Slot("a")
		k.Slot("b")
		out := make([]string, 2)
		k.Extract(object, out) // never panics
		var want map[string]json.RawMessage
		plain, escaped := max(strings.Count(object, `"a"`), strings.Count(object, `"b"`)), strings.Count(object, `\u`)
		if json.Unmarshal([]byte(object), &want) != nil || want == nil || plain+escaped > 1 { // the same name may occur twice
			return
		}
		for i, name := range k.Names {
			if got := strings.TrimSpace(out[i]); got != string(want[name]) {
				t.Errorf("%q of %s: %q, want %q", name, object, got, want[name])
			}
		}
	})
}
