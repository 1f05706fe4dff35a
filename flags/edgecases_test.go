package flags_test

import (
	"fmt"
	"testing"
)

// edgeRows is the number of rows in the list of §12.
const edgeRows = 132

// TestFlags_12_EdgeCases runs the specification's list of edge cases. adapters/httpapi runs
// those about the HTTP surface; every row must have a case in one of the two.
func TestFlags_12_EdgeCases(t *testing.T) {
	cases, files := readCases(t, "edgecases")
	rows := map[int][]int{}
	for i, c := range cases {
		if c.Row < 1 || c.Row > edgeRows || c.Clause != "" {
			t.Errorf("%s: %q is of no row", files[i], c.Name)
		}
		rows[c.Row] = append(rows[c.Row], i)
	}
	for row := 1; row <= edgeRows; row++ {
		t.Run(fmt.Sprintf("row_%d", row), func(t *testing.T) {
			if len(rows[row]) == 0 {
				t.Fatal("no case for this row")
			}
			for _, i := range rows[row] {
				t.Run(cases[i].Name, cases[i].run)
			}
		})
	}
}
