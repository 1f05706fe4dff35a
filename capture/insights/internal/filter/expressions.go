package filter

import (
	"errors"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/document"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
	"github.com/bunting-flags/bunting/capture/insights/port"
	"github.com/bunting-flags/bunting/flags/wire"
)

// Expression is a HogQL expression over events, with its place in the query.
type Expression struct {
	*hogql.Expr
	Attr    string
	Project *port.Project
}

// ReadExpression parses an expression and compiles it to find errors. aggregate is true if the
// expression must be an aggregate.
func ReadExpression(n document.Node, p *port.Project, aggregate bool) *Expression {
	if n.IsAbsent() {
		n.Fail(document.Required, "This field is required.")
	}
	text := n.Text("")
	if n.HasFailed() {
		return nil
	}
	expr, err := hogql.ParseExpr(text)
	if err == nil {
		// The time does not matter, because the compiled program is discarded.
		c := hogql.Context{Zone: p.Location, WeekStart: p.WeekStart, Now: time.Unix(0, 0)}
		if aggregate {
			_, err = expr.CompileAggregate(EventScope(p, nil), c)
		} else {
			_, err = expr.Compile(EventScope(p, nil), c)
		}
	}
	Fail(n, err)
	return &Expression{expr, n.Attr, p}
}

// setEvalErr records an error of evaluating an expression. The scan continues until the end of the
// batch and then fails.
func setEvalErr(b *scan.Binder, err error, x *Expression) {
	if err != nil && b.Fault == nil {
		b.Fault = AtPlace(err, x.Attr)
	}
}

// program returns a function that evaluates an expression without aggregates for an event. It
// returns nil after a compile error.
func (x *Expression) program(b *scan.Binder) func(*scan.Row) (*hogql.Program, hogql.Value) {
	scope := EventScope(x.Project, nil)
	program, err := x.Compile(scope, ExpressionContext(b.Run))
	if err != nil {
		b.SetErr(AtPlace(err, x.Attr))
		return nil
	}
	b.Volatile = b.Volatile || program.ReadsClock()
	fill := EventRow(b, scope, nil, nil)
	return func(r *scan.Row) (*hogql.Program, hogql.Value) {
		v, err := program.Eval(fill(r))
		setEvalErr(b, err, x)
		return program, v
	}
}

// hogqlFilter parses a filter whose key is an expression.
func hogqlFilter(n document.Node, p *port.Project) Condition {
	return &hogqlCondition{ReadExpression(n.Get("key"), p, false)}
}

// hogqlCondition is an expression as a condition; null is false.
type hogqlCondition struct{ *Expression }

// Bind returns the condition for a run.
func (c *hogqlCondition) Bind(b *scan.Binder) func(*scan.Row) bool {
	eval := c.program(b)
	return func(r *scan.Row) bool {
		if eval == nil {
			return false
		}
		_, v := eval(r)
		return v.IsTrue()
	}
}

// ReadValue parses an expression without aggregates. Its getter returns the value as a JSON
// string, "" for null.
func ReadValue(n document.Node, p *port.Project) func(b *scan.Binder) scan.Getter {
	x := ReadExpression(n, p, false)
	return func(b *scan.Binder) scan.Getter {
		eval := x.program(b)
		return func(r *scan.Row) string {
			if eval == nil {
				return ""
			}
			program, v := eval(r)
			text, ok := program.Text(v)
			if !ok {
				return ""
			}
			return wire.Quote(text)
		}
	}
}

// ExpressionContext returns the context in which the expressions of a run are compiled.
func ExpressionContext(r *scan.Run) hogql.Context {
	return hogql.Context{Now: r.Now, Zone: r.Zone, WeekStart: r.Project.WeekStart, Reserve: r.Reserve, Check: r.Context.Err}
}

// Fail records err as the fault of the query, at this node, unless a fault is recorded.
func Fail(n document.Node, err error) {
	var e *port.Error
	if errors.As(AtPlace(err, n.Attr), &e) && *n.Fault == nil {
		*n.Fault = e
	}
}

// AtPlace converts an error of HogQL to an [*port.Error] at the place attr of the query. It returns
// other errors unchanged.
func AtPlace(err error, attr string) error {
	var e *hogql.Error
	if !errors.As(err, &e) {
		return err
	}
	return &port.Error{Code: e.Code, Attr: attr, Detail: e.Text, Line: e.Line, Column: e.Column, Start: e.Start, End: e.End}
}
