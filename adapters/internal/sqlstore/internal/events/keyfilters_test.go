package events

import (
	"testing"

	"github.com/bunting-flags/bunting/adapters/internal/sqlstore/internal/block"
)

// filteredRun returns a list with n late keys, or timely ones, up to an id, and its filter with some bits a key.
func filteredRun(class, n int, last int64, bits int) *keyRun {
	r := &keyRun{unit: unit{1, last}, late: n}
	if class == 0 {
		r.timely, r.late = n, 0
	}
	if bits > 0 {
		r.filters[class] = block.NewKeyFilter(n, bits)
	}
	return r
}

// The filters of late keys have at most the memory of the limit: the largest get fewer bits, and are removed then. A
// filter that would be the largest itself gets fewer bits, or is not made. The worked sums: a filter of n keys takes
// 2n bytes with 16 bits a key.
func TestKeyIndex_MakeRoom(t *testing.T) {
	const late, timely = 1, 0
	for what, test := range map[string]struct {
		class, limit int // the limit in keys with 16 bits
		runs         []*keyRun
		n            int // keys of the list that needs a filter
		want         int
		after        []int // bits of the others
	}{
		"there is room":              {late, 3000, []*keyRun{filteredRun(late, 2000, 9, 16)}, 1000, 16, []int{16}},
		"the largest is halved":      {late, 2000, []*keyRun{filteredRun(late, 2000, 9, 16), filteredRun(late, 400, 8, 16)}, 512, 16, []int{8, 16}},
		"it is halved twice":         {late, 1600, []*keyRun{filteredRun(late, 2048, 9, 16)}, 1000, 16, []int{4}},
		"it is removed":              {late, 1024, []*keyRun{filteredRun(late, 4096, 9, 4)}, 512, 16, []int{0}},
		"the new one is the largest": {late, 3000, []*keyRun{filteredRun(late, 1000, 9, 16)}, 4000, 8, []int{16}},
		"and there is no room":       {late, 1000, []*keyRun{filteredRun(late, 800, 9, 16)}, 4000, 0, []int{16}},
		"the oldest timely is removed": {timely, 1500, []*keyRun{filteredRun(timely, 700, 9, 16), filteredRun(timely, 700, 5, 16)}, 700, 16,
			[]int{16, 0}},
		"too many timely keys":      {timely, 1500, []*keyRun{filteredRun(timely, 700, 9, 16)}, 1700, 0, []int{0}},
		"another class is not full": {timely, 1000, []*keyRun{filteredRun(late, 4000, 9, 16)}, 900, 16, nil},
	} {
		k := &keyIndex{projects: map[int64]*projectKeys{1: {runs: test.runs}}}
		k.filterBytes[test.class] = 2*test.limit + 256
		r := filteredRun(test.class, test.n, 20, 0)
		k.projects[2] = &projectKeys{runs: []*keyRun{r}}
		if got := k.makeRoom(test.class, r); got != test.want {
			t.Errorf("%s: %d bits, want %d", what, got, test.want)
		}
		for i, bits := range test.after {
			want := 0
			if bits > 0 {
				want = block.KeyFilterSize(test.runs[i].keys(test.class), bits)
			}
			if got := test.runs[i].filters[test.class].Size(); got != want {
				t.Errorf("%s: the filter %d has %d bytes, want %d", what, i, got, want)
			}
		}
	}
}

// Lists are merged if there are eight, none of which has more than half of the keys, or a quarter if it is
// long; long lists of timely keys are not merged. Lists whose ranges overlap are being merged.
func TestMergingRuns(t *testing.T) {
	type list struct{ timely, late int }
	lists := func(all ...list) (runs []*keyRun) {
		for i, l := range all {
			runs = append(runs, &keyRun{unit: unit{int64(10 * i), int64(10*i + 9)}, timely: l.timely, late: l.late})
		}
		return runs
	}
	repeat := func(n int, l list) (all []list) {
		for range n {
			all = append(all, l)
		}
		return all
	}
	const long = longKeyRun
	overlapping := lists(repeat(6, list{9, 9})...)
	overlapping[2].last = overlapping[4].last
	tooFar := lists(repeat(8, list{9, 9})...)
	tooFar[0].first -= block.KeyRange
	for what, test := range map[string]struct {
		runs  []*keyRun
		first int
		end   int
	}{
		"none":                              {nil, 0, 0},
		"seven":                             {lists(repeat(7, list{9, 9})...), 0, 0},
		"eight":                             {lists(repeat(8, list{9, 9})...), 0, 8},
		"the first has more than half":      {lists(append([]list{{200, 0}}, repeat(7, list{20, 0})...)...), 0, 0},
		"half, with eight others":           {lists(append([]list{{160, 0}}, repeat(8, list{20, 0})...)...), 1, 9},
		"long lists of timely keys":         {lists(repeat(8, list{long, long / 4})...), 0, 0},
		"after one of timely keys":          {lists(append([]list{{long, 0}}, repeat(8, list{20, 0})...)...), 1, 9},
		"long lists of late keys":           {lists(repeat(8, list{0, long})...), 0, 8},
		"a third of the keys in a long one": {lists(append([]list{{0, 4 * long}}, repeat(8, list{0, long})...)...), 1, 9},
		"a range that is too long":          {tooFar, 0, 0},
		"before a long one":                 {lists(append(repeat(9, list{0, long}), list{0, 40 * long})...), 1, 9},
		"being merged":                      {overlapping, 2, 5},
	} {
		if first, end := mergingRuns(test.runs); first != test.first || end != test.end {
			t.Errorf("%s: the lists %d to %d, want %d to %d", what, first, end, test.first, test.end)
		}
	}
}
