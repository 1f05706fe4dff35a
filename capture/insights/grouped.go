package insights

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// group is the sum of one breakdown value of a result.
type group[T any] struct {
	// Value is the number of the value; for a breakdown by cohorts it is the index of the cohort.
	Value uint32
	// Other is true for the sum of the values beyond the limit.
	Other bool
	Sum   T
}

// groupedSums sums actors by the values of a split. For a split by cohorts, an actor counts for
// each cohort in its set.
type groupedSums[T any] struct {
	run    *scan.Run
	split  *split
	values *numberer
	// make returns an empty sum.
	make func() T
	// size is the size of a sum in bytes.
	size int64
	// sums are by the number of the value, or the index of the cohort.
	sums map[uint32]T
}

// newGroupedSums returns sums without any values.
func newGroupedSums[T any](r *scan.Run, s *split, values *numberer, size int, create func() T) *groupedSums[T] {
	return &groupedSums[T]{r, s, values, create, int64(size), map[uint32]T{}}
}

// Add calls to with each sum for which a value counts.
func (g *groupedSums[T]) Add(value uint32, to func(T)) error {
	if !g.split.IsByCohort() {
		sum, err := g.SumOf(value)
		if err == nil {
			to(sum)
		}
		return err
	}
	for i := range g.split.Cohorts {
		if !g.values.InSet(value, i) {
			continue
		}
		sum, err := g.SumOf(uint32(i))
		if err != nil {
			return err
		}
		to(sum)
	}
	return nil
}

// SumOf returns the sum of a value, and creates it if necessary.
func (g *groupedSums[T]) SumOf(value uint32) (T, error) {
	sum, ok := g.sums[value]
	if !ok {
		if err := g.run.Reserve(g.size + 64); err != nil {
			return sum, err
		}
		sum = g.make()
		g.sums[value] = sum
	}
	return sum, nil
}

// Ranked returns the groups, ordered by order and then by value. If there are more than the limit
// of the split, the groups beyond it are merged into rest; their sums are modified. Cohorts are not
// limited.
func (g *groupedSums[T]) Ranked(order func(a, b T) int, merge func(to, from T)) (top []group[T], rest *group[T]) {
	for value, sum := range g.sums {
		top = append(top, group[T]{Value: value, Sum: sum})
	}
	slices.SortFunc(top, func(a, b group[T]) int {
		if c := order(a.Sum, b.Sum); c != 0 {
			return c
		}
		return g.Compare(a.Value, b.Value)
	})
	limit := g.split.limit
	if g.split.IsByCohort() || len(top) <= limit {
		return top, nil
	}
	rest = &group[T]{Other: true, Sum: top[limit].Sum}
	for _, o := range top[limit+1:] {
		merge(rest.Sum, o.Sum)
	}
	return top[:limit], rest
}

// Compare orders values by their strings, and cohorts by their index.
func (g *groupedSums[T]) Compare(a, b uint32) int {
	if g.split.IsByCohort() {
		return int(a) - int(b)
	}
	return g.values.compare(a, b)
}
