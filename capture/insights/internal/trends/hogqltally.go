package trends

import (
	"math"

	"github.com/bunting-flags/bunting/capture/insights/internal/filter"
	"github.com/bunting-flags/bunting/capture/insights/internal/hogql"
	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// hogqlTally is the tally of an aggregate expression.
type hogqlTally struct {
	*filter.Expression
	b           *scan.Binder
	aggregation *hogql.Aggregation
	fill        func(*scan.Row) *hogql.Row
	buckets     int
	// cells are the states of the aggregation, value by value and bucket by bucket; nil for a cell
	// without events.
	cells []*hogql.State
}

// newHogqlTally returns the tally of the expression. After a compile error it returns a tally that is not
// used.
func newHogqlTally(x *filter.Expression, b *scan.Binder, c *counting) tally {
	buckets := c.buckets()
	scope := filter.EventScope(x.Project, nil)
	aggregation, err := x.CompileAggregate(scope, filter.ExpressionContext(b.Run))
	if err != nil {
		b.SetErr(filter.AtPlace(err, x.Attr))
		return &events{c: c, buckets: buckets}
	}
	return &hogqlTally{Expression: x, b: b, aggregation: aggregation, fill: filter.EventRow(b, scope, nil, nil), buckets: buckets}
}

// add adds an event to the aggregation of a cell.
func (t *hogqlTally) add(w *scan.Row, value, bucket int) error {
	if bucket < 0 {
		return nil
	}
	at := value*t.buckets + bucket
	if at >= len(t.cells) {
		// Grow by doubling, since values arrive in any order.
		more := max(2*len(t.cells), at+1) - len(t.cells)
		if err := t.b.Reserve(8 * int64(more)); err != nil {
			return err
		}
		t.cells = append(t.cells, make([]*hogql.State, more)...)
	}
	if t.cells[at] == nil {
		t.cells[at] = t.aggregation.New()
	}
	return filter.AtPlace(t.cells[at].Add(t.fill(w)), t.Attr)
}

// points returns the results of all cells. Null, NaN and infinities become 0, as does a cell
// without events.
func (t *hogqlTally) points(values int) ([][]float64, error) {
	var fault error
	all := scan.Rows(values, t.buckets, func(at int) float64 {
		if at >= len(t.cells) || t.cells[at] == nil {
			return 0
		}
		v, err := t.cells[at].Result()
		if err != nil {
			fault = filter.AtPlace(err, t.Attr)
		}
		f, _ := v.Num()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return 0
		}
		return f
	})
	return all, fault
}
