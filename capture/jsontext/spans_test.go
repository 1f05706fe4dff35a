package jsontext

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bunting-flags/bunting/flags/wire"
)

// TestCapture_2_6_Syntax: the expected results are those of RFC 8259; positions are counted by
// hand.
func TestCapture_2_6_Syntax(t *testing.T) {
	for _, c := range []struct {
		text  string
		fault string // empty if the text is valid
		place int
	}{
		{`{}`, "", 0},
		{" [ 1 , -0.5e-3 , true , false , null , \"a\\n\\u00e9\" , {\"\":{}} ]\r\n\t", "", 0},
		{`""`, "", 0},
		{"\"\x7f\u2028\"", "", 0},
		{`-0`, "", 0},
		{`1e308`, "", 0},
		{`1e-400`, "", 0},
		{strings.Repeat("9", 308), "", 0},
		{strings.Repeat("[", 128) + strings.Repeat("]", 128), "", 0},
		{strings.Repeat(`{"a":`, 128) + "1" + strings.Repeat("}", 128), "", 0},
		{``, "expected a value", 0},
		{` `, "expected a value", 1},
		{`nul`, "expected a value", 0},
		{`truer`, "unexpected text after the value", 4},
		{`01`, "unexpected text after the value", 1},
		{`-`, "expected a digit", 1},
		{`+1`, "expected a value", 0},
		{`.5`, "expected a value", 0},
		{`1.`, "expected a digit", 2},
		{`1e+`, "expected a digit", 3},
		{`1e309`, "number out of range", 0},
		{`[-1e400]`, "number out of range", 1},
		{strings.Repeat("9", 310), "number out of range", 0},
		{`"a`, "string without an end", 2},
		{`"a\`, "unknown escape sequence", 2},
		{`"\x"`, "unknown escape sequence", 1},
		{`"\u12"`, "unknown escape sequence", 1},
		{`"\u12g4"`, "unknown escape sequence", 1},
		{"\"\n\"", "control character in a string", 1},
		{"\"\x00\"", "control character in a string", 1},
		{`[1,]`, "expected a value", 3},
		{`[1 2]`, "expected a comma or the end of the list", 3},
		{`[`, "expected a value", 1},
		{`{"a`, "string without an end", 3},
		{`{"a"}`, "expected a colon", 4},
		{`{"a":}`, "expected a value", 5},
		{`{"a":1,}`, "expected a name in quotes", 7},
		{`{a:1}`, "expected a name in quotes", 1},
		{`{"a":1 "b":2}`, "expected a comma or the end of the object", 7},
		{`{} {}`, "unexpected text after the value", 3},
		{"{}\x00", "unexpected text after the value", 2},
		{strings.Repeat("[", 129), "nested too deep", 128},
		{strings.Repeat(`{"a":`, 129), "nested too deep", 128 * 5},
	} {
		r := Reader{Src: c.text, Spans: true}
		_, ok := r.Raw()
		ok = ok && r.End()
		if e := r.Fault; ok != (c.fault == "") || ok != (e == nil) {
			t.Errorf("%.40q: %v, %v", c.text, ok, e)
		} else if e != nil && (e.What != c.fault || e.Offset != c.place || e.Error() != fmt.Sprintf("%s at byte %d", c.fault, c.place)) {
			t.Errorf("%.40q: %v, want %s at byte %d", c.text, e, c.fault, c.place)
		}
	}
}

func TestCapture_2_6_Strings(t *testing.T) {
	for in, want := range map[string]string{
		`""`:                       "",
		`"plain é"`:                "plain é",
		`"\"\\\/\b\f\n\r\t"`:       "\"\\/\b\f\n\r\t",
		`"\u0041\u00e9\uFFFD"`:     "Aé\ufffd",
		`"\u0000"`:                 "\x00",
		`"\ud83d\ude00"`:           "\U0001F600",
		`"\uDBFF\uDFFF"`:           "\U0010FFFF",
		`"\ud83d"`:                 "\ufffd",
		`"\ude00\ud83d"`:           "\ufffd\ufffd",
		`"\ud83dx"`:                "\ufffdx",
		`"\ud83d\n"`:               "\ufffd\n",
		`"\ud83d\u0041"`:           "\ufffdA",
		`"\ud83d\ud83d\ude00"`:     "\ufffd\U0001F600",
		`"\\ud83d"`:                `\ud83d`,
		`"a\u0022b\u005cc\u002fd"`: `a"b\c/d`,
	} {
		r := Reader{Src: in, Spans: true}
		if _, ok := r.Raw(); !ok || !r.End() {
			t.Errorf("%s: %v", in, r.Fault)
			continue
		}
		if got := Unquote(in); got != want {
			t.Errorf("%s is %q, want %q", in, got, want)
		}
		// The text with half pairs replaced must unquote to the same string.
		if got := Unquote(ReplaceHalfPairs(in)); got != want {
			t.Errorf("%s is %q after the replacement, want %q", in, got, want)
		}
		if back := wire.Quote(want); Unquote(back) != want {
			t.Errorf("%q is written %s", want, back)
		}
	}
}

func TestCapture_2_6_HalfPairs(t *testing.T) {
	for in, want := range map[string]string{
		`["\ud800"]`:                `["\ufffd"]`,
		`["\uD800\uDC00"]`:          `["\uD800\uDC00"]`,
		`["\\ud800"]`:               `["\\ud800"]`,
		`["\\\ud800"]`:              `["\\\ufffd"]`,
		`{"\uDfFf":"\udbff\udbff"}`: `{"\ufffd":"\ufffd\ufffd"}`,
		`["\ud800`:                  `["\ufffd`,
		`["\ud80`:                   `["\ud80`,
		`["\ud800\`:                 `["\ufffd\`,
		`["\u`:                      `["\u`,
		`["\ud800\ud8`:              `["\ufffd\ud8`,
	} {
		if got := ReplaceHalfPairs(in); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}
