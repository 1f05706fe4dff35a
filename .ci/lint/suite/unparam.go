package suite

import (
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/buildssa"
	"golang.org/x/tools/go/packages"
	"mvdan.cc/unparam/check"
)

// unusedParameters is the command unparam as an analyzer. It counts calls in tests, but reports no
// findings there.
var unusedParameters = &analysis.Analyzer{
	Name:     "unparam",
	Doc:      "reports parameters and results that are not used or are always the same",
	Requires: []*analysis.Analyzer{buildssa.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		ssa := pass.ResultOf[buildssa.Analyzer].(*buildssa.SSA)
		checker := &check.Checker{}
		checker.Packages([]*packages.Package{{
			Fset:      pass.Fset,
			Syntax:    pass.Files,
			Types:     pass.Pkg,
			TypesInfo: pass.TypesInfo,
		}})
		checker.ProgramSSA(ssa.Pkg.Prog)
		issues, err := checker.Check()
		for _, issue := range issues {
			if strings.HasSuffix(pass.Fset.Position(issue.Pos()).Filename, "_test.go") {
				continue
			}
			pass.Report(analysis.Diagnostic{Pos: issue.Pos(), Message: issue.Message()})
		}
		return nil, err
	},
}
