package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The limit is that of the issue: 40 ms if encoding/json needs 47.
func TestLoadVerdict(t *testing.T) {
	of := func(name, ns string) string { return "Benchmark" + name + "-2 \t 9\t 1 ns/op\t " + ns + " cpu-ns/op\n" }
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"at the limit":    {of("OursLoad", "40") + of(plainLoad, "47"), nil},
		"above it":        {of("OursLoad", "41") + of(plainLoad, "47"), []string{"above 0.85 x encoding/json"}},
		"not run":         {of(plainLoad, "47"), []string{"no figure of ours"}},
		"nothing beside":  {of("OursLoad", "40"), []string{"no figure of encoding/json"}},
		"medians of runs": {of("OursLoad", "90") + of("OursLoad", "39") + of("OursLoad", "40") + of(plainLoad, "47"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, fails := loads[0].verdict(parsed(t, c.text), ""); cmp.Diff(c.want, fails) != "" {
				t.Errorf("%v, want %v", fails, c.want)
			}
		})
	}
}

// The document with the highest ratio is printed: for loading, relative to encoding/json with the
// same document; for a swap, relative to the mix, with a limit of 5 ms if that needs 47.
func TestPrintLoads_WorstDocument(t *testing.T) {
	of := func(name, ns string) string { return "Benchmark" + name + "-2 \t 9\t 1 ns/op\t " + ns + " cpu-ns/op\n" }
	mix := of(plainLoad, "47e6") + of("OursLoad", "30e6") + of("OursSwap", "3e6") + of("OursGone", "4e6")
	light := of("Documents/a_list/plain", "100e6") + of("Documents/a_list/ours", "80e6") + of("Documents/a_list/swap", "4e6") + of("Documents/a_list/gone", "5e6")
	heavy := of("Documents/of_cohorts/plain", "100e6") + of("Documents/of_cohorts/ours", "70e6") + of("Documents/of_cohorts/swap", "6e6") + of("Documents/of_cohorts/gone", "7e6")
	for name, c := range map[string]struct{ text, load, swap, gone string }{
		"each has its worst": {mix + light + heavy, `"a list": 80.0 ms, 0.80 x: pass`, `"of cohorts": 6.0 ms, 0.13 x: FAIL: above 0.11 x encoding/json`, `"of cohorts": 7.0 ms, 0.15 x: FAIL: above 0.11 x encoding/json`},
		"within":             {mix + light, `"a list": 80.0 ms, 0.80 x: pass`, `"a list": 4.0 ms, 0.09 x: pass`, `"a list": 5.0 ms, 0.11 x: pass`},
		"part of them":       {mix + light + of("Documents/of_cohorts/swap", "1e6"), `"of cohorts": 0.0 ms, 0.00 x: not judged: no figure of ours`, `"a list": 4.0 ms, 0.09 x: pass`, `"of cohorts": 0.0 ms, 0.00 x: not judged: no figure of ours`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			r := parsed(t, c.text)
			r.printLoads(&out, func(fails []string) string {
				if fails == nil {
					return "pass"
				}
				if strings.HasPrefix(fails[0], "no figure") {
					return "not judged: " + fails[0]
				}
				return "FAIL: " + fails[0]
			})
			lines := strings.Split(out.String(), "\n")
			if len(lines) != 7 {
				t.Fatal(out.String())
			}
			for at, want := range map[int]string{1: c.load, 3: c.swap, 5: c.gone} {
				if lines[at] != "  worst of the documents, "+want {
					t.Error(out.String())
				}
			}
		})
	}
}
