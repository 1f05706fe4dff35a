package main

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// run returns benchmark output in the format of go test. Each row: name, ns, allocs.
func run(rows ...[3]any) string {
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "Benchmark%v-2   \t 1000\t %v ns/op\t 0 B/op\t %v allocs/op\n", r[0], r[1], r[2])
	}
	return b.String()
}

func parsed(t *testing.T, text string) results {
	t.Helper()
	res, err := parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// Medians computed by hand: of 1, 9, 5 it is 5; of 2, 4 it is 3.
func TestParseMedian(t *testing.T) {
	res := parsed(t, "goos: linux\n"+run([3]any{"Limit/W1", 1, 0}, [3]any{"Limit/W1", 9.0, 0}, [3]any{"Limit/W1", 5, 0}, [3]any{"Limit/W2", 2, 0}, [3]any{"Limit/W2", 4, 0})+
		"BenchmarkOursCompile-2 \t 36\t 30000000 ns/op\t 4194304 B-held\nPASS\n")
	got := map[string]float64{}
	for name, s := range res.byName {
		got[name], _ = s.median("ns/op")
	}
	if diff := cmp.Diff(map[string]float64{"Limit/W1": 5, "Limit/W2": 3, "OursCompile": 3e7}, got); diff != "" {
		t.Error(diff)
	}
	if res.cores != 2 || res.failed {
		t.Errorf("cores %d, failed %v", res.cores, res.failed)
	}
	if fails := res.compileVerdict(); len(fails) > 0 {
		t.Error(fails)
	}
}

// The limits are from the issues: 1.5 times for W1, 150 ns or 3 times for W2, 0.9 of two cores for
// W6; through a Reader 1.25 times for W1, 2 times for W2.
func TestVerdict(t *testing.T) {
	others := func(row string) string {
		return run([3]any{"PosthogGo/" + row, 1000, 1}, [3]any{"LaunchDarkly/" + row, 400, 0}, [3]any{"ConfigCat/" + row, 500, 3})
	}
	for name, c := range map[string]struct {
		row  int
		text string
		want []string
	}{
		"W1 at the limit":          {0, run([3]any{"OursNoAlloc/W1", 150, 0}, [3]any{"Limit/W1", 100, 0}) + others("W1"), nil},
		"W1 above it":              {0, run([3]any{"OursNoAlloc/W1", 151, 0}, [3]any{"Limit/W1", 100, 0}) + others("W1"), []string{"above 1.5 x limit"}},
		"W1 allocates":             {0, run([3]any{"OursNoAlloc/W1", 90, 1}, [3]any{"Limit/W1", 100, 0}) + others("W1"), []string{"allocates"}},
		"W1 behind one":            {0, run([3]any{"OursNoAlloc/W1", 450, 0}, [3]any{"Limit/W1", 400, 0}) + others("W1"), []string{"behind LaunchDarkly"}},
		"W1 without the others":    {0, run([3]any{"OursNoAlloc/W1", 90, 0}, [3]any{"Limit/W1", 100, 0}), []string{"no figure of PosthogGo", "no figure of LaunchDarkly", "no figure of ConfigCat"}},
		"W1 not run":               {0, others("W1"), []string{"no figure of ours"}},
		"W2 by nanoseconds":        {1, run([3]any{"OursNoAlloc/W2", 150, 0}, [3]any{"Limit/W2", 40, 0}) + others("W2"), nil},
		"W2 by ratio":              {1, run([3]any{"OursNoAlloc/W2", 180, 0}, [3]any{"Limit/W2", 60, 0}) + others("W2"), nil},
		"W2 by neither":            {1, run([3]any{"OursNoAlloc/W2", 181, 0}, [3]any{"Limit/W2", 60, 0}) + others("W2"), []string{"above 3.0 x limit and 150 ns"}},
		"convenient, at the limit": {6, run([3]any{"ConvenientNoAlloc/W1", 125, 0}, [3]any{"OursNoAlloc/W1", 500, 0}, [3]any{"Limit/W1", 100, 0}) + others("W1"), nil},
		"convenient, above it":     {7, run([3]any{"ConvenientNoAlloc/W2", 81, 0}, [3]any{"Limit/W2", 40, 0}) + others("W2"), []string{"above 2 x limit"}},
		"W6 scales":                {5, run([3]any{"OursNoAlloc/W2", 90, 0}, [3]any{"OursNoAlloc/W6", 50, 0}) + others("W6"), nil},
		"W6 as the limit":          {5, run([3]any{"OursNoAlloc/W2", 80, 0}, [3]any{"OursNoAlloc/W6", 80, 0}, [3]any{"Limit/W2", 30, 0}, [3]any{"Limit/W6", 30, 0}) + others("W6"), []string{"scales 1.00, needs 1.80 (the limit: 1.00)"}},
		"W6 does not":              {5, run([3]any{"OursNoAlloc/W2", 80, 0}, [3]any{"OursNoAlloc/W6", 50, 0}) + others("W6"), []string{"scales 1.60, needs 1.80"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, parsed(t, c.text).verdict(rows[c.row])); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// One allocating run of many makes the report fail, and so does a run without benchmarks to check.
func TestReportFailsOnAllocation(t *testing.T) {
	clean := run([3]any{"OursNoAlloc/W1", 90, 0}, [3]any{"OursNoAlloc/W1", 90, 0})
	for name, c := range map[string]struct {
		text   string
		strict bool
		want   string
	}{
		"clean":           {clean, false, ""},
		"one run of many": {clean + run([3]any{"OursNoAlloc/W1", 90, 1}), false, "promise no allocation"},
		"nothing promised": {
			run([3]any{"Limit/W1", 90, 0}), false, "no benchmark named NoAlloc",
		},
		"wrong answer": {clean + "--- FAIL: BenchmarkOursNoAlloc/W2\nFAIL\n", false, "go test failed"},
		"strict":       {clean, true, "misses its limit"},
	} {
		t.Run(name, func(t *testing.T) {
			err := report(io.Discard, []byte(c.text), c.strict)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(run([3]any{"OursNoAlloc/W1", 90, 0}))
	f.Add("BenchmarkX-2 1 2 ns/op 3")
	f.Add("BenchmarkX 1 NaN ns/op\nFAIL")
	f.Fuzz(func(t *testing.T, text string) {
		res, err := parse(strings.NewReader(text))
		if err == nil {
			res.print(io.Discard)
		}
	})
}
