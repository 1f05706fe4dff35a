package jsontext

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Expected values: the results of the npm package json5 2.2.3, written as JSON with null for NaN
// and the infinities; "" if it refuses the text.
var json5Vectors = []struct{ text, want string }{
	{"{a:1}", `{"a":1}`},
	{"{'a':'b'}", `{"a":"b"}`},
	{`{"a":1,}`, `{"a":1}`},
	{"[1,2,]", "[1,2]"},
	{"[1,]", "[1]"},
	{"{a:+1}", `{"a":1}`},
	{"{a:.5}", `{"a":0.5}`},
	{"{a:5.}", `{"a":5}`},
	{"{a:5.e1}", `{"a":50}`},
	{"{a:0x1F}", `{"a":31}`},
	{"{a:-0x10}", `{"a":-16}`},
	{"{a:0XaB}", `{"a":171}`},
	{"// c\n{\"a\":1}", `{"a":1}`},
	{`{"a":/* x */1}`, `{"a":1}`},
	{`{"a":1}// end`, `{"a":1}`},
	{"/**/{}", "{}"},
	{"{$a_b9:1}", `{"$a_b9":1}`},
	{"{ünï:1}", `{"ünï":1}`},
	{`{\u0061b:1}`, `{"ab":1}`},
	{`{"a":NaN,"b":Infinity,"c":-Infinity,"d":+Infinity,"e":-NaN}`, `{"a":null,"b":null,"c":null,"d":null,"e":null}`},
	{`{"a":"it's"}`, `{"a":"it's"}`},
	{`{'a':'say "x"'}`, `{"a":"say \"x\""}`},
	{`{'a':'it\'s'}`, `{"a":"it's"}`},
	{`{"a":"\x41\v\0z"}`, `{"a":"A\u000b\u0000z"}`},
	{"{\"a\":\"x\\\ny\"}", `{"a":"xy"}`},
	{"{\"a\":\"x\\\r\ny\"}", `{"a":"xy"}`},
	{`{"a":"\q"}`, `{"a":"q"}`},
	{"{\"a\":\"tab\there\"}", `{"a":"tab\there"}`},
	{"\ufeff{\"a\":1}", `{"a":1}`},
	{"{\u00a0\"a\"\u2003:\u30001}", `{"a":1}`},
	{"{\"a\":1\v,\f\"b\":2}", `{"a":1,"b":2}`},
	{"{\"a\":\"\u2028\"}", `{"a":"\u2028"}`},
	{"{a:1,a:2}", `{"a":2}`},
	{`{"a":[1,[2,],],}`, `{"a":[1,[2]]}`},
	{"{null:1}", `{"null":1}`},
	{"{a:-.5e-3}", `{"a":-0.0005}`},
	{"{a:+1e2}", `{"a":100}`},
	{"{,}", ""}, {"[,]", ""}, {"[1,,]", ""}, {"{a:01}", ""}, {"{a:1", ""}, {"{a}", ""}, {"{a:}", ""},
	{"{1a:1}", ""}, {"{\"a\":\"x\ny\"}", ""}, {"{a:'x}", ""}, {"/* x", ""}, {"{a:0x}", ""}, {"{a:.}", ""},
	{"{a:+}", ""}, {"{a:1e}", ""}, {`{"a":"\1"}`, ""}, {`{"a":"\01"}`, ""}, {`{"a":"\x4"}`, ""}, {`{"a":"\u12"}`, ""},
	{"{a:--1}", ""}, {"{a-b:1}", ""}, {"{a:1} x", ""}, {"{a:nan}", ""}, {"{a:undefined}", ""}, {"{a:1 b:2}", ""},
	{"/", ""}, {`{a:'\`, ""}, {"", ""}, {" ", ""},
}

func TestFlags_9_3_LenientJSON(t *testing.T) {
	for _, c := range json5Vectors {
		got, fault := readJSON(c.text, true)
		if c.want == "" {
			if fault == nil {
				t.Errorf("%q is accepted: %v", c.text, got)
			}
			continue
		}
		if fault != nil {
			t.Errorf("%q: %s at %d", c.text, fault.What, fault.Offset)
			continue
		}
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, asFloats(got)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.text, diff)
		}
	}
}

// Half of a pair becomes U+FFFD, as in encoding/json. Number types follow the rule of the strict
// reader. Wide hexadecimal numbers are powers of two.
func TestFlags_9_3_LenientValues(t *testing.T) {
	for text, want := range map[string]any{
		`"\ud800"`:              "\ufffd",
		`"a\udc00b"`:            "a\ufffdb",
		`"\ud800\u0041"`:        "\ufffdA",
		`"\ud83e\udd94"`:        "🦔",
		`+5`:                    int64(5),
		`5.`:                    json.Number("5.0"),
		`0xffffffffffffffff`:    uint64(1<<64 - 1),
		`0x10000000000000000`:   18446744073709551616.0,
		`-0x8000000000000000`:   int64(-1 << 63),
		`-0x10000000000000000`:  -18446744073709551616.0,
		`18446744073709551616`:  18446744073709551616.0,
		`-18446744073709551616`: -18446744073709551616.0,
		`[NaN]`:                 []any{nil},
		"'\xff'":                "\ufffd",
	} {
		got, fault := readJSON(text, true)
		if fault != nil {
			t.Errorf("%s: %s at %d", text, fault.What, fault.Offset)
		} else if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
	for _, text := range []string{"1e400", "0x1" + strings.Repeat("0", 256), "-1e999", `{\u00`, `{\x61:1}`} {
		if _, fault := readJSON(text, true); fault == nil {
			t.Errorf("%.20s is accepted", text)
		}
	}
}
