package flaglint_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/txtar"

	"github.com/bunting-flags/bunting/adapters/flaglint"
)

// The expected reports are next to the code, in package a of testdata/code.txtar.
func TestAnalyzer(t *testing.T) {
	set(t, "testdata/flags.json")
	code, err := txtar.ParseFile("testdata/code.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range code.Files {
		files[f.Name] = string(f.Data)
	}
	dir, clean, err := analysistest.WriteFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clean)
	analysistest.Run(t, dir, flaglint.Analyzer, "a")
}

func TestAnalyzer_Refuses(t *testing.T) {
	for file, want := range map[string]string{
		"":                    "-definitions is required",
		"testdata/none.json":  "none.json",
		"testdata/code.txtar": "testdata/code.txtar: ",
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
