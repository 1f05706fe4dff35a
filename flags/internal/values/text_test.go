package values

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags/wire"
)

// Expected texts: the examples of §4.2, and the output of serde_json for the same values,
// read from the output of encoding/json (decision 32).
func TestFlags_4_2_TextForm(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{"plain \"quoted\"", "plain \"quoted\""},
		{"", ""},
		{true, "true"}, {false, "false"}, {nil, "null"},
		{int64(5), "5"}, {5, "5"}, {int8(-5), "-5"}, {uint16(7), "7"}, {int64(math.MinInt64), "-9223372036854775808"},
		{uint64(math.MaxUint64), "18446744073709551615"},
		{5.0, "5"}, {1.5, "1.5"}, {-0.25, "-0.25"}, {0.0, "0"}, {math.Copysign(0, -1), "-0.0"},
		{json.Number("0.0"), "0.0"}, {json.Number("1e15"), "1000000000000000.0"}, {json.Number("1e16"), "1e16"}, {json.Number("1.5e16"), "1.5e16"},
		{1e15, "1000000000000000"}, {1234567890123456.7, "1234567890123456.8"}, {1e16, "10000000000000000"}, {-1.5e16, "-15000000000000000"},
		{float64(1 << 60), "1152921504606847000"}, {1e19, "10000000000000000000"}, {-1e19, "-1e19"}, {float64(1 << 63), "9223372036854776000"},
		{-float64(1 << 63), "-9.223372036854776e18"}, {1e20, "1e20"}, {1e21, "1e21"}, {float32(16777216), "16777216"}, {float32(1e10), "10000000000"},
		{1e-5, "0.00001"}, {1.5e-5, "0.000015"}, {1e-6, "1e-6"}, {1e-7, "1e-7"}, {1.25e-7, "1.25e-7"},
		{math.MaxFloat64, "1.7976931348623157e308"}, {5e-324, "5e-324"}, {123.456, "123.456"}, {100.0, "100"},
		{float32(1.1), "1.1"},
		{json.Number("5"), "5"}, {json.Number("5.0"), "5.0"}, {json.Number("1e2"), "100.0"}, {json.Number("-0"), "-0.0"},
		{json.Number("18446744073709551616"), "1.8446744073709552e19"}, {json.Number("-9223372036854775809"), "-9.223372036854776e18"},
		{[]any{"a", "b"}, `["a","b"]`}, {[]string{"a", "b"}, `["a","b"]`}, {[]any{}, "[]"},
		{map[string]any{"b": int64(1), "a": []any{nil, json.Number("2.0")}, "B": "x"}, `{"B":"x","a":[null,2.0],"b":1}`},
		{[]any{"\"\\\b\t\n\f\r\x00\x1f\x7f/<é\u2028😀"}, `["\"\\\b\t\n\f\r\u0000\u001f` + "\x7f/<é\u2028😀" + `"]`},
	} {
		got, ok := Text([]byte(">"), c.value)
		if !ok || string(got) != ">"+c.want {
			t.Errorf("text of %#v is %q, %v; want %q", c.value, got, ok, c.want)
		}
		again, _ := Text([]byte(">"), Normalize(c.value))
		if string(again) != string(got) {
			t.Errorf("text of %#v after normalize is %q", c.value, again)
		}
	}
}

func TestFlags_4_2_NoTextForm(t *testing.T) {
	deep := any("x")
	for range MaxDepth {
		deep = []any{deep}
	}
	if _, ok := Text(nil, deep); !ok {
		t.Error("a list as deep as the bound has no text")
	}
	for _, v := range []any{make(chan int), json.Number("1e999"), json.Number("01"), json.Number("x"),
		[]any{deep}, map[string]any{"k": make(chan int)}, []any{int64(1), math.NaN()}} {
		if got, ok := Text([]byte("kept"), v); ok || string(got) != "kept" {
			t.Errorf("text of %T is %q, %v", v, got, ok)
		}
		if _, ok := Number(v); ok {
			t.Errorf("%T is a number", v)
		}
		Normalize(v) // must accept any value
	}
}

