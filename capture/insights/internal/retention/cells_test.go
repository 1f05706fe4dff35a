package retention

import (
	"reflect"
	"testing"
)

// TestRetentionCells is retention-05 of insights_vectors.json, 10 to 13 June: p1 signs up on 10 and
// 12 and uses on 10, 12, 13; p2 signs up on 10, uses on 11; p3 signed up on 1 and 11 and uses twice
// on 12; p4 uses on 11.
func TestRetentionCells(t *testing.T) {
	people := [][]presence{
		{{interval: 3, target: true}, {interval: 1, target: true}, {interval: 1, returns: 1}, {interval: 3, returns: 1}, {interval: 4, returns: 1}},
		{{interval: 1, target: true}, {interval: 2, returns: 1}},
		{{interval: 0, target: true}, {interval: 2, target: true}, {interval: 3, returns: 1}, {interval: 3, returns: 1}},
		{{interval: 2, returns: 1}},
	}
	for _, c := range []struct {
		name string
		rule retentionRule
		want []int64
	}{
		{"recurring", retentionRule{minimum: 1}, []int64{2, 1, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}},
		{"first time", retentionRule{minimum: 1, firstTime: true}, []int64{2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"on or after", retentionRule{minimum: 1, cumulative: true}, []int64{2, 2, 1, 1, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0}},
		{"twice in an interval", retentionRule{minimum: 2}, []int64{2, 0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
	} {
		c.rule.columns = 4
		cells := newRetentionCells(4, 4)
		for _, presences := range people {
			_ = c.rule.each(joinPresences(append([]presence(nil), presences...)), func(row int, columns []int) error { cells.add(row, columns); return nil })
		}
		if !reflect.DeepEqual(cells.cells, c.want) {
			t.Errorf("%s: %v, want %v", c.name, cells.cells, c.want)
		}
	}
}
