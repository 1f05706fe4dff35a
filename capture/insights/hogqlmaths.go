package insights

import (
	"math"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/flags/wire"
)

// expression is a HogQL expression over events, with its place in the query.
type expression struct {
	*hogql.Expr
	attr    string
	project *Project
}

// readExpression parses an expression and compiles it to find errors. aggregate is true if the
// expression must be an aggregate.
func readExpression(n node, p *Project, aggregate bool) *expression {
	if n.isAbsent() {
		n.fail(required, "This field is required.")
	}
	text := n.text("")
	if n.hasFailed() {
		return nil
	}
	expr, err := hogql.ParseExpr(text)
	if err == nil {
		// The time does not matter, because the compiled program is discarded.
		c := hogql.Context{Zone: p.Location, WeekStart: p.WeekStart, Now: time.Unix(0, 0)}
		if aggregate {
			_, err = expr.CompileAggregate(eventScope(p, nil), c)
		} else {
			_, err = expr.Compile(eventScope(p, nil), c)
		}
	}
	failWith(n, err)
	return &expression{expr, n.attr, p}
}

// setEvalErr records an error of evaluating an expression. The scan continues until the end of the
// batch and then fails.
func setEvalErr(b *binder, err error, x *expression) {
	if err != nil && b.fault == nil {
		b.fault = withAttr(err, x.attr)
	}
}

// program returns a function that evaluates an expression without aggregates for an event. It
// returns nil after a compile error.
func (x *expression) program(b *binder) func(*row) (*hogql.Program, hogql.Value) {
	scope := eventScope(x.project, nil)
	program, err := x.Compile(scope, hogqlContext(b.run))
	if err != nil {
		b.setErr(withAttr(err, x.attr))
		return nil
	}
	fill := bindEventRow(b, scope, nil, nil)
	return func(r *row) (*hogql.Program, hogql.Value) {
		v, err := program.Eval(fill(r))
		setEvalErr(b, err, x)
		return program, v
	}
}

// hogqlFilter parses a filter whose key is an expression.
func hogqlFilter(n node, p *Project) condition {
	return &hogqlCondition{readExpression(n.get("key"), p, false)}
}

// hogqlCondition is an expression as a condition; null is false.
type hogqlCondition struct{ *expression }

// bind returns the condition for a run.
func (c *hogqlCondition) bind(b *binder) func(*row) bool {
	eval := c.program(b)
	return func(r *row) bool {
		if eval == nil {
			return false
		}
		_, v := eval(r)
		return v.IsTrue()
	}
}

// hogqlValue parses an expression without aggregates. Its getter returns the value as a JSON
// string, "" for null.
func hogqlValue(n node, p *Project) func(b *binder) getter {
	x := readExpression(n, p, false)
	return func(b *binder) getter {
		eval := x.program(b)
		return func(r *row) string {
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

// hogqlTally is the tally of an aggregate expression.
type hogqlTally struct {
	*expression
	b           *binder
	aggregation *hogql.Aggregation
	fill        func(*row) *hogql.Row
	buckets     int
	// cells are the states of the aggregation, value by value and bucket by bucket; nil for a cell
	// without events.
	cells []*hogql.State
}

// newHogqlTally returns the tally of the expression. After a compile error it returns a tally that is not
// used.
func newHogqlTally(x *expression, b *binder, c *counting) tally {
	buckets := c.buckets()
	scope := eventScope(x.project, nil)
	aggregation, err := x.CompileAggregate(scope, hogqlContext(b.run))
	if err != nil {
		b.setErr(withAttr(err, x.attr))
		return &events{c: c, buckets: buckets}
	}
	return &hogqlTally{expression: x, b: b, aggregation: aggregation, fill: bindEventRow(b, scope, nil, nil), buckets: buckets}
}

// add adds an event to the aggregation of a cell.
func (t *hogqlTally) add(w *row, value, bucket int) error {
	if bucket < 0 {
		return nil
	}
	at := value*t.buckets + bucket
	if at >= len(t.cells) {
		// Grow by doubling, since values arrive in any order.
		more := max(2*len(t.cells), at+1) - len(t.cells)
		if err := t.b.reserve(8 * int64(more)); err != nil {
			return err
		}
		t.cells = append(t.cells, make([]*hogql.State, more)...)
	}
	if t.cells[at] == nil {
		t.cells[at] = t.aggregation.New()
	}
	return withAttr(t.cells[at].Add(t.fill(w)), t.attr)
}

// points returns the results of all cells. Null, NaN and infinities become 0, as does a cell
// without events.
func (t *hogqlTally) points(values int) ([][]float64, error) {
	var fault error
	all := makeRows(values, t.buckets, func(at int) float64 {
		if at >= len(t.cells) || t.cells[at] == nil {
			return 0
		}
		v, err := t.cells[at].Result()
		if err != nil {
			fault = withAttr(err, t.attr)
		}
		f, _ := v.Num()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0
		}
		return f
	})
	return all, fault
}
