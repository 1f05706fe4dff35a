package flaglint_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/bunting-flags/bunting/adapters/flaglint"
)

// What is reported stands beside the code, in testdata/src/a.
func TestAnalyzer(t *testing.T) {
	set(t, "testdata/flags.json")
	analysistest.Run(t, analysistest.TestData(), flaglint.Analyzer, "a")
}

func TestAnalyzer_Refuses(t *testing.T) {
	for file, want := range map[string]string{
		"":                    "-definitions is required",
		"testdata/none.json":  "none.json",
		"testdata/src/a/a.go": "testdata/src/a/a.go: ",
	} {
		set(t, file)
		if _, err := flaglint.Analyzer.Run(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", file, err, want)
		}
	}
}

func set(t *testing.T, file string) {
	t.Helper()
	if err := flaglint.Analyzer.Flags.Set("definitions", file); err != nil {
		t.Fatal(err)
	}
}
