package house

import (
	"os"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// These tests read files of other modules, of which the go command does not know. The
// variable changes with the files of the repository, and with it these tests run anew.
func TestInputs(t *testing.T) {
	t.Log("inputs:", os.Getenv("TEST_INPUTS"))
}

// all runs the three analyzers as one.
var all = &analysis.Analyzer{
	Name: "all",
	Doc:  "runs all analyzers",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, a := range []*analysis.Analyzer{Imports, Backwards, Exported} {
			if _, err := a.Run(pass); err != nil {
				return nil, err
			}
		}
		return nil, nil
	},
}

// A package with faults, one in no room, and one of a module that has no rooms.
func TestAnalyzers(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), all, module+"/capture", module+"/utils", module+"/bench")
}
