package wire

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// Expected texts: the output of serde_json for the same values.
func TestAppendQuoted(t *testing.T) {
	for s, want := range map[string]string{
		"":                                   `""`,
		"plain":                              `"plain"`,
		"\"\\\b\t\n\f\r\x00\x1f":             `"\"\\\b\t\n\f\r\u0000\u001f"`,
		"\x7f/<&é\u2028😀\ufffd":              "\"\x7f/<&é\u2028😀\ufffd\"",
		"\xff":                               "\"\ufffd\"",
		"a\xe2\x82b\"":                       "\"a\ufffd\ufffdb\\\"\"",
		strings.Repeat("long é ", 20) + "\n": `"` + strings.Repeat("long é ", 20) + `\n"`,
	} {
		if got := Quote(s); got != want {
			t.Errorf("%q is %s, want %s", s, got, want)
		}
		if got := string(AppendQuoted([]byte(">"), s)); got != ">"+want {
			t.Errorf("%q is appended as %s", s, got)
		}
	}
}

// FuzzQuote compares with encoding/json.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "\"\\\b\t\n\f\r\x00\x1f", "é\xff\u2028", "\xe2\x82"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal([]byte(Quote(s)), &back); err != nil || back != string([]rune(s)) {
			t.Errorf("%q is written %s and read %q (%v)", s, Quote(s), back, err)
		}
		if !utf8.ValidString(Quote(s)) {
			t.Errorf("%q is written %q", s, Quote(s))
		}
	})
}

// Expected texts: the output of serde_json for the same values.
func TestAppendFloat(t *testing.T) {
	for f, want := range map[float64]string{
		5: "5.0", 0: "0.0", 123.45: "123.45", -2.5: "-2.5", 0.1: "0.1", 100: "100.0",
		1e15: "1000000000000000.0", 1e16: "1e16", 1.5e16: "1.5e16", 1234567890123456: "1234567890123456.0",
		12345678901234567890123: "1.2345678901234568e22", 123456789012345.6: "123456789012345.6",
		0.00001: "0.00001", 0.000012: "0.000012", 0.000001: "1e-6", 1e-7: "1e-7", 1.25e-7: "1.25e-7",
		5e-324: "5e-324", math.MaxFloat64: "1.7976931348623157e308",
	} {
		if got := string(AppendFloat(nil, f)); got != want {
			t.Errorf("%v is %s, want %s", f, got, want)
		}
	}
	if got := string(AppendFloat(nil, math.Copysign(0, -1))); got != "-0.0" {
		t.Errorf("the negative zero is %s", got)
	}
}

// Expected: the output of encoding/json, if that is an integer of 64 bits.
func TestAppendInteger(t *testing.T) {
	for _, f := range []float64{0, 5, -5, 1 << 53, 1<<53 + 2, -1 << 53, 1 << 63, 1e19, 18446744073709550000} {
		want, err := json.Marshal(f)
		if got, ok := AppendInteger(nil, f); err != nil || !ok || string(got) != string(want) {
			t.Errorf("%v is %s (%v), want %s", f, got, ok, want)
		}
		if got := Decimal(f); f != 0 && math.Abs(f) < 1e15 && got != json.Number(string(want)+".0") {
			t.Errorf("%v is %v", f, got)
		}
	}
	for _, f := range []float64{0.5, -0.25, math.Copysign(0, -1), 1e20, 1e21, -1e19, -1 << 63, 1e300} {
		if got, ok := AppendInteger([]byte(">"), f); ok || string(got) != ">" {
			t.Errorf("%v is %s", f, got)
		}
		if got := Decimal(f); got != f {
			t.Errorf("%v is %v", f, got)
		}
	}
}
