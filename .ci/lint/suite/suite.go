// Package suite lists the analyzers that run on this repository, and the exceptions from their
// findings.
package suite

import (
	"strings"

	"codeberg.org/polyfloyd/go-errorlint/errorlint"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/ctrlflow"
	"honnef.co/go/tools/analysis/facts/deprecated"

	"github.com/bunting-flags/bunting/ci/lint/house"
	"github.com/bunting-flags/bunting/ci/lint/timed"
	"github.com/bunting-flags/bunting/ci/lint/unit"
)

const organization = "github.com/bunting-flags/"

// Suite returns the configuration of the tool.
func Suite() unit.Suite {
	return unit.Suite{
		Analyzers:  analyzers(),
		Ours:       func(path string) bool { return strings.HasPrefix(path, organization) },
		Signatures: deprecated.Analyzer,
		Word:       "Deprecated: ",
		Full:       []*analysis.Analyzer{ctrlflow.Analyzer},
		Packages:   neverReturning,
		Filter: func(path string, found []unit.Finding, complete bool) []unit.Finding {
			return applyExceptions(exceptions, path, found, complete)
		},
	}
}

// neverReturning are the packages with functions that never return and that are called here, such
// as testing's Fatal: code after a call of them is not reachable.
var neverReturning = []string{"syscall", "runtime", "os", "log", "flag", "testing"}

// analyzers returns all analyzers.
func analyzers() []unit.Analyzer {
	var all []unit.Analyzer
	add := func(group string, analyzers ...*analysis.Analyzer) {
		for _, a := range analyzers {
			all = append(all, unit.Analyzer{Group: group, Analyzer: a})
		}
	}
	add("vet", vet...)
	add("staticcheck", staticchecks()...)
	add("unused", unusedCode)
	add("errorlint", errorlint.NewAnalyzer())
	add("unparam", unusedParameters)
	add(unit.Categories, reviveRules)
	add("house", timed.Analyzer, timeEqual, house.Imports, house.Exported, house.Backwards, house.Words)
	return all
}
