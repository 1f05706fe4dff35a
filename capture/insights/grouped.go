package insights

import "slices"

// group is what counts to one breakdown value of a result.
type group[T any] struct {
	value uint32 // of a split by cohorts the cohort's place
	other bool   // the rest of the values
	sum   T
}

// groupedSums sums by the values of a split; of cohorts to each that a set has.
type groupedSums[T any] struct {
	run    *run
	split  *split
	values *numberer
	make   func() T
	size   int64 // bytes of a sum
	sums   map[uint32]T
}

func newGroupedSums[T any](r *run, s *split, values *numberer, size int, create func() T) *groupedSums[T] {
	return &groupedSums[T]{r, s, values, create, int64(size), map[uint32]T{}}
}

// add counts to a value.
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

// sumOf is the sum of a value.
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

// ranked are the groups, the first ones by a comparison of sums and then by value
// first. Those beyond the limit, if there are, are merged into the rest.
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

func (g *groupedSums[T]) compare(a, b uint32) int {
	if g.split.isByCohort() {
		return int(a) - int(b)
	}
	return g.values.compare(a, b)
}