func TestFlags_4_2_Normalize(t *testing.T) {
	values := []any{nil, true, "s", 1, int32(-2), uint8(3), uint64(4), uint64(math.MaxUint64), float32(0.5), "\xff\xffé",
		json.Number("6"), json.Number("6.0"), []string{"a"}, map[string]any{"k": uint(9)}, []any(nil), map[string]any(nil)}
	want := []any{nil, true, "s", int64(1), int64(-2), int64(3), int64(4), uint64(math.MaxUint64), 0.5, "\ufffd\ufffdé",
		int64(6), Decimal(6), []any{"a"}, map[string]any{"k": int64(9)}, nil, nil}
	if diff := cmp.Diff(any(want), Normalize(values)); diff != "" {
		t.Error(diff)
	}
	plain := any(map[string]any{"a": []any{int64(1), 2.5, "x", nil, true}})
	if n := testing.AllocsPerRun(10, func() { Normalize(plain) }); n != 0 {
		t.Errorf("normalize of a canonical value allocates %v times", n)
	}
}

// Expected: §4.5, and Rust's grammar for floats where the section does not define the result.
func TestFlags_4_5_Number(t *testing.T) {
	for s, want := range map[string]float64{
		"10": 10, "+1.5": 1.5, "-2": -2, "5.": 5, ".5": 0.5, "1e3": 1000, "1E-3": 0.001, "007": 7, "-0": 0,
		"inf": math.Inf(1), "-Infinity": math.Inf(-1), "+iNf": math.Inf(1), "1e400": math.Inf(1), "1e-400": 0,
	} {
		if got, ok := ParseNumber(s); !ok || got != want {
			t.Errorf("%q is %v, %v; want %v", s, got, ok, want)
		}
	}
	for _, s := range []string{"nan", "NaN", "-nan", "+NAN"} {
		if got, ok := ParseNumber(s); !ok || !math.IsNaN(got) {
			t.Errorf("%q is %v, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", " 1", "1 ", "0x10", "1_000", "1,5", ".", "+", "-", "e5", "1e", "1e+", "1.2.3", "--1", "infin", "true", "１", "1d"} {
		if got, ok := ParseNumber(s); ok {
			t.Errorf("%q is a number, %v", s, got)
		}
	}
	for _, v := range []any{true, nil, []any{int64(1)}, map[string]any{}, "abc", []string{"1"}, math.NaN()} {
		if got, ok := Number(v); ok {
			t.Errorf("%v is a number, %v", v, got)
		}
	}
	for _, v := range []any{5, int64(5), uint8(5), uint64(5), 5.0, float32(5), "5", "5.0", json.Number("5e0")} {
		if got, ok := Number(v); !ok || got != 5 {
			t.Errorf("number of %T is %v, %v", v, got, ok)
		}
	}
}

// Expected: Unicode's SpecialCasing (İ, final sigma) and UnicodeData, as in Rust's
// to_lowercase.
func TestFlags_4_3_UnicodeLower(t *testing.T) {
	for s, want := range map[string]string{
		"École": "école", "TRUE": "true", "STRASSE ß ẞ": "strasse ß ß", "İ": "i̇", "Kelvin \u212a": "kelvin k",
		"ΟΔΥΣΣΕΥΣ": "οδυσσευς", "Σ": "σ", "ΑΣ.": "ας.", "ΑΣ.Β": "ασ.β", "Α'Σ": "α'ς", "1Σ": "1σ", "ΑΣ ΑΣΑ": "ας ασα", "ǅ": "ǆ",
		"\uA7CB\U00010D50\U00016EA0": "\u0264\U00010D70\U00016EBB", "\xffA\xc3": "\xffa\xc3", "": "",
	} {
		if got := string(Lower([]byte("x"), s)); got != "x"+want {
			t.Errorf("lower of %q is %q, want %q", s, got[1:], want)
		}
		if !EqualLower(s, want) || EqualLower(s, want+"a") || EqualLower(s+"a", want) || EqualLower(s, "\x00"+want) {
			t.Errorf("equalLower disagrees on %q", s)
		}
	}
	long := strings.Repeat("ÉA", 1000)
	want := strings.Repeat("éa", 1000)
	if n := testing.AllocsPerRun(10, func() { EqualLower(long, want) }); n != 0 {
		t.Errorf("equalLower allocates %v times", n)
	}
}

// Rows 53 and 54 of §12.3 and the vectors of the service's own tests for contains, starts with and ends with.
func TestFlags_4_3_ASCIIFolding(t *testing.T) {
	for _, c := range []struct {
		s, part                  string
		contains, prefix, suffix bool
	}{
		{"vaLue4", "valUe", true, true, false},
		{"343tfvalue5", "valUe", true, false, false},
		{"Alakazam", "valUe", false, false, false},
		{"User@Gmail.COM", "@gmail.com", true, false, true},
		{"école", "École", false, false, false},
		{"ÉCOLE", "École", true, true, true},
		{"x", "", true, true, true},
		{"", "", true, true, true},
		{"", "a", false, false, false},
		{"aab", "AB", true, false, true},
		{"ab[", "AB{", false, false, false},
		{"\u212a", "k", false, false, false},
	} {
		low := LowerASCII(c.part)
		got := [3]bool{ContainsFold(c.s, low), HasPrefixFold(c.s, low), HasSuffixFold(c.s, low)}
		if want := [3]bool{c.contains, c.prefix, c.suffix}; got != want {
			t.Errorf("%q in %q: %v, want %v", c.part, c.s, got, want)
		}
	}
}

// Rows 51 to 53 and 55 of §12.3: strings that are equal for exact.
func TestFlags_12_3_Texts(t *testing.T) {
	for _, c := range []struct {
		filter, property any
		want             bool
	}{
		{"5", int64(5), true}, {"5", 5.0, true}, {"5", json.Number("5.0"), false}, {"b", "B", true}, {"École", "école", true}, {"null", nil, true},
		{`["a","b"]`, []any{"a", "b"}, true},
	} {
		a, _ := Text(nil, c.filter)
		b, _ := Text(nil, c.property)
		if got := EqualLower(string(b), string(Lower(nil, string(a)))); got != c.want {
			t.Errorf("%v exact %v: %v", c.property, c.filter, got)
		}
	}
}

// FuzzText: no input panics; lower and contains agree with their plain definitions; equal
// values have equal texts, and a JSON text is parsed to a value with the same text.
func FuzzText(f *testing.F) {
	for _, s := range []string{"École", "ΑΣ.Β", "İ\xff", "1e16", "-0.5", "[\"a\",{\"b\":1.50,\"a\":null}]", "inf", "0x1", "9007199254740993"} {
		f.Add(s, "A")
	}
	f.Fuzz(func(t *testing.T, s, part string) {
		lowered := string(Lower(nil, s))
		if !EqualLower(s, lowered) {
			t.Errorf("%q is not its own lower form %q", s, lowered)
		}
		if got, want := ContainsFold(s, LowerASCII(part)), strings.Contains(LowerASCII(s), LowerASCII(part)); got != want {
			t.Errorf("%q in %q: %v", part, s, got)
		}
		if n, ok := ParseNumber(s); ok && !math.IsNaN(n) && !math.IsInf(n, 0) {
			if back, ok := ParseNumber(string(wire.AppendFloat(nil, n))); !ok || back != n {
				t.Errorf("%v comes back as %v", n, back)
			}
		}
		d := json.NewDecoder(strings.NewReader(s))
		d.UseNumber()
		var v any
		if d.Decode(&v) != nil || !utf8.ValidString(s) {
			return
		}
		first, ok := Text(nil, v)
		second, again := Text(nil, Normalize(v))
		if ok != again || string(first) != string(second) {
			t.Errorf("texts of equal values: %q and %q", first, second)
		}
		list, ok := Text(nil, []any{v})
		if !ok {
			return
		}
		d = json.NewDecoder(strings.NewReader(string(list)))
		d.UseNumber()
		var back any
		if err := d.Decode(&back); err != nil {
			t.Fatalf("%q is no JSON: %v", list, err)
		}
		if third, _ := Text(nil, back); string(third) != string(list) {
			t.Errorf("%q becomes %q", list, third)
		}
	})
}
