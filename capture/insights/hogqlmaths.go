package insights

import (
	"math"
	"time"

	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/flags/wire"
)

func init() { filterTypes["hogql"] = hogqlFilter }

// expression is one of HogQL over events, with the place where it stands.
type expression struct {
	*hogql.Expr
	attr    string
	project *Project
}

// expression reads and checks one; aggregate says whether it is one.
func (n node) expression(p *Project, aggregate bool) *expression {
	if n.isAbsent() {
		n.fail(required, "This field is required.")
	}
	text := n.text("")
	if n.hasFailed() {
		return nil
	}
	expr, err := hogql.ParseExpr(text)
	if err == nil {
		c := hogql.Context{Zone: p.Location, WeekStart: p.WeekStart, Now: time.Unix(0, 0)}
		if aggregate {
			_, err = expr.CompileAggregate(p.eventScope(nil), c)
		} else {
			_, err = expr.Compile(p.eventScope(nil), c)
		}
	}
	n.failWith(err)
	return &expression{expr, n.attr, p}
}

// setEvalErr keeps the error of an expression that was evaluated; the scan that goes on
// ends with its batch.
func (b *binder) setEvalErr(err error, x *expression) {
	if err != nil && b.fault == nil {
		b.fault = withAttr(err, x.attr)
	}
}

// program makes an expression without aggregates ready.
func (x *expression) program(b *binder) func(*row) (*hogql.Program, hogql.Value) {
	scope := x.project.eventScope(nil)
	program, err := x.Compile(scope, b.hogqlContext())
	if err != nil {
		b.setErr(withAttr(err, x.attr))
		return nil
	}
	fill := b.hogqlRow(scope, nil, nil)
	return func(r *row) (*hogql.Program, hogql.Value) {
		v, err := program.Eval(fill(r))
		b.setEvalErr(err, x)
		return program, v
	}
}

// hogqlFilter is a filter whose key is an expression.
func hogqlFilter(n node, p *Project) condition {
	return &hogqlCondition{n.get("key").expression(p, false)}
}

type hogqlCondition struct{ *expression }

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

// hogqlValue reads an expression without aggregates; its getter gives text(v).
func hogqlValue(n node, p *Project) func(b *binder) getter {
	x := n.expression(p, false)
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

// hogqlTally works an aggregate out for each value and bucket.
type hogqlTally struct {
	*expression
	b           *binder
	aggregation *hogql.Aggregation
	fill        func(*row) *hogql.Row
	buckets     int
	cells       []*hogql.State
}

func (x *expression) tally(b *binder, c *counting) tally {
	buckets := c.buckets()
	scope := x.project.eventScope(nil)
	aggregation, err := x.CompileAggregate(scope, b.hogqlContext())
	if err != nil {
		b.setErr(withAttr(err, x.attr))
		return &events{c: c, buckets: buckets}
	}
	return &hogqlTally{expression: x, b: b, aggregation: aggregation, fill: b.hogqlRow(scope, nil, nil), buckets: buckets}
}

func (t *hogqlTally) add(w *row, value, bucket int) error {
	if bucket < 0 {
		return nil
	}
	at := value*t.buckets + bucket
	if at >= len(t.cells) {
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
		f, _ := v.Num() // null becomes 0
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0
		}
		return f
	})
	return all, fault
}
