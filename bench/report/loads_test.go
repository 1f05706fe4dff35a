package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The limit is the issue's: 40 ms where encoding/json takes 47.
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
			if _, fails := loads[0].verdict(parsed(t, c.text)); cmp.Diff(c.want, fails) != "" {
				t.Errorf("%v, want %v", fails, c.want)
			}
		})
	}
}
