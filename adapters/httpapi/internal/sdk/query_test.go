package sdk

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFlags_9_2_Query(t *testing.T) {
	for raw, want := range map[string]flagsQuery{
		"":                    {},
		"&&=&x&=1":            {},
		"v=2":                 {HasV: true, V: 2},
		"v=":                  {},
		"v":                   {},
		"v=banana":            {HasV: true, V: 1}, // row 113
		"v=2.0":               {HasV: true, V: 1},
		"v=99999999999":       {HasV: true, V: 1},
		"v=%32":               {HasV: true, V: 2},
		"%76=2":               {HasV: true, V: 2},
		"version=3":           {HasV: true, V: 3},
		"version=3&v=2":       {HasV: true, V: 2},
		"v=2&version=3":       {HasV: true, V: 2},
		"v=2&v=3":             {HasV: true, V: 2},
		"v=&v=3":              {HasV: true, V: 3},
		"config=true":         {HasConfig: true, Config: true},
		"config=1":            {HasConfig: true, Config: true},
		"config=True":         {HasConfig: true, Config: true},
		"config=false":        {HasConfig: true},
		"config=0":            {HasConfig: true},
		"config=FALSE":        {HasConfig: true},
		"config=":             {},
		"config=yes":          {HasConfig: true, Config: true},
		"compression=gzip-js": {Compression: "gzip-js"},
		"compression=GZIP":    {Compression: "gzip"},
		"compression=lz64":    {Compression: "lz64"},
		"compression=zstd":    {Compression: "zstd"},
		"compression=":        {},
		"token=phc_a%2Bb+c":   {Token: "phc_a+b c"},
		"token=%zz%4":         {Token: "%zz%4"},
		"only_evaluate_survey_feature_flags=true":  {OnlySurveyFlags: true},
		"only_evaluate_survey_feature_flags=false": {},
		"/?v=2": {},
		"v=2&config=true&compression=base64&ip=0&_=1795188760296&ver=1.449.2&detailed_analysis=true&token=t": {
			HasV: true, V: 2, HasConfig: true, Config: true, Compression: "base64", Token: "t"},
	} {
		if diff := cmp.Diff(want, parseQuery(raw)); diff != "" {
			t.Errorf("%q (-want +got)\n%s", raw, diff)
		}
	}
}

func TestFlags_9_2_QueryAllocations(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { parseQuery("v=2&config=true&ip=0&_=1795188760296&ver=1.449.2") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkParseQuery(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		parseQuery("v=2")
	}
}
