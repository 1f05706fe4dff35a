package timed

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/types/typeutil"
)

// bubbles records which functions run in bubbles of testing/synctest.
type bubbles struct {
	info    *types.Info
	inside  map[types.Object]bool // functions that are passed to one that opens a bubble
	openers map[types.Object]bool // functions that run one of their arguments in a bubble
}

func newBubbles(info *types.Info) *bubbles {
	return &bubbles{info, map[types.Object]bool{}, map[types.Object]bool{}}
}

// opens reports whether the argument of a call runs in a bubble.
func (b *bubbles) opens(call *ast.CallExpr) bool {
	f := typeutil.StaticCallee(b.info, call)
	return f != nil && (f.FullName() == "testing/synctest.Test" || b.openers[f])
}

// collect visits the functions until there are no new results: a function may pass its argument to
// another one.
func (b *bubbles) collect(files []*ast.File) {
	for before := -1; before != len(b.openers); {
		before = len(b.openers)
		for _, file := range files {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
					b.function(f)
				}
			}
		}
	}
}

// function records the functions that f passes to an opener, and f itself as an opener if it passes
// on one of its parameters.
func (b *bubbles) function(f *ast.FuncDecl) {
	for node := range ast.Preorder(f.Body) {
		call, ok := node.(*ast.CallExpr)
		if !ok || !b.opens(call) {
			continue
		}
		for _, arg := range call.Args {
			if name, ok := arg.(*ast.Ident); ok {
				if function, ok := b.info.Uses[name].(*types.Func); ok {
					b.inside[function] = true
				}
			}
			if b.usesParameter(f, arg) {
				b.openers[b.info.Defs[f.Name]] = true
			}
		}
	}
}

// usesParameter reports whether an expression mentions a parameter of a function that is itself a
// function.
func (b *bubbles) usesParameter(f *ast.FuncDecl, e ast.Expr) bool {
	for node := range ast.Preorder(e) {
		name, ok := node.(*ast.Ident)
		if !ok {
			continue
		}
		v, ok := b.info.Uses[name].(*types.Var)
		if !ok || v.Pos() < f.Type.Pos() || v.Pos() >= f.Type.End() {
			continue
		}
		if _, ok := v.Type().Underlying().(*types.Signature); ok {
			return true
		}
	}
	return false
}
