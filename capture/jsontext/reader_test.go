package jsontext

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/bunting-flags/bunting/flags/wire"
)

// readJSON reads a whole text.
func readJSON(text string, lenient bool) (any, *Fault) {
	r := Reader{Src: text, Lenient: lenient}
	r.Space()
	if r.Fault == nil {
		if v, ok := r.Value(); ok && r.End() {
			return v, nil
		}
	}
	return nil, r.Fault
}

// asFloats turns every number of a value into a float64, for comparison with
// encoding/json.
func asFloats(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case json.Number:
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = asFloats(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = asFloats(v[k])
		}
	}
	return v
}

// Expected types: the number rules of serde_json (i64, u64, otherwise f64; -0 is -0.0). An f64 that
// Go would write as an integer is a json.Number with its text (§4.2).
func TestFlags_9_3_StrictJSONValues(t *testing.T) {
	for text, want := range map[string]any{
		`null`:                                  nil,
		` true `:                                true,
		`false`:                                 false,
		`0`:                                     int64(0),
		`-1`:                                    int64(-1),
		`9223372036854775807`:                   int64(math.MaxInt64),
		`-9223372036854775808`:                  int64(math.MinInt64),
		`9223372036854775808`:                   uint64(1) << 63,
		`18446744073709551615`:                  uint64(math.MaxUint64),
		`18446744073709551616`:                  18446744073709551616.0,
		`-9223372036854775809`:                  -9223372036854775809.0,
		`99999999999999999999999`:               1e23,
		`-0`:                                    math.Copysign(0, -1),
		`1.0`:                                   json.Number("1.0"),
		`1e2`:                                   json.Number("100.0"),
		`1E+2`:                                  json.Number("100.0"),
		`-2.5e-1`:                               -0.25,
		`0.1`:                                   0.1,
		`1e-400`:                                json.Number("0.0"),
		`""`:                                    "",
		`"a\"\\\/\b\f\n\r\t\u00e9"`:             "a\"\\/\b\f\n\r\té",
		`"\ud83e\udd94 🦔"`:                      "🦔 🦔",
		`"\u0000"`:                              "\x00",
		`"é日"`:                                  "é日",
		`[]`:                                    []any{},
		`{}`:                                    map[string]any{},
		" [ 1 , \"x\" ,\n{ } ] ":                []any{int64(1), "x", map[string]any{}},
		`{"a":{"b":[true,null]},"\u0061b":1.5}`: map[string]any{"a": map[string]any{"b": []any{true, nil}}, "ab": 1.5},
		`{"a":1,"a":2}`:                         map[string]any{"a": int64(2)},
	} {
		got, fault := readJSON(text, false)
		if fault != nil {
			t.Errorf("%s: %s at %d", text, fault.What, fault.Offset)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
		if f, ok := want.(float64); ok && math.Signbit(f) != math.Signbit(got.(float64)) {
			t.Errorf("%s: wrong sign", text)
		}
	}
}

// Offsets are counted by hand.
func TestFlags_9_3_StrictJSONFaults(t *testing.T) {
	for text, want := range map[string]struct {
		offset int
		path   string
	}{
		``:                     {0, ""},
		`  `:                   {2, ""},
		`nul`:                  {0, ""},
		`tru`:                  {0, ""},
		`01`:                   {0, ""},
		`-`:                    {0, ""},
		`+1`:                   {0, ""},
		`.5`:                   {0, ""},
		`1.`:                   {2, ""},
		`1.e5`:                 {2, ""},
		`1e`:                   {2, ""},
		`1e+`:                  {3, ""},
		`1e400`:                {0, ""},
		`NaN`:                  {0, ""},
		`"a`:                   {2, ""},
		"\"a\nb\"":             {2, ""},
		`"a\q"`:                {2, ""},
		`"a\`:                  {2, ""},
		`"\u12g4"`:             {1, ""},
		`"\ud800"`:             {1, ""},
		`"\udc00"`:             {1, ""},
		`"\ud800\u0041"`:       {1, ""},
		`'a'`:                  {0, ""},
		`[1 2]`:                {3, ""},
		`[1,]`:                 {3, ""},
		`[,]`:                  {1, "0"},
		`[`:                    {1, "0"},
		`{"a" 1}`:              {5, ""},
		`{"a":1,}`:             {7, ""},
		`{a:1}`:                {1, ""},
		`{"a":1`:               {6, ""},
		`{"a":1}}`:             {7, ""},
		`1 2`:                  {2, ""},
		`{"a":{"b":[1,x]}}`:    {13, "a.b.1"},
		`// c` + "\n1":         {0, ""},
		"\ufeff1":              {0, ""},
		`{"p":{"age":1.e}}`:    {14, "p.age"},
		"{\"a\":\"\x00\"}":     {6, "a"},
		`{"a\u0062":[0,{"c":]`: {19, "ab.1.c"},
	} {
		_, fault := readJSON(text, false)
		if fault == nil {
			t.Errorf("%q is accepted", text)
		} else if fault.Offset != want.offset || fault.Where() != want.path {
			t.Errorf("%q: %s at %d, %q; want %d, %q", text, fault.What, fault.Offset, fault.Where(), want.offset, want.path)
		}
	}
}

// The service refuses nesting above 128 before it parses.
func TestFlags_9_3_JSONDepth(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		for depth, ok := range map[int]bool{1: true, 128: true, 129: false, 1 << 20: false} {
			for _, b := range [][2]string{{"[", "]"}, {`{"a":`, "}"}} {
				text := strings.Repeat(b[0], depth-1) + b[0][:1] + b[1] + strings.Repeat(b[1], depth-1)
				if _, fault := readJSON(text, lenient); (fault == nil) != ok {
					t.Errorf("%d levels of %s, lenient %v: %v", depth, b[0], lenient, fault)
				}
				r := Reader{Src: text, Lenient: lenient}
				if got := r.Skip(); got != ok {
					t.Errorf("skipping %d levels of %s, lenient %v: %v", depth, b[0], lenient, got)
				}
			}
		}
	}
}

func TestFlags_9_3_JSONMembersAreBounded(t *testing.T) {
	text := "[" + strings.Repeat("0,", maxMembers-1) + "0]"
	r := Reader{Src: text}
	if !r.Skip() {
		t.Errorf("%d values: %s", maxMembers, r.Fault.What)
	}
	r = Reader{Src: "[0," + text[1:]}
	if r.Skip() {
		t.Errorf("%d values are accepted", maxMembers+1)
	}
}

// Expected values: Python's bytes.decode("utf-8", "replace"), which follows the
// same Unicode rule as Rust's from_utf8_lossy.
func TestFlags_9_3_BrokenUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"\xff":                 "\ufffd",
		"\xff\xff":             "\ufffd\ufffd",
		"\xe2\x82":             "\ufffd",
		"\xe2\x82x":            "\ufffdx",
		"\xf0\x9f\x98":         "\ufffd",
		"\xf0\x90\x80x":        "\ufffdx",
		"\xc0\xaf":             "\ufffd\ufffd",
		"\xe0\x80\x80":         "\ufffd\ufffd\ufffd",
		"\xed\xa0\x80":         "\ufffd\ufffd\ufffd",
		"\xf4\x90\x80\x80":     "\ufffd\ufffd\ufffd\ufffd",
		"\x80":                 "\ufffd",
		"a\xc3":                "a\ufffd",
		"\xf0\x80\x80\x80":     "\ufffd\ufffd\ufffd\ufffd",
		"\xf5\x80":             "\ufffd\ufffd",
		"\xc3\xa9\xc3":         "é\ufffd",
		"\xe1\x80\xe1\x80\x80": "\ufffd\u1000",
		"\ufffd":               "\ufffd",
	} {
		for _, text := range []string{`"` + in + `"`, `"` + in + `\n"`} {
			want := want
			if strings.HasSuffix(text, `\n"`) {
				want += "\n"
			}
			if got, fault := readJSON(text, false); fault != nil || got != want {
				t.Errorf("%q: %q, %v; want %q", text, got, fault, want)
			}
		}
	}
}

