package breakdown

import (
	"slices"

	"github.com/bunting-flags/bunting/capture/insights/internal/scan"
)

// Group is the sum of one breakdown value of a result.
type Group[T any] struct {
	// Value is the number of the value; for a breakdown by cohorts it is the index of the cohort.
	Value uint32
	// Other is true for the sum of the values beyond the limit.
	Other bool
	Sum   T
}

// Sums sums actors by the values of a split. For a split by cohorts, an actor counts for
// each cohort in its set.
type Sums[T any] struct {
	run    *scan.Run
	split  *Split
	values *Numberer
	// make returns an empty sum.
	make func() T
	// size is the size of a sum in bytes.
	size int64
	// sums are by the number of the value, or the index of the cohort.
	sums map[uint32]T
}

// NewSums returns sums without any values.
func NewSums[T any](r *scan.Run, s *Split, values *Numberer, size int, create func() T) *Sums[T] {
	return &Sums[T]{r, s, values, create, int64(size), map[uint32]T{}}
}

// Add calls to with each sum for which a value counts.
func (g *Sums[T]) Add(value uint32, to func(T)) error {
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
func (g *Sums[T]) SumOf(value uint32) (T, error) {
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
func (g *Sums[T]) Ranked(order func(a, b T) int, merge func(to, from T)) (top []Group[T], rest *Group[T]) {
	for value, sum := range g.sums {
		top = append(top, Group[T]{Value: value, Sum: sum})
	}
	slices.SortFunc(top, func(a, b Group[T]) int {
		if c := order(a.Sum, b.Sum); c != 0 {
			return c
		}
		return g.Compare(a.Value, b.Value)
	})
	limit := g.split.limit
	if g.split.IsByCohort() || len(top) <= limit {
		return top, nil
	}
	rest = &Group[T]{Other: true, Sum: top[limit].Sum}
	for _, o := range top[limit+1:] {
		merge(rest.Sum, o.Sum)
	}
	return top[:limit], rest
}

// Compare orders values by their strings, and cohorts by their index.
func (g *Sums[T]) Compare(a, b uint32) int {
	if g.split.IsByCohort() {
		return int(a) - int(b)
	}
	return g.values.compare(a, b)
}
