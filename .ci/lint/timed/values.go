package timed

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"time"

	"golang.org/x/tools/go/types/typeutil"
)

// kind is the kind of a variable's value.
type kind int

const (
	elapsedTime  kind = iota + 1
	moment            // a result of time.Now
	nearDeadline      // a moment plus less than a minute
	shortTimer        // a timer of less than a minute, or its channel
)

// values records the kinds of the variables of some files.
type values struct {
	info  *types.Info
	kinds map[types.Object]kind
}

func newValues(info *types.Info) *values {
	return &values{info, map[types.Object]kind{}}
}

// collect visits all assignments until there are no new results: a variable may be assigned from
// another one.
func (v *values) collect(files []*ast.File) {
	for before := -1; before != len(v.kinds); {
		before = len(v.kinds)
		for _, file := range files {
			for node := range ast.Preorder(file) {
				switch node := node.(type) {
				case *ast.AssignStmt:
					v.assign(node.Lhs, node.Rhs)
				case *ast.ValueSpec:
					names := make([]ast.Expr, len(node.Names))
					for i, name := range node.Names {
						names[i] = name
					}
					v.assign(names, node.Values)
				}
			}
		}
	}
}

func (v *values) assign(to, from []ast.Expr) {
	if len(to) != len(from) {
		return
	}
	for i, target := range to {
		name, ok := target.(*ast.Ident)
		if !ok || name.Name == "_" {
			continue
		}
		if k := v.kindOf(from[i]); k != 0 && v.info.ObjectOf(name) != nil {
			v.kinds[v.info.ObjectOf(name)] = k
		}
	}
}

func (v *values) kindOf(e ast.Expr) kind {
	switch {
	case v.isElapsed(e):
		return elapsedTime
	case v.isNow(e):
		return moment
	case v.isDeadline(e):
		return nearDeadline
	case v.isTimer(e):
		return shortTimer
	}
	return 0
}

// variable returns the kind of a variable that an expression names, or 0 for other expressions.
func (v *values) variable(e ast.Expr) kind {
	if name, ok := e.(*ast.Ident); ok {
		return v.kinds[v.info.ObjectOf(name)]
	}
	return 0
}

// isElapsed reports whether a value is computed from an elapsed time.
func (v *values) isElapsed(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return v.variable(e) == elapsedTime
	case *ast.ParenExpr:
		return v.isElapsed(e.X)
	case *ast.UnaryExpr:
		return e.Op == token.SUB && v.isElapsed(e.X)
	case *ast.BinaryExpr:
		switch e.Op {
		case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
			return v.isElapsed(e.X) || v.isElapsed(e.Y)
		}
	case *ast.CallExpr:
		return v.isElapsedCall(e)
	}
	return false
}

// isElapsedCall is isElapsed for conversions, min and max, and methods of an elapsed time.
func (v *values) isElapsedCall(call *ast.CallExpr) bool {
	if v.calls(call, "time.Since") {
		return true
	}
	method, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if v.calls(call, "(time.Time).Sub") {
		return v.isNow(method.X)
	}
	if method != nil && isNamed(v.info.TypeOf(method.X), "Duration") {
		return v.isElapsed(method.X)
	}
	function := v.info.Types[call.Fun]
	if function.IsType() || function.IsBuiltin() {
		for _, arg := range call.Args {
			if v.isElapsed(arg) {
				return true
			}
		}
	}
	return false
}

// isNow reports whether a value is a result of time.Now.
func (v *values) isNow(e ast.Expr) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	return ok && v.calls(call, "time.Now") || v.variable(ast.Unparen(e)) == moment
}

// isDeadline reports whether a value is a moment plus a constant of less than a minute.
func (v *values) isDeadline(e ast.Expr) bool {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && v.calls(call, "(time.Time).Add") {
		method, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		return method != nil && v.isNow(method.X) && v.isShort(call.Args[0])
	}
	return v.variable(e) == nearDeadline
}

// isTimer reports whether a value is a timer of less than a minute, or its channel.
func (v *values) isTimer(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.CallExpr:
		return v.calls(e, "time.After", "time.NewTimer", "time.Tick") && v.isShort(e.Args[0])
	case *ast.SelectorExpr:
		return e.Sel.Name == "C" && v.isTimer(e.X)
	case *ast.Ident:
		return v.variable(e) == shortTimer
	}
	return false
}

// isShortWait reports whether a statement receives from a timer of less than a minute.
func (v *values) isShortWait(s ast.Stmt) bool {
	var e ast.Expr
	switch s := s.(type) {
	case *ast.ExprStmt:
		e = s.X
	case *ast.AssignStmt:
		e = s.Rhs[0]
	}
	receive, ok := ast.Unparen(e).(*ast.UnaryExpr)
	return ok && receive.Op == token.ARROW && v.isTimer(receive.X)
}

// isShort reports whether a value is a constant duration of less than a minute.
func (v *values) isShort(e ast.Expr) bool {
	d, is := v.duration(e)
	return is && d > 0 && d < hangs
}

// duration returns the value of a constant duration.
func (v *values) duration(e ast.Expr) (d time.Duration, constantly bool) {
	tv := v.info.Types[e]
	if tv.Value == nil || !isNamed(tv.Type, "Duration") {
		return 0, false
	}
	n, exact := constant.Int64Val(constant.ToInt(tv.Value))
	return time.Duration(n), exact
}

// calls reports whether a call is of one of the functions, by their full names.
func (v *values) calls(call *ast.CallExpr, names ...string) bool {
	f := typeutil.StaticCallee(v.info, call)
	return f != nil && slices.Contains(names, f.FullName())
}

// isNamed reports whether a type is the type of package time with this name.
func isNamed(t types.Type, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == "time" && named.Obj().Name() == name
}