// Expected values: §4.2 and the number format of serde_json.
func TestFlags_4_2_NumberText(t *testing.T) {
	for text, want := range map[string]string{
		`0`: "0", `-7`: "-7", `18446744073709551615`: "18446744073709551615",
		`-9223372036854775808`: "-9223372036854775808",
		`5.0`:                  "5.0", `0.0`: "0.0", `-0`: "-0.0", `-0.0`: "-0.0",
		`123.45`: "123.45", `1.50`: "1.5", `-2.5`: "-2.5", `0.1`: "0.1",
		`1e2`: "100.0", `1e15`: "1000000000000000.0", `1e16`: "1e16", `1.5e16`: "1.5e16",
		`1234567890123456.0`: "1234567890123456.0", `12345678901234567890123`: "1.2345678901234568e22",
		`123456789012345.6`: "123456789012345.6", `0.00001`: "0.00001", `0.000012`: "0.000012", `0.000001`: "1e-6",
		`1e-7`: "1e-7", `1.25e-7`: "1.25e-7", `5e-324`: "5e-324", `1.7976931348623157e308`: "1.7976931348623157e308",
		`10000000000000000000`: "10000000000000000000", `100000000000000000000`: "1e20",
	} {
		r := Reader{Src: text}
		if got, ok := r.NumberText(); !ok || got != want {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}

// checkAgainstStandard compares the strict reading of a text with encoding/json.
func checkAgainstStandard(t *testing.T, text string) {
	got, fault := readJSON(text, false)
	r := Reader{Src: text}
	r.Space()
	if skipped := r.Skip() && r.End(); skipped != (fault == nil) {
		t.Fatalf("%q: skip says %v, value %v", text, skipped, fault)
	}
	if fault != nil || !utf8.ValidString(text) {
		return
	}
	var want any
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatalf("%q: encoding/json refuses it: %v", text, err)
	}
	if diff := cmp.Diff(want, asFloats(got)); diff != "" {
		t.Fatalf("%q (-encoding/json +here)\n%s", text, diff)
	}
	if again, fault := readJSON(text, true); fault != nil || !cmp.Equal(want, asFloats(again)) {
		t.Fatalf("%q: lenient differs: %v, %v", text, again, fault)
	}
}

func FuzzReader(f *testing.F) {
	for _, text := range []string{`{"flag_keys":["a"],"groups":{"a":1.5e3,"b":[{}]}}`, `{"a":[1,-0,1e5,18446744073709551615]}`, "\"\xe2\x82\\ud83e\\udd94\"", "[1e400]"} {
		f.Add(text)
	}
	for _, v := range json5Vectors {
		f.Add(v.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkAgainstStandard(t, text)
		if _, fault := readJSON(text, true); fault != nil && (fault.Offset < 0 || fault.Offset > len(text)) {
			t.Fatalf("fault at %d", fault.Offset)
		}
		checkSpans(t, text)
	})
}

// checkSpans compares the skipping of a text with encoding/json. The two differ only in the depth
// that they accept and in numbers that do not fit a float64.
func checkSpans(t *testing.T, text string) {
	r := Reader{Src: text, Spans: true}
	span, ok := r.Raw()
	ok = ok && r.End()
	switch {
	case ok != (r.Fault == nil):
		t.Fatalf("%q: %v, %v", text, ok, r.Fault)
	case ok != json.Valid([]byte(text)) && (ok || r.Fault.What != "nested too deep" && r.Fault.What != "number out of range"):
		t.Fatalf("%q: encoding/json does not say %v, %v", text, ok, r.Fault)
	case ok && span != strings.Trim(text, " \t\r\n"):
		t.Fatalf("%q: %q", text, span)
	case !ok && (r.Fault.Offset < 0 || r.Fault.Offset > len(text)):
		t.Fatalf("%q: fault at %d", text, r.Fault.Offset)
	case ok && span[0] == '"' && utf8.ValidString(span):
		var want string
		if err := json.Unmarshal([]byte(span), &want); err != nil || Unquote(span) != want {
			t.Fatalf("%q is %q, want %q", span, Unquote(span), want)
		}
		if Unquote(wire.Quote(want)) != want {
			t.Fatalf("%q is written %s", want, wire.Quote(want))
		}
	}
}
