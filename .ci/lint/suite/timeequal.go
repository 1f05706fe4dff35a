package suite

import (
	"go/ast"
	"go/token"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// timeEqual reports times that are compared with == or !=: two times of the same instant may differ
// in their time zones.
var timeEqual = &analysis.Analyzer{
	Name: "timeequal",
	Doc:  "reports == and != between values of time.Time",
	Run: func(pass *analysis.Pass) (any, error) {
		for _, file := range pass.Files {
			for node := range ast.Preorder(file) {
				if e, ok := node.(*ast.BinaryExpr); ok && (e.Op == token.EQL || e.Op == token.NEQ) && isTime(pass, e.X) && isTime(pass, e.Y) {
					pass.Reportf(e.OpPos, "call Equal instead of %s", e.Op)
				}
			}
		}
		return nil, nil
	},
}

func isTime(pass *analysis.Pass, e ast.Expr) bool {
	named, ok := types.Unalias(pass.TypesInfo.TypeOf(e)).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == "Time"
}
