package retention

import (
	"cmp"
	"slices"
)

// presence is the activity of an actor in one interval (§2.6).
type presence struct {
	value uint32 // number of the breakdown value
	// returns is the number of returning events; target is true if there is a target event.
	returns uint32
	// interval is counted from 1. 0 is the time before the first interval.
	interval uint16
	target   bool
}

// presenceSize is the size of a presence in bytes; a link in chains has 4 more.
const presenceSize = 12

// isEmpty reports whether there are no events.
func (p *presence) isEmpty() bool { return !p.target && p.returns == 0 }

// isSame reports whether two presences are for the same interval and value.
func (p *presence) isSame(o presence) bool { return p.interval == o.interval && p.value == o.value }

// count adds the events of o, which must be for the same interval and value.
func (p *presence) count(o presence) {
	p.target = p.target || o.target
	p.returns += o.returns
}

// retentionCells are the cells of the result for one breakdown value: numbers of actors.
type retentionCells struct {
	rows, columns int
	cells         []int64 // row by row
	// amounts are the sums of the property in the same order, nil if no property is summed.
	amounts []float64
}

// newRetentionCells returns cells that are all 0.
func newRetentionCells(rows, columns int) *retentionCells {
	return &retentionCells{rows: rows, columns: columns, cells: make([]int64, rows*columns)}
}

// row returns the cells of row s.
func (c *retentionCells) row(s int) []int64 { return c.cells[s*c.columns : (s+1)*c.columns] }

// add counts an actor in columns of a row.
func (c *retentionCells) add(row int, columns []int) {
	cells := c.row(row)
	for _, k := range columns {
		cells[k]++
	}
}

// entered returns the sum of the cells in column 0.
func (c *retentionCells) entered() (sum int64) {
	for s := range c.rows {
		sum += c.row(s)[0]
	}
	return sum
}

// merge adds the cells of o to c.
func (c *retentionCells) merge(o *retentionCells) {
	for i, n := range o.cells {
		c.cells[i] += n
	}
	for i, sum := range o.amounts {
		c.amounts[i] += sum
	}
}

// retentionRule defines in which cells an actor counts.
type retentionRule struct {
	// columns is the number of columns, including column 0.
	columns int
	// brackets are the numbers of intervals of the columns after column 0; nil: one interval for
	// each.
	brackets []int
	// firstTime counts an actor only in the row of its first target event.
	firstTime bool
	// cumulative counts an actor also in all columns before one in which it returned.
	cumulative bool
	// minimum is the number of returning events that an interval needs to count.
	minimum uint32
	// counted is reused by columnsAfter.
	counted []int
}

// joinPresences sorts the presences of an actor by value and interval, and merges those for the
// same value and interval. It modifies the slice.
func joinPresences(presences []presence) []presence {
	before := func(a, b presence) int {
		return cmp.Or(cmp.Compare(a.value, b.value), cmp.Compare(a.interval, b.interval))
	}
	if !slices.IsSortedFunc(presences, before) {
		slices.SortFunc(presences, before)
	}
	out := presences[:0]
	for _, v := range presences {
		if n := len(out); n > 0 && out[n-1].isSame(v) {
			out[n-1].count(v)
		} else {
			out = append(out, v)
		}
	}
	return out
}

// each calls yield for each row that an actor is in, with the columns in which it counts. presences
// must be for one value and joined. columns is valid only during the call.
func (r *retentionRule) each(presences []presence, yield func(row int, columns []int) error) error {
	for i, v := range presences {
		if !v.target {
			continue
		}
		// Interval 0 is before the rows: for first-time retention the actor is in no row then.
		if v.interval > 0 {
			if err := yield(int(v.interval)-1, r.columnsAfter(v, presences[i+1:])); err != nil {
				return err
			}
		}
		if r.firstTime {
			break
		}
	}
	return nil
}

// columnsAfter returns the columns in which an actor counts whose row is that of start. later are
// its presences after start.
func (r *retentionRule) columnsAfter(start presence, later []presence) []int {
	r.counted = append(r.counted[:0], 0)
	for _, v := range later {
		k := r.column(int(v.interval - start.interval))
		if k >= r.columns {
			break
		}
		if v.returns < r.minimum || k == r.counted[len(r.counted)-1] {
			continue
		}
		for from := r.counted[len(r.counted)-1] + 1; r.cumulative && from < k; from++ {
			r.counted = append(r.counted, from)
		}
		r.counted = append(r.counted, k)
	}
	return r.counted
}

// column returns the column of the interval that is a number of intervals after that of the row.
// The result is at least r.columns if there is no such column.
func (r *retentionRule) column(interval int) int {
	if r.brackets == nil {
		return interval
	}
	k := 0
	for ; interval > 0 && k < len(r.brackets); k++ {
		interval -= r.brackets[k]
	}
	if interval > 0 {
		return r.columns
	}
	return k
}
