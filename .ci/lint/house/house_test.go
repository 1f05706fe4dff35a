package house

import (
	"os"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// These tests read files of other modules, which the go command's cache of test results does not
// track. The variable changes with the files of the repository, so that the tests then run again.
func TestInputs(t *testing.T) {
	t.Log("inputs:", os.Getenv("TEST_INPUTS"))
}

// all runs the four analyzers as one.
var all = &analysis.Analyzer{
	Name: "all",
	Doc:  "runs all analyzers",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, a := range []*analysis.Analyzer{Imports, Backwards, Exported, Words} {
			if _, err := a.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
}

// The analyzers run on a package with faults, on one without a row in the table, on one of a module
// that the table does not cover, and on one with too many rare words in its comments.
func TestAnalyzers(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), all, module+"/capture", module+"/utils", module+"/bench", module+"/bench/words")
}
