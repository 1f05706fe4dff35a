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

// staticchecks are the checks of the command staticcheck that are on by default, but for
// U1000, which is unusedCode.
func staticchecks() (on []*analysis.Analyzer) {
	for _, check := range slices.Concat(simple.Analyzers, staticcheck.Analyzers, stylecheck.Analyzers) {
		if !check.Doc.NonDefault {
			on = append(on, check.Analyzer)
		}
	}
	return on
}

// unusedCode reports what staticcheck's check U1000 has found: the check only counts.
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
		used := map[place]bool{} // a field of one instance of a generic type is one of all
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

// posOf is the place of a position in a file of the pass; none if it is in no file.
func posOf(pass *analysis.Pass, p token.Position) token.Pos {
	for _, file := range pass.Files {
		f := pass.Fset.File(file.FileStart)
		if f.Name() == p.Filename && p.Line > 0 && p.Line <= f.LineCount() {
			return f.LineStart(p.Line) + token.Pos(max(p.Column, 1)-1)
		}
	}
	return token.NoPos
}
