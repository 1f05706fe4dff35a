package sdk

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The reserved members of a context, and other members.
func TestOFREP_Context(t *testing.T) {
	for text, want := range map[string]flagsBody{
		`{"context":{"targetingKey":"u","plan":"pro","age":5,"$device_id":"d","tags":["a",null]},"more":[1,{"context":2}]}`: {
			HasDistinctID: true, DistinctID: "u",
			PersonProperties: map[string]any{"plan": "pro", "age": int64(5), "$device_id": "d", "tags": []any{"a", nil}},
		},
		` {"context" : {"targetingKey":"u","groups":{"company":"acme","n":5,"no":null},"group_properties":{"company":{"tier":"gold"}},"$anon_distinct_id":"a","$geoip_disable":true}} `: {
			HasDistinctID: true, DistinctID: "u", AnonDistinctID: "a", GeoIPDisable: true, Groups: map[string]string{"company": "acme", "n": "5"},
			GroupProperties: map[string]map[string]any{"company": {"tier": "gold"}},
		},
		`{"context":{"targetingKey":"u","groups":{"a":"b"},"x":1},"context":{"targetingKey":"v","groups":null,"$anon_distinct_id":null,"y":null}}`: {
			HasDistinctID: true, DistinctID: "v", PersonProperties: map[string]any{"y": nil},
		},
	} {
		var b flagsBody
		if fault, code := parseOFREPBody([]byte(text), &b); fault != nil {
			t.Errorf("%s: %s %+v", text, code, fault)
		}
		if diff := cmp.Diff(want, b, sameBody, cmpopts.IgnoreFields(flagsBody{}, "spare", "scratch")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func FuzzOFREPBody(f *testing.F) {
	for _, text := range []string{
		`{"context":{"targetingKey":"u","plan":"pro","groups":{"a":1.5e3,"b":[{}]},"group_properties":{"a":{"x":[1]}}}}`,
		`{"context":{"targetingKey":5,"$geoip_disable":1},"context":null}`, `{"context":{"targetingKey":"\ud83d\ude00"}}`, `[`, `{"context":`, fivePropertyBody,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var b flagsBody
		fault, code := parseOFREPBody(text, &b)
		if fault != nil {
			if fault.Offset < 0 || fault.Offset > len(text) || !ofrepCodes[code] {
				t.Fatalf("%s: %+v", code, fault)
			}
			if rejection := ofrepFault(fault, code); rejection.Status != 400 || rejection.Detail == "" {
				t.Fatalf("%+v", rejection)
			}
			if code != ofrepParseError && !json.Valid(text) {
				t.Fatalf("%s for what is no JSON", code)
			}
			return
		}
		if !json.Valid(text) {
			t.Fatal("accepted, and is no JSON")
		}
		if b.DistinctID == "" || !utf8.ValidString(b.DistinctID) || utf8.RuneCountInString(b.DistinctID) > maxDistinctID {
			t.Fatalf("distinct id %q", b.DistinctID)
		}
		b.reset()
		var again flagsBody
		parseOFREPBody(text, &again)
		if fault, _ := parseOFREPBody(text, &b); fault != nil {
			t.Fatal(fault)
		}
		if diff := cmp.Diff(again, b, sameBody, cmpopts.IgnoreFields(flagsBody{}, "spare", "scratch")); diff != "" {
			t.Fatalf("a pooled body differs\n%s", diff)
		}
	})
}

func BenchmarkParseOFREPBody(b *testing.B) {
	body := []byte(`{"context":{"targetingKey":"user_1","groups":{"company":"acme"},"email":"ada@example.com","plan":"enterprise","age":36,"signed_up":"2026-01-01T10:00:00Z","beta":true}}`)
	var into flagsBody
	b.ReportAllocs()
	for b.Loop() {
		into.reset()
		if fault, _ := parseOFREPBody(body, &into); fault != nil {
			b.Fatal(fault)
		}
	}
}
