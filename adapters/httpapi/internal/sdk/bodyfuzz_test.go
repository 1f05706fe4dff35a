package sdk

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bunting-flags/bunting/adapters/httpapi/internal/problem"
)

func FuzzFlagsBody(f *testing.F) {
	for _, body := range []string{fivePropertyBody, `{"token":"phc_x","distinct_id":"ünïx~~~>>>???"}`, "N4IgLg9g1gpgdiAXCADgCwMYH0AeIA0IAJgJYDOYJcGYWJRSIAP3APc4B+XAfLwPwCQAXyA=", `{"flag_keys":["a"],"groups":{"a":1.5e3,"b":[{}]}}`, `{"a":[1,-0,1e5,18446744073709551615]}`} {
		f.Add([]byte(body))
	}
	for _, text := range []string{"{a:+1,'b':.5,}", "// c\n{\"a\":NaN}", "{a:0x1F,b:[1,],}", `{"a":"\x41\v\0z\ud800"}`, "{a:01}", "/* x", ""} {
		f.Add([]byte(text))
		f.Add([]byte(`{"person_properties":` + text + `}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var b flagsBody
		err := parseFlagsBody(body, &b)
		if err != nil {
			if err.Status != 400 || !strings.HasPrefix(err.Detail, problem.DecodeFailure("invalid JSON")) {
				t.Fatalf("%+v", err)
			}
			return
		}
		if !utf8.ValidString(b.DistinctID) || utf8.RuneCountInString(b.DistinctID) > maxDistinctID || b.DistinctID != "" && !b.HasDistinctID {
			t.Fatalf("distinct id %q", b.DistinctID)
		}
		for group, key := range b.Groups {
			if key == "" {
				t.Fatalf("empty key for %q", group)
			}
		}
		b.reset()
		var again flagsBody
		if err := parseFlagsBody(body, &again); err != nil {
			t.Fatal(err)
		}
		if err := parseFlagsBody(body, &b); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(again, b, sameBody, cmpopts.IgnoreFields(flagsBody{}, "spare", "scratch")); diff != "" {
			t.Fatalf("a pooled body differs\n%s", diff)
		}
	})
}

// fivePropertyBody is the request of a server SDK for a subject with five properties.
const fivePropertyBody = `{"api_key":"phc_testtoken0000000000000000000000000000000000","distinct_id":"user_1","groups":{"company":"acme"},` +
	`"person_properties":{"email":"ada@example.com","plan":"enterprise","age":36,"signed_up":"2026-01-01T10:00:00Z","beta":true},` +
	`"group_properties":{},"geoip_disable":true}`

func BenchmarkParseFlagsBody(b *testing.B) {
	body := []byte(fivePropertyBody)
	var into flagsBody
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		into.reset()
		if err := parseFlagsBody(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseFlagsBodyLenient(b *testing.B) {
	body := []byte(strings.Replace(fivePropertyBody, "36", "NaN", 1))
	var into flagsBody
	b.ReportAllocs()
	for b.Loop() {
		into.reset()
		if err := parseFlagsBody(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}

// The limit is about ten allocations for five properties.
func TestFlags_9_4_Allocations(t *testing.T) {
	body := []byte(fivePropertyBody)
	var into flagsBody
	if n := testing.AllocsPerRun(100, func() {
		into.reset()
		if err := parseFlagsBody(body, &into); err != nil {
			t.Fatal(err)
		}
	}); n > 10 {
		t.Errorf("%v allocations", n)
	}
}
