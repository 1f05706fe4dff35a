package exports

import (
	"encoding/json"
	"strings"
	"testing"
)

// NUL and single surrogates are removed (spec/clients.md §16).
func TestPGJSON(t *testing.T) {
	digits := strings.Repeat("9", 1001)
	for in, want := range map[string]string{
		`{"a":1,"b":[-0.5e+3,true,null]}`:    ``,
		`{"a":"\\u0000 \" \\\\u0000"}`:       ``,
		`{"a":"\ud83d\ude00 \u00e9 \/ \n"}`:  ``,
		`{"a":"1e9999"}`:                     ``,
		`{"a":"x\u0000y"}`:                   `{"a":"xy"}`,
		`{"a\u0000":"\\\u0000"}`:             `{"a":"\\"}`,
		`{"a":"\ud83d"}`:                     `{"a":""}`,
		`{"a":"\ud83d\ud83d\ude00\ude00"}`:   `{"a":"\ud83d\ude00"}`,
		`{"a":"\ud83d\u0000\ude00"}`:         `{"a":""}`,
		`{"a":"\ud83dx\uD83D\n"}`:            `{"a":"x\n"}`,
		`{"a":1e1001,"b":1E-1001,"c":1e999}`: `{"a":"1e1001","b":"1E-1001","c":1e999}`,
		`[1e99999999999999999999,2]`:         `["1e99999999999999999999",2]`,
		`[` + digits + `]`:                   `["` + digits + `"]`,
		"{\"a\":\"\xff\"}":                   `{"a":"` + replacement + `"}`,
	} {
		if want == "" {
			want = in
		}
		if got := string(pgJSON([]byte(in))); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// Every JSON text results in a JSON text.
func FuzzPGJSON(f *testing.F) {
	f.Add([]byte(`{"a":"\u0000\ud83d","b":1e9999}`))
	f.Add([]byte(`"\`))
	f.Add([]byte(`"\u`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := pgJSON(in)
		if json.Valid(in) && !json.Valid(out) {
			t.Errorf("%q becomes %q", in, out)
		}
	})
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct{ text, secret, want string }{
		{"a s3cret b", "s3cret", "a *** b"},
		{"a b", "", "a b"},
		{`key "a b/c+\"d"`, `a b/c+"d`, `key "***"`},
		{"url?key=a+b%2Fc", "a b/c", "url?key=***"},
		{"url/a%20b%2Fc", "a b/c", "url/***"},
	} {
		if got := redact(tt.text, []string{tt.secret}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestWithoutGeoIP(t *testing.T) {
	for _, tt := range []struct{ in, elements, want string }{
		{``, "", `{"$geoip_disable":true,"$ip":null}`},
		{`{}`, "", `{"$geoip_disable":true,"$ip":null}`},
		{` { "a" : 1 } `, `a"b`, `{"$geoip_disable":true,"$ip":null,"$elements_chain":"a\"b","a" : 1 }`},
		{`{"$ip":"1.2.3.4","$geoip_disable":false}`, "", `{"$ip":"1.2.3.4","$geoip_disable":false}`},
		{`{"a":{"$ip":1},"b":"$geoip_disable"}`, "", `{"$geoip_disable":true,"$ip":null,"a":{"$ip":1},"b":"$geoip_disable"}`},
	} {
		got := string(withoutGeoIP(json.RawMessage(tt.in), tt.elements))
		if got != tt.want || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s, want %s", tt.in, got, tt.want)
		}
	}
}
