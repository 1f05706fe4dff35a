package suite

import (
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

// staticchecks returns the default checks of the command staticcheck, except U1000, which
// unusedCode implements.
func staticchecks() (on []*analysis.Analyzer) {
	for _, check := range slices.Concat(simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers) {
		if !check.Doc.NonDefault {
			on = append(on, check.Analyzer)
		}
	}
	return on
}

// unusedCode reports the results of staticcheck's check U1000, which itself reports no findings.
var unusedCode = &analysis.Analyzer{
	Name:     "U1000",
	Doc:      "reports unused code",
	Requires: []*analysis.Analyzer{unused.Analyzer.Analyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		result := pass.ResultOf[unused.Analyzer.Analyzer].(unused.Result)
		type place struct {
			file string
			line int
			name string
		}
		at := func(o unused.Object) place { return place{o.Position.Filename, o.Position.Line, o.Name} }
		used := map[place]bool{} // a field of one instance of a generic type is a field of all
		for _, object := range result.Used {
			used[at(object)] = true
		}
		for _, object := range result.Unused {
			if !used[at(object)] {
				pos := posOf(pass, object.Position)
				pass.Report(analysis.Diagnostic{Pos: pos, Message: fmt.Sprintf("%s %s is unused", object.Kind, object.Name)})
			}
		}
		return nil, nil
	},
}

// posOf converts a position into one of the pass, or NoPos if it is in no file of the pass.
func posOf(pass *analysis.Pass, p token.Position) token.Pos {
	for _, file := range pass.Files {
		f := pass.Fset.File(file.FileStart)
		if f.Name() == p.Filename && p.Line > 0 && p.Line <= f.LineCount() {
			return f.LineStart(p.Line) + token.Pos(max(p.Column, 1)-1)
		}
	}
	return token.NoPos
}
