// Package timed has an analyzer for tests whose result depends on the speed of the machine.
//
// A test fails on a busy machine if it requires that an operation ends within a few seconds. Such a
// test should count steps, bytes or calls instead; a test that waits should run in a bubble of
// testing/synctest, where time advances only when all goroutines are blocked. A limit of a minute
// or more is allowed: it distinguishes a test that hangs from a slow one.
package timed

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"
)

// hangs is the minimum time that a test must wait before it fails.
const hangs = time.Minute

// Analyzer reports time limits in tests.
//
// It checks test files, except benchmarks and functions that run in a bubble of synctest: those
// that are passed to synctest.Test, or to a function that passes its argument on to it. The
// directive //timed:synctest before a function states that it is only called in a bubble.
var Analyzer = &analysis.Analyzer{
	Name: "timed",
	Doc:  "reports tests that fail if something takes less than a minute",
	Run:  run,
}

func run(pass *analysis.Pass) (any, error) {
	c := &checker{pass: pass, facts: newValues(pass.TypesInfo), bubbles: newBubbles(pass.TypesInfo)}
	var files []*ast.File
	for _, file := range pass.Files {
		if strings.HasSuffix(pass.Fset.File(file.FileStart).Name(), "_test.go") {
			files = append(files, file)
		}
	}
	c.bubbles.collect(files)
	c.facts.collect(files)
	for _, file := range files {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); !ok || !c.isExempt(f) {
				ast.Inspect(decl, c.visit)
			}
		}
	}
	return nil, nil
}

type checker struct {
	pass    *analysis.Pass
	facts   *values
	bubbles *bubbles
}

const advice = "count steps, bytes or calls, use testing/synctest, or wait at least a minute"

func (c *checker) reportf(pos token.Pos, what string) {
	c.pass.Reportf(pos, "%s: %s", what, advice)
}

func (c *checker) isExempt(f *ast.FuncDecl) bool {
	if strings.HasPrefix(f.Name.Name, "Benchmark") || c.bubbles.inside[c.pass.TypesInfo.Defs[f.Name]] {
		return true
	}
	if f.Doc != nil {
		for _, comment := range f.Doc.List {
			if comment.Text == "//timed:synctest" {
				return true
			}
		}
	}
	return false
}

// visit reports the fault of a node, and returns whether to visit its children.
func (c *checker) visit(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.CallExpr:
		if c.bubbles.opens(node) {
			return false
		}
		c.call(node)
	case *ast.BinaryExpr:
		c.comparison(node)
	case *ast.CommClause:
		if c.facts.isShortWait(node.Comm) && c.fails(node.Body...) {
			c.reportf(node.Pos(), "the test fails when a timer ends")
		}
	case *ast.BlockStmt:
		for i, statement := range node.List[:max(len(node.List)-1, 0)] {
			if c.facts.isShortWait(statement) && c.failsAtOnce(node.List[i+1]) {
				c.reportf(statement.Pos(), "the test fails when a timer ends")
			}
		}
	}
	return true
}

// comparison reports a comparison of an elapsed time with anything other than a constant of a
// minute or more.
func (c *checker) comparison(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LSS, token.GTR, token.LEQ, token.GEQ, token.EQL, token.NEQ:
	default:
		return
	}
	for _, sides := range [][2]ast.Expr{{e.X, e.Y}, {e.Y, e.X}} {
		if !c.facts.isElapsed(sides[0]) {
			continue
		}
		limit, constant := c.facts.duration(sides[1])
		if !constant || limit < hangs || e.Op == token.EQL || e.Op == token.NEQ {
			c.reportf(e.Pos(), "elapsed time is compared")
			return
		}
	}
}

// call reports polling deadlines, short timeouts of contexts, and functions that fail after a
// delay.
func (c *checker) call(call *ast.CallExpr) {
	switch {
	case c.facts.calls(call, "(time.Time).After", "(time.Time).Before"):
		if receiver, ok := call.Fun.(*ast.SelectorExpr); ok && c.polls(receiver.X, call.Args[0]) {
			c.reportf(call.Pos(), "polling ends at a deadline")
		}
	case c.facts.calls(call, "context.WithTimeout", "context.WithTimeoutCause"):
		if d, constant := c.facts.duration(call.Args[1]); constant && d >= time.Second && d < hangs {
			c.reportf(call.Pos(), "a context times out")
		}
	case c.facts.calls(call, "time.AfterFunc"):
		f, literal := call.Args[1].(*ast.FuncLit)
		if d, constant := c.facts.duration(call.Args[0]); constant && d < hangs && literal && c.fails(f.Body.List...) {
			c.reportf(call.Pos(), "the test fails when a timer ends")
		}
	}
}

// polls reports whether one of two times is now and the other one a near deadline.
func (c *checker) polls(a, b ast.Expr) bool {
	return c.facts.isNow(a) && c.facts.isDeadline(b) || c.facts.isNow(b) && c.facts.isDeadline(a)
}

// failing are the functions and methods that make a test fail.
var failing = map[string]bool{
	"Fatal": true, "Fatalf": true, "Error": true, "Errorf": true, "Fail": true, "FailNow": true, "panic": true,
}

// fails reports whether one of the statements makes the test fail, or returns an error.
func (c *checker) fails(statements ...ast.Stmt) (fails bool) {
	for _, statement := range statements {
		ast.Inspect(statement, func(node ast.Node) bool {
			switch node := node.(type) {
			case *ast.FuncLit:
				return false
			case *ast.CallExpr:
				fails = fails || c.failingCall(node)
			case *ast.ReturnStmt:
				fails = fails || c.returnsError(node)
			}
			return !fails
		})
	}
	return fails
}

// failsAtOnce is like fails, but ignores conditional failures.
func (c *checker) failsAtOnce(statement ast.Stmt) bool {
	switch statement.(type) {
	case *ast.ExprStmt, *ast.ReturnStmt:
		return c.fails(statement)
	}
	return false
}

func (c *checker) failingCall(call *ast.CallExpr) bool {
	name := ""
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	if name == "Error" && len(call.Args) == 0 { // the text of an error
		return false
	}
	return failing[name]
}

func (c *checker) returnsError(r *ast.ReturnStmt) bool {
	for _, result := range r.Results {
		t := c.pass.TypesInfo.TypeOf(result)
		if t != nil && types.Implements(t, errorType) {
			return true
		}
	}
	return false
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
