package insights

import (
	"cmp"
	"slices"
)

// presence is what an actor did in one interval (§2.6).
type presence struct {
	value uint32 // number of the breakdown value
	// returns counts the returning events, target says that there was a target one.
	returns uint32
	// interval is from 1 on; 0 is all the time before the first.
	interval uint16
	target   bool
}

// presenceSize is the bytes of a presence; in chains it has 4 more.
const presenceSize = 12

func (p *presence) isEmpty() bool { return !p.target && p.returns == 0 }

// isSame says whether two are of one interval and value.
func (p *presence) isSame(o presence) bool { return p.interval == o.interval && p.value == o.value }

func (p *presence) count(o presence) {
	p.target = p.target || o.target
	p.returns += o.returns
}

// retentionCells counts the cells of retention for one breakdown value.
type retentionCells struct {
	rows, columns int
	cells         []int64   // row by row
	amounts       []float64 // likewise, nil where no property is summed
}

func newRetentionCells(rows, columns int) *retentionCells {
	return &retentionCells{rows: rows, columns: columns, cells: make([]int64, rows*columns)}
}

func (c *retentionCells) row(s int) []int64 { return c.cells[s*c.columns : (s+1)*c.columns] }

// add counts an actor in a row.
func (c *retentionCells) add(row int, columns []int) {
	cells := c.row(row)
	for _, k := range columns {
		cells[k]++
	}
}

// entered is the sum of the rows' first cells.
func (c *retentionCells) entered() (sum int64) {
	for s := range c.rows {
		sum += c.row(s)[0]
	}
	return sum
}

func (c *retentionCells) merge(o *retentionCells) {
	for i, n := range o.cells {
		c.cells[i] += n
	}
	for i, sum := range o.amounts {
		c.amounts[i] += sum
	}
}

// retentionRule is what counts as a row and as a return.
type retentionRule struct {
	columns int
	// brackets are how many intervals each column after 0 has; none: one each.
	brackets   []int
	firstTime  bool
	cumulative bool
	minimum    uint32
	counted    []int // scratch
}

// joinPresences puts an actor's presences in order of value and interval, one for each.
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

// each calls see for each row that an actor is in, with the columns (0 is the row
// itself) that it counts in. The presences are those of one value, joined.
func (r *retentionRule) each(presences []presence, yield func(row int, columns []int) error) error {
	for i, v := range presences {
		if !v.target {
			continue
		}
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

// column is that of the interval so many after a row's own.
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
