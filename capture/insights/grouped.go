package insights

import "slices"

// group is the sum of one breakdown value of a result.
type group[T any] struct {
	// value is the number of the value; for a breakdown by cohorts it is the index of the cohort.
	value uint32
	// other is true for the sum of the values beyond the limit.
	other bool
	sum   T
}

// groupedSums sums actors by the values of a split. For a split by cohorts, an actor counts for
// each cohort in its set.
type groupedSums[T any] struct {
	run    *run
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
func newGroupedSums[T any](r *run, s *split, values *numberer, size int, create func() T) *groupedSums[T] {
	return &groupedSums[T]{r, s, values, create, int64(size), map[uint32]T{}}
}

// add calls to with each sum for which a value counts.
func (g *groupedSums[T]) add(value uint32, to func(T)) error {
	if !g.split.isByCohort() {
		sum, err := g.sumOf(value)
		if err == nil {
			to(sum)
		}
		return err
	}
	for i := range g.split.cohorts {
		if !g.values.inSet(value, i) {
			continue
		}
		sum, err := g.sumOf(uint32(i))
		if err != nil {
			return err
		}
		to(sum)
	}
	return nil
}

// sumOf returns the sum of a value, and creates it if necessary.
func (g *groupedSums[T]) sumOf(value uint32) (T, error) {
	sum, ok := g.sums[value]
	if !ok {
		if err := g.run.reserve(g.size + 64); err != nil {
			return sum, err
		}
		sum = g.make()
		g.sums[value] = sum
	}
	return sum, nil
}

// ranked returns the groups, ordered by order and then by value. If there are more than the limit
// of the split, the groups beyond it are merged into rest; their sums are modified. Cohorts are not
// limited.
func (g *groupedSums[T]) ranked(order func(a, b T) int, merge func(to, from T)) (top []group[T], rest *group[T]) {
	for value, sum := range g.sums {
		top = append(top, group[T]{value: value, sum: sum})
	}
	slices.SortFunc(top, func(a, b group[T]) int {
		if c := order(a.sum, b.sum); c != 0 {
			return c
		}
		return g.compare(a.value, b.value)
	})
	limit := g.split.limit
	if g.split.isByCohort() || len(top) <= limit {
		return top, nil
	}
	rest = &group[T]{other: true, sum: top[limit].sum}
	for _, o := range top[limit+1:] {
		merge(rest.sum, o.sum)
	}
	return top[:limit], rest
}

// compare orders values by their strings, and cohorts by their index.
func (g *groupedSums[T]) compare(a, b uint32) int {
	if g.split.isByCohort() {
		return int(a) - int(b)
	}
	return g.values.compare(a, b)
}
